package sim

import (
	"fmt"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// robot is the home of the simulation: wheels, a cleaner, a screen, and the service that answers for them. What it does is
// written in its own log, which knows nothing of the core; the checker believes that log alone.
type robot struct {
	m        *sim
	instance int
	there    bool // connected to the agent
	line     int  // of the connection: what was sent on an earlier one never arrives
	known    map[core.TaskID]*deed
	sealed   map[core.TaskID]bool
	deeds    map[core.TaskID]*deed // of all time
	motion   map[catalog.ResourceID]*deed
	values   map[catalog.ContextKey]any
	changed  map[catalog.ContextKey]int64 // when somebody else changed it
}

// deed is one task as the robot knows it.
type deed struct {
	task    core.TaskID
	d       core.Dispatch
	arrived int64
	began   int64 // 0: never
	ended   int64 // of its motion
	effect  int64 // when its effect came about, 0: never
	over    bool  // the service counts it as ended
	end     *core.TaskEnded
	event   *core.Observed
	mute    bool // its events carry no task id
	silent  bool // its end is not reported
	stops   bool
}

func newRobot(m *sim) *robot {
	return &robot{m: m, instance: 1, known: map[core.TaskID]*deed{}, sealed: map[core.TaskID]bool{}, deeds: map[core.TaskID]*deed{},
		motion: map[catalog.ResourceID]*deed{}, changed: map[catalog.ContextKey]int64{}, values: map[catalog.ContextKey]any{
			"battery.level": 80.0, "battery.charging": false, "cleaning.is_running": false, "display.brightness": 80.0, "sound.volume": 50.0,
			"sound.muted": false, "mode.night": false, "mode.manner": false, "movement.location": "study", "movement.is_moving": false,
			"station.docked": false, "air.pm25": 12.0, "air.grade": "good"}}
}

func (r *robot) name() string { return fmt.Sprintf("run-%d", r.instance) }

// say tells the agent something after a while, unless the line breaks before.
func (r *robot) say(after int64, ev core.Event) {
	line := r.line
	r.m.at(after, func() {
		if r.line == line && r.there {
			r.m.tell(ev)
		}
	})
}

// carry takes an output of the core.
func (r *robot) carry(out core.Output) {
	m := r.m
	if !r.there {
		switch o := out.(type) {
		case core.Dispatch:
			m.at(1, func() { m.tell(core.TaskAnswered{Task: o.Task, NotSent: true, Reason: core.ReasonExecutorUnavail}) })
		case core.Query:
			m.at(1, func() { m.tell(core.TaskStatus{Task: o.Task, Known: core.KnownNoAnswer}) })
		case core.Stop:
			m.at(1, func() { m.tell(core.StopAnswered{Task: o.Task, Reason: core.ReasonExecutorUnavail}) })
		case core.Read:
			m.at(1, func() { m.tell(r.read(o.Keys, false)) })
		}
		return
	}
	line := r.line
	after := m.between(5, 100)
	alive := func(f func()) func() {
		return func() {
			if r.line == line && r.there {
				f()
			}
		}
	}
	switch o := out.(type) {
	case core.Dispatch:
		r.dispatch(o, alive)
	case core.Query:
		if !m.fault(6) {
			m.at(after, alive(func() { r.query(o) }))
		}
	case core.Stop:
		if !m.fault(6) {
			m.at(after, alive(func() { r.stop(o) }))
		}
	case core.Read:
		if !m.fault(20) {
			gone := m.fault(15)
			m.at(after, alive(func() { m.tell(r.read(o.Keys, !gone)) }))
		}
	}
}

func (r *robot) read(keys []catalog.ContextKey, there bool) core.ContextRead {
	ev := core.ContextRead{Source: "home"}
	for _, k := range keys {
		v, ok := r.values[k]
		if !there || !ok {
			ev.Values = append(ev.Values, core.ContextValue{Key: k})
			continue
		}
		ev.Values = append(ev.Values, core.ContextValue{Key: k, Value: v, Available: true})
	}
	return ev
}

// dispatch: the call goes out, and the dice say what becomes of it.
func (r *robot) dispatch(o core.Dispatch, alive func(func()) func()) {
	m := r.m
	after, unknown := m.between(5, 100), func() { r.say(30_000, core.TaskAnswered{Task: o.Task, Unknown: true}) }
	switch m.dice(24) {
	case 0: // refused
		m.at(after, alive(func() {
			m.tell(core.TaskAnswered{Task: o.Task, Reason: []core.Reason{"executor_refused", "prerequisite_unmet"}[m.rnd.IntN(2)]})
		}))
	case 1: // lost on the way
		unknown()
	case 2: // it runs, and the answer is lost
		m.at(after, alive(func() { r.begin(o, false) }))
		unknown()
	case 3: // on its way for a long time
		m.at(m.between(1_000, 20_000), alive(func() { r.begin(o, true) }))
	case 4: // the answer is late
		m.at(after, alive(func() { r.begin(o, false) }))
		r.say(m.between(2_000, 20_000), core.TaskAnswered{Task: o.Task, Accepted: true, Instance: r.name()})
	case 5: // never left
		m.at(after, alive(func() { m.tell(core.TaskAnswered{Task: o.Task, NotSent: true, Reason: core.ReasonExecutorBusy}) }))
	case 6: // an error after it was sent; did it run?
		if m.coin() {
			m.at(after, alive(func() { r.begin(o, false) }))
		}
		r.say(after+10, core.TaskAnswered{Task: o.Task, Unknown: true})
	case 7: // a lie: done, without doing
		d := &deed{task: o.Task, d: o, arrived: m.T, over: true, end: &core.TaskEnded{Task: o.Task, Outcome: core.OutcomeDone}}
		r.deeds[o.Task], r.known[o.Task] = d, d
		r.say(after, core.TaskAnswered{Task: o.Task, Accepted: true, Instance: r.name()})
		r.say(after+m.between(0, 5_000), *d.end)
	default:
		m.at(after, alive(func() { r.begin(o, true) }))
	}
}

// uses names the moving parts of a call.
func (r *robot) uses(o core.Dispatch) (out []catalog.ResourceID) {
	switch o.Method {
	case "setMoveTo", "returnToStation":
		return []catalog.ResourceID{"base"}
	case "startBasicAirClear":
		if o.Params["mode"] != "fixed" {
			return []catalog.ResourceID{"cleaner", "base"}
		}
		return []catalog.ResourceID{"cleaner"}
	case "startVitalSign":
		return []catalog.ResourceID{"vital"}
	}
	return nil
}

// begin really starts a task.
func (r *robot) begin(o core.Dispatch, answer bool) {
	m := r.m
	if r.known[o.Task] != nil || r.sealed[o.Task] {
		m.tell(core.TaskAnswered{Task: o.Task, Reason: "task_known"})
		return
	}
	d := &deed{task: o.Task, d: o, arrived: m.T, began: m.T, mute: m.fault(6), silent: m.fault(10)}
	if old := r.deeds[o.Task]; old != nil && old.began != 0 {
		m.failf("task %s began twice", o.Task)
	}
	r.deeds[o.Task], r.known[o.Task] = d, d
	for _, res := range r.uses(o) {
		if other := r.motion[res]; other != nil && other.task != "" {
			m.failf("%s of %s begins on %s while %s of %s still uses it", o.Method, o.Task, res, other.d.Method, other.task)
		}
		r.motion[res] = d
	}
	m.judge.began(d)
	m.note("robot begins %s %s %v", o.Task, o.Method, o.Params)
	if answer {
		m.tell(core.TaskAnswered{Task: o.Task, Accepted: true, Instance: r.name()})
		if m.fault(10) {
			r.say(m.between(1, 2_000), core.TaskAnswered{Task: o.Task, Accepted: true, Instance: r.name()})
		}
	}
	r.setOut(d)
}

// setOut plays the first moment of a task, and plans its last.
func (r *robot) setOut(d *deed) {
	m := r.m
	long := m.between(50, 800)
	switch d.d.Method {
	case "setMoveTo", "returnToStation":
		r.set("movement.is_moving", true)
		r.set("movement.location", "hall")
		r.set("station.docked", false)
		r.event(d, "movement.started", nil, false)
		long = m.between(3_000, 30_000)
	case "startBasicAirClear":
		r.set("cleaning.is_running", true)
		d.effect = m.T
		if d.d.Params["mode"] != "fixed" {
			r.set("movement.is_moving", true)
			r.set("movement.location", "hall")
		}
		r.event(d, "cleaning.started", nil, false)
		min, _ := d.d.Params["duration_min"].(float64)
		long = int64(min) * 60_000
	case "startVitalSign":
		long = m.between(5_000, 400_000)
	}
	if m.fault(8) { // it breaks on the way
		m.at(long/2, func() { r.finish(d, core.OutcomeFailed) })
		return
	}
	m.at(long, func() { r.finish(d, core.OutcomeDone) })
}

func (r *robot) set(k catalog.ContextKey, v any) { r.values[k] = v }

// event reports something of a task, now; the last one is what a Query tells.
func (r *robot) event(d *deed, name catalog.EventName, data core.Values, last bool) {
	ev := core.Observed{Event: name, Task: d.task, Source: "home", Data: data}
	if d.mute {
		ev.Task = ""
	}
	if last && !r.m.fault(4) {
		rec := ev
		rec.Task = d.task
		d.event = &rec
	}
	if r.m.fault(10) {
		return
	}
	r.say(r.m.between(0, 50), ev)
	if !d.mute && r.m.fault(10) { // who names no task must not repeat itself either: nobody could tell
		r.say(r.m.between(100, 60_000), ev)
	}
}

// finish ends the motion of a task.
func (r *robot) finish(d *deed, how core.Outcome) {
	m := r.m
	if d.ended != 0 || d.stops && how != core.OutcomeCancelled {
		return
	}
	d.ended = m.T
	for res, other := range r.motion {
		if other == d {
			delete(r.motion, res)
		}
	}
	m.note("robot ends %s %s %s", d.task, d.d.Method, how)
	r.apply(d, how)
	if r.known[d.task] != d {
		return // the service of today does not know it
	}
	d.over = true
	d.end = &core.TaskEnded{Task: d.task, Outcome: how}
	if how == core.OutcomeFailed {
		d.end.Reason = []core.Reason{"robot_fault", core.ReasonExecutorBusy}[m.rnd.IntN(2)] // for good, or passing
	}
	if how == core.OutcomeDone {
		switch d.d.Method {
		case "getAirQuality":
			d.end.Output = core.Values{"pm25": 12.0, "grade": r.values["air.grade"]}
		case "getBatteryStatus":
			d.end.Output = core.Values{"level": r.values["battery.level"], "charging": false}
		}
	}
	if !d.silent {
		r.say(m.between(0, 100), *d.end)
		if m.fault(10) {
			r.say(m.between(1, 20_000), core.TaskEnded{Task: d.task, Outcome: core.OutcomeFailed})
		}
	}
}

func (r *robot) apply(d *deed, how core.Outcome) {
	done := how == core.OutcomeDone
	p := d.d.Params
	effect := func(name catalog.EventName, data core.Values) {
		d.effect = r.m.T
		r.event(d, name, data, true)
	}
	switch d.d.Method {
	case "external":
		r.set("movement.is_moving", false)
	case "setMoveTo":
		r.set("movement.is_moving", false)
		r.pick(done, d, "movement.arrived", core.Values{"room_id": p["position"]}, "movement.failed", how)
		if done {
			r.set("movement.location", p["position"])
		}
	case "returnToStation":
		r.set("movement.is_moving", false)
		r.pick(done, d, "station.docked", nil, "movement.failed", how)
		if done {
			r.set("station.docked", true)
			r.set("movement.location", "dock")
		}
	case "startBasicAirClear":
		r.set("cleaning.is_running", false)
		if p["mode"] != "fixed" {
			r.set("movement.is_moving", false)
		}
		r.pick(done, d, "cleaning.completed", nil, "cleaning.failed", how)
	case "startVitalSign":
		r.pick(done, d, "vital.completed", nil, "vital.cancelled", how)
	case "setScreen":
		if done {
			r.screen(p)
			effect("display.changed", p)
		}
	case "setVolume":
		if done {
			for k, to := range map[string]catalog.ContextKey{"level": "sound.volume", "mute": "sound.muted"} {
				if v, ok := p[k]; ok {
					r.set(to, v)
				}
			}
			effect("sound.changed", core.Values{"level": p["level"], "muted": r.values["sound.muted"]})
		}
	case "setMannerMode":
		if done {
			r.set("mode.manner", p["on"])
			effect("mode.changed", core.Values{"mode": "manner", "on": p["on"]})
		}
	case "getAirQuality", "getBatteryStatus":
		if done {
			d.effect = r.m.T
		}
	case "stopMovement":
		r.halt(d, "base", done)
	case "stopCleaning":
		r.halt(d, "cleaner", done)
	}
}

// pick reports the good end, or the bad one.
func (r *robot) pick(done bool, d *deed, good catalog.EventName, data core.Values, bad catalog.EventName, how core.Outcome) {
	switch {
	case done:
		d.effect = r.m.T
		if d.d.Method == "startBasicAirClear" {
			d.effect = d.began
		}
		r.event(d, good, data, true)
	case how == core.OutcomeCancelled && d.d.Method == "startBasicAirClear":
		r.event(d, "cleaning.stopped", nil, true)
	case how == core.OutcomeCancelled && d.d.Method != "startVitalSign":
		r.event(d, "movement.stopped", nil, true)
	default:
		r.event(d, bad, nil, true)
	}
}

func (r *robot) screen(p core.Values) {
	if v, ok := p["brightness"]; ok {
		r.set("display.brightness", v)
	} else if p["on"] == false {
		r.set("display.brightness", 0.0)
	} else {
		r.set("display.brightness", 80.0)
	}
}

// halt is a stop operation: whatever uses the part is ended.
func (r *robot) halt(d *deed, res catalog.ResourceID, done bool) {
	if !done {
		return
	}
	if other := r.motion[res]; other != nil {
		other.stops = true
		r.finish(other, core.OutcomeCancelled)
	}
	d.effect = r.m.T
}

func (r *robot) query(o core.Query) {
	d := r.known[o.Task]
	st := core.TaskStatus{Task: o.Task, Instance: r.name()}
	switch {
	case d == nil:
		r.sealed[o.Task] = true
		st.Known, st.Sealed = core.KnownNot, true
	case d.over:
		st.Known, st.Ended, st.Event = core.KnownEnded, d.end, d.event
	default:
		st.Known = core.KnownRunning
	}
	r.m.tell(st)
}

func (r *robot) stop(o core.Stop) {
	m := r.m
	d := r.known[o.Task]
	if d == nil {
		m.tell(core.StopAnswered{Task: o.Task, Refused: true, Reason: "task_unknown"})
		return
	}
	switch m.dice(10) {
	case 0:
		m.tell(core.StopAnswered{Task: o.Task, Refused: true, Reason: core.ReasonCancelRefused})
		return
	case 1: // it says yes and goes on
		m.tell(core.StopAnswered{Task: o.Task, Accepted: true})
		return
	}
	m.tell(core.StopAnswered{Task: o.Task, Accepted: true})
	if !d.over && d.ended == 0 {
		d.stops = true
		m.at(m.between(100, 3_000), func() { r.finish(d, core.OutcomeCancelled) })
	}
}

// reboot is a new start of the robot's service: it knows no task of before. A motion under way stops, or goes on by
// itself; what no sensor can see ends with the service.
func (r *robot) reboot() {
	r.m.note("robot service restarts")
	r.hangUp()
	r.instance++
	for _, res := range []catalog.ResourceID{"base", "cleaner", "vital"} {
		if d := r.motion[res]; d != nil && (res == "vital" || r.m.coin()) {
			d.stops = true
			r.finish(d, core.OutcomeCancelled)
		}
	}
	r.known, r.sealed = map[core.TaskID]*deed{}, map[core.TaskID]bool{}
}

// hangUp breaks the line to the agent; callIn makes a new one.
func (r *robot) hangUp() {
	if r.there {
		r.there = false
		r.m.tell(core.ExecutorDown{Service: "home"})
	}
	r.line++
}

func (r *robot) callIn() {
	if r.there || !r.m.up {
		return
	}
	r.there = true
	r.line++
	r.m.tell(core.ExecutorUp{Service: "home", Instance: r.name(), Methods: r.m.methods})
}

// byItself moves the robot without anybody of us having asked.
func (r *robot) byItself() {
	if r.motion["base"] != nil {
		return
	}
	r.m.note("robot moves by itself")
	d := &deed{d: core.Dispatch{Method: "external"}}
	r.motion["base"] = d
	r.set("movement.is_moving", true)
	r.set("movement.location", "hall")
	r.changed["movement.location"], r.changed["station.docked"] = r.m.T, r.m.T
	r.set("station.docked", false)
	r.say(0, core.Observed{Event: "external_start", Resource: "base", Source: "home"})
	r.m.at(r.m.between(2_000, 8_000), func() {
		if r.motion["base"] == d {
			delete(r.motion, "base")
			room := r.m.room()
			r.set("movement.is_moving", false)
			r.set("movement.location", room)
			r.changed["movement.location"] = r.m.T
			r.say(0, core.Observed{Event: "external_stop", Resource: "base", Source: "home"})
			r.say(0, core.Observed{Event: "movement.arrived", Source: "home", Data: core.Values{"room_id": room}})
		}
	})
}
