package planner

import (
	"bufio"
	"net/http"
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge/wire"
)

const goalPlan = `{"workflow":{"cloud_workflow_id":"wf_g","plan_id":"pl_g","revision":0},"device_task_requests":[
	{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"}},{"cloud_step_id":"air","taskMethod":"getAirQuality","depends_on":["go"]}],
	"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"air_known","summary":"the air there",
	"effects":[{"effect_id":"target_location_reached","step_id":"go","required":true},{"effect_id":"air_quality_reported","step_id":"air","required":true}],
	"budget":{"max_decisions":3,"max_replans":1,"deadline_ms":1800000,"fallback":"ask_or_stop","automatic_retries":1,"user_questions":1}}}`

// TestAGoalIsShownAsItWasReported: what nobody has said is missing, not guessed; what decisions took is added up; the result is the last word.
func TestAGoalIsShownAsItWasReported(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.must(http.StatusNotFound, "GET", "/v1/experiences/exp_1", "")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", goalPlan)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	v := r.must(http.StatusOK, "GET", "/v1/experiences/exp_1", "")
	want(t, v, "goal_id", "air_known")
	want(t, v, "workflow_id", "wf_g")
	want(t, v, "submission", "accepted")
	want(t, v, "status", "missing")
	want(t, v, "missing", []string{"status", "trace", "effects.target_location_reached", "effects.air_quality_reported"})
	want(t, v, "usage.decisions", 0)
	want(t, v, "usage.input_tokens", nil)

	q := d.ask("wf_g", "go", "executor_busy", "retry_local", "cancel")
	q.Escalation.RemainingEffects = []wire.RemainingEffect{{EffectID: "target_location_reached", CloudStepID: "go", State: "pending"}}
	d.say(q)
	d.say(d.ack(d.next(wire.TypeDecision), ""))
	question := d.envelope(wire.TypeQuestion)
	question.Corr = wire.Corr{WorkflowID: "wf_g", StepID: "go"}
	question.Question = &wire.Question{QuestionID: "q1", ExperienceID: "exp_1", Text: "?", Options: []wire.QuestionOption{{ID: "a", Text: "a"}}, ExpiresMS: 60_000}
	d.say(question)
	v = r.must(http.StatusOK, "GET", "/v1/experiences/exp_1", "")
	want(t, v, "usage.decisions", 1)
	want(t, v, "usage.replans", 0)
	want(t, v, "budget_left.decisions_left", 2)
	want(t, v["effects"].([]any)[0].(object), "state", "pending")
	want(t, v["effects"].([]any)[0].(object), "source", "escalation")
	want(t, v["decisions"].([]any)[0].(object), "action", "retry_local")
	want(t, v["questions"].([]any)[0].(object), "question_id", "q1")

	res := d.result("wf_g", "completed", "")
	res.Result.Experience = &wire.GoalReport{ExperienceID: "exp_1", GoalID: "air_known", Status: "completed", Effects: []wire.GoalEffectReport{
		{EffectID: "target_location_reached", StepID: "go", Required: true, State: "observed"}, {EffectID: "air_quality_reported", StepID: "air", Required: true, State: "observed"}},
		Trace: []wire.TraceEntry{{Seq: 4, Stage: "GOAL", What: "activated"}}}
	d.say(res)
	v = r.must(http.StatusOK, "GET", "/v1/experiences/exp_1", "")
	want(t, v, "status", "completed")
	want(t, v, "missing", []string{})
	want(t, v["effects"].([]any)[1].(object), "state", "observed")
	want(t, v["effects"].([]any)[1].(object), "source", "result")
	want(t, v["trace"].([]any)[0].(object), "what", "activated")
}

// TestTheStreamTellsOfGoals: each change of a goal by its id, and of a plan without one nothing.
func TestTheStreamTellsOfGoals(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	resp, err := r.via.RoundTrip(r.request("GET", "/v1/stream", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", goalPlan)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_plain", 0))
	d.say(d.ack(d.next(wire.TypePlan), ""))
	d.say(d.result("wf_plain", "completed", ""))
	d.say(d.ask("wf_g", "go", "executor_busy", "retry_local", "cancel"))
	d.next(wire.TypeDecision)
	res := d.result("wf_g", "failed", "executor_busy")
	res.Result.Experience = &wire.GoalReport{ExperienceID: "exp_1", GoalID: "air_known", Status: "safely_ended"}
	d.say(res)
	var told []string
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if ok && strings.Contains(data, `"kind":"experience"`) {
			told = append(told, data[strings.Index(data, `"id"`):])
		}
		if strings.Contains(data, "safely_ended") {
			break
		}
	}
	wanted := []string{`"id":"exp_1","device_id":"rb-1","what":"escalation executor_busy"}`, `"id":"exp_1","device_id":"rb-1","what":"decision retry_local"}`, `"id":"exp_1","device_id":"rb-1","what":"goal safely_ended"}`}
	if !slices.Equal(told, wanted) {
		t.Errorf("told %q, want %q", told, wanted)
	}
}
