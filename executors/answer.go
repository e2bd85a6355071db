package executors

import (
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// The reasons that the registry itself gives.
const (
	reasonUnavailable = core.ReasonExecutorUnavail // nobody serves it, or the connection was lost
	reasonBusy        = core.ReasonExecutorBusy    // it waited for its turn too long, or the queue is full
	reasonTimeout     = core.ReasonAckTimeout      // sent, and no answer within the hard limit

	reasonReplaced core.Reason = "replaced" // of an ExecutorDown: another instance took its place
)

// noAnswer is the event that stands in for an answer which did not come. sent false: it surely never left this process.
func noAnswer(out core.Output, sent bool, reason core.Reason, service core.ServiceID, instance string) core.Event {
	switch o := out.(type) {
	case core.Dispatch:
		return core.TaskAnswered{Task: o.Task, Reason: reason, Unknown: sent, NotSent: !sent, Instance: instance}
	case core.Query:
		return core.TaskStatus{Task: o.Task, Known: core.KnownNoAnswer, Instance: instance}
	case core.Stop:
		return core.StopAnswered{Task: o.Task, Reason: reason}
	case core.Pause:
		return core.StopAnswered{Task: o.Task, To: core.ToPause, Reason: reason}
	case core.Resume:
		return core.StopAnswered{Task: o.Task, To: core.ToResume, Reason: reason}
	case core.Read:
		return core.ContextRead{Source: string(service), Values: complete(o.Keys, nil)}
	}
	return nil
}

// answered puts into an answer what the registry knows better than the service: which task it was asked for, and which instance
// was asked. nil means that the answer does not fit the call.
func answered(out core.Output, ev core.Event, service core.ServiceID, instance string) core.Event {
	task := taskOf(out)
	switch ev := ev.(type) {
	case core.TaskAnswered:
		if _, ok := out.(core.Dispatch); ok {
			ev.Task, ev.Instance = task, instance
			return ev
		}
	case core.TaskStatus:
		if _, ok := out.(core.Query); ok {
			ev.Task, ev.Instance = task, instance
			return ev
		}
	case core.StopAnswered:
		ev.Task = task
		switch out.(type) {
		case core.Stop:
			ev.To = ""
			return ev
		case core.Pause:
			ev.To = core.ToPause
			return ev
		case core.Resume:
			ev.To = core.ToResume
			return ev
		}
	case core.ContextRead:
		if o, ok := out.(core.Read); ok {
			return core.ContextRead{Source: string(service), Values: complete(o.Keys, ev.Values)}
		}
	}
	return nil
}

// late makes of an answer that came after the hard limit what it still tells. The Dispatch has had its one TaskAnswered, so this
// is a statement on the task, as if it had been asked for. nil: nothing of use.
func late(out core.Output, ev core.Event, instance string) core.Event {
	a, ok := ev.(core.TaskAnswered)
	d, asked := out.(core.Dispatch)
	if !ok || !asked || a.Unknown || a.NotSent {
		return nil
	}
	known := core.KnownNot // refused: it does not run, but the id is not sealed
	if a.Accepted {
		known = core.KnownRunning
	}
	return core.TaskStatus{Task: d.Task, Known: known, Instance: instance}
}

// complete answers every asked key once, in the order asked, and drops what nobody asked for.
func complete(keys []catalog.ContextKey, got []core.ContextValue) []core.ContextValue {
	out := make([]core.ContextValue, len(keys))
	for i, key := range keys {
		out[i] = core.ContextValue{Key: key}
		if n := slices.IndexFunc(got, func(v core.ContextValue) bool { return v.Key == key }); n >= 0 {
			out[i] = got[n]
		}
	}
	return out
}

func taskOf(out core.Output) core.TaskID {
	task, _ := targetOf(out)
	return task
}

// targetOf names the task and the service of an output; a Read has neither.
func targetOf(out core.Output) (core.TaskID, core.ServiceID) {
	switch o := out.(type) {
	case core.Dispatch:
		return o.Task, o.Service
	case core.Query:
		return o.Task, o.Service
	case core.Stop:
		return o.Task, o.Service
	case core.Pause:
		return o.Task, o.Service
	case core.Resume:
		return o.Task, o.Service
	}
	return "", ""
}
