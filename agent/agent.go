package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"deviceagent/agent/monitor"
	"deviceagent/agent/reset"
	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink"
	"deviceagent/executors"
	"deviceagent/executors/socket"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/store"
)

// Agent is the device's process.
type Agent struct {
	o       Options
	store   *store.Store
	manager *taskmanager.Manager
	codec   codec
	rooms   *rooms
	trust   *trust
	refused *refused
	execs   *executors.Registry
	link    *cloudlink.Link // nil without a broker
	monitor *monitor.Room
	started time.Time
	ready   chan struct{}
	begun   func() // no more time is needed for the start

	modeChanged chan struct{} // for the link
	resetAsked  chan struct{} // a factory reset is on the disk
	certEnds    atomic.Pointer[time.Time]
}

// New opens the store and loads what was open. Nothing runs before [Agent.Run], which has to be called then: systemd is asked for time
// until the agent is ready.
func New(ctx context.Context, o Options) (a *Agent, err error) {
	o.defaults()
	begun := extend(o.Notify)
	defer func() {
		if err != nil {
			begun()
		}
	}()
	if err := os.MkdirAll(o.Config.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make state_dir: %w", err)
	}
	if asked, err := reset.Asked(o.Config.StateDir); asked || err != nil {
		return nil, errors.Join(err, errors.New("cannot open the store: a factory reset has to be finished first"))
	}
	st, err := store.Open(ctx, storePath(o.Config), store.Options{MaxPages: int64(o.Config.Limits.StoreQuota) / 4096,
		Device: o.Config.DeviceID, Machine: o.Machine})
	if err != nil {
		return nil, fmt.Errorf("cannot open the store: %w", err)
	}
	a = &Agent{o: o, begun: begun, store: st, started: time.Now(), ready: make(chan struct{}), modeChanged: make(chan struct{}, 1), resetAsked: make(chan struct{}, 1)}
	a.execs = executors.New(executors.Options{Sink: func(ctx context.Context, ev core.Event) error { return a.manager.Send(ctx, ev) },
		Log: a.component("executors"), Urgent: a.urgent})
	a.refused = newRefused(o.Config.StateDir, a.component("cloudlink"))
	a.trust = &trust{path: o.Config.TrustedKeysFile, log: a.component("agent")}
	a.rooms = newRooms(o.Config.StateDir, o.Catalog, a.modeChanged, a.component("agent"))
	a.codec = codec{bridge.New(bridge.Options{Rooms: a.rooms.now, Keys: a.trust.now, Signed: o.Config.RequireSigned, DeviceID: o.Config.DeviceID, Catalog: o.Catalog, AllowJSON: o.Config.AllowJSON,
		Encoding: wire.Encoding(o.Config.Broker.Encoding), Limits: a.limits(), NewID: o.NewID, Experiences: a.experiences()})}
	a.manager, err = taskmanager.New(ctx, taskmanager.Options{
		Store: o.WrapStore(st), Clock: clockOf{o.Clock}, Executors: a.execs, Catalog: o.Catalog, Log: a.component("taskmanager"), Hold: o.Config.Hold, Codec: a.codec,
		OutboxRows: o.Config.Limits.OutboxRows, OutboxBytes: int64(o.Config.Limits.OutboxBytes),
	})
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	a.monitor = monitor.New(monitor.Options{Agent: a.manager, Clock: clockOf{o.Clock}, DeviceID: o.Config.DeviceID, Encoding: wire.Encoding(o.Config.Broker.Encoding),
		Decode: a.codec.Monitor, NewID: o.NewID, Log: a.component("monitor")})
	a.link = a.newLink()
	return a, nil
}

func (a *Agent) experiences() bridge.Experiences {
	return bridge.Experiences{Off: !a.o.Config.Goal.Enabled, Tier: core.Tier(a.o.Config.Goal.Tier)}
}

func (a *Agent) limits() wire.Limits {
	return wire.Limits{MessageBytes: int64(a.o.Config.Limits.PlanBytes), Steps: a.o.Config.Limits.Steps}
}

// urgent operations do not wait behind others at a service: what stops the body.
func (a *Agent) urgent(m catalog.Method) bool { return len(a.o.Catalog.Operations[m].Stops) > 0 }

func (a *Agent) newLink() *cloudlink.Link {
	b := a.o.Config.Broker
	if b.URL == "" && a.o.Dial == nil {
		return nil
	}
	return cloudlink.New(cloudlink.Options{
		DeviceID: a.o.Config.DeviceID, Broker: b.URL, TLS: tlsOf(b, a.component("cloudlink")), Dial: a.o.Dial,
		Credentials: credentials(b.UsernameFile, b.PasswordFile, a.o.Config.DeviceID), Keepalive: time.Duration(b.Keepalive),
		Outbox: uplink{a.manager}, Receiver: downlink{a.manager, a}, Onlooker: onlooker{a.monitor}, StartNo: a.manager.StartNo(), StoreEpoch: a.manager.Epoch(),
		Encoding: wire.Encoding(b.Encoding), AllowJSON: a.o.Config.AllowJSON, Keys: a.trust.now, Signed: a.o.Config.RequireSigned, Log: a.component("cloudlink"), NewID: a.o.NewID, Rand: rand.Float64,
		StatusChanged: a.modeChanged, Pace: a.o.LinkPace,
	})
}

// Ready is closed when the agent takes work: the store is checked, open work is back, the sockets are there.
func (a *Agent) Ready() <-chan struct{} { return a.ready }

// Manager is for those who look on from the same process: tests and the simulator.
func (a *Agent) Manager() *taskmanager.Manager { return a.manager }

// Link is how the way to the cloud stands, for those who look on from the same process. There has to be one.
func (a *Agent) Link() cloudlink.State { return a.link.State() }

// part is one thing that runs for as long as the agent does.
type part struct {
	name string
	run  func(context.Context) error
}

// Run runs the agent until ctx ends or a part fails. Stopping it changes no step's state.
func (a *Agent) Run(ctx context.Context) error {
	defer a.store.Close()
	defer a.begun()
	parts, err := a.parts(ctx)
	if err != nil {
		return err
	}
	running := make([]*running, 0, len(parts))
	failed := make(chan error, len(parts))
	for _, p := range parts {
		running = append(running, start(ctx, p, failed))
		if p.name == "taskmanager" && !a.awaitManager(ctx, failed) {
			break
		}
	}
	if len(running) == len(parts) {
		close(a.ready)
		a.begun()
		a.o.Notify("READY=1\n" + "STATUS=takes work as " + a.o.Config.DeviceID)
		a.o.Log.Info().Str("device_id", a.o.Config.DeviceID).Str("version", Version).Int64("start_no", a.manager.StartNo()).Msg("agent ready")
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
		a.o.Log.Info().AnErr("cause", context.Cause(ctx)).Msg("agent stops") // which signal: who looks for the end finds no error
	}
	if errors.Is(err, errReset) {
		a.o.Log.Warn().Msg("agent ends for the factory reset")
		err = nil
	}
	a.o.Notify("STOPPING=1\nSTATUS=" + ending(err))
	for _, r := range slices.Backward(running) {
		if !r.stop() {
			a.o.Log.Error().Str("part", r.name).Msg("part did not stop in time")
		}
	}
	return err
}

// ending is how a run ends, in one line: `systemctl status` shows it until the next start.
func ending(err error) string {
	if err == nil {
		return "stopped as asked; open plans go on after the next start"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

func (a *Agent) awaitManager(ctx context.Context, failed chan error) bool {
	select {
	case <-a.manager.Ready():
		return true
	case err := <-failed:
		failed <- err
	case <-ctx.Done():
	}
	return false
}

// parts lists what runs, in the order of the start.
func (a *Agent) parts(ctx context.Context) ([]part, error) {
	exec, err := listen(ctx, a.o.Executor, a.o.Config.Executor.Socket)
	if err != nil {
		return nil, err
	}
	server := socket.NewServer(socket.Options{Registry: a.execs, Sink: a.manager.Send, Log: a.component("socket"), Allowed: a.bound, Permit: a.permit,
		MaySpeak:  func(s core.ServiceID, k catalog.ContextKey) bool { return a.o.Catalog.MaySpeak(string(s), k) },
		MayReport: func(s core.ServiceID, e catalog.EventName) bool { return a.o.Catalog.MayReport(string(s), e) }})
	for _, text := range strangers(a.o.Catalog) {
		a.o.Log.Warn().Str("note", text).Msg("a service cannot register")
	}
	parts := []part{
		{"executors", follows(a.execs.Run)},
		{"taskmanager", a.manager.Run},
		{"socket", func(ctx context.Context) error { return server.Serve(ctx, exec) }},
		{"programs", a.runPrograms},
		{"dbus", a.runBus},
	}
	diag, err := a.diagnostics(ctx)
	if err != nil {
		return nil, errors.Join(err, exec.Close())
	}
	parts = append(parts, diag...)
	parts = append(parts, part{"firmware", a.runFirmware})
	if a.link != nil {
		parts = append(parts, part{"modes", a.modes}, part{"monitor", a.monitor.Run}, part{"cloudlink", a.link.Run})
	}
	return append(parts, part{"pruning", a.pruning}, part{"device", a.device}, part{"watchdog", a.watchdog}), nil
}

// bound says whether the catalog binds a method to a service: nobody else may register it.
func (a *Agent) bound(service core.ServiceID, m catalog.Method) bool {
	op, ok := a.o.Catalog.Operations[m]
	return ok && op.Binding.Kind == "socket" && op.Binding.Name == string(service)
}

type running struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{}
}

// follows is a part that cannot go on once the task manager has ended: it waits for its own stop, since the task manager itself says
// why. Else the agent would often end with "task manager stopped", and the full disk or the broken store behind it be told nowhere.
func follows(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := run(ctx)
		if errors.Is(err, taskmanager.ErrStopped) {
			<-ctx.Done()
		}
		return err
	}
}

// errEndedEarly is the failure of a part that ended without an error although it has to run for as long as the agent does: without
// it the agent would go on, said to be ready, and lack that part for ever.
var errEndedEarly = errors.New("ended although nobody stopped it")

// start runs a part in a context of its own, so that parts can be stopped one after the other.
func start(ctx context.Context, p part, failed chan<- error) *running {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{p.name, cancel, make(chan struct{})}
	go func() {
		defer close(r.done)
		err := p.run(own)
		if own.Err() != nil {
			return
		}
		failed <- fmt.Errorf("cannot go on without the part %s: %w", p.name, cmp.Or(err, errEndedEarly))
	}()
	return r
}

func (r *running) stop() bool {
	r.cancel()
	t := time.NewTimer(stopTime)
	defer t.Stop()
	select {
	case <-r.done:
		return true
	case <-t.C:
		return false
	}
}
