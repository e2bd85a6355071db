package systemd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// found is what a process that was started as by systemd says of itself.
type found struct {
	Places map[string]string // where each door is
	Fault  string
	Left   []string // what is left in the environment
}

func TestMain(m *testing.M) {
	if os.Getenv("SAY_WHAT_YOU_FOUND") == "" {
		os.Exit(m.Run())
	}
	s := Take()
	d, err := s.Doors()
	f := found{Places: map[string]string{}}
	if err != nil {
		f.Fault = err.Error()
	}
	for name, ln := range map[string]net.Listener{"read": d.Read, "control": d.Control, "executor": d.Executor} {
		if ln != nil {
			f.Places[name] = ln.Addr().String()
			ln.Close()
		}
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "LISTEN_") || strings.HasPrefix(name, "WATCHDOG_") || name == "NOTIFY_SOCKET" {
			f.Left = append(f.Left, name)
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(f)
}

// folder is one with a short name: a unix socket has a short path.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// handOver starts this test's program with sockets, as systemd does: from descriptor 3 on, for its process id.
func handOver(t *testing.T, names string, files ...*os.File) found {
	t.Helper()
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), "SAY_WHAT_YOU_FOUND=1", fmt.Sprintf("LISTEN_FDS=%d", len(files)), "LISTEN_FDNAMES="+names,
		"NOTIFY_SOCKET=@nobody", "WATCHDOG_USEC=60000000", "WATCHDOG_PID=1")
	cmd.ExtraFiles, cmd.Stderr = files, os.Stderr
	out, err := cmd.Output()
	var f found
	if err == nil {
		err = json.Unmarshal(out, &f)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(f.Left) > 0 {
		t.Errorf("a child of the agent would find %v in its environment", f.Left)
	}
	return f
}

// listening gives the file of a listener at path, which is left open by nobody else.
func listening(t *testing.T, path string) *os.File {
	t.Helper()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	f, err := ln.File()
	ln.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestDoorsAreTakenByName(t *testing.T) {
	dir := folder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	f := handOver(t, "executor:read:control", listening(t, at("x")), listening(t, at("r")), listening(t, at("c")))
	if want := fmt.Sprint(map[string]string{"read": at("r"), "control": at("c"), "executor": at("x")}); fmt.Sprint(f.Places) != want || f.Fault != "" {
		t.Fatalf("found %v, %s; want %s", f.Places, f.Fault, want)
	}
	for _, name := range []string{"r", "c", "x"} {
		if _, err := os.Stat(at(name)); err != nil {
			t.Errorf("the file of a door is the socket unit's, and the end of the agent took it: %v", err)
		}
	}
}

func TestSomeDoorsMayBeLeftToTheSettings(t *testing.T) {
	dir := folder(t)
	f := handOver(t, "control", listening(t, filepath.Join(dir, "c")))
	if len(f.Places) != 1 || f.Places["control"] == "" || f.Fault != "" {
		t.Fatalf("found %+v", f)
	}
}

func TestWhatIsNoDoorIsRefusedByName(t *testing.T) {
	dir := folder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	raw := func(domain, kind int) *os.File {
		fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "raw")
		t.Cleanup(func() { f.Close() })
		return f
	}
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	overTCP, err := tcp.File()
	if err != nil {
		t.Fatal(err)
	}
	defer overTCP.Close()
	for _, tc := range []struct {
		name, names string
		files       []*os.File
		fault       string
	}{
		{"a name of another program", "http", []*os.File{listening(t, at("a"))}, `socket "http"`},
		{"no name", "", []*os.File{listening(t, at("b"))}, "there is no door of that name"},
		{"the same door twice", "read:read", []*os.File{listening(t, at("c")), listening(t, at("d"))}, "there twice"},
		{"datagrams", "read", []*os.File{raw(unix.AF_UNIX, unix.SOCK_DGRAM)}, "no unix stream socket"},
		{"nobody listens", "read", []*os.File{raw(unix.AF_UNIX, unix.SOCK_STREAM)}, "no unix stream socket"},
		{"a door to the network", "control", []*os.File{overTCP}, "no unix stream socket"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if f := handOver(t, tc.names, tc.files...); !strings.Contains(f.Fault, tc.fault) {
				t.Fatalf("fault %q, want one with %q", f.Fault, tc.fault)
			}
		})
	}
}

// ear is where systemd listens.
func ear(t *testing.T, path string) *net.UnixConn {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func hear(t *testing.T, c *net.UnixConn) string {
	t.Helper()
	buf := make([]byte, 4096)
	n, err := c.Read(buf) // the test's own deadline bounds this
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestWordsReachSystemdAlsoAfterItExecutedItselfAnew(t *testing.T) {
	path := filepath.Join(folder(t), "notify")
	first := ear(t, path)
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "60000000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	s := Take()
	if got := os.Getenv("NOTIFY_SOCKET") + os.Getenv("WATCHDOG_USEC"); got != "" || s.Watchdog.Seconds() != 60 {
		t.Fatalf("environment %q, watchdog %v", got, s.Watchdog)
	}
	if err := s.Tell("READY=1"); err != nil || hear(t, first) != "READY=1" {
		t.Fatalf("not heard: %v", err)
	}
	first.Close()
	os.Remove(path)
	if err := s.Tell("WATCHDOG=1"); err == nil || s.Missed() != 1 {
		t.Fatalf("nobody listens: %v, %d missed", err, s.Missed())
	}
	second := ear(t, path)
	if err := s.Tell("WATCHDOG=1"); err != nil || hear(t, second) != "WATCHDOG=1" {
		t.Fatalf("not heard by the new one: %v", err)
	}
	if s.Missed() != 1 {
		t.Errorf("%d missed, want 1", s.Missed())
	}
}

// A process whose every file descriptor is taken still says that it lives: else it would be killed for having many guests.
func TestF74_ASignOfLifeTakesNoFileDescriptor(t *testing.T) {
	path := filepath.Join(folder(t), "notify")
	c := ear(t, path)
	s := &Service{path: path}
	if err := s.Tell("READY=1"); err != nil || hear(t, c) != "READY=1" {
		t.Fatal(err)
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	_, noFile := os.Open(os.DevNull)
	told := s.Tell("WATCHDOG=1")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if noFile == nil {
		t.Fatal("there are file descriptors: nothing was tried")
	}
	if told != nil || hear(t, c) != "WATCHDOG=1" {
		t.Fatalf("not said: %v", told)
	}
}

func TestAFrozenSystemdFreezesNobody(t *testing.T) {
	path := filepath.Join(folder(t), "notify")
	ear(t, path) // never reads
	s := &Service{path: path}
	for s.Missed() == 0 { // until its queue is full; the test's own deadline bounds this
		_ = s.Tell("WATCHDOG=1")
	}
}

func TestAnotherProcessIsWatchedNotWe(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "60000000")
	t.Setenv("WATCHDOG_PID", "1")
	if got := Take().Watchdog; got != 0 {
		t.Fatalf("watchdog %v, want none", got)
	}
}

func TestEachLineHasItsPriority(t *testing.T) {
	var out bytes.Buffer
	log := zerolog.New(Lines{W: &out})
	log.Debug().Msg("d")
	log.Info().Msg("i")
	log.Warn().Msg("w")
	log.Error().Msg("e")
	log.Log().Msg("n")
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		got = append(got, line[:4])
	}
	if want := []string{"<7>{", "<6>{", "<4>{", "<3>{", "<6>{"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestTheJournalIsKnownByItsFile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(w.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if !isJournal(w, fmt.Sprintf("%d:%d", st.Dev, st.Ino)) {
		t.Error("the stream that systemd named is not known")
	}
	for _, stream := range []string{"", "1:2", fmt.Sprintf("%d:%d", st.Dev, st.Ino+1)} {
		if isJournal(w, stream) {
			t.Errorf("%q is taken for this file", stream)
		}
	}
}

func TestStatusIsOneReadableLine(t *testing.T) {
	got := Status("broken\n  here: " + strings.Repeat("가", 300))
	if strings.Contains(got, "\n") || len(got) > 420 || !strings.HasPrefix(got, "STATUS=broken here: 가") || !strings.HasSuffix(got, "가 …") {
		t.Fatalf("%q", got)
	}
}
