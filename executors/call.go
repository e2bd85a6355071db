package executors

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// laneID parts the calls to a service: a stop must never wait behind a task that hangs, nor behind a question.
type laneID int

const (
	laneTask laneID = iota
	laneAsk
	laneStop
	lanes
)

// lane is one ordered queue: some calls are open, the rest wait for their turn.
type lane struct {
	open    int
	waiting []*call
}

// service is one registered service; the registry's lock guards it.
type service struct {
	id       core.ServiceID
	instance string
	methods  []catalog.Method
	keys     []catalog.ContextKey
	tells    bool // a [Teller]
	since    time.Time
	begin    Beginner
	lanes    [lanes]lane
	calls    map[*call]struct{} // open and waiting
	lastNo   int64
	lastErr  string
}

// call is one output on its way. It is answered once: by its reply, its hard limit, or the end of its service.
type call struct {
	no      int64
	svc     *service
	out     core.Output
	lane    laneID
	begun   bool
	ended   bool
	expired bool // ended by the hard limit: a late reply still tells something
	timer   *time.Timer
}

// Carry starts to carry an output out. It never blocks and never fails: what goes wrong comes back as the answering event.
func (r *Registry) Carry(out core.Output) {
	if rd, ok := out.(core.Read); ok {
		r.carryRead(rd)
		return
	}
	_, id := targetOf(out)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byID[id]
	if s == nil || !s.serves(out) {
		r.post(noAnswer(out, false, reasonUnavailable, id, ""))
		return
	}
	r.carryTo(s, out)
}

func (s *service) serves(out core.Output) bool {
	d, ok := out.(core.Dispatch)
	return !ok || slices.Contains(s.methods, d.Method)
}

// carryRead asks every service for the keys that it has registered, unless it tells them by itself.
func (r *Registry) carryRead(rd core.Read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	orphans := slices.Clone(rd.Keys)
	for _, s := range r.sorted() {
		var mine []catalog.ContextKey
		for _, key := range rd.Keys {
			if slices.Contains(s.keys, key) {
				mine = append(mine, key)
			}
		}
		if len(mine) > 0 {
			orphans = slices.DeleteFunc(orphans, func(k catalog.ContextKey) bool { return slices.Contains(mine, k) })
			if !s.tells {
				r.carryTo(s, core.Read{Keys: mine})
			}
		}
	}
	if len(orphans) > 0 {
		r.post(noAnswer(core.Read{Keys: orphans}, false, reasonUnavailable, "", ""))
	}
}

func (r *Registry) sorted() []*service {
	all := make([]*service, 0, len(r.byID))
	for _, s := range r.byID {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *service) int { return cmp.Compare(a.id, b.id) })
	return all
}

func (r *Registry) post(ev core.Event) {
	if !r.closed && ev != nil && !r.pump.post(ev) {
		r.opt.Log.Error().Str("event", string(core.KindOf(ev))).Int("bound", maxPosted).Msg("event lost")
	}
}

// carryTo begins a call or lets it wait for its turn. The lock is held, here and in all below that say nothing else.
func (r *Registry) carryTo(s *service, out core.Output) {
	if r.withdraw(s, out) {
		return
	}
	c := &call{svc: s, out: out, lane: r.laneOf(out), no: s.lastNo}
	s.lastNo++
	l := &s.lanes[c.lane]
	if len(l.waiting) >= r.opt.MaxQueue {
		r.post(noAnswer(out, false, reasonBusy, s.id, s.instance))
		return
	}
	s.calls[c] = struct{}{}
	c.timer = time.AfterFunc(r.opt.HardLimit, func() { r.expire(c) })
	l.waiting = append(l.waiting, c)
	r.advance(s, c.lane)
}

func (r *Registry) laneOf(out core.Output) laneID {
	switch o := out.(type) {
	case core.Stop:
		return laneStop
	case core.Dispatch:
		if r.opt.Urgent(o.Method) {
			return laneStop
		}
		return laneTask
	}
	return laneAsk
}

// withdraw takes a Dispatch back that still waits when its task is stopped or asked for: it must not start later. For a stop
// that is all there is to do.
func (r *Registry) withdraw(s *service, out core.Output) (done bool) {
	task := taskOf(out)
	_, stop := out.(core.Stop)
	if _, query := out.(core.Query); !stop && !query {
		return false
	}
	for i := range s.lanes {
		for _, c := range s.lanes[i].waiting {
			if d, ok := c.out.(core.Dispatch); ok && d.Task == task {
				c.leave()
				r.post(noAnswer(c.out, false, reasonBusy, s.id, s.instance))
				if stop {
					r.post(core.StopAnswered{Task: task, Accepted: true})
				}
				return stop
			}
		}
	}
	return false
}

// advance begins the calls whose turn it is.
func (r *Registry) advance(s *service, id laneID) {
	l := &s.lanes[id]
	for len(l.waiting) > 0 && l.open < r.opt.MaxCalls && !r.closed {
		c := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.open++
		c.begun = true
		c.timer.Reset(r.opt.HardLimit) // waiting had its own bound
		if err := s.begin.Begin(c.out, func(ev core.Event, err error) { r.answer(c, ev, err) }); err != nil {
			c.leave()
			s.lastErr = err.Error()
			r.post(noAnswer(c.out, false, reasonUnavailable, s.id, s.instance))
		}
	}
}

// leave ends a call, open or waiting.
func (c *call) leave() {
	l := &c.svc.lanes[c.lane]
	if c.begun {
		l.open--
	} else {
		l.waiting = slices.DeleteFunc(l.waiting, func(w *call) bool { return w == c })
	}
	c.ended = true
	c.timer.Stop()
	delete(c.svc.calls, c)
}

// answer ends a call with what the binding says. It runs on the binding's goroutine, without the lock, and waits for the sink,
// so that the answer keeps its place among the events of its connection.
func (r *Registry) answer(c *call, ev core.Event, err error) {
	r.deliver(r.settle(c, ev, err))
}

func (r *Registry) settle(c *call, ev core.Event, err error) core.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := c.svc
	if c.ended {
		if c.expired && err == nil && r.byID[s.id] == s {
			return late(c.out, ev, s.instance)
		}
		return nil
	}
	c.leave()
	r.advance(s, c.lane)
	if err == nil {
		if ev = answered(c.out, ev, s.id, s.instance); ev != nil {
			return ev
		}
		err = errors.New("the answer does not fit the call")
	}
	s.lastErr = err.Error()
	r.opt.Log.Warn().Err(err).Str("service", string(s.id)).Str("task_id", string(taskOf(c.out))).Msg("call without answer")
	return noAnswer(c.out, !errors.Is(err, ErrNotSent), reasonOf(err), s.id, s.instance)
}

// expire ends a call at its hard limit.
func (r *Registry) expire(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.ended {
		return
	}
	c.expired = c.begun
	c.leave()
	reason := reasonBusy
	if c.begun {
		reason = reasonTimeout
	}
	c.svc.lastErr = "no answer within the hard limit"
	r.opt.Log.Warn().Str("service", string(c.svc.id)).Str("task_id", string(taskOf(c.out))).Bool("sent", c.begun).
		Int64("hard_limit_ms", r.opt.HardLimit.Milliseconds()).Msg("call without answer")
	r.post(noAnswer(c.out, c.begun, reason, c.svc.id, c.svc.instance))
	r.advance(c.svc, c.lane)
}

// inOrder lists the calls of a service as they came.
func (s *service) inOrder() []*call {
	all := make([]*call, 0, len(s.calls))
	for c := range s.calls {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *call) int { return cmp.Compare(a.no, b.no) })
	return all
}
