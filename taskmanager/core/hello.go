package core

import "slices"

// HelloAnswered is what the planner says when it answers the hello of this connection.
type HelloAnswered struct {
	PlannerMS int64     `json:"planner_ms,omitempty"` // its clock when it answered, Unix ms; 0: it did not say
	Close     []ToClose `json:"close,omitempty"`      // workflows that it holds open and that were given to an earlier store
}

// ToClose is a workflow that the planner wants closed.
type ToClose struct {
	Workflow WorkflowID `json:"workflow"`
	Past     *Past      `json:"past,omitempty"` // where it has ended here, and only the store still has it
}

// KindHelloAnswered names the event in the journal.
const KindHelloAnswered EventKind = "hello_answered"

func (HelloAnswered) eventKind() EventKind { return KindHelloAnswered }

// MaxClose bounds what one answer closes. The planner names the rest when it answers the next hello.
const MaxClose = 256

// sameTimeMS is how far two readings of the planner's clock may lie apart and still say the same. A link that comes and goes is no
// reason to write. Source: messages take up to a second on a bad line.
const sameTimeMS = 1000

// helloAnswered takes the planner's time, and closes what an earlier store has lost.
func (w *work) helloAnswered(ev HelloAnswered) {
	w.takePlannerTime(ev.PlannerMS)
	for _, lost := range ev.Close[:min(len(ev.Close), MaxClose)] {
		w.closeLost(lost)
	}
}

// closeLost reports a workflow that the planner holds open: what ended here by its result, once more, and what nobody here knows as lost.
// Its id lets nothing in any more, for a plan of it may still be on its way. What is open here is not touched: it came meanwhile.
func (w *work) closeLost(lost ToClose) {
	id := lost.Workflow
	wf := w.peek(id)
	switch {
	case w.reported(id), w.template(id) != nil, wf != nil && !wf.State.Terminal():
		return
	case wf != nil:
		w.report(w.wf(id))
	case lost.Past != nil:
		w.send(Message{Type: MsgResult, Workflow: id, Result: lost.Past.Result})
	case w.tombOf(id) == ReasonQuarantined:
		w.send(Message{Type: MsgResult, Workflow: id, Result: &Result{Status: WfFailed, Reason: ReasonQuarantined, Uplink: 1}})
	default:
		w.tomb(id, ReasonStoreLost)
		w.send(Message{Type: MsgResult, Workflow: id, Result: &Result{Status: WfFailed, Reason: ReasonStoreLost, Uplink: 1}})
	}
	w.touched = true
}

// reported says whether this very batch reports on a workflow already.
func (w *work) reported(id WorkflowID) bool {
	return slices.ContainsFunc(w.ch.Outbox, func(m Message) bool { return m.Type == MsgResult && m.Workflow == id })
}

// takePlannerTime notes the planner's clock. A wish to stop everything that came while nobody knew the time is dated now.
func (w *work) takePlannerTime(ms int64) {
	if ms <= 0 {
		return
	}
	known := w.plannerTime()
	if diff := ms - known; known != 0 && diff > -sameTimeMS && diff < sameTimeMS {
		return
	}
	w.dev.PlannerMS, w.dev.PlannerAt, w.touched = ms, w.now.Boot, true
	w.dateCancelAll()
}

// plannerTime is the planner's clock as the boot clock has carried it on since the last answer to a hello in this boot; 0: there was none.
func (w *work) plannerTime() int64 {
	if w.dev.PlannerMS == 0 {
		return 0
	}
	return w.dev.PlannerMS + int64(w.now.Boot-w.dev.PlannerAt)
}

// judging is the time by which the age of a message is judged, Unix ms: that of a trusted clock, else the planner's; 0: nobody knows. What
// is handed in on the robot is stamped by the robot's clock, which the planner's does not judge. What waits for a moment of the wall clock
// waits for a trusted one: the planner's is good enough to refuse by, not to begin by.
func (w *work) judging(local bool) int64 {
	switch {
	case w.now.Trusted:
		return w.now.WallMS
	case local:
		return 0
	}
	return w.plannerTime()
}

// tooLate judges when a message expires.
func (w *work) tooLate(h Head) Reason {
	switch now := w.judging(h.Local); {
	case h.ExpireMS == 0:
		return ReasonNone
	case now == 0:
		return ReasonClockUntrusted
	case now > h.ExpireMS:
		return ReasonExpired
	}
	return ReasonNone
}

// stopsBefore judges a plan by the last stop of everything: what was said before it is not begun after it.
func (w *work) stopsBefore(h Head) Reason {
	w.dateCancelAll()
	switch {
	case h.SentMS == 0 || h.Local && !w.now.Trusted: // what is handed in on the robot comes at once
		return ReasonNone
	case h.SentMS <= w.dev.CancelAllMS:
		return ReasonCancelledBefore
	case w.dev.CancelAllAt != 0:
		return ReasonClockUntrusted
	}
	return ReasonNone
}

// noteCancelAll dates a stop of everything by the planner's clock: by the stamp of the message, where it came from there, else by what
// is known of the time, else later.
func (w *work) noteCancelAll(h Head) {
	if h.SentMS != 0 && !h.Local {
		w.dev.CancelAllMS = max(w.dev.CancelAllMS, h.SentMS)
		return
	}
	w.dev.CancelAllAt = w.now.Boot
	w.dateCancelAll()
}

// dateCancelAll dates a stop that came while nobody knew the time. Time that the device was off is not counted, where nobody knows how
// long: such a stop is dated too late then, and refuses more, never less.
func (w *work) dateCancelAll() {
	if now := w.judging(false); now != 0 && w.dev.CancelAllAt != 0 {
		w.dev.CancelAllMS = max(w.dev.CancelAllMS, now-int64(w.now.Boot-w.dev.CancelAllAt))
		w.dev.CancelAllAt = 0
	}
}
