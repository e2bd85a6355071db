package home

import (
	"maps"
	"slices"
	"time"
)

// Answer is the robot's answer to a call. Silent: it never answers. Late: it answers that much later, as if the line were slow.
type Answer struct {
	Accepted bool
	Reason   string // why refused
	Silent   bool
	Late     time.Duration
}

// State is what a robot knows of a task.
type State string

// The states of a Query.
const (
	Running State = "running"
	Ended   State = "ended"
	Unknown State = "unknown" // and from now on sealed
)

// Status is the answer to a Query. Event is the recorded terminal event of an ended task, where one was seen.
type Status struct {
	State  State
	Paused bool
	Result *Result
	Event  *Event
	Silent bool
}

// task is one accepted or refused Invoke. The robot remembers all of them as long as it lives.
type task struct {
	id     string
	method string
	params map[string]any
	answer Answer
	sealed bool
	fault  Fault
	op     operation
	event  *Event // the latest of its events
	result *Result
	held   bool // paused
	limit  *timer
	undo   func() // nil: what it has brought about stays
}

func (t *task) open() bool { return t.answer.Accepted && t.result == nil }

// Invoke starts a task. The same task id again is refused and starts nothing; one that was asked for by Query or
// cancelled before it came is refused as sealed.
func (h *Home) Invoke(now time.Duration, id, method string, params map[string]any) Answer {
	h.to(now)
	if h.deaf(Entry{Kind: KindInvoke, TaskID: id, Method: method}) {
		return Answer{Silent: true}
	}
	if t, known := h.tasks[id]; known {
		h.write(Entry{Kind: KindRepeat, TaskID: id, Method: method})
		if t.sealed {
			h.write(Entry{Kind: KindRefused, TaskID: id, Method: method, Reason: ReasonSealed})
			return Answer{Reason: ReasonSealed}
		}
		if t.answer.Accepted { // it runs, or has run: accepted would mean that it will
			return Answer{Reason: ReasonTaskKnown}
		}
		return t.answer
	}
	h.write(Entry{Kind: KindInvoke, TaskID: id, Method: method, Params: maps.Clone(params), Room: h.room})
	fault := h.faults.take(method)
	if fault.Hang {
		return Answer{Silent: true}
	}
	t := &task{id: id, method: method, params: params, fault: fault}
	h.tasks[id] = t
	t.answer = Answer{Late: fault.AnswerLate, Silent: fault.Mute}
	if t.answer.Reason = h.begin(t); t.answer.Reason != "" {
		h.write(Entry{Kind: KindRefused, TaskID: id, Method: method, Reason: t.answer.Reason})
		return t.answer
	}
	t.answer.Accepted = true
	return t.answer
}

// begin starts a task's work, or says why not.
func (h *Home) begin(t *task) string {
	op, known := operations[t.method]
	if !known {
		return ReasonUnknownMethod
	}
	t.op = op
	if t.fault.Refuse != "" {
		return t.fault.Refuse
	}
	if op.body && !op.stops {
		if reason := h.bodyHeld(); reason != "" {
			return reason
		}
	}
	if t.fault.LieDone {
		h.after(h.opt.SettingTime, func() { h.finish(t, Done, "", nil) })
		return ""
	}
	if t.fault.Contrary {
		t.params = turned(t.params)
	}
	if t.fault.BeginLate > 0 {
		h.later(t, t.fault.BeginLate, func() {
			if reason := h.work(t); reason != "" {
				h.finish(t, Failed, reason, nil)
			}
		})
		return ""
	}
	return h.work(t)
}

// work begins what a task is for, or says why not.
func (h *Home) work(t *task) string {
	if t.fault.Reverts > 0 {
		t.undo = t.op.undo(h)
	}
	if reason := t.op.start(h, t); reason != "" {
		return reason
	}
	if t.fault.FailAfter > 0 {
		t.limit = h.after(t.fault.FailAfter, func() { h.abort(t, Failed, t.fault.failReason()) })
	}
	return ""
}

// turned has every flag the other way round.
func turned(params map[string]any) map[string]any {
	out := maps.Clone(params)
	for name, v := range out {
		if on, is := v.(bool); is {
			out[name] = !on
		}
	}
	return out
}

// abort ends a running task's work at once, without a brake.
func (h *Home) abort(t *task, outcome, reason string) {
	if t.open() {
		t.op.end(h, t, outcome, reason)
	}
}

// finish records and says the result of a task, once.
func (h *Home) finish(t *task, outcome, reason string, output map[string]any) {
	if t == nil || t.result != nil {
		return
	}
	h.drop(t.limit)
	h.flush()
	t.result = &Result{TaskID: t.id, Outcome: outcome, Reason: reason, Output: output}
	if t.undo != nil && outcome == Done {
		h.after(t.fault.Reverts, t.undo)
	}
	note := ""
	if t.fault.Mute || t.fault.NoResult {
		note = "not said"
	} else {
		h.say(Emission{Result: t.result})
		h.sayMore(t)
	}
	h.write(Entry{Kind: KindResult, TaskID: t.id, Method: t.method, Reason: outcomeText(outcome, reason), Note: note, Data: output})
}

// sayMore is what a robot with such a fault says after the end of a task.
func (h *Home) sayMore(t *task) {
	if t.fault.RepeatResult {
		h.say(Emission{Result: t.result})
		h.progress(t, 50, "still under way")
	}
	if t.fault.ThenFail && t.result.Outcome == Done {
		h.after(300*time.Millisecond, func() {
			h.say(Emission{Result: &Result{TaskID: t.id, Outcome: Failed, Reason: t.fault.failReason()}})
		})
	}
}

func outcomeText(outcome, reason string) string {
	if reason == "" {
		return outcome
	}
	return outcome + ":" + reason
}

// Cancel asks for the end of a task. Accepted means that the robot will stop, not that it has. A cancel that overtakes its
// Invoke seals the id: what was cancelled must not begin later.
func (h *Home) Cancel(now time.Duration, id string) Answer {
	h.to(now)
	if h.deaf(Entry{Kind: KindCancel, TaskID: id}) {
		return Answer{Silent: true}
	}
	h.write(Entry{Kind: KindCancel, TaskID: id, Room: h.room})
	t, known := h.tasks[id]
	switch {
	case !known:
		h.tasks[id] = &task{id: id, sealed: true}
		return Answer{Reason: ReasonUnknownTask}
	case t.sealed:
		return Answer{Reason: ReasonUnknownTask}
	case !t.open():
		return Answer{Reason: ReasonAlreadyEnded}
	case t.fault.HangCancel:
		return Answer{Silent: true}
	case t.fault.RefuseCancel != "":
		return Answer{Reason: t.fault.RefuseCancel}
	case t.fault.IgnoreCancel || t.fault.Stuck || t.fault.LieDone:
		return Answer{Accepted: true}
	}
	t.op.cancel(h, t)
	return Answer{Accepted: true}
}

// Pause asks a task to hold. That it holds shows in the context: wheels and fan at rest.
func (h *Home) Pause(now time.Duration, id string) Answer {
	return h.holding(now, id, KindPause, func(op operation) func(*Home, *task) { return op.pause })
}

// Resume lets a held task go on with its own arguments.
func (h *Home) Resume(now time.Duration, id string) Answer {
	return h.holding(now, id, KindResume, func(op operation) func(*Home, *task) { return op.resume })
}

func (h *Home) holding(now time.Duration, id string, kind Kind, pick func(operation) func(*Home, *task)) Answer {
	h.to(now)
	if h.deaf(Entry{Kind: kind, TaskID: id}) {
		return Answer{Silent: true}
	}
	h.write(Entry{Kind: kind, TaskID: id, Room: h.room})
	t, known := h.tasks[id]
	switch {
	case !known || t.sealed:
		return Answer{Reason: ReasonUnknownTask}
	case !t.open():
		return Answer{Reason: ReasonAlreadyEnded}
	case pick(t.op) == nil:
		return Answer{Reason: ReasonNotSupported}
	case t.fault.IgnorePause:
		return Answer{Accepted: true}
	}
	if kind == KindResume {
		if reason := h.bodyHeld(); reason != "" && t.op.body {
			return Answer{Reason: reason}
		}
	}
	pick(t.op)(h, t)
	return Answer{Accepted: true}
}

// Query says what became of a task. An id that is not known is sealed by the question: an Invoke with it is refused for ever.
func (h *Home) Query(now time.Duration, id string) Status {
	h.to(now)
	if h.deaf(Entry{Kind: KindQuery, TaskID: id}) {
		return Status{Silent: true}
	}
	h.write(Entry{Kind: KindQuery, TaskID: id})
	t, known := h.tasks[id]
	if !known {
		t = &task{id: id, sealed: true}
		h.tasks[id] = t
	}
	switch {
	case t.fault.HangQuery:
		return Status{Silent: true}
	case t.sealed:
		return Status{State: Unknown}
	case t.open():
		return Status{State: Running, Paused: t.held}
	case !t.answer.Accepted:
		return Status{State: Ended, Result: &Result{TaskID: id, Outcome: Failed, Reason: t.answer.Reason}}
	}
	return Status{State: Ended, Result: t.result, Event: t.terminal()}
}

// terminal is the task's latest event where that is the last word on the work: a start or a sign of life is none.
func (t *task) terminal() *Event {
	if t.event == nil || !slices.Contains(terminalEvents, t.event.Name) {
		return nil
	}
	return t.event
}

var terminalEvents = []string{"movement.arrived", "movement.failed", "movement.stopped", "station.docked", "cleaning.completed",
	"cleaning.stopped", "cleaning.failed", "air.measured", "vital.completed", "vital.cancelled", "display.changed", "sound.changed",
	"mode.changed", "speech.finished", "speech.interrupted", "battery.changed"}

// Restart is what happens to the body when the robot's own service restarts: all that ran ends without a word; who asks for it
// later hears of the failure. The memory of task ids stays. Forget makes it volatile.
func (h *Home) Restart(now time.Duration, forget bool) { h.RestartOf(now, nil, forget) }

// RestartOf is Restart for the service that has these methods; nil: all.
func (h *Home) RestartOf(now time.Duration, methods []string, forget bool) {
	h.to(now)
	h.flush()
	said := len(h.out)
	of := func(t *task) bool { return methods == nil || slices.Contains(methods, t.method) }
	for _, id := range slices.Sorted(maps.Keys(h.tasks)) {
		if of(h.tasks[id]) {
			h.abort(h.tasks[id], Failed, ReasonRestarted)
		}
	}
	h.out = slices.DeleteFunc(h.out, func(e Emission) bool {
		said--
		return said < 0 && e.Context == nil
	})
	if forget {
		maps.DeleteFunc(h.tasks, func(_ string, t *task) bool { return of(t) })
	}
}

// Deaf says whether the service hangs: whoever serves calls must not answer a read either.
func (h *Home) Deaf() bool { return h.faults.Deaf }

// deaf logs that a call came to a service that hangs.
func (h *Home) deaf(call Entry) bool {
	if h.faults.Deaf {
		call.Note = "deaf"
		h.write(call)
	}
	return h.faults.Deaf
}
