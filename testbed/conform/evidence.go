package conform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// evidence is what can be said of a task's effects: the events that were heard and the values that were read.
type evidence struct {
	r      *run
	t      *task
	accept []catalog.Class
	values map[string]any
	why    []string // what is not true, for people
	names  int      // how many of them are events that came, but not for this task, or not in a class that counts
}

// readKeys are the context keys of expressions.
func readKeys(es ...catalog.Expr) (keys []string) {
	for _, e := range es {
		for _, l := range e.Leaves() {
			if l.Context != "" && !slices.Contains(keys, string(l.Context)) {
				keys = append(keys, string(l.Context))
			}
		}
	}
	return keys
}

// read reads keys from the service; false: it did not answer.
func (r *run) read(ctx context.Context, t *task, keys []string) (values map[string]any, answered bool) {
	if len(keys) == 0 {
		return nil, true
	}
	got, ok := r.call(ctx, t, r.o.Answer, "Read", keys)
	var raw map[string]godbus.Variant
	if got.err == nil && godbus.Store(got.body, &raw) == nil {
		values, _ = plainMap(raw) // the types check says what cannot be read
	}
	return values, ok
}

// gather takes what there is for an expression now; false: Read was not answered.
func (r *run) gather(ctx context.Context, t *task, e catalog.Expr, accept []catalog.Class) (*evidence, bool) {
	values, answered := r.read(ctx, t, readKeys(e))
	return &evidence{r: r, t: t, accept: accept, values: values}, answered
}

// soon reads until an expression over the context is true or limit has passed.
func (r *run) soon(ctx context.Context, t *task, e catalog.Expr, limit time.Duration) (ok bool, seen string, answered bool) {
	for end := time.Now().Add(limit); ; {
		ev, answered := r.gather(ctx, t, e, nil)
		if !answered {
			return false, "", false
		}
		if ev.truth(e) {
			return true, asJSON(ev.values), true
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return false, strings.Join(ev.why, "; "), true
		}
		r.w.until(ctx, soonStep, func() bool { return false })
	}
}

// holds says which proofs are true already, of the context alone.
func (r *run) holds(ctx context.Context, t *task, ps []proof) (names []string) {
	for _, p := range ps {
		ev, answered := r.gather(ctx, t, p.expr, p.accept)
		if answered && ev.truth(p.expr) {
			names = append(names, p.name)
		}
	}
	return names
}

// chooseUnproved goes on to arguments whose effect is not there yet, so that the task can show something.
func (r *run) chooseUnproved(ctx context.Context) {
	for range r.op.calls {
		c := r.op.calls[r.next%len(r.op.calls)]
		t := &task{call: c}
		if len(r.holds(ctx, t, c.proof)) == 0 {
			return
		}
		r.next++
	}
}

// truth says whether an expression is proved; what is not true is noted.
func (e *evidence) truth(x catalog.Expr) bool {
	switch {
	case x.Leaf != nil:
		return e.leaf(*x.Leaf)
	case len(x.Any) > 0:
		why, names := e.why, e.names
		for _, part := range x.Any {
			if e.truth(part) {
				e.why, e.names = why, names
				return true
			}
		}
		return false
	}
	all := len(x.All) > 0
	for _, part := range x.All {
		all = e.truth(part) && all
	}
	return all
}

func (e *evidence) leaf(l catalog.Leaf) bool {
	if l.Event != "" {
		return e.event(l)
	}
	want, given := catalog.Ref(l.Value, e.t.call.args)
	have, there := e.values[string(l.Context)]
	if !there {
		e.why = append(e.why, string(l.Context)+" is not given by Read")
		return l.Op == condition.Exists && l.Value == false
	}
	if given && (l.Op == condition.Exists && l.Value != false || condition.Compare(l.Op, have, want) == condition.True) {
		return true
	}
	e.why = append(e.why, fmt.Sprintf("%s is %s, wanted %s %s", l.Context, asJSON(have), l.Op, asJSON(want)))
	return false
}

// event looks for an event that proves a leaf.
func (e *evidence) event(l catalog.Leaf) bool {
	why, named := fmt.Sprintf("event %s of the task was not heard", l.Event), 0
	for _, h := range e.r.w.all() {
		name, fields, ok := eventOf(h)
		if !ok || name != string(l.Event) || h.at.Before(e.t.reply.asked) {
			continue
		}
		data, _ := fields["data"].(map[string]any)
		class := e.r.class(l.Event, fields)
		switch {
		case l.Correlate == "task_id" && h.task != e.t.id:
			if named = 1; h.task == "" {
				why = fmt.Sprintf("event %s came without task_id", l.Event)
			} else {
				why = fmt.Sprintf("event %s came with task_id %s, which is another task", l.Event, h.task)
			}
		case !matches(l, data, e.t.call.args):
			why, named = fmt.Sprintf("event %s says %s", l.Event, asJSON(data)), 0
		case !e.counts(class):
			named = 1
			why = fmt.Sprintf("event %s is of class %s, of which %v count", l.Event, class, e.accept)
		default:
			return true
		}
	}
	e.why, e.names = append(e.why, why), e.names+named
	return false
}

func (e *evidence) counts(class catalog.Class) bool {
	return class != catalog.Echo && (len(e.accept) == 0 || slices.Contains(e.accept, class))
}

// class is what an event counts as: what the catalog says, which a claim can only weaken.
func (r *run) class(name catalog.EventName, fields map[string]any) catalog.Class {
	order := []catalog.Class{catalog.Independent, catalog.SamePath, catalog.Echo}
	claim, _ := fields["source_class"].(string)
	class := catalog.Class(claim)
	if claim == "" {
		class = catalog.Independent
	}
	if r.o.Catalog != nil {
		if entry, known := r.o.Catalog.Events[name]; known && slices.Index(order, entry.Class) > slices.Index(order, class) {
			return entry.Class
		}
	}
	return class
}

// matches holds an event's data against a leaf.
func matches(l catalog.Leaf, data, args map[string]any) bool {
	for name, v := range l.Match {
		want, given := catalog.Ref(v, args)
		if have, there := data[name]; !given || !there || !condition.Equal(have, want) {
			return false
		}
	}
	if len(l.MatchNot) == 0 {
		return true
	}
	for _, name := range slices.Sorted(maps.Keys(l.MatchNot)) {
		want, given := catalog.Ref(l.MatchNot[name], args)
		if have, there := data[name]; given && there && !condition.Equal(have, want) {
			return true
		}
	}
	return false
}

// eventOf reads an Event signal.
func eventOf(h heard) (name string, fields map[string]any, ok bool) {
	if h.member != "Event" || len(h.body) != 2 {
		return "", nil, false
	}
	name, ok = h.body[0].(string)
	raw, isMap := h.body[1].(map[string]godbus.Variant)
	fields, err := plainMap(raw)
	return name, fields, ok && isMap && err == nil
}

// proves looks whether a task that says done was done, and whether its events came.
func (r *run) proves(ctx context.Context, t *task, outcome, reason string, already []string) {
	if outcome != "done" {
		r.notRun(fmt.Sprintf("the task ended %s %s, not done: give --params that can be carried out now", outcome, reason), Proof, Events)
		return
	}
	end := time.Now().Add(r.o.Evidence)
	for _, p := range t.call.proof {
		ok, seen, id := r.proved(ctx, t, p, end)
		if id == Answers {
			r.notRun("Read was not answered (see answers)", Proof)
			continue
		}
		if id == Events {
			r.notRun("the event that would prove it cannot be counted (see events)", Proof)
		}
		r.saw(ok, id, t, "looked for "+p.name+" ("+sayExpr(p.expr, t.call.args)+") after Result done of "+t.id,
			fmt.Sprintf("true within %v of done", r.o.Evidence), seen)
	}
	if len(already) > 0 && len(already) == len(t.call.proof) {
		r.notRun(strings.Join(already, ", ")+" was true before the task began: give a second --params, so that there is something to do", Proof)
	}
	if len(t.call.proof) == 0 {
		r.notRun("give --prove KEY=VALUE, or --catalog: what is true when the task is done", Proof)
	}
	r.expected(ctx, t, end)
}

// proved waits for a proof until end. What contradicts it ends the wait. Where nothing is lacking but the way in which an event was said,
// that is the fault of the events.
func (r *run) proved(ctx context.Context, t *task, p proof, end time.Time) (ok bool, seen string, id ID) {
	for {
		ev, answered := r.gather(ctx, t, p.expr, p.accept)
		if !answered {
			return false, "", Answers
		}
		for _, l := range p.against {
			l.Correlate = "task_id"
			if ev.event(l) {
				return false, fmt.Sprintf("an event %s of the task contradicts it", l.Event), Proof
			}
		}
		ev.why, ev.names = nil, 0
		if ev.truth(p.expr) {
			return true, "proved: " + asJSON(ev.values), Proof
		}
		if time.Now().After(end) || ctx.Err() != nil {
			if ev.names == len(ev.why) {
				return false, strings.Join(ev.why, "; "), Events
			}
			return false, strings.Join(ev.why, "; "), Proof
		}
		r.w.until(ctx, soonStep, func() bool { return false })
	}
}

// expected waits for the events that the caller named.
func (r *run) expected(ctx context.Context, t *task, end time.Time) {
	for _, name := range r.op.expect {
		_, came := r.w.signal(ctx, max(time.Until(end), 0), t.id, "Event", func(h heard) bool {
			said, fields, ok := eventOf(h)
			return ok && said == name && r.class(catalog.EventName(name), fields) != catalog.Echo
		})
		seen := "it came"
		if !came {
			seen = fmt.Sprintf("no %s with this task_id and a class that counts; of the task came: %v", name, r.names(t))
		}
		r.saw(came, Events, t, "waited for event "+name+" of "+t.id, "event "+name+" with task_id "+t.id+", not of class echo", seen)
	}
}

func (r *run) names(t *task) (out []string) {
	for _, h := range r.w.of(t.id) {
		name := h.member
		if n, ok := firstText(h); ok && h.member == "Event" {
			name += " " + n
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func firstText(h heard) (string, bool) {
	if len(h.body) == 0 {
		return "", false
	}
	s, ok := h.body[0].(string)
	return s, ok
}

// sayExpr writes an expression for people.
func sayExpr(e catalog.Expr, args map[string]any) string {
	if l := e.Leaf; l != nil {
		if l.Event != "" {
			return "event " + string(l.Event)
		}
		want, _ := catalog.Ref(l.Value, args)
		return fmt.Sprintf("%s %s %s", l.Context, l.Op, asJSON(want))
	}
	parts, join := e.All, " and "
	if len(e.Any) > 0 {
		parts, join = e.Any, " or "
	}
	var out []string
	for _, p := range parts {
		out = append(out, sayExpr(p, args))
	}
	return strings.Join(out, join)
}
