package monitor

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// Run makes telemetry while a lease lives: at its beginning, and after changes, never closer together than its interval. Without a lease
// it only waits for one.
func (r *Room) Run(ctx context.Context) error {
	timer := r.o.Clock.NewTimer()
	defer timer.Stop()
	l := &looker{room: r, end: func() {}}
	defer func() { l.end() }()
	for {
		if at := l.turn(ctx); at > 0 {
			timer.Reset(at)
		} else {
			timer.Stop()
		}
		select {
		case <-r.asked:
		case <-l.turned:
			l.dirty = true
		case <-timer.C():
		case <-ctx.Done():
			return nil
		}
	}
}

// looker is Run's own: whom it looks on for.
type looker struct {
	room   *Room
	lease  *lease
	turned <-chan struct{} // nil: nobody watches
	end    func()
	dirty  bool
	next   int64  // boot ms: not sooner
	last   []byte // what was made last, without what changes by time alone
}

// turn does what is due and returns when it has to be called again (boot ms); 0: when something happens.
func (l *looker) turn(ctx context.Context) int64 {
	r := l.room
	r.mu.Lock()
	now := r.live()
	r.mu.Unlock()
	if now != l.lease {
		l.change(now)
	}
	if now == nil {
		return 0
	}
	boot := r.o.Clock.Boot()
	if !l.dirty {
		return now.ends
	}
	if boot < l.next {
		return min(l.next, now.ends)
	}
	l.dirty, l.next = false, boot+now.interval
	if err := l.look(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, taskmanager.ErrStopped) {
		r.o.Log.Warn().Err(err).Msg("no telemetry this time")
		l.dirty = true
	}
	if l.dirty {
		return min(l.next, now.ends)
	}
	return now.ends
}

// change takes up another lease, or none. The distance to the message before is kept: leases that follow each other are no way around it.
func (l *looker) change(now *lease) {
	l.lease, l.dirty, l.last = now, now != nil, nil
	switch {
	case now == nil:
		l.end()
		l.turned, l.end = nil, func() {}
	case l.turned == nil:
		var w *taskmanager.Watch
		w, l.end = l.room.o.Agent.Watch()
		l.turned = w.Turned
	}
}

// look makes one message of how it stands now, in the place of one that was not sent.
func (l *looker) look(ctx context.Context) error {
	r := l.room
	t := wire.Telemetry{LeaseID: l.lease.id, OutboxRows: int64(r.o.Agent.Waiting())}
	var now int64
	err := r.o.Agent.Inspect(ctx, func(s *core.State, at core.Now) {
		now = int64(at.Boot)
		picture(&t, s, at.Boot)
	})
	if err != nil {
		return err
	}
	if l.unchanged(t) {
		return nil
	}
	t.LeftMS = max(0, l.lease.ends-now)
	r.mu.Lock()
	if r.lease != l.lease { // another one came meanwhile
		r.mu.Unlock()
		return nil
	}
	l.lease.made++
	t.N = l.lease.made
	r.mu.Unlock()
	m, err := r.fit(t)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lease == l.lease {
		r.next = &m
		tell(r.ready)
	}
	return nil
}

// unchanged says whether nothing but time has passed since the last message.
func (l *looker) unchanged(t wire.Telemetry) bool {
	t.Workflows = slices.Clone(t.Workflows)
	for i := range t.Workflows {
		t.Workflows[i].Steps = slices.Clone(t.Workflows[i].Steps)
		for j := range t.Workflows[i].Steps {
			t.Workflows[i].Steps[j].SinceMS = 0
		}
	}
	e := wire.Envelope{V: wire.Version, Type: wire.TypeTelemetry, Telemetry: &t}
	sum, err := wire.ContentHash(e)
	same := err == nil && bytes.Equal(l.last, []byte(sum))
	l.last = []byte(sum)
	return same
}

// picture writes down the state: the robot in a line, and each open workflow with its steps. It is bounded whatever the robot has.
func picture(t *wire.Telemetry, s *core.State, now core.Instant) {
	t.Mode, t.OpenCount = string(s.Mode()), int64(len(s.Open()))
	for _, h := range s.Holders() {
		if len(t.Holders) == maxHolders {
			t.Truncated = true
			break
		}
		t.Holders = append(t.Holders, h.ID())
	}
	steps := 0
	for _, id := range s.Open() {
		if len(t.Workflows) == maxWorkflows {
			t.Truncated = true
			break
		}
		wf := s.Workflows[id]
		seen := wire.WorkflowSeen{WorkflowID: string(id), State: string(wf.State), Revision: wf.Plan.Revision}
		for i := range wf.Steps {
			if steps == maxSteps {
				t.Truncated = true
				break
			}
			steps++
			st := &wf.Steps[i]
			seen.Steps = append(seen.Steps, wire.StepSeen{CloudStepID: string(st.ID), State: string(st.State), ReasonCode: spelled(st.Reason),
				Attempts: st.Attempts, SinceMS: max(0, int64(now-st.Since))})
		}
		t.Workflows = append(t.Workflows, seen)
	}
}

// spelled is a reason as an id; an executor may say anything.
func spelled(r core.Reason) string {
	if len(r) > 128 {
		r = r[:128]
	}
	return string(bytes.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == ':', c == '-', c == '@':
			return c
		}
		return '_'
	}, []byte(r)))
}

// fit makes the message, cut in this order until it has at most MessageBytes: steps that have ended or wait for others; all steps;
// workflows, the latest first; holders.
func (r *Room) fit(t wire.Telemetry) (Message, error) {
	for cut := 0; ; cut++ {
		m, err := r.message(wire.Envelope{Type: wire.TypeTelemetry, Telemetry: &t})
		if err == nil && len(m.Body) <= MessageBytes {
			return m, nil
		}
		t.Truncated = true
		switch {
		case cut == 0:
			t.Workflows = withSteps(t.Workflows, func(s wire.StepSeen) bool {
				state := core.StepState(s.State)
				return state != core.Pending && !state.Terminal()
			})
		case cut == 1:
			t.Workflows = withSteps(t.Workflows, func(wire.StepSeen) bool { return false })
		case len(t.Workflows) > 0:
			t.Workflows = t.Workflows[:len(t.Workflows)/2]
		case len(t.Holders) > 0:
			t.Holders = t.Holders[:len(t.Holders)/2]
		default:
			return m, errors.Join(err, errors.New("cannot make telemetry small enough"))
		}
	}
}

func withSteps(in []wire.WorkflowSeen, keep func(wire.StepSeen) bool) []wire.WorkflowSeen {
	out := slices.Clone(in)
	for i := range out {
		out[i].Steps = slices.DeleteFunc(slices.Clone(out[i].Steps), func(s wire.StepSeen) bool { return !keep(s) })
	}
	return out
}
