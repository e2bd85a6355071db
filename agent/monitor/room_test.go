package monitor_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent/clock"
	"deviceagent/agent/monitor"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

type clockOf struct{ *clock.Virtual }

func (c clockOf) NewTimer() taskmanager.Timer   { return c.Virtual.NewTimer() }
func (c clockOf) NewNotice() taskmanager.Notice { return c.Virtual.NewNotice() }

// robot has a state that a test changes, and counts the looks at it.
type robot struct {
	clk     *clock.Virtual
	mu      sync.Mutex
	state   *core.State
	looks   int
	watches map[*taskmanager.Watch]bool
}

func (r *robot) Waiting() int  { return 0 }
func (r *robot) Epoch() string { return "e-1" }

func (r *robot) Inspect(_ context.Context, f func(*core.State, core.Now)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	f(r.state, core.Now{Boot: core.Instant(r.clk.Boot())})
	return nil
}

func (r *robot) Watch() (*taskmanager.Watch, func()) {
	w := &taskmanager.Watch{Turned: make(chan struct{}, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches[w] = true
	return w, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watches, w)
	}
}

// move gives the robot n workflows of so many steps, in a state of so many attempts.
func (r *robot) move(n, steps int, attempts int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = core.NewState(&catalog.Catalog{}, core.Device{})
	for i := range n {
		id := core.WorkflowID(fmt.Sprintf("wf_%03d_%s", i, strings.Repeat("x", 100)))
		wf := &core.Workflow{Plan: &core.Plan{Workflow: id}, State: core.WfActive, Rank: int64(i)}
		for s := range steps {
			state := core.Running
			if s%2 == 1 {
				state = core.Completed
			}
			wf.Steps = append(wf.Steps, core.Step{ID: core.StepID(fmt.Sprintf("step_%02d_%s", s, strings.Repeat("y", 100))), State: state, Attempts: attempts})
			wf.Plan.Steps = append(wf.Plan.Steps, core.StepSpec{ID: wf.Steps[s].ID})
		}
		r.state.Adopt(wf)
	}
	for w := range r.watches {
		select {
		case w.Turned <- struct{}{}:
		default:
		}
	}
}

type lab struct {
	t     *testing.T
	robot *robot
	room  *monitor.Room
	ids   atomic.Int64
	got   []wire.Telemetry
	big   int // bytes of the biggest
}

// bubble runs a test in virtual time, with a link that sends all that it is given.
func bubble(t *testing.T, run func(*lab)) {
	synctest.Test(t, func(t *testing.T) {
		clk := clock.Package("0123456789abcdef0123456789abcdef")
		l := &lab{t: t, robot: &robot{clk: clk, watches: map[*taskmanager.Watch]bool{}}}
		l.robot.move(0, 0, 0)
		l.room = monitor.New(monitor.Options{Agent: l.robot, Clock: clockOf{clk}, DeviceID: "rb-1", Log: zerolog.Nop(), NewID: l.newID,
			Decode: func(b []byte) (wire.Envelope, *wire.Ack) {
				e, err := wire.Decode(b, wire.Options{AllowJSON: true})
				if err != nil {
					return e, &wire.Ack{RefID: "unreadable", ReasonCode: "malformed"}
				}
				return e, nil
			}})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.room.Run(ctx) }()
		synctest.Wait()
		run(l)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(l.robot.watches) != 0 {
			t.Error("the room still watches")
		}
	})
}

func (l *lab) newID() string {
	return fmt.Sprintf("0197c000-0000-7000-8000-%012x", l.ids.Add(1)) // asked by the room and by its takers at once
}

// ask sends a lease and gives its ack.
func (l *lab) ask(id, seq int, lease string, ttl, interval int64) *wire.Ack {
	l.t.Helper()
	wall, _ := l.robot.clk.Wall()
	return l.askAt(wall, id, seq, lease, ttl, interval, "e-1")
}

func (l *lab) askAt(wall int64, id, seq int, lease string, ttl, interval int64, epoch string) *wire.Ack {
	l.t.Helper()
	body, err := wire.Encode(wire.Envelope{V: wire.Version, Type: wire.TypeMonitor, ID: fmt.Sprintf("0197c000-0000-7000-8001-%012x", id), DeviceID: "rb-1",
		SentAt: time.UnixMilli(wall).UTC().Format(time.RFC3339Nano), Seq: int64(seq), StoreEpoch: epoch,
		Monitor: &wire.Monitor{LeaseID: lease, TTLS: ttl, MinIntervalMS: interval}}, wire.CBOR)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.take(body)
}

func (l *lab) take(body []byte) *wire.Ack {
	l.t.Helper()
	m, err := l.room.Take(body)
	if err != nil {
		l.t.Fatal(err)
	}
	e, err := wire.Decode(m.Body, wire.Options{Direction: wire.Up})
	if err != nil || e.Ack == nil || e.Seq != 0 || e.ID != m.ID {
		l.t.Fatalf("%+v, %v: want an ack without a seq", e, err)
	}
	synctest.Wait()
	l.drain()
	return e.Ack
}

// drain is the link: it sends what there is.
func (l *lab) drain() {
	l.t.Helper()
	for m, ok := l.room.Next(); ok; m, ok = l.room.Next() {
		e, err := wire.Decode(m.Body, wire.Options{Direction: wire.Up})
		if err != nil {
			l.t.Fatal(err)
		}
		l.got, l.big = append(l.got, *e.Telemetry), max(l.big, len(m.Body))
		l.room.Sent(m.ID)
	}
}

// pass lets time pass in steps of 100 ms, in each of which the robot moves.
func (l *lab) pass(d time.Duration, workflows, steps int) {
	for i := range int(d / (100 * time.Millisecond)) {
		l.robot.move(workflows, steps, int64(i))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		l.drain()
	}
}

func TestNobodyLooksOnWithoutALease(t *testing.T) {
	bubble(t, func(l *lab) {
		l.pass(time.Minute, 3, 3)
		if len(l.got) != 0 || l.robot.looks != 0 || len(l.robot.watches) != 0 {
			t.Fatalf("%d messages, %d looks, %d watches without a lease", len(l.got), l.robot.looks, len(l.robot.watches))
		}
	})
}

func TestALeaseIsCoalescedAndEndsByItself(t *testing.T) {
	bubble(t, func(l *lab) {
		if ack := l.ask(1, 1, "ls_1", 10, 2000); !ack.Accepted {
			t.Fatalf("%+v", ack)
		}
		l.pass(time.Minute, 1, 2)
		if n := len(l.got); n != 5 { // at 0, 2, 4, 6, 8 s; at 10 s it is over
			t.Fatalf("%d messages in a lease of 10 s at 2 s, in which the robot moved 100 times", n)
		}
		for i, m := range l.got {
			if m.LeaseID != "ls_1" || m.N != int64(i+1) || m.LeftMS != int64(10_000-2000*i) {
				t.Errorf("message %d is %+v", i, m)
			}
		}
		last := l.got[4].Workflows[0]
		if last.State != string(core.WfActive) || len(last.Steps) != 2 || last.Steps[0].Attempts < 79 || l.got[4].OpenCount != 1 {
			t.Errorf("the latest message is not the latest state: %+v", l.got[4])
		}
		looks := l.robot.looks
		l.pass(time.Minute, 1, 2)
		if l.robot.looks != looks || len(l.robot.watches) != 0 {
			t.Error("it is looked at the state after the lease")
		}
	})
}

func TestATimeThatASuspendTookCounts(t *testing.T) {
	bubble(t, func(l *lab) {
		l.ask(1, 1, "ls_1", 900, 1000)
		l.robot.clk.Suspend(time.Hour)
		l.pass(10*time.Second, 1, 1)
		if len(l.got) != 1 {
			t.Fatalf("%d messages: a lease outlives its time", len(l.got))
		}
	})
}

func TestNothingNewIsNotSaid(t *testing.T) {
	bubble(t, func(l *lab) {
		l.ask(1, 1, "ls_1", 60, 1000)
		for range 20 {
			l.robot.move(1, 1, 7)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			l.drain()
		}
		if len(l.got) != 2 {
			t.Fatalf("%d messages, want the first and one change", len(l.got))
		}
	})
}

func TestTheFloorOfTheIntervalHolds(t *testing.T) {
	bubble(t, func(l *lab) {
		for i := range 50 { // new leases are no way around it either
			l.ask(i+1, i+1, fmt.Sprint("ls_", i), 60, 0)
			l.pass(100*time.Millisecond, 1, 1)
		}
		if n := len(l.got); n < 3 || n > 6 {
			t.Fatalf("%d messages in 5 s, want about one a second", n)
		}
	})
}

func TestTelemetryIsBoundedUnderAFlood(t *testing.T) {
	bubble(t, func(l *lab) {
		l.robot.move(500, 8, 1)
		l.ask(1, 1, "ls_1", 60, 0)
		l.pass(2*time.Second, 500, 8)
		if len(l.got) == 0 || l.big > monitor.MessageBytes {
			t.Fatalf("%d messages of up to %d bytes", len(l.got), l.big)
		}
		m := l.got[0]
		if !m.Truncated || m.OpenCount != 500 || len(m.Workflows) == 0 || m.Workflows[0].WorkflowID != "wf_000_"+strings.Repeat("x", 100) {
			t.Errorf("cut to %d workflows of %d, truncated %v", len(m.Workflows), m.OpenCount, m.Truncated)
		}
	})
}

// Of what is too much, steps that have ended go first.
func TestEndedStepsAreCutFirst(t *testing.T) {
	bubble(t, func(l *lab) {
		l.robot.move(6, 40, 1)
		l.ask(1, 1, "ls_1", 60, 0)
		m := l.got[0]
		if !m.Truncated || len(m.Workflows) != 6 || len(m.Workflows[5].Steps) != 20 || m.Workflows[5].Steps[1].State != string(core.Running) {
			t.Errorf("cut to %d workflows, the last of %d steps", len(m.Workflows), len(m.Workflows[len(m.Workflows)-1].Steps))
		}
	})
}

func TestWhatALeaseIsAnswered(t *testing.T) {
	bubble(t, func(l *lab) {
		wall, _ := l.robot.clk.Wall()
		for _, tc := range []struct {
			name    string
			ack     *wire.Ack
			wanted  core.Reason
			lasting int // messages up to here
		}{
			{"of another store", l.askAt(wall, 1, 5, "ls_0", 60, 1000, "e-0"), core.ReasonWrongEpoch, 0},
			{"that waited longer than it lasts", l.askAt(wall-60_000, 2, 5, "ls_0", 60, 1000, "e-1"), core.ReasonExpired, 0},
			{"in force", l.askAt(wall, 3, 5, "ls_1", 60, 1000, "e-1"), "", 1},
			{"older than the one in force", l.askAt(wall, 4, 4, "ls_0", 900, 1000, "e-1"), core.ReasonSuperseded, 1},
			{"unreadable", l.take([]byte("rubbish")), "malformed", 1},
		} {
			if tc.ack.Accepted != (tc.wanted == "") || tc.ack.ReasonCode != string(tc.wanted) {
				t.Errorf("a lease %s is answered %+v, want %q", tc.name, tc.ack, tc.wanted)
			}
		}
		l.pass(5*time.Second, 1, 1)
		if len(l.got) == 0 || l.got[len(l.got)-1].LeaseID != "ls_1" {
			t.Fatal("the lease in force is not")
		}
		time.Sleep(50 * time.Second)
		again := l.askAt(wall, 3, 5, "ls_1", 60, 1000, "e-1") // the broker brings it again: it does not become longer
		n := len(l.got)
		l.pass(20*time.Second, 2, 1)
		if !again.Accepted || len(l.got)-n > 6 {
			t.Errorf("a repeat is answered %+v, and %d messages follow in the 5 s that the lease has left", again, len(l.got)-n)
		}
		l.ask(5, 6, "ls_2", 60, 1000)
		l.ask(6, 7, "ls_2", 0, 0)
		n = len(l.got)
		l.pass(5*time.Second, 3, 1)
		if len(l.got) != n {
			t.Error("ttl_s 0 does not end a lease")
		}
	})
}

// What was not sent is replaced by what is so now, and is not sent after its lease.
func TestASlowLinkGetsTheLatestOnly(t *testing.T) {
	bubble(t, func(l *lab) {
		l.ask(1, 1, "ls_1", 10, 1000)
		l.got = nil
		for i := range 5 {
			l.robot.move(1, 1, int64(100+i))
			time.Sleep(time.Second + time.Millisecond)
			synctest.Wait()
		}
		l.drain()
		if len(l.got) != 1 || l.got[0].Workflows[0].Steps[0].Attempts != 104 {
			t.Fatalf("after a stall the link gets %+v", l.got)
		}
		l.robot.move(1, 1, 200)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if _, ok := l.room.Next(); ok {
			t.Fatal("telemetry of a lease that is over")
		}
	})
}
