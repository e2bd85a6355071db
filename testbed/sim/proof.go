package sim

import (
	"fmt"
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
	if why := j.unproven(at, task, spec, spec.Effects); why != "" {
		j.m.failf("false completion: %s, %s", at, why)
	}
}

// unproven says what is missing of the effects of a task in the robot's own log, "" where nothing is.
func (j *judge) unproven(at stepRef, task core.TaskID, spec *core.StepSpec, effects []catalog.EffectID) string {
	m := j.m
	if spec.Target == core.OnCloud {
		if !j.cloudDone[task] {
			return fmt.Sprintf("the cloud never did %s", task)
		}
		return ""
	}
	v := m.robot.values
	d := m.robot.log[task]
	if d == nil {
		d = &job{}
	}
	switch spec.Method {
	case "setMoveTo":
		if d.effect == 0 && v["movement.location"] != spec.Call["position"] {
			return fmt.Sprintf("the robot never got to %v for %s", spec.Call["position"], task)
		}
	case "returnToStation":
		if d.effect == 0 && v["station.docked"] != true {
			return fmt.Sprintf("the robot never got there for %s", task)
		}
	case "startBasicAirClear":
		if d.effect == 0 || slices.Contains(effects, "air_cleaning_completed") && (d.ended == 0 || d.stops || d.fate.fails) {
			return fmt.Sprintf("the robot did not clean for %s", task)
		}
	case "startVitalSign":
		if d.ended == 0 {
			return fmt.Sprintf("nobody measured for %s", task)
		}
	case "setScreen", "setVolume", "setMannerMode":
		if d.effect == 0 && !j.setting(spec) {
			return fmt.Sprintf("%v was never set by %s, and it is %v", spec.Call, task, v)
		}
	case "stopMovement", "stopCleaning":
		res := spec.Stops[0]
		if o := m.robot.motion[res]; o != nil && !o.resting && d.effect == 0 && o.began != 0 && o.began < j.sentAt[task] {
			return fmt.Sprintf("and %s still runs on %s", o.task, res)
		}
	}
	if j.sentAt[task] == 0 {
		return "it was never sent"
	}
	return ""
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
