package planner

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds a wait for something that must happen. It is no pause: what happens is waited for as an event.
const patience = time.Minute

// rig is a planner with a broker, a clock that the test moves, and a store file that outlives the server.
type rig struct {
	t      *testing.T
	mqtt   *broker.Server
	broker string
	path   string
	clock  *clock
	ticks  chan time.Time
	wrap   func(Store) Store
	token  Secret
	tls    TLSFiles
	via    *http.Transport // how the rig itself asks
	log    zerolog.Logger
	check  func(wire.Plan, []wire.Room) []wire.Fault
	agents Agents
	ask    func(context.Context, Asked) (wire.Decision, bool) // Consult, with DecideWhereClear before it
	plans  Planner                                            // nil: canned
	build  func(turn.Input, turn.Decision, IDs) (*wire.Plan, error)

	url    string
	cancel context.CancelFunc
	ended  chan error
	store  *store.Store
	server *Server
}

type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.UnixMilli(c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(d.Milliseconds()) }

// allowAll lets everybody in: the broker is the test's.
type allowAll struct{ broker.HookBase }

func (*allowAll) Provides(b byte) bool {
	return b == broker.OnConnectAuthenticate || b == broker.OnACLCheck
}

func (*allowAll) OnConnectAuthenticate(*broker.Client, packets.Packet) bool { return true }

func (*allowAll) OnACLCheck(*broker.Client, string, bool) bool { return true }

func startBroker(t *testing.T) (*broker.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := broker.New(&broker.Options{Logger: slog.New(slog.DiscardHandler)})
	if err := b.AddHook(new(allowAll), nil); err != nil {
		t.Fatal(err)
	}
	if err := b.AddListener(listeners.NewNet("test", l)); err != nil {
		t.Fatal(err)
	}
	if err := b.Serve(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b, l.Addr().String()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	b, addr := startBroker(t)
	r := &rig{t: t, mqtt: b, broker: addr, path: filepath.Join(t.TempDir(), "planner.db"), clock: &clock{}, ticks: make(chan time.Time), log: zerolog.Nop(), via: http.DefaultTransport.(*http.Transport)}
	r.clock.at.Store(time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).UnixMilli())
	t.Cleanup(func() {
		if r.ended == nil {
			return
		}
		if err := r.stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return r
}

// start runs a server on the rig's file.
func (r *rig) start() {
	r.t.Helper()
	st, err := store.Open(context.Background(), r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.store = st
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	opt := Options{Planner: canned{}, Compile: compileCanned, Check: r.check, Store: st, HTTP: l, Token: r.token, TLS: r.tls, Log: r.log,
		Now: r.clock.now, Ticks: r.ticks, AllowJSON: true,
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", r.broker)
		}}
	if r.plans != nil {
		opt.Planner = r.plans
	}
	if r.build != nil {
		opt.Compile = r.build
	}
	if r.ask != nil {
		opt.Decide, opt.Consult = DecideWhereClear, r.ask
	}
	opt.Agents = r.agents
	if r.wrap != nil {
		opt.Store = r.wrap(st)
	}
	s, err := New(opt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.server = s
	r.url = "http://" + l.Addr().String()
	if r.tls.on() {
		r.url = "https://" + l.Addr().String()
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.ended = cancel, make(chan error, 1)
	go func() { r.ended <- s.Run(ctx) }()
	r.ready()
}

// cutBroker lets the broker drop the server's connection.
func (r *rig) cutBroker() {
	for id, c := range r.mqtt.Clients.GetAll() {
		if strings.HasPrefix(id, "plannerd-") {
			c.Stop(errors.New("cut by the test"))
		}
	}
}

// stop ends the server and gives what Run returned.
func (r *rig) stop() error {
	r.cancel()
	return r.waitEnd()
}

// waitEnd waits for a server that ends by itself.
func (r *rig) waitEnd() error {
	defer r.cancel()
	select {
	case err := <-r.ended:
		r.ended = nil
		return errors.Join(err, r.store.Close())
	case <-time.After(patience):
		r.t.Fatal("the server does not end")
	}
	return nil
}

// ready waits until the server has subscribed, by its stream of changes.
func (r *rig) ready() {
	r.t.Helper()
	req := r.request("GET", "/v1/stream", "")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := r.via.RoundTrip(req.WithContext(ctx))
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for r.get("/readyz")["ready"] != true {
		if !lines.Scan() {
			r.t.Fatalf("not ready: %v", lines.Err())
		}
	}
	r.via.CloseIdleConnections()
}

// tick makes the server look at its clock. The next tick is taken only when this one is done.
func (r *rig) tick() {
	r.t.Helper()
	for range 2 {
		select {
		case r.ticks <- r.clock.now():
		case <-time.After(patience):
			r.t.Fatal("the server takes no ticks")
		}
	}
}

func (r *rig) request(method, path, body string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if method == "POST" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+string(r.token))
	}
	return req
}

type object = map[string]any

func (r *rig) send(req *http.Request) (int, object) {
	r.t.Helper()
	req.Close = true
	resp, err := r.via.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	var v object
	if err := json.Unmarshal(data, &v); err != nil {
		r.t.Fatalf("%s %s answered %d with %q: %v", req.Method, req.URL.Path, resp.StatusCode, data, err)
	}
	return resp.StatusCode, v
}

func (r *rig) call(method, path, body string) (int, object) {
	r.t.Helper()
	return r.send(r.request(method, path, body))
}

func (r *rig) get(path string) object {
	r.t.Helper()
	_, v := r.call("GET", path, "")
	return v
}

// must calls and wants a status.
func (r *rig) must(status int, method, path, body string) object {
	r.t.Helper()
	got, v := r.call(method, path, body)
	if got != status {
		r.t.Fatalf("%s %s answered %d, want %d: %v", method, path, got, status, v)
	}
	return v
}

// canned is the planner's double: it moves for "go", asks for "where", and talks about all else.
type canned struct{}

func (canned) Plan(_ context.Context, in turn.Input) (turn.Decision, error) {
	d := turn.Decision{TurnMode: "singleton", OwnerSelection: turn.DEF, TTSResponse: "hello", ModelCalls: 0}
	switch {
	case strings.HasPrefix(in.Text, "go"):
		if in.Text == "go now" {
			d.Control = &wire.Control{Verb: "cancel", Scope: "all", RequestedBy: "user"}
		}
		d.OwnerSelection, d.TTSResponse, d.ModelCalls = turn.ODL, "on my way", 1
		d.Steps = []turn.Step{{ID: "s1", Route: turn.ODL, ExecutionTarget: "device", TaskMethod: "setMoveTo",
			Params: wire.Object{"position": {V: "거실"}}}}
	case in.Text == "weather":
		d.OwnerSelection, d.Steps = turn.FRG, []turn.Step{{ID: "s1", Route: turn.FRG, ExecutionTarget: "cloud", Skill: "fresh_information_brief", Params: wire.Object{"topic": {V: "weather"}}}}
	case in.Text == "stop all":
		d.OwnerSelection, d.Control = turn.ODL, &wire.Control{Verb: "cancel", Scope: "all", RequestedBy: "user", Reason: in.Text}
	case in.Text == "where":
		d.OwnerSelection, d.AskFollowUp, d.MissingSlots = turn.ODL, true, []string{"position"}
		d.Steps = []turn.Step{{ID: "s1", Route: turn.ODL, ExecutionTarget: "device", TaskMethod: "setMoveTo"}}
	case in.Text == "fail":
		return d, errors.New("cannot plan: no idea")
	}
	return d, nil
}

func compileCanned(in turn.Input, d turn.Decision, ids IDs) (*wire.Plan, error) {
	p := &wire.Plan{Workflow: wire.Workflow{CloudWorkflowID: ids.WorkflowID, PlanID: ids.PlanID,
		Origin: &wire.Origin{TurnID: in.TurnID, Utterance: in.Text, Locale: in.Locale}}}
	for _, st := range d.Steps {
		p.Requests = append(p.Requests, wire.Request{CloudStepID: st.ID, TaskMethod: st.TaskMethod, Params: st.Params})
	}
	return p, nil
}

func rawPlan(workflow string, revision int) string {
	return fmt.Sprintf(`{"workflow":{"cloud_workflow_id":%q,"plan_id":"pl_%s","revision":%d},
		"device_task_requests":[{"cloud_step_id":"s1","taskMethod":"setMoveTo","params":{"position":"거실"}}]}`, workflow, workflow, revision)
}

// turn says something and gives the answer.
func (r *rig) turn(device, text string) object {
	r.t.Helper()
	body, err := json.Marshal(object{"device_id": device, "recognized_text": text})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.must(http.StatusOK, "POST", "/v1/turns", string(body))
}

func (r *rig) workflow(id string) object {
	r.t.Helper()
	return r.must(http.StatusOK, "GET", "/v1/workflows/"+id, "")
}

// want compares a path of an answer ("uplink.messages") with its JSON form.
func want(t *testing.T, v object, path string, wanted any) {
	t.Helper()
	var at any = v
	for name := range strings.SplitSeq(path, ".") {
		m, ok := at.(object)
		if !ok {
			t.Fatalf("%s: no object in %v", path, v)
		}
		at = m[name]
	}
	got, _ := json.Marshal(at)
	exp, _ := json.Marshal(wanted)
	if !bytes.Equal(got, exp) {
		t.Errorf("%s is %s, want %s", path, got, exp)
	}
}
