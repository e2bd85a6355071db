package executors_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// late is a Beginner that never answers by itself.
type late struct {
	executors.Waiting
	done chan func(core.Event, error)
}

func (l late) Begin(_ core.Output, done func(core.Event, error)) error {
	l.done <- done
	return nil
}

func TestAnswerAfterTheEndOfTheServiceIsDropped(t *testing.T) {
	for name, wait := range map[string]time.Duration{"call open": 0, "hard limit over": limit} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, executors.Options{}, nil, func(h *house) {
				l := late{done: make(chan func(core.Event, error), 1)}
				h.reg.Add("arm", "a1", []catalog.Method{move}, nil, l)
				h.carry(core.Dispatch{Task: "t1", Service: "arm", Method: move})
				h.after(wait)
				h.reg.Remove("arm", "a1", "connection_lost")
				h.settle()
				h.in.take()
				(<-l.done)(core.TaskAnswered{Accepted: true}, nil)
				if evs := h.in.take(); len(evs) != 0 {
					h.t.Errorf("events %+v, want none", evs)
				}
			})
		})
	}
}

func TestAnswerThatDoesNotFitIsNoAnswer(t *testing.T) {
	inHouse(t, executors.Options{}, nil, func(h *house) {
		l := late{done: make(chan func(core.Event, error), 1)}
		h.reg.Add("arm", "a1", []catalog.Method{move}, nil, l)
		h.in.take()
		h.carry(core.Dispatch{Task: "t1", Service: "arm", Method: move})
		(<-l.done)(core.StopAnswered{Accepted: true}, nil)
		want := core.TaskAnswered{Task: "t1", Unknown: true, Reason: core.ReasonExecutorUnavail, Instance: "a1"}
		if evs := h.in.take(); !slices.Equal(evs, []core.Event{want}) {
			h.t.Errorf("events %+v, want %+v", evs, want)
		}
	})
}

// A stop of the agent must not look like the loss of its executors.
func TestEndOfRunSaysNothingOfWhatEndsWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := &inbox{}
		r := executors.New(executors.Options{Sink: in.sink, Log: zerolog.Nop()})
		l := late{done: make(chan func(core.Event, error), 1)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		r.Add("arm", "a1", []catalog.Method{move}, nil, l)
		r.Carry(core.Dispatch{Task: "t1", Service: "arm", Method: move})
		in.take()
		cancel()
		<-ended
		synctest.Wait()
		r.Remove("arm", "a1", "connection_lost")
		r.Close()
		if evs := in.take(); len(evs) != 0 {
			t.Errorf("events %+v, want none", evs)
		}
	})
}
