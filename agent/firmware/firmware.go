package firmware

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/rs/zerolog"

	"deviceagent/agent/local"
	"deviceagent/taskmanager/core"
)

// The name, the interface and the object.
const (
	Name      = "org.deviceagent.Agent1"
	Interface = Name
	Path      = godbus.ObjectPath("/org/deviceagent/Agent1")
)

// Agent is what programs on the bus look at and speak with. Every method may be called from any goroutine.
type Agent interface {
	local.Receiver
	// Inspect lets f read the state between two batches; f keeps nothing of it.
	Inspect(ctx context.Context, f func(*core.State, core.Now)) error
	// Send hands over an event of the catalog; nobody is told what it was worth.
	Send(ctx context.Context, ev core.Event) error
	// Watch begins to tell what happens; the returned function ends it.
	Watch() (Feed, func())
	// Facts gives what the agent knows outside the state. It does not block.
	Facts() Facts
	// FactoryReset makes the wish durable. Then the body is stopped and the agent ends; its next start wipes.
	FactoryReset(by, why string) error
}

// Feed is a running account. It waits for nobody.
type Feed struct {
	Moves  <-chan core.Move
	Turned <-chan struct{} // receives after the state has changed, also by what is no move
	Missed func() int      // gives and clears the number of moves that were lost
}

// Facts is what the agent knows outside the state.
type Facts struct {
	DeviceID string
	Version  string
	Ready    bool
	Rooms    string // rooms_etag of now; "": that of the catalog
	Link     string // offline, connecting, online, not configured
}

// Options are the parts of a [Service].
type Options struct {
	Address string // "": the system bus
	Agent   Agent
	Read    string  // group that may look: its name or number; "": nobody but those below
	Control string  // group that may look and operate
	Bound   bool    // this is the bus of the services that the catalog binds: they may report what is their matter
	Sources Sources // who else may report what
	Log     zerolog.Logger
	Retry   time.Duration // before a lost bus is tried again, at first; 0: 500 ms. It doubles to 30 s
	Settle  time.Duration // how long after the name was taken no restart is allowed, so that leases can be taken anew; 0: 10 s

	strict bool          // a test: the agent's own user and root need a group like all others
	entry  time.Duration // a test: instead of entryTime
}

// Service serves the interface for as long as it runs.
type Service struct {
	o      Options
	leases *leases
	gate   gate

	refusals zerolog.Logger // whoever is not let in may try as often as the bus lets them
}

// New makes a Service that is not connected.
func New(o Options) *Service {
	o.Retry = cmp.Or(o.Retry, 500*time.Millisecond)
	o.Settle = cmp.Or(o.Settle, 10*time.Second)
	o.entry = cmp.Or(o.entry, entryTime)
	return &Service{o: o, leases: newLeases(), gate: gate{open: map[string]int{}},
		refusals: o.Log.Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Minute})}
}

// maxRetry bounds the pause between two tries. Source: a bus that restarts is back within seconds.
const maxRetry = 30 * time.Second

// Run serves, and keeps the machine awake while the body moves, until ctx ends. It always returns nil: a robot without a bus is a robot.
func (s *Service) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { s.again(ctx, "bus", s.serve) })
	wg.Go(func() { s.again(ctx, "logind", s.awake) })
	wg.Wait()
	return nil
}

// again runs one side of the service for ever, with a growing pause between two lives; a life calls well when it has what it came for.
// What one fails by is logged once, until a life was well: a robot without a bus says so once.
func (s *Service) again(ctx context.Context, what string, life func(ctx context.Context, well func()) error) {
	pause, said := s.o.Retry, ""
	for ctx.Err() == nil {
		err := life(ctx, func() { pause, said = s.o.Retry, "" })
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != said {
			s.o.Log.Warn().Err(err).Str("with", what).Msg("not on the bus, will try again")
			said = text
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause + time.Duration(rand.Int64N(int64(pause/4)+1))):
		}
		pause = min(2*pause, maxRetry)
	}
}

// lookTime bounds a look at the state. Source: the owner answers in milliseconds; a disk that hangs may hold it for seconds.
const lookTime = 5 * time.Second

// look reads the state into something of the caller's own.
func (s *Service) look(ctx context.Context) (snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	var snap snapshot
	err := s.o.Agent.Inspect(ctx, func(st *core.State, now core.Now) { snap = snapshotOf(st, now) })
	snap.rooms = cmp.Or(s.o.Agent.Facts().Rooms, snap.rooms)
	return snap, err
}

var errNameTaken = errors.New("another program owns " + Name)
