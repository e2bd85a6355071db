package firmware

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
)

// logind is a login manager on the test's bus that hands out real pipes, as the real one does: a lock is held for as long as nobody has
// closed its end.
type logind struct {
	t    *testing.T
	conn *godbus.Conn

	mu    sync.Mutex
	asked []string // what was asked for: what, mode
	open  int
	deny  string // mode that is not allowed
}

func startLogind(t *testing.T, d *daemon) *logind {
	t.Helper()
	l := &logind{t: t}
	var err error
	if l.conn, err = godbus.Connect(d.address); err != nil {
		t.Fatal(err)
	}
	if err := l.conn.Export(l, logindPath, logindName+".Manager"); err != nil {
		t.Fatal(err)
	}
	if reply, err := l.conn.RequestName(logindName, godbus.NameFlagDoNotQueue); err != nil || reply != godbus.RequestNameReplyPrimaryOwner {
		t.Fatal(reply, err)
	}
	t.Cleanup(func() { l.conn.Close() })
	return l
}

// Inhibit is that of org.freedesktop.login1.Manager.
func (l *logind) Inhibit(what, who, why, mode string) (godbus.UnixFD, *godbus.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, what+" "+mode)
	if mode == l.deny {
		return 0, failure("AccessDenied", "no")
	}
	if who == "" || why == "" {
		return 0, failure("InvalidArgs", "who and why?")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return 0, failure("Failed", err.Error())
	}
	go l.lend(r, w)
	return godbus.UnixFD(w.Fd()), nil
}

// lend follows a lock from the moment at which the caller has it until the caller has closed it. The service's own end goes in between.
// This process plays both, and sees the files of both.
func (l *logind) lend(r, w *os.File) {
	defer r.Close()
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", w.Fd()))
	for end := time.Now().Add(patience); err == nil && links(name) != 3; time.Sleep(time.Millisecond) { // both ends here, and the caller's
		if time.Now().After(end) {
			l.t.Errorf("nobody took the lock %s", name)
			break
		}
	}
	l.count(1)
	w.Close()
	_, _ = r.Read(make([]byte, 1)) // returns when nobody has the other end any more
	l.count(-1)
}

// links counts the files of this process that are the same.
func links(name string) (n int) {
	files, _ := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && to == name {
			n++
		}
	}
	return n
}

func (l *logind) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open += n
}

func (l *logind) held() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

func (l *logind) calls() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.asked, ", ")
}

// sleepless waits until so many locks are held.
func (l *logind) sleepless(n int) {
	l.t.Helper()
	eventually(l.t, fmt.Sprintf("%d locks on sleep", n), func() bool { return l.held() == n })
}

// The machine is kept awake while the body moves, from the first call to its proven end, and no longer.
func TestSleepIsBlockedWhileTheBodyMoves(t *testing.T) {
	d := startDaemon(t, lax)
	l := startLogind(t, d)
	r := serve(t, d, nil)
	g := r.join()
	if n := l.held(); n != 0 || l.calls() != "" {
		t.Fatalf("%d locks before anything moves, asked for %s", n, l.calls())
	}
	g.submits(r.home, movePlan)
	l.sleepless(1)
	r.home.does(func() { r.home.Arrive("living_room") }) // the cleaner runs on, and does not move
	l.sleepless(0)
	if got := l.calls(); got != "sleep block" {
		t.Errorf("asked for %q, want sleep alone: whoever wants the power off gets it", got)
	}
}

// A movement that was cancelled moves until its stop is confirmed.
func TestSleepIsBlockedUntilAStopIsConfirmed(t *testing.T) {
	d := startDaemon(t, lax)
	l := startLogind(t, d)
	r := serve(t, d, nil)
	g := r.join()
	g.submits(r.home, movePlan)
	l.sleepless(1)
	task := r.home.Last()
	var ok bool
	var state, code string
	var stopping []string
	if fail := g.asks("Cancel", args("workflow", "wf_1", "test"), &ok, &state, &code, &stopping); fail != "" || !ok {
		t.Fatal(fail, code)
	}
	g.property("Moving") // a look behind the cancel
	if n := l.held(); n != 1 || g.property("Moving") != true {
		t.Fatalf("%d locks while it is being stopped", n)
	}
	r.home.does(func() { r.home.Do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled}) })
	l.sleepless(0)
}

// Where the agent may not block sleep it delays it; where logind is not there, or comes later, or restarts, the lock is taken then.
func TestTheLockOnSleepIsTakenAnew(t *testing.T) {
	d := startDaemon(t, lax)
	r := serve(t, d, nil)
	g := r.join()
	g.submits(r.home, movePlan)
	eventually(t, "the line of the log", func() bool { return strings.Contains(r.log.String(), "cannot keep the machine awake") })
	if g.property("Moving") != true {
		t.Fatal("without logind nothing moves")
	}
	l := startLogind(t, d)
	l.sleepless(1)
	l.conn.Close() // it dies, and another takes its name
	next := startLogind(t, d)
	next.mu.Lock()
	next.deny = "block"
	next.mu.Unlock()
	next.sleepless(1)
	if got := next.calls(); !strings.HasSuffix(got, "sleep delay") {
		t.Errorf("asked for %s", got)
	}
	l.sleepless(0) // the lock of the one before was let go
	d.stop()
	d.start()
	last := startLogind(t, d)
	last.sleepless(1)
	next.sleepless(0)
	r.stop()
	last.sleepless(0)
	if n := strings.Count(r.log.String(), "cannot keep the machine awake"); n > 3 {
		t.Errorf("the log says %d times that logind is not there:\n%s", n, r.log)
	}
}

// A program that the agent starts must not keep the lock when the agent lets go of it.
func TestTheLockIsNotInherited(t *testing.T) {
	d := startDaemon(t, lax)
	l := startLogind(t, d)
	r := serve(t, d, nil)
	g := r.join()
	g.submits(r.home, movePlan)
	l.sleepless(1)
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	r.home.does(func() { r.home.Arrive("living_room") })
	l.sleepless(0)
}
