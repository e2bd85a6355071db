package robot

import (
	"time"

	"deviceagent/executors/socket"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
)

// program is the robot as the agent's socket sees it. Answers are sent under the robot's lock, so that an answer leaves before the
// events that follow from its call.
type program struct{ r *Robot }

// Connected says the whole context, since the agent may have missed any of it.
func (p program) Connected(s *socket.Session) { p.connected(s) }

func (p program) connected(s session) {
	p.r.Do(func(h *home.Home, _ time.Duration) {
		p.r.session = s
		p.r.out.printf("registered with the agent")
		_ = s.Context(values(h.Snapshot())) // a session that ends at once is opened anew
	})
}

func (p program) Dispatch(d core.Dispatch, answer func(core.TaskAnswered)) {
	p.r.Do(func(h *home.Home, now time.Duration) {
		p.r.last = d.Task
		a := h.Invoke(now, string(d.Task), string(d.Method), d.Params)
		p.reply(now, a, func() {
			answer(core.TaskAnswered{Task: d.Task, Accepted: a.Accepted, Reason: core.Reason(a.Reason)})
		})
	})
}

// reply sends an answer now, later or never.
func (p program) reply(now time.Duration, a home.Answer, answer func()) {
	switch {
	case a.Silent:
	case a.Late > 0:
		p.r.late = append(p.r.late, lateAnswer{at: now + a.Late, answer: answer})
	default:
		answer()
	}
}

func (p program) Query(task core.TaskID, answer func(core.TaskStatus)) {
	p.r.Do(func(h *home.Home, now time.Duration) {
		if st := h.Query(now, string(task)); !st.Silent {
			answer(status(task, st))
		}
	})
}

func (p program) Cancel(s core.Stop, answer func(core.StopAnswered)) {
	p.stop(s.Task, (*home.Home).Cancel, answer)
}

func (p program) Pause(task core.TaskID, answer func(core.StopAnswered)) {
	p.stop(task, (*home.Home).Pause, answer)
}

func (p program) Resume(task core.TaskID, answer func(core.StopAnswered)) {
	p.stop(task, (*home.Home).Resume, answer)
}

func (p program) stop(task core.TaskID, call func(*home.Home, time.Duration, string) home.Answer, answer func(core.StopAnswered)) {
	p.r.Do(func(h *home.Home, now time.Duration) {
		a := call(h, now, string(task))
		p.reply(now, a, func() {
			answer(core.StopAnswered{Task: task, Accepted: a.Accepted, Refused: !a.Accepted, Reason: core.Reason(a.Reason)})
		})
	})
}

func (p program) Read(keys []catalog.ContextKey, answer func([]core.ContextValue)) {
	p.r.Do(func(h *home.Home, _ time.Duration) {
		if h.Deaf() {
			return
		}
		names := make([]string, len(keys))
		for i, k := range keys {
			names[i] = string(k)
		}
		answer(values(h.Read(names)))
	})
}

// say sends what the model said, in order. Without an agent it is lost.
func (r *Robot) say(emissions []home.Emission) {
	for _, e := range emissions {
		if r.session == nil {
			return
		}
		if err := r.send(e); err != nil {
			r.session = nil
		}
	}
}

func (r *Robot) send(e home.Emission) error {
	switch {
	case e.Event != nil:
		return r.session.Event(observed(e.Event, r.start.Add(time.Duration(float64(e.AtMS)/r.opt.Speed)*time.Millisecond)))
	case e.Context != nil:
		return r.session.Context(values(e.Context))
	case e.Held != nil && e.Held.Paused:
		return r.session.Paused(core.TaskID(e.Held.TaskID))
	case e.Held != nil:
		return r.session.Resumed(core.TaskID(e.Held.TaskID))
	case e.Progress != nil:
		return r.session.Progress(core.TaskProgress{Task: core.TaskID(e.Progress.TaskID), Percent: e.Progress.Percent, Note: e.Progress.Note})
	default:
		return r.session.Result(ended(e.Result))
	}
}

func observed(ev *home.Event, at time.Time) core.Observed {
	return core.Observed{Event: catalog.EventName(ev.Name), Task: core.TaskID(ev.TaskID), Resource: catalog.ResourceID(ev.Resource),
		Source: ev.Source, Class: catalog.Class(ev.Class), OccurredAt: at.UTC().Format(time.RFC3339Nano), Seq: ev.Seq,
		Reason: core.Reason(ev.Reason), Data: ev.Data}
}

func ended(res *home.Result) core.TaskEnded {
	return core.TaskEnded{Task: core.TaskID(res.TaskID), Outcome: core.Outcome(res.Outcome), Reason: core.Reason(res.Reason), Output: res.Output}
}

func values(vs []home.Value) []core.ContextValue {
	out := make([]core.ContextValue, len(vs))
	for i, v := range vs {
		out[i] = core.ContextValue{Key: catalog.ContextKey(v.Key), Value: v.Value, Class: catalog.Class(v.Class), Available: v.Available}
	}
	return out
}

func status(task core.TaskID, st home.Status) core.TaskStatus {
	out := core.TaskStatus{Task: task, Known: core.TaskKnown(st.State), Sealed: st.State == home.Unknown, Paused: st.Paused}
	if st.Result != nil {
		e := ended(st.Result)
		out.Ended = &e
	}
	if st.Event != nil {
		ev := observed(st.Event, time.Time{})
		ev.OccurredAt = ""
		out.Event = &ev
	}
	return out
}
