package dbus_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/rs/zerolog"

	"deviceagent/executors"
	"deviceagent/executors/dbus"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// daemon is a real dbus-daemon of the test's own.
type daemon struct {
	t       *testing.T
	config  string
	address string
	cmd     *exec.Cmd
}

func startDaemon(t *testing.T) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus") // a unix socket has a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &daemon{t: t, config: filepath.Join(dir, "bus.conf"), address: "unix:path=" + filepath.Join(dir, "bus.sock")}
	text := fmt.Sprintf(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`, d.address)
	if err := os.WriteFile(d.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start()
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) start() {
	d.t.Helper()
	d.cmd = exec.Command("dbus-daemon", "--config-file="+d.config, "--nofork", "--print-address=1")
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		d.t.Fatalf("a real dbus-daemon is needed (Debian: apt-get install dbus): %v", err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil && err != io.EOF {
		d.t.Fatal(err)
	}
}

func (d *daemon) stop() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

const (
	name = "com.example.Mover"
	path = godbus.ObjectPath("/com/example/Mover")
)

// rig joins a registry and a bus as the agent does, and hears what the core would.
type rig struct {
	t   *testing.T
	d   *daemon
	reg *executors.Registry
	mu  sync.Mutex
	got []core.Event
	log text

	fresh bool               // a service was found, and what it has is not read yet
	first []core.ContextRead // what it had
	all   bool               // that is heard like the rest

	held sync.Mutex // by a test that lets nothing through
}

// hold stops all that is said from being taken, and lets it through again.
func (r *rig) hold(on bool) {
	if on {
		r.held.Lock()
	} else {
		r.held.Unlock()
	}
}

func newRig(t *testing.T, d *daemon, limit time.Duration) *rig {
	t.Helper()
	r := &rig{t: t, d: d}
	r.reg = executors.New(executors.Options{Sink: r.sink, Log: zerolog.Nop(), HardLimit: limit})
	bus := dbus.New(dbus.Options{Address: d.address, Registry: r.reg, Sink: r.sink, Log: zerolog.Nop(), Limit: limit, Retry: 20 * time.Millisecond, Services: []dbus.Service{
		{ID: "mover", Name: name, Path: path, Methods: []catalog.Method{"setMoveTo", "stopMovement"}, Keys: []catalog.ContextKey{"movement.location", "movement.is_moving"}}}})
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.reg.Run(ctx) })
	wg.Go(func() { _ = bus.Run(ctx) })
	t.Cleanup(func() { stop(); wg.Wait(); r.reg.Close() })
	return r
}

func (r *rig) sink(_ context.Context, ev core.Event) error {
	r.held.Lock()
	defer r.held.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch ev := ev.(type) {
	case core.ExecutorUp:
		r.fresh = true
	case core.ContextRead:
		if r.fresh && !r.all {
			r.fresh, r.first = false, append(r.first, ev)
			return nil
		}
	}
	r.got = append(r.got, ev)
	return nil
}

func (r *rig) events() []core.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]core.Event(nil), r.got...)
}

func (r *rig) firsts() []core.ContextRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]core.ContextRead(nil), r.first...)
}

// heard waits for the nth event of a type for which ok holds, and returns it.
func heard[E core.Event](r *rig, n int, ok func(E) bool) E {
	r.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		seen := 0
		for _, ev := range r.events() {
			if e, is := ev.(E); is && (ok == nil || ok(e)) {
				if seen++; seen == n {
					return e
				}
			}
		}
	}
	var none E
	r.t.Fatalf("%T number %d was not heard: %+v", none, n, r.events())
	return none
}

// mover is a service that does what the test tells it.
type mover struct {
	mu      sync.Mutex
	host    *dbus.Host
	calls   []string
	silent  bool // answers no Dispatch
	refuse  core.Reason
	before  func(core.Dispatch) // before the answer of a Dispatch
	keep    []func()            // answers held back
	known   map[core.TaskID]bool
	sealed  map[core.TaskID]bool
	running map[core.TaskID]bool
}

func startMover(t *testing.T, d *daemon) *mover {
	t.Helper()
	m := &mover{known: map[core.TaskID]bool{}, sealed: map[core.TaskID]bool{}, running: map[core.TaskID]bool{}}
	h, err := dbus.Serve(context.Background(), d.address, name, path, m)
	if err != nil {
		t.Fatal(err)
	}
	m.host = h
	t.Cleanup(func() { h.Close() })
	return m
}

// set changes how it behaves from now on.
func (m *mover) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *mover) note(f string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, fmt.Sprintf(f, args...))
}

func (m *mover) did() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.calls, " ")
}

func (m *mover) Dispatch(d core.Dispatch, answer func(core.TaskAnswered)) {
	m.note("dispatch:%s:%v", d.Task, d.Params["position"])
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.before != nil {
		m.before(d)
	}
	switch {
	case m.silent:
		m.keep = append(m.keep, func() { answer(core.TaskAnswered{Accepted: true}) })
	case m.known[d.Task] || m.sealed[d.Task]:
		answer(core.TaskAnswered{Reason: "task_known"})
	case m.refuse != "":
		answer(core.TaskAnswered{Reason: m.refuse})
	default:
		m.known[d.Task], m.running[d.Task] = true, true
		answer(core.TaskAnswered{Accepted: true})
	}
}

func (m *mover) Query(task core.TaskID, answer func(core.TaskStatus)) {
	m.note("query:%s", task)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.running[task]:
		answer(core.TaskStatus{Known: core.KnownRunning, Paused: task == "t-paused"})
	case m.known[task]:
		answer(core.TaskStatus{Known: core.KnownEnded, Ended: &core.TaskEnded{Outcome: core.OutcomeDone, Output: core.Values{"steps": 3.0}},
			Event: &core.Observed{Event: "movement.arrived", Task: task, Data: core.Values{"room_id": "kitchen"}}})
	default:
		m.sealed[task] = true
		answer(core.TaskStatus{Known: core.KnownNot, Sealed: true})
	}
}

func (m *mover) Cancel(s core.Stop, answer func(core.StopAnswered)) {
	m.note("cancel:%s:%s", s.Task, s.Method)
	answer(core.StopAnswered{Accepted: true})
}

func (m *mover) Pause(task core.TaskID, answer func(core.StopAnswered)) {
	m.note("pause:%s", task)
	answer(core.StopAnswered{Accepted: true})
}

func (m *mover) Resume(task core.TaskID, answer func(core.StopAnswered)) {
	m.note("resume:%s", task)
	answer(core.StopAnswered{Reason: "not_paused"})
}

func (m *mover) Read(keys []catalog.ContextKey, answer func([]core.ContextValue)) {
	m.note("read:%v", keys)
	answer([]core.ContextValue{{Key: "movement.location", Value: "kitchen", Available: true}, {Key: "movement.is_moving"}})
}
