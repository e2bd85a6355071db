package demo

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"deviceagent/testbed/home"
)

// shell starts a program that says something, then does what script says.
func shell(t *testing.T, script string) (p *process, said chan string) {
	t.Helper()
	said = make(chan string, 8)
	p, err := start(spec{name: "sh", path: "/bin/sh", args: []string{"-c", script}, logPath: filepath.Join(t.TempDir(), "sh.log"),
		out: func(line string) { said <- line }, line: func(line string) { said <- "err " + line }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p, said
}

func TestProcessIsAskedToEnd(t *testing.T) {
	p, said := shell(t, `trap 'echo bye >&2; exit 0' TERM; echo hello; read line; echo "$line"; read line`)
	if got := <-said; got != "hello" {
		t.Fatalf("said %q", got)
	}
	if _, err := p.stdin.Write([]byte("vital complete\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-said; got != "vital complete" {
		t.Fatalf("heard %q", got)
	}
	if pgid, err := syscall.Getpgid(p.cmd.Process.Pid); err != nil || pgid != p.cmd.Process.Pid {
		t.Errorf("no group of its own, Ctrl-C would reach it: %d %v", pgid, err)
	}
	p.stop()
	if got := <-said; got != "err bye" || p.err != nil {
		t.Errorf("said %q and ended with %v", got, p.err)
	}
}

func TestFaultNamesTheLastLines(t *testing.T) {
	p, _ := shell(t, `for i in 1 2 3 4 5 6 7; do echo line $i >&2; done; exit 3`)
	<-p.done
	text := p.fault().Error()
	if !strings.Contains(text, "exit status 3") || !strings.Contains(text, "line 7") || strings.Contains(text, "line 2") {
		t.Errorf("%s", text)
	}
}

func TestStartOfWhatIsNotThere(t *testing.T) {
	if p, err := start(spec{name: "x", path: "/does/not/exist", logPath: filepath.Join(t.TempDir(), "x.log")}); err == nil {
		t.Errorf("%v started", p)
	}
	if path, err := program(t.TempDir(), "plannerd"); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("%q %v", path, err)
	}
}

// A process of the demo sees none of the caller's settings.
func TestPlainEnv(t *testing.T) {
	t.Setenv("DEVICEAGENT_HOLD", "true")
	t.Setenv("NOTIFY_SOCKET", "x")
	for _, kv := range plainEnv() {
		if key, _, _ := strings.Cut(kv, "="); !slices.Contains([]string{"PATH", "HOME", "LANG", "TMPDIR"}, key) {
			t.Errorf("%s is handed on", key)
		}
	}
}

func TestFollowerReadsWholeLinesOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "robot.log")
	var got []string
	f := newFollower(path, func(e home.Entry) { got = append(got, e.Room) })
	defer f.close()
	if err := f.read(); err != nil {
		t.Fatalf("a log that is not there yet: %v", err)
	}
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, part := range []string{`{"t_ms":1,"kind":"motion_start","room":"a"}` + "\n" + `{"t_ms":2,"kin`, `d":"motion_end","room":"b"}` + "\n"} {
		if _, err := log.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if err := f.read(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("read %v", got)
	}
	if _, err := log.WriteString("nonsense\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.read(); err == nil {
		t.Error("nonsense in the log is passed over")
	}
}

func TestPlannersReadyLine(t *testing.T) {
	d := &demo{}
	if err := d.plannerReady("ready http=127.0.0.1:1 mqtt=127.0.0.1:2"); err != nil || d.planner.url != "http://127.0.0.1:1" || d.mqtt != "127.0.0.1:2" {
		t.Errorf("%+v %q %v", d.planner, d.mqtt, err)
	}
	if err := new(demo).plannerReady("hello"); err == nil {
		t.Error("nonsense is taken for the ready line")
	}
}
