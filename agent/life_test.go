package agent_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/agent"
	"deviceagent/agent/clock"
	"deviceagent/taskmanager/core"
)

// lines counts the lines of a log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

// until waits for what has to come; the test's own deadline bounds it.
func until(ok func() bool) {
	for !ok() {
		time.Sleep(5 * time.Millisecond)
	}
}

// F65: the process lives and its timers run, but the one that owns the state stands still. Nobody may say that the agent lives.
func TestF65_AnOwnerThatStandsStillGivesNoSignOfLife(t *testing.T) {
	told, log := make(chan string, 1024), &lines{}
	o := options(t)
	o.Watchdog, o.Log = 150*time.Millisecond, zerolog.New(log)
	o.Notify = func(s string) { told <- s }
	a, _ := start(t, o)
	sign := func() bool { return len(told) > 0 && <-told == "WATCHDOG=1" }
	until(sign)

	held, standing := make(chan struct{}), make(chan struct{})
	go a.Manager().Inspect(t.Context(), func(*core.State, core.Now) { close(standing); <-held })
	<-standing
	noAnswer := func(n int) func() bool { return func() bool { return log.count("no watchdog pulse") >= n } }
	until(noAnswer(1))
	for len(told) > 0 { // what was said before it stood still
		<-told
	}
	until(noAnswer(4))
	for len(told) > 0 {
		if s := <-told; s == "WATCHDOG=1" {
			t.Error("said to be alive, and its owner stands still")
		}
	}
	close(held)
	until(sign)
}

// After a suspend the next tick may be far away, and whoever watches has counted the sleep.
func TestASignOfLifeComesAtOnceAfterASuspend(t *testing.T) {
	told := make(chan string, 64)
	o := options(t)
	clk := clock.Package("0123456789abcdef0123456789abcdef")
	o.Clock, o.Watchdog = clk, 24*time.Hour
	o.Notify = func(s string) { told <- s }
	_, _ = start(t, o)
	sign := func() bool { return len(told) > 0 && <-told == "WATCHDOG=1" }
	until(sign)
	clk.Suspend(8 * time.Hour)
	until(sign)
}

// The start asks for more time until the agent is ready, and then no more.
func TestTheStartAsksForTime(t *testing.T) {
	var mu sync.Mutex
	var told []string
	o := options(t)
	o.Notify = func(s string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s)
	}
	_, stop := start(t, o)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(told, " ")
	asked, ready := strings.LastIndex(all, "EXTEND_TIMEOUT_USEC=30000000"), strings.Index(all, "READY=1")
	if asked < 0 || ready < asked {
		t.Fatalf("systemd heard %q", told)
	}
}

// A start that fails asks no longer.
func TestAFailedStartAsksForNoMoreTime(t *testing.T) {
	before := goleak.IgnoreCurrent()
	o := options(t)
	o.Config.StateDir = "/dev/null/nowhere"
	if _, err := agent.New(t.Context(), o); err == nil {
		t.Fatal("started without a store")
	}
	goleak.VerifyNone(t, before)
}
