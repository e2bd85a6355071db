package home

import "maps"

// Source classes, as the robot claims them.
const (
	Independent = "independent" // a sensor or manager saw it
	SamePath    = "same_path"   // the path that carried the command says it
)

// Emission is one thing that the robot says of its own accord. Exactly one of the pointers, or Context, is set.
type Emission struct {
	AtMS     int64
	Event    *Event
	Context  []Value
	Progress *Progress
	Result   *Result
	Held     *Held
}

// Held says of a task that it rests and can go on, or that it goes on.
type Held struct {
	TaskID string
	Paused bool
}

// Event is one event of the catalog. Data holds strings, booleans and float64 only.
type Event struct {
	Name     string
	TaskID   string // empty: no task caused it
	Resource string
	Source   string
	Class    string
	Seq      int64
	Reason   string
	Data     map[string]any
}

// Value is one value of the device context. Available false: the robot has no reading now.
type Value struct {
	Key       string
	Value     any
	Class     string
	Available bool
}

// Progress is a sign of life of a task.
type Progress struct {
	TaskID  string
	Percent float64
	Note    string
}

// Outcomes of a task, as its executor claims them.
const (
	Done      = "done"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// Result is the robot's claim of how a task ended. It proves nothing.
type Result struct {
	TaskID  string
	Outcome string
	Reason  string
	Output  map[string]any
}

// emitter is where an event comes from: its resource and the manager that reports it.
type emitter struct{ resource, source string }

var (
	fromBase    = emitter{"base", "movement_manager"}
	fromStation = emitter{"base", "station"}
	fromCleaner = emitter{"cleaner", "cleaning_manager"}
	fromAir     = emitter{"", "air_sensor"}
	fromBattery = emitter{"", "battery_manager"}
	fromScreen  = emitter{"screen", "display_manager"}
	fromSound   = emitter{"volume", "sound_manager"}
	fromModes   = emitter{"", "mode_manager"}
	fromVital   = emitter{"vital", "vital_service"}
	fromSpeaker = emitter{"speaker", "speech_service"}
	fromVoice   = emitter{"", "voice_service"}
	fromButtons = emitter{"", "pui"}
	fromSafety  = emitter{"base", "safety_controller"}
	fromPeople  = emitter{"", "people"}
)

// emit reports an event, and before it the context that changed with it. A terminal event of a task is remembered with it.
func (h *Home) emit(e emitter, name string, t *task, reason string, data map[string]any) {
	h.flush()
	h.seq++
	ev := Event{Name: name, Resource: e.resource, Source: e.source, Class: Independent, Seq: h.seq, Reason: reason, Data: data}
	if ev.Data == nil {
		ev.Data = map[string]any{}
	}
	fault := Fault{}
	if t != nil {
		ev.TaskID, fault = t.id, t.fault
		t.event = &ev
	}
	note := ""
	switch {
	case h.faults.drops(name) || fault.drops(name):
		note = "dropped"
	case h.faults.DelayEvents > 0:
		note = "late"
		h.after(h.faults.DelayEvents, func() { h.say(Emission{Event: &ev}) })
	default:
		h.say(Emission{Event: &ev})
		if h.faults.DuplicateEvents || fault.DuplicateEvents {
			again := ev
			again.Data = maps.Clone(ev.Data)
			h.say(Emission{Event: &again})
		}
	}
	h.write(Entry{Kind: KindEvent, TaskID: ev.TaskID, Event: name, Room: h.room, Reason: reason, Note: note, Data: data})
}

// Inject says an event that the robot has no ground for: another robot's, or one of an unknown task.
func (h *Home) Inject(ev Event) { h.say(Emission{Event: &ev}) }

func (h *Home) say(e Emission) {
	e.AtMS = h.at
	h.out = append(h.out, e)
}

// hold notes whether a task rests, and says so where that has changed.
func (h *Home) hold(t *task, paused bool) {
	if t.held == paused {
		return
	}
	t.held = paused
	h.flush()
	h.say(Emission{Held: &Held{TaskID: t.id, Paused: paused}})
}

func (h *Home) progress(t *task, percent float64, note string) {
	if t != nil {
		h.say(Emission{Progress: &Progress{TaskID: t.id, Percent: percent, Note: note}})
	}
}
