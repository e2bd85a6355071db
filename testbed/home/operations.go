package home

import (
	"maps"
	"slices"
	"time"
)

// operation is how the robot does one method. start begins the work or says why not; cancel stops it as gently as the body
// needs; end stops it at once with an outcome; pause and resume are nil where the work cannot be held.
type operation struct {
	body   bool // needs the body free: refused while the safety controller holds it
	stops  bool // is a stop: never refused
	start  func(*Home, *task) string
	cancel func(*Home, *task)
	end    func(h *Home, t *task, outcome, reason string)
	pause  func(*Home, *task)
	resume func(*Home, *task)
	undo   func(*Home) func() // called before the work, gives what undoes it; nil: what it brings about stays
}

// operations is the robot's list of methods. It is filled at start, since the functions refer to each other.
var operations map[string]operation

func init() {
	moving := operation{body: true, cancel: cancelMotion, end: endMotionOf, pause: pauseMotion, resume: resumeMotion}
	quick := operation{cancel: cancelAtOnce, end: endQuick}
	with := func(op operation, start func(*Home, *task) string) operation {
		op.start = start
		return op
	}
	undone := func(op operation, undo func(*Home) func()) operation {
		op.undo = undo
		return op
	}
	stop := operation{body: true, stops: true, cancel: func(*Home, *task) {}, end: endQuick}
	operations = map[string]operation{
		"setMoveTo":          with(moving, startMoveTo),
		"returnToStation":    undone(with(moving, startReturn), undoRest),
		"setMoving":          with(moving, startNudge),
		"stopMovement":       undone(with(stop, startStopMovement), undoRest),
		"stopCleaning":       undone(with(stop, startStopCleaning), undoStill),
		"ampStop":            with(quick, startStopSpeech),
		"startBasicAirClear": {body: true, start: startCleaning, cancel: cancelCleaning, end: endCleaningOf, pause: pauseCleaning, resume: resumeCleaning},
		"getAirQuality":      with(quick, startMeasure),
		"getBatteryStatus":   with(quick, startBatteryStatus),
		"startVitalSign":     {start: startVital, cancel: cancelVital, end: endVital},
		"setScreen":          undone(with(quick, startScreen), undoScreen),
		"setVolume":          undone(with(quick, startVolume), undoSound),
		"setNightMode":       undone(with(quick, startNight), undoNight),
		"setMannerMode":      undone(with(quick, startManner), undoManner),
		"setLlmTts":          {start: startSpeech, cancel: cancelSpeech, end: endSpeechOf},
		"showText":           with(quick, startShowText),
		"stopTts":            with(quick, startStopSpeech),
	}
	for _, method := range []string{"setAirCleanerOperation", "setStatusClean", "setDeviceStatus", "setConfig", "getConfig"} {
		operations[method] = with(quick, startPlain)
	}
}

// Methods names every operation that the robot serves, sorted.
func Methods() []string { return sortedKeys(operations) }

func cancelAtOnce(h *Home, t *task) { h.abort(t, Cancelled, "") }

func endQuick(h *Home, t *task, outcome, reason string) { h.finish(t, outcome, reason, nil) }

// startPlain is an operation of the firmware that this home has no picture of: it only succeeds.
func startPlain(h *Home, t *task) string {
	h.later(t, h.opt.SettingTime, func() { h.finish(t, Done, "", nil) })
	return ""
}

// later does something for a task unless it has ended by then.
func (h *Home) later(t *task, d time.Duration, do func()) {
	h.after(d, func() {
		if t.result == nil {
			do()
		}
	})
}

func text(params map[string]any, key string) string {
	s, _ := params[key].(string)
	return s
}

func flag(params map[string]any, key string) (on, given bool) {
	on, given = params[key].(bool)
	return on, given
}

// noFlag says whether something is given that is no flag.
func noFlag(params map[string]any, key string) bool {
	_, given := params[key]
	_, is := flag(params, key)
	return given && !is
}

// number reads a whole or broken number in whichever type its codec left it.
func number(params map[string]any, key string) (float64, bool) {
	switch n := params[key].(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case uint64:
		return float64(n), true
	case int:
		return float64(n), true
	}
	return 0, false
}

// within reads an optional number in a range; ok is false where it is there and outside.
func within(params map[string]any, key string, low, high, otherwise float64) (n float64, ok bool) {
	n, given := number(params, key)
	if !given {
		_, there := params[key]
		return otherwise, !there
	}
	return n, n >= low && n <= high
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
