package home

// motion is what the wheels do, at most one at a time. It belongs to a task, to a cleaning that drives, or to the robot's own
// button (no task).
type motion struct {
	task   *task
	method string
	room   string // where it is meant to end
	legs   []leg
	leg    int
	total  int64
	driven int64 // ms of finished legs

	timer    *timer // end of the current leg, or of planning, braking or docking
	ticker   *timer
	left     int64 // of the current leg, while paused
	started  bool  // the wheels turned at least once
	rolling  bool
	paused   bool
	pausing  bool   // braking in order to pause
	braking  func() // what follows the brake
	docks    bool
	stuck    bool
	external bool
	stoppers []*task // stop operations that wait for the rest
	// ended is told outcome and reason when the body rests.
	ended func(outcome, reason string)
}

// leg is a stretch between two middles or doors; the robot is in room at its end.
type leg struct {
	ms   int64
	room string
}

func (h *Home) moving() bool { return h.hand != nil || h.motion != nil && h.motion.rolling }

// location is the place where the robot is: on the way the room whose door it passed last.
func (h *Home) location() any {
	if h.unknown {
		return none{}
	}
	return h.room
}

// startMoveTo drives to params.position: an id or name, or the resolved form {room_id}.
func startMoveTo(h *Home, t *task) string {
	room, known := h.target(t.params)
	if !known {
		return ReasonUnknownLocation
	}
	return h.drive(t, room, false)
}

func startReturn(h *Home, t *task) string { return h.drive(t, h.plan.Dock, true) }

// startNudge is the relative move of the lab: it turns the wheels and ends in the same room.
func startNudge(h *Home, t *task) string {
	if reason := h.baseFree(t); reason != "" {
		return reason
	}
	h.set(&motion{task: t, method: t.method, room: h.room, legs: []leg{{1000, h.room}}})
	return ""
}

func (h *Home) target(params map[string]any) (string, bool) {
	for _, key := range []string{"position", "room"} {
		switch v := params[key].(type) {
		case string:
			r, ok := h.plan.Find(v)
			return r.ID, ok
		case map[string]any:
			r, ok := h.plan.Find(text(v, "room_id"))
			return r.ID, ok
		}
	}
	return "", false
}

// batteryFloor is the charge, in percent, that the robot keeps to find its station. The agent's own guard is far above it.
const batteryFloor = 5

func (h *Home) baseFree(t *task) string {
	switch {
	case h.motion != nil || h.hand != nil:
		return ReasonBusy
	case t != nil && t.method != "returnToStation" && h.battery.value() < batteryFloor:
		return ReasonBatteryLow
	}
	return ""
}

// drive plans a way and sets off. A task-less drive is the robot's own button.
func (h *Home) drive(t *task, room string, docks bool) string {
	if reason := h.baseFree(t); reason != "" {
		return reason
	}
	m := &motion{task: t, room: room, docks: docks, external: t == nil, method: "own_button"}
	end := room
	if t != nil {
		m.method, m.stuck = t.method, t.fault.Stuck
		if t.fault.ArriveElsewhere != "" {
			end, m.docks = t.fault.ArriveElsewhere, false
		}
	}
	way := h.plan.Route(h.room, end)
	m.legs = h.legs(way)
	h.set(m)
	if way == nil || h.unknown {
		h.drop(m.timer)
		m.timer = h.after(h.opt.PlanTime, func() { h.rest(Failed, ReasonUnreachable) })
	}
	return ""
}

func (h *Home) legs(way []string) []leg {
	var legs []leg
	for i := 1; i < len(way); i++ {
		half := int64(h.plan.metres(way[i-1], way[i]) / h.opt.SpeedMPS * 500)
		legs = append(legs, leg{half, way[i]}, leg{half, way[i]})
	}
	return legs
}

// set makes a motion the current one and lets it plan.
func (h *Home) set(m *motion) {
	for _, l := range m.legs {
		m.total += l.ms
	}
	if m.ended == nil {
		m.ended = func(outcome, reason string) { h.finish(m.task, outcome, reason, nil) }
	}
	h.motion = m
	m.timer = h.after(h.opt.PlanTime, func() { h.setOff(m) })
}

// setOff turns the wheels for the first time, or arrives at once where the robot already is there.
func (h *Home) setOff(m *motion) {
	m.timer = nil
	if len(m.legs) == 0 {
		h.arrive(m)
		return
	}
	m.started = true
	h.write(Entry{Kind: KindMotionStart, TaskID: m.id(), Method: m.method, Room: m.room})
	if m.external {
		h.emit(fromBase, "external_start", nil, "", map[string]any{"code": "own_button"})
	}
	h.undock(m.task)
	m.rolling = true
	h.emit(fromBase, "movement.started", m.task, "", map[string]any{"room_id": m.room})
	h.tick(m)
	h.nextLeg(m, m.legs[0].ms)
}

func (m *motion) id() string {
	if m.task == nil {
		return ""
	}
	return m.task.id
}

func (h *Home) undock(t *task) {
	if h.docked {
		h.docked = false
		h.emit(fromStation, "station.undocked", t, "", nil)
	}
}

func (h *Home) nextLeg(m *motion, ms int64) {
	m.timer = h.afterMS(ms, func() {
		m.timer = nil
		if m.stuck {
			return // wheels turn on the spot, for ever
		}
		h.room = m.legs[m.leg].room
		m.driven += m.legs[m.leg].ms
		if m.leg++; m.leg < len(m.legs) {
			h.nextLeg(m, m.legs[m.leg].ms)
			return
		}
		h.arrive(m)
	})
}

func (h *Home) tick(m *motion) {
	m.ticker = h.after(h.opt.ProgressMove, func() {
		h.tick(m)
		if !m.rolling || m.total == 0 || m.method == "startBasicAirClear" {
			return
		}
		done := m.driven
		if m.timer != nil && m.leg < len(m.legs) {
			done += m.legs[m.leg].ms - (m.timer.at - h.at)
		}
		percent := float64(done * 100 / m.total)
		h.emit(fromBase, "movement.progress", m.task, "", map[string]any{"percent": percent})
		h.progress(m.task, percent, h.room)
	})
}

// arrive ends a motion at its last leg; one that docks has the station's manoeuvre before it.
func (h *Home) arrive(m *motion) {
	if !m.docks || h.docked {
		h.rest(Done, "")
		return
	}
	m.timer = h.after(h.opt.DockTime, func() { h.rest(Done, "") })
}

// rest is the end of the current motion: the wheels stand still.
func (h *Home) rest(outcome, reason string) {
	m := h.motion
	h.drop(m.timer)
	h.drop(m.ticker)
	h.motion, m.rolling = nil, false
	h.again("movement.location")
	h.again("movement.is_moving")
	if m.started {
		h.write(Entry{Kind: KindMotionEnd, TaskID: m.id(), Method: m.method, Room: h.room, Reason: endWord[outcome]})
	}
	if m.docks && outcome == Done {
		h.docked = true
	}
	if m.method != "startBasicAirClear" {
		data := map[string]any{"room_id": h.room}
		if outcome == Failed {
			data = map[string]any{"code": reason}
		}
		h.emit(fromBase, "movement."+endWord[outcome], m.task, reason, data)
	}
	if m.docks && outcome == Done {
		h.again("station.docked")
		h.emit(fromStation, "station.docked", m.task, "", nil)
	}
	if m.external {
		h.emit(fromBase, "external_stop", nil, reason, map[string]any{"code": "own_button"})
	}
	m.ended(outcome, reason)
	for _, t := range m.stoppers {
		h.stoodStill(t)
	}
}

var endWord = map[string]string{Done: "arrived", Failed: "failed", Cancelled: "stopped"}
