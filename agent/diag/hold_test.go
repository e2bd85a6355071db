package diag_test

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

func (r *rig) post(path, body string) diag.Answer {
	_, data := r.raw(r.control, "POST", path, strings.NewReader(body))
	return decode[struct{ Data diag.Answer }](r.t, data).Data
}

func (r *rig) statusNow() diag.StatusDocument {
	_, data := r.raw(r.read, "GET", "/v1/status", nil)
	return decode[struct{ Data diag.StatusDocument }](r.t, data).Data
}

// C12, C18: a pause is accepted, which is not paused; it tells what becomes of each step, and the status names who holds what.
func TestC18_PauseTellsWhoHoldsWhat(t *testing.T) {
	r := serve(t, diag.Knobs{})
	r.a.Submit(movePlan)
	task := r.a.Last()
	r.a.Do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	ans := r.post("/v1/workflows/wf_9c1e/pause", `{"reason":"a child in the way"}`)
	if !ans.Accepted || ans.State != "active" || !slices.Equal(ans.Holders, []string{"operator:workflow:wf_9c1e"}) || !slices.Equal(ans.Steps, []string{"wf_9c1e/step_1 pausing"}) {
		t.Fatalf("pause: %+v", ans)
	}
	st := r.statusNow()
	if len(st.Holders) != 1 || st.Holders[0].Kind != "operator" || st.Holders[0].Why != "a child in the way" || st.Holders[0].Resume != "never" || st.Workflows.Active != 1 {
		t.Fatalf("status: %+v", st.Holders)
	}
	r.a.Do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1"})
	if st := r.statusNow(); st.Workflows.Held != 1 {
		t.Errorf("held: %+v", st.Workflows)
	}
	if ans := r.post("/v1/workflows/wf_9c1e/resume", `{"reason":"gone"}`); !ans.Accepted || len(ans.Holders) != 0 {
		t.Errorf("resume: %+v", ans)
	}
	if st := r.statusNow(); len(st.Holders) != 0 {
		t.Errorf("status: %+v", st.Holders)
	}
}

// An operator ends the hold of another by its name, and nobody's by accident.
func TestResumeOfAnotherHolder(t *testing.T) {
	r := serve(t, diag.Knobs{})
	r.a.Submit(movePlan)
	r.a.Do(core.ControlReceived{Head: core.Head{Msg: "p-1"}, Verb: "pause", Scope: "workflow", Target: "wf_9c1e", By: "app"})
	if ans := r.post("/v1/workflows/wf_9c1e/resume", `{"reason":"x"}`); !ans.Accepted || len(ans.Holders) != 1 {
		t.Fatalf("its own: %+v", ans)
	}
	if ans := r.post("/v1/workflows/wf_9c1e/resume", `{"reason":"the phone is lost","holder":"app"}`); !ans.Accepted || len(ans.Holders) != 0 {
		t.Fatalf("by name: %+v", ans)
	}
}

// C17: a clean-up that runs is named with its step, also after the step has ended.
func TestC17_CleanUpIsNamedWithItsStep(t *testing.T) {
	for _, verb := range []string{"cancel", "kill"} {
		t.Run(verb, func(t *testing.T) {
			r := serve(t, diag.Knobs{})
			r.a.Submit(movePlan)
			r.a.Do(core.TaskAnswered{Task: r.a.Last(), Accepted: true, Instance: "run-1"})
			r.post("/v1/workflows/wf_9c1e/"+verb, `{"reason":"x"}`)
			want := diag.CleanUp{Workflow: "wf_9c1e", Step: "step_1", StepState: "cancelling", Method: "setMoveTo", Task: string(r.a.Last()), Resources: []string{"base"}, StopCalls: 1}
			if verb == "kill" {
				want.StepState = "cancelled"
			}
			if st := r.statusNow(); len(st.Cleaning) != 1 || st.Cleaning[0].Step != want.Step || st.Cleaning[0].StepState != want.StepState || st.Cleaning[0].StopCalls != 1 ||
				!slices.Equal(st.Cleaning[0].Resources, want.Resources) || st.Cleaning[0].Task != want.Task {
				t.Errorf("clean-up %+v, want %+v", st.Cleaning, want)
			}
		})
	}
}
