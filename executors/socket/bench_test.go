package socket

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// dialed connects p to r over a real unix socket and returns its session.
func dialed(t testing.TB, r *rig, service core.ServiceID, p *program) *Session {
	path := r.listen(t)
	reg := Registration{Service: service, Instance: "i1", Methods: []catalog.Method{move}}
	up := make(chan struct{})
	r.in.hear = func(ev core.Event) {
		if _, ok := ev.(core.ExecutorUp); ok {
			close(up)
		}
	}
	r.wg.Go(func() { _ = Dial(r.ctx, path, reg, p) })
	s := <-p.session
	<-up
	return s
}

func TestManyEventsKeepTheirOrder(t *testing.T) {
	const events = 100_000
	r := newRig(t, Options{})
	defer r.close()
	s := dialed(t, r, "motion", newProgram())
	done := make(chan error, 1)
	next := int64(0)
	r.in.mu.Lock()
	r.in.hear = func(ev core.Event) {
		o, ok := ev.(core.Observed)
		if !ok || next >= events {
			return
		}
		if o.Seq != next {
			done <- fmt.Errorf("event %d came in place of %d", o.Seq, next)
			next = events
			return
		}
		if next++; next == events {
			done <- nil
		}
	}
	r.in.mu.Unlock()
	for n := range int64(events) {
		if err := s.Event(core.Observed{Event: "movement.progress", Task: "t1", Seq: n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestPeerIsKnownOnAUnixSocket(t *testing.T) {
	peers := make(chan Peer, 1)
	r := newRig(t, Options{Permit: func(p Peer, _ core.ServiceID) string { peers <- p; return "" }})
	defer r.close()
	dialed(t, r, "motion", newProgram())
	if p := <-peers; !p.Known {
		t.Errorf("peer %+v, want known", p)
	}
}

// BenchmarkRoundTrip is one Dispatch to an answer that the core hears, one at a time, over a unix socket.
func BenchmarkRoundTrip(b *testing.B) { benchDispatch(b, 1) }

// BenchmarkRoundTrip64 keeps 64 dispatches on the way: what coalescing is for.
func BenchmarkRoundTrip64(b *testing.B) { benchDispatch(b, 64) }

// cpu is the processor time of this process so far: on a busy machine it tells more than the wall clock.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchDispatch(b *testing.B, atOnce int) {
	r := newRig(b, Options{})
	defer r.close()
	dialed(b, r, "motion", newProgram())
	answered := make(chan struct{}, atOnce)
	r.in.mu.Lock()
	r.in.hear = func(ev core.Event) {
		if a, ok := ev.(core.TaskAnswered); ok && a.Accepted {
			answered <- struct{}{}
		}
	}
	r.in.mu.Unlock()
	b.ReportAllocs()
	b.ResetTimer()
	defer func(start time.Duration) { b.ReportMetric(float64(cpu(b)-start)/float64(b.N), "cpu-ns/op") }(cpu(b))
	sent := 0
	for ; sent < min(atOnce, b.N); sent++ {
		r.reg.Carry(dispatch(sent))
	}
	for range b.N {
		<-answered
		if sent < b.N {
			r.reg.Carry(dispatch(sent))
			sent++
		}
	}
}

// BenchmarkEventsPerSecond is one event from a program to the core's door, over a unix socket.
func BenchmarkEventsPerSecond(b *testing.B) {
	r := newRig(b, Options{})
	defer r.close()
	s := dialed(b, r, "motion", newProgram())
	done := make(chan struct{})
	n := 0
	r.in.mu.Lock()
	r.in.hear = func(ev core.Event) {
		if _, ok := ev.(core.Observed); ok {
			if n++; n == b.N {
				close(done)
			}
		}
	}
	r.in.mu.Unlock()
	ev := core.Observed{Event: "movement.arrived", Task: "wf_1.step_1.1", Resource: "base", Class: catalog.Independent,
		OccurredAt: "2026-11-30T09:00:00.000Z", Data: core.Values{"room_id": "kitchen"}}
	b.ReportAllocs()
	b.ResetTimer()
	start := cpu(b)
	for i := range b.N {
		ev.Seq = int64(i)
		if err := s.Event(ev); err != nil {
			b.Fatal(err)
		}
	}
	<-done
	b.ReportMetric(float64(cpu(b)-start)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
