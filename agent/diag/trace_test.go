package diag_test

import (
	"net/http"
	"strings"
	"testing"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

// A trace is found by every id that belongs to its work; by that of a step, a task or a question it tells of that step alone.
func TestATraceIsFoundByEveryCorrelationID(t *testing.T) {
	o := loadOpenAPI(t)
	r := serve(t, diag.Knobs{})
	r.a.Submit(strings.Replace(movePlan, `"device_task_requests"`, `"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"g_1",
	  "effects":[{"effect_id":"target_location_reached","step_id":"step_1","required":true}],"tier":"full"},"device_task_requests"`, 1))
	move := r.a.Last()
	r.a.Arrive("living_room")
	for key, v := range map[string]any{"battery.level": 80.0, "cleaning.is_running": false, "movement.is_moving": false, "movement.location": "living_room"} {
		r.a.Read(key, v) // the cloud is not asked over what is stale
	}
	r.a.Do(core.TaskAnswered{Task: r.a.Last(), Reason: core.ReasonExecutorRefused})
	whole := decode[diag.TraceDocument](t, decode[diag.Reply](t, r.get("/v1/trace/wf_9c1e")).Data)
	if len(whole.Entries) < 6 || whole.Entries[0].Stage != core.StageGoal || whole.Experience != "exp_1" {
		t.Fatalf("%+v", whole)
	}
	asked := ""
	for _, e := range whole.Entries {
		if e.What == "escalate" {
			asked = e.Basis
		}
		if !strings.HasSuffix(e.Time, "+09:00") {
			t.Errorf("time %q", e.Time)
		}
	}
	for id, step := range map[string]string{"wf_9c1e": "", "wf_9c1": "", "@last": "", "exp_1": "", "g_1": "", "pl_1": "", "tn_1": "", "step_1": "step_1", "wf_9c1e%2Fstep_1": "step_1", string(move): "step_1", asked: "step_2"} {
		resp, data := r.raw(r.read, "GET", "/v1/trace/"+id, nil)
		o.check(t, "GET", "/v1/trace/{id}", resp, data)
		doc := decode[diag.TraceDocument](t, decode[diag.Reply](t, data).Data)
		if doc.Workflow != "wf_9c1e" || doc.Step != step || len(doc.Entries) == 0 || step == "" && len(doc.Entries) != len(whole.Entries) {
			t.Errorf("%s: %s step %q, %d of %d entries", id, doc.Workflow, doc.Step, len(doc.Entries), len(whole.Entries))
		}
		for _, e := range doc.Entries {
			if step != "" && string(e.Step) != step {
				t.Errorf("%s: an entry about %q", id, e.Step)
			}
		}
	}
	tail := decode[diag.TraceDocument](t, decode[diag.Reply](t, r.get("/v1/trace/exp_1?tail=2")).Data)
	if n := len(whole.Entries); len(tail.Entries) != 2 || tail.Earlier != n-2 || tail.Entries[1].Seq != whole.Entries[n-1].Seq {
		t.Errorf("the last two: %+v", tail)
	}
	if resp, _ := r.raw(r.read, "GET", "/v1/trace/exp_9", nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown id: %s", resp.Status)
	}
}

// The running state has the names of the contract, whatever id it is asked for by; a plan without a goal has none.
func TestTheRunningStateOfAnExperience(t *testing.T) {
	r := serve(t, diag.Knobs{})
	r.a.Submit(strings.Replace(movePlan, `"device_task_requests"`, `"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"g_1","summary":"거실로 간다",
	  "effects":[{"effect_id":"target_location_reached","step_id":"step_1","required":true}],"tier":"full"},"device_task_requests"`, 1))
	r.a.Submit(secondPlan)
	got := string(decode[diag.Reply](t, r.get("/v1/experiences/exp_1")).Data)
	want := `{"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal":"거실로 간다","status":"active","current_phase":"waiting_for_target_location_reached",` +
		`"success_criteria":["device_goal_completed"],"constraints":[],"observation_subscriptions":["movement.arrived","movement.failed","task.failed"],"active_sessions":{"device_workflow_id":"wf_9c1e"},` +
		`"replan_budget":{"automatic_retries":0,"user_questions":0,"decisions":3,"replans":1},"goal_id":"g_1","effects":[{"effect_id":"target_location_reached","step_id":"step_1","state":"pending"}],"tier":"full"},` +
		`"workflow_context":{"workflow_id":"wf_9c1e","revision":0,"state":"active","steps":[{"step_id":"step_1","method":"setMoveTo","state":"dispatching","attempts":1},` +
		`{"step_id":"step_2","method":"startBasicAirClear","after":["step_1"],"state":"pending"}]}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if resp, _ := r.raw(r.read, "GET", "/v1/experiences/wf_9c20", nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a plan without a goal: %s", resp.Status)
	}
}
