package planner

import (
	"net/http"
	"testing"
	"time"

	"deviceagent/bridge/wire"
)

// question makes a question of the device to its user.
func (d *robotRig) question(workflow, id string, change func(*wire.Question)) wire.Envelope {
	env := d.envelope(wire.TypeQuestion)
	env.SentAt = stamp(d.r.clock.now())
	env.Corr = wire.Corr{WorkflowID: workflow, PlanID: "pl", StepID: "step_1", ExperienceID: "exp_1"}
	env.Question = &wire.Question{QuestionID: id, ExperienceID: "exp_1", Kind: "consent", Consent: "vital", Text: "?",
		Options: []wire.QuestionOption{{ID: "yes", Text: "네"}, {ID: "no", Text: "아니요"}}, ExpiresMS: 60_000}
	if change != nil {
		env.Question = &wire.Question{QuestionID: id, ExperienceID: "exp_1"}
		change(env.Question)
	}
	return env
}

func (r *rig) questions(path string) (out []map[string]any) {
	r.t.Helper()
	list, _ := r.must(http.StatusOK, "GET", path, "")["questions"].([]any)
	for _, q := range list {
		out = append(out, q.(map[string]any))
	}
	return out
}

// What the user is asked is shown, and an answer goes down once; what the device says of it afterwards is shown too.
func TestAQuestionToTheUser(t *testing.T) {
	r := newRig(t)
	d, id := r.running()
	wf := "/v1/workflows/" + id
	d.say(d.question(id, "q-1", nil))
	q := r.questions("/v1/devices/rb-1")
	if len(q) != 1 || q[0]["question_id"] != "q-1" || q[0]["state"] != "open" || q[0]["workflow_id"] != id {
		t.Fatalf("questions %v", q)
	}
	want(t, r.must(http.StatusNotFound, "POST", wf+"/answer", `{"question_id":"q-2","option":"yes"}`), "code", "not_found")
	out := r.must(http.StatusAccepted, "POST", wf+"/answer", `{"question_id":"q-1","option":"yes","turn_id":"tn_2"}`)
	a := d.next(wire.TypeAnswer)
	if a.Answer.QuestionID != "q-1" || a.Answer.Option != "yes" || a.Answer.TurnID != "tn_2" || a.Answer.By != "user" || a.ID != out["message_id"] {
		t.Errorf("answer %+v", a.Answer)
	}
	want(t, r.must(http.StatusConflict, "POST", wf+"/answer", `{"question_id":"q-1","option":"no"}`), "code", "question_answered")
	d.say(d.ack(a, ""))
	if q := r.questions(wf); q[0]["state"] != "answered" || q[0]["option"] != "yes" {
		t.Errorf("questions %v", q)
	}
	want(t, r.must(http.StatusConflict, "POST", wf+"/answer", `{"question_id":"q-1","option":"no"}`), "code", "question_closed")
	if q := r.questions("/v1/devices/rb-1"); len(q) != 0 {
		t.Errorf("still open: %v", q)
	}
}

// A refused answer leaves the question open; one that was given on the robot, withdrawn or is over closes it.
func TestHowAQuestionCloses(t *testing.T) {
	r := newRig(t)
	d, id := r.running()
	wf := "/v1/workflows/" + id
	d.say(d.question(id, "q-1", nil))
	r.must(http.StatusAccepted, "POST", wf+"/answer", `{"question_id":"q-1","option":"maybe"}`)
	d.say(d.ack(d.next(wire.TypeAnswer), "decision_not_allowed"))
	if q := r.questions(wf); q[0]["state"] != "open" {
		t.Errorf("questions %v", q)
	}
	d.say(d.question(id, "q-1", func(q *wire.Question) { q.Option, q.By = "no", "user" }))
	d.say(d.question(id, "q-2", nil))
	d.say(d.question(id, "q-2", func(q *wire.Question) { q.Withdrawn = true }))
	d.say(d.question(id, "q-3", nil))
	r.clock.advance(61 * time.Second)
	q := r.questions(wf)
	if len(q) != 3 || q[0]["state"] != "answered" || q[0]["by"] != "user" || q[1]["state"] != "withdrawn" || q[2]["state"] != "expired" {
		t.Errorf("questions %v", q)
	}
	want(t, r.must(http.StatusConflict, "POST", wf+"/answer", `{"question_id":"q-3","option":"no"}`), "code", "question_closed")
}
