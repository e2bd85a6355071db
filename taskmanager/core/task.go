package core

import (
	"slices"
)

// taskAnswered takes the executor's answer to a dispatch. A late answer still counts; a second one does not.
func (w *work) taskAnswered(ev TaskAnswered) {
	if w.stoppedOnce(ev) || w.speechAnswered(ev) {
		return
	}
	wf, a := w.attempt(ev.Task)
	if a == nil || a.State == Live || a.State == Ended {
		return
	}
	i := a.Step
	if wf.Steps[i].Accepted != 0 && (a.State == Stopping || wf.Steps[i].Task == a.Task && !ev.Accepted) {
		return // it was answered before: what has begun is not refused any more, also where it is not known now what became of it
	}
	switch {
	case ev.NotSent:
		w.notSent(wf, i, a, ev.Reason)
	case ev.Unknown:
		w.unknown(wf, i, a, orReason(ev.Reason, ReasonOutcomeUnknown))
	case !ev.Accepted:
		a.NotRun = true
		w.end(wf, a, OutcomeFailed, orReason(ev.Reason, ReasonExecutorRefused))
		w.refusedBy(wf, i, a)
	default:
		w.acceptedBy(wf, i, a, ev.Instance)
	}
}

func orReason(r, fallback Reason) Reason {
	if r == ReasonNone {
		return fallback
	}
	return r
}

func (w *work) acceptedBy(wf *Workflow, i int, a *Attempt, instance string) {
	if instance == "" {
		instance = w.serviceOf(a.Service).Instance
	}
	a.Instance, a.dirty, w.touched = instance, true, true
	if a.State == Stopping {
		wf.Steps[i].Accepted, wf.Steps[i].dirty = w.now.Boot, true
		return // its end is what counts now
	}
	a.State = Live
	if st := &wf.Steps[i]; st.Task == a.Task && (st.State == Dispatching || st.State == OutcomeUnknown) {
		w.run(wf, i)
		w.settle(wf, i)
		w.steer(wf, i)
	}
}

// run: the executor has it. The step timeout counts from here, and goes on where the outcome was unknown for a while.
func (w *work) run(wf *Workflow, i int) {
	st := &wf.Steps[i]
	w.move(wf, i, Running, ReasonNone)
	t := wf.Plan.Steps[i].TimeoutMS
	switch {
	case t == 0: // a person sets the pace: what bounded the unknown does not bound the task
		st.RunDue, st.recheck = 0, w.now.Boot+gapMS
	case st.Accepted == 0:
		st.RunDue = w.now.Boot + Instant(t)
	}
	if st.Accepted == 0 {
		st.Accepted = w.now.Boot
	}
	st.Due, st.TriedSince = st.RunDue, 0
}

func (w *work) serviceOf(id ServiceID) Service {
	if s, ok := w.ch.services[id]; ok {
		return s
	}
	if slices.Contains(w.ch.gone, id) {
		return Service{}
	}
	return w.cur.Services[id]
}

// notSent: the call never left. Nothing runs, so the step may be dispatched again when the service can take it.
func (w *work) notSent(wf *Workflow, i int, a *Attempt, reason Reason) {
	a.NotRun = true
	w.end(wf, a, OutcomeFailed, orReason(reason, ReasonExecutorUnavail))
	st := &wf.Steps[i]
	if st.Task != a.Task {
		return
	}
	switch st.State {
	case Dispatching, OutcomeUnknown:
		w.tryAgain(wf, i, orReason(reason, ReasonExecutorUnavail), string(a.Service))
	case Cancelling:
		w.cancelled(wf, i, confirmed)
	}
}

func (w *work) refusedBy(wf *Workflow, i int, a *Attempt) {
	st := &wf.Steps[i]
	if st.Task != a.Task {
		return
	}
	switch st.State {
	case Dispatching, OutcomeUnknown:
		w.fail(wf, i, Failed, a.EndReason)
	case Cancelling:
		w.cancelled(wf, i, confirmed)
	}
}

// ackMS is how long an executor may take to answer. Source: the catalog; 3 s where it says nothing.
func (w *work) ackMS(spec *StepSpec) int64 {
	if ms := spec.Op.AckMS; ms > 0 {
		return ms
	}
	return 3000
}

func (w *work) stopMS(spec *StepSpec) int64 {
	if ms := spec.Op.StopMS; ms > 0 {
		return ms
	}
	return 4000
}

// end releases what an attempt held.
func (w *work) end(wf *Workflow, a *Attempt, how Outcome, reason Reason) {
	if a.State == Ended {
		return
	}
	a.State, a.Outcome, a.EndReason, a.next = Ended, how, reason, 0
	a.dirty, w.touched, w.freed = true, true, true
	for _, res := range a.Resources {
		w.lastUsed(res)
	}
	if wf.held || wf.Plan.bounded() && safeEnd(wf.Cancel) {
		w.progress(wf) // it may be what the others of its workflow have waited for
	}
}

// taskEnded takes the executor's result. The first one stands; it is a claim, and only where an operation has no effect is the
// claim all the proof there is. Another service than the one that has the task cannot end it.
func (w *work) taskEnded(ev TaskEnded) {
	if w.speechEnded(ev) {
		return
	}
	wf, a := w.attempt(ev.Task)
	if a == nil || a.Cloud || a.State == Ended || ev.Source != "" && ev.Source != string(a.Service) {
		return
	}
	stopped := a.State == Stopping
	w.end(wf, a, ev.Outcome, ev.Reason)
	i := a.Step
	st := &wf.Steps[i]
	if st.Task != a.Task || !st.State.active() {
		return
	}
	if st.State == Cancelling {
		w.cancelled(wf, i, confirmed)
		return
	}
	if a.Pausing == PauseStopping && ev.Outcome != OutcomeDone {
		w.stoppedForHold(wf, i)
		return
	}
	switch ev.Outcome {
	case OutcomeDone:
		w.claimsDone(wf, i, ev)
	case OutcomeCancelled:
		if st.Wish != ReasonNone { // we asked for it, also where the executor refused to stop what had ended already
			w.move(wf, i, Cancelled, st.Wish)
			st.Stop, w.ch.Must = confirmed, true
			return
		}
		if stopped && st.State == OutcomeUnknown {
			w.restedUnknown(wf, i) // we stopped it, to be able to send it again
			return
		}
		w.fail(wf, i, Failed, orReason(ev.Reason, ReasonExternalStop))
	default:
		w.fail(wf, i, Failed, orReason(ev.Reason, ReasonExecutorFailed))
	}
}

func (w *work) claimsDone(wf *Workflow, i int, ev TaskEnded) {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	if len(ev.Output) > 0 {
		st.Output, st.dirty = ev.Output, true
	}
	if st.Accepted == 0 { // who is done has accepted, whatever became of that answer
		st.Accepted, st.dirty = w.now.Boot, true
	}
	if len(st.Effects) == 0 {
		w.complete(wf, i)
		return
	}
	if st.State != Verifying {
		w.move(wf, i, Verifying, ReasonNone)
		st.Due = w.now.Boot + Instant(spec.EvidenceMS)
	}
	w.settle(wf, i)
}

// complete closes a step whose effects are all proven.
func (w *work) complete(wf *Workflow, i int) {
	st := &wf.Steps[i]
	a := wf.attempt(st.Task)
	told := a != nil && a.Cloud
	if st.Output == nil && !told {
		st.Output = outputOf(st)
	}
	st.Done = w.now.Boot
	w.move(wf, i, Completed, ReasonNone)
	if told { // what the planner says of it later changes nothing
		w.end(wf, a, OutcomeDone, ReasonNone)
	}
	w.steerTrailing(wf)
	w.ch.Must = true
}

// outputOf takes a step's output from its proof where the executor gave none: what the event said, or what was read.
func outputOf(st *Step) Values {
	for _, e := range st.Effects {
		for _, ev := range e.Evidence {
			if m, ok := ev.Value.(map[string]any); ok && !ev.Against && len(m) > 0 {
				return m
			}
		}
	}
	return nil
}

// fail ends a step without its effect, unless its declared retry takes it up again. Whatever may still move is stopped; what the
// failure does to the rest is its on_failure.
func (w *work) fail(wf *Workflow, i int, to StepState, reason Reason) {
	st := &wf.Steps[i]
	w.disagree(wf, i, reason)
	sup := w.supervise(&gateQuery{wf: wf, i: i, on: w.observedOf(st, reason), reason: reason, policy: wf.Plan.Steps[i].OnFailure, retry: to == Failed})
	if sup.Decision == DecideRetry {
		w.retry(wf, i, reason)
		return
	}
	w.stepLeft(st, to, reason)
	if a := wf.attempt(st.Task); a != nil && a.holds() {
		w.stop(wf, a)
	}
	switch {
	case sup.Decision == DecideReplan:
		w.escalate(wf, i, to, reason, "")
		return
	case sup.Refused == RefusedStale:
		w.readFirst(wf, i, to, reason)
		return
	case sup.Refused.falls() && w.askFallback(wf, i, to, reason, sup.fallReason()):
		return
	}
	w.notAsked(wf, i, to, reason, sup)
	if wf.Plan.Steps[i].OnFailure == FailAbort && st.Wish != ReasonSuperseded {
		w.abortRest(wf)
	}
}

func (w *work) abortRest(wf *Workflow) {
	for j := range wf.Steps {
		w.cancelStep(wf, j, ReasonAborted)
	}
	w.endKeeps(wf, -1, ReasonAborted)
	w.progress(wf)
}

// executorUp: a service is there, or there anew. Of what it had in hand it is asked how it stands before anything is repeated.
func (w *work) executorUp(ev ExecutorUp) {
	if w.ch.services == nil {
		w.ch.services = map[ServiceID]Service{}
	}
	w.ch.gone = slices.DeleteFunc(w.ch.gone, func(id ServiceID) bool { return id == ev.Service })
	w.ch.services[ev.Service] = Service{Instance: ev.Instance, Methods: ev.Methods, Since: w.now.Boot}
	w.touched, w.freed = true, true
	w.stopBodyOnce(ev)
	w.speechUp(ev.Service)
	for _, r := range w.listening() {
		wf := w.wf(r.wf)
		a := &wf.Attempts[r.at]
		if a.Service != ev.Service || !a.holds() {
			w.look(r)
			continue
		}
		if st := &wf.Steps[a.Step]; st.Task == a.Task && (st.State == Dispatching || st.State == Running || st.State == Paused) {
			w.unknown(wf, a.Step, a, ReasonOutcomeUnknown)
			continue
		}
		if a.State == Stopping {
			w.stop(wf, a)
		}
		w.probe(wf, a)
	}
}

// executorDown: a service is gone, or cannot be asked. What it had in hand has an unknown outcome; nothing of it is repeated for that.
func (w *work) executorDown(ev ExecutorDown) {
	if w.serviceOf(ev.Service).Instance == "" {
		return
	}
	delete(w.ch.services, ev.Service)
	w.ch.gone = append(w.ch.gone, ev.Service)
	w.touched = true
	w.speechDown(ev.Service)
	for _, r := range w.listening() {
		if a := &w.peek(r.wf).Attempts[r.at]; a.Service == ev.Service && (a.State == Calling || a.State == Live) {
			wf := w.wf(r.wf)
			w.unknown(wf, a.Step, &wf.Attempts[r.at], ReasonOutcomeUnknown)
		}
	}
}
