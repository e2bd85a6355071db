package firmware

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/agent/diag/diagtest"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests: a machine may be slow.
const patience = 60 * time.Second

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("in vain waited for: %s", what)
}

// home is the real core over the installed catalog, driven by hand, as a [Agent].
type home struct {
	*diagtest.Agent
	mu     sync.Mutex
	turned map[chan struct{}]bool
	ready  bool
	sent   []core.Event
	taken  []string         // messages
	before func(core.Event) // an event is taken
	block  chan struct{}    // looks wait for it
}

func newHome(t *testing.T) *home {
	t.Helper()
	a, err := diagtest.New()
	if err != nil {
		t.Fatal(err)
	}
	return &home{Agent: a, turned: map[chan struct{}]bool{}, ready: true}
}

func (h *home) turn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.turned {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// does lets something happen at the robot.
func (h *home) does(f func()) {
	f()
	h.turn()
}

func (h *home) Send(_ context.Context, ev core.Event) error {
	h.mu.Lock()
	h.sent = append(h.sent, ev)
	before := h.before
	h.mu.Unlock()
	if before != nil {
		before(ev)
	}
	h.does(func() { h.Do(ev) })
	return nil
}

func (h *home) Receive(ctx context.Context, payload []byte, from taskmanager.Source) (ans core.Answer, err error) {
	h.mu.Lock()
	h.taken = append(h.taken, string(payload))
	h.mu.Unlock()
	h.does(func() { ans, err = h.Agent.Receive(ctx, payload, from) })
	return ans, err
}

func (h *home) Inspect(ctx context.Context, f func(*core.State, core.Now)) error {
	h.mu.Lock()
	block := h.block
	h.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return h.Agent.Inspect(ctx, f)
}

func (h *home) Watch() (Feed, func()) {
	feed, end := h.Agent.Watch()
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turned[ch] = true
	return Feed{Moves: feed.C, Turned: ch, Missed: feed.Missed}, func() {
		end()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.turned, ch)
	}
}

func (h *home) Facts() Facts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Facts{DeviceID: "rb-7f21", Version: "0.4.0", Ready: h.ready, Link: "online"}
}

func (h *home) events() []core.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.sent)
}

func (h *home) messages() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.taken)
}

// daemon is a real dbus-daemon of the test's own.
type daemon struct {
	t       *testing.T
	config  string
	address string
	cmd     *exec.Cmd
}

// lax is the policy of a bus that lets anybody do anything.
const lax = `<policy context="default"><allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>`

func startDaemon(t *testing.T, policy string) *daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "bus") // a unix socket has a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // other users are callers, too
		t.Fatal(err)
	}
	d := &daemon{t: t, config: filepath.Join(dir, "bus.conf"), address: "unix:path=" + filepath.Join(dir, "bus.sock")}
	text := fmt.Sprintf(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>%s</listen><auth>EXTERNAL</auth>%s</busconfig>`, d.address, policy)
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
	_, _ = out.Read(make([]byte, 256)) // it listens when it has said where
}

func (d *daemon) stop() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
}

// freeze lets the bus stand still, with all that is written to it.
func (d *daemon) freeze() { _ = d.cmd.Process.Signal(syscall.SIGSTOP) }
func (d *daemon) thaw()   { _ = d.cmd.Process.Signal(syscall.SIGCONT) }

// log is where a service writes, to be read by the test.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// rig is a service on a bus.
type rig struct {
	t    *testing.T
	d    *daemon
	home *home
	svc  *Service
	log  *log
	stop func()
}

// serve runs a service until the test ends. change may change its options.
func serve(t *testing.T, d *daemon, change func(*Options)) *rig {
	t.Helper()
	r := &rig{t: t, d: d, home: newHome(t), log: &log{}}
	o := Options{Address: d.address, Agent: r.home, Log: zerolog.New(r.log), Retry: 20 * time.Millisecond, Settle: time.Millisecond, Bound: true}
	if change != nil {
		change(&o)
	}
	r.svc = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.svc.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("the service does not end")
		}
	})
	t.Cleanup(r.stop)
	return r
}

// guest is another program on the bus.
type guest struct {
	t    *testing.T
	conn *godbus.Conn
	ch   chan *godbus.Signal
	mu   sync.Mutex
	got  []string
}

// join enters the bus and waits until the agent is there.
func (r *rig) join() *guest {
	r.t.Helper()
	g := enter(r.t, r.d)
	g.awaitAgent()
	return g
}

func enter(t *testing.T, d *daemon) *guest {
	t.Helper()
	conn, err := godbus.Connect(d.address)
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, conn: conn, ch: make(chan *godbus.Signal, 1024)}
	t.Cleanup(func() { conn.Close() })
	return g
}

func (g *guest) awaitAgent() {
	g.t.Helper()
	eventually(g.t, "the agent on the bus", func() bool {
		var there bool
		_ = g.conn.BusObject().Call(busName+".NameHasOwner", 0, Name).Store(&there)
		return there
	})
}

// listen notes the agent's signals from now on, as text.
func (g *guest) listen() {
	g.t.Helper()
	if err := g.conn.AddMatchSignal(godbus.WithMatchSender(Name), godbus.WithMatchObjectPath(Path)); err != nil {
		g.t.Fatal(err)
	}
	g.conn.Signal(g.ch)
}

// heard are all signals so far, in their order.
func (g *guest) heard() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.ch) > 0 {
		m := <-g.ch
		if m == nil || !strings.HasPrefix(m.Name, Interface) && !strings.HasPrefix(m.Name, properties) {
			if m == nil {
				break
			}
			continue
		}
		g.got = append(g.got, fmt.Sprint(m.Name[strings.LastIndex(m.Name, ".")+1:], m.Body))
	}
	return slices.Clone(g.got)
}

// hears waits for a signal that begins like this and returns it.
func (g *guest) hears(begin string) string {
	g.t.Helper()
	var found string
	for end := time.Now().Add(patience); time.Now().Before(end) && found == ""; time.Sleep(5 * time.Millisecond) {
		for _, s := range g.heard() {
			if strings.HasPrefix(s, begin) {
				found = s
			}
		}
	}
	if found == "" {
		g.t.Fatalf("no signal %q; heard\n  %s", begin, strings.Join(g.heard(), "\n  "))
	}
	return found
}

// asks calls a method and stores what it gives; an error is returned by its name.
func (g *guest) asks(method string, args []any, into ...any) string {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if !strings.Contains(method, ".") {
		method = Interface + "." + method
	}
	err := g.conn.Object(Name, Path).CallWithContext(ctx, method, 0, args...).Store(into...)
	if de, ok := err.(godbus.Error); ok {
		return de.Name
	}
	if err != nil {
		g.t.Fatalf("%s: %v", method, err)
	}
	return ""
}

func args(v ...any) []any { return v }

// property reads one.
func (g *guest) property(name string) any {
	g.t.Helper()
	var v godbus.Variant
	if fail := g.asks(properties+".Get", args(Interface, name), &v); fail != "" {
		g.t.Fatalf("%s: %s", name, fail)
	}
	return v.Value()
}

const movePlan = `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},
 "device_task_requests":[
  {"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}},
  {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","params":{"duration_min":20},"depends_on":["step_1"]}]}`

// submits hands in the plan, and lets the robot accept its first task.
func (g *guest) submits(h *home, plan string) {
	g.t.Helper()
	var ok bool
	var id, code string
	var faults []fault
	if fail := g.asks("Submit", args(plan), &ok, &id, &code, &faults); fail != "" || !ok {
		g.t.Fatalf("%s %v %s %v", fail, ok, code, faults)
	}
	h.does(func() { h.Do(core.TaskAnswered{Task: h.Last(), Accepted: true, Instance: "run-1"}) })
}
