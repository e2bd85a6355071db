package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"deviceagent/agent/config"
	"deviceagent/agent/diag"
	"deviceagent/testbed/authority"
)

// line is a robot on the line that makes it: no agent runs, no settings are there.
type line struct {
	*robot
	ca    *authority.Authority
	state string
}

func newLine(t *testing.T) *line {
	t.Helper()
	ca, err := authority.New("devices")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l := &line{&robot{t: t, dir: dir}, ca, filepath.Join(dir, "state")}
	if err := os.Mkdir(l.state, 0o700); err != nil {
		t.Fatal(err)
	}
	root := installedRoot
	installedRoot = filepath.Join(dir, "root")
	t.Cleanup(func() { installedRoot = root })
	write(t, dir, "ca.pem", string(ca.PEM))
	return l
}

func (l *line) provision(args ...string) (output, int) {
	return l.run(append([]string{"provision", "--state-dir", l.state}, args...)...)
}

func (l *line) begin(args ...string) (output, int) {
	return l.provision(append([]string{"--device-id", "rb-1", "--broker", "mqtts://broker.example", "--ca", filepath.Join(l.dir, "ca.pem")}, args...)...)
}

// signed is a file with the answer to a request.
func (l *line) signed(request string) string {
	l.t.Helper()
	cert, err := l.ca.Sign(request, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	return write(l.t, l.dir, "cert.pem", string(cert))
}

func TestProvisionFromNothingToAnIdentity(t *testing.T) {
	l := newLine(t)
	out, code := l.begin()
	if code != 0 || !strings.HasPrefix(out.stdout, "-----BEGIN CERTIFICATE REQUEST-----") || !strings.HasSuffix(out.stdout, "-----END CERTIFICATE REQUEST-----\n") {
		t.Fatalf("exit %d\n%s%s", code, out.stdout, out.stderr)
	}
	if !strings.Contains(out.stderr, "--certificate FILE") {
		t.Errorf("nobody is told how it goes on: %q", out.stderr)
	}
	if again, _ := l.begin(); again.stdout != out.stdout {
		t.Error("the same call again gives another request")
	}
	if file, code := l.begin("--out", filepath.Join(l.dir, "request.pem")); code != 0 || strings.TrimSpace(file.stdout) != filepath.Join(l.dir, "request.pem") {
		t.Errorf("exit %d, %q", code, file.stdout)
	}
	if text, _ := os.ReadFile(filepath.Join(l.dir, "request.pem")); string(text) != out.stdout {
		t.Error("--out has another request")
	}
	done, code := l.provision("--certificate", l.signed(out.stdout))
	if code != 0 || !strings.Contains(done.stdout, "provisioned rb-1 at mqtts://broker.example: certificate by devices, until 20") || !strings.Contains(done.stderr, "systemctl restart deviceagent") {
		t.Fatalf("exit %d\n%s%s", code, done.stdout, done.stderr)
	}
	c, _, err := config.Load(config.Sources{Flags: map[string]string{"state_dir": l.state}})
	if err != nil || c.DeviceID != "rb-1" {
		t.Fatalf("an agent would not start: %+v, %v", c, err)
	}
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"", 7, "provision --renew"},
		{"--show", 0, "certificate rb-1 by devices"},
		{"--show -o json", 0, `"subject":"rb-1"`},
		{"--renew", 0, "CERTIFICATE REQUEST"},
		{"--renew --lang ko", 0, "인증서를 기다립니다"},
		{"--show", 0, "awaited     a certificate for rb-1"},
		{"--certificate " + write(t, l.dir, "bad.pem", "nothing"), 2, "no certificate"},
		{"--certificate /nope", 2, "no such file"},
		{"--renew --device-id x", 2, "--force"},
		{"--certificate x --renew", 2, "--issuer and --state-dir only"},
		{"--show --force", 2, "changes nothing"},
		{"--issuer x", 2, "goes with --certificate"},
	} {
		out, code := l.provision(strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(out.stdout+out.stderr, tc.says) {
			t.Errorf("provision %s: exit %d, want %d and %q\n%s%s", tc.args, code, tc.code, tc.says, out.stdout, out.stderr)
		}
	}
	key := write(t, l.dir, "trusted.pem", trustedKey)
	for _, says := range []string{"systemctl restart", "from the next message on"} {
		out, code := l.provision("--trusted-keys", key)
		if code != 0 || !strings.Contains(out.stderr, says) || !strings.HasPrefix(out.stdout, "provisioned rb-1") {
			t.Errorf("keys that sign: exit %d, want %q\n%s%s", code, says, out.stdout, out.stderr)
		}
	}
	renewed, _ := l.provision("--renew")
	if done, code := l.provision("--certificate", l.signed(renewed.stdout)); code != 0 || !strings.Contains(done.stderr, "next connection") {
		t.Errorf("exit %d %s%s", code, done.stdout, done.stderr)
	}
}

// trustedKey is some Ed25519 public key.
const trustedKey = `-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
`

func TestProvisionNamesWhatIsWrong(t *testing.T) {
	l := newLine(t)
	out, code := l.provision("--device-id", "rb/1", "--broker", "mqtt://b", "-o", "json")
	doc := oneDocument(t, out.stdout)
	if code != diag.ExitUsage || doc.Error == nil || doc.Error.Code != string(diag.CodeBadIdentity) || len(doc.Error.Errors) != 2 {
		t.Fatalf("exit %d %s", code, out.stdout)
	}
	if out, code := l.provision(); code != diag.ExitUsage || !strings.Contains(out.stderr, "device_id must be set") || !strings.Contains(out.stderr, "broker.url must be set") {
		t.Errorf("exit %d %s", code, out.stderr)
	}
}

// A store belongs to a name: under another one the agent would not start.
func TestProvisionDoesNotRenameARobotThatHasWork(t *testing.T) {
	l := newLine(t)
	out, _ := l.begin()
	if out, code := l.provision("--certificate", l.signed(out.stdout)); code != 0 {
		t.Fatal(out.stderr)
	}
	rename := []string{"--device-id", "rb-2", "--broker", "mqtts://broker.example", "--ca", filepath.Join(l.dir, "ca.pem"), "--force"}
	write(t, l.state, "agent.db", "work")
	if out, code := l.provision(rename...); code != diag.ExitUsage || !strings.Contains(out.stderr, "factory-reset") {
		t.Errorf("exit %d %s", code, out.stderr)
	}
	if out, code := l.run("factory-reset", "--state-dir", l.state, "--yes"); code != 0 {
		t.Fatal(out.stderr)
	}
	if out, code := l.provision(rename...); code != 0 {
		t.Errorf("exit %d %s", code, out.stderr)
	}
}

// What an administrator has set counts more than what is provisioned; the engineer hears of it.
func TestProvisionSaysWhatDoesNotCount(t *testing.T) {
	l := newLine(t)
	etc := filepath.Join(installedRoot, "etc", "deviceagent")
	if err := os.MkdirAll(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, etc, "agent.toml", "[broker]\nurl = \"mqtts://elsewhere\"\n")
	out, _ := l.begin()
	done, code := l.provision("--certificate", l.signed(out.stdout), "-o", "json")
	if code != 0 || !strings.Contains(done.stdout, `"overridden":["broker.url = \"mqtts://elsewhere\", `+filepath.Join(etc, "agent.toml")+`:2"]`) {
		t.Errorf("exit %d %s", code, done.stdout)
	}
	// And a call without names takes what is in force.
	if out, code := l.provision("--ca", filepath.Join(l.dir, "ca.pem"), "--force", "-o", "json"); code != 0 || !strings.Contains(out.stdout, `"asked":{"device_id":"rb-1","broker":"mqtts://elsewhere"`) {
		t.Errorf("exit %d %s", code, out.stdout)
	}
}

// What root writes is the agent's to read.
func TestProvisionAsRootWritesAsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test gives files to another user: run it as root")
	}
	l := newLine(t)
	const nobody = 65534
	for dir := l.state; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) { // the owner has to come to the folder
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(l.state, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	out, code := l.begin()
	if code != 0 {
		t.Fatal(out.stderr)
	}
	if out, code = l.provision("--certificate", l.signed(out.stdout)); code != 0 {
		t.Fatal(out.stderr)
	}
	n := 0
	err := filepath.WalkDir(l.state, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != nobody {
			t.Errorf("%s is root's", path)
		}
		n++
		return err
	})
	if err != nil || n < 5 {
		t.Fatalf("%d files, %v", n, err)
	}
	if os.Geteuid() != 0 {
		t.Fatal("not root any more")
	}
}

// Who may operate and is not the owner renews over the socket, and begins nothing.
func TestProvisionOverTheSocket(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test is another user for a moment: run it as root")
	}
	r := newRobot(t)
	state := filepath.Join(r.dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	for dir := r.dir; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []string{"diag.sock", "control.sock"} {
		if err := os.Chmod(filepath.Join(r.dir, s), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cert := write(t, r.dir, "cert.pem", "it answers")
	if err := os.Chmod(cert, 0o644); err != nil {
		t.Fatal(err)
	}
	as := func(args ...string) (output, int) {
		t.Helper()
		if err := syscall.Setresuid(-1, 65534, -1); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setresuid(-1, 0, -1); err != nil {
				t.Fatal(err)
			}
		}()
		return r.run(append([]string{"provision", "--state-dir", state}, args...)...)
	}
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"--renew", 0, "CERTIFICATE REQUEST"},
		{"--certificate " + cert, 0, "provisioned rb-7f21"},
		{"--show", 0, "certificate rb-7f21 by devices"},
		{"--device-id rb-1 --broker mqtts://b", diag.ExitPermission, "sudo"},
	} {
		out, code := as(strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(out.stdout+out.stderr, tc.says) {
			t.Errorf("provision %s: exit %d\n%s%s", tc.args, code, out.stdout, out.stderr)
		}
	}
}

func TestFactoryResetNeedsAYes(t *testing.T) {
	l := newLine(t)
	write(t, l.state, "agent.db", "work")
	for _, form := range []string{"text", "json"} {
		if out, code := l.run("factory-reset", "--state-dir", l.state, "-o", form); code != diag.ExitRefused {
			t.Errorf("exit %d %s%s", code, out.stdout, out.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(l.state, "agent.db")); err != nil {
		t.Fatal("wiped without a yes")
	}
	write(t, l.state, "notes", "of another")
	out, code := l.run("factory-reset", "--state-dir", l.state, "--yes", "-o", "json")
	var doc struct {
		Data wiped `json:"data"`
	}
	if err := json.Unmarshal([]byte(out.stdout), &doc); err != nil || code != 0 || !doc.Data.Done || len(doc.Data.Removed) != 1 || len(doc.Data.Left) != 1 {
		t.Fatalf("exit %d %s%s", code, out.stdout, out.stderr)
	}
	if _, err := os.Stat(filepath.Join(l.state, "agent.db")); err == nil {
		t.Fatal("the work is still there")
	}
}

// An agent that runs is asked: nobody wipes below it.
func TestFactoryResetAsksAnAgentThatRuns(t *testing.T) {
	r := newRobot(t)
	out, code := r.run("factory-reset", "--yes", "--reason", "sold", "--state-dir", filepath.Join(r.dir, "nowhere"))
	if code == 0 {
		t.Errorf("a folder that is not there: %s", out.stdout)
	}
	held := t.TempDir()
	write(t, held, "agent.db", "work")
	d, err := os.Open(held)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out, code = r.run("factory-reset", "--yes", "--reason", "sold", "--state-dir", held)
	if code != 0 || !strings.Contains(out.stdout, "factory reset accepted: rb-7f21") {
		t.Fatalf("exit %d %s%s", code, out.stdout, out.stderr)
	}
	if got := r.Resets(); len(got) != 1 || !strings.HasSuffix(got[0], ": sold") {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(held, "agent.db")); err != nil {
		t.Error("wiped below an agent that runs")
	}
}

// pseudoTerminal is both ends of one: what a person types into, and what the program has.
func pseudoTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// At a terminal a person is asked, and only a yes wipes; a document is never asked for in between.
func TestFactoryResetAsksAtATerminal(t *testing.T) {
	for _, tc := range []struct {
		typed, form string
		code        int
	}{{"n\n", "text", diag.ExitRefused}, {"\n", "text", diag.ExitRefused}, {"y\n", "json", diag.ExitRefused}, {"y\n", "text", 0}} {
		l := newLine(t)
		write(t, l.state, "agent.db", "work")
		person, program := pseudoTerminal(t)
		if _, err := person.WriteString(tc.typed); err != nil {
			t.Fatal(err)
		}
		var out, errs paper
		code := run(t.Context(), world{args: []string{"factory-reset", "--state-dir", l.state, "-o", tc.form}, stdin: program, stdout: &out, stderr: &errs, zone: time.UTC,
			env: func(string) string { return "" }})
		_, err := os.Stat(filepath.Join(l.state, "agent.db"))
		if code != tc.code || (err != nil) != (tc.code == 0) || strings.Contains(errs.String(), "[y/N]") != (tc.form == "text") {
			t.Errorf("%q in %s: exit %d, store %v\n%s%s", tc.typed, tc.form, code, err, out.String(), errs.String())
		}
	}
}
