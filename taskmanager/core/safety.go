package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Guarded is what the device remembers of its own guards.
type Guarded struct {
	PlanNo int64 `json:"plan_no,omitempty"` // of the last local:safety:n
	Low    bool  `json:"low,omitempty"`     // the battery fell and that was acted on; until it is charged it is not acted on again
	Drove  bool  `json:"drove,omitempty"`   // the return has driven the robot away from where it worked
	Lifted bool  `json:"lifted,omitempty"`  // off the floor: where it stands is not known before it was put down and its place was read
}

// The causes of a safety hold. Each stands and is released on its own.
const (
	causeStopped = "stopped" // the safety controller has cut the power of what moves
	causeLifted  = "lifted"
	causeStuck   = "stuck"
	causeFault   = "fault"
)

// keyLocation is where the robot stands, keySafety what its safety controller says.
const (
	keyLocation catalog.ContextKey = "movement.location"
	keySafety   catalog.ContextKey = "safety.state"
)

// mildFaults are the severities of robot.fault that hold nothing. A word that is not known is taken as severe.
var mildFaults = []string{"info", "minor", "warning"}

// alarm is the cause of the safety hold that an event sets; "": none.
func alarm(ev Observed) string {
	severity, _ := ev.Data["severity"].(string)
	code, _ := ev.Data["code"].(string)
	switch {
	case ev.Event == "safety.stopped":
		return causeStopped
	case ev.Event == "robot.lifted":
		return causeLifted
	case (ev.Event == "robot.fault" || ev.Event == "movement.failed") && code == "stuck":
		return causeStuck
	case ev.Event == "robot.fault" && !slices.Contains(mildFaults, severity):
		return causeFault
	}
	return ""
}

// safetyEvent takes what the robot's safety says. It holds at once what moves the body, and never lets go by itself: that its cause has
// passed only makes the release possible, which is a person's.
func (w *work) safetyEvent(ev Observed) {
	if cause := alarm(ev); cause != "" {
		why, _ := ev.Data["code"].(string)
		w.unsafe(cause, ev.Source, orText(why, string(ev.Event)))
	}
	switch ev.Event {
	case "robot.lifted":
		w.dev.Safety.Lifted = true
		w.forgetKey(keyLocation)
	case "safety.released":
		w.causePassed(causeStopped)
	case "robot.placed":
		w.dev.Safety.Lifted = false
		w.forgetKey(keyLocation)
		w.causePassed(causeLifted)
	case "battery.changed":
		w.batteryEvent(ev)
	}
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// unsafe sets a safety hold. A lift and a stop stand until their end is told; of a fault nobody tells the end, so a person judges it.
func (w *work) unsafe(cause, by, why string) {
	w.hold(Hold{Kind: HeldBySafety, Scope: HoldAll, Cause: cause, Resume: ResumeAsk, By: by, Why: why, Stands: cause == causeStopped || cause == causeLifted})
}

// causePassed lets a person release a safety hold from now on.
func (w *work) causePassed(cause string) {
	for _, h := range w.dev.Holds {
		if h.Kind == HeldBySafety && h.Cause == cause && h.Stands {
			h.Stands = false
			w.hold(h)
		}
	}
}

// guardsRead looks at what the guards watch, where it was read.
func (w *work) guardsRead(keys []catalog.ContextKey) {
	if slices.Contains(keys, keySafety) {
		w.safetyRead()
	}
	if slices.Contains(keys, catalog.BatteryLevel) || slices.Contains(keys, catalog.BatteryCharging) {
		w.batteryRead()
	}
}

// safetyRead looks at what the safety controller says when it is asked: its event may have been lost while nobody listened.
func (w *work) safetyRead() {
	v, av := w.availability(keySafety, 0)
	if av != condition.Fresh {
		return
	}
	stands := slices.ContainsFunc(w.dev.Holds, func(h Hold) bool { return h.Kind == HeldBySafety && h.Cause == causeStopped && h.Stands })
	switch {
	case v == "stopped" && !stands:
		w.unsafe(causeStopped, "", "safety.state is stopped")
	case v == "normal" && stands:
		w.causePassed(causeStopped)
	}
}

// forgetKey makes a value missing: nothing that was read of it before counts any more.
func (w *work) forgetKey(key catalog.ContextKey) {
	if w.ch.lost == nil {
		w.ch.lost = map[catalog.ContextKey]bool{}
	}
	w.ch.lost[key] = true
	delete(w.ch.known, key)
	w.touched, w.ch.Must = true, true
}

// guards says whether the hold is one of the device's own guards: it is about what moves, and stops it.
func (h Hold) guards() bool { return h.Kind == HeldBySafety || h.Kind == HeldByBattery }

// covers says whether a guard is about a step: one that moves the body or goes on by itself.
func (h Hold) covers(wf *Workflow, i int) bool {
	if i >= 0 {
		return wf.Plan.Steps[i].physical()
	}
	for k := range wf.Steps {
		if !wf.Steps[k].State.Terminal() && wf.Plan.Steps[k].physical() {
			return true
		}
	}
	return false
}

// physical says whether the operation moves the body, or goes on by itself until somebody stops it.
func (s *StepSpec) physical() bool { return s.MovesBody || s.Op.Redo == catalog.RedoAfterStop }

// stopGuarded stops the task of a step that a guard of the device holds, however far it is: such a task is not asked to pause. One that
// has refused to stop is left to come to its end. It says whether the step is guarded.
func (w *work) stopGuarded(wf *Workflow, i int, a *Attempt) bool {
	st := &wf.Steps[i]
	if !slices.ContainsFunc(w.holdsOn(wf, i), Hold.guards) {
		return false
	}
	if a != nil && a.holds() && !a.Cloud && a.State != Stopping && a.Pausing != PauseRefused && st.State.active() && st.State != Cancelling {
		w.stopForHold(wf, i, a, "it may not move now")
	}
	return true
}
