package dbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// mapped is one owner of the name of a service with an interface of its own. What is asked of it goes to its methods and what it says
// becomes events as the catalog says.
//
// order is held while events are handed over, so that they keep the order in which they were decided; the memory's lock is held only
// to decide. Begin takes no other lock than that one: its caller may be the very one whom a full inbox waits for.
type mapped struct {
	s     *session
	svc   Service
	spec  *Mapping
	mem   *memory
	owner string
	life  context.Context
	asks  chan struct{} // one token for each question that is open

	order   sync.Mutex
	kept    []heard                                  // words that may be about a task whose handle is not known yet
	told    map[catalog.ContextKey]core.ContextValue // what signals said
	version map[catalog.ContextKey]int               // how often they did
	changes map[string]int                           // the same for properties

	roomsDue, roomsRead bool // the rooms have to be read; somebody does

	lacks  map[catalog.Method]string // what of an operation's map the service does not have
	health string                    // what keeps it from work; "" for nothing
	known  bool                      // both are: from now on a change of the health changes what is offered
}

func newMapped(ctx context.Context, s *session, svc Service, owner string, mem *memory) *mapped {
	return &mapped{s: s, svc: svc, spec: svc.Map, mem: mem, owner: owner, life: ctx, asks: make(chan struct{}, maxAsks),
		told: map[catalog.ContextKey]core.ContextValue{}, version: map[catalog.ContextKey]int{}, changes: map[string]int{}}
}

// maxAsks bounds the questions that are open to one service, since one Read asks for each of its keys: the bus keeps a slot for each. Calls
// and stops the registry bounds.
const maxAsks = 8

// Begin implements [executors.Beginner]. A task is noted before it returns, so that a stop begun after it finds it.
func (b *mapped) Begin(out core.Output, done func(core.Event, error)) error {
	run, unsent := b.runOf(out, done)
	if run == nil {
		return executors.ErrNotSent
	}
	if b.s.spawn(func() {
		ctx, cancel := context.WithTimeout(b.life, b.s.o.Limit)
		defer cancel()
		run(ctx)
	}) {
		return nil
	}
	unsent()
	return executors.ErrNotSent
}

// runOf gives what carries an output out, and what is to be done where it is not.
func (b *mapped) runOf(out core.Output, done func(core.Event, error)) (run func(context.Context), unsent func()) {
	unsent = func() {}
	switch o := out.(type) {
	case core.Dispatch:
		j := b.begin(o)
		if j == nil {
			no := core.TaskAnswered{Task: o.Task, Reason: core.ReasonExecutorRefused}
			return func(context.Context) { b.give(done, no, nil) }, unsent
		}
		return func(ctx context.Context) { b.start(ctx, j, o, done) }, func() { b.drop(j) }
	case core.Query:
		return func(ctx context.Context) { b.query(ctx, o, done) }, unsent
	case core.Stop:
		return func(ctx context.Context) { b.steer(ctx, o.Task, o.Method, cancelling, done) }, unsent
	case core.Pause:
		return func(ctx context.Context) { b.steer(ctx, o.Task, "", pausing, done) }, unsent
	case core.Resume:
		return func(ctx context.Context) { b.steer(ctx, o.Task, "", resuming, done) }, unsent
	case core.Read:
		return func(ctx context.Context) { b.read(ctx, o.Keys, done) }, unsent
	}
	return nil, unsent
}

// give hands an answer over, and what follows from it, in their place among all that is said.
func (b *mapped) give(done func(core.Event, error), ev core.Event, err error, after ...core.Event) {
	b.order.Lock()
	defer b.order.Unlock()
	done(ev, err)
	b.hand(after)
}

// hand gives events to the core. The order lock is held. An error only says that the agent ends.
func (b *mapped) hand(evs []core.Event) {
	for _, ev := range evs {
		if err := b.s.o.Sink(b.life, ev); err != nil {
			return
		}
	}
}

// call makes one call of a task to the owner.
func (b *mapped) call(ctx context.Context, c catalog.DBusCall, g given) ([]any, error) {
	return b.begun(ctx, c, g, func() {})
}

func (b *mapped) begun(ctx context.Context, c catalog.DBusCall, g given, sent func()) ([]any, error) {
	args, err := g.args(c.Args)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errArgs, err)
	}
	path, iface := c.At(b.spec.Service)
	return b.s.begun(ctx, b.object(path), iface+"."+c.Method, args, sent)
}

func (b *mapped) object(path string) godbus.BusObject {
	return b.s.calls.Object(b.owner, godbus.ObjectPath(path))
}

// question makes one call that asks something, when it is its turn.
func (b *mapped) question(ctx context.Context, c catalog.DBusCall, g given) ([]any, error) {
	select {
	case b.asks <- struct{}{}:
		defer func() { <-b.asks }()
		return b.call(ctx, c, g)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", executors.ErrNotSent, context.Cause(ctx))
	}
}

// begin notes a task that is to be called; nil where its id is known or sealed, so that it never runs twice.
func (b *mapped) begin(d core.Dispatch) *job {
	m := b.mem
	m.mu.Lock()
	defer m.mu.Unlock()
	op, ok := b.spec.Operations[d.Method]
	if !ok || m.jobs[d.Task] != nil {
		return nil
	}
	j := &job{id: d.Task, method: d.Method, spec: op.Binding.DBus.Map, state: calling, instance: b.s.instance(b.owner)}
	m.add(j)
	return j
}

// drop notes that a task was not called.
func (b *mapped) drop(j *job) {
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	b.mem.finish(j, never)
	close(j.answered)
}

// start calls a task.
func (b *mapped) start(ctx context.Context, j *job, d core.Dispatch, done func(core.Event, error)) {
	if !b.takeSlot(ctx, j) {
		b.settle(done, j, never, core.TaskAnswered{Task: j.id, NotSent: true, Reason: core.ReasonExecutorBusy}, nil)
		return
	}
	body, err := b.begun(ctx, j.spec.Call, given{task: j.id, params: d.Params}, func() { close(j.sent) })
	if err != nil {
		b.failed(done, j, err)
		return
	}
	b.returned(ctx, done, j, said{body: body})
}

// takeSlot gives a task the place of the only one. Where another has it whose end nobody has heard, that one is asked for first.
func (b *mapped) takeSlot(ctx context.Context, j *job) bool {
	slot, ok := j.slot()
	if !ok {
		return true
	}
	take := func(from *job) bool {
		b.mem.mu.Lock()
		defer b.mem.mu.Unlock()
		if has := b.mem.slots[slot]; has != nil && has != from {
			return false
		}
		b.mem.slots[slot] = j
		return true
	}
	if take(nil) {
		return true
	}
	b.mem.mu.Lock()
	has := b.mem.slots[slot]
	nobodyKnows := has != nil && has.state == lost && has.spec.Query == nil // the core has decided what became of it
	b.mem.mu.Unlock()
	switch {
	case has == nil || nobodyKnows:
		return take(has)
	case has.spec.Query == nil || !isDone(has.answered):
		return false
	}
	state, _, err := b.ask(ctx, has.spec.Query, given{task: has.id, handle: has.handle})
	return err == nil && state != catalog.DBusRunning && state != catalog.DBusPaused && take(has)
}

func isDone(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// settle answers a dispatch. What was said of the task before counts from now on, unless it does not run.
func (b *mapped) settle(done func(core.Event, error), j *job, state taskState, ev core.TaskAnswered, err error, after ...core.Event) {
	b.order.Lock()
	defer b.order.Unlock()
	m := b.mem
	m.mu.Lock()
	if j.state == calling {
		j.state = state
	}
	switch {
	case state == never:
		m.finish(j, never)
	case err == nil || len(j.early) > 0:
		after = append(after, j.early...)
	}
	for _, a := range after {
		if end, ok := a.(core.TaskEnded); ok && j.end == nil {
			j.end = &end
			m.finish(j, ended)
		}
	}
	j.early = nil
	close(j.answered)
	m.mu.Unlock()
	if err != nil {
		done(nil, err)
	} else {
		done(ev, nil)
	}
	b.hand(after)
	b.again()
}

// failed answers a call that ended with an error.
func (b *mapped) failed(done func(core.Event, error), j *job, err error) {
	refused := func(reason core.Reason) {
		b.settle(done, j, never, core.TaskAnswered{Task: j.id, Reason: reason}, nil)
	}
	as, known := b.meaning(j.spec, err)
	switch {
	case errors.Is(err, executors.ErrNotSent):
		b.settle(done, j, never, core.TaskAnswered{Task: j.id, NotSent: true, Reason: core.ReasonExecutorUnavail}, nil)
	case known && as.As == catalog.DBusRefused:
		refused(reasonOf(as.Reason, core.ReasonExecutorRefused))
	case known && as.As == catalog.DBusFailed:
		end := core.TaskEnded{Task: j.id, Outcome: core.OutcomeFailed, Reason: reasonOf(as.Reason, core.ReasonExecutorFailed), Source: string(b.svc.ID)}
		b.settle(done, j, live, core.TaskAnswered{Task: j.id, Accepted: true}, nil, end)
	case errors.Is(err, errArgs), !known && refuses(err):
		b.s.o.Log.Warn().Err(err).Str("service", string(b.svc.ID)).Str("task_id", string(j.id)).Msg("call refused")
		refused(core.ReasonExecutorRefused)
	default:
		b.settle(done, j, lost, core.TaskAnswered{}, err)
	}
}

// meaning looks an error up in the maps of the operation and of the service.
func (b *mapped) meaning(spec *catalog.DBusMap, err error) (catalog.DBusError, bool) {
	var e godbus.Error
	if !errors.As(err, &e) {
		return catalog.DBusError{}, false
	}
	if as, ok := spec.Errors[e.Name]; ok {
		return as, true
	}
	as, ok := b.spec.Service.Errors[e.Name]
	return as, ok
}

// returned takes the reply of a call: acceptance, the handle, and the end where the reply is the end.
func (b *mapped) returned(ctx context.Context, done func(core.Event, error), j *job, reply said) {
	if accept := j.spec.Accept; accept != nil && accept.Signal == "" {
		ok, err := reply.fits(accept.Match)
		if err != nil {
			b.settle(done, j, lost, core.TaskAnswered{}, fmt.Errorf("the reply cannot be read: %w", err))
			return
		}
		if !ok {
			b.settle(done, j, never, core.TaskAnswered{Task: j.id, Reason: reply.reason(accept.Reason, core.ReasonExecutorRefused)}, nil)
			return
		}
	}
	if t := j.spec.Task; t != nil && t.By == catalog.DBusByHandle {
		if err := b.learnHandle(j, reply); err != nil {
			b.settle(done, j, lost, core.TaskAnswered{}, fmt.Errorf("the reply has no handle that can be read: %w", err))
			return
		}
	}
	if accept := j.spec.Accept; accept != nil && accept.Signal != "" {
		b.order.Lock()
		b.again()
		b.order.Unlock()
		if v, err := verdictIn(ctx, j.verdict); err != nil || !v.accepted {
			if err != nil {
				b.settle(done, j, lost, core.TaskAnswered{}, err)
			} else {
				b.settle(done, j, never, core.TaskAnswered{Task: j.id, Reason: v.reason}, nil)
			}
			return
		}
	}
	after, err := b.endOfReply(j, reply)
	if err != nil {
		b.settle(done, j, lost, core.TaskAnswered{}, err)
		return
	}
	b.settle(done, j, live, core.TaskAnswered{Task: j.id, Accepted: true}, nil, after...)
}

// verdictIn waits for the signal that accepts a task.
func verdictIn(ctx context.Context, c <-chan verdict) (verdict, error) {
	select {
	case v := <-c:
		return v, nil
	case <-ctx.Done():
		return verdict{}, context.Cause(ctx)
	}
}

func (b *mapped) learnHandle(j *job, reply said) error {
	raw, err := reply.raw(j.spec.Task.Field)
	if err != nil {
		return err
	}
	key, err := textOf(raw)
	if err != nil {
		return err
	}
	b.mem.mu.Lock()
	defer b.mem.mu.Unlock()
	j.handle, j.key = raw, key
	return nil
}

// endOfReply reads the end of a task from its reply. Where every end is in the reply, one that fits none cannot be understood.
func (b *mapped) endOfReply(j *job, reply said) ([]core.Event, error) {
	later := false
	for _, r := range j.spec.Result {
		if !r.Reply {
			later = true
			continue
		}
		ok, err := reply.fits(r.Match)
		if err == nil && ok {
			end, err := b.endOf(j.id, j.method, r, reply)
			return []core.Event{end}, err
		}
		if err != nil {
			return nil, fmt.Errorf("the reply cannot be read: %w", err)
		}
	}
	if !later {
		return nil, errors.New("the reply is none that the map has a result for")
	}
	return nil, nil
}

// endOf makes the end of a task.
func (b *mapped) endOf(task core.TaskID, method catalog.Method, r catalog.DBusResult, s said) (core.TaskEnded, error) {
	end := core.TaskEnded{Task: task, Outcome: core.Outcome(r.Outcome), Source: string(b.svc.ID), Reason: s.reason(r.Reason, "")}
	if end.Outcome == core.OutcomeFailed && end.Reason == "" {
		end.Reason = core.ReasonExecutorFailed
	}
	var err error
	end.Output, err = s.values(r.Output, b.spec.Operations[method].Output)
	return end, err
}

// steering is one of the three ways in which a task is steered.
type steering struct {
	to   string
	call func(*catalog.DBusMap) *catalog.DBusSteer
}

var (
	cancelling = steering{"", func(m *catalog.DBusMap) *catalog.DBusSteer { return m.Cancel }}
	pausing    = steering{core.ToPause, func(m *catalog.DBusMap) *catalog.DBusSteer { return m.Pause }}
	resuming   = steering{core.ToResume, func(m *catalog.DBusMap) *catalog.DBusSteer { return m.Resume }}
)

// steer cancels, pauses or resumes a task. One whose call is not answered yet is steered when it is; but a stop that needs nothing of the
// answer waits only until the call is on its way, behind which it stays: a service that hangs over its call may well hear it.
func (b *mapped) steer(ctx context.Context, task core.TaskID, method catalog.Method, how steering, done func(core.Event, error)) {
	j := b.find(task, method)
	if j == nil {
		b.give(done, nil, fmt.Errorf("nothing is known of task %s", task))
		return
	}
	sent := j.sent
	if how.to != "" || byOf(j.spec) == catalog.DBusByHandle {
		sent = nil
	}
	select {
	case <-sent:
	case <-j.answered:
	case <-ctx.Done():
		b.give(done, nil, fmt.Errorf("its call is not answered: %w", context.Cause(ctx)))
		return
	}
	answer := core.StopAnswered{Task: task, To: how.to}
	call := how.call(j.spec)
	b.mem.mu.Lock()
	state, g := j.state, given{task: j.id, handle: j.handle}
	j.cancelled = j.cancelled || how.to == "" && call != nil
	b.mem.mu.Unlock()
	switch {
	case call == nil:
		answer.Refused, answer.Reason = true, core.ReasonUnsupported
	case state == never || state == ended:
		answer.Refused, answer.Reason = true, "not_running"
	}
	if answer.Refused {
		b.give(done, answer, nil)
		return
	}
	body, err := b.call(ctx, call.DBusCall, g)
	if as, known := b.meaning(j.spec, err); err != nil && (known && as.As != catalog.DBusUnknown || !known && refuses(err)) {
		answer.Refused, answer.Reason = true, reasonOf(as.Reason, core.ReasonUnsupported)
		b.give(done, answer, nil)
		return
	}
	if err != nil {
		b.give(done, nil, err)
		return
	}
	answer.Accepted = true
	b.steered(j, how, call, said{body: body}, answer, done)
}

// steered answers, and confirms where the reply itself does.
func (b *mapped) steered(j *job, how steering, call *catalog.DBusSteer, reply said, answer core.StopAnswered, done func(core.Event, error)) {
	b.order.Lock()
	defer b.order.Unlock()
	var after []core.Event
	if c := call.Confirmed; c != nil && c.Reply {
		if ok, err := reply.fits(c.Match); err != nil || !ok {
			answer.Accepted, answer.Refused, answer.Reason = false, true, core.ReasonExecutorRefused
		} else {
			b.mem.mu.Lock()
			after = b.confirmed(j, how)
			b.mem.mu.Unlock()
		}
	}
	done(answer, nil)
	b.hand(after)
}

// confirmed makes the event of a cancel, pause or resume that has happened. The memory's lock is held.
func (b *mapped) confirmed(j *job, how steering) []core.Event {
	if j.state == ended || j.state == never {
		return nil
	}
	st := core.TaskStatus{Task: j.id, Known: core.KnownRunning, Instance: b.s.instance(b.owner), Source: string(b.svc.ID)}
	switch how.to {
	case core.ToPause:
		if j.paused {
			return nil
		}
		j.paused, st.Paused = true, true
	case core.ToResume:
		if !j.paused {
			return nil
		}
		j.paused, st.Resumed = false, true
	default:
		if !j.cancelled {
			return nil
		}
		return b.over(j, core.TaskEnded{Task: j.id, Outcome: core.OutcomeCancelled, Source: string(b.svc.ID)})
	}
	return b.say(j, st)
}

// over notes the end of a task. The memory's lock is held.
func (b *mapped) over(j *job, end core.TaskEnded) []core.Event {
	if j.state == ended || j.state == never {
		return nil // the first one stands
	}
	if j.state != calling {
		j.end = &end
		b.mem.finish(j, ended)
	}
	return b.say(j, end)
}

// say gives what is said of a task, or keeps it until its call is answered.
func (b *mapped) say(j *job, ev core.Event) []core.Event {
	if j.state == calling {
		j.early = append(j.early, ev)
		return nil
	}
	return []core.Event{ev}
}

// find gives the task of an id. One of before the agent's start is found again where its operation is known and it needs no handle.
func (b *mapped) find(task core.TaskID, method catalog.Method) *job {
	m := b.mem
	m.mu.Lock()
	defer m.mu.Unlock()
	op, ok := b.spec.Operations[method]
	if j := m.jobs[task]; j != nil || !ok || byOf(op.Binding.DBus.Map) == catalog.DBusByHandle {
		return j
	}
	j := &job{id: task, method: method, spec: op.Binding.DBus.Map, state: lost, instance: b.s.instance(b.owner)}
	m.add(j)
	if slot, single := j.slot(); single && m.slots[slot] == nil {
		m.slots[slot] = j
	}
	return j
}

// ask asks how a task stands; the state is one of the words of [catalog.DBusQuery].
func (b *mapped) ask(ctx context.Context, q *catalog.DBusQuery, g given) (string, said, error) {
	var s said
	var err error
	if q.Property != "" {
		s, err = b.get(ctx, q.DBusPlace, q.Property)
	} else {
		s.body, err = b.question(ctx, q.DBusCall, g)
	}
	var e godbus.Error
	if errors.As(err, &e) && q.Errors[e.Name] != "" {
		return q.Errors[e.Name], said{}, nil
	}
	if err != nil {
		return "", s, err
	}
	raw, err := s.raw(q.Field)
	if err != nil {
		return "", s, err
	}
	text, err := textOf(raw)
	if err != nil {
		return "", s, err
	}
	if q.States[text] == "" {
		return "", s, fmt.Errorf("the map has no row for the state %.64q", text)
	}
	return q.States[text], s, nil
}

// get reads a property.
func (b *mapped) get(ctx context.Context, place catalog.DBusPlace, property string) (said, error) {
	path, iface := place.At(b.spec.Service)
	text := func(s string) catalog.DBusArg { return catalog.DBusArg{Type: "s", Value: s} }
	body, err := b.question(ctx, catalog.DBusCall{DBusPlace: catalog.DBusPlace{Path: path, Interface: properties1}, Method: "Get",
		Args: []catalog.DBusArg{text(iface), text(property)}}, given{})
	if err == nil && len(body) != 1 {
		err = fmt.Errorf("%s was answered with %d values", property, len(body))
	}
	return said{body: body, property: true}, err
}

const properties1 = "org.freedesktop.DBus.Properties"

// query tells what is known of a task: what was heard of its end, else what the service says now.
func (b *mapped) query(ctx context.Context, o core.Query, done func(core.Event, error)) {
	j := b.find(o.Task, o.Method)
	if j == nil { // of before the agent's start, and known to the service by an id that nobody remembers
		b.give(done, core.TaskStatus{Task: o.Task, Known: core.KnownNot}, nil)
		return
	}
	b.mem.mu.Lock()
	st, known := b.remembered(j)
	q, g := j.spec.Query, given{task: j.id, handle: j.handle}
	b.mem.mu.Unlock()
	switch {
	case known:
		b.give(done, st, nil)
	case q == nil:
		b.give(done, core.TaskStatus{Task: o.Task, Known: core.KnownNot}, nil)
	default:
		state, s, err := b.ask(ctx, q, g)
		if err != nil {
			b.give(done, nil, err)
			return
		}
		b.stands(j, q, state, s, done)
	}
}

// remembered says how a task stands where that is known here. The memory's lock is held.
func (b *mapped) remembered(j *job) (core.TaskStatus, bool) {
	st := core.TaskStatus{Task: j.id, Known: core.KnownNot}
	canAsk := j.spec.Query != nil && (byOf(j.spec) != catalog.DBusByHandle || j.handle != nil)
	switch {
	case j.state == never:
		st.Sealed = true
	case j.state == ended:
		st.Known, st.Ended, st.Event = core.KnownEnded, j.end, j.event
	case canAsk:
		return st, false
	case j.state == live:
		st.Known, st.Paused = core.KnownRunning, j.paused
	case j.state == calling:
		st.Known = core.KnownNoAnswer
	}
	return st, true
}

// stands takes the service's word on a task.
func (b *mapped) stands(j *job, q *catalog.DBusQuery, state string, s said, done func(core.Event, error)) {
	b.order.Lock()
	defer b.order.Unlock()
	b.mem.mu.Lock()
	st := core.TaskStatus{Task: j.id, Known: core.KnownNot}
	switch {
	case j.state == never || j.state == ended: // it was told meanwhile
		st, _ = b.remembered(j)
	case byOf(j.spec) == catalog.DBusBySingle && !b.mem.has(j): // what it says is about another one
	case state == catalog.DBusRunning || state == catalog.DBusPaused:
		st.Known, st.Paused = core.KnownRunning, state == catalog.DBusPaused
		if j.state == lost {
			j.state = live
		}
		j.paused = st.Paused
	case j.state == calling: // it says nothing of a call that may still be on its way
		st.Known = core.KnownNoAnswer
	case state == catalog.DBusUnknown && byOf(j.spec) == catalog.DBusByID:
		b.mem.finish(j, never)
		st.Sealed = true
	case state == catalog.DBusUnknown:
	default:
		b.asEnded(j, &st, q, state, s)
	}
	b.mem.mu.Unlock()
	done(st, nil)
}

// asEnded takes its word that a task has ended. The memory's lock is held.
func (b *mapped) asEnded(j *job, st *core.TaskStatus, q *catalog.DBusQuery, state string, s said) {
	end, err := b.endOf(j.id, j.method, catalog.DBusResult{Outcome: state, Reason: q.Reason, Output: q.Output}, s)
	if err != nil {
		st.Known = core.KnownNoAnswer
		return
	}
	j.end = &end
	b.mem.finish(j, ended)
	st.Known, st.Ended, st.Event = core.KnownEnded, j.end, j.event
}

// read reads context values and answers with them. One that a signal told meanwhile counts as told: it is not older than the reading.
func (b *mapped) read(ctx context.Context, keys []catalog.ContextKey, done func(core.Event, error)) {
	values := b.readAll(ctx, keys)
	b.order.Lock()
	defer b.order.Unlock()
	done(core.ContextRead{Values: b.newest(values)}, nil)
}

// reading is one value that was read, and how often it had been told before.
type reading struct {
	value  core.ContextValue
	before int
}

func (b *mapped) readAll(ctx context.Context, keys []catalog.ContextKey) []reading {
	out := make([]reading, len(keys))
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() {
			b.order.Lock()
			out[i].before = b.version[key]
			b.order.Unlock()
			out[i].value = b.readOne(ctx, key)
		})
	}
	wg.Wait()
	return out
}

func (b *mapped) readOne(ctx context.Context, key catalog.ContextKey) core.ContextValue {
	none := core.ContextValue{Key: key}
	c, ok := b.spec.Service.Context[key]
	if !ok || b.mem.slow(key) {
		return none
	}
	ctx, cancel := context.WithTimeout(ctx, min(readTime, b.s.o.Limit))
	defer cancel()
	var s said
	var err error
	if c.Property != "" {
		s, err = b.get(ctx, c.DBusPlace, c.Property)
	} else {
		s.body, err = b.question(ctx, c.DBusCall, given{})
	}
	if errors.Is(err, context.DeadlineExceeded) {
		b.mem.isSlow(key)
	}
	if err != nil {
		b.complain(err, "context value cannot be read", string(key))
		return none
	}
	return b.contextValue(key, s, c.DBusField)
}

// readTime bounds the reading of one value. Who waits for it waits for less.
const readTime = 5 * time.Second

// contextValue makes the value of a key of what was said. What cannot be one is none: the value before it does not hold any more.
func (b *mapped) contextValue(key catalog.ContextKey, s said, f catalog.DBusField) core.ContextValue {
	c, decl := b.spec.Service.Context[key], b.spec.Catalog.Context[key]
	v, err := s.value(f, decl.Type, decl.Enum)
	if err != nil {
		b.complain(err, "context value is none that the catalog knows", string(key))
		return core.ContextValue{Key: key}
	}
	return core.ContextValue{Key: key, Value: v, Class: c.Class, Available: true}
}

// newest takes of each key what is known last. The order lock is held.
func (b *mapped) newest(values []reading) []core.ContextValue {
	out := make([]core.ContextValue, len(values))
	for i, r := range values {
		out[i] = r.value
		if key := r.value.Key; b.version[key] != r.before {
			out[i] = b.told[key]
		}
	}
	return out
}

// readAnew reads keys unasked: all when the service is there, one when its value is said to be old.
func (b *mapped) readAnew(keys []catalog.ContextKey) {
	if len(keys) == 0 {
		return
	}
	b.s.spawn(func() {
		ctx, cancel := context.WithTimeout(b.life, b.s.o.Limit)
		defer cancel()
		values := b.readAll(ctx, keys)
		b.order.Lock()
		defer b.order.Unlock()
		if b.life.Err() == nil {
			b.hand([]core.Event{core.ContextRead{Source: string(b.svc.ID), Values: b.newest(values)}})
		}
	})
}

// complain logs what a service said wrong.
func (b *mapped) complain(err error, what, about string) {
	if b.life.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	b.s.o.Log.Warn().Err(err).Str("service", string(b.svc.ID)).Str("about", about).Msg(what)
}
