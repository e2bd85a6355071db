package home

import "time"

// A vital session is ended by the person, never by time. It holds no health value.

func startVital(h *Home, t *task) string {
	if h.vital != nil {
		return ReasonBusy
	}
	h.vital = t
	h.later(t, h.opt.SettingTime, func() { h.emit(fromVital, "vital.started", t, "", nil) })
	return ""
}

// CompleteVital is the person holding still until the measurement is over. False: no session runs.
func (h *Home) CompleteVital(now time.Duration) bool {
	return h.personEndsVital(now, "vital.completed")
}

// CancelVital is the person walking away or pressing the session's own cancel. False: no session runs.
func (h *Home) CancelVital(now time.Duration) bool { return h.personEndsVital(now, "vital.cancelled") }

// personEndsVital: both ends are an end of the interaction for the robot; the event tells them apart.
func (h *Home) personEndsVital(now time.Duration, event string) bool {
	h.to(now)
	t := h.vital
	if t == nil {
		return false
	}
	h.vital = nil
	h.emit(fromVital, event, t, "", nil)
	h.finish(t, Done, "", nil)
	return true
}

func cancelVital(h *Home, t *task) { endVital(h, t, Cancelled, "") }

func endVital(h *Home, t *task, outcome, reason string) {
	if h.vital == t {
		h.vital = nil
		h.emit(fromVital, "vital.cancelled", t, reason, nil)
	}
	h.finish(t, outcome, reason, nil)
}
