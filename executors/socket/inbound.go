package socket

import (
	"context"
	"slices"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// read takes frames until the connection ends or one is bad. Each becomes one event in the sink before the next is looked at:
// that keeps their order, and a core that is busy slows its program down instead of filling memory.
func (l *link) read(ctx context.Context, in *frameReader) error {
	for {
		f, err := in.next()
		if err != nil {
			return err
		}
		ev, err := l.inbound(f)
		if err != nil {
			return err
		}
		if ev == nil {
			continue
		}
		if err := l.srv.opt.Sink(ctx, ev); err != nil {
			return err
		}
	}
}

// inbound makes the event of a frame. An answer goes to its call instead, and gives no event here.
func (l *link) inbound(f frame) (core.Event, error) {
	switch f.Kind {
	case KindAnswer, KindStatus, KindValues:
		return nil, l.answer(f)
	case KindEvent:
		var b eventBody
		if err := decodeBody(f, &b); err != nil {
			return nil, err
		}
		return l.observed(b)
	case KindProgress:
		var b progressBody
		if err := decodeBody(f, &b); err != nil {
			return nil, err
		}
		return core.TaskProgress{Task: core.TaskID(b.Task), Percent: b.Percent, Note: b.Note}, checkName("task_id", b.Task, false)
	case KindPaused, KindResumed:
		var b taskBody
		if err := decodeBody(f, &b); err != nil {
			return nil, err
		}
		return core.TaskStatus{Task: core.TaskID(b.Task), Known: core.KnownRunning, Paused: f.Kind == KindPaused, Resumed: f.Kind == KindResumed,
			Instance: l.reg.Instance, Source: string(l.reg.Service)}, checkName("task_id", b.Task, false)
	case KindResult:
		var b resultBody
		if err := decodeBody(f, &b); err != nil {
			return nil, err
		}
		if err := checkName("task_id", b.Task, false); err != nil {
			return nil, err
		}
		return l.taskEnded(core.TaskID(b.Task), endedBody{Outcome: b.Outcome, Reason: b.Reason, Output: b.Output})
	case KindContext:
		vs, err := contextValues(f)
		if err == nil {
			err = l.ownKeys(vs)
		}
		return core.ContextRead{Source: string(l.reg.Service), Values: vs}, err
	}
	return nil, badFrame("%s is not for a program to send now", f.Kind)
}

// ownKeys refuses values that a program says unasked of keys that it did not register: whoever may open the socket could say for the
// robot that it is safe, docked or silent. What it was asked for the registry compares with the question.
func (l *link) ownKeys(vs []core.ContextValue) error {
	for _, v := range vs {
		if !slices.Contains(l.reg.Keys, v.Key) {
			return badFrame("context key %s is not one that this program registered; name it in the keys of register", v.Key)
		}
	}
	return nil
}

// ownEvent refuses what the catalog leaves to another service: an event is evidence.
func (l *link) ownEvent(event catalog.EventName) error {
	if !l.srv.opt.MayReport(l.reg.Service, event) {
		return badFrame("event %s: the catalog does not leave it to service %s", event, l.reg.Service)
	}
	return nil
}

// answer ends the call that f answers. It is decoded first: an answer that cannot be read leaves its call open, so that the end of
// the connection makes it unknown.
func (l *link) answer(f frame) error {
	p, ok := l.callFor(f.Call)
	if !ok {
		return nil
	}
	ev, err := l.answerOf(f, p.out)
	if err != nil {
		return err
	}
	l.forget(f.Call)
	p.done(ev, nil)
	return nil
}

func (l *link) answerOf(f frame, out core.Output) (core.Event, error) {
	switch o := out.(type) {
	case core.Query:
		if f.Kind == KindStatus {
			return l.status(f, o.Task)
		}
	case core.Read:
		if f.Kind == KindValues {
			vs, err := contextValues(f)
			return core.ContextRead{Source: string(l.reg.Service), Values: vs}, err
		}
	case core.Dispatch:
		if f.Kind == KindAnswer {
			b, err := answerBodyOf(f)
			return core.TaskAnswered{Task: o.Task, Accepted: b.Accepted, Reason: core.Reason(b.Reason), Instance: l.reg.Instance}, err
		}
	default:
		if f.Kind == KindAnswer {
			b, err := answerBodyOf(f)
			return core.StopAnswered{Accepted: b.Accepted, Refused: !b.Accepted, Reason: core.Reason(b.Reason)}, err
		}
	}
	return nil, badFrame("%s does not answer call %d", f.Kind, f.Call)
}

// answerBodyOf reads an answer; a refusal without a reason gets one.
func answerBodyOf(f frame) (answerBody, error) {
	var b answerBody
	err := decodeBody(f, &b)
	var fallback core.Reason
	if !b.Accepted {
		fallback = core.ReasonExecutorRefused
	}
	b.Reason = string(reasonOf(b.Reason, fallback))
	return b, err
}

func (l *link) status(f frame, task core.TaskID) (core.Event, error) {
	var b statusBody
	if err := decodeBody(f, &b); err != nil {
		return nil, err
	}
	st := core.TaskStatus{Task: task, Known: core.TaskKnown(b.Known), Sealed: b.Sealed, Paused: b.Paused && b.Known == string(core.KnownRunning), Instance: l.reg.Instance}
	switch st.Known {
	case core.KnownRunning, core.KnownNot:
	case core.KnownEnded:
		if b.Ended == nil {
			return nil, badFrame("status: known ended without how it ended")
		}
	default:
		return nil, badFrame("status: known is %s", clip(b.Known))
	}
	if b.Ended != nil {
		ended, err := l.taskEnded(task, *b.Ended)
		if err != nil {
			return nil, err
		}
		st.Ended = &ended
	}
	if b.Event != nil {
		ev, err := l.observed(*b.Event)
		if err != nil {
			return nil, err
		}
		st.Event = &ev
	}
	return st, nil
}

func (l *link) taskEnded(task core.TaskID, b endedBody) (core.TaskEnded, error) {
	ev := core.TaskEnded{Task: task, Outcome: core.Outcome(b.Outcome), Reason: reasonOf(b.Reason, core.ReasonNone), Source: string(l.reg.Service)}
	switch ev.Outcome {
	case core.OutcomeDone, core.OutcomeCancelled:
	case core.OutcomeFailed:
		ev.Reason = reasonOf(b.Reason, core.ReasonExecutorFailed)
	default:
		return ev, badFrame("outcome is %s", clip(b.Outcome))
	}
	var err error
	ev.Output, err = coreValues(b.Output)
	return ev, err
}

func (l *link) observed(b eventBody) (core.Observed, error) {
	ev := core.Observed{Event: catalog.EventName(b.Event), Task: core.TaskID(b.Task), Resource: catalog.ResourceID(b.Resource),
		Source: b.Source, Class: catalog.Class(b.Class), OccurredAt: b.OccurredAt, Seq: b.Seq, Reason: reasonOf(b.Reason, core.ReasonNone)}
	if ev.Source == "" {
		ev.Source = string(l.reg.Service)
	}
	for _, check := range []error{checkName("event", b.Event, false), checkName("task_id", b.Task, true),
		checkName("resource", b.Resource, true), checkName("source", ev.Source, false), checkStamp(b.OccurredAt),
		checkClass(ev.Class), l.ownEvent(ev.Event)} {
		if check != nil {
			return ev, check
		}
	}
	var err error
	ev.Data, err = coreValues(b.Data)
	return ev, err
}

// checkStamp bounds the robot's own time stamp. It is kept and shown, never read, so that its form is free.
func checkStamp(text string) error {
	if len(text) > 64 {
		return badFrame("occurred_at has %d bytes, at most 64", len(text))
	}
	return nil
}

func checkClass(c catalog.Class) error {
	switch c {
	case "", catalog.Independent, catalog.SamePath, catalog.Echo:
		return nil
	}
	return badFrame("source_class is %s", clip(string(c)))
}

func contextValues(f frame) ([]core.ContextValue, error) {
	var b valuesBody
	if err := decodeBody(f, &b); err != nil {
		return nil, err
	}
	out := make([]core.ContextValue, len(b.Values))
	for i, v := range b.Values {
		value, err := coreValue(v.Value)
		if err == nil {
			err = checkName("key", v.Key, false)
		}
		if err == nil {
			err = checkClass(catalog.Class(v.Class))
		}
		if err != nil {
			return nil, err
		}
		out[i] = core.ContextValue{Key: catalog.ContextKey(v.Key), Value: value, Class: catalog.Class(v.Class), Available: v.Available}
	}
	return out, nil
}

// A link hands calls over in order.
var _ executors.Beginner = (*link)(nil)
