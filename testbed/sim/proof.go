package sim

import (
	"slices"
	"strings"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

func cut(target string) (core.WorkflowID, core.StepID) {
	wf, step, _ := strings.Cut(target, "/")
	return core.WorkflowID(wf), core.StepID(step)
}

// proven: no step is completed unless the robot did it, for this very task, after its dispatch.
func (j *judge) proven(at stepRef, task core.TaskID, spec *core.StepSpec) {
	m := j.m
	false_ := func(f string, args ...any) {
		m.failf("false completion: "+f, args...)
	}
	if spec.Target == core.OnCloud {
		if !j.cloudDone[task] {
			false_("%s, the cloud never did %s", at, task)
		}
		return
	}
	v := m.robot.values
	d := m.robot.log[task]
	if d == nil {
		d = &job{}
	}
	switch spec.Method {
	case "setMoveTo":
		if d.effect == 0 && v["movement.location"] != spec.Call["position"] {
			false_("%s, the robot never got to %v for %s", at, spec.Call["position"], task)
		}
	case "returnToStation":
		if d.effect == 0 && v["station.docked"] != true {
			false_("%s, the robot never got there for %s", at, task)
		}
	case "startBasicAirClear":
		if d.effect == 0 || slices.Contains(spec.Effects, "air_cleaning_completed") && (d.ended == 0 || d.stops || d.fate.fails) {
			false_("%s, the robot did not clean for %s", at, task)
		}
	case "startVitalSign":
		if d.ended == 0 {
			false_("%s, nobody measured for %s", at, task)
		}
	case "setScreen", "setVolume", "setMannerMode":
		if d.effect == 0 && !j.setting(spec) {
			false_("%s, %v was never set by %s, and it is %v", at, spec.Call, task, v)
		}
	case "stopMovement", "stopCleaning":
		res := spec.Stops[0]
		if o := m.robot.motion[res]; o != nil && !o.resting && d.effect == 0 && o.began != 0 && o.began < j.sentAt[task] {
			false_("%s, and %s still runs on %s", at, o.task, res)
		}
	}
	if j.sentAt[task] == 0 {
		false_("%s, it was never sent", at)
	}
}

// setting says whether a setting is true now.
func (j *judge) setting(spec *core.StepSpec) bool {
	v := j.m.robot.values
	num := func(k catalog.ContextKey) float64 { f, _ := v[k].(float64); return f }
	quiet := v["sound.muted"] == true || num("sound.volume") <= 20 || v["mode.manner"] == true
	switch spec.Method {
	case "setScreen":
		if len(spec.InputFrom) > 0 {
			return num("display.brightness") == num("battery.level") || j.guards // the level may have fallen or risen since
		}
		if b, ok := spec.Call["brightness"].(float64); ok && b > 30 {
			return num("display.brightness") == b
		}
		if spec.Call["on"] == true {
			return num("display.brightness") > 0
		}
		return num("display.brightness") <= 30
	case "setVolume":
		if l, _ := spec.Call["level"].(float64); l > 20 {
			return num("sound.volume") == l
		}
		return quiet
	}
	if spec.Call["on"] == true {
		return quiet
	}
	return v["mode.manner"] == false
}

// isTrue: what counts as satisfied has to be true.
func (j *judge) isTrue(at stepRef, spec *core.StepSpec, decided int64) {
	m := j.m
	if o := m.robot.motion["base"]; o != nil && o.task == "" && j.foreign && j.foreignAt < decided && slices.Contains(spec.Resources, "base") {
		m.failf("false completion: %s counts as satisfied while something else moves the robot, as was told", at)
	}
	v := m.robot.values
	ok := true
	switch spec.Method {
	case "setMoveTo":
		ok = v["movement.location"] == spec.Call["position"] || m.T-m.robot.changed["movement.location"] < 10_000 || m.robot.motion["base"] != nil && m.robot.motion["base"].task == ""
	case "returnToStation":
		ok = v["station.docked"] == true || m.T-m.robot.changed["station.docked"] < 10_000
	case "startBasicAirClear":
		ok = v["cleaning.is_running"] == true
	case "setScreen", "setVolume", "setMannerMode":
		ok = j.setting(spec)
	}
	if !ok {
		m.failf("false completion: %s counts as satisfied: %s %v, and the home is %v", at, spec.Method, spec.Call, v)
	}
}
