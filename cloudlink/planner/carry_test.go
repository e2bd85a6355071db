package planner

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
)

// shipped is a rig with the planner and the catalog as they are shipped, and a device that carries out S02.
func shipped(t *testing.T) (*rig, *robotRig, string) {
	t.Helper()
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.plans = pipeline.New(rules.New(cat, words), cat, words)
	r.build = func(in turn.Input, d turn.Decision, ids IDs) (*wire.Plan, error) {
		plan, err := compile.Plan(cat, in, d, compile.IDs(ids))
		return &plan, err
	}
	r.check = func(p wire.Plan, _ []wire.Room) (out []wire.Fault) {
		_, faults := bridge.CheckPlan(cat, &p)
		for _, f := range faults {
			out = append(out, wire.Fault{Path: f.Path, ReasonCode: string(f.Reason), Message: f.Message})
		}
		return out
	}
	r.start()
	d := r.device("rb-1", "e1")
	d.rooms = []wire.Room{{ID: "living_room", Name: "거실", Reachable: true}, {ID: "master_bedroom", Name: "안방", Reachable: true}, {ID: "kitchen", Name: "주방", Reachable: true}}
	d.hello("1.1")
	id := r.turn("rb-1", "거실로 가서 청정하고 안방으로 가")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	return r, d, id
}

// says has the rig say something that makes it look, with a device that answers the look with these states.
func (d *robotRig) says(text, workflow string, states ...string) object {
	d.r.t.Helper()
	answer := make(chan object, 1)
	go func() { answer <- d.r.turn("rb-1", text) }()
	m := d.next(wire.TypeMonitor)
	env := d.envelope(wire.TypeTelemetry)
	env.Telemetry = &wire.Telemetry{LeaseID: m.Monitor.LeaseID, N: 1, Mode: "automatic", Workflows: []wire.WorkflowSeen{{WorkflowID: workflow, State: "active"}}}
	for i, state := range states {
		env.Telemetry.Workflows[0].Steps = append(env.Telemetry.Workflows[0].Steps, wire.StepSeen{CloudStepID: "step_" + string(rune('1'+i)), State: state})
	}
	d.publish(env)
	d.r.clock.advance(2 * time.Second) // the lease is over
	return <-answer
}

// TestATurnRevisesThePlanThatRuns: S31. The revision goes down with the turn, under the same ids, and one that somebody else has
// overtaken is refused and sends nothing.
func TestATurnRevisesThePlanThatRuns(t *testing.T) {
	r, d, id := shipped(t)
	a := d.says("안방 말고 주방으로 가", id, "completed", "running", "pending")
	want(t, a, "dispatched", true)
	want(t, a, "workflow_id", id)
	want(t, a, "decision.revises.revision", 1)
	want(t, a, "decision.revises.cancel_steps", []string{"step_3"})
	want(t, a, "decision.speech_act", "ack")
	got := d.next(wire.TypePlan)
	if w := got.Plan.Workflow; w.CloudWorkflowID != id || w.Revision != 1 || w.TTLMS != 300_000 || w.Origin.Utterance != "안방 말고 주방으로 가" || len(got.Plan.Requests) != 3 {
		t.Fatalf("sent %+v", got.Plan)
	}
	d.say(d.ack(got, ""))
	want(t, r.workflow(id), "revision", 1)
	want(t, r.workflow(id), "submission", "accepted")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans?check=false", strings.ReplaceAll(rawPlan(id, 5), "pl_"+id, got.Corr.PlanID))
	d.say(d.ack(d.next(wire.TypePlan), ""))
	a = d.says("아니 안방으로 가", id)
	want(t, a, "decision.revises.revision", 6)
}

// TestA20_AQuestionIsAnsweredByTheRecords: S31. It is answered by a look at the device, which nobody stores, and by what is known where it does not answer.
func TestA20_AQuestionIsAnsweredByTheRecords(t *testing.T) {
	r, d, id := shipped(t)
	a := d.says("지금 뭐 해?", id, "completed", "running", "pending")
	want(t, a, "tts_response", "거실로 이동은 끝났어요. 지금 청정 중이에요. 남은 일은 안방으로 이동이에요.")
	want(t, a, "dispatched", false)
	want(t, a, "decision.speech_act", "progress")
	r.clock.advance(time.Minute)
	silent := r.turn("rb-1", "청정 끝났어?") // the device says nothing: what it said a minute ago is told as that
	want(t, silent, "tts_response", "1분 전에는 청정 중이었고, 그 뒤의 결과는 아직 받지 못했어요.")
	d.next(wire.TypeMonitor)
	r.clock.advance(2 * time.Second)
	res := d.result(id, "completed", "")
	res.Result.Steps = []wire.StepReport{{CloudStepID: "step_1", State: "completed"}, {CloudStepID: "step_2", State: "completed"}, {CloudStepID: "step_3", State: "completed"}}
	d.say(res)
	a = r.turn("rb-1", "다 했어?")
	want(t, a, "tts_response", "네, 모두 끝났어요. 거실로 이동, 청정, 안방으로 이동.")
	want(t, a, "decision.speech_act", "done")
	if came, _ := d.sync("1.1"); len(came) != 0 {
		t.Errorf("a question sent %+v", came[0])
	}
}

// TestALookTakesNobodysLease: who looks on goes on doing so, and the turn reads what he has.
func TestALookTakesNobodysLease(t *testing.T) {
	r, d, id := shipped(t)
	lease := r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/monitor", `{"ttl_s":120}`)["lease_id"].(string)
	d.next(wire.TypeMonitor)
	env := d.envelope(wire.TypeTelemetry)
	env.Telemetry = &wire.Telemetry{LeaseID: lease, N: 1, Mode: "automatic", Workflows: []wire.WorkflowSeen{{WorkflowID: id, State: "active", Steps: []wire.StepSeen{{CloudStepID: "step_1", State: "running"}}}}}
	d.publish(env)
	d.sync("1.1")
	r.clock.advance(time.Minute)
	a := r.turn("rb-1", "거실에 도착했어?")
	want(t, a, "tts_response", "아니요, 아직이에요. 지금 거실로 이동 중이에요.") // under a live lease a change would have been told
	want(t, r.get("/v1/devices/rb-1/monitor"), "lease_id", lease)
}

// TestAPartIsStoppedAndAPlanIsHeld: S08, S25. Controls name what they are about, and a cancel of a part is no cancel of the whole.
func TestAPartIsStoppedAndAPlanIsHeld(t *testing.T) {
	r, d, id := shipped(t)
	due := d.envelope(wire.TypeStepDue)
	due.Corr.WorkflowID = id
	due.StepDue = &wire.StepDue{CloudStepID: "step_9", TaskID: "t1", Skill: "content_session", SessionID: "cs_1"}
	d.say(due)
	a := r.turn("rb-1", "퀴즈만 그만")
	got := d.next(wire.TypeControl)
	if c := got.Control; c.Verb != "cancel" || c.Scope != "session" || c.Target != "cs_1" || got.Corr.WorkflowID != id {
		t.Fatalf("sent %+v", c)
	}
	want(t, a, "correlation.control_id", got.ID)
	r.must(http.StatusAccepted, "POST", "/v1/workflows/"+id+"/pause", `{"requested_by":"app"}`)
	if c := d.next(wire.TypeControl).Control; c.Verb != "pause" || c.RequestedBy != "app" {
		t.Fatalf("sent %+v", c)
	}
	r.turn("rb-1", "다시 해") // voice has paused nothing
	r.turn("rb-1", "잠깐 멈춰")
	if c := d.next(wire.TypeControl).Control; c.Verb != "pause" || c.Target != id || c.RequestedBy != "voice" {
		t.Fatalf("sent %+v", c)
	}
	r.turn("rb-1", "다시 해")
	if c := d.next(wire.TypeControl).Control; c.Verb != "resume" || c.Target != id || c.RequestedBy != "voice" {
		t.Fatalf("sent %+v", c)
	}
	r.must(http.StatusAccepted, "POST", "/v1/workflows/"+id+"/cancel", `{}`)
	if c := d.next(wire.TypeControl).Control; c.Verb != "cancel" || c.Scope != "workflow" {
		t.Fatalf("sent %+v", c)
	}
}

// TestAPauseOfEverythingIsLetGo: two plans are under way, and one word holds both.
func TestAPauseOfEverythingIsLetGo(t *testing.T) {
	r, d, _ := shipped(t)
	r.turn("rb-1", "배터리 확인해 줘")
	d.say(d.ack(d.next(wire.TypePlan), ""))
	r.turn("rb-1", "잠깐 멈춰")
	if c := d.next(wire.TypeControl).Control; c.Verb != "pause" || c.Scope != "all" {
		t.Fatalf("sent %+v", c)
	}
	r.turn("rb-1", "다시 해")
	if c := d.next(wire.TypeControl).Control; c.Verb != "resume" || c.Scope != "all" {
		t.Fatalf("sent %+v", c)
	}
	r.turn("rb-1", "다시 해")
	if came, _ := d.sync("1.1"); len(came) != 0 {
		t.Errorf("let go twice: %+v", came[0])
	}
}

// TestAnAnswerGoesDownWithItsTurn: what a person answers in a turn reaches the device as the answer to its question, once.
func TestAnAnswerGoesDownWithItsTurn(t *testing.T) {
	r, d, id := shipped(t)
	q := d.envelope(wire.TypeQuestion)
	q.Corr = wire.Corr{WorkflowID: id, StepID: "step_2"}
	q.Question = &wire.Question{QuestionID: "q1", ExperienceID: "exp_1", Kind: "consent", Text: "시작해도 될까요?", Options: []wire.QuestionOption{{ID: "yes", Text: "네"}, {ID: "no", Text: "아니요"}}, ExpiresMS: 60_000}
	d.say(q)
	a := r.turn("rb-1", "응")
	got := d.next(wire.TypeAnswer)
	if b := got.Answer; b.QuestionID != "q1" || b.Option != "yes" || b.By != "voice" || b.TurnID != a["turn_id"] || got.Corr.StepID != "step_2" || got.Corr.ExperienceID != "exp_1" {
		t.Fatalf("sent %+v %+v", got.Corr, b)
	}
	want(t, a, "correlation.answer_id", got.ID)
	want(t, a, "dispatched", true)
	if again := r.turn("rb-1", "응"); again["decision"].(object)["answers"] != nil {
		t.Error("it is answered twice")
	}
}

// TestAPlanThatWasNeverSentIsWithdrawn: what is cancelled by its own words before the device was there does not move it.
func TestAPlanThatWasNeverSentIsWithdrawn(t *testing.T) {
	r, d, _ := shipped(t)
	d.status(false, "1.1", "")
	d.sync("0.9")
	id := r.turn("rb-1", "주방으로 가")["workflow_id"].(string)
	r.turn("rb-1", "주방은 빼고")
	want(t, r.workflow(id), "submission", "expired")
	want(t, r.workflow(id), "reason_code", "cancelled_before_sent")
}

// TestA18_WordsThatReportAreNotSaid: A18, A20. Whatever a planner says, "done" is not heard before a message of the device has proved it.
func TestA18_WordsThatReportAreNotSaid(t *testing.T) {
	r := newRig(t)
	r.plans = talker{"거실에 도착했어요."}
	r.start()
	a := r.turn("rb-1", "go")
	want(t, a, "tts_response", "네, 알겠어요. 결과는 확인되는 대로 말씀드릴게요.")
	want(t, a, "decision.tts_response", a["tts_response"])
	want(t, a, "decision.speech_act", "ack")
}

// talker says one thing, whatever it is asked.
type talker struct{ text string }

func (b talker) Plan(context.Context, turn.Input) (turn.Decision, error) {
	return turn.Decision{TurnMode: "singleton", OwnerSelection: turn.ODL, TTSResponse: b.text}, nil
}
