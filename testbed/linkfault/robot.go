package linkfault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent"
	"deviceagent/agent/clock"
	"deviceagent/agent/config"
	"deviceagent/cloudlink"
	"deviceagent/taskmanager"
	"deviceagent/testbed/home"
	"deviceagent/testbed/netfault"
	"deviceagent/testbed/robot"
)

// robotOf is one robot: the body, which lives through all, and the agent, which is started again and again.
type robotOf struct {
	cell *cell
	id   string
	dir  string
	line *netfault.Proxy
	keep time.Duration // keepalive of its link
	tls  bool          // it comes to the listener with certificates

	stopBody context.CancelFunc
	bodyDone chan error

	mu    sync.Mutex
	agent *agent.Agent
	life  *life
	stop  context.CancelFunc
	ended chan error
}

// speed is how much faster the bodies live.
const speed = 400

// fails is the operation that every robot refuses: its steps ask the cloud.
const fails = "setNightMode"

// newRobot puts one up and waits until its agent is ready.
func (c *cell) newRobot(id string, keepalive time.Duration, tls bool) (*robotOf, error) {
	r := &robotOf{cell: c, id: id, dir: filepath.Join(c.dir, id), keep: keepalive, tls: tls}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	target := c.broker.Addr
	if tls {
		target = c.secure
	}
	if r.line, err = netfault.Start(target, netfault.Options{Raw: tls}); err != nil {
		return nil, err
	}
	cert, key, err := c.authority.Client(id)
	if err := errors.Join(err, os.WriteFile(r.file("name"), []byte(id), 0o600), os.WriteFile(r.file("cert.pem"), cert, 0o600), os.WriteFile(r.file("key.pem"), key, 0o600)); err != nil {
		return nil, err
	}
	if err := r.start(); err != nil {
		return nil, err
	}
	var faults home.Faults
	if err := faults.Add(fails + ":refuse=robot_fault"); err != nil {
		return nil, err
	}
	body, err := robot.New(robot.Options{Socket: r.socket(), Speed: speed, LogPath: r.logPath(), Lost: func(error, time.Duration) {}, Home: home.Options{Faults: faults}})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stopBody, r.bodyDone = stop, make(chan error, 1)
	go func() { r.bodyDone <- body.Run(ctx) }()
	c.robots = append(c.robots, r)
	return r, nil
}

func (r *robotOf) file(name string) string { return filepath.Join(r.dir, name) }
func (r *robotOf) socket() string          { return r.file("x.sock") }
func (r *robotOf) logPath() string         { return r.file("robot.log") }
func (r *robotOf) dbPath() string          { return filepath.Join(r.dir, "state", "agent.db") }

// start runs the agent over its store.
func (r *robotOf) start() error {
	cfg := config.Default()
	cfg.DeviceID, cfg.StateDir, cfg.Firmware.Bus = r.id, filepath.Join(r.dir, "state"), "off"
	cfg.Broker.URL, cfg.Broker.Keepalive = "tcp://"+r.line.Addr(), config.Duration(r.keep)
	if r.tls {
		cfg.Broker.URL, cfg.Broker.CAFile, cfg.Broker.CertFile, cfg.Broker.KeyFile = "mqtts://"+r.line.Addr(), filepath.Join(r.cell.dir, "ca.pem"), r.file("cert.pem"), r.file("key.pem")
	} else {
		cfg.Broker.UsernameFile, cfg.Broker.PasswordFile = r.file("name"), r.file("name")
	}
	clk, err := clock.New(clock.Options{AssumeSynced: true})
	if err != nil {
		return err
	}
	var doors []net.Listener
	for _, name := range []string{"x.sock", "read.sock", "control.sock"} {
		path := filepath.Join(r.dir, name)
		_ = os.Remove(path)
		ln, err := net.Listen("unix", path)
		if err != nil {
			return err
		}
		doors = append(doors, ln)
	}
	born := &life{}
	a, err := agent.New(context.Background(), agent.Options{Config: cfg, Catalog: r.cell.cat, Clock: clk, Log: zerolog.Nop(),
		Executor: doors[0], Read: doors[1], Control: doors[2], LinkPace: r.cell.pace,
		WrapStore: func(s taskmanager.Store) taskmanager.Store { return deviceStore{s, born} }})
	if err != nil {
		return fmt.Errorf("%s: %w", r.id, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	select {
	case <-a.Ready():
	case err := <-ended:
		stop()
		return fmt.Errorf("%s ended: %w", r.id, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agent, r.life, r.stop, r.ended = a, born, stop, ended
	return nil
}

func (r *robotOf) end() error {
	r.mu.Lock()
	stop, ended := r.stop, r.ended
	r.agent = nil
	r.mu.Unlock()
	stop()
	return <-ended
}

// kill ends the agent as kill -9 would, and starts it over what its disk holds.
func (r *robotOf) kill() error {
	r.mu.Lock()
	r.life.over.Store(true)
	r.mu.Unlock()
	_ = r.end() // it may say that its store is gone
	return r.start()
}

// link is how its link stands; offline while there is no agent.
func (r *robotOf) link() cloudlink.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent == nil {
		return cloudlink.State{Phase: cloudlink.Offline}
	}
	return r.agent.Link()
}

// unreceipted counts what the planner has not confirmed.
func (r *robotOf) unreceipted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agent == nil {
		return -1
	}
	return r.agent.Manager().Waiting()
}

// await polls until the link is as wanted, and says how long that took.
func (r *robotOf) await(limit time.Duration, ok func(cloudlink.State) bool) (time.Duration, bool) {
	began := time.Now()
	for time.Since(began) < limit {
		if ok(r.link()) {
			return time.Since(began), true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return limit, false
}

func online(s cloudlink.State) bool    { return s.Phase == cloudlink.Online }
func notOnline(s cloudlink.State) bool { return s.Phase != cloudlink.Online }

func (r *robotOf) close() error {
	r.stopBody()
	err := errors.Join(<-r.bodyDone, r.end())
	r.line.Close()
	return err
}
