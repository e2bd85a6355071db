package home

import "time"

// The states of the safety controller.
const (
	SafetyOK      = "normal"
	SafetyStopped = "stopped"
)

// bodyHeld says why the body may not move or clean now.
func (h *Home) bodyHeld() string {
	switch {
	case h.lifted:
		return ReasonLifted
	case h.fault != "":
		return ReasonRobotFault
	case h.safety != SafetyOK:
		return ReasonSafety
	}
	return ""
}

// endBody ends motion and fan at once, whatever they were told and by whom: the controller cuts their power. Even a stuck one
// ends.
func (h *Home) endBody(outcome, reason string) {
	if h.motion != nil {
		h.rest(outcome, reason)
	}
	if h.cleaning != nil {
		h.fanEnd(h.cleaning, outcome, reason)
	}
}

// safetyStop is said at once and before anything that follows from it.
func (h *Home) safetyStop(code string) {
	h.safety = SafetyStopped
	h.emit(fromSafety, "safety.stopped", nil, code, map[string]any{"code": code})
	h.endBody(Cancelled, ReasonSafety)
}

func (h *Home) safetyRelease() {
	if h.lifted || h.fault != "" || h.safety == SafetyOK {
		return
	}
	h.safety = SafetyOK
	h.emit(fromSafety, "safety.released", nil, "", nil)
}

// Lift is a person taking the robot off the floor: the body stops, and it no longer knows where it is.
func (h *Home) Lift(now time.Duration) {
	h.to(now)
	if h.lifted {
		return
	}
	h.write(Entry{Kind: KindButton, Text: "lift", Room: h.room})
	h.endHand()
	h.lifted, h.unknown, h.docked = true, true, false
	h.emit(fromSafety, "robot.lifted", nil, "", nil)
	h.endBody(Failed, ReasonLifted)
}

// Place puts the robot down in a room. It looks about for the time of one reading before it knows where it is.
func (h *Home) Place(now time.Duration, room string) bool {
	h.to(now)
	r, ok := h.plan.Find(room)
	if !ok || !h.lifted {
		return false
	}
	h.write(Entry{Kind: KindButton, Text: "place", Room: r.ID})
	h.lifted, h.room = false, r.ID
	h.emit(fromSafety, "robot.placed", nil, "", map[string]any{"room_id": r.ID})
	h.after(h.opt.MeasureTime, func() {
		if h.lifted {
			return
		}
		h.unknown, h.docked = false, h.room == h.plan.Dock
		h.again("movement.location")
	})
	return true
}

// Fault raises a fault of the robot. One of severity critical stops the body until it is cleared.
func (h *Home) Fault(now time.Duration, code, severity string) {
	h.to(now)
	h.emit(fromSafety, "robot.fault", nil, code, map[string]any{"code": code, "severity": severity})
	if severity == "critical" {
		h.fault = code
		h.endBody(Failed, ReasonRobotFault)
	}
}

// ClearFault ends a critical fault.
func (h *Home) ClearFault(now time.Duration) {
	h.to(now)
	h.fault = ""
}
