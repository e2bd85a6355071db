package agent_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// TestPlanOverAProgram: a function of the robot that is a program on its disk is carried out, and proven by what the program observed.
func TestPlanOverAProgram(t *testing.T) {
	o := options(t)
	script := filepath.Join(o.Config.StateDir, "..", "screen.sh")
	if err := os.WriteFile(script, []byte(`read order
echo '{"type":"context","values":[{"key":"display.brightness","value":'$1'}]}'
`), 0o600); err != nil {
		t.Fatal(err)
	}
	op := o.Catalog.Operations["setScreen"]
	op.Binding = catalog.Binding{Kind: "process", Name: "screen", Process: &catalog.Process{Argv: []string{"/bin/sh", script, "{brightness}"},
		Keys: []catalog.ContextKey{"display.brightness"}}}
	o.Catalog.Operations["setScreen"] = op
	a, stop := start(t, o)
	ans, err := a.Manager().Receive(t.Context(), []byte(`{"v":"a2a-task-orchestration-v1","type":"plan","id":"0190a000-0000-7000-8000-000000000001","device_id":"rb-1",
 "sent_at":"2026-11-30T09:00:00.000Z","body":{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},
 "device_task_requests":[{"cloud_step_id":"dim","taskMethod":"setScreen","params":{"on":true,"brightness":20}}]}}`), taskmanager.FromLocal)
	if err != nil || !ans.Accepted {
		t.Fatalf("answer %+v (%v)", ans, err)
	}
	var st core.Step
	for range 500 {
		if err := a.Manager().Inspect(t.Context(), func(s *core.State, _ core.Now) { st = s.Workflows["wf_1"].Steps[0] }); err != nil {
			t.Fatal(err)
		}
		if st.State.Terminal() {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if st.State != core.Completed || len(st.Effects) != 1 || st.Effects[0].Evidence[0].Source != "screen" {
		t.Errorf("the step is %s (%s): %+v", st.State, st.Reason, st.Effects)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
