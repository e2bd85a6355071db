package planner

import (
	"net/http"
	"testing"
	"time"

	"deviceagent/bridge/wire"
)

// ask makes a question of the device about a workflow.
func (d *robotRig) ask(workflow, step, reason string, actions ...string) wire.Envelope {
	env := d.envelope(wire.TypeEscalation)
	env.SentAt = stamp(d.r.clock.now())
	id := "e-" + env.ID
	env.Corr = wire.Corr{WorkflowID: workflow, PlanID: "pl", StepID: step, EscalationID: id}
	env.Escalation = &wire.Escalation{EscalationID: id, ReasonCode: reason, Recoverable: true, PlanRevision: 3, AllowedActions: actions, DefaultAction: "cancel", DeadlineMS: 120_000,
		Budget: wire.Budget{DecisionsLeft: 2, ReplansLeft: 1}}
	return env
}

// running is a device with a plan that it has accepted.
func (r *rig) running() (*robotRig, string) {
	r.t.Helper()
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	return d, id
}

// TestAQuestionIsAnsweredOnceByTheTable: what passes by itself is tried once more for each step, all else takes its end.
func TestAQuestionIsAnsweredOnceByTheTable(t *testing.T) {
	r := newRig(t)
	d, id := r.running()
	for _, tc := range []struct {
		step, reason string
		actions      []string
		want         string
	}{
		{"a", "executor_busy", []string{"retry_local", "replan_cloud", "cancel"}, "retry_local"},
		{"a", "executor_busy", []string{"retry_local", "replan_cloud", "cancel"}, "cancel"},
		{"b", "executor_busy", []string{"retry_local", "cancel"}, "retry_local"},
		{"c", "evidence_contradicts", []string{"retry_local", "cancel"}, "cancel"},
		{"d", "context_stale", []string{"replan_cloud", "cancel"}, "cancel"},
	} {
		q := d.ask(id, tc.step, tc.reason, tc.actions...)
		d.say(q)
		got := d.next(wire.TypeDecision)
		if b := got.Decision; b.EscalationID != q.Escalation.EscalationID || b.Action != tc.want || b.PlanRevision != 3 || b.Plan != nil {
			t.Fatalf("%s of %s is answered %+v, want %s", tc.reason, tc.step, b, tc.want)
		}
		d.say(q) // the receipt was lost: it is kept, and answered already
		d.say(d.ack(got, ""))
	}
	if came, _ := d.sync("1.1"); len(came) != 0 {
		t.Fatalf("%d more messages", len(came))
	}
	v := r.workflow(id)
	list := v["escalations"].([]any)
	if len(list) != 5 {
		t.Fatalf("%d questions are shown", len(list))
	}
	want(t, list[0].(object), "action", "retry_local")
	want(t, list[0].(object), "decision.state", "accepted")
	want(t, list[1].(object), "action", "cancel")
	if n := len(v["controls"].([]any)); n != 0 {
		t.Errorf("%d decisions are shown as controls", n)
	}
}

// TestWhatIsNotAnswered: a question that is over, of an ended workflow, or about what this planner never sent.
func TestWhatIsNotAnswered(t *testing.T) {
	r := newRig(t)
	d, id := r.running()
	late := d.ask(id, "a", "executor_busy", "retry_local", "cancel")
	r.clock.advance(121 * time.Second)
	d.say(late)
	d.say(d.ask("wf_of_others", "a", "executor_busy", "retry_local", "cancel"))
	d.say(d.result(id, "failed", "executor_busy"))
	d.say(d.ask(id, "b", "executor_busy", "retry_local", "cancel"))
	if came, _ := d.sync("1.1"); len(came) != 0 {
		t.Fatalf("answered: %+v", came[0].Decision)
	}
	want(t, r.workflow(id)["escalations"].([]any)[0].(object), "action", "")
}

// TestAQuestionOfADeviceWithoutAClockIsAnswered: its deadline cannot be judged, and the device judges anyway.
func TestAQuestionOfADeviceWithoutAClockIsAnswered(t *testing.T) {
	r := newRig(t)
	d, id := r.running()
	q := d.ask(id, "a", "executor_busy", "retry_local", "cancel")
	q.SentAt = "1970-01-01T00:02:00.000Z"
	d.say(q)
	d.next(wire.TypeDecision)
}

// TestADecisionThatIsRefused is shown as such, and nothing is sent again.
func TestADecisionThatIsRefused(t *testing.T) {
	r := newRig(t)
	d, id := r.running()
	d.say(d.ask(id, "a", "executor_busy", "retry_local", "cancel"))
	d.say(d.ack(d.next(wire.TypeDecision), "decision_stale"))
	r.clock.advance(2 * time.Minute)
	r.tick()
	if came, _ := d.sync("1.1"); len(came) != 0 {
		t.Fatalf("sent again: %+v", came[0])
	}
	shown := r.workflow(id)["escalations"].([]any)[0].(object)
	want(t, shown, "decision.state", "refused")
	want(t, shown, "decision.reason_code", "decision_stale")
	want(t, r.workflow(id), "submission", "accepted")
}

// TestThePlannerReplansByItself: S19, F12. Once, by a revision of the very plan that the question is about; where the replans are spent, or the
// plan has been changed since, it is not sent.
func TestThePlannerReplansByItself(t *testing.T) {
	r, d, id := shipped(t)
	q := d.ask(id, "step_1", "path_blocked", "retry_local", "replan_cloud", "cancel")
	q.Escalation.PlanRevision = 0
	d.say(q)
	got := d.next(wire.TypeDecision)
	b := got.Decision
	if b.Action != "replan_cloud" || b.PlanRevision != 0 || b.Plan == nil || b.Plan.Workflow.Revision != 1 || len(b.Plan.Requests) != 1 || b.Plan.Requests[0].CloudStepID != "step_3" || b.Reason != "policy: smallest_change, rest" {
		t.Fatalf("answered %+v", b)
	}
	other := `{"workflow":{"cloud_workflow_id":"` + id + `","plan_id":"` + b.Plan.Workflow.PlanID + `","revision":1},"device_task_requests":[{"cloud_step_id":"s9","taskMethod":"setMoveTo","params":{"position":"거실"}}]}`
	want(t, r.must(http.StatusConflict, "POST", "/v1/devices/rb-1/plans", other), "code", "same_revision_other_content") // it has gone down with the answer
	d.say(d.ack(got, ""))
	shown := r.workflow(id)["escalations"].([]any)[0].(object)
	want(t, shown, "action", "replan_cloud")
	want(t, shown, "how", "smallest_change, rest")
	want(t, r.workflow(id), "revision", 1)
	spent := d.ask(id, "step_3", "path_blocked", "retry_local", "cancel")
	spent.Escalation.PlanRevision = 1
	d.say(spent)
	if b := d.next(wire.TypeDecision).Decision; b.Action != "cancel" {
		t.Errorf("answered %+v", b)
	}
	a := r.turn("rb-1", "거실에 도착했어?")
	d.next(wire.TypeMonitor)
	want(t, a, "tts_response", "거실로 이동은 하지 못했어요.")
	want(t, a, "decision.speech_act", "failed")
}

// TestCaseF12_NoReplanOfAPlanThatHasBeenChanged: the question was asked before the revision came, and is about a plan that is no more.
func TestCaseF12_NoReplanOfAPlanThatHasBeenChanged(t *testing.T) {
	_, d, id := shipped(t)
	d.says("안방 말고 주방으로 가", id, "running", "pending", "pending")
	d.say(d.ack(d.next(wire.TypePlan), ""))
	old := d.ask(id, "step_1", "path_blocked", "replan_cloud", "cancel")
	old.Escalation.PlanRevision = 0
	d.say(old)
	if b := d.next(wire.TypeDecision).Decision; b.Action != "cancel" || b.Plan != nil {
		t.Errorf("a question about an old revision is answered %+v", b)
	}
	now := d.ask(id, "step_1", "path_blocked", "replan_cloud", "cancel")
	now.Escalation.PlanRevision = 1
	d.say(now)
	if b := d.next(wire.TypeDecision).Decision; b.Action != "replan_cloud" || b.Plan.Workflow.Revision != 2 || b.Plan.Requests[0].CloudStepID != "step_3_r1" {
		t.Errorf("answered %+v", b)
	}
}
