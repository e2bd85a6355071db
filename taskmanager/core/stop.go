package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// How a cancelled step ended: whether anything confirmed that its task has stopped.
const (
	confirmed   = "confirmed"
	unconfirmed = "unconfirmed"
)

// maxStops is how often stop is called before the step is given up. Source: docs/taskmanager.md, cancel (three stop times).
const maxStops = 3

// stop asks the executor to end a task. It waits for no disk and no queue, and is repeated until the end is confirmed: by the
// executor's result, by a Query, or by the resource being at rest.
func (w *work) stop(wf *Workflow, a *Attempt) {
	if !a.holds() {
		return
	}
	if a.Cloud || w.withdraw(a.Task) {
		w.end(wf, a, OutcomeCancelled, ReasonUserCancelled)
		return
	}
	spec := &wf.Plan.Steps[a.Step]
	a.State, a.dirty, w.touched = Stopping, true, true
	a.StopCalls++
	a.StopAt, a.StopSeq = w.now.Boot, w.seq
	if a.StopCalls == 1 {
		w.trace(wf, TraceEntry{Stage: StageAct, What: "stop", Step: wf.Steps[a.Step].ID, Reason: wf.Steps[a.Step].Wish, Basis: string(a.Task)})
	}
	a.next = w.now.Boot + Instant(w.stopMS(spec))
	if spec.Op.Cancel {
		w.ch.Now = append(w.ch.Now, Stop{Task: a.Task, Service: a.Service, Method: spec.Method})
	}
	if wf.Steps[a.Step].Accepted == 0 {
		w.ask(a) // the call may still be on its way: what the executor does not know it refuses from now on
	}
	w.ch.Must = true
	if a.StopCalls >= maxStops {
		w.progress(wf) // nobody waits for it any more
	}
}

// withdraw takes back a dispatch that this very reduction decided: nothing of it has left.
func (w *work) withdraw(task TaskID) bool {
	sent := func(o Output) bool { d, ok := o.(Dispatch); return ok && d.Task == task }
	n := len(w.ch.Now) + len(w.ch.Outputs)
	w.ch.Now, w.ch.Outputs = slices.DeleteFunc(w.ch.Now, sent), slices.DeleteFunc(w.ch.Outputs, sent)
	return len(w.ch.Now)+len(w.ch.Outputs) < n
}

// stopAgain is due when a stop was not confirmed in its time: call again, three times in all; after that the step is cancelled
// unconfirmed, while its task keeps its resource until something shows that it rests.
func (w *work) stopAgain(wf *Workflow, a *Attempt) {
	if a.StopCalls < maxStops && a.StopCalls > 0 {
		w.stopByAllMeans(wf, a)
		w.stop(wf, a)
		w.readRest(wf, a)
		return
	}
	st := &wf.Steps[a.Step]
	if st.Task == a.Task && st.State == Cancelling {
		w.cancelled(wf, a.Step, unconfirmed)
	}
	if st.Task == a.Task && st.State.active() && a.Pausing == PauseStopping {
		w.fail(wf, a.Step, Failed, ReasonCancelUnconfirmed)
	}
	w.probe(wf, a) // its end may have been told while nobody listened
	w.readRest(wf, a)
}

// stopAnswered takes the executor's answer to a stop. A refusal puts the step back: its final result wins.
func (w *work) stopAnswered(ev StopAnswered) {
	if ev.To != "" {
		w.pauseAnswered(ev)
		return
	}
	wf, a := w.attempt(ev.Task)
	if a == nil || a.State != Stopping {
		return
	}
	w.touched = true
	if a.MayGoOn && ev.Accepted && a.Yielded == 0 {
		a.Yielded, a.dirty = w.now.Boot, true
	}
	w.mayGoOn(a, a.MayGoOn && !ev.Accepted)
	if !ev.Refused {
		w.readRest(wf, a)
		return
	}
	w.ask(a) // a task that it does not even know is refused a stop too
	if st := &wf.Steps[a.Step]; st.Task == a.Task && st.State == Cancelling && st.Accepted != 0 {
		a.State, a.next, a.dirty = Live, 0, true
		w.move(wf, a.Step, Running, ReasonCancelRefused)
		if t := wf.Plan.Steps[a.Step].TimeoutMS; st.RunDue == 0 && t > 0 { // it was accepted after it was to be stopped
			st.RunDue = st.Accepted + Instant(t)
		}
		if st.Due = st.RunDue; st.Due == 0 {
			st.recheck = w.now.Boot + gapMS
		}
		w.ch.Must = true
		a.Pausing = PauseNone
		w.steer(wf, a.Step)
		return
	}
	w.stopRefused(wf, a)
}

// readRest asks for what shows that the attempt's resources rest.
func (w *work) readRest(wf *Workflow, a *Attempt) {
	pace := Instant(rereadMS)
	if !wf.Steps[a.Step].State.active() {
		pace = idleMS
	}
	for _, res := range a.Resources {
		if x := w.cat.Resources[res].AtRest; x != nil {
			n := 0
			leaves(*x, &n, func(_ int, l catalog.Leaf) { w.read(l.Context) })
			a.next = earlier(a.next, w.now.Boot+pace)
		}
	}
}

// tryRest ends an attempt whose resources are seen at rest since the last stop call, or since its step ended: the executor's word
// may have been lost, its wheels stand still all the same.
func (w *work) tryRest(r ref) {
	wf := w.peek(r.wf)
	a := &wf.Attempts[r.at]
	st := &wf.Steps[a.Step]
	waits := st.Task == a.Task && st.State.active()
	if a.Cloud || len(a.Resources) == 0 || a.State != Stopping && waits || a.MayGoOn || w.onItsWay(wf, a) {
		return
	}
	after, since := a.StopSeq, a.StopAt
	if a.StopCalls == 0 {
		after, since = a.Seq, st.Ended // while it set out it may have stood still too
	}
	if a.Yielded != 0 { // it stood still before it was stopped: only once its stop time is over does that say something
		since = max(since, a.Yielded+Instant(w.stopMS(&wf.Plan.Steps[a.Step])))
	}
	if !w.atRest(a.Resources, view{w: w, after: after, since: since}) {
		if !waits && w.atRest(a.Resources, view{w: w, after: after, since: since, hasty: true}) {
			a = &w.wf(r.wf).Attempts[r.at]
			a.next = earlier(a.next, w.now.Boot+rereadMS) // it seems to rest: now look closely
		}
		return
	}
	wf = w.wf(r.wf)
	a = &wf.Attempts[r.at]
	w.end(wf, a, OutcomeCancelled, atRestReason)
	st = &wf.Steps[a.Step]
	switch {
	case st.Task != a.Task:
	case st.State == Cancelling:
		w.cancelled(wf, a.Step, confirmed)
	case a.Pausing == PauseStopping && st.State.active():
		w.stoppedForHold(wf, a.Step)
	case st.State == OutcomeUnknown:
		w.restedUnknown(wf, a.Step)
	}
}

// onItsWay says that the call may still reach its executor: nothing was ever heard of the task, and it is not sealed. However
// still the wheels stand, they may turn in a moment.
func (w *work) onItsWay(wf *Workflow, a *Attempt) bool {
	st, op := &wf.Steps[a.Step], wf.Plan.Steps[a.Step].Op
	return st.Task == a.Task && st.Accepted == 0 && !a.Sealed && op.Probe != catalog.ProbeNone && w.serviceOf(a.Service).Instance == a.Instance
}

// restedUnknown: the task's outcome is unknown, its end is confirmed. It may be sent again only where the catalog says so and
// its effect is not observed; the check of the effect comes first when it is queued.
func (w *work) restedUnknown(wf *Workflow, i int) {
	st := &wf.Steps[i]
	if wf.Plan.Steps[i].Op.Redo == catalog.RedoNever {
		w.fail(wf, i, Failed, ReasonOutcomeUnknown)
		return
	}
	st.Checked = false
	w.tryAgain(wf, i, ReasonOutcomeUnknown, "")
}

// atRest says whether each of the resources is seen at rest, by readings that v lets count.
func (w *work) atRest(resources []catalog.ResourceID, v view) bool {
	v.accept = []catalog.Class{catalog.Independent}
	for _, res := range resources {
		x := w.cat.Resources[res].AtRest
		if x == nil {
			return false
		}
		if one := v; one.eval(*x) != condition.True {
			return false
		}
	}
	return true
}

// cancelStep stops one step as far as it has come; a step that has ended stays as it ended.
func (w *work) cancelStep(wf *Workflow, i int, reason Reason) {
	st := &wf.Steps[i]
	switch {
	case st.State.Terminal() || st.State == Cancelling:
	case !st.State.active():
		w.move(wf, i, Cancelled, reason)
	default:
		a := wf.attempt(st.Task)
		if a == nil || !a.holds() {
			w.move(wf, i, Cancelled, reason)
			return
		}
		st.Wish = reason
		w.move(wf, i, Cancelling, reason)
		if w.stop(wf, a); !a.holds() {
			w.cancelled(wf, i, confirmed)
			return
		}
		w.readRest(wf, a)
	}
}

func (w *work) cancelled(wf *Workflow, i int, how string) {
	reason := wf.Steps[i].Reason
	if how == unconfirmed {
		reason = ReasonCancelUnconfirmed
	}
	w.move(wf, i, Cancelled, reason)
	wf.Steps[i].Stop = how
	w.ch.Must = true
}

// cancelWorkflow cancels all of a workflow. From now on no step of it is dispatched: the tombstone outlives the workflow.
func (w *work) cancelWorkflow(id WorkflowID, reason Reason) {
	w.tomb(id, reason)
	wf := w.wf(id)
	if wf == nil || wf.State.Terminal() {
		return
	}
	w.supervise(&gateQuery{wf: wf, i: -1, on: ObsUserCancel, reason: reason})
	wf.Cancel, wf.dirty, w.touched = reason, true, true
	for i := range wf.Steps {
		w.cancelStep(wf, i, reason)
	}
	w.stopLive(wf) // also what a step left running that has ended: cleaning goes on when the step that began it has completed
	w.progress(wf)
	w.ch.Must = true
}

func (w *work) tomb(id WorkflowID, reason Reason) {
	if w.tombOf(id) != ReasonNone {
		return
	}
	if w.ch.tombs == nil {
		w.ch.tombs = map[WorkflowID]Reason{}
	}
	w.ch.tombs[id] = reason
	w.ch.Tombs = append(w.ch.Tombs, id)
	w.ch.Must = true
}

func (w *work) tombOf(id WorkflowID) Reason {
	if r, ok := w.ch.tombs[id]; ok {
		return r
	}
	return w.cur.Tombs[id]
}

// stopLive stops the tasks of a workflow that has ended, and names the resources that are not free yet.
func (w *work) stopLive(wf *Workflow) (stopping []string) {
	for i := range wf.Attempts {
		a := &wf.Attempts[i]
		if !a.holds() {
			continue
		}
		if a.State != Stopping {
			w.stop(wf, a)
		}
		for _, res := range a.Resources {
			stopping = append(stopping, string(res))
		}
	}
	return stopping
}

// wish takes what a button or the robot's safety asks for: it waits for nothing.
func (w *work) wish(ev Observed) {
	if ev.Event == "pui.cancelled" {
		w.buttonCancel()
		return
	}
	w.consentEvent(ev)
	w.holdButtons(ev)
	w.safetyEvent(ev)
	w.voiceEvent(ev)
}

// buttonCancel: the cancel button on the robot is a stop of its user: it cancels every workflow with a task on the body.
// What was said before it and has not arrived yet is not begun after it either.
func (w *work) buttonCancel() {
	w.noteCancelAll(Head{})
	w.touched, w.ch.Must = true, true
	var body []catalog.ResourceID
	for id, res := range w.cat.Resources {
		if res.Body {
			body = append(body, id)
		}
	}
	w.cancelSessions("", ReasonPUICancelled)
	w.stopUsers(body, "", ReasonPUICancelled)
	w.buttonAsks()
	if w.inUse(body) {
		w.runStanding(catalog.StandingStop, "somebody has pressed stop, and no task of ours moves the robot")
	}
}

// stopUsers cancels every workflow, but one, with a task on the resources, or with a step that has failed there and may be tried again,
// and stops tasks whose workflow has already ended.
func (w *work) stopUsers(resources []catalog.ResourceID, but WorkflowID, reason Reason) {
	for _, r := range w.listening() {
		if r.wf == but {
			continue
		}
		a := &w.peek(r.wf).Attempts[r.at]
		if !a.holds() || !slices.ContainsFunc(a.Resources, func(x catalog.ResourceID) bool { return slices.Contains(resources, x) }) {
			continue
		}
		if wf := w.peek(r.wf); !wf.State.Terminal() {
			w.cancelWorkflow(r.wf, reason)
		} else if a.State != Stopping {
			wf = w.wf(r.wf)
			w.stop(wf, &wf.Attempts[r.at])
		}
	}
	for _, id := range w.everyone() {
		if wf := w.peek(id); id != but && !wf.State.Terminal() && wf.mayGoOnWith(resources) {
			w.cancelWorkflow(id, reason)
		}
	}
}

// StopsSomething says whether an event may ask for stops that must not wait.
func StopsSomething(ev Event) bool {
	switch ev := ev.(type) {
	case ControlReceived:
		return ev.Verb == "cancel" || ev.Verb == "kill" || ev.Verb == "pause" || ev.Verb == "set_mode"
	case Observed:
		return ev.Event == "pui.cancelled" || ev.Event == "pui.paused" || ev.Event == "pui.takeover" || consentEvents[ev.Event] == ConsentRevoked || ev.Event == voiceInterrupted || alarm(ev) != ""
	case ContentReceived:
		return ev.Verb.halts()
	case PlanSubmitted:
		return ev.Plan.Schedule == nil && (len(ev.Plan.CancelSteps) > 0 || slices.ContainsFunc(ev.Plan.Steps, stopsAtOnce))
	}
	return false
}

// stopsAtOnce: a stop operation that waits for nothing.
func stopsAtOnce(s StepSpec) bool {
	return len(s.Stops) > 0 && len(s.Deps) == 0 && !s.timed() && s.When == nil && s.Op.Consent == ""
}

// UrgentStops gives the stops and pauses that an event asks for and that must not wait for a commit under way: those of the live tasks
// that a cancel, a hold, a button, a plan with a stop operation or a revision with cancel_steps covers. The event itself is reduced in its
// turn; a stop called twice is harmless.
func UrgentStops(cur *State, now Now, ev Event) []Output {
	if !StopsSomething(ev) {
		return nil
	}
	w := newWork(cur, now)
	switch ev := ev.(type) {
	case ControlReceived:
		w.controlReceived(ev)
	case Observed:
		w.wish(ev)
	case ContentReceived:
		w.contentReceived(ev)
	case PlanSubmitted:
		if w.peek(ev.Plan.Workflow) != nil {
			w.planSubmitted(ev)
			break
		}
		if ev.Before != nil || ev.Past != nil || w.tombOf(ev.Plan.Workflow) != ReasonNone {
			return nil // a repeat, or refused
		}
		for _, s := range ev.Plan.Steps {
			if stopsAtOnce(s) {
				w.stopUsers(s.Stops, "", ReasonUserCancelled)
			}
		}
	}
	w.haltCalls()
	return slices.DeleteFunc(w.ch.Now, func(o Output) bool { return !stopsTask(o) })
}

// stopsTask says whether an output ends or holds a task.
func stopsTask(o Output) bool {
	switch o.(type) {
	case Stop, Pause:
		return true
	}
	return false
}

// StopBody gives a stop for every live task that moves the body: for a device that may not go on.
func StopBody(cur *State) []Output {
	w := newWork(cur, Now{Boot: cur.Device.Boot})
	for _, r := range w.listening() {
		wf := w.peek(r.wf)
		if a := &wf.Attempts[r.at]; a.holds() && wf.Plan.Steps[a.Step].MovesBody {
			w.stop(w.wf(r.wf), &w.wf(r.wf).Attempts[r.at])
		}
	}
	return w.ch.Now
}
