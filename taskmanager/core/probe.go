package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// gapMS is how often a task is asked for that nothing bounds but a person: its end may have been told while nobody listened.
// Source: a step must not be stuck for longer than a minute.
const gapMS = 60_000

// tryAgain lets a step be dispatched once more after a call that nobody took: at the pace of the looks, and for no longer than it
// might have been blocked or unknown in one go. What was to be stopped ends here.
func (w *work) tryAgain(wf *Workflow, i int, reason Reason, detail string) {
	st := &wf.Steps[i]
	if wf.Cancel != ReasonNone || st.Wish != ReasonNone {
		w.move(wf, i, Cancelled, orReason(st.Wish, wf.Cancel))
		st.Stop = confirmed
		w.ch.Must = true
		return
	}
	if st.TriedSince == 0 {
		st.TriedSince = wf.attempt(st.Task).At
	}
	limit := wf.Plan.Steps[i].HoldMS
	if reason == ReasonOutcomeUnknown {
		limit = max(limit, w.limit(&wf.Plan.Steps[i]))
		if st.Attempts == 1 {
			w.move(wf, i, Queued, ReasonNone)
			return
		}
	}
	w.block(wf, i, reason, detail)
	st.Due, st.recheck = st.TriedSince+Instant(limit), w.now.Boot+rereadMS
}

// unknown: it was sent, and whether it runs is not known. Ask before anything else.
func (w *work) unknown(wf *Workflow, i int, a *Attempt, reason Reason) {
	if a.State == Calling || a.State == Live {
		a.State, a.dirty, w.touched = Lost, true, true
	}
	st := &wf.Steps[i]
	if st.Task == a.Task && (st.State == Dispatching || st.State == Running || st.State == Paused) {
		w.thaw(st)
		runDue := st.RunDue
		w.move(wf, i, OutcomeUnknown, reason)
		w.trace(wf, TraceEntry{Stage: StageObserve, What: string(ObsTimeout), Step: st.ID, Reason: reason, Basis: string(a.Task)})
		if runDue == 0 {
			from := w.now.Boot
			if st.TriedSince != 0 {
				from = st.TriedSince
			}
			runDue = from + Instant(w.limit(&wf.Plan.Steps[i]))
		}
		st.RunDue, st.Due = runDue, runDue
	}
	w.probe(wf, a)
}

// limit is how long an unknown outcome may last: the step timeout, or the hold of a step that a person ends.
func (w *work) limit(spec *StepSpec) int64 {
	if spec.TimeoutMS > 0 {
		return spec.TimeoutMS
	}
	return spec.HoldMS
}

// probe asks the executor what became of the task, if it is there, and again later where it does not answer.
func (w *work) probe(wf *Workflow, a *Attempt) {
	if a.Cloud || !a.holds() {
		return
	}
	w.ask(a)
	st := &wf.Steps[a.Step]
	switch {
	case st.Task == a.Task && st.State == OutcomeUnknown:
		st.recheck = w.now.Boot + Instant(w.ackMS(&wf.Plan.Steps[a.Step]))
	case st.State.Terminal():
		a.next = w.now.Boot + idleMS
	default:
		a.next = w.now.Boot + Instant(w.ackMS(&wf.Plan.Steps[a.Step]))
	}
}

// idleMS is the pace at which a task is asked for whose step has ended. Nobody waits for the answer but the next who needs what
// it holds. Source: a step must not be stuck for a minute, and six questions a minute cost nothing.
const idleMS = 10_000

// ask sends a Query. The attempt is durable since its dispatch, and dispatching recovers by a Query too: it waits for no commit,
// so that asking again and again writes nothing.
func (w *work) ask(a *Attempt) {
	q := Query{Task: a.Task, Service: a.Service}
	if id, ok := w.owner(a.Task); ok {
		q.Method = w.peek(id).Plan.Steps[a.Step].Method
	}
	if w.serviceOf(a.Service).Instance != "" && !slices.Contains(w.ch.Now, Output(q)) {
		w.ch.Now = append(w.ch.Now, q)
	}
}

// taskStatus takes the answer to a Query, or what the service of a task says of it unasked.
func (w *work) taskStatus(ev TaskStatus) {
	if w.speechStatus(ev) {
		return
	}
	wf, a := w.attempt(ev.Task)
	if a == nil || !a.holds() || ev.Source != "" && ev.Source != string(a.Service) {
		return
	}
	i := a.Step
	switch ev.Known {
	case KnownRunning:
		anew := a.State != Live
		w.adopt(wf, i, a, ev.Instance)
		w.mayGoOn(a, ev.Paused || a.MayGoOn && !ev.Resumed && (a.Pausing != PauseNone || a.State == Stopping))
		w.pauseTold(wf, i, a, ev)
		if wf.trailing(a) {
			w.trailingTold(wf, a, ev, anew)
		}
		if ev.Paused && a.State == Stopping && a.StopCalls >= maxStops && wf.facts(i).Cancel {
			w.ch.Now = append(w.ch.Now, Stop{Task: a.Task, Service: a.Service, Method: wf.Plan.Steps[i].Method}) // it would rest like that for ever
		}
		w.steerAnew(wf, i, a, anew)
	case KnownEnded:
		w.recovered(wf, a, ev)
	case KnownNot:
		w.notKnown(wf, i, a, ev)
	}
}

func (w *work) adopt(wf *Workflow, i int, a *Attempt, instance string) {
	w.touched = true
	if a.State == Stopping {
		return // it is being stopped: its end is what counts now
	}
	if a.State == Calling || a.State == Lost {
		a.State, a.dirty = Live, true
		if a.pauseNext = 0; a.Pausing != PauseNone {
			a.Pausing = PauseAsked // we had something to do with it
		}
		if instance != "" {
			a.Instance = instance
		}
	}
	if st := &wf.Steps[i]; st.Task == a.Task && (st.State == OutcomeUnknown || st.State == Dispatching) {
		w.run(wf, i)
	}
}

// recovered: the task ended while nobody listened. Its recorded event counts as the event itself, but for that of an end that we asked for:
// what a person wanted no more is not brought about by its cancel.
func (w *work) recovered(wf *Workflow, a *Attempt, ev TaskStatus) {
	task, id := a.Task, wf.Plan.Workflow
	st := &wf.Steps[a.Step]
	asked := st.Task == task && st.Wish != ReasonNone && ev.Ended != nil && ev.Ended.Outcome == OutcomeCancelled
	if ev.Event != nil {
		e := *ev.Event
		decl := w.cat.Events[e.Event]
		if e.Class = weaker(decl.Class, e.Class); e.Resource == "" {
			e.Resource = decl.Resource
		}
		if at := slices.IndexFunc(wf.Attempts, func(x Attempt) bool { return x.Task == task }); !asked {
			w.weigh(ref{id, at}, e, true)
		}
		w.observedKept(e)
	}
	end := TaskEnded{Task: task, Outcome: OutcomeFailed, Reason: ReasonExecutorFailed}
	if ev.Ended != nil {
		end = *ev.Ended
		end.Task = task
	}
	if ev.Event == nil && end.Outcome == OutcomeDone {
		a = wf.attempt(task)
		a.Recovered, a.dirty = true, true
	}
	w.taskEnded(end)
}

// notKnown: the executor does not know the task and has sealed its id. That means "not run" only where its memory outlives what
// happened in between.
func (w *work) notKnown(wf *Workflow, i int, a *Attempt, ev TaskStatus) {
	st, op := &wf.Steps[i], wf.Plan.Steps[i].Op
	sure := op.Probe == catalog.ProbeDurable || op.Probe == catalog.ProbeVolatile && ev.Instance != "" && ev.Instance == a.Instance
	if st.Task == a.Task && st.Accepted != 0 {
		sure = false // it said yes to this very task before: its memory is not to be relied on
	}
	if ev.Sealed && !a.Sealed {
		a.Sealed, a.dirty = true, true
	}
	w.mayGoOn(a, false) // nobody is there who could let it go on
	waits := st.Task == a.Task && st.State.active()
	switch {
	case sure && ev.Sealed:
		w.notRun(wf, i, a)
	case !waits && ev.Sealed && (op.Redo == catalog.RedoAnytime || !w.restable(a)):
		w.end(wf, a, OutcomeFailed, ReasonOutcomeUnknown) // nobody else could ever say that it has ended
	case waits && (st.State == Running && (ev.Sealed || st.Wish != ReasonNone || a.Pausing != PauseNone) || st.State == Paused):
		w.unknown(wf, i, a, ReasonOutcomeUnknown) // it has forgotten what it accepted: nobody will ever tell its end
	case waits && st.State == OutcomeUnknown:
		w.redo(wf, i, a)
	}
}

// notRun: the task is sure not to have run and never to run.
func (w *work) notRun(wf *Workflow, i int, a *Attempt) {
	a.NotRun = true
	w.end(wf, a, OutcomeFailed, "not_run")
	st := &wf.Steps[i]
	if st.Task != a.Task {
		return
	}
	switch st.State {
	case Cancelling:
		w.cancelled(wf, i, confirmed)
	case Dispatching:
		w.unknown(wf, i, a, ReasonOutcomeUnknown)
		w.tryAgain(wf, i, ReasonOutcomeUnknown, "")
	case OutcomeUnknown:
		w.tryAgain(wf, i, ReasonOutcomeUnknown, "")
	}
}

// redo: what became of the task stays unknown. The catalog says whether it may be sent again, and whether it has to be stopped first.
func (w *work) redo(wf *Workflow, i int, a *Attempt) {
	switch wf.Plan.Steps[i].Op.Redo {
	case catalog.RedoAnytime:
		w.end(wf, a, OutcomeFailed, ReasonOutcomeUnknown)
		w.tryAgain(wf, i, ReasonOutcomeUnknown, "")
	case catalog.RedoAfterStop:
		if a.State != Stopping {
			w.stop(wf, a)
		}
	}
}

// restable says whether a reading can show that what the attempt uses has come to rest.
func (w *work) restable(a *Attempt) bool {
	return slices.ContainsFunc(a.Resources, func(res catalog.ResourceID) bool { return w.cat.Resources[res].AtRest != nil })
}
