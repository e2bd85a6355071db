package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent"
	"deviceagent/agent/clock"
	"deviceagent/agent/config"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/store"
	"deviceagent/taskmanager/storetest"
	"deviceagent/testbed/bus"
)

// device is the robot's computer: it can lose its power, and starts again from what its disk holds.
type device struct {
	id      string // "": deviceID
	dir     string
	cat     *catalog.Catalog
	json    bool
	tier    string
	noGoals bool
	form    Form
	trusted string // file of the keys that it trusts; "": none
	broker  func(context.Context) (net.Conn, error)
	newID   func() string
	log     zerolog.Logger
	ferry   *bus.Ferry // to the bus of the robot's services; nil: there is none
	net     wires      // to the broker: what "link down" tears
	cut     *cutter    // cuts its power at a commit; nil: nobody does

	mu    sync.Mutex
	door  *door // for executors; nil: nobody is at home
	agent *agent.Agent
	life  *life
	disk  *storetest.Failing // of the present life
	boots int
	lost  bool // its store was lost: what comes after that is a new one, and the device knows so
	clock *clock.Virtual
	wall  wallClock
	past  []*life
}

// life is one run of the agent.
type life struct {
	stop  context.CancelFunc
	wires wires // all its connections
	ended chan error
}

const deviceID = "rb-1"

// start runs the agent on the newest copy of the disk.
func (d *device) start(ctx context.Context) error {
	if d.clock == nil {
		d.clock = d.wall.boot(fmt.Sprintf("%032x", d.boots+1))
	}
	cfg := config.Default()
	cfg.DeviceID, cfg.AllowJSON = cmp.Or(d.id, deviceID), d.json
	cfg.AllowJSON = cfg.AllowJSON || d.form.JSON
	cfg.Broker.Encoding, cfg.RequireSigned, cfg.TrustedKeysFile = string(d.form.encoding()), d.form.Signed, d.trusted
	cfg.Goal.Enabled, cfg.Goal.Tier = !d.noGoals, d.tier
	cfg.Firmware.Bus = "off" // a real bus has no place in virtual time
	cfg.StateDir = filepath.Join(d.dir, fmt.Sprintf("state-%d", d.boots))
	if err := d.inService(ctx, cfg.StateDir); err != nil {
		return err
	}
	front := newDoor()
	l := &life{ended: make(chan error, 1)}
	var disk *storetest.Failing
	a, err := agent.New(ctx, agent.Options{Config: cfg, Catalog: d.cat, Clock: d.clock, Log: d.log, Executor: front, Read: newDoor(), Control: newDoor(),
		Bus: d.bus(l), NewID: d.newID, Dial: func(ctx context.Context) (net.Conn, error) {
			return l.wires.add(d.net.add(d.broker(ctx)))
		}, WrapStore: func(s taskmanager.Store) taskmanager.Store {
			disk = storetest.NewFailing(s)
			return d.cut.wrap(disk)
		}})
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.ended <- a.Run(run) }()
	select {
	case <-a.Ready():
	case err := <-l.ended:
		stop()
		return fmt.Errorf("agent ended: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.door, d.agent, d.life, d.disk = front, a, l, disk
	return nil
}

// bus is how the agent gets to the bus in one of its lives; nil: by its settings, and there is none.
func (d *device) bus(l *life) func(context.Context) (net.Conn, error) {
	if d.ferry == nil {
		return nil
	}
	return func(ctx context.Context) (net.Conn, error) { return l.wires.add(d.ferry.Dial(ctx)) }
}

// inService makes the store of a robot that has been in service: a new one would have the body stopped once.
func (d *device) inService(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil || d.lost {
		return err
	}
	s, err := store.Open(ctx, filepath.Join(dir, "agent.db"), store.Options{})
	if err != nil {
		return err
	}
	return s.Close()
}

// dial is the executor socket as the robot's service sees it.
func (d *device) dial(ctx context.Context) (net.Conn, error) {
	d.mu.Lock()
	front, l := d.door, d.life
	d.mu.Unlock()
	if front == nil {
		return nil, errRefused
	}
	return l.wires.add(front.dial(ctx))
}

// powerCut ends the agent as a power cut would: the disk is what it was at this instant, the lines are dead before the process
// knows, and whatever it still does on its way out reaches nobody.
func (d *device) powerCut(reboot bool) error {
	d.mu.Lock()
	l := d.life
	d.door, d.agent, d.life = nil, nil, nil
	d.mu.Unlock()
	from := filepath.Join(d.dir, fmt.Sprintf("state-%d", d.boots))
	d.boots++
	if err := os.CopyFS(filepath.Join(d.dir, fmt.Sprintf("state-%d", d.boots)), os.DirFS(from)); err != nil {
		return fmt.Errorf("cannot copy the disk: %w", err)
	}
	if reboot {
		d.clock = nil
	}
	l.wires.tear()
	d.heal() // what it still writes is on the disk of the past
	l.stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.past = append(d.past, l)
	return nil
}

// setDisk makes the disk refuse every commit, stall in each until it heals, or heal.
func (h *house) setDisk(arg string) error {
	if err := h.device.cut.awaitBack(); err != nil {
		return err
	}
	switch d := h.device.disk; arg {
	case "full":
		d.Always(storetest.NotCommitted)
	case "stalls":
		d.Always(storetest.Stall)
	case "heals":
		h.device.heal()
	default:
		return fmt.Errorf("disk %q: want full, stalls or heals", arg)
	}
	return nil
}

// heal lets every commit through, also one that stalls.
func (d *device) heal() {
	d.disk.Always(storetest.OK)
	d.disk.Release()
}

// close ends the agent in the ordinary way, and waits for all its lives.
func (d *device) close() error {
	if d.life != nil {
		d.heal()
		d.life.stop()
		d.past = append(d.past, d.life)
	}
	var last error
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.past {
		last = <-l.ended
	}
	return last
}

// restart is a power cut with the time that the device is off: "", or a duration.
func (h *house) restart(arg string, reboot bool) error {
	var off time.Duration
	if arg = strings.TrimSpace(strings.TrimPrefix(arg, "agent")); arg != "" {
		var err error
		if off, err = time.ParseDuration(arg); err != nil {
			return err
		}
	}
	if err := errors.Join(h.device.cut.awaitBack(), h.device.powerCut(reboot)); err != nil {
		return err
	}
	time.Sleep(off)
	return h.device.start(context.Background())
}

// loseStore takes the power and the store of the device away, and starts it with an empty one.
func (h *house) loseStore(arg string) error {
	if arg != "lost" {
		return fmt.Errorf("store %q: want lost", arg)
	}
	d := h.device
	if err := errors.Join(d.cut.awaitBack(), d.powerCut(true)); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(d.dir, fmt.Sprintf("state-%d", d.boots))); err != nil {
		return fmt.Errorf("cannot lose the store: %w", err)
	}
	d.lost = true
	return d.start(context.Background())
}
