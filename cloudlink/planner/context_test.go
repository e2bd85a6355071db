package planner

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// listening is the canned planner that keeps what it was told.
type listening struct {
	canned
	mu   sync.Mutex
	last turn.Input
}

func (l *listening) Plan(ctx context.Context, in turn.Input) (turn.Decision, error) {
	l.mu.Lock()
	l.last = in
	l.mu.Unlock()
	return l.canned.Plan(ctx, in)
}

func (l *listening) around() turn.Around {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last.Around
}

// TestFaultsOfTheContextAreAllNamed: one answer says all that is wrong with what stands around the words.
func TestFaultsOfTheContextAreAllNamed(t *testing.T) {
	r := newRig(t)
	r.start()
	p := r.must(http.StatusUnprocessableEntity, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"go","locale":"xx",
		"voice_context":{"confidence":1.5},
		"history_context":[{"by":"nobody","text":"a"},{"by":"user","text":" "},{"by":"robot","text":"b","family":"XYZ","age_ms":-1}],
		"workflow_context":{"workflows":["wf 1"],"foreground":"wf_2"},
		"device_context":{"keys":{"a":{"age_ms":-1,"value":1},"b":{"age_ms":0},"c":{"age_ms":0,"value":[1]},"d":{"age_ms":0,"value":true,"missing":true}}}}`)
	want(t, p, "code", "bad_turn")
	wanted := []string{"locale", "voice_context.confidence", "history_context[0].by", "history_context[1].text", "history_context[2].family", "history_context[2].age_ms",
		"workflow_context.workflows[0]", "workflow_context.foreground", "device_context.keys.a.age_ms", "device_context.keys.b", "device_context.keys.c.value", "device_context.keys.d.missing"}
	if got := faultPaths(p); !slices.Equal(got, wanted) {
		t.Errorf("faults at %v, want %v", got, wanted)
	}
	for _, body := range []string{`"voice_context":{"loudness":1}`, `"history_context":[{"by":"user","text":"a","at":1}]`, `"device_context":{"keys":{"a":{"v":1}}}`} {
		r.must(http.StatusBadRequest, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"go",`+body+`}`)
	}
}

// TestWhatTheCallerSaysIsTakenAsItIs: also that there was nothing.
func TestWhatTheCallerSaysIsTakenAsItIs(t *testing.T) {
	r, heard := newRig(t), &listening{}
	r.plans = heard
	r.start()
	r.turn("rb-1", "hello")
	r.must(http.StatusOK, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"go","voice_context":{"confidence":0.4,"addressed":false},"history_context":[],
		"device_context":{"etag":"e","keys":{"battery.level":{"value":40,"age_ms":900},"air.pm25":{"missing":true,"age_ms":5}}}}`)
	a := heard.around()
	if len(a.History) != 0 || *a.Voice.Confidence != 0.4 || *a.Voice.Addressed || a.Device.Keys["battery.level"].V != 40.0 || !a.Device.Keys["air.pm25"].Missing {
		t.Errorf("told %+v %+v", a, a.Device)
	}
}

// TestWhatIsUnderWayIsToldFromTheStore: the open work with all that the device has said of it and how old that is, what has ended lately,
// what was said before, and the question that is open.
func TestWhatIsUnderWayIsToldFromTheStore(t *testing.T) {
	r, heard := newRig(t), &listening{}
	r.plans = heard
	d, id := r.running()
	q := d.envelope(wire.TypeQuestion)
	q.Corr.WorkflowID = id
	q.Question = &wire.Question{QuestionID: "q1", Text: "again?", Options: []wire.QuestionOption{{ID: "yes", Text: "네"}}, ExpiresMS: 60_000}
	d.say(q)
	d.say(d.ask(id, "s1", "path_blocked"))
	r.clock.advance(30 * time.Second)
	other := r.turn("rb-1", "go")["workflow_id"].(string)
	r.clock.advance(time.Second)
	r.turn("rb-1", "what now")
	a := heard.around()
	if len(a.Workflows) != 2 || a.Foreground != other || a.Workflows[0].Status != "sent" || a.Workflows[1].Status != "accepted" || a.Link != "online" || a.Tier != "restricted" {
		t.Fatalf("told %+v", a)
	}
	w := a.Workflows[1]
	if w.WorkflowID != id || w.Owner != turn.ODL || w.Utterance != "go" || w.AgeMS != 31_000 || len(w.Plan.Requests) != 1 {
		t.Errorf("workflow %+v", w)
	}
	if want := (turn.StepNow{ID: "s1", Method: "setMoveTo", State: "blocked", ReasonCode: "path_blocked", Evidence: "escalation", AgeMS: 31_000}); len(w.Steps) != 1 || w.Steps[0] != want {
		t.Errorf("steps %+v, want %+v", w.Steps, want)
	}
	if len(a.Questions) != 1 || a.Questions[0].QuestionID != "q1" || a.Questions[0].LeftMS != 29_000 || a.Questions[0].Options[0].ID != "yes" {
		t.Errorf("questions %+v", a.Questions)
	}
	if len(a.History) != 4 || a.History[0].Text != "go" || a.History[0].AgeMS != 31_000 || a.History[3].By != "robot" || a.History[3].AgeMS != 1000 {
		t.Errorf("history %+v", a.History)
	}
	d.say(d.result(id, "completed", ""))
	r.must(http.StatusOK, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"hello","workflow_context":{"workflows":[]}}`)
	if a = heard.around(); len(a.Workflows) != 0 || len(a.Questions) != 0 || len(a.Ended) != 1 || a.Ended[0].Result != "completed" || a.Ended[0].Steps[0].Evidence != "result" {
		t.Errorf("told %+v", a)
	}
	r.clock.advance(endedFor + time.Second)
	r.turn("rb-1", "hello")
	if a = heard.around(); len(a.Ended) != 0 || len(a.History) != 0 {
		t.Errorf("told of what was long ago: %+v", a)
	}
}

// TestASessionIsToldFromItsStartToItsEnd: what waits for the cloud is evidence for the steps before it.
func TestASessionIsToldFromItsStartToItsEnd(t *testing.T) {
	r, heard := newRig(t), &listening{}
	r.plans = heard
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":[
		{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"}},
		{"cloud_step_id":"quiz","execution_target":"cloud","skill":"content_session","params":{"kind":"quiz"},"depends_on":["go"]}]}`)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	due := d.envelope(wire.TypeStepDue)
	due.Corr.WorkflowID = "wf_1"
	due.StepDue = &wire.StepDue{CloudStepID: "quiz", TaskID: "t1", Skill: "content_session", SessionID: "cs_1"}
	d.say(due)
	content := func(event string) {
		env := d.envelope(wire.TypeContent)
		env.Corr.WorkflowID = "wf_1"
		env.Content = &wire.Content{SessionID: "cs_1", Event: event}
		d.say(env)
	}
	for _, tc := range []struct{ event, state string }{{"", "starting"}, {"started", "active"}, {"paused", "paused"}, {"resumed", "active"}} {
		if tc.event != "" {
			content(tc.event)
		}
		r.turn("rb-1", "hello")
		want := turn.Session{SessionID: "cs_1", WorkflowID: "wf_1", StepID: "quiz", Skill: "content_session", Kind: "quiz", State: tc.state}
		if got := heard.around().Sessions; len(got) != 1 || got[0] != want {
			t.Fatalf("after %q: %+v, want %+v", tc.event, got, want)
		}
	}
	steps := heard.around().Workflows[0].Steps
	if len(steps) != 2 || steps[0].ID != "go" || steps[0].State != "completed" || steps[0].Evidence != "step_due" {
		t.Errorf("steps %+v", steps)
	}
	content("completed")
	r.turn("rb-1", "hello")
	if got := heard.around().Sessions; len(got) != 0 {
		t.Errorf("its end is not told: %+v", got)
	}
}

// TestASessionThatOutlivesItsPlanIsToldStill: a story goes on when its plan is complete, and who says to stop it has to be understood. How long ago
// everything was cancelled is told, too.
func TestASessionThatOutlivesItsPlanIsToldStill(t *testing.T) {
	r, heard := newRig(t), &listening{}
	r.plans = heard
	r.withAgents(openOutside(t))
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.mixedPlan(d, "wf_1", "content_session", `,"params":{"kind":"story"}`)
	d.say(d.due("wf_1", "t-1", "content_session", true, map[string]any{"kind": "story"}))
	d.words(7)
	content := func(event string) {
		env := d.envelope(wire.TypeContent)
		env.Corr.WorkflowID = "wf_1"
		env.Content = &wire.Content{SessionID: "t-1", Event: event}
		d.say(env)
	}
	content("started")
	d.say(d.result("wf_1", "completed", ""))
	r.turn("rb-1", "hello")
	want := turn.Session{SessionID: "t-1", WorkflowID: "wf_1", StepID: "s1", Skill: "content_session", Kind: "story", State: "active"}
	if a := heard.around(); len(a.Workflows) != 0 || len(a.Sessions) != 1 || a.Sessions[0] != want || a.AllCancelledMS != nil {
		t.Fatalf("told %+v", a)
	}
	r.turn("rb-1", "stop all")
	content("cancelled")
	r.clock.advance(3 * time.Second)
	r.turn("rb-1", "hello")
	if a := heard.around(); len(a.Sessions) != 0 || a.AllCancelledMS == nil || *a.AllCancelledMS != 3000 {
		t.Errorf("told %+v", a)
	}
}
