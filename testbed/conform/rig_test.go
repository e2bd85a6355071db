package conform_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/testbed/bus"
	"deviceagent/testbed/conform"
)

// startBus is a real dbus-daemon of the test's own.
func startBus(t *testing.T) string {
	t.Helper()
	d, err := bus.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d.Address()
}

// check runs the kit. A report on which it fails is printed.
func check(t *testing.T, o conform.Options) *conform.Report {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	defer stop()
	rep, err := conform.Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			var text bytes.Buffer
			_ = rep.WriteText(&text)
			t.Log(text.String())
		}
	})
	return rep
}

// wantAll wants each check passed.
func wantAll(t *testing.T, rep *conform.Report) {
	t.Helper()
	if rep.Outcome != conform.AllPassed || rep.Counts[conform.Passed] != len(conform.IDs()) {
		t.Errorf("outcome %s, failed %v, not run %v", rep.Outcome, rep.Failed(), rep.NotRun())
	}
}

// child is a program that can be started anew.
type child struct {
	t       *testing.T
	address string
	name    string
	argv    []string
	cmd     *exec.Cmd
	said    bytes.Buffer
}

// startChild runs a program and waits for its name on the bus.
func startChild(t *testing.T, address, name string, argv ...string) *child {
	t.Helper()
	c := &child{t: t, address: address, name: name, argv: argv}
	t.Cleanup(c.stop)
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *child) start() error {
	c.cmd = exec.Command(c.argv[0], c.argv[1:]...)
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	if err := c.cmd.Start(); err != nil {
		return err
	}
	return waitName(c.address, c.name)
}

func (c *child) stop() {
	if c.cmd != nil && c.cmd.Process != nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
	if c.t.Failed() && c.said.Len() > 0 {
		c.t.Logf("%s says: %s", c.argv[0], c.said.String())
	}
}

// restart is kill -9 and a new start: what a crash leaves.
func (c *child) restart(context.Context) error {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	return c.start()
}

func waitName(address, name string) error {
	conn, err := godbus.Connect(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		var has bool
		if err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&has); err != nil {
			return err
		}
		if has {
			return nil
		}
		if time.Now().After(end) {
			return &missingError{name}
		}
	}
}

type missingError struct{ name string }

func (e *missingError) Error() string { return "nobody took the name " + e.name }

// example is a path in executors/dbus/examples.
func example(parts ...string) string {
	return filepath.Join(append([]string{"..", "..", "executors", "dbus", "examples"}, parts...)...)
}

func mustRun(t *testing.T, why string, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s\n%s", strings.Join(argv, " "), err, out, why)
	}
}
