package sim

import (
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// alarm is what the robot's own safety does: it cuts the power of what moves, somebody lifts the robot, or something is broken. Later
// the cause passes, and later still a person lets the work go on.
func (r *robot) alarm(d dice) {
	m := r.m
	what := [][3]string{{"stopped", "safety.stopped", "safety.released"}, {"lifted", "robot.lifted", "robot.placed"}, {"fault", "robot.fault", ""}}[d.IntN(3)]
	after := d.between(2_000, 60_000)
	m.hit(Alarm, m.T+after, nil)
	m.judge.guards = true
	m.note("alarm: %s", what[0])
	ev := core.Observed{Event: catalog.EventName(what[1]), Source: "home"}
	if what[0] == "fault" {
		ev.Data = core.Values{"code": "motor", "severity": "severe"}
	}
	for _, res := range slices.Sorted(maps.Keys(r.motion)) {
		if j := r.motion[res]; j != nil && res != "vital" && what[0] != "fault" {
			j.stops = true
			r.finish(j, core.OutcomeCancelled)
		}
	}
	if what[0] == "stopped" {
		r.set("safety.state", "stopped")
	}
	m.tell(ev)
	m.at(after, func() {
		r.set("safety.state", "normal")
		if what[0] == "lifted" {
			r.set("movement.location", d.room())
			r.set("station.docked", false)
			r.changed["movement.location"], r.changed["station.docked"] = m.T, m.T
		}
		if what[2] != "" {
			m.tell(core.Observed{Event: catalog.EventName(what[2]), Source: "home"})
		}
		m.at(d.between(500, 20_000), func() { r.press("pui.resumed") })
	})
}

// batteryFalls, and is charged again some time later.
func (r *robot) batteryFalls(d dice) {
	m := r.m
	after := d.between(20_000, 200_000)
	m.hit(BatteryFalls, m.T+after, nil)
	m.judge.guards = true
	r.charge(float64(5+d.IntN(12)), false)
	m.at(after, func() {
		r.charge(90, true)
		m.at(1_000, func() { r.charge(90, false) })
	})
}

func (r *robot) charge(level float64, charging bool) {
	r.set("battery.level", level)
	r.set("battery.charging", charging)
	if r.there {
		r.m.tell(core.Observed{Event: "battery.changed", Source: "home", Data: core.Values{"level": level, "charging": charging}})
	}
}

// guarded takes what the agent was told of the guards: what it hears of an alarm holds what moves until a person lets it go on.
func (j *judge) guarded(ev core.Observed) {
	switch ev.Event {
	case "safety.stopped":
		j.alarms["stopped"] = true
	case "safety.released":
		j.passed("stopped")
	case "robot.lifted":
		j.alarms["lifted"] = true
	case "robot.placed":
		j.passed("lifted")
	case "robot.fault":
		j.alarms["fault"] = false // nobody tells its end, so a person may judge it at once
	case "pui.resumed":
		j.letGoOn()
	case "battery.changed":
		guard := j.m.cat.Guards[catalog.GuardBattery]
		if level, _ := ev.Data["level"].(float64); level <= guard.ReturnAt && ev.Data["charging"] == false {
			j.low = true
		} else if level >= guard.GoOnAt {
			j.low = false
		}
	}
}

func (j *judge) passed(cause string) {
	if _, stands := j.alarms[cause]; stands {
		j.alarms[cause] = false
	}
}

// letGoOn: a person says go on. What stands is not over by that.
func (j *judge) letGoOn() {
	maps.DeleteFunc(j.alarms, func(_ string, stands bool) bool { return !stands })
}

// unsafe names the guard that forbids a step to move anything, "" where none does. The plans of the device itself are what a guard asks for.
func (j *judge) unsafe(at stepRef, spec *core.StepSpec) string {
	if !spec.MovesBody || strings.HasPrefix(string(at.wf), "local:") {
		return ""
	}
	for cause := range j.alarms {
		return "safety (" + cause + ")"
	}
	if j.low {
		return "battery"
	}
	return ""
}
