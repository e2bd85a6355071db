package core

import "slices"

// A task may go on when its step has ended: a cleaning is proven as soon as it has begun, and cleans for another twenty minutes. Who
// holds its step or its workflow holds such a task too, also when the workflow itself has ended: a robot that people have paused stands
// still. There is no step to wait with it: what cannot be paused is stopped.

// trailing says whether a task goes on although its step has ended or goes on with another.
func (wf *Workflow) trailing(a *Attempt) bool {
	st := &wf.Steps[a.Step]
	return a.State == Live && !a.Cloud && !(st.Task == a.Task && st.State.active())
}

// trails says whether there is such a task, of one step or, where i < 0, of any.
func (wf *Workflow) trails(i int) bool {
	return slices.ContainsFunc(wf.Attempts, func(a Attempt) bool { return (i < 0 || a.Step == i) && wf.trailing(&a) })
}

// steerTrailing brings such tasks of a workflow in line with those who hold them.
func (w *work) steerTrailing(wf *Workflow) {
	for k := range wf.Attempts {
		a := &wf.Attempts[k]
		if !wf.trailing(a) {
			continue
		}
		holds := w.holdsOn(wf, a.Step)
		switch held := len(holds) > 0; {
		case held && slices.ContainsFunc(holds, Hold.guards):
			w.stop(wf, a)
		case held && (a.Pausing == PauseNone || a.Pausing == PauseResuming):
			w.haltTrailing(wf, a)
		case !held && (a.Pausing == PauseAsked || a.Pausing == PauseConfirmed):
			w.pausing(wf, a, PauseResuming)
			w.ch.Outputs = append(w.ch.Outputs, Resume{Task: a.Task, Service: a.Service})
		}
	}
	w.progress(wf)
}

func (w *work) haltTrailing(wf *Workflow, a *Attempt) {
	switch {
	case wf.facts(a.Step).Pause:
		w.pausing(wf, a, PauseAsked)
		w.pauseNow(a)
	case wf.Plan.Steps[a.Step].MovesBody:
		w.stop(wf, a)
	}
}

// pauseNow calls Pause at once; a Resume of this very batch would come behind it.
func (w *work) pauseNow(a *Attempt) {
	w.ch.Now = append(w.ch.Now, Pause{Task: a.Task, Service: a.Service})
	w.ch.Outputs = slices.DeleteFunc(w.ch.Outputs, func(o Output) bool { r, ok := o.(Resume); return ok && r.Task == a.Task })
}

// trailingDue is due while the pause of such a task, or its going on, waits for its confirmation.
func (w *work) trailingDue(wf *Workflow, a *Attempt) {
	switch a.Pausing {
	case PauseAsked, PauseResuming:
		over := a.PauseAt + w.pauseMS(wf, a.Step)
		if w.now.Boot >= over {
			w.stop(wf, a)
			return
		}
		w.ask(a)
		a.pauseNext = min(w.now.Boot+rereadMS, over)
	default:
		w.freed = true // who waits for what it keeps may have it now
	}
}

// trailingAnswered takes the answer to a Pause or Resume of such a task.
func (w *work) trailingAnswered(wf *Workflow, a *Attempt, ev StopAnswered) {
	switch {
	case ev.Refused:
		w.stop(wf, a)
	case ev.Accepted:
		a.PauseTaken, a.dirty = true, true
		w.mayGoOn(a, a.MayGoOn || ev.To == ToPause)
		w.ask(a)
	}
}

// trailingTold takes what an executor says of such a task. Its robot may have paused it by itself: then it keeps what it uses, for a
// while, and is not told to go on before somebody has held it and let it go.
func (w *work) trailingTold(wf *Workflow, a *Attempt, ev TaskStatus, anew bool) {
	ours := a.Pausing != PauseNone
	switch {
	case ev.Paused && a.Pausing == PauseResuming && !anew:
	case ev.Paused && a.Pausing != PauseConfirmed:
		a.Pausing, a.PauseAt, a.pauseNext, a.dirty, w.touched = PauseConfirmed, w.now.Boot, 0, true, true
		w.freed = true // whoever waits for what it holds asks for it in another way now
	case ev.Paused:
	case a.Pausing == PauseConfirmed, anew, a.Pausing == PauseResuming && (a.PauseTaken || ev.Resumed):
		if a.Pausing != PauseNone {
			a.Pausing, a.PauseAt, a.pauseNext, a.dirty, w.touched = PauseNone, 0, 0, true, true
			w.freed = true
		}
	}
	if a.Pausing == PauseConfirmed && !(anew && ours) && len(w.holdsOn(wf, a.Step)) == 0 {
		return
	}
	w.steerTrailing(wf)
}

// quiet says that no task of the workflow moves anything beside its steps.
func quiet(wf *Workflow) bool {
	return !slices.ContainsFunc(wf.Attempts, func(a Attempt) bool {
		return wf.trailing(&a) && a.Pausing != PauseConfirmed && (wf.facts(a.Step).Pause || wf.Plan.Steps[a.Step].MovesBody)
	})
}

// trailingEffect says what the holders of such a task do to it, in the words of [HoldEffect].
func (w *work) trailingEffect(wf *Workflow, i int) string {
	for k := range wf.Attempts {
		a := &wf.Attempts[k]
		if a.Step != i || !a.holds() || len(w.holdsOn(wf, i)) == 0 || wf.Steps[i].State.active() {
			continue
		}
		switch {
		case a.Pausing == PauseConfirmed:
			return "paused"
		case a.State == Stopping:
			return "stopping"
		case a.Pausing == PauseAsked:
			return "pausing"
		}
		return "goes_on"
	}
	return ""
}

// withHolds lists the workflows that have holds of their own, in a fixed order.
func (s *State) withHolds() (ids []WorkflowID) {
	for id, wf := range s.Workflows {
		if len(wf.Holds) > 0 && (!wf.State.Terminal() || wf.HoldsAny()) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b WorkflowID) int { return byRank(s.Workflows[a], s.Workflows[b]) })
	return ids
}
