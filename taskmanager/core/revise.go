package core

import (
	"fmt"
	"slices"
)

// GoneStep is a step that a revision took out before it had started. Its id may come back, with the same content only.
type GoneStep struct {
	ID      StepID `json:"id"`
	Content string `json:"content"` // contentOf
}

// maxSteps bounds all the ids that a workflow ever had: revision after revision must not make a record without end.
// Source: docs/contract.md, limits (a plan has at most 1,024 steps).
const maxSteps = 1024

// begun says whether a revision has to leave the step as it is: it was dispatched, or has ended.
func (st *Step) begun() bool { return st.Attempts > 0 || st.State.Terminal() }

// superseded: a revision asked for its stop. How it ended says nothing about the plan any more.
func (st *Step) superseded() bool {
	return st.State.Terminal() && (st.Wish == ReasonSuperseded || st.State == Cancelled && st.Reason == ReasonSuperseded)
}

// revise takes a higher revision of the plan of an open workflow, or refuses it whole and changes nothing. wf is a copy that may be
// written; taken is called once it is taken and the questions that it goes over are closed. A refusal names every fault; one without
// faults is about the whole revision. Source: docs/contract.md, revisions.
func (w *work) revise(wf *Workflow, p *Plan, hash string, taken func()) (Reason, []Fault) {
	switch why := w.closed(wf); {
	case why != ReasonNone:
		return why, nil
	case p.Workflow != wf.Plan.Workflow || p.ID != wf.Plan.ID:
		return ReasonIDReused, nil
	case p.Revision <= wf.Plan.Revision:
		return ReasonOutdatedRevision, nil
	}
	if faults := w.misfits(wf, p); len(faults) > 0 {
		return faults[0].Reason, faults
	}
	if p.Goal != nil { // no revision buys more than the plan was accepted with
		own := *p.Goal
		own.Budget, own.Off = wf.Plan.Goal.Budget, wf.Plan.Goal.Off
		next := *p
		next.Goal, p = &own, &next
	}
	w.closeEscalations(wf, ReasonSuperseded)
	before := wf.Plan
	w.merge(wf, p)
	taken()
	w.trace(wf, TraceEntry{Stage: StageAct, What: "revise", Diff: diffOf(before, wf.Plan, p.CancelSteps)})
	w.bindAll(wf)
	wf.Hash, wf.newer, wf.dirty = hash, true, true
	if wf.Deadline = 0; p.EffectiveDeadlineMS() > 0 {
		wf.Deadline = wf.Accepted + Instant(p.EffectiveDeadlineMS())
	}
	for _, id := range p.CancelSteps {
		if i := wf.Plan.Lookup(id); i >= 0 {
			w.cancelStep(wf, i, ReasonSuperseded)
			w.endKeeps(wf, i, ReasonSuperseded)
		}
	}
	w.keptForGone(wf)
	w.progress(wf)
	w.touched, w.freed, w.ch.Must = true, true, true
	return ReasonNone, nil
}

// misfits are the reasons why a revision cannot follow the plan that is held.
func (w *work) misfits(wf *Workflow, p *Plan) (faults []Fault) {
	fault := func(path string, reason Reason, format string, args ...any) {
		faults = append(faults, Fault{Path: path, Reason: reason, Message: fmt.Sprintf(format, args...)})
	}
	ids := len(wf.Plan.Steps) + len(wf.Gone)
	for j := range p.Steps {
		id, path := p.Steps[j].ID, fmt.Sprintf("device_task_requests[%d].cloud_step_id", j)
		i, k := wf.Plan.Lookup(id), wf.gone(id)
		switch {
		case i >= 0 && wf.Steps[i].begun() && contentOf(wf.Plan, i) != contentOf(p, j):
			fault(path, ReasonDuplicateStep, "%s has begun (%s) and cannot be changed: give the new step an id of its own, and stop this one by cancel_steps if it must not go on",
				id, wf.Steps[i].State)
		case i < 0 && k >= 0 && wf.Gone[k].Content != contentOf(p, j):
			fault(path, ReasonDuplicateStep, "%s was another step in an earlier revision: give the new one an id of its own", id)
		case i < 0 && k < 0:
			ids++
		}
	}
	for k, id := range p.CancelSteps {
		if wf.Plan.Lookup(id) < 0 && wf.gone(id) < 0 {
			fault(fmt.Sprintf("workflow.cancel_steps[%d]", k), ReasonUnknownTarget, "the plan never had a step %s", id)
		}
	}
	switch was := wf.Plan.Goal; {
	case was == nil && p.Goal == nil:
	case was == nil || p.Goal == nil || was.Experience != p.Goal.Experience || was.ID != p.Goal.ID:
		fault("experience", ReasonIDReused, "a revision keeps the goal of its plan: the same experience_id and goal_id, or none where there was none")
	case p.Goal.Tier.Above(was.Tier):
		fault("experience.tier", ReasonTierBlocked, "the plan was accepted with tier %s, a revision cannot raise it", was.Tier)
	}
	if p.DeadlineMS > 0 && wf.Accepted+Instant(p.DeadlineMS) <= w.now.Boot {
		fault("workflow.deadline_ms", ReasonDeadlineTooShort, "it counts from the acceptance of the first revision, which was %d ms ago", int64(w.now.Boot-wf.Accepted))
	}
	if ids > maxSteps {
		fault("device_task_requests", ReasonLimit, "with this revision the plan would have had %d steps in all, the most is %d", ids, maxSteps)
	}
	return faults
}

func (wf *Workflow) gone(id StepID) int {
	return slices.IndexFunc(wf.Gone, func(g GoneStep) bool { return g.ID == id })
}

// merge makes one plan of the two: first the steps that the revision leaves out and that stay, since they have begun or are to be
// stopped, then the steps of the revision in its order. A step that is named again with the same content goes on as it stands, in the
// spec that it was accepted with.
func (w *work) merge(wf *Workflow, p *Plan) {
	m := merger{next: *p, at: make(map[StepID]int, len(p.Steps))}
	m.next.Steps, m.next.CancelSteps = nil, nil
	gone := slices.Clone(wf.Gone)
	for i := range wf.Steps {
		switch id := wf.Steps[i].ID; {
		case p.Lookup(id) >= 0:
		case wf.Steps[i].begun() || slices.Contains(p.CancelSteps, id):
			m.add(wf.Plan, i, wf.Steps[i])
		default:
			gone = append(gone, GoneStep{id, contentOf(wf.Plan, i)})
		}
	}
	for j := range p.Steps {
		if i := wf.Plan.Lookup(p.Steps[j].ID); i >= 0 && contentOf(wf.Plan, i) == contentOf(p, j) {
			m.add(wf.Plan, i, wf.Steps[i])
		} else {
			st := newStep(&p.Steps[j], w.now.Boot)
			st.Added, st.dirty = w.now.Boot, true
			m.add(p, j, st)
		}
	}
	m.join()
	for k := range wf.Attempts {
		a := &wf.Attempts[k]
		if at := m.at[wf.Plan.Steps[a.Step].ID]; at != a.Step {
			a.Step, a.dirty = at, true
		}
	}
	if m.next.TurnID == "" {
		m.next.TurnID, m.next.Utterance = wf.Plan.TurnID, wf.Plan.Utterance
	}
	wf.Gone = slices.DeleteFunc(gone, func(g GoneStep) bool { return m.next.Lookup(g.ID) >= 0 })
	wf.Plan, wf.Steps = &m.next, m.steps
}

// merger collects the steps of a merged plan. Until join they refer to each other by their places in the plans that they come from.
type merger struct {
	next  Plan
	steps []Step
	from  []*Plan
	at    map[StepID]int // place in the merged plan
}

func (m *merger) add(from *Plan, i int, st Step) {
	m.at[st.ID] = len(m.steps)
	m.next.Steps = append(m.next.Steps, from.Steps[i])
	m.steps, m.from = append(m.steps, st), append(m.from, from)
}

// join leads all references to the places in the merged plan. Only a step that has ended can wait for one that is not there any more: it
// was skipped or stopped before all that it waited for had begun. One that has begun can be kept until one that is not.
func (m *merger) join() {
	for i := range m.next.Steps {
		s, from := &m.next.Steps[i], m.from[i]
		whole := true
		var deps []Dep
		for _, d := range s.Deps {
			at, ok := m.at[from.Steps[d.Step].ID]
			if ok {
				deps = append(deps, Dep{at, d.On})
			}
			whole = whole && ok
		}
		if s.Deps = deps; s.Anchor > 0 {
			at, ok := m.at[from.Steps[s.Anchor-1].ID]
			if s.Anchor = 0; ok {
				s.Anchor = at + 1
			}
		}
		s.Keeps = slices.Clone(s.Keeps)
		for k, keep := range s.Keeps {
			if keep.Step == 0 {
				continue
			}
			at, ok := m.at[from.Steps[keep.Step-1].ID]
			if s.Keeps[k].Step = 0; ok {
				s.Keeps[k].Step = at + 1
			}
			whole = whole && ok
		}
		if !whole {
			s.Content = contentOf(from, from.Lookup(s.ID))
		}
	}
}
