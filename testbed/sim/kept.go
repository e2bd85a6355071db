package sim

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// keptBy is how the sensors show an effect that plans want kept.
func keptBy(id catalog.EffectID) func(v map[catalog.ContextKey]any) bool {
	switch id {
	case "air_cleaning_active":
		return func(v map[catalog.ContextKey]any) bool { return v["cleaning.is_running"] == true }
	case "quiet_environment":
		return func(v map[catalog.ContextKey]any) bool {
			level, _ := v["sound.volume"].(float64)
			return v["sound.muted"] == true || level <= 20 || v["mode.manner"] == true
		}
	}
	return nil
}

// shot is what the sensors showed from a moment on.
type shot struct {
	at     int64
	values map[catalog.ContextKey]any
}

// watched are the values that a kept effect is read from.
var watched = []catalog.ContextKey{"cleaning.is_running", "sound.volume", "sound.muted", "mode.manner"}

// remember writes down a change of a value that is watched.
func (r *robot) remember(k catalog.ContextKey) {
	if !slices.Contains(watched, k) {
		return
	}
	s := shot{r.m.T, map[catalog.ContextKey]any{}}
	for _, w := range watched {
		s.values[w] = r.values[w]
	}
	r.shots = append(r.shots, s)
}

// everTrue says whether something was so at some moment of a time.
func (r *robot) everTrue(from, to int64, is func(map[catalog.ContextKey]any) bool) bool {
	for i, s := range r.shots {
		over := to + 1
		if i+1 < len(r.shots) {
			over = r.shots[i+1].at
		}
		if s.at <= to && over >= from && is(s.values) {
			return true
		}
	}
	return len(r.shots) == 0 && is(r.values)
}
