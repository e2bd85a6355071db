package agent_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent"
	"deviceagent/agent/clock"
	"deviceagent/agent/config"
	"deviceagent/agent/diag"
	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager"
)

// options make an agent of its own in a short-lived folder: unix sockets have short paths.
func options(t *testing.T) agent.Options {
	t.Helper()
	dir, err := os.MkdirTemp("", "da")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	clk, err := clock.New(clock.Options{AssumeSynced: true})
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.DeviceID, cfg.StateDir, cfg.AllowJSON = "rb-1", filepath.Join(dir, "state"), true
	cfg.Executor.Socket, cfg.Diag.ReadSocket, cfg.Diag.ControlSocket = filepath.Join(dir, "x.sock"), filepath.Join(dir, "r.sock"), filepath.Join(dir, "c.sock")
	cfg.Firmware.Bus = "off" // the machine's own bus is no matter of a test
	return agent.Options{Config: cfg, Catalog: cat, Clock: clk, Log: zerolog.Nop()}
}

// start runs an agent until the test ends or stop is called; stop gives Run's error.
func start(t *testing.T, o agent.Options) (*agent.Agent, func() error) {
	t.Helper()
	a, err := agent.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	var ended error
	stopped := false
	stop := func() error {
		if !stopped {
			cancel()
			ended, stopped = <-done, true
		}
		return ended
	}
	t.Cleanup(func() { _ = stop() })
	select {
	case <-a.Ready():
	case err := <-done:
		done <- err
		t.Fatalf("agent ended: %v", err)
	}
	return a, stop
}

func TestReadinessAndWatchdog(t *testing.T) {
	told := make(chan string, 64)
	o := options(t)
	o.Watchdog = 150 * time.Millisecond
	o.Notify = func(s string) { told <- s }
	_, stop := start(t, o)
	var heard []string
	for !strings.Contains(strings.Join(heard, " "), "READY=1") || strings.Count(strings.Join(heard, " "), "WATCHDOG=1") < 3 {
		heard = append(heard, <-told) // the test's own deadline bounds this
	}
	if err := stop(); err != nil {
		t.Fatalf("a stop by context is no error: %v", err)
	}
	for len(told) > 0 {
		heard = append(heard, <-told)
	}
	if !strings.Contains(strings.Join(heard, " "), "STOPPING=1") {
		t.Fatalf("systemd heard %v", heard)
	}
}

func TestSocketLeftBehind(t *testing.T) {
	o := options(t)
	ln, err := net.Listen("unix", o.Config.Executor.Socket)
	if err != nil {
		t.Fatal(err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	ln.Close() // the file stays, as after a kill
	_, stop := start(t, o)

	other := options(t)
	other.Config.Executor.Socket = o.Config.Executor.Socket
	b, err := agent.New(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Fatalf("a second agent on the same socket: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestWorkSurvivesAStop(t *testing.T) {
	o := options(t)
	a, stop := start(t, o)
	plan := []byte(`{"v":"a2a-task-orchestration-v1","type":"plan","id":"0190a000-0000-7000-8000-000000000001","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z",
		"body":{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]}}`)
	ans, err := a.Manager().Receive(t.Context(), plan, taskmanager.FromLocal)
	if err != nil || !ans.Accepted {
		t.Fatalf("plan: %+v, %v", ans, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	start(t, o)
	reply, err := (&diag.Client{Socket: o.Config.Diag.ReadSocket, Control: o.Config.Diag.ControlSocket}).Get(t.Context(), "/workflows/wf_1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(reply.Data); !strings.Contains(text, `"wf_1"`) || !strings.Contains(text, `"blocked"`) {
		t.Fatalf("after the restart the diagnostic API says %s", text)
	}
}

// TestEndedPlanIsShownAfterARestart: what ended before this start is read from the store.
func TestEndedPlanIsShownAfterARestart(t *testing.T) {
	o := options(t)
	a, stop := start(t, o)
	for _, msg := range []string{
		`{"v":"a2a-task-orchestration-v1","type":"plan","id":"0190a000-0000-7000-8000-000000000001","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z",
		"body":{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]}}`,
		`{"v":"a2a-task-orchestration-v1","type":"control","id":"0190a000-0000-7000-8000-000000000002","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":{"verb":"cancel","scope":"workflow","target":"wf_1"}}`,
	} {
		if ans, err := a.Manager().Receive(t.Context(), []byte(msg), taskmanager.FromLocal); err != nil || !ans.Accepted {
			t.Fatalf("%+v, %v", ans, err)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	start(t, o)
	reply, err := (&diag.Client{Socket: o.Config.Diag.ReadSocket}).Get(t.Context(), "/workflows/wf_1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(reply.Data); !strings.Contains(text, `"cancelled"`) {
		t.Fatalf("the store says %s", text)
	}
}

// TestBadStoreIsSetAside: an agent whose database is damaged starts with a new one and says so.
func TestBadStoreIsSetAside(t *testing.T) {
	o := options(t)
	_, stop := start(t, o)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(o.Config.StateDir, "agent.db")
	if err := os.WriteFile(db, []byte(strings.Repeat("not a database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	a, _ := start(t, o)
	if from := a.Manager().StoreSetAside(); from == "" {
		t.Fatal("nobody says that the damaged store was moved")
	}
	if left, _ := filepath.Glob(filepath.Join(o.Config.StateDir, "*damaged*")); len(left) == 0 {
		t.Fatal("the damaged file is gone")
	}
}
