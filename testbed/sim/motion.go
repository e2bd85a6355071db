package sim

import (
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

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
func (r *robot) begin(j *job, answer bool) {
	m := r.m
	if r.known[j.task] != nil || r.sealed[j.task] {
		m.tell(core.TaskAnswered{Task: j.task, Reason: "task_known"})
		return
	}
	j.began = m.T
	if old := r.log[j.task]; old != nil && old.began != 0 {
		m.failf("double operation: task %s began twice", j.task)
	}
	r.log[j.task], r.known[j.task] = j, j
	for _, res := range r.uses(j.call) {
		other := r.motion[res]
		if other != nil && other.resting && !m.judge.restKnown[other.task] { // it rests, nobody could know that, and its robot lets it go for this one
			other.stops = true
			r.finish(other, core.OutcomeCancelled)
			other = nil
		}
		if other != nil && other.task != "" {
			m.failf("overlap: %s of %s begins on %s while %s of %s still uses it", j.call.Method, j.task, res, other.call.Method, other.task)
		}
		r.motion[res] = j
	}
	m.judge.began(j)
	m.note("robot begins %s %s %s %v", j.task, j.fate.name, j.call.Method, j.call.Params)
	if answer {
		m.tell(core.TaskAnswered{Task: j.task, Accepted: true, Instance: r.name()})
		if j.fate.twice {
			r.say(j.fate.between(1, 2_000), core.TaskAnswered{Task: j.task, Accepted: true, Instance: r.name()})
		}
	}
	r.setOut(j)
}

// setOut plays the first moment of a task, and plans its last.
func (r *robot) setOut(j *job) {
	m := r.m
	f := &j.fate
	long := f.between(50, 800)
	switch j.call.Method {
	case "setMoveTo", "returnToStation":
		r.set("movement.is_moving", true)
		r.set("movement.location", "hall")
		r.set("station.docked", false)
		r.event(j, "movement.started", nil, false)
		long = f.between(3_000, 30_000)
	case "startBasicAirClear":
		r.set("cleaning.is_running", true)
		j.effect = m.T
		if j.call.Params["mode"] != "fixed" {
			r.set("movement.is_moving", true)
			r.set("movement.location", "hall")
		}
		r.event(j, "cleaning.started", nil, false)
		min, _ := j.call.Params["duration_min"].(float64)
		long = int64(min) * 60_000
	case "startVitalSign":
		long = f.between(5_000, 400_000)
	}
	switch {
	case f.hangs && r.uses(j.call) != nil && j.call.Method != "startVitalSign": // until somebody stops it
		m.hit(TaskHangs, m.T+1, m.settled(j))
	case f.fails:
		m.hit(TaskFails, m.T+1, m.settled(j))
		r.endIn(j, long/2)
	default:
		r.endIn(j, long)
	}
}

// endIn plans the end of a task's motion, unless it is paused before.
func (r *robot) endIn(j *job, after int64) {
	how := core.OutcomeDone
	if j.fate.fails {
		how = core.OutcomeFailed
	}
	if j.fate.hangs && r.uses(j.call) != nil && j.call.Method != "startVitalSign" {
		return
	}
	run := j.run
	j.due = r.m.T + after
	r.m.at(after, func() {
		if j.run == run {
			r.finish(j, how)
		}
	})
}

func (r *robot) set(k catalog.ContextKey, v any) {
	r.values[k] = v
	r.remember(k)
}

// event reports something of a task, now; the last one is what a Query tells.
func (r *robot) event(j *job, name catalog.EventName, data core.Values, last bool) {
	m, f := r.m, &j.fate
	ev := core.Observed{Event: name, Task: j.task, Source: "home", Data: data}
	if last && !f.noRecord {
		rec := ev
		j.event = &rec
	}
	if f.mute {
		ev.Task = ""
		m.hit(EventMute, m.T+1_000, m.settled(j))
	}
	switch {
	case f.lost:
		m.hit(EventLost, m.T+1, m.settled(j))
		return
	case f.late && last:
		after := f.between(3_000, 60_000)
		m.hit(EventLate, m.T+after, nil)
		r.say(after, ev)
	case f.afterEnd && last:
		m.hit(EventAfterEnd, m.T+900, nil)
		r.say(f.between(150, 900), ev)
	default:
		r.say(f.between(0, 50), ev)
	}
	if f.again {
		after := f.between(100, 60_000)
		m.hit(EventTwice, m.T+after, nil)
		r.say(after, ev)
	}
}

// finish ends the motion of a task.
func (r *robot) finish(j *job, how core.Outcome) {
	m, f := r.m, &j.fate
	if j.ended != 0 || j.stops && how != core.OutcomeCancelled {
		return
	}
	j.ended = m.T
	for res, other := range r.motion {
		if other == j {
			delete(r.motion, res)
		}
	}
	m.note("robot ends %s %s %s", j.task, j.call.Method, how)
	r.apply(j, how)
	if r.known[j.task] != j {
		return // the service of today does not know it
	}
	j.over = true
	j.end = &core.TaskEnded{Task: j.task, Outcome: how}
	if how == core.OutcomeFailed {
		j.end.Reason = core.ReasonExecutorBusy // it may pass
		if !f.passing {
			j.end.Reason = "robot_fault"
		}
	}
	if how == core.OutcomeDone {
		switch j.call.Method {
		case "getAirQuality":
			j.end.Output = core.Values{"pm25": 12.0, "grade": r.values["air.grade"]}
		case "getBatteryStatus":
			j.end.Output = core.Values{"level": r.values["battery.level"], "charging": false}
		}
	}
	if f.noEnd {
		m.hit(EndLost, m.T+1, m.settled(j))
		return
	}
	r.say(f.between(0, 100), *j.end)
	if f.endTwice {
		after := f.between(1, 20_000)
		m.hit(EndTwice, m.T+after, nil)
		r.say(after, *j.end)
	}
	if f.opposite {
		other := core.TaskEnded{Task: j.task, Outcome: core.OutcomeFailed}
		if how != core.OutcomeDone {
			other.Outcome = core.OutcomeDone
		}
		after := f.between(200, 20_000)
		m.hit(EndContradicts, m.T+after, nil)
		r.say(after, other)
	}
}

func (r *robot) apply(j *job, how core.Outcome) {
	done := how == core.OutcomeDone
	p := j.call.Params
	effect := func(name catalog.EventName, data core.Values) {
		j.effect = r.m.T
		r.event(j, name, data, true)
	}
	switch j.call.Method {
	case "external":
		r.set("movement.is_moving", false)
	case "setMoveTo":
		r.set("movement.is_moving", false)
		if done {
			r.set("movement.location", j.room)
		}
		r.pick(done, j, "movement.arrived", core.Values{"room_id": j.room}, "movement.failed", how)
		if j.room != p["position"] {
			j.effect = 0
		}
	case "returnToStation":
		r.set("movement.is_moving", false)
		if done {
			r.set("station.docked", true)
			r.set("movement.location", "dock")
		}
		r.pick(done, j, "station.docked", nil, "movement.failed", how)
	case "startBasicAirClear":
		r.set("cleaning.is_running", false)
		if p["mode"] != "fixed" {
			r.set("movement.is_moving", false)
		}
		r.pick(done, j, "cleaning.completed", nil, "cleaning.failed", how)
	case "startVitalSign":
		r.pick(done, j, "vital.completed", nil, "vital.cancelled", how)
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
			j.effect = r.m.T
		}
	case "stopMovement":
		r.halt(j, "base", done)
	case "stopCleaning":
		r.halt(j, "cleaner", done)
	}
}

// pick reports the good end, or the bad one.
func (r *robot) pick(done bool, j *job, good catalog.EventName, data core.Values, bad catalog.EventName, how core.Outcome) {
	switch {
	case done:
		j.effect = r.m.T
		if j.call.Method == "startBasicAirClear" {
			j.effect = j.began
		}
		r.event(j, good, data, true)
	case how == core.OutcomeCancelled && j.call.Method == "startBasicAirClear":
		r.event(j, "cleaning.stopped", nil, true)
	case how == core.OutcomeCancelled && j.call.Method != "startVitalSign":
		r.event(j, "movement.stopped", nil, true)
	default:
		r.event(j, bad, nil, true)
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
func (r *robot) halt(j *job, res catalog.ResourceID, done bool) {
	if !done {
		return
	}
	if other := r.motion[res]; other != nil {
		other.stops = true
		r.finish(other, core.OutcomeCancelled)
	}
	j.effect = r.m.T
}

// byItself moves the robot without anybody of us having asked.
func (r *robot) byItself(d dice) {
	if r.motion["base"] != nil {
		return
	}
	m := r.m
	after, room := d.between(2_000, 8_000), d.room()
	m.hit(External, m.T+after, m.recovered)
	m.note("robot moves by itself")
	j := &job{call: core.Dispatch{Method: "external"}}
	r.motion["base"] = j
	r.set("movement.is_moving", true)
	r.set("movement.location", "hall")
	r.changed["movement.location"], r.changed["station.docked"] = m.T, m.T
	r.set("station.docked", false)
	r.say(0, core.Observed{Event: "external_start", Resource: "base", Source: "home"})
	m.at(after, func() {
		if r.motion["base"] == j {
			delete(r.motion, "base")
			r.set("movement.is_moving", false)
			r.set("movement.location", room)
			r.changed["movement.location"] = m.T
			r.say(0, core.Observed{Event: "external_stop", Resource: "base", Source: "home"})
			r.say(0, core.Observed{Event: "movement.arrived", Source: "home", Data: core.Values{"room_id": room}})
		}
	})
}
