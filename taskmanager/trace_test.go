package taskmanager_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// The trace of a goal lies in a row of its own: it is there after a restart as it was, goes on from there, and a replay makes the same
// bytes of it. The plan beside it, which has no goal, has no such row.
func TestTheTraceIsDurable(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		aimed := strings.Replace(planJSON("wf-8", thereAndBack), `"device_task_requests"`, `"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"g_1",`+
			`"effects":[{"effect_id":"target_location_reached","step_id":"step_1","required":true}],"tier":"shadow"},"device_task_requests"`, 1)
		r.receive(aimed)
		r.receive(planJSON("wf-9", muteLater))
		r.wait(12 * time.Second)
		before := r.whole("wf-8").Trace
		if len(before) < 2 {
			t.Fatalf("the trace has %d entries: %+v", len(before), before)
		}
		r.kill()
		rows := withItem(r, "t")
		r.open()
		after := r.whole("wf-8").Trace
		if !reflect.DeepEqual(before, after[:len(before)]) {
			t.Errorf("before the restart\n%+v, after it\n%+v", before, after)
		}
		if !slices.Equal(rows, []string{"wf-8"}) {
			t.Errorf("workflows with a row of a trace: %v", rows)
		}
		r.arrived("kitchen")
		r.wait(3 * time.Minute)
		last := r.whole("wf-8").Trace
		if i := slices.IndexFunc(last, func(e core.TraceEntry) bool { return e.Stage == core.StageEvidence }); len(last) <= len(before) || i < 0 {
			t.Errorf("nothing of what followed is in the trace: %+v", last)
		}
		if _, err := taskmanager.Replay(r.recording()); err != nil {
			t.Error(err)
		}
	})
}

// withItem names the workflows that have a row of this item.
func withItem(r *rig, item string) (out []string) {
	img, err := r.mem.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, rec := range img.Records {
		if rec.Item == item {
			out = append(out, rec.Workflow)
		}
	}
	slices.Sort(out)
	return out
}
