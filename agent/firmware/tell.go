package firmware

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
)

// calm is how long what happens is gathered before the state is looked at: a batch of moves is told with one look.
const calm = 50 * time.Millisecond

// told is what the bus was told last.
type told struct {
	values    map[string]any // of the properties that change
	holders   map[string]holder
	questions map[string]bool
}

// run tells what changes until the bus or ctx ends. All of it is this one goroutine's: what is told stands in the order in which it
// happened.
func (s *session) run(ctx context.Context, feed Feed) error {
	var last told
	if err := s.anew(ctx, &last); err != nil {
		return err
	}
	timer, soon := time.NewTimer(s.next()), false
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.conn.Context().Done():
			return errors.New("the bus has closed the connection")
		case m := <-s.in.ch:
			s.heard(m)
			continue
		case mv := <-feed.Moves:
			if err := s.moved(mv); err != nil {
				return err
			}
			soon = s.soon(timer, soon)
			continue
		case <-feed.Turned:
			soon = s.soon(timer, soon)
			continue
		case <-s.leases.change:
		case <-timer.C:
		}
		if err := s.catchUp(ctx, feed, &last); err != nil {
			return err
		}
		timer.Reset(s.next())
		soon = false
	}
}

// soon sets the look that follows a change. A second change does not put it off: there may always be one more.
func (s *session) soon(timer *time.Timer, already bool) bool {
	if !already {
		timer.Reset(calm)
	}
	return true
}

// factsEvery is how often what is outside the state is looked at: whether the agent is ready, and its link.
const factsEvery = 10 * time.Second

// next is when something changes by time alone: a lease ends, or the time to settle.
func (s *session) next() time.Duration {
	at := factsEvery
	if _, lease := s.leases.standing(time.Now()); lease > 0 {
		at = min(at, lease)
	}
	if settle := s.o.Settle - time.Since(s.since); settle > 0 {
		at = min(at, settle)
	}
	return max(at, calm)
}

// catchUp tells the moves that wait, then all that differs from what was told. Where moves were lost, all that is open is told anew.
func (s *session) catchUp(ctx context.Context, feed Feed, last *told) error {
	for {
		select {
		case mv := <-feed.Moves:
			if err := s.moved(mv); err != nil {
				return err
			}
			continue
		default:
		}
		break
	}
	if n := feed.Missed(); n > 0 {
		if err := s.emit("Missed", uint32(n)); err != nil {
			return err
		}
		return s.anew(ctx, last)
	}
	snap, err := s.look(ctx)
	if err != nil {
		return s.unseen(err)
	}
	return s.differences(snap, last)
}

// unseen deals with a state that cannot be looked at: a disk that hangs makes the owner busy, and passes; its end does not.
func (s *session) unseen(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// anew tells all that is so: who has just come to the bus, or has missed something, knows nothing.
func (s *session) anew(ctx context.Context, last *told) error {
	snap, err := s.look(ctx)
	if err != nil {
		return err
	}
	for _, g := range snap.goals {
		if err := s.emit("GoalChanged", g.id, g.state, g.reason); err != nil {
			return err
		}
	}
	*last = told{}
	return s.differences(snap, last)
}

func (s *session) moved(mv core.Move) error {
	switch {
	case mv.Workflow == "" || mv.Effect != "": // a mode is a property; an effect is its step's matter
		return nil
	case mv.Step != "":
		return s.emit("StepChanged", string(mv.Workflow), string(mv.Step), mv.To, string(mv.Reason))
	}
	return s.emit("GoalChanged", string(mv.Workflow), mv.To, string(mv.Reason))
}

// differences tells what is another than was told: holders, questions, properties.
func (s *session) differences(snap snapshot, last *told) error {
	now := told{values: s.changing(snap), holders: map[string]holder{}, questions: map[string]bool{}}
	for _, h := range snap.holders {
		now.holders[h.id] = h
		if was, stood := last.holders[h.id]; !stood || was != h {
			if err := s.emit("Held", h.id, h.by, h.why); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last.holders)) {
		if _, stands := now.holders[id]; !stands {
			if err := s.emit("Released", id); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(snap.questions)) {
		now.questions[id] = true
		if q := snap.questions[id]; !last.questions[id] {
			if err := s.emit("QuestionAsked", q.id, q.workflow, q.text, append([]option{}, q.options...), uint64(q.leftMS)); err != nil {
				return err
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last.questions)) {
		if !now.questions[id] {
			if err := s.emit("QuestionClosed", id); err != nil {
				return err
			}
		}
	}
	changed := map[string]godbus.Variant{}
	for key, v := range now.values {
		if !same(last.values[key], v) {
			changed[key] = godbus.MakeVariant(v)
		}
	}
	*last = now
	if len(changed) == 0 {
		return nil
	}
	return s.conn.Emit(Path, properties+".PropertiesChanged", Interface, changed, []string{})
}

func same(a, b any) bool {
	x, list := a.([]string)
	y, also := b.([]string)
	if list || also {
		return list && also && slices.Equal(x, y)
	}
	return a == b
}

func (s *session) emit(signal string, args ...any) error {
	return s.conn.Emit(Path, Interface+"."+signal, args...)
}

// changing are the properties that change, with their values.
func (s *session) changing(snap snapshot) map[string]any {
	facts := s.o.Agent.Facts()
	why, _ := s.against(snap, "", time.Now())
	return map[string]any{"Ready": facts.Ready, "Mode": snap.mode, "Holders": snap.holderIDs(), "OpenWorkflows": uint32(len(snap.goals)),
		"Moving": snap.moving, "RestartAllowed": len(why) == 0, "Link": facts.Link}
}

// values are all properties.
func (s *session) values(snap snapshot) map[string]godbus.Variant {
	facts := s.o.Agent.Facts()
	out := map[string]godbus.Variant{"DeviceId": godbus.MakeVariant(facts.DeviceID), "Version": godbus.MakeVariant(facts.Version),
		"CatalogEtag": godbus.MakeVariant(snap.etag)}
	for key, v := range s.changing(snap) {
		out[key] = godbus.MakeVariant(v)
	}
	return out
}

// props answers for the properties: each answer is a look of its own.
type props struct{ s *session }

// Get gives one property.
func (p props) Get(iface, name string, from godbus.Sender) (godbus.Variant, *godbus.Error) {
	all, fail := p.GetAll(iface, from)
	if fail != nil {
		return godbus.Variant{}, fail
	}
	v, ok := all[name]
	if !ok {
		return v, failure("UnknownProperty", "no property "+name)
	}
	return v, nil
}

// GetAll gives all properties.
func (p props) GetAll(iface string, from godbus.Sender) (map[string]godbus.Variant, *godbus.Error) {
	_, done, fail := p.s.admit(from, "Get", reader)
	if fail != nil {
		return nil, fail
	}
	defer done()
	if iface != Interface {
		return nil, failure("UnknownInterface", "no properties of "+iface)
	}
	snap, err := p.s.look(p.s.conn.Context())
	if err != nil {
		return nil, failureOf(err)
	}
	return p.s.values(snap), nil
}

// Set is refused: all that changes something is a method.
func (p props) Set(_, name string, _ godbus.Variant, _ godbus.Sender) *godbus.Error {
	return failure("PropertyReadOnly", name+" can only be read")
}
