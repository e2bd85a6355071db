package core

import (
	"maps"
	"slices"
)

// SetAside says that a workflow's record makes the agent fail, or cannot be read. Whoever sends it has taken the workflow out of the
// state ([State.Drop]); its rows stay in the store, marked. It carries what can still be told.
type SetAside struct {
	Workflow WorkflowID `json:"workflow"`
	Plan     PlanID     `json:"plan,omitempty"`
	Turn     string     `json:"turn,omitempty"`
	Cause    string     `json:"cause"`           // for people
	Moves    bool       `json:"moves,omitempty"` // a task of it may move the body, or it is not known
	Result   *Result    `json:"result"`
}

// KindSetAside names the event in the journal.
const KindSetAside EventKind = "set_aside"

func (SetAside) eventKind() EventKind { return KindSetAside }

// AsideOf makes the event for a workflow that was read. Its steps are told as they were last recorded: how they stand now is not known.
func AsideOf(wf *Workflow, cause string) SetAside {
	ev := SetAside{Workflow: wf.Plan.Workflow, Plan: wf.Plan.ID, Turn: wf.Plan.TurnID, Cause: cause,
		Result: &Result{Status: WfFailed, Reason: ReasonQuarantined, Uplink: wf.Uplink + 1}}
	for i := range wf.Steps {
		st := &wf.Steps[i]
		ev.Result.Steps = append(ev.Result.Steps, StepReport{ID: st.ID, State: st.State, Attempts: st.Attempts, Reason: st.Reason, Effects: st.Effects})
	}
	ev.Moves = slices.ContainsFunc(wf.Attempts, func(a Attempt) bool { return a.holds() && len(a.Resources) > 0 })
	return ev
}

// UnreadableOf makes the event for a record of which nothing but its id is known.
func UnreadableOf(id WorkflowID, cause string) SetAside {
	return SetAside{Workflow: id, Cause: cause, Moves: true, Result: &Result{Status: WfFailed, Reason: ReasonQuarantined, Uplink: 1}}
}

// setAside reports once that the workflow ended here, and lets nothing of its id in again. What it may have had under way is stopped
// as soon as its service is there: nobody knows any more why it moves.
func (w *work) setAside(ev SetAside) {
	w.touched, w.ch.Must, w.freed = true, true, true
	w.ch.Aside = append(w.ch.Aside, ev)
	w.dev.StopBody = w.dev.StopBody || ev.Moves
	w.tomb(ev.Workflow, ReasonQuarantined)
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Workflow: ev.Workflow, To: string(WfFailed), Reason: ReasonQuarantined})
	w.send(Message{Type: MsgResult, Workflow: ev.Workflow, Plan: ev.Plan, Turn: ev.Turn, Result: ev.Result})
}

// Drop takes a workflow out of the state, with all that points at it. Its records are the caller's matter.
func (s *State) Drop(id WorkflowID) {
	if wf := s.Workflows[id]; wf != nil && wf.anchors {
		s.anchors--
	}
	delete(s.Workflows, id)
	maps.DeleteFunc(s.active, func(_ TaskID, of WorkflowID) bool { return of == id })
	gone := func(x WorkflowID) bool { return x == id }
	s.order, s.closed = slices.DeleteFunc(s.order, gone), slices.DeleteFunc(s.closed, gone)
}

// Part copies the state with some of its workflows only: to try out what one of them does. A change can be adopted by the copy
// ([State.With]) and leaves s as it is.
func (s *State) Part(keep func(WorkflowID) bool) *State {
	p := *s
	p.Device.Controls = maps.Clone(s.Device.Controls)
	p.Workflows, p.Known, p.Services, p.Tombs = maps.Clone(s.Workflows), maps.Clone(s.Known), maps.Clone(s.Services), maps.Clone(s.Tombs)
	p.active, p.used, p.foreign = maps.Clone(s.active), maps.Clone(s.used), maps.Clone(s.foreign)
	p.gave, p.Templates = maps.Clone(s.gave), maps.Clone(s.Templates)
	p.order, p.closed = slices.Clone(s.order), slices.Clone(s.closed)
	for id := range s.Workflows {
		if !keep(id) {
			p.Drop(id)
		}
	}
	return &p
}

// HeadOf is the head of a message from outside; ok false: the event is no message.
func HeadOf(ev Event) (h Head, ok bool) {
	switch ev := ev.(type) {
	case PlanSubmitted:
		return ev.Head, true
	case ControlReceived:
		return ev.Head, true
	case DecisionReceived:
		return ev.Head, true
	case AnswerReceived:
		return ev.Head, true
	case StepResult:
		return ev.Head, true
	case ContentReceived:
		return ev.Head, true
	case Refused:
		return ev.Head, true
	}
	return Head{}, false
}

// AboutOf is the workflow that a message is about, "" where it names none.
func AboutOf(ev Event) WorkflowID {
	switch ev := ev.(type) {
	case PlanSubmitted:
		return ev.Plan.Workflow
	case ControlReceived:
		if ev.Scope == "workflow" {
			return WorkflowID(ev.Target)
		}
	}
	return ""
}
