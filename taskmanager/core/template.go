package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// Schedule says when a plan is due, in the words of the contract. The core loads no zones and reckons no dates: the Manager does, and
// tells it what is due ([Occurred]).
type Schedule struct {
	Days  []string `json:"days,omitempty"`
	On    string   `json:"on,omitempty"`
	At    string   `json:"at"`
	EndAt string   `json:"end_at,omitempty"`
	TZ    string   `json:"tz"`
	Until string   `json:"until,omitempty"`
}

// Template is a plan with a schedule. It runs nothing itself: at each occurrence a workflow of its own is made of it.
type Template struct {
	Plan     *Plan    `json:"plan"`
	Hash     string   `json:"hash"`
	Rank     int64    `json:"rank"`
	Accepted Instant  `json:"accepted"`
	FromMS   int64    `json:"from_ms,omitempty"` // wall clock: what was due until then is settled. 0: not known yet, the clock was never trusted
	Fired    []string `json:"fired,omitempty"`   // stamps of the latest occurrences that were made or left out: none of them comes again
}

// maxTemplates bounds the schedules of a device. Source: docs/taskmanager.md, schedules (64).
const maxTemplates = 64

// maxFired bounds the remembered stamps of a template. However the clock is set back, by at most so many occurrences, none comes twice.
const maxFired = 64

// lateOccurrenceMS is how late an occurrence may be noticed and still be begun. Source: docs/contract.md, schedule (10 min).
const lateOccurrenceMS = 10 * 60_000

// jumpBackMS is a step back of the wall clock that is no correction of its pace. Source: docs/taskmanager.md, time (5 s).
const jumpBackMS = 5000

// Occurred says that a template is due: at AtMS by the wall clock. Of several that were missed only the latest is told.
type Occurred struct {
	Template WorkflowID `json:"template"`
	Revision int64      `json:"revision"`
	Stamp    string     `json:"stamp"` // 20261224T1800
	AtMS     int64      `json:"at_ms"`
	EndMS    int64      `json:"end_ms,omitempty"` // of its end_at; 0: it has none
}

// ScheduleOver says that a template will never be due again.
type ScheduleOver struct {
	Template WorkflowID `json:"template"`
	Revision int64      `json:"revision"`
}

// The kinds of these events.
const (
	KindOccurred     EventKind = "occurred"
	KindScheduleOver EventKind = "schedule_over"
)

func (Occurred) eventKind() EventKind     { return KindOccurred }
func (ScheduleOver) eventKind() EventKind { return KindScheduleOver }

// HasFired says whether the occurrence of a stamp was made or left out before.
func (t *Template) HasFired(stamp string) bool { return slices.Contains(t.Fired, stamp) }

// AdoptTemplate puts a template that was read from the store back into the state.
func (s *State) AdoptTemplate(t *Template) {
	if s.Templates == nil {
		s.Templates = map[WorkflowID]*Template{}
	}
	s.Templates[t.Plan.Workflow] = t
}

// TemplatesByRank lists the templates in the order of their submission.
func (s *State) TemplatesByRank() []*Template {
	return slices.SortedFunc(maps.Values(s.Templates), func(a, b *Template) int { return cmp.Compare(a.Rank, b.Rank) })
}

func (w *work) template(id WorkflowID) *Template {
	if t, now := w.ch.templates[id]; now {
		return t // nil: it is gone
	}
	return w.cur.Templates[id]
}

// putTemplate keeps a new version of a template, or lets go of it (t nil).
func (w *work) putTemplate(id WorkflowID, t *Template) {
	if w.ch.templates == nil {
		w.ch.templates = map[WorkflowID]*Template{}
	}
	w.ch.templates[id] = t
	if t == nil {
		w.noteHeard(id, 0)
	}
	w.touched, w.ch.Must = true, true
}

// earlierTemplate answers a plan whose id is that of a template, or that would make a template of a workflow.
func (w *work) earlierTemplate(ev PlanSubmitted) (*Answer, Reason) {
	p := ev.Plan
	t := w.template(p.Workflow)
	switch {
	case t == nil && p.Schedule != nil && w.peek(p.Workflow) != nil:
		return nil, ReasonIDReused
	case t == nil:
		return nil, ReasonNone
	case p.Schedule == nil || t.Plan.ID != p.ID:
		return nil, ReasonIDReused
	case p.Revision < t.Plan.Revision:
		return nil, ReasonOutdatedRevision
	case p.Revision > t.Plan.Revision:
		return nil, ReasonNone
	case t.Hash != ev.Hash:
		return nil, ReasonSameRevision
	}
	return &Answer{Ref: ev.Msg, Workflow: p.Workflow, Plan: p.ID, Accepted: true, CatalogEtag: w.cat.Etag}, ReasonNone
}

// admitTemplate says why a schedule cannot be kept.
func (w *work) admitTemplate(ev PlanSubmitted) Reason {
	n := len(w.cur.Templates)
	for id, t := range w.ch.templates {
		if _, had := w.cur.Templates[id]; had && t == nil {
			n--
		} else if !had && t != nil {
			n++
		}
	}
	switch {
	case ev.NoNext:
		return ReasonScheduleOver
	case w.template(ev.Plan.Workflow) == nil && n >= maxTemplates || !w.prefetchFits(ev.Plan):
		return ReasonLimit
	}
	return ReasonNone
}

// keepTemplate takes a schedule in. A revision replaces the template whole; an occurrence that runs goes on as it began, and what was
// due before is not due again.
func (w *work) keepTemplate(ev PlanSubmitted) {
	w.dev.AcceptNo++
	t := &Template{Plan: ev.Plan, Hash: ev.Hash, Rank: w.dev.AcceptNo, Accepted: w.now.Boot}
	if w.now.Trusted {
		t.FromMS = w.now.WallMS
	}
	if old := w.template(ev.Plan.Workflow); old != nil {
		t.Rank, t.Fired = old.Rank, old.Fired
	}
	w.putTemplate(ev.Plan.Workflow, t)
}

// settleTemplates follows the wall clock: one that is set back makes what it passed over due again, where that was never begun; one
// that is trusted for the first time tells when a template was taken in.
func (w *work) settleTemplates() {
	if !w.now.Trusted {
		return
	}
	for id, t := range w.cur.Templates {
		from := t.FromMS
		switch {
		case from == 0:
			from = w.now.WallMS - int64(w.now.Boot-t.Accepted)
		case w.now.WallMS+jumpBackMS < from:
			from = w.now.WallMS
		}
		if from != t.FromMS {
			next := *t
			next.FromMS = from
			w.putTemplate(id, &next)
		}
	}
}

// occurred makes the workflow of an occurrence, once.
func (w *work) occurred(ev Occurred) {
	t := w.template(ev.Template)
	if t == nil || t.Plan.Revision != ev.Revision || !w.now.Trusted || t.FromMS == 0 || ev.AtMS <= t.FromMS || ev.AtMS > w.now.WallMS || t.HasFired(ev.Stamp) {
		return
	}
	next := *t
	next.FromMS = ev.AtMS
	next.Fired = append(slices.Clone(t.Fired[max(0, len(t.Fired)-maxFired+1):]), ev.Stamp)
	w.putTemplate(ev.Template, &next)
	for _, id := range w.everyone() {
		if wf := w.peek(id); wf.Plan.Template == ev.Template && !wf.State.Terminal() {
			w.expire(w.wf(id), ReasonExpired) // its time is over when the next begins
		}
	}
	p, blocked := w.goalOf(t.occurrence(ev), nil)
	if w.peek(p.Workflow) == nil && w.tombOf(p.Workflow) == ReasonNone {
		w.accept(PlanSubmitted{Head: Head{Hash: t.Hash, Local: p.Local, SentMS: ev.AtMS}, Plan: p})
		w.ch.Must = true
		switch { // as a plan that came now would be refused; so that somebody is told
		case modeOf(w.dev.Holds).closed() && !p.stopsOnly():
			w.cancelWorkflow(p.Workflow, ReasonNotAutomatic)
		case len(blocked) > 0:
			w.cancelWorkflow(p.Workflow, ReasonTierBlocked)
		}
	}
}

func (w *work) scheduleOver(ev ScheduleOver) {
	if t := w.template(ev.Template); t != nil && t.Plan.Revision == ev.Revision {
		w.putTemplate(ev.Template, nil)
	}
}

// occurrence makes the plan of one occurrence: what waits for nothing begins at its moment, what ends it at its end.
func (t *Template) occurrence(ev Occurred) *Plan {
	p := *t.Plan
	p.Workflow, p.ID, p.Template = WorkflowID(string(p.Workflow)+"@"+ev.Stamp), PlanID(string(p.ID)+"@"+ev.Stamp), t.Plan.Workflow
	p.Schedule, p.Revision, p.SentMS = nil, 0, ev.AtMS
	if t.Plan.Schedule.On == "" {
		p.Prefetch = nil // the template has it, and how far it was told; one for a single date goes as soon as that has come
	}
	p.Steps = slices.Clone(t.Plan.Steps)
	if g := t.Plan.Goal; g != nil {
		own := *g
		own.Experience += "@" + ev.Stamp
		p.Goal = &own
	}
	for i := range p.Steps {
		switch s := &p.Steps[i]; {
		case s.Ends:
			s.NotBeforeMS = ev.EndMS
		case len(s.Deps) == 0:
			s.NotBeforeMS, s.GraceMS = ev.AtMS, lateOccurrenceMS
			if s.OnOverdue == "" {
				s.OnOverdue = OverdueSkip
			}
		}
	}
	return &p
}

// cancelSchedule lets go of a template. What it has begun goes on.
func (w *work) cancelSchedule(id WorkflowID, ans *Answer) {
	ans.Workflow = id
	if w.template(id) == nil {
		if ans.Reason = ReasonUnknownTarget; w.peek(id) == nil {
			w.tomb(id, ReasonUserCancelled)
		}
		return
	}
	w.tomb(id, ReasonUserCancelled)
	w.putTemplate(id, nil)
	ans.Accepted, ans.State = true, string(WfCancelled)
}

// rebaseTemplates moves the instants of templates into the present boot.
func (w *work) rebaseTemplates(by Instant) {
	for id, t := range w.cur.Templates {
		next := *t
		rebased(by, &next.Accepted)
		w.putTemplate(id, &next)
	}
}

// idleEnd says that there is nothing for a step to do that ends an occurrence: all else has ended, and no task of it is left that it
// would stop.
func (wf *Workflow) idleEnd(i int) bool {
	if !wf.Plan.Steps[i].Ends || wf.Steps[i].begun() {
		return false
	}
	for j := range wf.Steps {
		if !wf.Plan.Steps[j].Ends && !wf.Steps[j].State.Terminal() {
			return false
		}
	}
	return !wf.uses(wf.Plan.Steps[i].Stops)
}

// uses says whether a task of the workflow holds one of the resources.
func (wf *Workflow) uses(resources []catalog.ResourceID) bool {
	return slices.ContainsFunc(wf.Attempts, func(a Attempt) bool {
		return a.holds() && slices.ContainsFunc(a.Resources, func(res catalog.ResourceID) bool { return slices.Contains(resources, res) })
	})
}

// endOccurrence: its end has come. What has not ended by itself is cancelled; what its tasks still use is stopped by the step itself,
// with its evidence.
func (w *work) endOccurrence(wf *Workflow, i int) {
	for j := range wf.Steps {
		if !wf.Plan.Steps[j].Ends {
			w.cancelStep(wf, j, ReasonScheduleEnd)
		}
	}
	w.cancelSessionsOf(wf, i, ReasonScheduleEnd)
	if !wf.uses(wf.Plan.Steps[i].Stops) {
		w.move(wf, i, Skipped, ReasonConditionFalse)
		w.ch.Must = true
		return
	}
	w.move(wf, i, Queued, ReasonNone)
	w.freed = true
}

// String is a schedule in one line, for people.
func (s *Schedule) String() string {
	text := s.On
	if text == "" {
		text = fmt.Sprint(s.Days)
	}
	text += " at " + s.At
	if s.EndAt != "" {
		text += " to " + s.EndAt
	}
	if s.Until != "" {
		text += " until " + s.Until
	}
	return text + " " + s.TZ
}
