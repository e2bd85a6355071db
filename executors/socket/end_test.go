package socket

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Shutdown changes no plan state: the socket ends before the core does, and that must not look like lost executors.
func TestStopOfTheAgentSaysNothing(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		p := newProgram()
		p.dispatch = nil
		ctx, cancel := context.WithCancel(r.ctx)
		d := newDoors()
		r.wg.Go(func() { _ = r.srv.Serve(ctx, d) })
		program, agent := net.Pipe()
		d.conns <- agent
		s, err := Serve(r.ctx, program, Registration{Service: "motion", Instance: "i1", Methods: []catalog.Method{move}}, p)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.carry(dispatch(1))
		cancel()
		<-s.Done()
		if evs := r.carry(dispatch(2)); len(evs) != 0 {
			t.Errorf("events %+v, want none", evs)
		}
	})
}

func TestCloseSendsWhatWaits(t *testing.T) {
	inRig(t, Options{}, func(r *rig) {
		s := r.join("motion", "i1", newProgram())
		r.in.take()
		for n := range 100 {
			if err := s.Event(core.Observed{Event: "movement.progress", Seq: int64(n)}); err != nil {
				t.Fatal(err)
			}
		}
		s.Close()
		synctest.Wait()
		if evs := r.in.take(); len(evs) != 101 {
			t.Errorf("%d events, want 100 and the end", len(evs))
		}
		if err := s.Event(core.Observed{Event: "x"}); err == nil {
			t.Error("an ended session takes events")
		}
	})
}
