package core

import "slices"

// Mode says who has the robot. It is derived from the holders, never set by hand.
type Mode string

// The modes. In manual and service the device takes no plans.
const (
	ModeAutomatic  Mode = "automatic"
	ModeIntervened Mode = "intervened" // a person has taken over at the robot: plans are kept and wait
	ModeManual     Mode = "manual"     // an operator has the robot
	ModeService    Mode = "service"    // it is being serviced
)

// ModeChange is one change of the mode. N counts them for ever, so that whoever sees only some of them knows what is missing.
type ModeChange struct {
	N      int64  `json:"n"`
	Mode   Mode   `json:"mode"`
	By     string `json:"by,omitempty"`
	Why    string `json:"why,omitempty"`
	WallMS int64  `json:"wall_ms,omitempty"` // 0: the clock was not trusted
}

// maxModes bounds the changes that are kept and reported.
const maxModes = 16

// modeOf derives the mode from the holds of the device.
func modeOf(holds []Hold) Mode {
	mode := ModeAutomatic
	for _, h := range holds {
		switch {
		case h.Scope != HoldAll:
		case h.Kind == HeldByOperator && h.Cause == string(ModeService):
			return ModeService
		case h.Kind == HeldByOperator && h.Cause == string(ModeManual):
			mode = ModeManual
		case h.Kind == HeldByPUI && h.Cause == causeTakeover && mode == ModeAutomatic:
			mode = ModeIntervened
		}
	}
	return mode
}

// Mode is the device's mode now.
func (s *State) Mode() Mode { return modeOf(s.Device.Holds) }

// noteMode writes a change of the mode down, each one: who looks at the last alone would not know that there was another between.
func (w *work) noteMode(h Hold) {
	now, last := modeOf(w.dev.Holds), ModeAutomatic
	if n := len(w.dev.Modes); n > 0 {
		last = w.dev.Modes[n-1].Mode
	}
	if now == last {
		return
	}
	c := ModeChange{N: 1, Mode: now, By: h.By, Why: h.Why}
	if n := len(w.dev.Modes); n > 0 {
		c.N = w.dev.Modes[n-1].N + 1
	}
	if w.now.Trusted {
		c.WallMS = w.now.WallMS
	}
	w.dev.Modes = append(slices.Clone(w.dev.Modes), c)
	if over := len(w.dev.Modes) - maxModes; over > 0 {
		w.dev.Modes = w.dev.Modes[over:]
	}
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, From: string(last), To: string(now)})
}

// closed says whether the device takes no plans now.
func (m Mode) closed() bool { return m == ModeManual || m == ModeService }

// setMode takes an operator's wish at the robot itself: manual and service cancel what is open and let nothing in, automatic lets plans
// in again.
func (w *work) setMode(ev ControlReceived, ans *Answer) {
	mode := Mode(ev.Target)
	switch {
	case !ev.Local:
		ans.Reason = ReasonUnsupported
		return
	case mode != ModeAutomatic && !mode.closed():
		ans.Reason = ReasonUnknownTarget
		return
	}
	h := Hold{Kind: HeldByOperator, Scope: HoldAll, Cause: string(mode), Resume: ResumeNever, By: orText(ev.By, "operator"), Why: ev.Why}
	if mode.closed() {
		w.cancelOpen(ReasonNotAutomatic, ans)
		w.hold(h)
	}
	w.releaseIf(h, func(o Hold) bool { return o.Kind == HeldByOperator && Mode(o.Cause).closed() && o.Cause != h.Cause })
	ans.Accepted, ans.State = true, string(modeOf(w.dev.Holds))
	w.touched, w.ch.Must = true, true
}

// cancelOpen cancels every open plan but those that stop something, and stops what ended ones have left running.
func (w *work) cancelOpen(reason Reason, ans *Answer) {
	for _, id := range w.everyone() {
		wf := w.peek(id)
		if wf.Plan.stopsOnly() {
			continue
		}
		if !wf.State.Terminal() {
			w.cancelWorkflow(id, reason)
		}
		ans.Stopping = append(ans.Stopping, w.stopLive(w.wf(id))...)
	}
}

// stopsOnly says whether a plan does nothing but stop: that waits for no mode.
func (p *Plan) stopsOnly() bool {
	return !slices.ContainsFunc(p.Steps, func(s StepSpec) bool { return len(s.Stops) == 0 })
}

// isMode says whether a hold makes a mode: it goes by the mode's own word, not by a resume.
func (h Hold) isMode() bool {
	return h.Kind == HeldByOperator && Mode(h.Cause).closed() || h.Kind == HeldByPUI && h.Cause == causeTakeover
}
