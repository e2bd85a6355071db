package fake

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Reasons of refusals that no script asked for.
const (
	ReasonTaskKnown   core.Reason = "task_known"   // a second Dispatch with the same id
	ReasonTaskSealed  core.Reason = "task_sealed"  // a Dispatch with an id that a Query has sealed
	ReasonTaskUnknown core.Reason = "task_unknown" // a Cancel, Pause or Resume of no task that runs
)

// Call is one call that the executor got.
type Call struct {
	At  time.Time
	Out core.Output
}

// Executor is a Binding. It hands calls over in order ([executors.Beginner]).
type Executor struct {
	executors.Waiting
	service core.ServiceID
	sink    executors.Sink
	life    context.Context
	end     context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	scripts map[catalog.Method]Script
	tasks   map[core.TaskID]*task
	sealed  map[core.TaskID]bool
	values  map[catalog.ContextKey]core.ContextValue
	log     []Call
	began   []core.TaskID
}

// task is one that began.
type task struct {
	id     core.TaskID
	script Script
	stop   chan struct{} // closed by a Cancel
	toggle chan struct{} // pause, resume
	paused bool
	dead   bool // stop is closed
	ended  *core.TaskEnded
	event  *core.Observed
}

// New makes an executor that reports to sink. [Executor.Close] ends it.
func New(service core.ServiceID, sink executors.Sink) *Executor {
	life, end := context.WithCancel(context.Background())
	e := &Executor{service: service, sink: sink, life: life, end: end, scripts: map[catalog.Method]Script{},
		tasks: map[core.TaskID]*task{}, sealed: map[core.TaskID]bool{}, values: map[catalog.ContextKey]core.ContextValue{}}
	e.Beginner = e
	return e
}

// Close ends all tasks without a report, as a power cut would, and waits for the executor's goroutines.
func (e *Executor) Close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.end()
	e.wg.Wait()
}

// On sets the script of a method for the tasks that come from now on.
func (e *Executor) On(m catalog.Method, s Script) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.scripts[m] = s
}

// Set sets what a Read of key answers. A key that was never set is not available.
func (e *Executor) Set(v core.ContextValue) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.values[v.Key] = v
}

// Emit reports events that belong to no script.
func (e *Executor) Emit(evs ...core.Event) {
	for _, ev := range evs {
		_ = e.sink(e.life, ev) // after Close nobody listens
	}
}

// Log is every call in the order in which it came.
func (e *Executor) Log() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.log)
}

// Began is every task that really began, in order. An id that is there twice moved the robot twice.
func (e *Executor) Began() []core.TaskID {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.began)
}

// Running is every task that began and has not ended, sorted.
func (e *Executor) Running() []core.TaskID {
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []core.TaskID
	for _, id := range slices.Sorted(maps.Keys(e.tasks)) {
		if e.tasks[id].ended == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Begin implements [executors.Beginner].
func (e *Executor) Begin(out core.Output, done func(core.Event, error)) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return executors.ErrNotSent
	}
	e.log = append(e.log, Call{At: time.Now(), Out: out})
	if d, ok := out.(core.Dispatch); ok {
		e.dispatch(d, done)
		return nil
	}
	if ev := e.reply(out); ev != nil {
		e.wg.Go(func() { done(ev, nil) })
	}
	return nil
}

func (e *Executor) dispatch(d core.Dispatch, done func(core.Event, error)) {
	s := e.scripts[d.Method]
	refusal := s.Refuse
	if e.tasks[d.Task] != nil {
		refusal = ReasonTaskKnown
	}
	if e.sealed[d.Task] {
		refusal = ReasonTaskSealed
	}
	switch {
	case refusal != "":
		e.wg.Go(func() {
			if e.sleep(s.AnswerAfter) {
				done(core.TaskAnswered{Task: d.Task, Reason: refusal}, nil)
			}
		})
	case !s.Dead:
		t := &task{id: d.Task, script: s, stop: make(chan struct{}), toggle: make(chan struct{}, 1)}
		e.tasks[d.Task] = t
		e.wg.Go(func() { e.run(t, done) })
	}
}

// reply is the answer to any call but a Dispatch; nil: it hangs.
func (e *Executor) reply(out core.Output) core.Event {
	switch o := out.(type) {
	case core.Query:
		return e.status(o.Task)
	case core.Stop:
		return e.cancel(o.Task)
	case core.Pause:
		return e.toggle(o.Task, true)
	case core.Resume:
		return e.toggle(o.Task, false)
	case core.Read:
		vs := make([]core.ContextValue, len(o.Keys))
		for i, key := range o.Keys {
			vs[i] = e.values[key]
			vs[i].Key = key
		}
		return core.ContextRead{Source: string(e.service), Values: vs}
	}
	return nil
}

func (e *Executor) status(id core.TaskID) core.Event {
	t := e.tasks[id]
	switch {
	case t == nil || t.script.Forgets:
		e.sealed[id] = true
		return core.TaskStatus{Task: id, Known: core.KnownNot, Sealed: true}
	case t.ended != nil:
		return core.TaskStatus{Task: id, Known: core.KnownEnded, Ended: t.ended, Event: t.event}
	}
	return core.TaskStatus{Task: id, Known: core.KnownRunning, Paused: t.paused}
}

func (e *Executor) cancel(id core.TaskID) core.Event {
	t := e.tasks[id]
	switch {
	case t == nil:
		return core.StopAnswered{Task: id, Refused: true, Reason: ReasonTaskUnknown}
	case t.script.HangCancel:
		return nil
	case t.script.RefuseCancel != "":
		return core.StopAnswered{Task: id, Refused: true, Reason: t.script.RefuseCancel}
	}
	if !t.dead {
		t.dead = true
		close(t.stop)
	}
	return core.StopAnswered{Task: id, Accepted: true}
}

func (e *Executor) toggle(id core.TaskID, pause bool) core.Event {
	t := e.tasks[id]
	switch {
	case t == nil || t.ended != nil:
		return core.StopAnswered{Task: id, Refused: true, Reason: ReasonTaskUnknown}
	case t.script.RefusePause != "":
		return core.StopAnswered{Task: id, Refused: true, Reason: t.script.RefusePause}
	}
	if t.paused != pause {
		t.paused = pause
		select {
		case <-t.toggle: // two in a row: nothing changes for the run
		default:
			t.toggle <- struct{}{}
		}
	}
	return core.StopAnswered{Task: id, Accepted: true}
}
