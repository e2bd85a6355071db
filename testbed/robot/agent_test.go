package robot_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"deviceagent/executors"
	"deviceagent/executors/socket"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// agent is the agent's half: the real socket server, with a list for a core.
type agent struct {
	server *socket.Server
	dead   bool // the daemon is not there: connections are refused

	mu       sync.Mutex
	binding  executors.Binding
	instance []string // of each registration
	down     int
	heard    []core.Event
	stop     []context.CancelFunc // of each connection
}

func newAgent() *agent {
	a := &agent{}
	a.server = socket.NewServer(socket.Options{Registry: a, Sink: a.sink, Log: zerolog.Nop()})
	return a
}

func (a *agent) sink(_ context.Context, ev core.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.heard = append(a.heard, ev)
	return nil
}

func (a *agent) Add(_ core.ServiceID, instance string, _ []catalog.Method, _ []catalog.ContextKey, b executors.Binding) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.binding, a.instance = b, append(a.instance, instance)
	return true
}

func (a *agent) Remove(core.ServiceID, string, core.Reason) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down++
}

// dial is the executor socket, in memory.
func (a *agent) dial(ctx context.Context) (net.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dead {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	a.stop = append(a.stop, cancel)
	go a.server.ServeConn(ctx, ours)
	return theirs, nil
}

func (a *agent) setDead(dead bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dead = dead
	if dead {
		for _, stop := range a.stop {
			stop()
		}
	}
}

func (a *agent) call() executors.Binding {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.binding
}

func (a *agent) events() []core.Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.heard)
}

// saw says whether an event of the catalog came, and how often.
func (a *agent) saw(name catalog.EventName, task core.TaskID) (n int) {
	for _, ev := range a.events() {
		if o, ok := ev.(core.Observed); ok && o.Event == name && o.Task == task {
			n++
		}
	}
	return n
}

func (a *agent) ended(task core.TaskID) (out []core.Outcome) {
	for _, ev := range a.events() {
		if e, ok := ev.(core.TaskEnded); ok && e.Task == task {
			out = append(out, e.Outcome)
		}
	}
	return out
}

// context is the last value said of a key.
func (a *agent) context(key catalog.ContextKey) (v any) {
	for _, ev := range a.events() {
		if c, ok := ev.(core.ContextRead); ok {
			for _, val := range c.Values {
				if val.Key == key {
					v = val.Value
				}
			}
		}
	}
	return v
}
