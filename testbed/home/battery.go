package home

import "time"

// reading is the battery manager's last one.
type reading struct {
	level    float64
	charging bool
}

func (h *Home) charging() bool { return h.docked && h.battery.whole() < 100 }

// batteryRate is how the charge changes, percent an hour.
func (h *Home) batteryRate() int64 {
	switch {
	case h.charging():
		return h.opt.Charge
	case h.docked:
		return 0 // full, and fed by the station
	}
	rate := -h.opt.DrainIdle
	if h.moving() && h.hand == nil {
		rate -= h.opt.DrainMove
	}
	if h.fanRuns() {
		rate -= h.opt.DrainClean
	}
	return rate
}

// senseBattery says each fifth percent and each change of charging as an event, and ends all work on an empty battery.
func (h *Home) senseBattery() {
	level, charging := h.battery.reported(), h.charging()
	was := h.lastBattery
	h.lastBattery = reading{level, charging}
	if level != was.level && int64(level)%5 == 0 || charging != was.charging {
		h.emit(fromBattery, "battery.changed", nil, "", map[string]any{"level": level, "charging": charging})
	}
	if level == 0 && !h.docked && !h.powerOut {
		h.powerOut = true
		h.endBody(Failed, ReasonBatteryLow)
	}
	h.powerOut = h.powerOut && level == 0
}

func startBatteryStatus(h *Home, t *task) string {
	h.later(t, h.opt.SettingTime, func() {
		h.again("battery.level")
		h.again("battery.charging")
		h.flush()
		h.finish(t, Done, "", map[string]any{"level": h.battery.reported(), "charging": h.charging()})
	})
	return ""
}

// SetBattery sets the charge, percent.
func (h *Home) SetBattery(now time.Duration, percent float64) {
	h.to(now)
	h.battery.set(min(max(percent, 0), 100))
	h.senseBattery()
}
