package dbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/rs/zerolog"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Interface is our own interface.
const Interface = "org.deviceagent.Executor1"

// Service is one service that is to be reached.
type Service struct {
	ID      core.ServiceID
	Name    string // well-known name on the bus
	Path    godbus.ObjectPath
	Methods []catalog.Method
	Keys    []catalog.ContextKey
	Map     *Mapping // nil: it implements [Interface]
}

// Options are the parts of a [Bus].
type Options struct {
	Address  string // "": the system bus
	Dial     Dial   // instead of Address; nil: Address
	Services []Service
	Registry *executors.Registry
	Sink     executors.Sink
	Rooms    func(core.ServiceID, []catalog.Room) // takes each list of a map service, unchecked, one after the other; nil: nobody does
	Log      zerolog.Logger
	Retry    time.Duration // before a lost bus is tried again, at first; 0: 500 ms. It doubles to 30 s
	Limit    time.Duration // of an open call to a service; 0: 30 s
}

// Bus keeps a connection to a D-Bus, and each service in the registry for as long as it owns its name.
type Bus struct {
	o      Options
	memory map[core.ServiceID]*memory // of mapped services
}

// New makes a Bus that is not connected.
func New(o Options) *Bus {
	o.Retry, o.Limit = cmp.Or(o.Retry, 500*time.Millisecond), cmp.Or(o.Limit, 30*time.Second)
	b := &Bus{o, map[core.ServiceID]*memory{}}
	for _, svc := range o.Services {
		if svc.Map != nil {
			b.memory[svc.ID] = newMemory()
		}
	}
	return b
}

// maxRetry bounds the pause between two tries. Source: a bus that restarts is back within seconds.
const maxRetry = 30 * time.Second

// Run connects again and again until ctx ends. A stop says nothing of the services: it must look like a power cut.
func (b *Bus) Run(ctx context.Context) error {
	pause := b.o.Retry
	for {
		began := time.Now()
		err := b.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(began) > maxRetry {
			pause = b.o.Retry
		}
		b.o.Log.Warn().Err(err).Dur("again_in", pause).Msg("bus lost or not there")
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause + time.Duration(rand.Int64N(int64(pause/4)+1))):
		}
		pause = min(2*pause, maxRetry)
	}
}

// Why a session ended that the bus did not break.
var (
	errGap   = errors.New("signals came faster than they are read")
	errStuck = errors.New("calls do not return")
)

// session is one life of the two connections: one for calls, one for signals, so that a flood of signals delays no answer.
type session struct {
	*Bus
	calls   *godbus.Conn
	signals *inbox
	id      string // names this life of the bus for instances
	end     context.CancelCauseFunc
	there   map[core.ServiceID]string // service → owner
	hard    atomic.Int64              // calls that timed out hard, in a row

	life    context.Context
	mapped  map[core.ServiceID]*mapped // those of there that are mapped
	looked  chan *mapped               // those that offer something else than before
	wg      sync.WaitGroup
	gate    sync.Mutex
	closing bool // nothing is spawned any more
}

// spawn runs f beside the session, which waits for it at its end; false where that has come.
func (s *session) spawn(f func()) bool {
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.closing {
		s.wg.Go(f)
	}
	return !s.closing
}

// quiet waits for all that runs beside the session. The connections are closed: nothing waits for an answer any more.
func (s *session) quiet() {
	s.gate.Lock()
	s.closing = true
	s.gate.Unlock()
	s.wg.Wait()
}

func (b *Bus) session(ctx context.Context) error {
	life, end := context.WithCancelCause(ctx)
	s := &session{Bus: b, end: end, there: map[core.ServiceID]string{}, signals: newInbox(end), life: life,
		mapped: map[core.ServiceID]*mapped{}, looked: make(chan *mapped)}
	defer s.quiet()
	defer end(nil)
	sig, err := b.connect(life, s.signals)
	if err != nil {
		return err
	}
	defer sig.Close()
	if s.calls, err = b.connect(life, nil); err != nil {
		return err
	}
	defer s.calls.Close()
	err = s.serve(life, sig)
	if ctx.Err() == nil {
		for id, owner := range s.there {
			b.o.Registry.Remove(id, s.instance(owner), reasonLost)
		}
	}
	return err
}

// connect dials privately. The context is the life of the connection; what is bounded is the handshake.
func (b *Bus) connect(life context.Context, h godbus.SignalHandler) (*godbus.Conn, error) {
	opts := []godbus.ConnOption{godbus.WithContext(life)}
	if h != nil {
		opts = append(opts, godbus.WithSignalHandler(h))
	}
	return Connect(life, b.o.Address, b.o.Dial, opts...)
}

const (
	busName      = "org.freedesktop.DBus"
	ownerChanged = busName + ".NameOwnerChanged"
)

// serve watches the names and takes signals. The match is answered by the bus before the present owner is asked for, so that whoever
// appears in between is seen twice rather than never.
func (s *session) serve(ctx context.Context, sig *godbus.Conn) error {
	if err := sig.BusObject().CallWithContext(ctx, busName+".GetId", 0).Store(&s.id); err != nil {
		return fmt.Errorf("cannot ask the bus for its id: %w", err)
	}
	for _, svc := range s.o.Services {
		if err := s.watch(ctx, sig, svc); err != nil {
			return fmt.Errorf("cannot watch %s: %w", svc.Name, err)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-sig.Context().Done():
			return errors.New("the bus has closed the connection")
		case <-s.calls.Context().Done():
			return errors.New("the bus has closed the connection for calls")
		case o := <-s.looked:
			s.offered(o)
		case m := <-s.signals.ch:
			if err := s.take(ctx, m); err != nil {
				return err
			}
		}
	}
}

// watchTime bounds the questions to the bus itself.
const watchTime = 10 * time.Second

func (s *session) watch(ctx context.Context, sig *godbus.Conn, svc Service) error {
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	if err := sig.AddMatchSignalContext(ctx, godbus.WithMatchSender(busName), godbus.WithMatchInterface(busName),
		godbus.WithMatchMember("NameOwnerChanged"), godbus.WithMatchArg(0, svc.Name)); err != nil {
		return err
	}
	for _, match := range svc.matches() {
		if err := sig.AddMatchSignalContext(ctx, append(match, godbus.WithMatchSender(svc.Name))...); err != nil {
			return err
		}
	}
	var owner string
	err := sig.BusObject().CallWithContext(ctx, busName+".GetNameOwner", 0, svc.Name).Store(&owner)
	var no godbus.Error
	if errors.As(err, &no) && no.Name == busName+".Error.NameHasNoOwner" {
		return nil
	}
	if err == nil {
		s.owned(svc, owner)
	}
	return err
}

// owned notes who owns a service's name now; "" for nobody.
func (s *session) owned(svc Service, owner string) {
	if was := s.there[svc.ID]; was == owner {
		return
	} else if was != "" {
		s.o.Registry.Remove(svc.ID, s.instance(was), reasonGone)
		delete(s.there, svc.ID)
		delete(s.mapped, svc.ID)
	}
	if owner == "" {
		return
	}
	s.there[svc.ID] = owner
	if svc.Map != nil {
		s.came(svc, owner)
		return
	}
	s.o.Registry.Add(svc.ID, s.instance(owner), svc.Methods, svc.Keys, executors.Waiting{Beginner: newBinding(s, svc, owner)})
	if len(svc.Keys) > 0 { // what it has said before is lost, and it need not say it again
		s.o.Registry.Carry(core.Read{Keys: svc.Keys})
	}
}

// instance names an owner for ever: unique names begin anew with each life of the bus.
func (s *session) instance(owner string) string { return s.id + owner }

// The reasons of an ExecutorDown.
const (
	reasonGone core.Reason = "name_lost"
	reasonLost core.Reason = "connection_lost"
)
