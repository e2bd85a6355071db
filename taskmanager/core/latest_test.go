package core_test

import (
	"slices"
	"testing"

	"deviceagent/taskmanager/core"
)

func TestAHelloListsTheWorkflowsThatChangedLast(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	plan := `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}}]`
	for _, wf := range []string{"wf_1", "wf_2", "wf_3"} {
		if ans := r.offer(wf, "pl_"+wf, plan); !ans.Accepted {
			t.Fatalf("plan refused: %s %+v", ans.Reason, ans.Faults)
		}
		r.pass(10)
	}
	if got, want := r.s.LatestOpen(2), []core.WorkflowID{"wf_3", "wf_2"}; !slices.Equal(got, want) {
		t.Errorf("listed are %v, want %v", got, want)
	}
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"}) // the move of wf_1 runs; the others wait for the base
	if got, want := r.s.LatestOpen(2), []core.WorkflowID{"wf_1", "wf_3"}; !slices.Equal(got, want) {
		t.Errorf("after wf_1 has changed listed are %v, want %v", got, want)
	}
	if got := r.s.LatestOpen(9); len(got) != 3 {
		t.Errorf("listed are %v, want all three", got)
	}
}
