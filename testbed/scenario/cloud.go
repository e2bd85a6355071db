package scenario

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"

	"github.com/rs/zerolog"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/compile"
	planstore "deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// cloud is the real planner endpoint, with its HTTP over connections in memory.
type cloud struct {
	store *planstore.Store
	http  *http.Client
	stop  context.CancelFunc
	ended chan error
}

// startCloud runs the endpoint as the program plannerd joins it.
func startCloud(dir string, cat *catalog.Catalog, plans planner.Planner, dial func(context.Context) (net.Conn, error), newID func() string,
	decide func(planner.Asked) (wire.Decision, bool), own *agents.Agents, form Form, key ed25519.PrivateKey, log zerolog.Logger) (*cloud, error) {
	st, err := planstore.Open(context.Background(), filepath.Join(dir, "planner.db"))
	if err != nil {
		return nil, err
	}
	front := newDoor()
	opt := planner.Options{
		Planner: plans, Compile: compiler(cat), Check: checker(cat),
		Dial: dial, Store: st, HTTP: front, NewID: newID, Decide: decide, Log: log,
		AllowJSON: form.JSON, Encoding: form.encoding(), Signing: key,
	}
	if own != nil {
		opt.Agents = own
	}
	server, err := planner.New(opt)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	c := &cloud{store: st, ended: make(chan error, 1), http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return front.dial(ctx) }}}}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() { c.ended <- server.Run(ctx) }()
	select {
	case <-server.Ready():
		return c, nil
	case err := <-c.ended:
		stop()
		return nil, errors.Join(fmt.Errorf("planner ended: %w", err), st.Close())
	}
}

func (c *cloud) close() error {
	c.stop()
	return errors.Join(<-c.ended, c.store.Close())
}

// compiler and checker are those of the program plannerd.
func compiler(cat *catalog.Catalog) func(turn.Input, turn.Decision, planner.IDs) (*wire.Plan, error) {
	return func(in turn.Input, d turn.Decision, ids planner.IDs) (*wire.Plan, error) {
		plan, err := compile.Plan(cat, in, d, compile.IDs(ids))
		if err != nil {
			return nil, err
		}
		return &plan, nil
	}
}

func checker(cat *catalog.Catalog) func(wire.Plan, []wire.Room) []wire.Fault {
	return func(plan wire.Plan, _ []wire.Room) []wire.Fault {
		_, faults := bridge.CheckPlan(cat, &plan) // the device's rooms are those of the catalog
		var out []wire.Fault
		for _, f := range faults {
			out = append(out, wire.Fault{Path: f.Path, ReasonCode: string(f.Reason), Message: f.Message})
		}
		return out
	}
}

// problem is what the endpoint says when it refuses.
type problem struct {
	Code   string       `json:"code"`
	Faults []wire.Fault `json:"faults"`
}

// call asks the endpoint. A refusal comes back as a problem.
func (c *cloud) call(method, path string, body []byte, into any) (*problem, error) {
	req, err := http.NewRequest(method, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		p := &problem{}
		return p, json.Unmarshal(data, p)
	}
	return nil, json.Unmarshal(data, into)
}
