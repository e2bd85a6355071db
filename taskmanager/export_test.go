package taskmanager

import (
	"reflect"

	"deviceagent/taskmanager/core"
)

// CanReplay says whether a kind of event can be read back from the journal.
func CanReplay(kind core.EventKind) bool { _, ok := kinds[kind]; return ok }

// Unanswerable lists the kinds of messages from outside whose head [core.HeadOf] does not know: one that is kept out could not be refused.
func Unanswerable() (out []core.EventKind) {
	empty := encode(map[string]any{})
	for kind, make := range kinds {
		ev, err := make(empty)
		if err != nil {
			panic(err)
		}
		if _, known := core.HeadOf(ev); !known && reflect.TypeOf(ev).Kind() == reflect.Struct {
			if f, has := reflect.TypeOf(ev).FieldByName("Head"); has && f.Anonymous {
				out = append(out, kind)
			}
		}
	}
	return out
}
