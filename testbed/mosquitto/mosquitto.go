// Package mosquitto runs a real mosquitto on free loopback ports, for tests and campaigns: started, killed without a warning, and started
// again on the same port. It must not be part of a device.
package mosquitto

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Broker is one mosquitto.
type Broker struct {
	Addr string // of the plain listener, as in 127.0.0.1:41883

	path, conf string
	cmd        *exec.Cmd
	ended      chan struct{}
}

// Start runs one whose files are kept in dir. conf writes the configuration for its port.
func Start(dir string, conf func(port string) string) (*Broker, error) {
	path, err := exec.LookPath("mosquitto")
	if err != nil {
		path = "/usr/sbin/mosquitto" // not in the PATH of ordinary users on Debian
		if _, err := os.Stat(path); err != nil {
			return nil, errors.New("mosquitto is not installed (on Debian: apt-get install mosquitto)")
		}
	}
	addr, err := Free()
	if err != nil {
		return nil, err
	}
	b := &Broker{Addr: addr, path: path, conf: filepath.Join(dir, "mosquitto.conf")}
	_, port, _ := net.SplitHostPort(addr)
	if err := os.WriteFile(b.conf, []byte(conf(port)), 0o644); err != nil {
		return nil, fmt.Errorf("cannot write the configuration of mosquitto: %w", err)
	}
	return b, b.Again()
}

// Free is a loopback address that nobody listens on. It is below the ports that the kernel gives to connections (32,768 and up on Linux):
// while a broker is down its clients dial its port again and again, and if one of them were given this very port as its own, it would be
// connected to itself, and the broker could not come back.
func Free() (string, error) {
	var last error
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", lowPort+rand.IntN(highPort-lowPort))
		probe, err := net.Listen("tcp", addr)
		if err == nil {
			return addr, probe.Close()
		}
		last = err
	}
	return "", fmt.Errorf("cannot find a free port: %w", last)
}

const lowPort, highPort = 12_000, 32_000

// Again starts it anew, with what its configuration lets it keep.
func (b *Broker) Again() error {
	var said strings.Builder
	cmd, ended := exec.Command(b.path, "-c", b.conf), make(chan struct{})
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start mosquitto: %w", err)
	}
	b.cmd, b.ended = cmd, ended
	go func() { defer close(ended); _ = cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); {
		if conn, err := net.DialTimeout("tcp", b.Addr, time.Second); err == nil {
			_ = conn.Close()
			select { // one that ends right after it has listened does not run
			case <-ended:
				return fmt.Errorf("mosquitto ended: %s", said.String())
			case <-time.After(5 * time.Millisecond):
				return nil
			}
		}
		select {
		case <-ended:
			return fmt.Errorf("mosquitto ended: %s", said.String())
		case <-tick.C:
		}
	}
	b.Kill()
	return errors.New("mosquitto does not listen after 30 s")
}

// Reload lets it read its list of revoked certificates, and its own, again.
func (b *Broker) Reload() { _ = b.cmd.Process.Signal(syscall.SIGHUP) }

// Kill ends it as a power cut would.
func (b *Broker) Kill() {
	_ = b.cmd.Process.Kill()
	<-b.ended
}
