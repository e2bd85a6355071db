package core

import (
	"fmt"
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// batteryEvent takes what the battery's manager says of its own accord.
func (w *work) batteryEvent(ev Observed) {
	level, ok := number(ev.Data["level"])
	charging, told := ev.Data["charging"].(bool)
	if ok && told && ev.Class == catalog.Independent {
		w.battery(level, charging)
	}
}

// batteryRead looks at the battery by what was read of it. Whether it is being charged is asked for where that decides something and
// is not known now; unknown never counts as no.
func (w *work) batteryRead() {
	guard, watched := w.cat.Guards[catalog.GuardBattery]
	v, av := w.independent(catalog.BatteryLevel)
	level, ok := number(v)
	if !watched || av != condition.Fresh || !ok {
		return
	}
	v, av = w.independent(catalog.BatteryCharging)
	charging, ok := v.(bool)
	switch {
	case av == condition.Fresh && ok:
		w.battery(level, charging)
	case level >= guard.GoOnAt:
		w.battery(level, false) // it makes no difference
	case level <= guard.ReturnAt && !w.dev.Safety.Low && (av == condition.Stale || av == condition.Missing):
		w.read(catalog.BatteryCharging)
	}
}

// independent gives a value that a sensor or manager of its own has read, not the path that carries commands.
func (w *work) independent(key catalog.ContextKey) (condition.Value, condition.Availability) {
	if k, ok := w.known(key); ok && k.Available && k.Class != catalog.Independent {
		return nil, condition.Unavailable
	}
	return w.availability(key, 0)
}

func number(v condition.Value) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	}
	return 0, false
}

// battery acts on a level in percent. Once a fall, at the value of the guard, what moves the body is held and the standing plan return
// runs; the next fall begins on the charger, or where work may go on.
func (w *work) battery(level float64, charging bool) {
	guard, watched := w.cat.Guards[catalog.GuardBattery]
	low := &w.dev.Safety.Low
	switch {
	case !watched:
	case charging || level >= guard.GoOnAt:
		if *low {
			*low, w.touched, w.ch.Must = false, true, true
		}
		if level >= guard.GoOnAt && slices.ContainsFunc(w.dev.Holds, func(h Hold) bool { return h.Kind == HeldByBattery }) {
			w.holdDisplaced()
			w.dropReturn()
			w.release(HeldByBattery, HoldAll, "", "", HeldByBattery)
		}
	case level <= guard.ReturnAt && !*low:
		*low, w.touched, w.ch.Must = true, true, true
		why := fmt.Sprintf("the battery is at %g %%", level)
		w.hold(Hold{Kind: HeldByBattery, Scope: HoldAll, Resume: ResumeAuto, Why: why})
		w.runStanding(catalog.StandingReturn, why)
	}
}

// dropReturn leaves out a return that has not begun: somebody else has charged the robot.
func (w *work) dropReturn() {
	wf := w.standingOpen(catalog.StandingReturn)
	for i := 0; wf != nil && i < len(wf.Steps); i++ {
		if st := &wf.Steps[i]; wf.Plan.Steps[i].MovesBody && st.Attempts == 0 && !st.State.Terminal() {
			wf = w.wf(wf.Plan.Workflow)
			w.move(wf, i, Skipped, ReasonConditionFalse)
		}
	}
}

// causeDisplaced is the cause of the hold of a plan whose robot is not any more where the plan had brought it.
const causeDisplaced = "displaced"

// holdDisplaced holds each plan that would go on in the wrong place: it had driven the robot somewhere to do something there, and the
// way to the station has taken it away. Nobody but a person or the cloud knows whether it should go on where it stands now; the rest
// goes on by itself.
func (w *work) holdDisplaced() {
	if !w.dev.Safety.Drove {
		return
	}
	w.dev.Safety.Drove = false
	for _, id := range w.everyone() {
		if wf := w.peek(id); !wf.State.Terminal() && wf.Plan.Standing == "" && wf.displaced() {
			w.hold(Hold{Kind: HeldByPolicy, Scope: HoldWorkflow, Target: string(id), Cause: causeDisplaced, Resume: ResumeAsk,
				Why: "the robot has left the place to which this plan had brought it"})
		}
	}
}

// displaced says whether a step that is done where the robot stands is left, and the motion that brought the robot there is over.
func (wf *Workflow) displaced() bool {
	for i := range wf.Steps {
		spec := &wf.Plan.Steps[i]
		here := spec.Target == OnDevice && !spec.MovesBody && len(spec.Stops) == 0 && (spec.physical() || spec.TimeoutMS == 0)
		if here && !wf.Steps[i].State.Terminal() && wf.broughtBy(i) {
			return true
		}
	}
	return false
}

// broughtBy says whether the latest motion before a step is over.
func (wf *Workflow) broughtBy(i int) bool {
	brought := false
	for _, d := range wf.Plan.Steps[i].Deps {
		switch st := &wf.Steps[d.Step]; {
		case !wf.Plan.Steps[d.Step].MovesBody:
			brought = brought || wf.broughtBy(d.Step)
		case st.State == Completed || st.State == Satisfied:
			brought = true
		case !st.State.Terminal():
			return false // it will drive anew
		}
	}
	return brought
}
