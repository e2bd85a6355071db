package core

import "slices"

// due lets pass what time alone moves: delays, timeouts, deadlines, repeated stops, new looks at the context.
func (w *work) due() {
	w.holdsDue()
	w.speechDue()
	w.sessionsDue()
	var ids []WorkflowID
	for id, wf := range w.cur.Workflows {
		if wf.wake != 0 && wf.wake <= w.now.Boot || w.reached(wf.wall) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b WorkflowID) int { return byRank(w.cur.Workflows[a], w.cur.Workflows[b]) })
	for _, id := range ids {
		w.dueIn(w.wf(id))
	}
}

func (w *work) dueIn(wf *Workflow) {
	now := w.now.Boot
	if !wf.State.Terminal() && wf.Deadline != 0 && wf.Deadline <= now {
		w.supervise(&gateQuery{wf: wf, i: -1, on: ObsDeadline, reason: ReasonDeadlineExceeded})
		w.expire(wf, ReasonDeadlineExceeded)
	}
	if a := wf.lateAsk(); a != nil && a.Due <= now {
		w.trace(wf, TraceEntry{Stage: StageObserve, What: "silent", Step: a.Step, Basis: string(a.ID)})
		w.closeAsk(wf, a.ID, AskExpired, false) // all goes on as planned
	}
	for i := range wf.Steps {
		st := &wf.Steps[i]
		if st.State.Terminal() {
			if st.Keeping() {
				w.keptDue(wf, i)
			}
			continue
		}
		if at := wf.lateAt(i); at != 0 && at <= now {
			w.late(wf, i)
		}
		if st.recheck != 0 && st.recheck <= now {
			st.recheck = 0
			w.relook(wf, i)
		}
		if st.Due != 0 && st.Due <= now && !st.State.Terminal() {
			w.stepDue(wf, i)
		}
		if w.reached(wf.awaitsWall(i)) {
			w.waited(wf, i, 0)
		}
	}
	for i := range wf.Attempts {
		if a := &wf.Attempts[i]; a.holds() && a.next != 0 && a.next <= now {
			a.next = 0
			w.attemptDue(wf, a)
		}
		if a := &wf.Attempts[i]; a.holds() && a.pauseNext != 0 && a.pauseNext <= now {
			a.pauseNext = 0
			w.pauseDue(wf, a)
		}
	}
}

// NextMark is when a running delay wants the time written down, so that a reboot without a trusted clock loses little of it; 0: no
// delay runs. written is when that was last done. Source: docs/taskmanager.md, time (60 s, or 2 % of what is left).
func (s *State) NextMark(written Instant) (at Instant) {
	for _, id := range s.order {
		for i := range s.Workflows[id].Steps {
			if st := &s.Workflows[id].Steps[i]; st.State == Waiting && !st.atAnchor() && st.Due > written {
				at = earlier(at, written+max(60_000, (st.Due-written)/50))
			}
		}
	}
	return at
}

// stepDue: what this state may last is over.
func (w *work) stepDue(wf *Workflow, i int) {
	st := &wf.Steps[i]
	due := st.Due
	st.Due, st.dirty = 0, true
	switch st.State {
	case Waiting:
		if st.atAnchor() {
			w.anchorDue(wf, i)
			return
		}
		w.waited(wf, i, due)
	case RetryWait:
		w.move(wf, i, Queued, ReasonNone)
		w.freed = true
	case Queued: // whether its effects hold already stays unknown: it is dispatched
		st.Checked, st.dirty, w.freed = true, true, true
	case Dispatching:
		w.unknown(wf, i, wf.attempt(st.Task), ReasonAckTimeout)
	case Running:
		if contradicted(st) {
			w.fail(wf, i, Failed, ReasonContradicts)
			return
		}
		if s := w.session(st.Task); s != nil && s.State == SessionPaused { // its time stands still as long as it is silent for others
			st.Due = w.now.Boot + Instant(wf.Plan.Steps[i].EvidenceMS)
			return
		}
		w.fail(wf, i, TimedOut, ReasonStepTimeout)
	case Verifying:
		if w.telling(st) { // its last words are still to come, or somebody holds them: its proof cannot be there yet
			st.Due = w.now.Boot + Instant(wf.Plan.Steps[i].EvidenceMS)
			return
		}
		w.fail(wf, i, TimedOut, ReasonEvidenceTimeout)
	case Blocked:
		switch {
		case st.asked():
			w.unanswered(wf, i)
			return
		case st.toUser():
			w.silent(wf, i)
			return
		}
		if st.Fate != nil && st.Fate.Reads {
			w.askAnew(wf, i)
			return
		}
		w.fail(wf, i, Failed, st.Reason)
	case OutcomeUnknown:
		w.fail(wf, i, Failed, ReasonOutcomeUnknown)
	}
}

// relook: a value was awaited; ask again, or go on without it.
func (w *work) relook(wf *Workflow, i int) {
	st := &wf.Steps[i]
	w.touched = true
	switch st.State {
	case Queued, Blocked:
		w.freed = true
	case OutcomeUnknown:
		if a := wf.attempt(st.Task); a != nil {
			w.probe(wf, a)
		}
	default:
		w.settle(wf, i)
		if st.State == Running && wf.Plan.Steps[i].TimeoutMS == 0 && st.recheck == 0 {
			w.ask(wf.attempt(st.Task))
			st.recheck = w.now.Boot + gapMS
		}
	}
}

func (w *work) attemptDue(wf *Workflow, a *Attempt) {
	switch {
	case a.State == Stopping:
		over := a.StopAt + Instant(w.stopMS(&wf.Plan.Steps[a.Step]))
		if w.now.Boot >= over {
			w.stopAgain(wf, a)
			return
		}
		a.next = over
		w.readRest(wf, a)
	default:
		w.probe(wf, a)
		w.readRest(wf, a)
	}
}

// expire ends a workflow at its deadline, or an occurrence when the next is due.
func (w *work) expire(wf *Workflow, reason Reason) { w.endRest(wf, -1, reason) }

// endRest ends what is left of a workflow but for one step, which is about to end by itself.
func (w *work) endRest(wf *Workflow, but int, reason Reason) {
	if wf.Cancel != ReasonNone {
		return
	}
	wf.Cancel, wf.dirty = reason, true
	w.traceEnd(wf, reason)
	if wf.Plan.Template != "" {
		w.cancelSessionsOf(wf, but, reason)
	}
	if wf.Plan.Template != "" || wf.Plan.bounded() {
		w.stopLeft(wf) // what an occurrence or a goal has begun ends with it, also where its step has ended
	}
	for i := range wf.Steps {
		if i != but {
			w.cancelStep(wf, i, reason)
		}
	}
	w.progress(wf)
	w.ch.Must = true
}

// stopLeft stops what steps have left running that have ended.
func (w *work) stopLeft(wf *Workflow) {
	for i := range wf.Attempts {
		if a := &wf.Attempts[i]; a.holds() && a.State != Stopping && !wf.Steps[a.Step].State.active() {
			w.stop(wf, a)
		}
	}
}
