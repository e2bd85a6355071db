package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deviceagent/agent/diag"
	"deviceagent/agent/diag/diagtest"
	"deviceagent/taskmanager/core"
)

const lampEntries = `{"context": {"lamp.level": {"type": "number", "max_age_ms": 10000, "class": "independent"}},
 "resources": {"lamp": {}},
 "effects": {"lamp_set": {"kind": "achieve", "terminal_evidence": {"context": "lamp.level", "op": "eq", "value": "$level"},
   "confidence_policy": {"accept": ["independent"], "window_correlation": true}}},
 "operations": [{"taskMethod": "setLamp", "capability": "lamp", "kind": "settings",
   "params": {"level": {"type": "integer", "minimum": 0, "maximum": 100, "required": true}},
   "resources": ["lamp"], "effects": ["lamp_set"], "redo": "anytime", "probe": "none", "min_tier": "restricted",
   "ack_ms": 3000, "timeout": {"plus": 10000}, "evidence_timeout_ms": 5000, "executor": {"kind": "socket", "name": "lampd"}}]}
`

// TestCatalogFromExportToACheckedAddition is the way of somebody who adds a function to a robot; no agent is asked.
func TestCatalogFromExportToACheckedAddition(t *testing.T) {
	r := &robot{t: t, dir: t.TempDir()}
	dir := filepath.Join(r.dir, "catalog")
	says := func(code int, want string, args ...string) {
		t.Helper()
		out, got := r.run(args...)
		if all := out.stdout + out.stderr; got != code || !strings.Contains(all, want) {
			t.Fatalf("%s: exit %d, %q; want exit %d and %q", args, got, all, code, want)
		}
	}
	says(0, "written, 22 operations, etag ", "catalog", "export", dir)
	says(2, "is not empty, and a catalog of yours may be in it", "catalog", "export", dir)
	bad := write(t, r.dir, "bad.json", strings.Replace(lampEntries, `"context": "lamp.level"`, `"context": "lamp.lvl"`, 1))
	before, err := os.ReadFile(filepath.Join(dir, "effects.json"))
	if err != nil {
		t.Fatal(err)
	}
	says(2, "lamp.lvl", "catalog", "add", dir, bad)
	if after, err := os.ReadFile(filepath.Join(dir, "effects.json")); err != nil || string(after) != string(before) {
		t.Fatalf("a refused addition has changed a file (%v)", err)
	}
	good := write(t, r.dir, "lamp.json", lampEntries)
	says(0, "added, the catalog is good, 23 operations", "catalog", "add", dir, good)
	says(2, "setLamp is there already; change it in the file", "catalog", "add", dir, good)
	says(0, "good, 23 operations", "catalog", "check", dir)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if err := os.WriteFile(filepath.Join(dir, "rooms.json"), []byte("{\n \"rooms\": [{\"id\": 7}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(2, "rooms.json:2: rooms", "catalog", "check", dir)
}

// TestStatusWaitsForAnAgentThatStarts: a script that starts an agent goes on when it is there.
func TestStatusWaitsForAnAgentThatStarts(t *testing.T) {
	a, err := diagtest.New()
	if err != nil {
		t.Fatal(err)
	}
	r := &robot{Agent: a, t: t, dir: t.TempDir()}
	if out, code := r.run("status", "--wait", "--timeout", "500ms"); code != diag.ExitTimeLimit {
		t.Fatalf("nobody came: exit %d, %q", code, out)
	}
	done := make(chan int)
	go func() {
		_, code := r.run("status", "--wait")
		done <- code
	}()
	select {
	case code := <-done:
		t.Fatalf("ended with %d before an agent was there", code)
	case <-time.After(500 * time.Millisecond):
	}
	r.serve()
	if code := <-done; code != 0 {
		t.Fatalf("exit %d", code)
	}
}

// TestExecutorsWaitsForServices: a script that starts a service goes on when it is there.
func TestExecutorsWaitsForServices(t *testing.T) {
	r := newRobot(t)
	r.Do(core.ExecutorDown{Service: "home", Reason: "connection_lost"})
	if out, code := r.run("executors", "--wait", "home", "--timeout", "500ms"); code != diag.ExitTimeLimit {
		t.Fatalf("nobody came: exit %d, %q", code, out)
	}
	r.Do(core.ExecutorUp{Service: "home", Instance: "run-2"})
	if out, code := r.run("executors", "--wait", "home"); code != 0 || !strings.Contains(out.stdout, "ready") {
		t.Fatalf("exit %d, %q", code, out)
	}
}

// TestStatusDoesNotWaitForWhatWillNotPass: a socket that this user may not open stays one.
func TestStatusDoesNotWaitForWhatWillNotPass(t *testing.T) {
	r := &robot{t: t, dir: t.TempDir()}
	l, err := net.Listen("unix", filepath.Join(r.dir, "diag.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
			_ = c.Close()
		}
	}()
	if out, code := r.run("status", "--wait"); code != diag.ExitNoAgent {
		t.Fatalf("exit %d, %q", code, out)
	}
}
