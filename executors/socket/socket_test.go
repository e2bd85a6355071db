package socket

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

func TestEveryCallAndItsAnswer(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		r.join("motion", "i1", p)
		up := core.ExecutorUp{Service: "motion", Instance: "i1", Methods: []catalog.Method{move}, Keys: []catalog.ContextKey{"movement.is_moving"}}
		if got := r.in.take(); !reflect.DeepEqual(got, []core.Event{up}) {
			t.Fatalf("events %+v, want %+v", got, up)
		}
		for _, tc := range []struct {
			out  core.Output
			want core.Event
		}{
			{dispatch(1), core.TaskAnswered{Task: "t1", Accepted: true, Instance: "i1"}},
			{core.Query{Task: "t1", Service: "motion"}, core.TaskStatus{Task: "t1", Known: core.KnownEnded, Instance: "i1",
				Ended: &core.TaskEnded{Task: "t1", Outcome: core.OutcomeDone, Output: core.Values{"n": 1.0}, Source: "motion"},
				Event: &core.Observed{Event: "movement.arrived", Task: "t1", Source: "motion", Class: catalog.Independent,
					Data: core.Values{"room_id": "kitchen"}}}},
			{core.Stop{Task: "t1", Service: "motion", Method: move}, core.StopAnswered{Task: "t1", Accepted: true}},
			// Free text is no reason code.
			{core.Pause{Task: "t1", Service: "motion"}, core.StopAnswered{Task: "t1", To: core.ToPause, Refused: true, Reason: core.ReasonExecutorRefused}},
			{core.Resume{Task: "t1", Service: "motion"}, core.StopAnswered{Task: "t1", To: core.ToResume, Accepted: true}},
			{core.Read{Keys: []catalog.ContextKey{"movement.is_moving"}}, core.ContextRead{Source: "motion",
				Values: []core.ContextValue{{Key: "movement.is_moving", Value: false, Class: catalog.Independent, Available: true}}}},
		} {
			if got := r.carry(tc.out); !reflect.DeepEqual(got, []core.Event{tc.want}) {
				t.Errorf("%T: events %+v, want %+v", tc.out, got, tc.want)
			}
		}
		if got := p.calls()[0]; !reflect.DeepEqual(got, dispatch(1)) {
			t.Errorf("the program got %+v, want %+v", got, dispatch(1))
		}
	})
}

func TestUnaskedFrames(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		s := r.join("motion", "i1", newProgram())
		r.in.take()
		want := []core.Event{
			core.TaskProgress{Task: "t1", Percent: 40, Note: "복도"},
			core.Observed{Event: "movement.arrived", Task: "t1", Resource: "base", Source: "lidar", Class: catalog.Independent,
				OccurredAt: "2026-11-30T09:00:00.000+09:00", Seq: 7, Reason: "arrived_late",
				Data: core.Values{"room_id": "kitchen", "x": -1.5, "n": 3.0, "ok": false, "none": nil, "list": []any{1.0, "a"}}},
			core.TaskEnded{Task: "t1", Outcome: core.OutcomeFailed, Reason: core.ReasonExecutorFailed, Source: "motion"},
			core.ContextRead{Source: "motion", Values: []core.ContextValue{{Key: "movement.is_moving", Value: 0.0, Available: true},
				{Key: "movement.is_moving"}}},
			core.TaskStatus{Task: "t1", Known: core.KnownRunning, Paused: true, Instance: "i1", Source: "motion"},
			core.TaskStatus{Task: "t1", Known: core.KnownRunning, Resumed: true, Instance: "i1", Source: "motion"},
		}
		for _, err := range []error{s.Progress(want[0].(core.TaskProgress)), s.Event(want[1].(core.Observed)),
			s.Result(core.TaskEnded{Task: "t1", Outcome: core.OutcomeFailed, Reason: "the wheel is stuck!"}),
			s.Context(want[3].(core.ContextRead).Values), s.Paused("t1"), s.Resumed("t1")} {
			if err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := r.in.take(); !reflect.DeepEqual(got, want) {
			t.Errorf("events\n%+v, want\n%+v", got, want)
		}
		if err := s.Event(core.Observed{Event: "x", Data: core.Values{"big": strings.Repeat("a", MaxEvent)}}); err == nil {
			t.Error("an event over the limit was taken")
		}
		if err := s.Event(core.Observed{Event: "movement.started"}); err != nil {
			t.Errorf("after an event that was too big: %v", err)
		}
	})
}

func TestSameTaskTwiceReachesTheProgramTwice(t *testing.T) {
	// The program, not the transport, remembers tasks: that memory has to outlive a connection.
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		seen := map[core.TaskID]bool{}
		p.dispatch = func(d core.Dispatch, answer func(core.TaskAnswered)) {
			answer(core.TaskAnswered{Accepted: !seen[d.Task], Reason: map[bool]core.Reason{true: "task_known"}[seen[d.Task]]})
			seen[d.Task] = true
		}
		r.join("motion", "i1", p)
		r.in.take()
		want := []core.Event{core.TaskAnswered{Task: "t1", Accepted: true, Instance: "i1"},
			core.TaskAnswered{Task: "t1", Reason: "task_known", Instance: "i1"}}
		if got := r.carry(dispatch(1), dispatch(1)); !reflect.DeepEqual(got, want) {
			t.Errorf("events %+v, want %+v", got, want)
		}
	})
}

func TestResultBeforeAnswerKeepsOrder(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		var s *Session
		p.dispatch = func(d core.Dispatch, answer func(core.TaskAnswered)) {
			_ = s.Result(core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone})
			answer(core.TaskAnswered{Accepted: true})
			answer(core.TaskAnswered{Accepted: false}) // a stray: ignored
		}
		s = r.join("motion", "i1", p)
		r.in.take()
		want := []core.Event{core.TaskEnded{Task: "t1", Outcome: core.OutcomeDone, Source: "motion"},
			core.TaskAnswered{Task: "t1", Accepted: true, Instance: "i1"}}
		if got := r.carry(dispatch(1)); !reflect.DeepEqual(got, want) {
			t.Errorf("events %+v, want %+v", got, want)
		}
	})
}

func TestCutInACallIsUnknown(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		p.dispatch = nil
		s := r.join("motion", "i1", p)
		r.in.take()
		if evs := r.carry(dispatch(1)); len(evs) != 0 {
			t.Fatalf("answered without an answer: %+v", evs)
		}
		s.Cut()
		synctest.Wait()
		want := []core.Event{core.TaskAnswered{Task: "t1", Unknown: true, Reason: core.ReasonExecutorUnavail, Instance: "i1"},
			core.ExecutorDown{Service: "motion", Reason: reasonLost}}
		if got := r.in.take(); !reflect.DeepEqual(got, want) {
			t.Errorf("events %+v, want %+v", got, want)
		}
	})
}

func TestFrameThatNeverLeftIsNotSent(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		raw := r.pipe()
		mustWrite(t, raw, KindRegister, 0, goodRegister)
		in := newFrameReader(raw)
		if f, err := in.next(); err != nil || f.Kind != KindRegistered {
			t.Fatalf("%v %v", f.Kind, err)
		}
		synctest.Wait()
		r.in.take()
		r.carry(dispatch(1)) // the pipe is not read: its write hangs
		r.carry(dispatch(2)) // so this one waits behind it
		raw.Close()
		synctest.Wait()
		want := []core.Event{core.TaskAnswered{Task: "t1", Unknown: true, Reason: core.ReasonExecutorUnavail, Instance: "i1"},
			core.TaskAnswered{Task: "t2", NotSent: true, Reason: core.ReasonExecutorUnavail, Instance: "i1"},
			core.ExecutorDown{Service: "motion", Reason: reasonLost}}
		if got := r.in.take(); !reflect.DeepEqual(got, want) {
			t.Errorf("events %+v, want %+v", got, want)
		}
	})
}

func TestProgramThatDoesNotReadIsCutOff(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		raw := r.pipe()
		defer raw.Close()
		mustWrite(t, raw, KindRegister, 0, goodRegister)
		if _, err := newFrameReader(raw).next(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.in.take()
		r.carry(dispatch(1))
		if evs := r.after(WriteTime - time.Nanosecond); len(evs) != 0 {
			t.Fatalf("cut off too early: %+v", evs)
		}
		evs := r.after(time.Nanosecond)
		if len(evs) != 2 || !evs[0].(core.TaskAnswered).Unknown || evs[1] != (core.ExecutorDown{Service: "motion", Reason: reasonLost}) {
			t.Errorf("events %+v, want unknown, down", evs)
		}
	})
}

func TestHangDelaysNoStop(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		p.dispatch = nil
		r.join("motion", "i1", p)
		for n := range 9 {
			r.carry(dispatch(n))
		}
		r.in.take()
		want := []core.Event{core.StopAnswered{Task: "t0", Accepted: true}}
		if got := r.carry(core.Stop{Task: "t0", Service: "motion", Method: move}); !reflect.DeepEqual(got, want) {
			t.Errorf("events %+v, want %+v", got, want)
		}
	})
}

func TestTwoProgramsDoNotDisturbEachOther(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		a, b := newProgram(), newProgram()
		a.dispatch = nil
		s := r.join("motion", "i1", a)
		r.join("air", "a1", b)
		r.carry(dispatch(1))
		r.in.take()
		want := []core.Event{core.TaskAnswered{Task: "t2", Accepted: true, Instance: "a1"}}
		if got := r.carry(core.Dispatch{Task: "t2", Service: "air", Method: move}); !reflect.DeepEqual(got, want) {
			t.Errorf("events %+v, want %+v", got, want)
		}
		s.Cut()
		synctest.Wait()
		r.in.take()
		if got := r.carry(core.Dispatch{Task: "t3", Service: "air", Method: move}); len(got) != 1 || !got[0].(core.TaskAnswered).Accepted {
			t.Errorf("after the other's end: %+v", got)
		}
	})
}

func TestSecondAnswerIsAStray(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		p.dispatch = func(_ core.Dispatch, answer func(core.TaskAnswered)) {
			answer(core.TaskAnswered{Accepted: true})
			answer(core.TaskAnswered{Accepted: true})
		}
		r.join("motion", "i1", p)
		l, answers := r.srv.live["motion"], make(chan core.Event, 2)
		if err := l.Begin(dispatch(1), func(ev core.Event, _ error) { answers <- ev }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(answers) != 1 || l.strays != 1 {
			t.Errorf("%d answers, %d strays, want 1 and 1", len(answers), l.strays)
		}
	})
}

func TestRegistrationRefused(t *testing.T) {
	only := func(_ core.ServiceID, m catalog.Method) bool { return m == move }
	for _, tc := range []struct {
		name   string
		opt    Options
		reg    Registration
		reason string
		faults int
	}{
		{"every fault is named", Options{Allowed: only}, Registration{Service: "mo tion", Instance: "",
			Methods: []catalog.Method{move, move, "fly", "a b"}, Keys: []catalog.ContextKey{"x", "x", ""}}, refusedContents, 7},
		{"nothing registered", Options{}, Registration{Service: "motion", Instance: "i1"}, refusedContents, 1},
		{"peer not permitted", Options{Permit: func(Peer, core.ServiceID) string { return "run it as another" }},
			Registration{Service: "motion", Instance: "i1", Methods: []catalog.Method{move}}, refusedPermit, 1},
		{"key of another service", Options{MaySpeak: func(s core.ServiceID, k catalog.ContextKey) bool { return k != "safety.state" }},
			Registration{Service: "motion", Instance: "i1", Keys: []catalog.ContextKey{"movement.location", "safety.state"}}, refusedContents, 1},
		{"too many faults", Options{Allowed: only}, Registration{Service: "motion", Instance: "i1", Methods: manyMethods(1000)},
			refusedContents, maxFaults + 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inRig(t, tc.opt, func(r *rig) {
				_, err := Serve(r.ctx, r.pipe(), tc.reg, newProgram())
				var refused *RefusedError
				if !errors.As(err, &refused) || refused.Reason != tc.reason || len(refused.Faults) != tc.faults {
					t.Errorf("error %v, want %s with %d faults", err, tc.reason, tc.faults)
				}
				synctest.Wait()
				if evs := r.in.take(); len(evs) != 0 {
					t.Errorf("a refused program is seen: %+v", evs)
				}
			})
		})
	}
}

// An event is evidence: what the catalog leaves to another service is not taken from this one.
func TestEventOfAnotherServiceEndsTheConnection(t *testing.T) {
	own := func(s core.ServiceID, e catalog.EventName) bool { return s == "motion" && e == "movement.arrived" }
	inRig(t, Options{MayReport: own}, func(r *rig) {
		s := r.join("motion", "i1", newProgram())
		r.in.take()
		if err := s.Event(core.Observed{Event: "movement.arrived"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if evs := r.in.take(); len(evs) != 1 {
			t.Fatalf("events %+v, want its own", evs)
		}
		if err := s.Event(core.Observed{Event: "station.docked"}); err != nil {
			t.Fatal(err)
		}
		<-s.Done()
		synctest.Wait()
		if evs := r.in.take(); len(evs) != 1 || evs[0] != (core.ExecutorDown{Service: "motion", Reason: reasonBadFrame}) {
			t.Fatalf("events %+v, want only the end of the service", evs)
		}
	})
}

func manyMethods(n int) []catalog.Method {
	out := make([]catalog.Method, n)
	for i := range out {
		out[i] = catalog.Method(fmt.Sprintf("m%d", i))
	}
	return out
}

func TestRegisterInTime(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		raw := r.pipe()
		defer raw.Close()
		time.Sleep(RegisterTime - time.Nanosecond)
		synctest.Wait()
		closed := make(chan error, 1)
		go func() {
			_, err := raw.Read(make([]byte, 1))
			closed <- err
		}()
		synctest.Wait()
		if len(closed) != 0 {
			t.Fatal("closed too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if len(closed) != 1 {
			t.Fatal("a silent connection stays open")
		}
	})
}

func TestLateAnswerAfterTheHardLimitCounts(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		answers := make(chan func(core.TaskAnswered), 1)
		p.dispatch = func(_ core.Dispatch, answer func(core.TaskAnswered)) { answers <- answer }
		r.join("motion", "i1", p)
		r.in.take()
		r.carry(dispatch(1))
		if evs := r.after(30 * time.Second); len(evs) != 1 || !evs[0].(core.TaskAnswered).Unknown {
			t.Fatalf("events %+v, want unknown", evs)
		}
		(<-answers)(core.TaskAnswered{Accepted: true})
		synctest.Wait()
		want := []core.Event{core.TaskStatus{Task: "t1", Known: core.KnownRunning, Instance: "i1"}}
		if got := r.in.take(); !reflect.DeepEqual(got, want) {
			t.Errorf("events %+v, want %+v", got, want)
		}
	})
}

func TestUnansweredCallsAreBounded(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		p.dispatch = nil
		r.join("motion", "i1", p)
		l := r.srv.live["motion"]
		for n := range 2 * maxUnanswered {
			if err := l.Begin(dispatch(n), func(core.Event, error) {}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if n := len(l.calls); n != maxUnanswered {
			t.Errorf("%d calls remembered, want %d", n, maxUnanswered)
		}
	})
}

var _ Registrar = (*executors.Registry)(nil)
