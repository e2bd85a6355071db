package core

import "slices"

// progress derives the state of a workflow from its steps. Nothing else sets it.
func (w *work) progress(wf *Workflow) {
	wf.held = w.isHeld(wf)
	if wf.Cancel != ReasonNone {
		w.endKeeps(wf, -1, wf.Cancel)
	}
	w.goalMoves(wf)
	to := deriveState(wf)
	if to == wf.State {
		return
	}
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Workflow: wf.Plan.Workflow, From: string(wf.State), To: string(to), Reason: wf.Cancel})
	wf.State, wf.dirty = to, true
	if to.Terminal() {
		wf.Ended, wf.Reason = w.now.Boot, workflowReason(wf)
		w.letGoOfExperience(wf)
	}
}

// Derivations is the table by which a workflow's state follows from its steps: the first line that fits.
var Derivations = []struct {
	State WorkflowState
	When  string
	fits  func(*Workflow) bool
}{
	{WfCancelling, "a cancel was asked for and a step has not ended", func(wf *Workflow) bool { return !ended(wf) && wf.Cancel != ReasonNone }},
	{WfHeld, "somebody holds it (a hold of everything: once it has begun), and none of its tasks is under way but paused ones", func(wf *Workflow) bool { return !ended(wf) && wf.held && resting(wf) }},
	{WfQueued, "no step was dispatched yet", func(wf *Workflow) bool { return !ended(wf) && !started(wf) }},
	{WfActive, "a step has not ended, or an effect is still to be kept", func(wf *Workflow) bool { return !ended(wf) }},
	{WfExpired, "the deadline of the plan has passed, or the next occurrence of its schedule was due", func(wf *Workflow) bool { return wf.Cancel == ReasonDeadlineExceeded || wf.Cancel == ReasonExpired }},
	{WfCancelled, "it was cancelled before its last step ended", func(wf *Workflow) bool { return wf.Cancel != ReasonNone }},
	{WfFailed, "a step failed or lost an effect under on_failure escalate or abort, or a dependency could not be met", func(wf *Workflow) bool { return hardFailure(wf) }},
	{WfPartial, "a step failed or lost an effect under on_failure continue, another completed", func(wf *Workflow) bool { return anyFailed(wf) && anySuccess(wf) }},
	{WfFailed, "a step failed or lost an effect under on_failure continue, none completed", func(wf *Workflow) bool { return anyFailed(wf) }},
	{WfCancelled, "a step was cancelled on its own, and not by a revision", func(wf *Workflow) bool { return anyIn(wf, Cancelled) }},
	{WfPartial, "the moment of a step passed and it was left out, another completed", func(wf *Workflow) bool { return overdue(wf) && anySuccess(wf) }},
	{WfExpired, "the moment of a step passed and it was left out, none completed", func(wf *Workflow) bool { return overdue(wf) }},
	{WfCompleted, "every step completed, was satisfied, or was skipped by its own condition or branch", func(*Workflow) bool { return true }},
}

func deriveState(wf *Workflow) WorkflowState {
	for _, d := range Derivations {
		if d.fits(wf) {
			return d.State
		}
	}
	panic("internal error: the derivation table has no last line")
}

func ended(wf *Workflow) bool {
	return !slices.ContainsFunc(wf.Steps, func(s Step) bool { return !s.State.Terminal() || s.Keeping() }) && !wf.comesToRest()
}

func started(wf *Workflow) bool {
	return slices.ContainsFunc(wf.Steps, func(s Step) bool { return s.Attempts > 0 || s.State.Terminal() })
}

func anyIn(wf *Workflow, states ...StepState) bool {
	return slices.ContainsFunc(wf.Steps, func(s Step) bool { return slices.Contains(states, s.State) && !s.superseded() })
}

// overdue: a step was left out since its moment had passed.
func overdue(wf *Workflow) bool {
	return slices.ContainsFunc(wf.Steps, func(s Step) bool { return s.State == Skipped && s.Reason == ReasonOverdueSkipped })
}

// failed says whether a step did not bring about what it should have, or did not keep it.
func (st *Step) failed() bool {
	return !st.superseded() && (st.State == Failed || st.State == TimedOut || st.lost() != ReasonNone)
}

func anyFailed(wf *Workflow) bool {
	return slices.ContainsFunc(wf.Steps, func(s Step) bool { return s.failed() })
}

func anySuccess(wf *Workflow) bool {
	return slices.ContainsFunc(wf.Steps, func(s Step) bool { return (s.State == Completed || s.State == Satisfied) && !s.failed() })
}

// hardFailure: a failure that the plan did not allow for.
func hardFailure(wf *Workflow) bool {
	for i := range wf.Steps {
		switch st := &wf.Steps[i]; {
		case st.superseded():
		case st.failed() && wf.Plan.Steps[i].OnFailure != FailContinue:
			return true
		case st.State == Skipped && st.Reason == ReasonWaitEventMissing:
			return true
		}
	}
	return false
}

// Moving says whether a task that moves the body may be under way: also one that is being stopped, and one of which nobody knows. Only
// what has ended, or has paused and shown it, does not move.
func (wf *Workflow) Moving() bool {
	return slices.ContainsFunc(wf.Attempts, func(a Attempt) bool {
		return a.State != Ended && a.Pausing != PauseConfirmed && wf.Plan.Steps[a.Step].MovesBody
	})
}

// workflowReason is the first reason that says why it did not complete.
func workflowReason(wf *Workflow) Reason {
	if wf.Cancel != ReasonNone {
		return wf.Cancel
	}
	if wf.State == WfCompleted {
		return ReasonNone
	}
	for i := range wf.Steps {
		if wf.Steps[i].superseded() {
			continue
		}
		if why := wf.Steps[i].lost(); why != ReasonNone {
			return why
		}
		switch st := &wf.Steps[i]; st.State {
		case Failed, TimedOut, Cancelled:
			return st.Reason
		case Skipped:
			if st.Reason == ReasonWaitEventMissing || st.Reason == ReasonOverdueSkipped {
				return st.Reason
			}
		}
	}
	return ReasonNone
}

// report sends the result of a terminal workflow.
func (w *work) report(wf *Workflow) {
	if wf.State.Terminal() {
		w.ch.Must = true
		w.send(Message{Type: MsgResult, Workflow: wf.Plan.Workflow, Result: resultOf(wf)})
	}
}

func resultOf(wf *Workflow) *Result {
	since := func(t Instant) int64 {
		if t == 0 {
			return 0
		}
		return int64(t - wf.Accepted)
	}
	r := &Result{Status: wf.State, Reason: wf.Reason, Uplink: wf.Uplink + 1, ElapsedMS: since(wf.Ended), Decisions: wf.decisions(), Replans: wf.replans(), Goal: wf.goalReport()}
	for i := range wf.Steps {
		st := &wf.Steps[i]
		rep := StepReport{ID: st.ID, State: st.State, Attempts: st.Attempts, Reason: st.Reason, Effects: st.Effects, EndMS: since(st.Ended)}
		if a := wf.attempt(st.Task); a != nil {
			rep.StartMS = since(a.At)
		}
		r.Steps = append(r.Steps, rep)
	}
	return r
}
