package conform_test

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"deviceagent/testbed/bus"
	"deviceagent/testbed/conform"
)

// examples are the executors that others are to copy.
var examples = []struct {
	dir, service, method string
	program              func(t *testing.T, address, state string) []string
}{
	{"python", "com.example.Head", "turnHead", pythonExample},
	{"c", "com.example.Lamp", "fadeLamp", cExample},
}

// The example executors are complete: they pass every check, over kill -9 in the middle of a task.
func TestTheExamplesConform(t *testing.T) {
	t.Parallel()
	for _, tc := range examples {
		t.Run(tc.dir, func(t *testing.T) {
			t.Parallel()
			address := startBus(t)
			c := startChild(t, address, tc.service, tc.program(t, address, filepath.Join(t.TempDir(), "tasks"))...)
			cat, err := conform.LoadCatalog(example(tc.dir, "catalog.json"))
			if err != nil {
				t.Fatal(err)
			}
			// The limits of its entry are for a robot; the disk of a machine that runs tests may be slow.
			wantAll(t, check(t, conform.Options{Bus: address, Service: tc.service, Catalog: cat, Restart: c.restart, Ack: slow, Stop: slow, Hold: slow, RestartTime: time.Minute}))
			if op, err := conform.Learn(conform.Options{Service: tc.service, Catalog: cat}); err != nil || op.Method != tc.method || op.Limits["stop"] != 2000 || op.Limits["ack"] != 1000 {
				t.Errorf("takes %+v from the catalog, %v", op, err)
			}
		})
	}
}

const slow = 20 * time.Second

func pythonExample(t *testing.T, address, state string) []string {
	mustRun(t, "the example needs Debian's dbus-next: apt-get install python3-dbus-next", "/usr/bin/python3", "-c", "import dbus_next")
	return []string{"/usr/bin/python3", "-W", "error::DeprecationWarning:__main__", example("python", "head_executor.py"), "--bus", address, "--state", state}
}

func cExample(t *testing.T, address, state string) []string {
	dir := t.TempDir()
	mustRun(t, "the example needs a compiler and libsystemd: apt-get install gcc make pkg-config libsystemd-dev", "make", "-C", example("c"), "-s", "DIR="+dir)
	return []string{filepath.Join(dir, "lamp_executor"), state, address}
}

// ends waits for a program to end, and wants a code and a word of what it says.
func ends(t *testing.T, cmd *exec.Cmd, code int, says string) {
	t.Helper()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if cmd.Process == nil {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(said.String(), says) {
		t.Errorf("exit code %d (-1: it did not end), says %q; want %d and %q", got, said.String(), code, says)
	}
}

// An executor that cannot do its work ends and says why, so that systemd starts it again and a person can look.
func TestTheExamplesEndWhereTheyCannotWork(t *testing.T) {
	t.Parallel()
	for _, tc := range examples {
		t.Run(tc.dir, func(t *testing.T) {
			t.Parallel()
			d, err := bus.Start()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Stop() })
			dir := t.TempDir()
			argv := tc.program(t, d.Address(), filepath.Join(dir, "tasks"))
			first := exec.Command(argv[0], argv[1:]...)
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = first.Process.Kill() })
			if err := waitName(d.Address(), tc.service); err != nil {
				t.Fatal(err)
			}
			argv = tc.program(t, d.Address(), filepath.Join(dir, "others"))
			ends(t, exec.Command(argv[0], argv[1:]...), 1, tc.service) // the name is taken
			d.Kill()
			late := time.AfterFunc(30*time.Second, func() { _ = first.Process.Kill() })
			_ = first.Wait()
			late.Stop()
			if code := first.ProcessState.ExitCode(); code <= 0 {
				t.Errorf("exit code %d after the bus has gone (-1: it did not end)", code)
			}
			if err := d.Begin(); err != nil {
				t.Fatal(err)
			}
			broken := filepath.Join(dir, "broken") // to forget what ran is to run it twice
			if err := os.WriteFile(broken, []byte("{{ not a record\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			argv = tc.program(t, d.Address(), broken)
			ends(t, exec.Command(argv[0], argv[1:]...), 1, broken)
		})
	}
}

// What lies beside an example fits it: the unit starts what is installed and waits for the name, the policy is for the unit's user, and
// systemd takes the unit.
func TestUnitAndPolicyOfTheExamplesFit(t *testing.T) {
	for _, tc := range examples {
		t.Run(tc.dir, func(t *testing.T) {
			only := func(pattern string) string {
				t.Helper()
				found, err := filepath.Glob(example(tc.dir, pattern))
				if err != nil || len(found) != 1 {
					t.Fatalf("%s: %v, %v", pattern, found, err)
				}
				text, err := os.ReadFile(found[0])
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			unit, policy := only("*.service"), only("*.conf")
			field := func(name string) string {
				m := regexp.MustCompile("(?m)^" + name + "=(.*)$").FindStringSubmatch(unit)
				if m == nil {
					t.Fatalf("the unit has no %s", name)
				}
				return m[1]
			}
			user := field("User")
			if field("BusName") != tc.service || !strings.Contains(only("*.sysusers"), "\nu "+user+" ") {
				t.Errorf("the unit waits for %s as %s", field("BusName"), user)
			}
			var p struct {
				Policies []struct {
					User  string `xml:"user,attr"`
					Allow []struct {
						Own  string `xml:"own,attr"`
						Dest string `xml:"send_destination,attr"`
					} `xml:"allow"`
				} `xml:"policy"`
			}
			if err := xml.Unmarshal([]byte(policy), &p); err != nil {
				t.Fatal(err)
			}
			owners := map[string]string{}
			for _, one := range p.Policies {
				for _, a := range one.Allow {
					if a.Own != "" {
						owners[one.User] = a.Own
					} else if a.Dest != tc.service {
						t.Errorf("%s may call %s", one.User, a.Dest)
					}
				}
			}
			if len(owners) != 1 || owners[user] != tc.service {
				t.Errorf("the policy lets own %v, the unit runs as %s", owners, user)
			}
			start := regexp.MustCompile(`(?m)^(ExecStart=)\S+`).ReplaceAllString(unit, "${1}/bin/true")
			at := filepath.Join(t.TempDir(), "example.service")
			if err := os.WriteFile(at, []byte(strings.Replace(start, "User="+user, "User=nobody", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			mustRun(t, "systemd does not take the unit", "systemd-analyze", "verify", "--man=no", at)
		})
	}
}
