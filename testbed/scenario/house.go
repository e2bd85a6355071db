package scenario

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/broker"
	"deviceagent/testbed/bus"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

// house is everything that takes part in one scenario.
type house struct {
	cat      *catalog.Catalog
	form     Form
	keys     wire.Keys // of what the cloud signs
	start    time.Time // of the scenario: the house is quiet
	born     time.Time // of the robot
	broker   *broker.Broker
	witness  *broker.Recorder
	cloud    *cloud
	outside  *outside
	device   *device
	way      Way
	ferry    *bus.Ferry // to the bus where the robot's services are; nil: it is on the socket
	cut      *cutter    // of the device
	robot    *robot.Robot
	log      *robotLog
	gone     chan error // the robot's end
	stopBody context.CancelFunc
	ids      ids
	mark     int             // entries of the robot's log at the last stimulus
	done     []time.Duration // when each stimulus was given, on the robot's clock

	answers answers // of the planner to the device's questions

	facts []Fact // what was answered to what was said and handed in
	named []core.WorkflowID
	said  []Said
}

// begin is when scenarios begin: late enough for every floor that a clock has.
var begin = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// open builds the house. It must be called inside a bubble; close is due whatever it returns.
func (h *house) open(s *Scenario, dir string, plans planner.Planner, narrate io.Writer, log zerolog.Logger) (err error) {
	time.Sleep(time.Until(begin))
	h.broker, h.log, h.gone = broker.New(), &robotLog{news: make(chan struct{}, 1)}, make(chan error, 1)
	h.witness = h.broker.Subscribe("deviceagent/v1/#")
	side := func(name string) zerolog.Logger { return log.With().Str("side", name).Logger() }
	key, trusted, err := h.signing(dir)
	if err != nil {
		return err
	}
	services, own, err := openOutside(s.Outside)
	if h.outside = services; err != nil {
		return err
	}
	if h.cloud, err = startCloud(dir, h.cat, plans, h.broker.Dial, h.ids.next, h.answers.decide, own, h.form, key, side("cloud")); err != nil {
		return err
	}
	h.device = &device{cut: h.cut, ferry: h.ferry, dir: dir, cat: h.cat, json: s.JSON, tier: s.Tier, noGoals: s.Off, form: h.form, trusted: trusted, broker: h.broker.Dial, newID: h.ids.next, log: side("device")}
	if err = h.device.start(context.Background()); err != nil {
		return err
	}
	if err = h.startRobot(s, narrate); err != nil {
		return err
	}
	time.Sleep(time.Minute) // the hello is over, the context was read
	h.rest()
	h.start = time.Now()
	return nil
}

// signing makes the key by which the cloud signs, always the same, and the file of keys that the device trusts.
func (h *house) signing(dir string) (key ed25519.PrivateKey, trusted string, err error) {
	if !h.form.Signed {
		return nil, "", nil
	}
	key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public := key.Public().(ed25519.PublicKey)
	h.keys = wire.NewKeys(public)
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, "", err
	}
	trusted = filepath.Join(dir, "trusted.pem")
	return key, trusted, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o644)
}

func (h *house) startRobot(s *Scenario, narrate io.Writer) (err error) {
	h.born = time.Now()
	opt := robot.Options{Dial: h.device.dial, Instance: "home-1", Out: narrate, Lost: func(error, time.Duration) {},
		Home: home.Options{Start: s.Start, Faults: s.Home, Log: h.log.add}}
	if h.ferry != nil {
		opt.BusDial, opt.Vendor = h.ferry.Dial, h.way == Vendor
	}
	if h.robot, err = robot.New(opt); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	h.stopBody = stop
	go func() { h.gone <- h.robot.Run(ctx) }()
	for _, command := range s.Given {
		if strings.HasPrefix(command, "consent ") {
			h.rest() // it is a person's word, told once: the agent has to be there to hear it
		}
		if err := h.robot.Command(command); err != nil {
			return err
		}
	}
	return nil
}

// rest waits until nobody has anything to do before time passes.
func (h *house) rest() { synctest.Wait() }

// close ends everything that was started, and waits for it.
func (h *house) close() (err error) {
	if h.stopBody != nil {
		h.stopBody()
		err = <-h.gone
	}
	if h.device != nil {
		err = errors.Join(err, h.device.cut.awaitBack(), h.device.close())
	}
	if h.cloud != nil {
		err = errors.Join(err, h.cloud.close())
	}
	h.outside.close()
	h.broker.Close()
	return err
}

func (h *house) note(kind, format string, args ...any) {
	h.facts = append(h.facts, Fact{kind, plain(fmt.Sprintf(format, args...))})
}

// settle lets time pass until all work has ended and the body is at rest, and then the tail.
func (h *house) settle(tail time.Duration) error {
	limit := time.Now().Add(patience)
	for {
		time.Sleep(time.Second)
		h.rest()
		open, err := h.unfinished()
		if err != nil {
			return err
		}
		if open == 0 && !moving(h.log.all()) {
			break
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%d workflows are still open after %v", open, patience)
		}
	}
	time.Sleep(tail)
	h.rest()
	return nil
}

// unfinished counts the open workflows.
func (h *house) unfinished() (n int, err error) {
	err = h.inspect(func(s *core.State) { n = len(s.Open()) })
	return n, err
}

// look notes where each open step stands now, and the goal that the plan is for.
func (h *house) look(string) error {
	return h.inspect(func(s *core.State) {
		for _, id := range s.Open() {
			h.name(string(id))
			if g := s.Workflows[id].GoalStatus(); g != "" {
				h.note("looked", "w%d goal %s", slices.Index(h.named, id)+1, g)
			}
			for _, st := range s.Workflows[id].Steps {
				h.note("looked", "w%d.%s %s %s", slices.Index(h.named, id)+1, st.ID, st.State, st.Reason)
			}
		}
	})
}

func (h *house) inspect(f func(*core.State)) error {
	if err := h.device.cut.awaitBack(); err != nil {
		return err
	}
	if h.device.agent == nil {
		return errors.New("the agent does not run")
	}
	return h.device.agent.Manager().Inspect(context.Background(), func(s *core.State, _ core.Now) { f(s) })
}

// moving says whether wheels or fan are on.
func moving(log []home.Entry) bool {
	on := map[home.Kind]int{}
	for _, e := range log {
		on[e.Kind]++
	}
	return on[home.KindMotionStart] > on[home.KindMotionEnd] || on[home.KindCleaningStart] > on[home.KindCleaningEnd]
}

// tempDir is where one scenario keeps its stores.
func tempDir() (string, func(), error) {
	dir, err := os.MkdirTemp("", "scenario-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
