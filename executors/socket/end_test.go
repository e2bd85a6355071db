package socket

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Shutdown changes no plan state: the socket ends before the core does, and that must not look like lost executors.
func TestStopOfTheAgentSaysNothing(t *testing.T) {
	for name, held := range map[string]bool{"at once": false, "while a write hangs": true} {
		t.Run(name, func(t *testing.T) {
			inRig(t, Options{}, func(r *rig) {
				p := newProgram()
				p.dispatch = nil
				ctx, cancel := context.WithCancel(r.ctx)
				d := newDoors()
				r.wg.Go(func() { _ = r.srv.Serve(ctx, d) })
				program, agent := net.Pipe()
				free := make(chan struct{})
				conn := &stuck{Conn: agent, free: free}
				d.conns <- conn
				s, err := Serve(r.ctx, program, Registration{Service: "motion", Instance: "i1", Methods: []catalog.Method{move}}, p)
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				conn.held.Store(held)
				r.carry(dispatch(1))
				cancel()
				<-s.Done()
				if evs := r.carry(dispatch(2)); len(evs) != 0 {
					t.Errorf("events %+v, want none", evs)
				}
				close(free)
			})
		})
	}
}

// stuck is a connection whose writes can be made to hang, also over its end.
type stuck struct {
	net.Conn
	held atomic.Bool
	free chan struct{}
}

func (c *stuck) Write(b []byte) (int, error) {
	if c.held.Load() {
		<-c.free
	}
	return c.Conn.Write(b)
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
