package executors_test

import (
	"slices"
	"testing"
	"time"

	"deviceagent/executors"
	"deviceagent/executors/fake"
	"deviceagent/taskmanager/core"
)

func TestWaitingDispatch(t *testing.T) {
	hang := fake.Script{Hang: true, RunFor: -1}
	t.Run("starts when its turn comes", func(t *testing.T) {
		inHouse(t, executors.Options{MaxCalls: 1}, nil, func(h *house) {
			h.exe.On(move, fake.Script{AnswerAfter: time.Second, RunFor: -1})
			h.carry(dispatch(1), dispatch(2), dispatch(3))
			h.after(3 * time.Second)
			if got := h.exe.Began(); !slices.Equal(got, []core.TaskID{"t1", "t2", "t3"}) {
				h.t.Errorf("began %v", got)
			}
		})
	})
	t.Run("queue full", func(t *testing.T) {
		inHouse(t, executors.Options{MaxCalls: 1, MaxQueue: 1}, nil, func(h *house) {
			h.exe.On(move, hang)
			got := of[core.TaskAnswered](h.carry(dispatch(1), dispatch(2), dispatch(3)))
			want := core.TaskAnswered{Task: "t3", NotSent: true, Reason: core.ReasonExecutorBusy, Instance: "i1"}
			if !slices.Equal(got, []core.TaskAnswered{want}) {
				h.t.Errorf("answers %+v, want %+v", got, want)
			}
		})
	})
	t.Run("stopped: is taken back and never starts", func(t *testing.T) {
		inHouse(t, executors.Options{MaxCalls: 1}, nil, func(h *house) {
			h.exe.On(move, hang)
			evs := h.carry(dispatch(1), dispatch(2), core.Stop{Task: "t2", Service: "motion"})
			if got := of[core.TaskAnswered](evs); len(got) != 1 || got[0].Task != "t2" || !got[0].NotSent {
				h.t.Errorf("answers %+v, want t2 not sent", got)
			}
			if got := of[core.StopAnswered](evs); len(got) != 1 || !got[0].Accepted {
				h.t.Errorf("stop answered %+v", got)
			}
			h.after(3 * limit)
			if got := h.exe.Began(); !slices.Equal(got, []core.TaskID{"t1"}) {
				h.t.Errorf("began %v, want t1 only", got)
			}
		})
	})
	t.Run("asked for: is taken back, and sealed by the query", func(t *testing.T) {
		inHouse(t, executors.Options{MaxCalls: 1}, nil, func(h *house) {
			h.exe.On(move, hang)
			evs := h.carry(dispatch(1), dispatch(2), core.Query{Task: "t2", Service: "motion"})
			if got := of[core.TaskAnswered](evs); len(got) != 1 || !got[0].NotSent {
				h.t.Errorf("answers %+v, want t2 not sent", got)
			}
			if got := of[core.TaskStatus](evs); len(got) != 1 || !got[0].Sealed {
				h.t.Errorf("status %+v, want sealed", got)
			}
		})
	})
	t.Run("waits too long: not sent", func(t *testing.T) {
		inHouse(t, executors.Options{MaxCalls: 1}, nil, func(h *house) {
			h.exe.On(move, hang)
			h.carry(dispatch(1))
			time.Sleep(time.Second)
			h.carry(dispatch(2)) // gets the slot of t1 at 30 s
			time.Sleep(time.Second)
			h.carry(dispatch(3)) // has waited long enough at 32 s
			got := of[core.TaskAnswered](h.after(2 * limit))
			want := []core.TaskAnswered{
				{Task: "t1", Unknown: true, Reason: core.ReasonAckTimeout, Instance: "i1"},
				{Task: "t3", NotSent: true, Reason: core.ReasonExecutorBusy, Instance: "i1"},
				{Task: "t2", Unknown: true, Reason: core.ReasonAckTimeout, Instance: "i1"},
			}
			if !slices.Equal(got, want) {
				h.t.Errorf("answers %+v, want %+v", got, want)
			}
		})
	})
}
