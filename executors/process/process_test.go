package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/executors/process"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// rig is a service whose programs are scripts that the test writes. The shell is the program here; the service starts none by itself.
type rig struct {
	t   *testing.T
	dir string
	s   *process.Service
	mu  sync.Mutex
	got []core.Event
	end chan core.TaskEnded
}

func newRig(t *testing.T, programs map[catalog.Method]catalog.Process) *rig {
	r := &rig{t: t, dir: t.TempDir(), end: make(chan core.TaskEnded, 64)}
	with := map[catalog.Method]process.Program{}
	for m, p := range programs {
		if p.Argv[0] == "/bin/sh" { // the script goes into a file, so that no brace of it is a place for an argument
			file := filepath.Join(r.dir, string(m)+".sh")
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(p.Argv[1], "DIR", r.dir)), 0o600); err != nil {
				t.Fatal(err)
			}
			p.Argv[1] = file
		}
		with[m] = process.Program{Process: p, Stop: 2 * time.Second}
	}
	r.s = process.New(process.Options{Service: "tools", Instance: "start-1", Programs: with, Log: zerolog.Nop(), Sink: r.sink})
	t.Cleanup(r.s.Close)
	return r
}

func (r *rig) sink(_ context.Context, ev core.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := ev.(core.TaskEnded); ok {
		r.end <- e
		return nil
	}
	r.got = append(r.got, ev)
	return nil
}

func (r *rig) events() []core.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]core.Event(nil), r.got...)
}

// sh is a program that does what the script says; args follow it.
func sh(script string, args ...string) catalog.Process {
	return catalog.Process{Argv: append([]string{"/bin/sh", script}, args...)}
}

func (r *rig) start(task core.TaskID, m catalog.Method, params core.Values) core.TaskAnswered {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	a, err := r.s.Start(ctx, core.Dispatch{Task: task, Service: "tools", Method: m, Params: params})
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) ended() core.TaskEnded {
	r.t.Helper()
	select {
	case e := <-r.end:
		return e
	case <-time.After(20 * time.Second):
		r.t.Fatal("the task does not end")
	}
	panic("unreachable")
}

func (r *rig) query(task core.TaskID) core.TaskStatus {
	r.t.Helper()
	st, err := r.s.Query(r.t.Context(), task)
	if err != nil {
		r.t.Fatal(err)
	}
	return st
}

func TestTaskFromStartToEnd(t *testing.T) {
	lamp := sh(`read order
echo '{"type":"progress","percent":50,"note":"half"}'
echo '{"type":"event","event":"lamp.changed","data":{"level":'$1'},"source_class":"independent"}'
echo '{"type":"context","values":[{"key":"lamp.level","value":'$1'}]}'
echo '{"type":"result","outcome":"done","output":{"order":'"$order"',"task":"'$TASK_ID'"}}'`, "{level}")
	lamp.Keys = []catalog.ContextKey{"lamp.level"}
	r := newRig(t, map[catalog.Method]catalog.Process{"setLamp": lamp})
	if a := r.start("t-1", "setLamp", core.Values{"level": 40.0}); !a.Accepted || a.Instance != "start-1" {
		t.Fatalf("answer %+v", a)
	}
	e := r.ended()
	order, _ := e.Output["order"].(map[string]any)
	if e.Outcome != core.OutcomeDone || e.Source != "tools" || e.Output["task"] != "t-1" || order["task_id"] != "t-1" || order["method"] != "setLamp" {
		t.Fatalf("end %+v", e)
	}
	if p := order["params"].(map[string]any); p["level"] != 40.0 {
		t.Fatalf("params %v", p)
	}
	evs := r.events()
	if len(evs) != 3 {
		t.Fatalf("events %+v", evs)
	}
	if p := evs[0].(core.TaskProgress); p.Task != "t-1" || p.Percent != 50 {
		t.Errorf("progress %+v", p)
	}
	if o := evs[1].(core.Observed); o.Task != "t-1" || o.Event != "lamp.changed" || o.Data["level"] != 40.0 || o.Source != "tools" {
		t.Errorf("event %+v", o)
	}
	if c := evs[2].(core.ContextRead); c.Values[0].Key != "lamp.level" || c.Values[0].Value != 40.0 || !c.Values[0].Available {
		t.Errorf("context %+v", c)
	}
	if st := r.query("t-1"); st.Known != core.KnownEnded || st.Ended.Outcome != core.OutcomeDone || st.Instance != "start-1" {
		t.Errorf("status %+v", st)
	}
}

func TestExitCodes(t *testing.T) {
	exit := map[string]string{"3": "blocked_path", "4": "cancelled", "5": "done"}
	for i, tc := range []struct {
		script  string
		outcome core.Outcome
		reason  core.Reason
	}{
		{"exit 0", core.OutcomeDone, ""},
		{"exit 1", core.OutcomeFailed, core.ReasonExecutorFailed},
		{"exit 3", core.OutcomeFailed, "blocked_path"},
		{"exit 4", core.OutcomeCancelled, ""},
		{"exit 5", core.OutcomeDone, ""},
		{`echo '{"type":"result","outcome":"done"}'; exit 1`, core.OutcomeFailed, core.ReasonExecutorFailed}, // what it says does not beat how it ended
		{`echo '{"type":"result","outcome":"failed","reason":"stuck"}'; exit 0`, core.OutcomeFailed, "stuck"},
		{`echo '{"type":"result","outcome":"failed","reason":"no code at all"}'; exit 3`, core.OutcomeFailed, core.ReasonExecutorFailed},
		{`echo '{"type":"result","outcome":"failed"}'; echo '{"type":"result","outcome":"done"}'`, core.OutcomeFailed, core.ReasonExecutorFailed}, // the first stands
		{"kill -9 $$", core.OutcomeFailed, "killed"},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) { // a script as a name would stand in the path of its file
			p := sh(tc.script)
			p.Exit = exit
			r := newRig(t, map[catalog.Method]catalog.Process{"m": p})
			r.start("t-1", "m", nil)
			if e := r.ended(); e.Outcome != tc.outcome || e.Reason != tc.reason {
				t.Errorf("%s: end %+v, want %s %s", tc.script, e, tc.outcome, tc.reason)
			}
		})
	}
}

// TestNoShellReadsArguments: what a plan says reaches the program as one argument, whatever is in it.
func TestNoShellReadsArguments(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{"m": sh(`printf '{"type":"result","outcome":"done","output":{"n":%d,"first":"%s"}}\n' $# "$1"`, "say={text}", "{n}")})
	r.start("t-1", "m", core.Values{"text": "$(touch DIR/made); `id` & a b", "n": -5.0})
	if e := r.ended(); e.Output["n"] != 2.0 || e.Output["first"] != "say=$(touch DIR/made); `id` & a b" {
		t.Errorf("output %v", e.Output)
	}
}

func TestBadArgumentsAreRefused(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{"m": sh("exit 0", "{text}")})
	for text, params := range map[string]core.Values{"an option": {"text": "--delete-all"}, "a NUL": {"text": "a\x00b"}, "missing": {}} {
		if a := r.start("t-1", "m", params); a.Accepted || a.Reason != core.ReasonInputInvalid {
			t.Errorf("%s: %+v", text, a)
		}
	}
	if a := r.start("t-2", "m", core.Values{"text": -4.5}); !a.Accepted {
		t.Errorf("a negative number is no option: %+v", a)
	}
}

// TestNothingOfTheAgentIsInherited: a program that could speak to systemd in the agent's name could say that it is alive.
func TestNothingOfTheAgentIsInherited(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/run/systemd/notify")
	t.Setenv("LISTEN_FDS", "3")
	t.Setenv("SECRET", "s")
	over, err := os.Create(filepath.Join(t.TempDir(), "handed-over")) // as systemd hands over a socket: it would be inherited
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	if _, _, e := syscall.Syscall(syscall.SYS_FCNTL, over.Fd(), syscall.F_SETFD, 0); e != 0 {
		t.Fatal(e)
	}
	p := sh(`ls -l /proc/$$/fd > DIR/fds
printf '{"type":"result","outcome":"done","output":{"env":"%s","dir":"%s"}}\n' "$(env | cut -d= -f1 | sort | tr '\n' ' ')" "$(pwd)"`)
	p.Env = map[string]string{"LEVEL": "high"}
	r := newRig(t, map[catalog.Method]catalog.Process{"m": p})
	r.start("t-1", "m", nil)
	e := r.ended()
	if env, _ := e.Output["env"].(string); strings.Contains(env, "NOTIFY") || strings.Contains(env, "LISTEN") || strings.Contains(env, "SECRET") ||
		!strings.Contains(env, "LEVEL") || !strings.Contains(env, "TASK_ID") {
		t.Errorf("environment %q", env)
	}
	if e.Output["dir"] != "/" {
		t.Errorf("it runs in %v", e.Output["dir"])
	}
	if fds, err := os.ReadFile(filepath.Join(r.dir, "fds")); err != nil || strings.Contains(string(fds), "handed-over") {
		t.Errorf("open files (%v): %s", err, fds)
	}
}

// alive says whether a process whose number is in a file still runs.
func (r *rig) alive(file string) bool {
	r.t.Helper()
	for range 200 {
		text, _ := os.ReadFile(filepath.Join(r.dir, file))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			return syscall.Kill(pid, 0) == nil && !zombie(pid)
		}
		time.Sleep(20 * time.Millisecond)
	}
	r.t.Fatalf("%s was never written", file)
	return false
}

func zombie(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(text), ") Z ")
}

// TestStopEndsTheWholeGroup: also what a program started itself, and what does not heed a polite signal.
func TestStopEndsTheWholeGroup(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{
		"polite":   sh(`trap 'exit 4' TERM; echo $$ > DIR/polite; while :; do sleep 0.05; done`),
		"stubborn": sh(`trap '' TERM; sh -c 'trap "" TERM; echo $$ > DIR/child; while :; do sleep 1; done' & echo $$ > DIR/parent; wait; while :; do sleep 1; done`),
	})
	for _, m := range []catalog.Method{"polite", "stubborn"} {
		r.start(core.TaskID(m), m, nil)
		if m == "polite" {
			r.alive("polite")
		} else if !r.alive("child") || !r.alive("parent") {
			t.Fatal("it does not run")
		}
		if a, _ := r.s.Cancel(t.Context(), core.Stop{Task: core.TaskID(m)}); !a.Accepted {
			t.Fatalf("stop: %+v", a)
		}
		e := r.ended()
		if want := map[catalog.Method]core.Outcome{"polite": core.OutcomeFailed, "stubborn": core.OutcomeCancelled}[m]; e.Outcome != want {
			t.Errorf("%s: %+v, want %s", m, e, want)
		}
	}
	for _, f := range []string{"polite", "child", "parent"} {
		if r.alive(f) {
			t.Errorf("%s still runs", f)
		}
	}
	if a, _ := r.s.Cancel(t.Context(), core.Stop{Task: "polite"}); !a.Refused {
		t.Errorf("a stop of an ended task: %+v", a)
	}
}

// TestEndIsTheEndOfTheGroup: a child that the program leaves behind neither runs on nor keeps the task open.
func TestEndIsTheEndOfTheGroup(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{"m": sh(`sh -c 'echo $$ > DIR/child; while :; do sleep 1; done' & while [ ! -s DIR/child ]; do sleep 0.02; done; exit 0`)})
	r.start("t-1", "m", nil)
	if e := r.ended(); e.Outcome != core.OutcomeDone {
		t.Errorf("end %+v", e)
	}
	if r.alive("child") {
		t.Error("the child runs on")
	}
}

func TestAgentStopLeavesNothingBehindAndSaysNothing(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{"m": sh(`trap '' TERM; echo $$ > DIR/it; while :; do sleep 1; done`)})
	r.start("t-1", "m", nil)
	r.alive("it")
	r.s.Close()
	if r.alive("it") {
		t.Error("it runs on")
	}
	select {
	case e := <-r.end:
		t.Errorf("the core was told %+v; a stop changes no task", e)
	default:
	}
	if a := r.start("t-2", "m", nil); a.Accepted {
		t.Error("a closed service runs programs")
	}
}

func TestAcceptByLine(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		accepted     bool
		reason       core.Reason
	}{
		{"accepts", `echo '{"type":"accepted"}'`, true, ""},
		{"refuses", `echo '{"type":"refused","reason":"lamp_missing"}'; sleep 60`, false, "lamp_missing"},
		{"ends without a word", `exit 3`, false, "executor_busy"},
		{"ends well without a word", `exit 0`, false, core.ReasonExecutorFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := sh(tc.script)
			p.Accept, p.Exit = catalog.AcceptByLine, map[string]string{"3": "executor_busy"}
			r := newRig(t, map[catalog.Method]catalog.Process{"m": p})
			if a := r.start("t-1", "m", nil); a.Accepted != tc.accepted || a.Reason != tc.reason {
				t.Fatalf("answer %+v", a)
			}
			if tc.accepted {
				r.ended()
				return
			}
			for range 500 {
				if r.query("t-1").Known != core.KnownRunning {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if st := r.query("t-1"); st.Known != core.KnownNot || !st.Sealed {
				t.Errorf("a refused task is %+v", st)
			}
		})
	}
}

func TestFloodAndNonsense(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{
		"long": sh(`head -c 200000 /dev/zero | tr '\0' 'x'; sleep 60`),
		"much": sh(`while :; do echo '{"type":"progress"}'; done`),
		"nonsense": sh(`echo hello; echo '{"type":"dance"}'; echo '{"type":"progress"} {"type":"progress"}'; echo '{"type":"event","event":"a b"}'
echo '{"type":"context","values":[{"key":"safety.state","value":"ok"}]}'; echo '{"type":"event","event":"lamp.changed","task_id":"t-other"}'; echo '{"type":"result","outcome":"perfect"}'; echo error >&2`),
	})
	for _, m := range []catalog.Method{"long", "much"} {
		r.start(core.TaskID(m), m, nil)
		if e := r.ended(); e.Outcome != core.OutcomeFailed || e.Reason != "output_too_large" {
			t.Errorf("%s: %+v", m, e)
		}
	}
	before := len(r.events())
	r.start("n", "nonsense", nil)
	if e := r.ended(); e.Outcome != core.OutcomeDone {
		t.Errorf("nonsense: %+v", e)
	}
	if evs := r.events()[before:]; len(evs) != 0 {
		t.Errorf("nonsense became %+v", evs)
	}
}

func TestIDsAreUsedOnce(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{"m": sh("exit 0")})
	if st := r.query("t-1"); st.Known != core.KnownNot || !st.Sealed {
		t.Fatalf("status %+v", st)
	}
	if a := r.start("t-1", "m", nil); a.Accepted || a.Reason != "task_sealed" {
		t.Errorf("a sealed id: %+v", a)
	}
	r.start("t-2", "m", nil)
	r.ended()
	if a := r.start("t-2", "m", nil); a.Accepted || a.Reason != "task_known" {
		t.Errorf("an id again: %+v", a)
	}
	if a := r.start("t-3", "unknown", nil); a.Accepted {
		t.Errorf("an unknown method: %+v", a)
	}
}

func TestProgramThatCannotBeRun(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{"m": {Argv: []string{"/no/such/program"}}})
	if a := r.start("t-1", "m", nil); a.Accepted || a.Reason != core.ReasonExecutorUnavail {
		t.Errorf("answer %+v", a)
	}
}

func TestAtMostSixteenAtOnce(t *testing.T) {
	r := newRig(t, map[catalog.Method]catalog.Process{"m": sh("sleep 60")})
	for i := range 16 {
		if a := r.start(core.TaskID("t-"+strconv.Itoa(i)), "m", nil); !a.Accepted {
			t.Fatalf("task %d: %+v", i, a)
		}
	}
	if a := r.start("t-16", "m", nil); a.Accepted || a.Reason != core.ReasonExecutorBusy {
		t.Errorf("one more: %+v", a)
	}
}
