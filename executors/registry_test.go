package executors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/executors"
	"deviceagent/executors/fake"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	move  catalog.Method = "setMoveTo"
	stop  catalog.Method = "stopMovement"
	limit                = 30 * time.Second
)

// inbox is the core's door in tests.
type inbox struct {
	mu  sync.Mutex
	evs []core.Event
}

func (b *inbox) sink(_ context.Context, ev core.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.evs = append(b.evs, ev)
	return nil
}

func (b *inbox) take() []core.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	evs := b.evs
	b.evs = nil
	return evs
}

// of returns the events of one type.
func of[E core.Event](evs []core.Event) []E {
	var out []E
	for _, ev := range evs {
		if e, ok := ev.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// house is a registry that runs, with one scripted service.
type house struct {
	t   *testing.T
	in  *inbox
	reg *executors.Registry
	exe *fake.Executor
}

// inHouse runs a test in a bubble. wrap makes the binding of the fake; nil: the fake itself.
func inHouse(t *testing.T, opt executors.Options, wrap func(*fake.Executor) executors.Binding, test func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, in: &inbox{}}
		opt.Sink, opt.Log = h.in.sink, zerolog.Nop()
		h.reg = executors.New(opt)
		h.exe = fake.New("motion", h.in.sink)
		var b executors.Binding = h.exe
		if wrap != nil {
			b = wrap(h.exe)
		}
		ended := make(chan error, 1)
		go func() { ended <- h.reg.Run(t.Context()) }()
		h.reg.Add("motion", "i1", []catalog.Method{move, stop}, []catalog.ContextKey{"movement.location"}, b)
		h.settle()
		if ups := of[core.ExecutorUp](h.in.take()); len(ups) != 1 || ups[0].Instance != "i1" || len(ups[0].Methods) != 2 {
			t.Fatalf("up %+v, want one of i1 with two methods", ups)
		}
		test(h)
		h.exe.Close()
		h.reg.Close()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("run ended with %v", err)
		}
	})
}

func (h *house) settle() { synctest.Wait() }

func (h *house) carry(outs ...core.Output) []core.Event {
	for _, out := range outs {
		h.reg.Carry(out)
	}
	h.settle()
	return h.in.take()
}

func (h *house) after(d time.Duration) []core.Event {
	time.Sleep(d)
	h.settle()
	return h.in.take()
}

func dispatch(n int) core.Dispatch {
	return core.Dispatch{Task: core.TaskID(fmt.Sprintf("t%d", n)), Service: "motion", Method: move}
}

// plain hides that the fake can begin calls in order: the registry then uses a goroutine for each.
type plain struct{ executors.Binding }

func bothKinds(t *testing.T, opt executors.Options, test func(h *house)) {
	t.Helper()
	t.Run("in order", func(t *testing.T) { inHouse(t, opt, nil, test) })
	t.Run("side by side", func(t *testing.T) {
		inHouse(t, opt, func(e *fake.Executor) executors.Binding { return plain{e} }, test)
	})
}

func TestDispatchIsAnsweredOnce(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script fake.Script
		out    core.Dispatch
		want   core.TaskAnswered
		after  time.Duration // when the answer is there, not earlier
	}{
		{"accepted", fake.Script{RunFor: -1}, dispatch(1), core.TaskAnswered{Task: "t1", Accepted: true, Instance: "i1"}, 0},
		{"refused", fake.Script{Refuse: "battery_low"}, dispatch(1),
			core.TaskAnswered{Task: "t1", Reason: "battery_low", Instance: "i1"}, 0},
		{"late, before the hard limit", fake.Script{AnswerAfter: 29 * time.Second, RunFor: -1}, dispatch(1),
			core.TaskAnswered{Task: "t1", Accepted: true, Instance: "i1"}, 29 * time.Second},
		{"never", fake.Script{Hang: true, RunFor: -1}, dispatch(1),
			core.TaskAnswered{Task: "t1", Unknown: true, Reason: core.ReasonAckTimeout, Instance: "i1"}, limit},
		{"absent service", fake.Script{}, core.Dispatch{Task: "t1", Service: "arm", Method: move},
			core.TaskAnswered{Task: "t1", NotSent: true, Reason: core.ReasonExecutorUnavail}, 0},
		{"method not registered", fake.Script{}, core.Dispatch{Task: "t1", Service: "motion", Method: "fly"},
			core.TaskAnswered{Task: "t1", NotSent: true, Reason: core.ReasonExecutorUnavail, Instance: ""}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bothKinds(t, executors.Options{}, func(h *house) {
				h.exe.On(move, tc.script)
				evs := h.carry(tc.out)
				if tc.after > 0 {
					evs = append(evs, h.after(tc.after-time.Nanosecond)...)
					if got := of[core.TaskAnswered](evs); len(got) != 0 {
						h.t.Fatalf("answered too early: %+v", got)
					}
					evs = h.after(time.Nanosecond)
				}
				evs = append(evs, h.after(2*limit)...)
				if got := of[core.TaskAnswered](evs); !slices.Equal(got, []core.TaskAnswered{tc.want}) {
					h.t.Errorf("answers %+v, want %+v", got, tc.want)
				}
			})
		})
	}
}

func TestReplyAfterTheHardLimitStillCounts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script fake.Script
		want   core.TaskKnown
	}{
		{"accepted", fake.Script{AnswerAfter: limit + time.Second, RunFor: -1}, core.KnownRunning},
		{"refused", fake.Script{AnswerAfter: limit + time.Second, Refuse: "battery_low"}, core.KnownNot},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inHouse(t, executors.Options{}, nil, func(h *house) {
				h.exe.On(move, tc.script)
				h.carry(dispatch(1))
				h.after(limit)
				evs := h.after(time.Second)
				if len(of[core.TaskAnswered](evs)) != 0 {
					h.t.Error("a second answer to one dispatch")
				}
				got := of[core.TaskStatus](evs)
				if len(got) != 1 || got[0] != (core.TaskStatus{Task: "t1", Known: tc.want, Instance: "i1"}) {
					h.t.Errorf("status %+v, want %s", got, tc.want)
				}
			})
		})
	}
}

func TestHangDelaysNoStopAndNoQuestion(t *testing.T) {
	bothKinds(t, executors.Options{Urgent: func(m catalog.Method) bool { return m == stop }}, func(h *house) {
		h.exe.On(move, fake.Script{Hang: true, RunFor: -1})
		for n := range 9 {
			h.carry(dispatch(n))
		}
		if got := h.reg.Services()[0]; got.Open != 8 || got.Waiting != 1 {
			h.t.Fatalf("%d open, %d waiting, want 8 and 1", got.Open, got.Waiting)
		}
		evs := h.carry(core.Stop{Task: "t0", Service: "motion"}, core.Query{Task: "t1", Service: "motion"},
			core.Read{Keys: []catalog.ContextKey{"movement.location"}}, core.Dispatch{Task: "s1", Service: "motion", Method: stop},
			core.Pause{Task: "t2", Service: "motion"})
		if got := of[core.StopAnswered](evs); len(got) != 2 || !got[0].Accepted || !got[1].Accepted {
			h.t.Errorf("stop and pause answered %+v", got)
		}
		if got := of[core.TaskStatus](evs); len(got) != 1 || got[0].Known != core.KnownRunning {
			h.t.Errorf("query answered %+v", got)
		}
		if got := of[core.ContextRead](evs); len(got) != 1 {
			h.t.Errorf("read answered %+v", got)
		}
		if got := of[core.TaskAnswered](evs); len(got) != 1 || got[0].Task != "s1" || !got[0].Accepted {
			h.t.Errorf("stop operation answered %+v", got)
		}
	})
}

func TestRemoveEndsCalls(t *testing.T) {
	bothKinds(t, executors.Options{MaxCalls: 1}, func(h *house) {
		h.exe.On(move, fake.Script{Hang: true, RunFor: -1})
		h.carry(dispatch(1), dispatch(2))
		h.reg.Remove("motion", "other", "lost")
		if evs := h.in.take(); len(evs) != 0 {
			h.t.Fatalf("another instance's end counted: %+v", evs)
		}
		h.reg.Remove("motion", "i1", "connection_lost")
		h.settle()
		want := []core.Event{
			core.TaskAnswered{Task: "t1", Unknown: true, Reason: core.ReasonExecutorUnavail, Instance: "i1"},
			core.TaskAnswered{Task: "t2", NotSent: true, Reason: core.ReasonExecutorUnavail, Instance: "i1"},
			core.ExecutorDown{Service: "motion", Reason: "connection_lost"},
		}
		if got := h.in.take(); !slices.Equal(got, want) {
			h.t.Errorf("events %+v, want %+v", got, want)
		}
		if evs := h.after(2 * limit); len(evs) != 0 {
			h.t.Errorf("after the end: %+v", evs)
		}
	})
}

func TestAddReplaces(t *testing.T) {
	inHouse(t, executors.Options{}, nil, func(h *house) {
		h.reg.Add("motion", "i2", []catalog.Method{move}, nil, h.exe)
		evs := h.in.take()
		if len(evs) != 2 || evs[0] != (core.ExecutorDown{Service: "motion", Reason: "replaced"}) {
			h.t.Fatalf("events %+v, want down, up", evs)
		}
		if up, ok := evs[1].(core.ExecutorUp); !ok || up.Instance != "i2" {
			h.t.Errorf("second event %+v, want up of i2", evs[1])
		}
	})
}

func TestQuestionsWithoutAnswer(t *testing.T) {
	bothKinds(t, executors.Options{}, func(h *house) {
		h.exe.On(move, fake.Script{RunFor: -1, HangCancel: true})
		h.carry(dispatch(1))
		evs := h.carry(core.Query{Task: "t1", Service: "gone"}, core.Stop{Task: "t1", Service: "gone"}, core.Stop{Task: "t1", Service: "motion"})
		if got := of[core.TaskStatus](evs); len(got) != 1 || got[0].Known != core.KnownNoAnswer {
			h.t.Errorf("status %+v, want no_answer", got)
		}
		if got := of[core.StopAnswered](evs); len(got) != 1 || got[0] != (core.StopAnswered{Task: "t1", Reason: core.ReasonExecutorUnavail}) {
			h.t.Errorf("stop %+v, want no answer", got)
		}
		if got := of[core.StopAnswered](h.after(limit)); len(got) != 1 || got[0] != (core.StopAnswered{Task: "t1", Reason: core.ReasonAckTimeout}) {
			h.t.Errorf("hung stop %+v, want no answer", got)
		}
	})
}

func TestReadAnswersEveryKey(t *testing.T) {
	inHouse(t, executors.Options{}, nil, func(h *house) {
		air := fake.New("air", h.in.sink)
		defer air.Close()
		h.reg.Add("air", "a1", nil, []catalog.ContextKey{"air.pm25", "air.grade"}, plain{air})
		air.Set(core.ContextValue{Key: "air.pm25", Value: 12.0, Available: true})
		h.exe.Set(core.ContextValue{Key: "movement.location", Value: "kitchen", Available: true})
		h.in.take()
		evs := h.carry(core.Read{Keys: []catalog.ContextKey{"air.grade", "movement.location", "air.pm25", "map.rooms"}})
		got := map[string]string{}
		for _, r := range of[core.ContextRead](evs) {
			got[r.Source] = fmt.Sprint(r.Values)
		}
		want := map[string]string{
			"":       "[{map.rooms <nil>  false}]",
			"air":    "[{air.grade <nil>  false} {air.pm25 12  true}]",
			"motion": "[{movement.location kitchen  true}]",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			h.t.Errorf("read %v, want %v", got, want)
		}
	})
}

// teller says its values by itself.
type teller struct{ plain }

func (teller) TellsOnly() {}

// TestWhatIsOnlyToldIsNotRead: an answer without a value would wipe out what the service has told.
func TestWhatIsOnlyToldIsNotRead(t *testing.T) {
	inHouse(t, executors.Options{}, nil, func(h *house) {
		lamp := fake.New("lamp", h.in.sink)
		defer lamp.Close()
		h.reg.Add("lamp", "l1", nil, []catalog.ContextKey{"lamp.level"}, teller{plain{lamp}})
		h.in.take()
		if evs := h.carry(core.Read{Keys: []catalog.ContextKey{"lamp.level"}}); len(evs) != 0 {
			h.t.Errorf("heard %+v, want nothing", evs)
		}
	})
}

func TestCarryNeverWaitsForTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := func(ctx context.Context, _ core.Event) error { <-ctx.Done(); return context.Cause(ctx) }
		r := executors.New(executors.Options{Sink: full, Log: zerolog.Nop()})
		ended := make(chan error, 1)
		go func() { ended <- r.Run(t.Context()) }()
		for n := range 1000 { // a Carry that waited would end the bubble in a deadlock
			r.Carry(dispatch(n))
		}
		r.Close()
		<-ended
	})
}

func TestCloseSaysNothing(t *testing.T) {
	bothKinds(t, executors.Options{}, func(h *house) {
		h.exe.On(move, fake.Script{Hang: true, RunFor: -1})
		h.carry(dispatch(1))
		h.exe.Close()
		h.reg.Close()
		h.reg.Carry(dispatch(2))
		if h.reg.Add("air", "a1", nil, nil, h.exe) {
			h.t.Error("added after close")
		}
		if evs := h.after(2 * limit); len(evs) != 0 {
			h.t.Errorf("events after close: %+v", evs)
		}
	})
}

func TestLastErrorIsShown(t *testing.T) {
	inHouse(t, executors.Options{}, nil, func(h *house) {
		h.exe.On(move, fake.Script{Hang: true, RunFor: -1})
		h.carry(dispatch(1))
		h.after(limit)
		if got := h.reg.Services(); len(got) != 1 || got[0].LastError == "" || got[0].Open != 0 || got[0].Instance != "i1" {
			h.t.Errorf("services %+v", got)
		}
	})
}
