package home

// cleaning is one run of the fan, at most one at a time. A fixed one may run while the robot drives: fan and wheels are separate.
// One in mode all or zone needs the wheels, and is refused where they are in use; a stop of its wheels ends it too.
type cleaning struct {
	task    *task // nil: the robot's own button, or nobody
	itself  bool  // nobody asked for it: the fan runs on its own
	mode    string
	airflow string
	total   int64 // ms of fan
	left    int64 // ms of fan that remain at since
	since   int64
	running bool
	paused  bool
	timer   *timer
	ticker  *timer
	roam    *motion
}

// airflows is what the fan takes out of the room, µg/m³ an hour.
var airflows = map[string]int64{"auto": 200, "low": 120, "medium": 200, "high": 280, "turbo": 400}

const ownMinutes = 60

func (h *Home) fanRuns() bool { return h.cleaning != nil && h.cleaning.running }

func startCleaning(h *Home, t *task) string {
	mode, airflow := text(t.params, "mode"), text(t.params, "airflow")
	if mode == "" {
		mode = "fixed"
	}
	if airflow == "" {
		airflow = "auto"
	}
	minutes, ok := within(t.params, "duration_min", 1, 180, ownMinutes)
	if _, known := airflows[airflow]; !ok || !known || mode != "fixed" && mode != "all" && mode != "zone" {
		return ReasonBadParams
	}
	return h.clean(&cleaning{task: t, mode: mode, airflow: airflow, total: int64(minutes * 60_000)})
}

func (h *Home) clean(c *cleaning) string {
	switch {
	case h.cleaning != nil:
		return ReasonBusy
	case h.battery.value() < batteryFloor && !h.docked:
		return ReasonBatteryLow
	}
	if c.mode != "fixed" {
		if reason := h.baseFree(c.task); reason != "" {
			return reason
		}
		h.roam(c)
	}
	c.left = c.total
	h.cleaning = c
	c.timer = h.after(h.opt.SpinUp, func() { h.fanOn(c, true) })
	return ""
}

// roam is the drive of a cleaning: the whole tour in mode all, on the spot in mode zone, as long as the fan runs.
func (h *Home) roam(c *cleaning) {
	rooms := []string{h.room}
	if c.mode == "all" {
		rooms = h.plan.tour(h.room)
	}
	c.roam = &motion{task: c.task, method: "startBasicAirClear", room: h.room}
	for i := range rooms {
		next := rooms[min(i+1, len(rooms)-1)]
		c.roam.legs = append(c.roam.legs, leg{(c.total + h.opt.SpinUp.Milliseconds()) / int64(len(rooms)), next})
	}
	if c.task != nil {
		c.roam.stuck = c.task.fault.Stuck
	}
	c.roam.ended = func(outcome, reason string) {
		c.roam = nil
		if outcome != Done {
			h.fanEnd(c, outcome, reason)
		}
	}
	h.set(c.roam)
}

func (c *cleaning) id() string {
	if c.task == nil {
		return ""
	}
	return c.task.id
}

func (c *cleaning) byButton() bool { return c.task == nil && !c.itself }

func (h *Home) fanOn(c *cleaning, first bool) {
	c.running, c.paused, c.since = true, false, h.at
	kind := KindCleaningGoOn
	if first {
		kind = KindCleaningStart
	}
	h.write(Entry{Kind: kind, TaskID: c.id(), Method: "startBasicAirClear", Room: h.room, Note: c.mode})
	if first {
		if c.byButton() {
			h.emit(fromCleaner, "external_start", nil, "", map[string]any{"code": "own_button"})
		}
		h.emit(fromCleaner, "cleaning.started", c.task, "", map[string]any{"mode": c.mode})
	}
	c.timer = h.afterMS(c.left, func() { h.fanEnd(c, Done, "") })
	h.fanTick(c)
}

func (h *Home) fanTick(c *cleaning) {
	c.ticker = h.after(h.opt.ProgressFan, func() {
		percent := float64((c.total - c.remaining(h.at)) * 100 / c.total)
		h.emit(fromCleaner, "cleaning.progress", c.task, "", map[string]any{"percent": percent})
		h.progress(c.task, percent, c.mode)
		h.fanTick(c)
	})
}

func (c *cleaning) remaining(at int64) int64 {
	if !c.running {
		return c.left
	}
	return max(c.left-(at-c.since), 0)
}

// fanEnd is the end of a cleaning; its wheels, where it has some, come to rest first.
func (h *Home) fanEnd(c *cleaning, outcome, reason string) {
	if m := c.roam; m != nil {
		c.roam = nil
		m.ended = func(string, string) {}
		if h.motion == m {
			h.rest(outcome, reason)
		}
	}
	h.drop(c.timer)
	h.drop(c.ticker)
	started := c.running || c.paused
	h.cleaning, c.running = nil, false
	h.again("cleaning.is_running")
	if started {
		h.write(Entry{Kind: KindCleaningEnd, TaskID: c.id(), Method: "startBasicAirClear", Room: h.room, Reason: fanWord[outcome]})
	}
	h.emit(fromCleaner, "cleaning."+fanWord[outcome], c.task, reason, c.endData(outcome, reason))
	if c.byButton() {
		h.emit(fromCleaner, "external_stop", nil, reason, map[string]any{"code": "own_button"})
	}
	h.finish(c.task, outcome, reason, nil)
}

func (c *cleaning) endData(outcome, reason string) map[string]any {
	switch outcome {
	case Done:
		return map[string]any{"mode": c.mode}
	case Failed:
		return map[string]any{"code": reason}
	}
	return nil
}

var fanWord = map[string]string{Done: "completed", Failed: "failed", Cancelled: "stopped"}

// stopFan ends the current cleaning, after its wheels have braked; a stuck one goes on.
func (h *Home) stopFan(reason string) {
	c := h.cleaning
	switch {
	case c == nil || c.task != nil && c.task.fault.Stuck:
	case c.roam != nil && c.roam.rolling:
		c.roam.pausing = false
		h.brake(c.roam, func() { h.fanEnd(c, Cancelled, reason) })
	default:
		h.fanEnd(c, Cancelled, reason)
	}
}

func cancelCleaning(h *Home, t *task) {
	if h.cleaning != nil && h.cleaning.task == t {
		h.stopFan("")
	}
}

func endCleaningOf(h *Home, t *task, outcome, reason string) {
	if h.cleaning != nil && h.cleaning.task == t {
		h.fanEnd(h.cleaning, outcome, reason)
		return
	}
	h.finish(t, outcome, reason, nil)
}

func pauseCleaning(h *Home, t *task) {
	c := h.cleaning
	if c == nil || c.task != t || c.paused || t.fault.Stuck {
		return
	}
	if !c.running {
		h.drop(c.timer)
		h.hold(t, true)
		return
	}
	c.left = c.remaining(h.at)
	c.running, c.paused = false, true
	h.drop(c.timer)
	h.drop(c.ticker)
	h.write(Entry{Kind: KindCleaningPause, TaskID: t.id, Method: t.method, Room: h.room})
	h.again("cleaning.is_running")
	if c.roam != nil {
		pauseMotion(h, t)
	}
	if m := h.motion; m == nil || m.task != t || !m.pausing { // else when the wheels rest
		h.hold(t, true)
	}
}

func resumeCleaning(h *Home, t *task) {
	c := h.cleaning
	if c == nil || c.task != t || !t.held && !c.paused {
		return
	}
	h.hold(t, false)
	if c.roam != nil {
		resumeMotion(h, t)
	}
	if c.paused {
		h.fanOn(c, false)
		return
	}
	c.timer = h.after(h.opt.SpinUp, func() { h.fanOn(c, true) })
}

// startStopCleaning stops the fan, whoever started it.
func startStopCleaning(h *Home, t *task) string {
	h.write(Entry{Kind: KindStop, TaskID: t.id, Method: t.method, Room: h.room})
	ignored := h.cleaning != nil && h.cleaning.task != nil && h.cleaning.task.fault.IgnoreStop
	if !ignored {
		h.stopFan(ReasonStopped)
	}
	h.awaitFan(t)
	return ""
}

// awaitFan says that the fan rests, once it does.
func (h *Home) awaitFan(t *task) {
	h.later(t, h.opt.SettingTime, func() {
		if h.fanRuns() {
			h.awaitFan(t)
			return
		}
		h.again("cleaning.is_running")
		h.emit(fromCleaner, "cleaning.stopped", t, "", nil)
		h.finish(t, Done, "", nil)
	})
}
