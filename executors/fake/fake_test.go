package fake_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/executors/fake"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const move catalog.Method = "setMoveTo"

// story collects what an executor says, replies and events in one line each.
type story struct{ lines chan string }

func newStory() *story { return &story{lines: make(chan string, 64)} }

func (s *story) sink(_ context.Context, ev core.Event) error {
	s.note(ev)
	return nil
}

func (s *story) note(ev core.Event) {
	switch ev := ev.(type) {
	case core.TaskAnswered:
		s.lines <- fmt.Sprintf("answer %s %v %s", ev.Task, ev.Accepted, ev.Reason)
	case core.TaskEnded:
		s.lines <- fmt.Sprintf("ended %s %s", ev.Task, ev.Outcome)
	case core.Observed:
		s.lines <- fmt.Sprintf("event %s %s", ev.Event, ev.Task)
	case core.TaskStatus:
		s.lines <- fmt.Sprintf("status %s %s sealed=%v", ev.Task, ev.Known, ev.Sealed)
	case core.StopAnswered:
		s.lines <- fmt.Sprintf("stop %s accepted=%v %s", ev.Task, ev.Accepted, ev.Reason)
	}
}

func (s *story) told() []string {
	var out []string
	for {
		select {
		case l := <-s.lines:
			out = append(out, l)
		default:
			return out
		}
	}
}

func TestScripts(t *testing.T) {
	arrived := []core.Event{core.Observed{Event: "movement.arrived"}}
	dispatch := core.Dispatch{Task: "t1", Method: move}
	for _, tc := range []struct {
		name   string
		script fake.Script
		calls  []core.Output // a second apart
		want   []string
		began  int
	}{
		{"accepts, shows its effect, is done", fake.Script{Effects: arrived}, []core.Output{dispatch},
			[]string{"answer t1 true ", "event movement.arrived t1", "ended t1 done"}, 1},
		{"refuses", fake.Script{Refuse: "battery_low"}, []core.Output{dispatch}, []string{"answer t1 false battery_low"}, 0},
		{"hangs but runs", fake.Script{Hang: true, Effects: arrived}, []core.Output{dispatch},
			[]string{"event movement.arrived t1", "ended t1 done"}, 1},
		{"dead", fake.Script{Dead: true}, []core.Output{dispatch, core.Query{Task: "t1"}}, []string{"status t1 unknown sealed=true"}, 0},
		{"lies", fake.Script{Lies: true, Effects: arrived}, []core.Output{dispatch}, []string{"answer t1 true ", "ended t1 done"}, 1},
		{"fails", fake.Script{Outcome: core.OutcomeFailed}, []core.Output{dispatch}, []string{"answer t1 true ", "ended t1 failed"}, 1},
		{"repeats its result", fake.Script{Repeats: 1}, []core.Output{dispatch},
			[]string{"answer t1 true ", "ended t1 done", "ended t1 done"}, 1},
		{"done before its reply", fake.Script{DoneBeforeReply: true}, []core.Output{dispatch}, []string{"ended t1 done", "answer t1 true "}, 1},
		{"end known by query only", fake.Script{NoResult: true}, []core.Output{dispatch, core.Query{Task: "t1"}},
			[]string{"answer t1 true ", "status t1 ended sealed=false"}, 1},
		{"same id twice", fake.Script{RunFor: time.Hour}, []core.Output{dispatch, dispatch},
			[]string{"answer t1 true ", "answer t1 false task_known"}, 1},
		{"sealed id", fake.Script{}, []core.Output{core.Query{Task: "t1"}, dispatch},
			[]string{"status t1 unknown sealed=true", "answer t1 false task_sealed"}, 0},
		{"forgets and seals", fake.Script{Forgets: true, RunFor: time.Hour}, []core.Output{dispatch, core.Query{Task: "t1"}, dispatch},
			[]string{"answer t1 true ", "status t1 unknown sealed=true", "answer t1 false task_sealed"}, 1},
		{"cancelled", fake.Script{RunFor: -1, Effects: arrived, Stopped: []core.Event{core.Observed{Event: "movement.stopped"}}},
			[]core.Output{dispatch, core.Stop{Task: "t1"}},
			[]string{"answer t1 true ", "stop t1 accepted=true ", "event movement.stopped t1", "ended t1 cancelled"}, 1},
		{"refuses a cancel", fake.Script{RunFor: -1, RefuseCancel: "cancel_refused"}, []core.Output{dispatch, core.Stop{Task: "t1"}},
			[]string{"answer t1 true ", "stop t1 accepted=false cancel_refused"}, 1},
		{"hangs on a cancel", fake.Script{RunFor: -1, HangCancel: true}, []core.Output{dispatch, core.Stop{Task: "t1"}},
			[]string{"answer t1 true "}, 1},
		{"cancel of an unknown task", fake.Script{}, []core.Output{core.Stop{Task: "t1"}}, []string{"stop t1 accepted=false task_unknown"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStory()
				e := fake.New("motion", s.sink)
				e.On(move, tc.script)
				for _, out := range tc.calls {
					if err := e.Begin(out, func(ev core.Event, _ error) { s.note(ev) }); err != nil {
						t.Fatalf("begin: %v", err)
					}
					time.Sleep(time.Second)
				}
				synctest.Wait()
				got := s.told()
				if tc.name == "cancelled" { // the reply and the run are two goroutines: their order is free
					slices.Sort(got)
					slices.Sort(tc.want)
				}
				if !slices.Equal(got, tc.want) {
					t.Errorf("told %q, want %q", got, tc.want)
				}
				if n := len(e.Began()); n != tc.began {
					t.Errorf("%d tasks began, want %d", n, tc.began)
				}
				if n := len(e.Log()); n != len(tc.calls) {
					t.Errorf("log has %d calls, want %d", n, len(tc.calls))
				}
				e.Close()
			})
		})
	}
}

func TestPausedTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory()
		e := fake.New("motion", s.sink)
		defer e.Close()
		e.On(move, fake.Script{RunFor: 10 * time.Second})
		call := func(out core.Output) { _ = e.Begin(out, func(core.Event, error) {}) }
		call(core.Dispatch{Task: "t1", Method: move})
		time.Sleep(4 * time.Second)
		call(core.Pause{Task: "t1"})
		time.Sleep(time.Hour)
		if got := e.Running(); !slices.Equal(got, []core.TaskID{"t1"}) {
			t.Fatalf("running %v in the pause, want t1", got)
		}
		call(core.Resume{Task: "t1"})
		time.Sleep(6*time.Second - time.Millisecond)
		if len(s.told()) != 0 {
			t.Fatal("ended before its time")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := s.told(); !slices.Equal(got, []string{"ended t1 done"}) {
			t.Fatalf("told %q", got)
		}
	})
}
