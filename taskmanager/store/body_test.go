package store

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

// body is the robot of the power-cut replay. What it has done and what it is about outlives the agent: [body.memory] is what it knows at
// a moment, and a new body made from it goes on from there.
type body struct {
	executors.Waiting
	sink func(context.Context, core.Event) error
	note func(any)
	ctx  context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	mu   sync.Mutex
	mem  memory
	runs map[core.TaskID]*time.Timer
}

// memory is what a robot knows of its tasks and of itself. It is never changed once it is on a tape.
type memory struct {
	tasks  map[core.TaskID]deed
	sealed map[core.TaskID]bool
	values map[catalog.ContextKey]any
	faults []string // of those who command it: two motions at once, a task that comes twice
}

func (m memory) clone() memory {
	return memory{maps.Clone(m.tasks), maps.Clone(m.sealed), maps.Clone(m.values), slices.Clone(m.faults)}
}

func (m memory) busy() bool {
	for _, d := range m.tasks {
		if d.ended == nil {
			return true
		}
	}
	return false
}

// deed is one task that began.
type deed struct {
	method catalog.Method
	params core.Values
	left   time.Duration // until it ends by itself; of a running one
	until  time.Time
	ended  *core.TaskEnded
	event  *core.Observed
}

// workTime is how long each kind of task takes; what is not here ends at once.
var workTime = map[catalog.Method]time.Duration{"setMoveTo": 6 * time.Second, "startBasicAirClear": 20 * time.Second}

// moving are the tasks that must not be done twice, and of which one runs at a time.
var moving = map[catalog.Method]bool{"setMoveTo": true, "startBasicAirClear": true}

func newMemory() memory {
	return memory{tasks: map[core.TaskID]deed{}, sealed: map[core.TaskID]bool{}, values: map[catalog.ContextKey]any{
		"battery.level": 80.0, "battery.charging": false, "movement.location": "study", "movement.is_moving": false, "cleaning.is_running": false,
		"mode.manner": true, "safety.state": "normal", "station.docked": false}}
}

func newBody(mem memory, sink func(context.Context, core.Event) error, note func(any)) *body {
	b := &body{sink: sink, note: note, mem: mem.clone(), runs: map[core.TaskID]*time.Timer{}}
	b.Beginner = b
	b.ctx, b.end = context.WithCancel(context.Background())
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, d := range b.mem.tasks {
		if d.ended == nil {
			b.run(id, d)
		}
	}
	b.note(b.known())
	return b
}

// memory is what it knows now.
func (b *body) memory() memory {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known()
}

func (b *body) known() memory {
	m := b.mem.clone()
	for id, d := range m.tasks {
		if d.ended == nil {
			d.left = time.Until(d.until)
			m.tasks[id] = d
		}
	}
	return m
}

// close leaves everything as it is.
func (b *body) close() {
	b.mu.Lock()
	for _, t := range b.runs {
		t.Stop()
	}
	b.mu.Unlock()
	b.end()
	b.wg.Wait()
}

// restarted is a robot that was switched off as well: it knows nothing of what ran.
func (m memory) restarted() memory {
	m = m.clone()
	maps.DeleteFunc(m.tasks, func(_ core.TaskID, d deed) bool { return d.ended == nil })
	m.values["movement.is_moving"], m.values["cleaning.is_running"] = false, false
	return m
}

// tell says events to the agent, in order; nobody waits for it.
func (b *body) tell(evs ...core.Event) {
	b.wg.Go(func() {
		for _, ev := range evs {
			if b.sink(b.ctx, ev) != nil {
				return
			}
		}
	})
}

// Begin implements [executors.Beginner].
func (b *body) Begin(out core.Output, done func(core.Event, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return executors.ErrNotSent
	}
	ev := b.reply(out)
	b.note(called{out})
	b.note(b.known())
	b.wg.Go(func() { done(ev, nil) })
	return nil
}

func (b *body) reply(out core.Output) core.Event {
	switch o := out.(type) {
	case core.Dispatch:
		return b.dispatch(o)
	case core.Query:
		d, ok := b.mem.tasks[o.Task]
		switch {
		case !ok:
			b.mem.sealed[o.Task] = true
			return core.TaskStatus{Task: o.Task, Known: core.KnownNot, Sealed: true}
		case d.ended != nil:
			return core.TaskStatus{Task: o.Task, Known: core.KnownEnded, Ended: d.ended, Event: d.event}
		}
		return core.TaskStatus{Task: o.Task, Known: core.KnownRunning}
	case core.Stop:
		d, ok := b.mem.tasks[o.Task]
		if !ok {
			return core.StopAnswered{Task: o.Task, Refused: true, Reason: "task_unknown"}
		}
		if d.ended == nil {
			b.ends(o.Task, core.OutcomeCancelled)
		}
		return core.StopAnswered{Task: o.Task, Accepted: true}
	case core.Pause:
		return core.StopAnswered{Task: o.Task, Refused: true, Reason: "not_now"}
	case core.Resume:
		return core.StopAnswered{Task: o.Task, Refused: true, Reason: "not_now"}
	case core.Read:
		ev := core.ContextRead{Source: "home"}
		for _, key := range o.Keys {
			v, ok := b.mem.values[key]
			ev.Values = append(ev.Values, core.ContextValue{Key: key, Value: v, Class: catalog.Independent, Available: ok})
		}
		return ev
	}
	return nil
}

func (b *body) dispatch(o core.Dispatch) core.Event {
	if _, known := b.mem.tasks[o.Task]; known {
		b.mem.faults = append(b.mem.faults, "task "+string(o.Task)+" was dispatched twice")
		return core.TaskAnswered{Task: o.Task, Reason: "task_known"}
	}
	if b.mem.sealed[o.Task] {
		return core.TaskAnswered{Task: o.Task, Reason: "task_sealed"}
	}
	for id, d := range b.mem.tasks {
		if d.ended == nil && moving[o.Method] && d.method == o.Method {
			b.mem.faults = append(b.mem.faults, "task "+string(o.Task)+" began while "+string(id)+" was running")
		}
	}
	d := deed{method: o.Method, params: o.Params, left: workTime[o.Method]}
	b.mem.tasks[o.Task] = d
	switch o.Method {
	case "setMoveTo":
		b.mem.values["movement.is_moving"] = true
	case "startBasicAirClear":
		b.mem.values["cleaning.is_running"] = true
		b.tell(core.Observed{Event: "cleaning.started", Task: o.Task, Source: "home", Class: catalog.Independent, Data: core.Values{"mode": "fixed"}})
	}
	b.run(o.Task, d)
	return core.TaskAnswered{Task: o.Task, Accepted: true}
}

// run lets a task take its time. The caller holds the lock.
func (b *body) run(id core.TaskID, d deed) {
	d.until = time.Now().Add(d.left)
	b.mem.tasks[id] = d
	b.runs[id] = time.AfterFunc(d.left, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.ctx.Err() == nil && b.mem.tasks[id].ended == nil {
			b.ends(id, core.OutcomeDone)
			b.note(b.known())
		}
	})
}

// ends ends a task and says what was seen of it. The caller holds the lock.
func (b *body) ends(id core.TaskID, how core.Outcome) {
	d := b.mem.tasks[id]
	d.ended = &core.TaskEnded{Task: id, Outcome: how, Source: "home"}
	see := func(name catalog.EventName, data core.Values) {
		d.event = &core.Observed{Event: name, Task: id, Source: "home", Class: catalog.Independent, Data: data}
	}
	switch d.method {
	case "setMoveTo":
		b.mem.values["movement.is_moving"] = false
		if how == core.OutcomeDone {
			b.mem.values["movement.location"] = d.params["position"]
			see("movement.arrived", core.Values{"room_id": d.params["position"]})
		} else {
			see("movement.stopped", nil)
		}
	case "startBasicAirClear":
		b.mem.values["cleaning.is_running"] = false
		if how == core.OutcomeDone {
			see("cleaning.completed", core.Values{"mode": "fixed"})
		} else {
			see("cleaning.stopped", nil)
		}
	case "setMannerMode":
		b.mem.values["mode.manner"] = d.params["on"]
		see("mode.changed", core.Values{"mode": "manner", "on": d.params["on"]})
	case "getBatteryStatus":
		d.ended.Output = core.Values{"level": 80.0, "charging": false}
	case "getAirQuality":
		d.ended.Output = core.Values{"pm25": 12.0, "grade": "good"}
	}
	b.mem.tasks[id] = d
	if t := b.runs[id]; t != nil {
		t.Stop()
	}
	if d.event != nil {
		b.tell(*d.event, *d.ended)
	} else {
		b.tell(*d.ended)
	}
}
