package home

import (
	"maps"
	"slices"
)

// none is the value of a key that the robot cannot read now.
type none struct{}

// contexts says how each key of the device context is read.
var contexts = map[string]func(*Home) any{
	"movement.location":   func(h *Home) any { return h.location() },
	"movement.is_moving":  func(h *Home) any { return h.moving() },
	"station.docked":      func(h *Home) any { return h.docked },
	"battery.level":       func(h *Home) any { return h.battery.reported() },
	"battery.charging":    func(h *Home) any { return h.charging() },
	"cleaning.is_running": func(h *Home) any { return h.fanRuns() },
	"display.brightness":  func(h *Home) any { return h.screen.shown() },
	"sound.volume":        func(h *Home) any { return h.sound.volume },
	"sound.muted":         func(h *Home) any { return h.sound.muted },
	"mode.night":          func(h *Home) any { return h.night.on },
	"mode.manner":         func(h *Home) any { return h.manner.on },
	"air.pm25":            func(h *Home) any { return h.pm25() },
	"air.grade":           func(h *Home) any { return h.grade() },
	"voice.state":         func(h *Home) any { return h.voiceState() },
	"quiet_hours":         func(h *Home) any { return h.quiet },
	"safety.state":        func(h *Home) any { return h.safety },
}

// Keys names every context key that the robot serves, sorted.
func Keys() []string { return slices.Sorted(maps.Keys(contexts)) }

// Read answers with the values of keys as they are now, in that order; one it does not serve or cannot read is not available.
// The caller has advanced the model to the moment of the question.
func (h *Home) Read(keys []string) []Value {
	out := make([]Value, 0, len(keys))
	for _, key := range keys {
		out = append(out, value(key, h.read(key)))
	}
	return out
}

// read is one value as it is now; none where the robot does not serve the key or cannot read it.
func (h *Home) read(key string) any {
	read, served := contexts[key]
	if !served || slices.Contains(h.faults.NoValue, key) {
		return none{}
	}
	return read(h)
}

// Snapshot reads all keys, for a registration.
func (h *Home) Snapshot() []Value { return h.Read(Keys()) }

func value(key string, v any) Value {
	if _, missing := v.(none); missing {
		return Value{Key: key, Class: Independent}
	}
	return Value{Key: key, Value: v, Class: Independent, Available: true}
}

// again makes the next flush say a value even where it did not change: it was observed anew.
func (h *Home) again(key string) { h.resaid[key] = true }

// flush says what changed in the context since the last flush.
func (h *Home) flush() {
	var changed []Value
	for _, key := range Keys() {
		now := h.read(key)
		if now == h.said[key] && !h.resaid[key] {
			continue
		}
		h.said[key] = now
		changed = append(changed, value(key, now))
	}
	clear(h.resaid)
	if len(changed) > 0 && !h.faults.SilentContext {
		h.say(Emission{Context: changed})
	}
}
