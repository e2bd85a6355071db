package home

// brake brings the wheels to rest and then does what is left to do. A later wish replaces an earlier one.
func (h *Home) brake(m *motion, then func()) {
	if m.braking != nil || !m.rolling {
		m.braking = then
		if !m.rolling {
			h.drop(m.timer)
			m.braking = nil
			then()
		}
		return
	}
	m.braking = then
	if m.timer != nil {
		m.left = m.timer.at - h.at
	}
	h.drop(m.timer)
	m.timer = h.after(h.opt.BrakeTime, func() {
		then := m.braking
		m.braking, m.timer = nil, nil
		then()
	})
}

// stopMotion brakes the current motion to its end; a stuck one goes on all the same.
func (h *Home) stopMotion(reason string) {
	if m := h.motion; m != nil && !m.stuck {
		m.pausing = false
		h.brake(m, func() { h.rest(Cancelled, reason) })
	}
}

func cancelMotion(h *Home, t *task) {
	if h.motion != nil && h.motion.task == t {
		h.stopMotion("")
	}
}

func endMotionOf(h *Home, t *task, outcome, reason string) {
	if h.motion != nil && h.motion.task == t {
		h.rest(outcome, reason)
		return
	}
	h.finish(t, outcome, reason, nil)
}

func pauseMotion(h *Home, t *task) {
	m := h.motion
	if m == nil || m.task != t || m.stuck || m.paused || m.braking != nil {
		return
	}
	if !m.started {
		h.drop(m.timer)
		m.paused = true
		h.hold(t, true)
		return
	}
	m.pausing = true
	h.brake(m, func() {
		m.rolling, m.pausing, m.paused = false, false, true
		h.write(Entry{Kind: KindMotionPause, TaskID: m.id(), Method: m.method, Room: h.room})
		h.again("movement.is_moving")
		h.hold(t, true)
	})
}

func resumeMotion(h *Home, t *task) {
	m := h.motion
	if m != nil && m.task == t && m.pausing {
		m.pausing = false
		m.braking = func() { h.goOn(m) }
		return
	}
	if m == nil || m.task != t || !m.paused {
		return
	}
	m.paused = false
	h.hold(t, false)
	if !m.started {
		m.timer = h.after(h.opt.PlanTime, func() { h.setOff(m) })
		return
	}
	m.rolling = true
	h.write(Entry{Kind: KindMotionResume, TaskID: m.id(), Method: m.method, Room: h.room})
	h.goOn(m)
}

func (h *Home) goOn(m *motion) {
	if m.leg >= len(m.legs) {
		h.arrive(m)
		return
	}
	h.nextLeg(m, m.left)
}

// startStopMovement stops whatever turns the wheels. It is done when they rest; with nothing to stop that is now.
func startStopMovement(h *Home, t *task) string {
	h.write(Entry{Kind: KindStop, TaskID: t.id, Method: t.method, Room: h.room})
	m := h.motion
	if m == nil {
		h.later(t, h.opt.SettingTime, func() { h.stoodStill(t) })
		return ""
	}
	m.stoppers = append(m.stoppers, t)
	if m.task != nil && m.task.fault.IgnoreStop {
		return ""
	}
	h.stopMotion(ReasonStopped)
	return ""
}

// stoodStill ends a stop operation: the wheels rest, and the movement manager says so to the task that asked for it, beside what
// it says to the one that was stopped.
func (h *Home) stoodStill(t *task) {
	if t.result != nil {
		return
	}
	h.again("movement.is_moving")
	h.emit(fromBase, "movement.stopped", t, "", map[string]any{"room_id": h.room})
	h.finish(t, Done, "", nil)
}
