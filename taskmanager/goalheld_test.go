package taskmanager_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// TestAHeldGoalIsSuspendedAfterACut: whoever holds a plan holds it in the next process, and its goal says so to whoever looks.
func TestAHeldGoalIsSuspendedAfterACut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		plan := planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"on":false},"temporal_relation":"after_planned_step","delay_ms":600000}]`)
		plan = strings.TrimSuffix(plan, "}}") + `,"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"g_1","effects":[{"effect_id":"reduced_visual_stimulation","step_id":"step_1","required":true}]}}}`
		if a := r.receive(plan); !a.Accepted {
			t.Fatalf("%+v", a)
		}
		if a := r.receive(fmt.Sprintf(`{"v":"%s","type":"control","id":"%s","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":{"verb":"pause","scope":"workflow","target":"wf-1"}}`, wire.Version, idOf("p-1"))); !a.Accepted {
			t.Fatalf("%+v", a)
		}
		r.wait(time.Second)
		r.kill()
		r.open()
		r.wait(time.Second)
		if s := r.goal("wf-1"); s != core.GoalSuspended {
			t.Errorf("after the cut the goal is %s", s)
		}
	})
}

func (r *rig) goal(wf core.WorkflowID) (out core.GoalStatus) {
	r.t.Helper()
	if err := r.m.Inspect(r.t.Context(), func(s *core.State, _ core.Now) { out = s.Workflows[wf].GoalStatus() }); err != nil {
		r.t.Fatal(err)
	}
	return out
}
