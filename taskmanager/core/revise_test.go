package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// revision makes the event of a revision of pl_1, with more members in its head.
func (r *rig) revision(revision int64, head, requests string) core.PlanSubmitted {
	r.t.Helper()
	if head != "" {
		head = "," + head
	}
	ev, ok := r.planText(fmt.Sprintf(`{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":%d%s},"device_task_requests":%s}`, revision, head, requests)).(core.PlanSubmitted)
	if !ok {
		r.t.Fatalf("the bridge refuses revision %d", revision)
	}
	return ev
}

// revise hands in a revision.
func (r *rig) revise(revision int64, head, requests string) core.Answer {
	r.t.Helper()
	return *r.do(r.revision(revision, head, requests)).Answers[0]
}

// taken hands in a revision that has to be accepted.
func (r *rig) taken(revision int64, head, requests string) core.Answer {
	r.t.Helper()
	a := r.revise(revision, head, requests)
	if !a.Accepted {
		r.t.Fatalf("revision %d is refused: %s %+v", revision, a.Reason, a.Faults)
	}
	return a
}

func faultsOf(a core.Answer) string {
	var lines []string
	for _, f := range a.Faults {
		lines = append(lines, f.Path+" "+string(f.Reason))
	}
	return strings.Join(lines, "\n")
}

// The plan of these tests: to the living room, then to the bedroom; the revision says the kitchen instead of the bedroom.
const (
	toLiving   = `{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}}`
	thenBed    = `{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"안방"},"depends_on":["step_1"]}`
	bedIsNow   = `{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_1"]}`
	thenCook   = `{"cloud_step_id":"step_3","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_1"]}`
	livingBed  = `[` + toLiving + `,` + thenBed + `]`
	livingCook = `[` + toLiving + `,` + thenCook + `]`
)

// A step that has not started may be changed under its id, or taken out; what runs goes on untouched.
func TestRevisionBeforeTheStepBegins(t *testing.T) {
	for _, tc := range []struct{ name, requests, last, room string }{
		{"changed", `[` + toLiving + `,` + bedIsNow + `]`, "step_2", "kitchen"},
		{"taken out, another instead", livingCook, "step_3", "kitchen"},
		{"the same in other words", `[` + thenBed + `,{"cloud_step_id":"step_1","token_text":"<sk_move>(position=living_room)<sk_end>","wait_policy":"completed","on_failure":"escalate"}]`, "step_2", "master_bedroom"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(livingBed)
			first := r.last().Task
			a := r.taken(1, "", tc.requests)
			if a.State != string(core.WfActive) || len(r.dispatches()) != 1 {
				t.Fatalf("answer %+v, %d dispatches", a, len(r.dispatches()))
			}
			r.arrive(first, "living_room")
			if d := r.last(); d.Task == first || d.Params["position"] != tc.room {
				t.Fatalf("dispatched %+v, want a move to %s", d, tc.room)
			}
			r.arrive(r.last().Task, tc.room)
			r.want("step_1", "completed", tc.last, "completed")
			r.wantWorkflow(core.WfCompleted)
			if n := len(r.wf("wf_1").Steps); n != 2 {
				t.Fatalf("%d steps are left, want 2", n)
			}
			if n := len(r.sent(core.MsgResult)); n != 1 {
				t.Fatalf("%d results", n)
			}
		})
	}
}

// What has begun and is left out stays as it is; only cancel_steps stops it, and what is new waits for its resource.
func TestRevisionOfARunningStep(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(livingBed)
	r.arrive(r.last().Task, "living_room")
	bed := r.last().Task
	r.accept(bed)

	r.taken(1, "", livingCook)
	r.want("step_1", "completed", "step_2", "running", "step_3", "queued/resource_busy")
	if n := count[core.Stop](r); n != 0 {
		t.Fatalf("%d stops: nobody asked for one", n)
	}
	a := r.taken(2, `"cancel_steps":["step_2"]`, livingCook)
	r.want("step_2", "cancelling/superseded", "step_3", "queued/resource_busy")
	if !slices.Equal(a.Stopping, []string{"base"}) || a.State != string(core.WfActive) || count[core.Stop](r) != 1 {
		t.Fatalf("answer %+v, %d stops", a, count[core.Stop](r))
	}
	r.do(core.TaskEnded{Task: bed, Outcome: core.OutcomeCancelled})
	r.elsewhere()
	r.want("step_2", "cancelled/superseded", "step_3", "dispatching")
	r.arrive(r.last().Task, "kitchen")
	r.want("step_1", "completed", "step_3", "completed")
	r.wantWorkflow(core.WfCompleted)
	if res := r.sent(core.MsgResult)[0].Result; res.Status != core.WfCompleted || res.Reason != core.ReasonNone || len(res.Steps) != 3 {
		t.Fatalf("result %+v", res)
	}
	if n := len(r.dispatches()); n != 3 {
		t.Fatalf("%d dispatches, want each move once", n)
	}
}

func TestE11_AStepIDIsNeverReused(t *testing.T) {
	other := `{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}`
	r := newRig(t)
	r.elsewhere()
	r.submit(livingBed)
	r.accept(r.last().Task)
	hash := r.wf("wf_1").Hash
	if a := r.revise(1, "", `[`+other+`]`); a.Reason != core.ReasonDuplicateStep || faultsOf(a) != "device_task_requests[0].cloud_step_id duplicate_step_id" {
		t.Fatalf("a step that runs with other content: %+v", a)
	}
	if r.wf("wf_1").Plan.Revision != 0 || r.wf("wf_1").Hash != hash {
		t.Fatal("a refused revision left a trace")
	}
	r.taken(2, "", `[`+toLiving+`]`) // step_2 is taken out
	if a := r.revise(3, "", `[`+toLiving+`,`+bedIsNow+`]`); faultsOf(a) != "device_task_requests[1].cloud_step_id duplicate_step_id" {
		t.Fatalf("a step that was taken out with other content: %+v", a)
	}
	r.restart("run-1")
	if a := r.revise(4, "", `[`+toLiving+`,`+bedIsNow+`]`); a.Reason != core.ReasonDuplicateStep {
		t.Fatalf("the same after a restart: %+v", a)
	}
	r.taken(5, "", livingBed) // with its own content it may come back
	r.want("step_2", "pending")
}

func TestRevisionsThatAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name           string
		head, requests string
		want           string
	}{
		{"a step to stop that never was", `"cancel_steps":["step_1","nobody"]`, `[` + thenFree + `]`, "workflow.cancel_steps[1] unknown_target"},
		{"a deadline that has passed", `"deadline_ms":1000`, livingBed, "workflow.deadline_ms deadline_too_short"},
		{"several at once", `"cancel_steps":["nobody"]`, `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"},"on_failure":"abort"}]`,
			"device_task_requests[0].cloud_step_id duplicate_step_id\nworkflow.cancel_steps[0] unknown_target"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(livingBed)
			r.accept(r.last().Task)
			r.pass(2000)
			if a := r.revise(1, tc.head, tc.requests); a.Accepted || faultsOf(a) != tc.want {
				t.Fatalf("answer %+v", a)
			}
			r.want("step_1", "running", "step_2", "pending")
			if count[core.Stop](r) != 0 {
				t.Fatal("a refused revision stopped something")
			}
		})
	}
}

const thenFree = `{"cloud_step_id":"step_9","taskMethod":"setMoveTo","params":{"position":"주방"}}`
