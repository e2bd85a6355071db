package socket

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

func TestNewInstanceReplacesTheOld(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		old := newProgram()
		old.dispatch = nil
		s := r.join("motion", "i1", old)
		r.carry(dispatch(1))
		r.in.take()
		joined := make(chan *Session, 1)
		go func() { joined <- r.register("motion", "i2", newProgram()) }()
		synctest.Wait()
		if evs := r.in.take(); len(evs) != 0 {
			t.Fatalf("the old one had no time to finish: %+v", evs)
		}
		if err := s.Event(core.Observed{Event: "movement.arrived", Task: "t1"}); err != nil {
			t.Fatal(err)
		}
		evs := r.after(drainTime)
		var story []string
		for _, ev := range evs {
			story = append(story, string(core.KindOf(ev)))
		}
		if got, want := strings.Join(story, " "), "observed task_answered executor_down executor_up"; got != want {
			t.Fatalf("story %q, want %q", got, want)
		}
		if evs[2] != (core.ExecutorDown{Service: "motion", Reason: reasonReplaced}) || evs[3].(core.ExecutorUp).Instance != "i2" {
			t.Errorf("events %+v", evs)
		}
		<-s.Done()
		<-joined
		if got := r.carry(dispatch(2)); len(got) != 1 || got[0] != (core.TaskAnswered{Task: "t2", Accepted: true, Instance: "i2"}) {
			t.Errorf("dispatch to the new one: %+v", got)
		}
	})
}

func TestReconnectOfTheSameInstance(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		s, start := r.join("motion", "i1", newProgram()), time.Now()
		s.Cut() // the agent may learn of it after the program is back
		r.join("motion", "i1", newProgram())
		if got := r.carry(dispatch(1)); len(got) != 4 || got[3] != (core.TaskAnswered{Task: "t1", Accepted: true, Instance: "i1"}) {
			t.Errorf("events %+v, want up, down, up, answer", got)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v, though the old connection had ended", took)
		}
	})
}

// slowRegistrar takes its time to forget a service, as a core with a full inbox does.
type slowRegistrar struct {
	added  chan string
	remove chan struct{}
}

func (r slowRegistrar) Add(_ core.ServiceID, instance string, _ []catalog.Method, _ []catalog.ContextKey, _ executors.Binding) bool {
	r.added <- instance
	return true
}

func (r slowRegistrar) Remove(core.ServiceID, string, core.Reason) { <-r.remove }

func TestNewInstanceWaitsUntilTheCoreKnowsOfTheOldOnesEnd(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		slow := slowRegistrar{added: make(chan string, 2), remove: make(chan struct{})}
		r.srv.opt.Registry = slow
		r.join("motion", "i1", newProgram())
		<-slow.added
		joined := make(chan *Session, 1)
		go func() { joined <- r.register("motion", "i2", newProgram()) }()
		time.Sleep(2 * drainTime)
		synctest.Wait()
		if len(slow.added) != 0 {
			t.Error("the new one is in before the old one is out")
		}
		close(slow.remove)
		<-joined
		if got := <-slow.added; got != "i2" {
			t.Errorf("added %s", got)
		}
	})
}

func TestOldConnectionThatEndsIsNotWaitedForLonger(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		old, start := r.join("motion", "i1", newProgram()), time.Now()
		joined := make(chan *Session, 1)
		go func() { joined <- r.register("motion", "i2", newProgram()) }()
		synctest.Wait()
		old.Cut()
		<-joined
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v, though the old connection had ended", took)
		}
	})
}
