package diag

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const timeForm = "2006-01-02T15:04:05.000Z07:00"

func utoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// view makes documents of one look at the state. It lives as long as the look.
type view struct {
	s    *core.State
	now  core.Now
	zone *time.Location

	words func(core.WorkflowID) string
}

func (v view) asOf() AsOf {
	return AsOf{Seq: v.now.Seq - 1, DeviceTime: v.wall(v.now.WallMS), ClockTrusted: v.now.Trusted}
}

func (v view) wall(ms int64) string {
	if ms == 0 {
		return NotKnown
	}
	return time.UnixMilli(ms).In(v.zone).Format(timeForm)
}

// moment tells a moment of the boot clock. Its wall time is that of the look less its age.
func (v view) moment(t core.Instant) Moment {
	age := int64(v.now.Boot - t)
	if v.now.WallMS == 0 {
		return Moment{At: NotKnown, AgeMS: age}
	}
	return Moment{At: v.wall(v.now.WallMS - age), AgeMS: age}
}

func (v view) maybe(t core.Instant) *Moment {
	if t == 0 {
		return nil
	}
	m := v.moment(t)
	return &m
}

func (v view) left(t core.Instant) *int64 {
	if t == 0 {
		return nil
	}
	return new(max(0, int64(t-v.now.Boot)))
}

// list gives the workflows: open ones by rank, then ended ones, the latest first.
func (v view) list(all bool) []Workflow {
	out := []Workflow{}
	for _, id := range v.s.Open() {
		out = append(out, v.row(v.s.Workflows[id]))
	}
	slices.SortStableFunc(out, func(a, b Workflow) int { return cmp.Compare(runs(a), runs(b)) })
	if !all {
		return out
	}
	for _, wf := range v.ended() {
		out = append(out, v.row(wf))
	}
	return out
}

func runs(w Workflow) int {
	if w.State == string(core.WfQueued) {
		return 1
	}
	return 0
}

func (v view) ended() (out []*core.Workflow) {
	for _, wf := range v.s.Workflows {
		if wf.State.Terminal() {
			out = append(out, wf)
		}
	}
	slices.SortFunc(out, func(a, b *core.Workflow) int {
		return cmp.Or(cmp.Compare(b.Ended, a.Ended), cmp.Compare(b.Rank, a.Rank), cmp.Compare(a.Plan.Workflow, b.Plan.Workflow))
	})
	return out
}

func (v view) row(wf *core.Workflow) Workflow {
	p := wf.Plan
	row := Workflow{
		Kind: "physical", ID: string(p.Workflow), PlanID: string(p.ID), Revision: p.Revision, State: string(wf.State), Reason: string(wf.Reason),
		Source: "cloud", Priority: string(p.Priority), Goal: cmp.Or(p.Utterance, v.words(p.Workflow)), StepsTotal: len(p.Steps), Waiting: []Fact{}, Accepted: v.moment(wf.Accepted),
		Ended: v.maybe(wf.Ended), ElapsedMS: int64(v.now.Boot - wf.Accepted),
	}
	if wf.AcceptMS != 0 {
		row.Accepted.At = v.wall(wf.AcceptMS)
	}
	if p.Local {
		row.Source = "local"
	}
	if row.Goal == "" {
		row.Goal = "not recorded"
	}
	if wf.Cancel != core.ReasonNone {
		row.Reason = string(wf.Cancel)
	}
	if wf.Ended != 0 {
		row.ElapsedMS = int64(wf.Ended - wf.Accepted)
	}
	for i := range wf.Steps {
		if wf.Steps[i].State.Terminal() {
			row.StepsDone++
		}
	}
	if i := at(wf); i >= 0 {
		row.Step, row.StepState = string(wf.Steps[i].ID), string(wf.Steps[i].State)
		if !wf.State.Terminal() {
			row.Waiting = v.facts(wf, i)
		}
	}
	return row
}

// interest orders step states by what a person looks for first in an open plan.
var interest = []core.StepState{core.Cancelling, core.OutcomeUnknown, core.Verifying, core.Running, core.Dispatching, core.Paused, core.RetryWait,
	core.Blocked, core.Queued, core.Waiting, core.Pending}

// outcomes orders them in an ended one: what decided how it ended. A plan that went well has no such step.
var outcomes = []core.StepState{core.Failed, core.TimedOut, core.Cancelled}

func at(wf *core.Workflow) int {
	order := interest
	if wf.State.Terminal() {
		order = outcomes
	}
	for _, state := range order {
		if i := slices.IndexFunc(wf.Steps, func(s core.Step) bool { return s.State == state }); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(wf.Steps, func(s core.Step) bool { return s.Keeping() && !wf.State.Terminal() })
}

func (v view) workflow(wf *core.Workflow) WorkflowDocument {
	doc := WorkflowDocument{Workflow: v.row(wf), TurnID: wf.Plan.TurnID, CatalogEtag: wf.Plan.CatalogEtag, Uplink: wf.Uplink, Steps: []Step{}}
	if !wf.State.Terminal() {
		doc.DeadlineLeftMS = v.left(wf.Deadline)
	}
	doc.Moving = wf.Moving()
	for i := range wf.Steps {
		doc.Steps = append(doc.Steps, v.step(wf, i))
	}
	left := wf.Left()
	doc.DecisionsLeft, doc.ReplansLeft, doc.Questions = left.Decisions, left.Replans, v.questions(wf)
	doc.Asks = v.asks(wf)
	return doc
}

func (v view) questions(wf *core.Workflow) []Question {
	out := []Question{}
	for _, e := range wf.Escalations {
		q := Question{ID: string(e.ID), Step: string(e.Step), Reason: string(e.Reason), State: string(e.State), Allowed: []string{}, Action: string(e.Action), Opened: v.moment(e.Opened)}
		for _, a := range e.Allowed {
			q.Allowed = append(q.Allowed, string(a))
		}
		if e.State == core.EscOpen {
			q.LeftMS = v.left(e.Due)
		}
		out = append(out, q)
	}
	return out
}

// asks lists the questions to the user.
func (v view) asks(wf *core.Workflow) []Ask {
	out := []Ask{}
	for _, a := range wf.Asks {
		q := Ask{ID: string(a.ID), Step: string(a.Step), Kind: string(a.Kind), Consent: a.Consent, Text: a.Text, Options: []AskOption{}, State: string(a.State),
			Option: a.Option, By: a.By, Opened: v.moment(a.Opened)}
		for _, o := range a.Options {
			q.Options = append(q.Options, AskOption{o.ID, o.Text})
		}
		if a.State == core.AskOpen {
			q.LeftMS = v.left(a.Due)
		}
		out = append(out, q)
	}
	return out
}

func (v view) step(wf *core.Workflow, i int) Step {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	out := Step{
		ID: string(st.ID), Target: string(spec.Target), Method: cmp.Or(string(spec.Method), spec.Skill), Params: map[string]any{}, After: []string{},
		Wait: string(spec.Wait), State: string(st.State), Reason: string(st.Reason), Detail: st.Detail, Since: v.moment(st.Since), Attempts: st.Attempts,
		Task: string(st.Task), Stop: st.Stop, Output: st.Output, Effects: []Effect{},
	}
	maps.Copy(out.Params, spec.Call)
	for _, d := range spec.Deps {
		out.After = append(out.After, string(wf.Steps[d.Step].ID))
	}
	if !st.State.Terminal() {
		out.LeftMS = v.left(st.Due)
	}
	if a := attempt(wf, st.Task); a != nil {
		maps.Copy(out.Params, a.Args)
		out.TaskState, out.Claim, out.StopCalls = string(a.State), string(a.Outcome), a.StopCalls
		end := v.now.Boot
		if st.Ended != 0 {
			end = st.Ended
		}
		out.ElapsedMS = new(int64(end - a.At))
	}
	for _, e := range st.Effects {
		out.Effects = append(out.Effects, v.effect(e))
	}
	return out
}

// doneEvidence names the proof of an operation that has no effect.
const doneEvidence = "done_evidence"

func (v view) effect(e core.Effect) Effect {
	out := Effect{ID: cmp.Or(string(e.ID), doneEvidence), State: string(e.State), Evidence: []Evidence{}}
	for _, ev := range e.Evidence {
		out.Evidence = append(out.Evidence, Evidence{
			Event: string(ev.Event), Key: string(ev.Key), Value: ev.Value, Source: cmp.Or(ev.Source, "not reported"), Class: string(ev.Class), Seq: ev.Seq,
			At: v.moment(ev.At), AgeMS: ev.AgeMS, By: ev.By, Against: ev.Against, Recovered: ev.Recovered,
		})
	}
	return out
}

func attempt(wf *core.Workflow, task core.TaskID) *core.Attempt {
	i := slices.IndexFunc(wf.Attempts, func(a core.Attempt) bool { return a.Task == task })
	if i < 0 || task == "" {
		return nil
	}
	return &wf.Attempts[i]
}

// context lists every key of the catalog, also those that were never read.
func (v view) context() []ContextRow {
	rows := []ContextRow{}
	cat := v.s.Catalog().Context
	for _, key := range slices.Sorted(maps.Keys(cat)) {
		row := ContextRow{Key: string(key), BoundMS: cat[key].MaxAgeMS}
		row.Value, row.Source, row.AgeMS, row.Fresh = v.known(key, row.BoundMS)
		if k, ok := v.s.Known[key]; ok {
			row.Class = string(k.Class)
			if k.Disputed(row.BoundMS, v.now.Boot) {
				row.OtherSource, row.OtherValue = k.Rival.Source, k.Rival.Value
				if row.Fresh == "fresh" && cat[key].Source != k.Source {
					row.Fresh = "conflict"
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// known tells what is known of a key: the value with its source and age, and what it is worth.
func (v view) known(key catalog.ContextKey, bound int64) (value any, source string, age *int64, fresh string) {
	k, ok := v.s.Known[key]
	switch {
	case !ok:
		return nil, "", nil, "missing"
	case !k.Available:
		return nil, k.Source, nil, "unavailable"
	}
	value, source, fresh = k.Value, k.Source, "fresh"
	if n := len(k.Samples); n > 0 {
		age = new(int64(v.now.Boot - k.Samples[n-1].At))
		if *age > bound {
			fresh = "stale"
		}
	}
	return value, source, age, fresh
}

// services lists the services that the catalog binds operations to, and all others that are there.
func (v view) services(known []Executor) []ServiceStatus {
	bound := map[core.ServiceID][]string{}
	for m, op := range v.s.Catalog().Operations {
		id := core.ServiceID(op.Binding.Name)
		bound[id] = append(bound[id], string(m))
	}
	for id := range v.s.Services {
		bound[id] = append(bound[id], []string{}...)
	}
	out := []ServiceStatus{}
	for _, id := range slices.Sorted(maps.Keys(bound)) {
		row := ServiceStatus{Service: string(id), State: "absent", Methods: []string{}, Missing: []string{}}
		if s, ok := v.s.Services[id]; ok {
			row.State, row.Instance, row.Since = "ready", s.Instance, v.maybe(s.Since)
			for _, m := range s.Methods {
				row.Methods = append(row.Methods, string(m))
			}
			slices.Sort(row.Methods)
		}
		slices.Sort(bound[id])
		for _, m := range bound[id] {
			if !slices.Contains(row.Methods, m) {
				row.Missing = append(row.Missing, m)
			}
		}
		words := v.s.Device.Ledger[id]
		row.Contradicted, row.Unproven = words.Contradicted, words.Unproven
		if i := slices.IndexFunc(known, func(e Executor) bool { return e.Service == row.Service }); i >= 0 {
			row.Open, row.Waiting, row.LastError = known[i].Open, known[i].Waiting, known[i].LastError
		}
		out = append(out, row)
	}
	return out
}

func (v view) modes() []ModeChange {
	out := []ModeChange{}
	for _, c := range v.s.Device.Modes {
		out = append(out, ModeChange{N: c.N, Mode: string(c.Mode), By: c.By, Why: c.Why, At: v.wall(c.WallMS)})
	}
	return out
}
