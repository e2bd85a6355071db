package robot

import (
	"context"
	"slices"
	"sync"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/executors/dbus"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
)

// onBus keeps all parts of the robot on the bus, and its buttons and controls, until ctx ends or the whole restarts.
func (r *Robot) onBus(ctx context.Context) {
	b := &onBus{r: r, hosts: map[core.ServiceID]speaker{}, renew: map[core.ServiceID]context.CancelCauseFunc{}}
	r.mu.Lock()
	r.session = b
	r.mu.Unlock()
	var wg sync.WaitGroup
	for _, p := range r.parts {
		wg.Go(func() { again(ctx, func() error { return b.serve(ctx, p) }, r.out) })
	}
	wg.Go(func() { again(ctx, func() error { return b.control(ctx) }, r.out) })
	wg.Wait()
}

// again does a thing until ctx ends. What fails waits a moment.
func again(ctx context.Context, do func() error, out *lines) {
	for ctx.Err() == nil {
		err := do()
		if err == nil || ctx.Err() != nil {
			continue
		}
		out.printf("no bus: %v; next attempt in 1s", err)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// onBus is the robot's session with an agent that it reaches through several services. Its fields are guarded by the robot's lock.
type onBus struct {
	r     *Robot
	hosts map[core.ServiceID]speaker
	renew map[core.ServiceID]context.CancelCauseFunc
	panel *godbus.Conn // says which button was pressed
}

// serve keeps one part on the bus until ctx ends, the part restarts, or the connection is lost.
func (b *onBus) serve(ctx context.Context, p part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn, err := dbus.Connect(ctx, b.r.opt.Bus, b.r.opt.BusDial, godbus.WithContext(ctx))
	if err != nil {
		return err
	}
	if p.id == panel {
		if err := exportButtons(conn, b.r); err != nil {
			conn.Close()
			return err
		}
	}
	h, err := speakerOn(conn, p, serves{program{b.r}, p, b})
	if err != nil {
		return err
	}
	defer h.Close()
	b.r.Do(func(m *home.Home, _ time.Duration) {
		b.hosts[p.id], b.renew[p.id] = h, cancel
		if p.id == panel {
			b.panel = conn
		}
		b.r.out.printf("%s is on the bus", p.name())
		_ = h.Context(values(m.Read(p.keys))) // a connection that ends at once is made anew
	})
	<-h.Done()
	b.r.mu.Lock()
	defer b.r.mu.Unlock()
	if b.hosts[p.id] == h {
		delete(b.hosts, p.id)
	}
	return nil
}

// speakerOn puts a part on the bus, in its shape. A connection on which that fails is closed.
func speakerOn(conn *godbus.Conn, p part, s serves) (speaker, error) {
	if p.maker != nil {
		return serveVendor(conn, p, s)
	}
	return dbus.ServeOn(conn, p.name(), p.path(), s)
}

// serves is one part as the agent sees it: a program that knows its own methods and keys only.
type serves struct {
	program
	p part
	b *onBus
}

func (s serves) Dispatch(d core.Dispatch, answer func(core.TaskAnswered)) {
	if !slices.Contains(s.p.methods, string(d.Method)) {
		answer(core.TaskAnswered{Task: d.Task, Reason: home.ReasonUnknownMethod})
		return
	}
	s.r.mu.Lock()
	s.r.asked[d.Task] = s.p.id
	s.r.mu.Unlock()
	s.program.Dispatch(d, answer)
}

func (s serves) Read(keys []catalog.ContextKey, answer func([]core.ContextValue)) {
	s.program.Read(slices.DeleteFunc(slices.Clone(keys), func(k catalog.ContextKey) bool { return !slices.Contains(s.p.keys, string(k)) }), answer)
}

// say lets a part say something. Where it is not on the bus, nobody hears; a connection that breaks is made anew by its owner.
func (b *onBus) say(id core.ServiceID, what func(speaker) error) error {
	if h := b.hosts[id]; h != nil {
		_ = what(h)
	}
	return nil
}

// ofTask lets the part speak that was asked for the task.
func (b *onBus) ofTask(task core.TaskID, what func(speaker) error) error {
	return b.say(b.r.asked[task], what)
}

func (b *onBus) Progress(p core.TaskProgress) error {
	return b.ofTask(p.Task, func(h speaker) error { return h.Progress(p) })
}

func (b *onBus) Paused(task core.TaskID) error {
	return b.ofTask(task, func(h speaker) error { return h.Paused(task) })
}

func (b *onBus) Resumed(task core.TaskID) error {
	return b.ofTask(task, func(h speaker) error { return h.Resumed(task) })
}

func (b *onBus) Result(e core.TaskEnded) error {
	return b.ofTask(e.Task, func(h speaker) error { return h.Result(e) })
}

// Event is said by whoever sees such things, whoever was asked for the task.
func (b *onBus) Event(ev core.Observed) error {
	for _, p := range b.r.parts {
		if p.speaksFor(ev.Source) {
			_ = b.say(p.id, func(h speaker) error { return h.Event(ev) })
		}
	}
	return nil
}

// Context is said by each service for its own keys.
func (b *onBus) Context(values []core.ContextValue) error {
	for _, p := range b.r.parts {
		mine := slices.DeleteFunc(slices.Clone(values), func(v core.ContextValue) bool { return !slices.Contains(p.keys, string(v.Key)) })
		if len(mine) > 0 {
			_ = b.say(p.id, func(h speaker) error { return h.Context(mine) })
		}
	}
	return nil
}

// Cut breaks every connection.
func (b *onBus) Cut() {
	b.r.mu.Lock()
	hosts := b.hosts
	b.hosts = map[core.ServiceID]speaker{}
	b.r.session = b // it comes back by itself
	b.r.mu.Unlock()
	for _, h := range hosts {
		h.Close()
	}
}

// RestartPart ends the work of one service on the bus without a word, and lets it come back as a new owner of its name. The others go on.
// False: there is no such service.
func (r *Robot) RestartPart(id string, forget bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.parts, func(p part) bool { return string(p.id) == id })
	b, ok := r.session.(*onBus)
	if i < 0 || !ok {
		return false
	}
	p := r.parts[i]
	delete(b.hosts, p.id) // whatever the end of the work says is not heard
	r.act(func(h *home.Home, now time.Duration) { h.RestartOf(now, p.methods, forget) })
	if renew := b.renew[p.id]; renew != nil {
		renew(errRestart)
	}
	return true
}
