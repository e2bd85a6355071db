package core_test

import (
	"reflect"
	"slices"
	"testing"

	"deviceagent/taskmanager/core"
)

// Where each field of a state that no record holds comes from. A new one needs a line: what decisions rest on and nothing can derive
// belongs into core.Memory, or a replay of the journal comes out another way.
var unrecorded = map[reflect.Type]map[string]string{
	reflect.TypeFor[core.State](): {
		"Known": "memory", "Services": "memory", "used": "memory", "foreign": "memory", "gave": "memory",
		"Device": "record", "Mouth": "record", "Sessions": "record", "Workflows": "record", "Tombs": "record", "Templates": "record", "Hold": "origin of the process", "cat": "origin of the process",
		"order": "derived", "active": "derived", "closed": "history", "anchors": "derived",
	},
	reflect.TypeFor[core.Workflow](): {"wake": "derived", "wall": "derived", "wants": "derived", "held": "derived", "anchors": "derived", "keeps": "derived", "dirty": "reduction", "isNew": "reduction", "newer": "reduction",
		"Plan": "record", "Steps": "record", "Attempts": "record", "Trace": "record", "traced": "reduction"},
	reflect.TypeFor[core.Step]():    {"recheck": "memory", "dirty": "reduction"},
	reflect.TypeFor[core.Attempt](): {"next": "memory", "pauseNext": "memory", "dirty": "reduction"},
}

func TestEveryFieldWithoutARecordIsAccountedFor(t *testing.T) {
	for typ, known := range unrecorded {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if tag := f.Tag.Get("json"); tag != "" && tag != "-" {
				continue // a record holds it
			}
			if _, told := known[f.Name]; !told {
				t.Errorf("%s.%s is in no record: say in this table where it comes from, and add it to core.Memory if decisions rest on it", typ.Name(), f.Name)
			}
		}
	}
	var fields []string
	for i := range reflect.TypeFor[core.Memory]().NumField() {
		fields = append(fields, reflect.TypeFor[core.Memory]().Field(i).Name)
	}
	if want := []string{"Known", "Services", "Used", "Foreign", "Gave", "Looks", "TaskNo", "Trusted"}; !slices.Equal(fields, want) {
		t.Errorf("the memory is %v; package taskmanager packs %v", fields, want)
	}
}

// A difference of two memories, applied to the one, gives the other.
func TestMemoryDifference(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	all := func(core.WorkflowID) bool { return true }
	r.submit(toKitchen)
	r.do(core.TaskAnswered{Task: r.last().Task, Unknown: true})
	before := r.s.Part(all)
	r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "battery.level", Value: 30.0, Available: true}}})
	r.event("movement.started", "", nil)
	r.do(core.TaskStatus{Task: r.last().Task, Known: core.KnownNoAnswer})
	r.pass(30_000)
	diff, any := r.s.Memory().Since(before.Memory())
	if !any || len(diff.Known) == 0 || len(diff.Looks) == 0 {
		t.Fatalf("nothing is different: %+v", diff)
	}
	for _, way := range []struct{ from, to *core.State }{{before.Part(all), r.s}, {r.s.Part(all), before}} {
		diff, _ := way.to.Memory().Since(way.from.Memory())
		for id, wf := range way.to.Workflows {
			way.from.Workflows[id] = wf // the records are the same; what is in memory is to come from the difference
		}
		way.from.Remember(diff)
		if left, any := way.to.Memory().Since(way.from.Memory()); any {
			t.Errorf("the difference applied leaves %+v", left)
		}
	}
}
