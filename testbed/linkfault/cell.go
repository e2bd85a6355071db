package linkfault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/rules"
	planstore "deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/packaging/mosquitto"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/authority"
	broker "deviceagent/testbed/mosquitto"
	"deviceagent/testbed/netfault"
)

// cell is one broker, one planner and some robots. Several cells share a machine and nothing else.
type cell struct {
	dir       string
	pace      int
	cat       *catalog.Catalog
	words     catalogfile.Planner
	broker    *broker.Broker
	secure    string          // its listener with certificates
	line      *netfault.Proxy // of the planner
	authority *authority.Authority
	robots    []*robotOf

	mu      sync.Mutex // of the planner's life
	addr    string     // of its HTTP
	stop    context.CancelFunc
	ended   chan error
	life    *life
	store   *planstore.Store
	witness *witness
	skills  *skills
}

// loadCatalog is the default catalog in which plans may let the robot speak.
func loadCatalog() (*catalog.Catalog, catalogfile.Planner, error) {
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		return nil, words, err
	}
	op := cat.Operations[speak]
	op.Visibility = ""
	cat.Operations[speak] = op
	return cat, words, nil
}

// speak is the operation whose text tells each step of each plan apart in the robot's log.
const speak catalog.Method = "setLlmTts"

// newCell starts broker and planner.
func newCell(dir string, pace int) (c *cell, err error) {
	c = &cell{dir: dir, pace: pace}
	if c.cat, c.words, err = loadCatalog(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "deviceagent.acl"), append(slices.Clone(mosquitto.AccessList), witnessMay...), 0o644); err != nil {
		return nil, err
	}
	if err := c.certify(); err != nil {
		return nil, err
	}
	if c.secure, err = broker.Free(); err != nil {
		return nil, err
	}
	_, secure, _ := net.SplitHostPort(c.secure)
	// The access list is the shipped one. Most robots come to a plain listener, since lies of a broker need packets that can be read: there names
	// are believed. The others come to one with certificates, as shipped: what is garbled on the way has to be found out.
	c.broker, err = broker.Start(dir, func(port string) string {
		return "listener " + port + " 127.0.0.1\nallow_anonymous true\nacl_file " + dir + "/deviceagent.acl\nmax_packet_size 300000\nmax_queued_messages 1000\n" +
			"persistence true\nautosave_interval 1\npersistence_location " + dir + "/\nuser root\nlog_type none\n" +
			"listener " + secure + " 127.0.0.1\ncafile " + dir + "/ca.pem\ncertfile " + dir + "/broker.pem\nkeyfile " + dir + "/broker.key\nrequire_certificate true\nuse_identity_as_username true\n"
	})
	if err != nil {
		return nil, err
	}
	if c.line, err = netfault.Start(c.broker.Addr, netfault.Options{}); err != nil {
		return nil, err
	}
	c.witness = newWitness(c.broker.Addr)
	c.skills = newSkills(c.broker.Addr, c.cloudPath())
	return c, c.startPlanner()
}

func (c *cell) cloudPath() string { return filepath.Join(c.dir, "planner.db") }

// certify makes the authority of the cell and the broker's certificate.
func (c *cell) certify() (err error) {
	if c.authority, err = authority.New("campaign"); err != nil {
		return err
	}
	cert, key, err := c.authority.Broker()
	return errors.Join(err, os.WriteFile(filepath.Join(c.dir, "ca.pem"), c.authority.PEM, 0o644),
		os.WriteFile(filepath.Join(c.dir, "broker.pem"), cert, 0o644), os.WriteFile(filepath.Join(c.dir, "broker.key"), key, 0o600))
}

func (c *cell) startPlanner() error {
	st, err := planstore.Open(context.Background(), c.cloudPath())
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, st.Close())
	}
	born := &life{}
	ticks := time.NewTicker(time.Second / time.Duration(c.pace))
	server, err := planner.New(planner.Options{
		Planner: rules.New(c.cat, c.words), Check: c.check, Store: cloudStore{st, born}, HTTP: ln, Log: zerolog.Nop(), Username: "planner", Pace: c.pace, Ticks: ticks.C,
		Compile: func(in turn.Input, d turn.Decision, ids planner.IDs) (*wire.Plan, error) {
			p, err := compile.Plan(c.cat, in, d, compile.IDs(ids))
			return &p, err
		},
		Dial: func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", c.line.Addr())
		},
	})
	if err != nil {
		return errors.Join(err, st.Close())
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { defer ticks.Stop(); ended <- server.Run(ctx) }()
	select {
	case <-server.Ready():
	case err := <-ended:
		stop()
		return errors.Join(fmt.Errorf("planner ended: %w", err), st.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addr, c.life, c.stop, c.ended, c.store = ln.Addr().String(), born, stop, ended, st
	return nil
}

func (c *cell) check(p wire.Plan, _ []wire.Room) (out []wire.Fault) {
	_, faults := bridge.CheckPlan(c.cat, &p)
	for _, f := range faults {
		out = append(out, wire.Fault{Path: f.Path, ReasonCode: string(f.Reason), Message: f.Message})
	}
	return out
}

func (c *cell) endPlanner() error {
	c.mu.Lock()
	stop, ended, st := c.stop, c.ended, c.store
	c.addr = ""
	c.mu.Unlock()
	stop()
	return errors.Join(<-ended, st.Close())
}

// killPlanner ends the planner as kill -9 would, and starts it over its store.
func (c *cell) killPlanner() error {
	c.mu.Lock()
	c.life.over.Store(true)
	c.mu.Unlock()
	c.line.Strike(netfault.Cut, 1)
	_ = c.endPlanner() // it may say that its store is gone
	return c.startPlanner()
}

// restartBroker kills the broker; it keeps what it had written, or nothing.
func (c *cell) restartBroker(forget bool) error {
	c.broker.Kill()
	if forget {
		_ = os.Remove(filepath.Join(c.dir, "mosquitto.db"))
	}
	return c.broker.Again()
}

// errAway: the planner does not answer at the moment.
var errAway = errors.New("planner away")

// call asks the planner.
func (c *cell) call(method, path string, body []byte, into any) (status int, err error) {
	c.mu.Lock()
	addr := c.addr
	c.mu.Unlock()
	if addr == "" {
		return 0, errAway
	}
	req, err := http.NewRequest(method, "http://"+addr+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, errAway
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, errAway
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, strings.TrimSpace(string(data)))
	}
	if into == nil {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, json.Unmarshal(data, into)
}

var client = &http.Client{Timeout: 20 * time.Second}

// close ends everything of the cell.
func (c *cell) close() error {
	var errs []error
	for _, r := range c.robots {
		errs = append(errs, r.close())
	}
	errs = append(errs, c.skills.close(), c.endPlanner())
	c.witness.close()
	c.line.Close()
	c.broker.Kill()
	return errors.Join(errs...)
}
