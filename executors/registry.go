package executors

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Options are the parts and limits of a [Registry]. The zero value of a limit means its default.
type Options struct {
	Sink      Sink
	Log       zerolog.Logger
	HardLimit time.Duration // of an open call, and of the wait for its turn; default 30 s. The ack deadline is a timer of the core
	MaxCalls  int           // open calls to one service, for tasks, questions and stops each; default 8
	MaxQueue  int           // calls that wait for their turn at one service, for each of the three; default 1024
	// Urgent names the methods that stop something. They do not wait behind other tasks. nil: none.
	Urgent func(catalog.Method) bool
}

// Registry knows which services are there and carries the core's outputs to them. All methods may be called from any goroutine.
type Registry struct {
	opt    Options
	life   context.Context // of everything the registry runs; ended by Close
	end    context.CancelFunc
	pump   *pump
	wg     sync.WaitGroup
	mu     sync.Mutex // guards all below; held while a call is begun, which keeps the order of calls
	closed bool
	byID   map[core.ServiceID]*service
}

// New makes a registry without services. [Registry.Run] has to run for it to answer.
func New(opt Options) *Registry {
	opt.HardLimit = cmp.Or(opt.HardLimit, 30*time.Second)
	opt.MaxCalls = cmp.Or(opt.MaxCalls, 8)
	opt.MaxQueue = cmp.Or(opt.MaxQueue, 1024)
	if opt.Urgent == nil {
		opt.Urgent = func(catalog.Method) bool { return false }
	}
	life, end := context.WithCancel(context.Background())
	return &Registry{opt: opt, life: life, end: end, pump: newPump(), byID: map[core.ServiceID]*service{}}
}

// Run delivers the registry's own answers until ctx ends or [Registry.Close] is called, and returns the cause.
func (r *Registry) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, r.end)
	defer stop()
	if err := r.pump.run(r.life, r.opt.Sink); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// Close ends all calls without a word to the core: a stop of the agent changes no task's state. It returns when no goroutine of
// the registry but Run is left. Bindings are not closed, their owners do that.
func (r *Registry) Close() {
	r.end()
	r.mu.Lock()
	r.closed = true
	for _, s := range r.byID {
		for c := range s.calls {
			c.leave()
		}
	}
	clear(r.byID)
	r.mu.Unlock()
	r.wg.Wait()
}

// Add takes a service in and tells the core. A service of that name which is still there is removed first. It returns when the
// sink has the event, so that whatever the service says afterwards comes after it. It reports false after Close.
func (r *Registry) Add(id core.ServiceID, instance string, methods []catalog.Method, keys []catalog.ContextKey, b Binding) bool {
	begin, ok := b.(Beginner)
	if !ok {
		begin = sideBySide{b: b, life: r.life, limit: r.opt.HardLimit, wg: &r.wg}
	}
	_, tells := b.(Teller)
	s := &service{id: id, instance: instance, methods: slices.Clone(methods), keys: slices.Clone(keys), tells: tells, begin: begin,
		since: time.Now(), calls: map[*call]struct{}{}}
	if !r.insert(s) {
		return false
	}
	r.opt.Log.Info().Str("service", string(id)).Str("instance", instance).Int("methods", len(methods)).Msg("executor is there")
	r.deliver(core.ExecutorUp{Service: id, Instance: instance, Methods: s.methods, Keys: s.keys})
	return true
}

// insert puts s into the registry, and whoever has its name out of it; false after Close.
func (r *Registry) insert(s *service) bool {
	for {
		r.mu.Lock()
		old := r.byID[s.id]
		if r.closed {
			r.mu.Unlock()
			return false
		}
		if old == nil {
			r.byID[s.id] = s
			r.mu.Unlock()
			return true
		}
		r.mu.Unlock()
		r.Remove(s.id, old.instance, reasonReplaced) // says so to the core, which may wait: not under the lock
	}
}

// Remove takes a service out if this instance of it is there: calls that were sent end unknown, those that wait were not sent,
// then the core hears that the service is down. It returns when the sink has the events.
func (r *Registry) Remove(id core.ServiceID, instance string, reason core.Reason) {
	r.mu.Lock()
	s := r.byID[id]
	if s == nil || s.instance != instance {
		r.mu.Unlock()
		return
	}
	delete(r.byID, id)
	var answers []core.Event
	for _, c := range s.inOrder() {
		answers = append(answers, noAnswer(c.out, c.begun, reasonUnavailable, s.id, s.instance))
		c.leave()
	}
	r.mu.Unlock()
	r.opt.Log.Warn().Str("service", string(id)).Str("instance", instance).Str("reason", string(reason)).
		Int("open_calls", len(answers)).Msg("executor is gone")
	for _, ev := range answers {
		r.deliver(ev)
	}
	r.deliver(core.ExecutorDown{Service: id, Reason: reason})
}

// deliver hands an event over in the caller's turn. After the end nothing is said any more.
func (r *Registry) deliver(ev core.Event) {
	if ev == nil || r.life.Err() != nil {
		return
	}
	if err := r.opt.Sink(r.life, ev); err != nil && r.life.Err() == nil {
		r.opt.Log.Error().Err(err).Str("event", string(core.KindOf(ev))).Msg("event lost")
	}
}

// ServiceInfo is what diagnostics show of one service.
type ServiceInfo struct {
	Service   core.ServiceID       `json:"service"`
	Instance  string               `json:"instance"`
	Methods   []catalog.Method     `json:"methods"`
	Keys      []catalog.ContextKey `json:"keys,omitempty"`
	Since     time.Time            `json:"since"`                // wall clock
	Open      int                  `json:"open_calls"`           // sent, not answered
	Waiting   int                  `json:"waiting_calls"`        // not sent yet
	LastError string               `json:"last_error,omitempty"` // of a call, since it is there
}

// Services is a snapshot of the services that are there, by name.
func (r *Registry) Services() []ServiceInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	infos := make([]ServiceInfo, 0, len(r.byID))
	for _, id := range slices.Sorted(maps.Keys(r.byID)) {
		s := r.byID[id]
		info := ServiceInfo{Service: s.id, Instance: s.instance, Methods: slices.Clone(s.methods), Keys: slices.Clone(s.keys),
			Since: s.since, LastError: s.lastErr}
		for i := range s.lanes {
			info.Open += s.lanes[i].open
			info.Waiting += len(s.lanes[i].waiting)
		}
		infos = append(infos, info)
	}
	return infos
}
