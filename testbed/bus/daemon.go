package bus

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Daemon is a real dbus-daemon on a socket of its own. Its methods are for one goroutine.
type Daemon struct {
	dir    string
	config string
	socket string
	cmd    *exec.Cmd // nil: it does not run
}

// config is a bus on which its owner's programs may do everything.
const config = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=%s</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>
`

// Start runs a dbus-daemon. It must be stopped.
func Start() (*Daemon, error) {
	dir, err := os.MkdirTemp("", "bus") // the path of a unix socket is short
	if err != nil {
		return nil, err
	}
	d := &Daemon{dir: dir, config: filepath.Join(dir, "bus.conf"), socket: filepath.Join(dir, "bus.sock")}
	if err = os.WriteFile(d.config, fmt.Appendf(nil, config, d.socket), 0o600); err == nil {
		err = d.Begin()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return d, nil
}

// Address is where the bus is, also while it does not run.
func (d *Daemon) Address() string { return "unix:path=" + d.socket }

// Begin runs it again after [Daemon.Kill]. It returns when the bus takes connections.
func (d *Daemon) Begin() error {
	if err := os.Remove(d.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	cmd := exec.Command("dbus-daemon", "--config-file="+d.config, "--nofork", "--nopidfile", "--print-address=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot run a dbus-daemon (Debian: apt-get install dbus): %w", err)
	}
	d.cmd = cmd
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		d.Kill()
		return fmt.Errorf("cannot run a dbus-daemon: it says no address: %w", err)
	}
	return nil
}

// Kill ends the daemon at once, as a crash would.
func (d *Daemon) Kill() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.cmd = nil
	}
}

// Stop ends the daemon for good.
func (d *Daemon) Stop() error {
	d.Kill()
	return os.RemoveAll(d.dir)
}
