package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

// oneDocument parses stdout, which has to be exactly one document.
func oneDocument(t *testing.T, stdout string) document {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(stdout))
	var doc document
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%v in %q", err, stdout)
	}
	if dec.More() || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("more than one document: %q", stdout)
	}
	if doc.Schema != schema || doc.OK != (doc.Error == nil) {
		t.Errorf("schema %q ok %v error %+v", doc.Schema, doc.OK, doc.Error)
	}
	return doc
}

// TestEveryCommandHasJSON runs each command in JSON and in text: one document, and the same exit code.
func TestEveryCommandHasJSON(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
	}{
		{"status", 0}, {"ps", 0}, {"ps --all", 0}, {"changes", 0}, {"show @last", 0}, {"show nope", 4}, {"why wf_9c1e", 0}, {"why wf_9c1e/step_2", 0}, {"why wf_9c1e/x", 4}, {"why nope", 4},
		{"schedules", 0}, {"context", 0}, {"context a.b", 4}, {"executors", 0}, {"config show", 0}, {"config", 2}, {"version", 0}, {"watch @failed", 3}, {"watch wf_9c20", 0}, {"wait wf_9c20", 0}, {"wait @failed", 3},
		{"wait nope", 4}, {"wait wf_9c20 --for x", 2}, {"wait wf_9c20/x", 4}, {"cancel wf_9c20 --reason x", 7}, {"cancel nope --reason x", 4}, {"cancel nope --exact --reason x", 4}, {"cancel wf_9c20", 2}, {"cancel", 2},
		{"cancel wf_9c20 --all --reason x", 2}, {"cancel --all --reason x", 0}, {"submit /nope/at/all", 2}, {"submit PLAN --dry-run", 0}, {"submit PLAN --dry-run --wait", 2}, {"submit PLAN", 0}, {"submit BAD", 2},
		{"help exit-codes", 0}, {"help states", 0}, {"help reasons", 0}, {"help reasons stale", 0}, {"help reasons x", 4}, {"help output", 0}, {"nope", 2}, {"status extra", 2}, {"show", 2}, {"ps --nope", 2},
		{"catalog check", 0}, {"catalog check /nope", 2}, {"catalog", 2}, {"catalog add /nope /nope", 2}, {"status --wait", 0}, {"executors --wait home", 0}, {"executors --wait nobody", 4}, {"mode", 0}, {"mode manual", 2}, {"mode manual --reason x", 0}, {"mode nonsense --reason x", 2}, {"mode manual service --reason x", 2},
		{"provision --show --state-dir /nope", 7}, {"provision --show --renew", 2}, {"provision --renew --state-dir /nope", 1}, {"factory-reset", 7}, {"factory-reset --yes --state-dir /nope", 1},
		{"status --timeout -1s", 2}, {"status --color x", 2}, {"status --lang x", 2},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var codes []int
			for _, form := range []string{"json", "text"} {
				r := newRobot(t)
				r.scene("ended")
				plan := write(t, r.dir, "plan.json", strings.NewReplacer("wf_9c1e", "wf_new", "pl_1", "pl_new").Replace(movePlan))
				bad := write(t, r.dir, "bad.json", strings.Replace(movePlan, "setMoveTo", "flyTo", 1))
				args := strings.Fields(strings.NewReplacer("PLAN", plan, "BAD", bad).Replace(tc.args))
				out, code := r.run(append(args, "-o", form)...)
				codes = append(codes, code)
				if form == "text" {
					if code != 0 && (out.stderr == "" || strings.HasPrefix(out.stderr, ":")) {
						t.Errorf("exit %d without a word", code)
					}
					continue
				}
				doc := oneDocument(t, out.stdout)
				if out.stderr != "" {
					t.Errorf("stderr in JSON: %q", out.stderr)
				}
				if doc.OK != (code == 0) || doc.Error != nil && doc.Error.Exit != code {
					t.Errorf("exit %d, document %+v", code, doc.Error)
				}
			}
			if codes[0] != tc.code || codes[1] != tc.code {
				t.Errorf("exit %d in JSON and %d in text, want %d", codes[0], codes[1], tc.code)
			}
		})
	}
	for _, args := range []string{"watch -o json", "ps -o jsonl", "completion bash -o json", "help -o json", "help show -o json", "status -o xml"} {
		out, code := newRobot(t).run(strings.Fields(args)...)
		if code != diag.ExitUsage {
			t.Errorf("%s: exit %d, want the form refused\n%s", args, code, out.stdout)
		}
	}
}

// TestUnreachable tells apart why the agent cannot be asked: one cause, one remedy.
func TestUnreachable(t *testing.T) {
	listen := func(t *testing.T, path string, answer func(net.Conn)) {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				answer(c)
			}
		}()
		t.Cleanup(func() { _ = l.Close(); <-done })
	}
	for _, tc := range []struct {
		name         string
		make         func(t *testing.T, path string)
		code         diag.Code
		exit         int
		cause, hint  string
		needsNobody  bool
		timeoutAfter string
	}{
		{name: "missing", make: func(*testing.T, string) {}, code: diag.CodeMissing, exit: 6, cause: "there is no socket", hint: "systemctl start"},
		{name: "refused", make: func(t *testing.T, path string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			_ = l.Close()
		}, code: diag.CodeRefused, exit: 6, cause: "refuses connections", hint: "systemctl status"},
		{name: "permission", make: func(t *testing.T, path string) {
			listen(t, path, func(c net.Conn) { _ = c.Close() })
			if err := os.Chmod(path, 0o660); err != nil {
				t.Fatal(err)
			}
		}, code: diag.CodePermission, exit: 5, cause: "is for group", hint: "usermod -aG", needsNobody: true},
		{name: "not http", make: func(t *testing.T, path string) {
			listen(t, path, func(c net.Conn) {
				_, _ = c.Write([]byte("hello\n"))
				_, _ = c.Read(make([]byte, 4096)) // closed with the request unread, the kernel might throw the greeting away
				_ = c.Close()
			})
		}, code: diag.CodeWrongVersion, exit: 6, cause: "not this API", hint: "--socket"},
		{name: "another http server", make: func(t *testing.T, path string) {
			listen(t, path, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 4096))
				_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"))
				_ = c.Close()
			})
		}, code: diag.CodeWrongVersion, exit: 6, cause: "not this API", hint: "version"},
		{name: "no answer in time", make: func(t *testing.T, path string) {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() }) // the kernel takes the connection, nobody serves it
		}, code: diag.CodeTimeLimit, exit: 8, cause: "time limit reached", hint: "ps", timeoutAfter: "50ms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &robot{t: t, dir: t.TempDir()}
			path := filepath.Join(r.dir, "diag.sock")
			tc.make(t, path)
			args := []string{"status", "-o", "json"}
			if tc.timeoutAfter != "" {
				args = append(args, "--timeout", tc.timeoutAfter)
			}
			if tc.needsNobody && os.Getuid() == 0 {
				// The kernel lets root in everywhere: the classification alone is looked at.
				out, code := r.run(args...)
				if doc := oneDocument(t, out.stdout); code != 6 || doc.Error.Code != string(diag.CodeSilent) {
					t.Errorf("as root: exit %d %+v", code, doc.Error)
				}
				return
			}
			out, code := r.run(args...)
			doc := oneDocument(t, out.stdout)
			if code != tc.exit || doc.Error.Code != string(tc.code) || doc.AsOf != nil || !strings.Contains(doc.Error.Hint, tc.hint) {
				t.Errorf("exit %d %+v", code, doc.Error)
			}
			out, _ = r.run(append(args, "-o", "text")...)
			lines := strings.Split(strings.TrimSpace(out.stderr), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], tc.cause) || !strings.HasPrefix(lines[1], "try: ") || strings.Contains(out.stderr, string(tc.code)) {
				t.Errorf("%q, want a line with the cause and one with the remedy", out.stderr)
			}
		})
	}
}

func TestSubmitNamesFileAndLine(t *testing.T) {
	r := newRobot(t)
	plan := `{
  "workflow": {"cloud_workflow_id": "wf_1", "plan_id": "pl_1", "revision": 0},
  "device_task_requests": [
    {"cloud_step_id": "a", "taskMethod": "flyTo", "params": {}},
    {
      "cloud_step_id": "b",
      "taskMethod": "setMoveTo",
      "params": {
        "position": "달"
      }
    },
    {"cloud_step_id": "c",
      "taskMethod": "setMoveTo"}
  ]
}`
	path := write(t, r.dir, "plan.json", plan)
	out, code := r.run("submit", path, "--dry-run")
	for _, want := range []string{"refused: 3 faults", "device_task_requests[0].taskMethod", path + ":4\n", "device_task_requests[1].params.position", path + ":9\n",
		"device_task_requests[2].params", path + ":12\n"} {
		if !strings.Contains(out.stderr, want) {
			t.Errorf("no %q in\n%s", want, out.stderr)
		}
	}
	if code != diag.ExitUsage || out.stdout != "" || len(r.Inboxes) != 0 {
		t.Errorf("exit %d, stdout %q, %d messages", code, out.stdout, len(r.Inboxes))
	}
	for name, tc := range map[string]struct{ text, want string }{
		"broken":   {"{\n \"workflow\": {\n  ]\n}", ":3: "},
		"two":      {"{}\n{}", ":2: there is more"},
		"empty":    {"", "the file is empty"},
		"too long": {strings.Repeat(" ", 300<<10), "larger than 256 KiB"},
	} {
		out, code := r.runEnv(nil, tc.text, "submit", "-")
		if code != diag.ExitUsage || !strings.Contains(out.stderr, tc.want) {
			t.Errorf("%s: exit %d %q, want %q", name, code, out.stderr, tc.want)
		}
	}
}

func TestSubmitSaysAcceptedAndWaitSaysTheEnd(t *testing.T) {
	r := newRobot(t)
	out, code := r.runEnv(nil, bedPlan, "submit", "-")
	if code != 0 || !strings.HasPrefix(out.stdout, "accepted wf_9c20 (") || strings.Contains(out.stdout, "completed") {
		t.Errorf("exit %d %q", code, out.stdout)
	}
	for _, tc := range []struct {
		name string
		play func()
		exit int
		want string
	}{
		{"completed", func() { r.Arrive("living_room"); r.play("cleaning.started", "cleaning.is_running", true) }, 0, "plan wf_9c1e completed"},
		{"cancelled", func() { r.run("cancel", "wf_9c2", "--reason", "test"); r.stopped() }, 3, "plan wf_9c2 cancelled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r.run("cancel", "wf_9c20", "--reason", "make room")
			r.stopped()
			id := strings.Fields(tc.want)[1]
			var stdout, stderr paper
			played := make(chan struct{})
			go func() { defer close(played); stderr.await("accepted " + id); tc.play() }()
			out, code := r.runOn(t.Context(), &stdout, &stderr, nil, strings.NewReplacer("wf_9c1e", id, "pl_1", "pl_"+tc.name).Replace(movePlan), "submit", "-", "--wait")
			<-played
			if code != tc.exit || !strings.Contains(out.stdout, tc.want) {
				t.Errorf("exit %d %q %q", code, out.stdout, out.stderr)
			}
		})
	}
}

// play lets the present task be done and proven.
func (r *robot) play(event, key string, v any) {
	task := r.Last()
	r.Do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.Event(event, task, nil)
	r.Settle(key, v)
	r.Do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.Settle(key, v)
}

// stopped lets the robot come to rest.
func (r *robot) stopped() {
	r.Do(core.StopAnswered{Task: r.Last(), Accepted: true})
	r.Do(core.TaskEnded{Task: r.Last(), Outcome: core.OutcomeCancelled})
	r.Settle("movement.is_moving", false)
	r.Settle("movement.location", "study")
}

func TestWatchLive(t *testing.T) {
	r := newRobot(t)
	r.Submit(bedPlan)
	var stdout, stderr paper
	played := make(chan struct{})
	go func() { defer close(played); stdout.await(`"event":"live"`); r.Arrive("master_bedroom") }()
	out, code := r.runOn(t.Context(), &stdout, &stderr, nil, "", "watch", "wf_9c20", "-o", "jsonl")
	<-played
	var kinds []string
	for line := range strings.Lines(out.stdout) {
		var ev diag.StreamEvent
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		kinds = append(kinds, ev.Kind)
	}
	if code != 0 || len(kinds) < 5 || kinds[0] != diag.EventLive || kinds[len(kinds)-1] != diag.EventEnd {
		t.Errorf("exit %d %v %s", code, kinds, out.stderr)
	}
}

func TestWatchInterruptedSaysThatThePlanContinues(t *testing.T) {
	r := newRobot(t)
	r.scene("moving")
	for _, tc := range []struct{ args, begun, want string }{
		{"watch wf_9c1e", "Ctrl-C", "stopped watching; the plan continues (deviceagentctl cancel wf_9c1e --reason …)"},
		{"watch", "", "stopped watching; the work continues"},
		{"watch wf_9c1e --lang ko", "Ctrl-C", "보기를 멈췄습니다"},
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		var stdout, stderr paper
		pressed := make(chan struct{})
		go func() { defer close(pressed); stdout.await(tc.begun); cancel(errInterrupted) }()
		out, code := r.runOn(ctx, &stdout, &stderr, nil, "", strings.Fields(tc.args)...)
		<-pressed
		if code != diag.ExitInterrupt || !strings.Contains(out.stderr, tc.want) {
			t.Errorf("%s: exit %d %q", tc.args, code, out.stderr)
		}
	}
}

func TestWaitHasALimit(t *testing.T) {
	r := newRobot(t)
	r.scene("moving")
	out, code := r.run("wait", "wf_9c1e", "--timeout", "50ms")
	if code != diag.ExitTimeLimit || out.stdout != "" {
		t.Errorf("exit %d %q", code, out.stdout)
	}
}

func TestWatchOverARestart(t *testing.T) {
	r := newRobot(t)
	r.scene("moving")
	done := make(chan struct{})
	var stdout, stderr paper
	var out output
	var code int
	go func() {
		defer close(done)
		out, code = r.runOn(t.Context(), &stdout, &stderr, nil, "", "watch", "wf_9c1e")
	}()
	stdout.await("Ctrl-C")
	r.Tell(core.Move{Seq: 50_000, Workflow: "wf_9c1e", Step: "step_1", From: "running", To: "running"})
	stdout.await("step_1 running -> running") // the stream is there
	r.stop()
	r.Do(core.TaskEnded{Task: r.Last(), Outcome: core.OutcomeFailed}) // while nobody could see it
	r.Pass(60_000)
	r.Facts(func(f *diag.Facts) { f.StartNo, f.StartCause = 8, "update" })
	r.serve()
	<-done
	for _, want := range []string{"link to the agent lost", "agent restarted (cause: update)", "not available (not_kept)", "plan wf_9c1e failed"} {
		if !strings.Contains(out.stdout, want) {
			t.Errorf("no %q in\n%s", want, out.stdout)
		}
	}
	if code != diag.ExitNotDone {
		t.Errorf("exit %d", code)
	}
}
