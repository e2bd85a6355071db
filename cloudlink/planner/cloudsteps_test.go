package planner

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// outside is a feed and a weather source that the test opens and shuts.
type outside struct {
	url   string
	asked atomic.Int64
	shut  chan struct{} // while it is open nobody is answered; nil: everybody is
	fails atomic.Bool
}

func openOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.asked.Add(1)
		if o.shut != nil {
			select {
			case <-o.shut:
			case <-r.Context().Done():
				return
			}
		}
		if o.fails.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if r.URL.Path == "/weather" {
			_, _ = fmt.Fprint(w, `{"utc_offset_seconds":32400,"daily":{"time":["2026-11-30"],"weather_code":[61],"temperature_2m_max":[9],"temperature_2m_min":[2],"precipitation_probability_max":[80]}}`)
			return
		}
		_, _ = fmt.Fprint(w, `<rss><channel><item><title>첫째 소식</title></item><item><title>둘째 소식</title></item></channel></rss>`)
	}))
	t.Cleanup(s.Close)
	o.url = s.URL
	return o
}

// withAgents gives the rig's next server agents that look there.
func (r *rig) withAgents(o *outside) {
	r.t.Helper()
	a, err := agents.New(agents.Sources{Feeds: []agents.Feed{{Name: "뉴스", URL: o.url + "/feed"}}, WeatherURL: o.url + "/weather"})
	if err != nil {
		r.t.Fatal(err)
	}
	r.agents = a
}

// cloudRig is a planner with agents, and a device that has said hello.
func cloudRig(t *testing.T) (*rig, *robotRig, *outside) {
	t.Helper()
	o := openOutside(t)
	r := newRig(t)
	r.withAgents(o)
	r.start()
	d := r.device("rb-1", "epoch-1")
	d.hello("1.1")
	return r, d, o
}

// mixedPlan submits a plan with one cloud step, which the device accepts.
func (r *rig) mixedPlan(d *robotRig, workflow, skill, more string) {
	r.t.Helper()
	r.must(http.StatusAccepted, "POST", "/v1/devices/"+d.id+"/plans", fmt.Sprintf(`{"workflow":{"cloud_workflow_id":%q,"plan_id":"pl_%s","revision":0,"origin":{"locale":"ko-KR"}},
		"device_task_requests":[{"cloud_step_id":"s1","execution_target":"cloud","skill":%q,"timeout_ms":120000%s}]}`, workflow, workflow, skill, more))
	d.say(d.ack(d.next(wire.TypePlan), ""))
}

func (d *robotRig) due(workflow, task, skill string, session bool, inputs map[string]any) wire.Envelope {
	env := d.envelope(wire.TypeStepDue)
	env.SentAt = stamp(d.r.clock.now())
	env.Corr = wire.Corr{WorkflowID: workflow, StepID: "s1", TaskID: task}
	env.StepDue = &wire.StepDue{CloudStepID: "s1", TaskID: task, Skill: skill, Inputs: wire.ObjectOf(inputs)}
	if session {
		env.StepDue.SessionID = task
	}
	return env
}

// took answers a word to a session.
func (d *robotRig) took(word wire.Envelope, reason string) {
	d.r.t.Helper()
	env, accepted := d.envelope(wire.TypeContent), reason == ""
	env.Content = &wire.Content{SessionID: word.Content.SessionID, Verb: word.Content.Verb, RefID: word.ID, Accepted: &accepted, ReasonCode: reason, State: "active"}
	d.say(env)
}

func (d *robotRig) session(task, event, text string, position int64) {
	d.r.t.Helper()
	env := d.envelope(wire.TypeContent)
	env.Content = &wire.Content{SessionID: task, Event: event, Text: text, Position: position, State: "active"}
	d.say(env)
}

// words takes n words of a session, and answers each.
func (d *robotRig) words(n int) (said []wire.Content) {
	d.r.t.Helper()
	for range n {
		env := d.next(wire.TypeContent)
		said = append(said, *env.Content)
		d.took(env, "")
	}
	return said
}

// quiet says that nothing more has come to the device.
func (d *robotRig) quiet() {
	d.r.t.Helper()
	if came, _ := d.sync("1.1"); len(came) > 0 {
		d.r.t.Fatalf("%d messages more came, the first is %s", len(came), came[0].Type)
	}
}

// stepState waits until the step of a workflow is in a state; the stream tells of changes, the state is read.
func (r *rig) stepState(workflow, state string) object {
	r.t.Helper()
	limit := time.Now().Add(patience)
	for {
		steps, _ := r.workflow(workflow)["cloud_steps"].([]any)
		if len(steps) == 1 && steps[0].(object)["state"] == state {
			return steps[0].(object)
		}
		if time.Now().After(limit) {
			r.t.Fatalf("the step never is %s: %v", state, steps)
		}
		time.Sleep(time.Millisecond)
	}
}

// A step whose output others take is answered once, however often the device says that it is due.
func TestCloudStepIsAnsweredOnce(t *testing.T) {
	r, d, o := cloudRig(t)
	r.mixedPlan(d, "wf_1", "fresh_information_brief", `,"output_key":"weather","params":{"topic":"weather"}`)
	due := d.due("wf_1", "t-1", "fresh_information_brief", false, map[string]any{"topic": "weather"})
	d.say(due)
	got := d.next(wire.TypeStepResult)
	if b := got.StepResult; b.Status != "completed" || b.TaskID != "t-1" || b.CloudStepID != "s1" || b.Output["rain"].V != true || b.Output["retrieved_at"].V != "2026-11-30T09:00:00Z" {
		t.Errorf("%+v", got.StepResult)
	}
	d.say(due)                                                                                        // again, word for word
	d.say(d.due("wf_1", "t-1", "fresh_information_brief", false, map[string]any{"topic": "weather"})) // and by another id
	d.say(d.ack(got, ""))
	r.tick()
	d.quiet()
	if n := o.asked.Load(); n != 1 {
		t.Errorf("%d requests for one step", n)
	}
	want(t, r.stepState("wf_1", "answered"), "reason_code", nil)
	if n := len(r.workflow("wf_1")["controls"].([]any)); n != 0 {
		t.Errorf("%d controls of a workflow that nobody controls", n)
	}
}

func TestCloudStepThatCannotBeDone(t *testing.T) {
	r, d, o := cloudRig(t)
	o.fails.Store(true)
	r.mixedPlan(d, "wf_1", "fresh_information_brief", `,"output_key":"weather"`)
	d.say(d.due("wf_1", "t-1", "fresh_information_brief", false, map[string]any{"topic": "weather"}))
	if b := d.next(wire.TypeStepResult).StepResult; b.Status != "failed" || b.ReasonCode != agents.ReasonFailed || b.Output != nil {
		t.Errorf("%+v", b)
	}
	want(t, r.stepState("wf_1", "failed"), "reason_code", agents.ReasonFailed)
}

// News are told word by word, with when they were looked up: after the step was due.
func TestNewsAreTold(t *testing.T) {
	r, d, o := cloudRig(t)
	r.mixedPlan(d, "wf_1", "fresh_information_brief", "")
	if o.asked.Load() != 0 {
		t.Error("news were looked up before their time")
	}
	r.clock.advance(time.Minute)
	d.say(d.due("wf_1", "t-1", "fresh_information_brief", true, map[string]any{"topic": "news"}))
	said := d.words(3)
	for i, w := range said {
		last := i == len(said)-1
		if w.SessionID != "t-1" || w.Verb != map[bool]string{true: "start", false: "say"}[i == 0] || w.Payload == nil || w.Payload.Last != last || w.Payload.RetrievedAt != "2026-11-30T09:01:00.000Z" {
			t.Errorf("word %d: %+v %+v", i, w, w.Payload)
		}
	}
	if said[1].Text != "뉴스 소식: 첫째 소식." || said[2].SpeechAct != "done" {
		t.Errorf("%+v", said)
	}
	d.session("t-1", "started", "", 0)
	d.session("t-1", "completed", "", 3)
	r.stepState("wf_1", "answered")
	d.quiet()
}

// That it could not be got is said first; then, and not before, the step fails.
func TestMissingNewsAreToldAsSuch(t *testing.T) {
	r, d, o := cloudRig(t)
	o.fails.Store(true)
	r.mixedPlan(d, "wf_1", "fresh_information_brief", "")
	d.say(d.due("wf_1", "t-1", "fresh_information_brief", true, map[string]any{"topic": "news"}))
	if w := d.words(1)[0]; w.Verb != "start" || w.SpeechAct != "failed" || w.Payload == nil || !w.Payload.Last || w.Payload.RetrievedAt != "" || !strings.Contains(w.Text, "가져올 수 없어요") {
		t.Errorf("%+v %+v", w, w.Payload)
	}
	d.quiet()
	d.session("t-1", "completed", "", 1)
	if b := d.next(wire.TypeStepResult).StepResult; b.Status != "failed" || b.ReasonCode != agents.ReasonFailed {
		t.Errorf("%+v", b)
	}
}

// Work that was begun survives the end of the planner, and is answered once by the next one.
func TestRestartWhileLookingUp(t *testing.T) {
	o := openOutside(t)
	o.shut = make(chan struct{})
	r := newRig(t)
	r.withAgents(o)
	r.start()
	d := r.device("rb-1", "epoch-1")
	d.hello("1.1")
	r.mixedPlan(d, "wf_1", "fresh_information_brief", "")
	d.say(d.due("wf_1", "t-1", "fresh_information_brief", true, map[string]any{"topic": "news"}))
	for limit := time.Now().Add(patience); o.asked.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("nobody has looked it up")
		}
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	close(o.shut)
	r.start()
	d.hello("1.2")
	r.tick()
	d.words(3)
	r.stepState("wf_1", "telling")
	d.session("t-1", "completed", "", 3)
	r.tick()
	d.quiet()
}

// What a restarted planner knows of a session is enough to go on with it.
func TestRestartInTheMiddleOfAQuiz(t *testing.T) {
	r, d, _ := cloudRig(t)
	r.mixedPlan(d, "wf_1", "content_session", `,"params":{"kind":"quiz"}`)
	d.say(d.due("wf_1", "t-1", "content_session", true, map[string]any{"kind": "quiz"}))
	d.words(1)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r.start()
	d.hello("1.2")
	d.session("t-1", "user_response", "모르겠어", 1)
	if w := d.words(1)[0]; w.Verb != "say" || !strings.Contains(w.Text, "2번 문제") || w.SpeechAct != "question" || w.Payload != nil {
		t.Errorf("%+v", w)
	}
}

// A workflow that ends while something is looked up for it is told nothing more.
func TestCancelInTheMiddle(t *testing.T) {
	o := openOutside(t)
	o.shut = make(chan struct{})
	r := newRig(t)
	r.withAgents(o)
	r.start()
	d := r.device("rb-1", "epoch-1")
	d.hello("1.1")
	r.mixedPlan(d, "wf_1", "fresh_information_brief", "")
	d.say(d.due("wf_1", "t-1", "fresh_information_brief", true, map[string]any{"topic": "news"}))
	for limit := time.Now().Add(patience); o.asked.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("nobody has looked it up")
		}
	}
	d.say(d.result("wf_1", "cancelled", "user_cancelled"))
	close(o.shut)
	want(t, r.stepState("wf_1", "dropped"), "reason_code", "already_terminal")
	r.tick()
	d.quiet()
	d.say(d.due("wf_1", "t-2", "fresh_information_brief", true, map[string]any{"topic": "news"}))
	r.tick()
	d.quiet()
}

// A step for which it has become too late is not looked up any more.
func TestStepThatNobodyWaitsFor(t *testing.T) {
	o := openOutside(t)
	o.shut = make(chan struct{})
	r := newRig(t)
	r.withAgents(o)
	r.start()
	d := r.device("rb-1", "epoch-1")
	d.hello("1.1")
	r.mixedPlan(d, "wf_1", "fresh_information_brief", "")
	d.say(d.due("wf_1", "t-1", "fresh_information_brief", true, map[string]any{"topic": "news"}))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	close(o.shut)
	before := o.asked.Load()
	r.clock.advance(121 * time.Second)
	r.start()
	d.hello("1.2")
	r.tick()
	r.stepState("wf_1", "dropped")
	if o.asked.Load() != before {
		t.Error("it was looked up all the same")
	}
	d.quiet()
}

// The teller of a quiz hears its listener, waits while somebody talks over it, goes on by itself, and stops when the session does.
// A step that a device tells of late may have ended meanwhile; its end stands behind it in the same outbox. Nobody tells a story that is over.
func TestAStepThatIsToldLateWaitsForItsEnd(t *testing.T) {
	r, d, _ := cloudRig(t)
	late := func(workflow, task string) {
		r.mixedPlan(d, workflow, "content_session", "")
		env := d.due(workflow, task, "content_session", true, map[string]any{"kind": "quiz"})
		env.SentAt = stamp(r.clock.now().Add(-time.Hour))
		d.say(env)
		d.quiet()
	}
	late("wf_1", "t-1")
	d.say(d.result("wf_1", "failed", ""))
	r.clock.advance(lateWait)
	r.tick()
	d.quiet()
	late("wf_2", "t-2")
	r.clock.advance(lateWait)
	r.tick()
	if first := d.words(1)[0]; first.SessionID != "t-2" || first.Verb != "start" {
		t.Errorf("%+v", first)
	}
}

func TestQuizIsSteered(t *testing.T) {
	r, d, _ := cloudRig(t)
	r.mixedPlan(d, "wf_1", "content_session", "")
	d.say(d.due("wf_1", "t-1", "content_session", true, map[string]any{"kind": "quiz"}))
	first := d.words(1)[0]
	if first.Verb != "start" || first.SpeechAct != "question" || first.Payload != nil {
		t.Errorf("%+v", first)
	}
	d.session("t-1", "started", "", 0)
	d.say(d.result("wf_1", "completed", "")) // the session outlives its workflow
	d.session("t-1", "paused", "", 0)
	r.clock.advance(2 * time.Minute)
	r.tick()
	d.quiet()
	d.session("t-1", "resumed", "", 0)
	r.clock.advance(59 * time.Second)
	r.tick()
	d.quiet()
	r.clock.advance(time.Second)
	r.tick()
	if w := d.words(1)[0]; !strings.HasPrefix(w.Text, "답을 듣지 못했어요.") {
		t.Errorf("%+v", w)
	}
	d.session("t-1", "user_response", "패스할게", 1)
	if w := d.words(1)[0]; !strings.HasPrefix(w.Text, "정답은") {
		t.Errorf("%+v", w)
	}
	d.session("t-1", "cancelled", "", 2)
	want(t, r.stepState("wf_1", "answered"), "reason_code", "cancelled")
	d.session("t-1", "user_response", "또", 2)
	r.clock.advance(5 * time.Minute)
	r.tick()
	d.quiet()
}

// Who answers a quiz speaks to the planner as always: the words are for the session, once, and an order stays an order.
func TestAnswersThatComeAsTurns(t *testing.T) {
	r, d, _ := cloudRig(t)
	if v := r.turn("rb-1", "무지개요"); v["session_id"] != nil || v["tts_response"] == "" {
		t.Errorf("without a quiz: %v", v)
	}
	r.mixedPlan(d, "wf_1", "content_session", "")
	d.say(d.due("wf_1", "t-1", "content_session", true, map[string]any{"kind": "quiz"}))
	d.words(1)
	body := `{"device_id":"rb-1","recognized_text":"무지개요","dispatch":false}`
	if v := r.must(http.StatusOK, "POST", "/v1/turns", body); v["session_id"] != "t-1" {
		t.Errorf("%v", v)
	}
	d.quiet()                                                                   // it was only planned
	for _, voice := range []string{`{"addressed":false}`, `{"partial":true}`} { // somebody else was spoken to, or the word is not out yet
		if v := r.must(http.StatusOK, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"무지개요","voice_context":`+voice+`}`); v["session_id"] != nil {
			t.Errorf("%s answers the quiz", voice)
		}
	}
	for range 2 {
		req := r.request("POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"무지개요"}`)
		req.Header.Set("Idempotency-Key", "voice-1")
		if status, v := r.send(req); status != http.StatusOK || v["session_id"] != "t-1" || v["tts_response"] != "" || v["decision"].(object)["owner_selection"] != "STM" {
			t.Errorf("%d %v", status, v)
		}
	}
	if w := d.words(1)[0]; !strings.HasPrefix(w.Text, "맞았어요.") {
		t.Errorf("%+v", w)
	}
	d.quiet()
	if v := r.turn("rb-1", "go"); v["session_id"] != nil || v["dispatched"] != true {
		t.Errorf("%v", v)
	}
	d.next(wire.TypePlan)
	if v := r.turn("rb-2", "무지개요"); v["session_id"] != nil {
		t.Errorf("another home answers the quiz: %v", v)
	}
}

// A turn that needs nothing of the robot is answered by the agents; the robot is sent nothing.
func TestTurnsThatAgentsAnswer(t *testing.T) {
	r, d, o := cloudRig(t)
	v := r.turn("rb-1", "weather")
	if said, _ := v["tts_response"].(string); !strings.HasPrefix(said, "Today: rain.") || v["dispatched"] != false {
		t.Errorf("%v", v)
	}
	want(t, v["cloud_steps"].([]any)[0].(object), "state", "completed")
	want(t, r.get("/v1/turns/"+v["turn_id"].(string)), "tts_response", v["tts_response"])
	o.fails.Store(true)
	v = r.turn("rb-1", "weather")
	want(t, v["cloud_steps"].([]any)[0].(object), "reason_code", agents.ReasonFailed)
	want(t, v, "decision.speech_act", "failed")
	d.quiet()
}

// Words that the device does not take end the telling: nothing that follows would be heard.
func TestSessionThatIsOver(t *testing.T) {
	r, d, _ := cloudRig(t)
	r.mixedPlan(d, "wf_1", "content_session", "")
	d.say(d.due("wf_1", "t-1", "content_session", true, map[string]any{"kind": "quiz"}))
	d.took(d.next(wire.TypeContent), "already_terminal")
	want(t, r.stepState("wf_1", "dropped"), "reason_code", "already_terminal")
	r.clock.advance(5 * time.Minute)
	r.tick()
	d.quiet()
}

// How far a story was heard is kept over sessions and restarts, for each device.
func TestStoryGoesOn(t *testing.T) {
	r, d, _ := cloudRig(t)
	r.mixedPlan(d, "wf_1", "content_session", "")
	d.say(d.due("wf_1", "t-1", "content_session", true, map[string]any{"kind": "story"}))
	whole := d.words(7)
	d.session("t-1", "cancelled", "", 3)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r.start()
	d.hello("1.2")
	r.mixedPlan(d, "wf_2", "content_session", "")
	d.say(d.due("wf_2", "t-2", "content_session", true, map[string]any{"kind": "story"}))
	rest := d.words(5)
	if !strings.HasPrefix(rest[0].Text, "지난번에 이어서") || rest[1].Text != whole[3].Text || !rest[4].Payload.Last {
		t.Errorf("%+v", rest)
	}
	other := r.device("rb-2", "epoch-1")
	other.hello("1.1")
	r.mixedPlan(other, "wf_3", "content_session", "")
	other.say(other.due("wf_3", "t-1", "content_session", true, map[string]any{"kind": "story"}))
	if begun := other.words(7); begun[1].Text != whole[1].Text {
		t.Errorf("another home goes on with the story: %+v", begun[0])
	}
}

// Without agents everything is as before: the step stays pending.
func TestNobodyCarriesStepsOut(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "epoch-1")
	d.hello("1.1")
	r.mixedPlan(d, "wf_1", "content_session", "")
	d.say(d.due("wf_1", "t-1", "content_session", true, map[string]any{"kind": "quiz"}))
	r.tick()
	r.stepState("wf_1", "pending")
	d.quiet()
}

// Who wants everything forgotten has how quizzes were answered forgotten with it; who has one thing erased of several has not.
func TestForgottenWithTheRest(t *testing.T) {
	r, _, _ := cloudRig(t)
	left := func(wish *turn.MemoWish) (kept []byte) {
		t.Helper()
		err := r.store.Update(t.Context(), func(tx *store.Tx) (err error) {
			if err := r.server.carryMemo(tx, store.Turn{ID: "tn-1", DeviceID: "rb-1"}, wish); err != nil {
				return err
			}
			kept, err = tx.AgentMemory("rb-1")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	err := r.store.Update(t.Context(), func(tx *store.Tx) error {
		for _, id := range []string{"m-1", "m-2"} {
			if err := tx.AddMemo(store.Memo{ID: id, DeviceID: "rb-1", Body: []byte(`{"kind":"preference","text":"나는 동화를 좋아해"}`)}); err != nil {
				return err
			}
		}
		return tx.PutAgentMemory("rb-1", []byte(`{"level":2}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	if left(&turn.MemoWish{Verb: "list"}) == nil || left(&turn.MemoWish{Verb: "erase", IDs: []string{"m-1"}}) == nil {
		t.Error("it went with the first")
	}
	if kept := left(&turn.MemoWish{Verb: "erase", IDs: []string{"m-2"}}); kept != nil {
		t.Errorf("%s is still there", kept)
	}
}

// wordy are agents whose words no message can carry.
type wordy struct{ Agents }

func (wordy) Do(context.Context, agents.Task) agents.Outcome {
	text := strings.Repeat("가", 64<<10)
	return agents.Outcome{Text: text, Words: []agents.Words{{Text: text, Act: "done", Last: true}}, Output: map[string]any{"text": text}}
}

// What cannot be sent ends its step, told or not, and neither the server nor the source is asked again and again.
func TestAnOutcomeThatCannotBeSent(t *testing.T) {
	for _, session := range []bool{false, true} {
		r, d, _ := cloudRig(t)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		r.agents = wordy{r.agents}
		r.start()
		d.hello("1.2")
		r.mixedPlan(d, "wf_1", "fresh_information_brief", "")
		d.say(d.due("wf_1", "t-1", "fresh_information_brief", session, nil))
		want(t, r.stepState("wf_1", "failed"), "reason_code", "not_encodable")
		r.tick()
		d.quiet()
	}
}
