package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"deviceagent/agent/diag"
)

// built is the real program, made once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dd")
	if err != nil {
		return "", err
	}
	builtIn = dir
	out, err := exec.Command("go", "build", "-o", dir, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build the program: %w: %s", err, out)
	}
	return filepath.Join(dir, "deviceagentd"), nil
})

var builtIn string // the folder of it; "": no test wanted it

func TestMain(m *testing.M) {
	code := m.Run()
	if builtIn != "" {
		os.RemoveAll(builtIn)
	}
	os.Exit(code)
}

// robot is a folder in which an agent lives, and where systemd would listen to it.
type robot struct {
	t   *testing.T
	dir string
	ear *net.UnixConn
}

func newRobot(t *testing.T) *robot {
	t.Helper()
	dir, err := os.MkdirTemp("", "ds") // a unix socket has a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	ear, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ear.Close() })
	settings := fmt.Sprintf("device_id = \"rb-1\"\nstate_dir = %q\nrun_dir = %q\n[time]\nassume_synced = true\n[firmware]\nbus = \"off\"\n", filepath.Join(dir, "state"), dir)
	if err := os.WriteFile(filepath.Join(dir, "agent.toml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return &robot{t, dir, ear}
}

func (r *robot) at(name string) string { return filepath.Join(r.dir, name) }

// process is one run of the program.
type process struct {
	*exec.Cmd
	t    *testing.T
	done chan struct{}
}

// start starts the program, perhaps through a shell that prepares its limits, and gives it where systemd listens.
func (r *robot) start(stderr io.Writer, prepare string, env ...string) *process {
	r.t.Helper()
	path, err := built()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", prepare+`exec "$0" --config "$1"`, path, r.at("agent.toml"))
	cmd.Env = append(os.Environ(), append([]string{"NOTIFY_SOCKET=" + r.at("notify")}, env...)...)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	p := &process{cmd, r.t, make(chan struct{})}
	go func() { defer close(p.done); _ = cmd.Wait() }()
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); <-p.done })
	return p
}

// end waits for the end of the program; the test's own deadline bounds it.
func (p *process) end() syscall.WaitStatus {
	<-p.done
	return p.ProcessState.Sys().(syscall.WaitStatus)
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// hear waits until systemd hears a text, and gives the whole of what was said.
func (r *robot) hear(text string) string {
	r.t.Helper()
	buf := make([]byte, 4096)
	for {
		n, err := r.ear.Read(buf)
		if err != nil {
			r.t.Fatal(err)
		}
		if strings.Contains(string(buf[:n]), text) {
			return string(buf[:n])
		}
	}
}

func (r *robot) client() *diag.Client {
	return &diag.Client{Socket: r.at("diag.sock"), Control: r.at("control.sock")}
}

func (r *robot) status() string {
	r.t.Helper()
	reply, err := r.client().Get(r.t.Context(), "/status", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(reply.Data)
}

// knock opens the executor socket and says what is no frame: the agent logs a line about it.
func (r *robot) knock() {
	conn, err := net.Dial("unix", r.at("executor.sock"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("this is no frame"))
	_, _ = io.Copy(io.Discard, conn) // until it is closed, or says why
}

func TestTheLineThatMatters(t *testing.T) {
	r := newRobot(t)
	if err := os.WriteFile(r.at("agent.toml"), []byte("device_id = \"rb-1\"\nhould = true\n[broker]\nkeepalive = \"1s\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p := r.start(&log, "")
	if got := r.hear("STATUS="); got != "STATUS="+r.at("agent.toml")+":2: hould: there is no such setting (and 1 more: journalctl -u deviceagent)" {
		t.Errorf("systemctl status would show %q", got)
	}
	if end := p.end(); end.ExitStatus() != exitUsage {
		t.Errorf("exit %d, want %d", end.ExitStatus(), exitUsage)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "agent.toml:2: hould") || !strings.Contains(lines[1], "agent.toml:4: broker.keepalive") {
		t.Errorf("printed %q, want the two faults and nothing else", lines)
	}
}

// For the journal each line begins with its priority, and a fault of the settings is an error.
func TestLinesForTheJournal(t *testing.T) {
	r := newRobot(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(write.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	stream := fmt.Sprintf("JOURNAL_STREAM=%d:%d", st.Dev, st.Ino)
	p := r.start(write, "", stream)
	r.hear("READY=1")
	p.signal(syscall.SIGTERM)
	p.end()
	if err := os.WriteFile(r.at("agent.toml"), []byte("hould = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.start(write, "", stream).end()
	write.Close()
	var got []string
	for lines := bufio.NewScanner(read); lines.Scan(); {
		got = append(got, lines.Text())
	}
	all := strings.Join(got, "\n")
	if !strings.HasPrefix(all, `<6>{"level":"info"`) || !strings.Contains(all, "\n<3>"+r.at("agent.toml")+":1: hould") {
		t.Fatalf("the journal gets\n%s", all)
	}
}

// A crash of the program must not look like bad settings: after those nobody starts it again.
func TestACrashIsNotExitCode2(t *testing.T) {
	r := newRobot(t)
	p := r.start(nil, "")
	r.hear("READY=1")
	p.signal(syscall.SIGABRT) // what the watchdog sends; a panic ends in the same way
	if end := p.end(); !end.Signaled() || end.Signal() != syscall.SIGABRT {
		t.Fatalf("ended with %v (exit %d), want by SIGABRT", end, end.ExitStatus())
	}
}

// frozen is a pipe that nobody reads, made as small as it can be.
func frozen(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close(); write.Close() })
	return read, write
}

// F64: whoever reads the log stands still. The agent does not; lines are dropped, and counted where they are missing.
func TestF64_ALogThatStandsStillStopsNothing(t *testing.T) {
	r := newRobot(t)
	read, write := frozen(t)
	r.start(write, "", "WATCHDOG_USEC=600000")
	r.hear("READY=1")
	for range 6000 { // 4096 lines wait, and the pipe holds some tens
		r.knock()
	}
	for range 3 {
		r.hear("WATCHDOG=1")
	}
	if !strings.Contains(r.status(), `"rb-1"`) {
		t.Fatal("it does not answer")
	}
	write.Close() // ours: the end of the program's ends the reading
	for lines := bufio.NewScanner(read); lines.Scan(); {
		if strings.Contains(lines.Text(), "log lines dropped") {
			var line struct{ Dropped int }
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Dropped == 0 {
				t.Fatalf("%s: %v", lines.Text(), err)
			}
			return
		}
	}
	t.Fatal("lines were dropped, and nobody says so")
}

func TestF64_AFrozenLogDoesNotKeepTheAgentFromEnding(t *testing.T) {
	r := newRobot(t)
	_, write := frozen(t)
	p := r.start(write, "")
	r.hear("READY=1")
	for range 200 {
		r.knock()
	}
	p.signal(syscall.SIGTERM)
	if end := p.end(); end.ExitStatus() != exitOK {
		t.Fatalf("ended with %v", end)
	}
}

// F67: at whatever moment of a start the signal comes, the agent ends as asked, and the next start finds all in order.
func TestF67_SIGTERMAtAnyMomentOfAStart(t *testing.T) {
	r := newRobot(t)
	for i := range 16 {
		p := r.start(nil, "", "NOTIFY_SOCKET=")
		time.Sleep(time.Duration(i*i) * time.Millisecond) // the moments; nothing is asked of them
		p.signal(syscall.SIGTERM)
		if end := p.end(); end.ExitStatus() != exitOK && !(end.Signaled() && end.Signal() == syscall.SIGTERM) {
			t.Fatalf("%d ms after its start it ended with %v (exit %d)", i*i, end, end.ExitStatus())
		}
	}
	r.start(nil, "")
	r.hear("READY=1")
	if !strings.Contains(r.status(), `"rb-1"`) {
		t.Fatal("it does not answer")
	}
}

const onePlan = `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"p","revision":0},"device_task_requests":[{"cloud_step_id":"s","taskMethod":"setMoveTo","params":{"position":"주방"}}]}`

func (r *robot) submit() error {
	_, err := r.client().Post(r.t.Context(), "/plans", nil, []byte(onePlan))
	return err
}

// F66: the kernel ends it for its memory. What was taken in is there again.
func TestF66_KilledAndBackWithItsPlans(t *testing.T) {
	r := newRobot(t)
	p := r.start(nil, "")
	r.hear("READY=1")
	if err := r.submit(); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGKILL)
	p.end()
	r.start(nil, "")
	r.hear("READY=1")
	if reply, err := r.client().Get(t.Context(), "/workflows/wf_1", nil); err != nil || !strings.Contains(string(reply.Data), `"wf_1"`) {
		t.Fatalf("%v: %s", err, reply.Data)
	}
}

// F75: with a bound that cannot be kept it works harder, and lives.
func TestF75_ABoundOnMemoryThatCannotBeKept(t *testing.T) {
	r := newRobot(t)
	r.start(nil, "", "GOMEMLIMIT=4MiB", "WATCHDOG_USEC=600000")
	r.hear("READY=1")
	if err := r.submit(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r.hear("WATCHDOG=1")
	}
}

// F74: guests take every file descriptor. The agent lives, says so, and takes guests again when they have gone.
func TestF74_NoFileDescriptorLeft(t *testing.T) {
	r := newRobot(t)
	const most = 40
	p := r.start(nil, "ulimit -n "+strconv.Itoa(most)+"; ", "WATCHDOG_USEC=600000")
	r.hear("READY=1")
	full := func() bool {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Process.Pid))
		return err != nil || len(open) >= most
	}
	var guests []net.Conn
	for !full() {
		conn, err := net.Dial("unix", r.at("diag.sock"))
		if err != nil {
			t.Fatal(err)
		}
		guests = append(guests, conn)
		if len(guests) > 4*most {
			for !full() { // they wait in the kernel's queue: the executor socket's as well
				conn, err := net.Dial("unix", r.at("executor.sock"))
				if err != nil {
					t.Fatal(err)
				}
				guests = append(guests, conn)
			}
		}
	}
	for range 4 {
		r.hear("WATCHDOG=1")
	}
	for _, conn := range guests {
		conn.Close()
	}
	for {
		if _, err := r.client().Get(t.Context(), "/status", nil); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	select {
	case <-p.done:
		t.Fatal("it has ended")
	default:
	}
}

// The sockets come from systemd's own tool: where they are is its affair, and their files stay when the agent ends.
func TestTheSocketsOfSystemd(t *testing.T) {
	tool, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Fatalf("systemd-socket-activate is needed (Debian: apt-get install systemd): %v", err)
	}
	r := newRobot(t)
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"read": r.at("r"), "control": r.at("c"), "executor": r.at("x")}
	cmd := exec.Command(tool, "--listen="+given["executor"], "--listen="+given["control"], "--listen="+given["read"], "--fdname=executor:control:read",
		"--setenv=NOTIFY_SOCKET="+r.at("notify"), path, "--config", r.at("agent.toml"))
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	var first net.Conn // starts the agent, and waits until it is taken
	for {
		if first, err = net.Dial("unix", given["control"]); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	defer first.Close()
	r.hear("READY=1")
	c := &diag.Client{Socket: given["read"], Control: given["control"]}
	reply, err := c.Get(context.Background(), "/status", nil)
	if err != nil || !strings.Contains(string(reply.Data), strconv.Quote(given["read"])) {
		t.Fatalf("%v: %s", err, reply.Data)
	}
	shown, err := c.Get(context.Background(), "/config", nil)
	if err != nil || !strings.Contains(string(shown.Data), "systemd deviceagent-executor.socket") {
		t.Errorf("the settings do not say who placed the sockets: %v: %s", err, shown.Data)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	for name, at := range given {
		if _, err := os.Stat(at); err != nil {
			t.Errorf("the socket %s went with the agent, and is systemd's: %v", name, err)
		}
	}
	for _, name := range []string{"diag.sock", "control.sock", "executor.sock"} {
		if _, err := os.Stat(r.at(name)); err == nil {
			t.Errorf("%s was made although systemd gave a socket", name)
		}
	}
}
