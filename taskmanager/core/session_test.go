package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const (
	quizPlan  = `[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"content_session"}]`
	newsPlan  = `[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief","on_failure":"continue"}]`
	restPlan  = `[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"rest_guidance","on_failure":"continue"}]`
	mixedPlan = `[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"content_session"},
		{"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","params":{"duration_min":5},"required_effects":["air_cleaning_completed"]}]`
)

// teller drives content sessions: the test is planner, robot's voice and clock.
type teller struct {
	*rig
	seq  int64
	sent int // messages up that were looked at
}

func newTeller(t *testing.T, plan string) *teller {
	t.Helper()
	r := &teller{rig: newRig(t)}
	r.submit(plan)
	return r
}

// session is the latest that was opened.
func (r *teller) session() *core.Session {
	r.t.Helper()
	all := r.s.SessionsByAge()
	if len(all) == 0 {
		r.t.Fatal("no session is open")
	}
	return all[len(all)-1]
}

func (r *teller) content(verb core.ContentVerb, text string, opts ...func(*core.ContentReceived)) core.Answer {
	r.t.Helper()
	r.seq++
	ev := core.ContentReceived{Head: core.Head{Msg: core.MessageID(fmt.Sprintf("c-%d", r.seq)), Hash: fmt.Sprint("h", r.seq), Seq: r.seq}, Session: r.session().ID, Verb: verb, Text: text}
	for _, o := range opts {
		o(&ev)
	}
	return *r.do(ev).Answers[0]
}

func last(ev *core.ContentReceived) { ev.Last = true }

func looked(ms int64) func(*core.ContentReceived) {
	return func(ev *core.ContentReceived) { ev.LookedMS = ms }
}

func (r *teller) ok(ans core.Answer) {
	r.t.Helper()
	if !ans.Accepted {
		r.t.Fatalf("refused: %s", ans.Reason)
	}
}

func (r *teller) refused(ans core.Answer, want core.Reason) {
	r.t.Helper()
	if ans.Accepted || ans.Reason != want {
		r.t.Errorf("answered %v %q, want a refusal %q", ans.Accepted, ans.Reason, want)
	}
}

// voice is the latest call of the voice or the screen.
func (r *teller) voice() core.Dispatch {
	r.t.Helper()
	calls := r.calls()
	if len(calls) == 0 {
		r.t.Fatal("nothing was said")
	}
	return calls[len(calls)-1]
}

// calls are those of the voice and the screen, in order.
func (r *teller) calls() (out []core.Dispatch) {
	for _, o := range r.log {
		if d, ok := o.(core.Dispatch); ok && (d.Method == "setLlmTts" || d.Method == "showText") {
			out = append(out, d)
		}
	}
	return out
}

func (r *teller) said() (out []string) {
	for _, d := range r.calls() {
		out = append(out, fmt.Sprint(d.Params["text"]))
	}
	return out
}

func (r *teller) wantSaid(want ...string) {
	r.t.Helper()
	if got := r.said(); !slices.Equal(got, want) {
		r.t.Errorf("said %q, want %q", got, want)
	}
}

func (r *teller) begins() core.TaskID {
	task := r.voice().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("speech.started", task, nil)
	return task
}

// speaks plays the latest call to its honest end.
func (r *teller) speaks() {
	task := r.begins()
	r.event("speech.finished", task, nil)
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
}

func (r *teller) wantSession(state core.SessionState, reason core.Reason) {
	r.t.Helper()
	if s := r.session(); s.State != state || s.Reason != reason {
		r.t.Errorf("the session is %s (%s), want %s (%s)", s.State, s.Reason, state, reason)
	}
}

// events are those that went up since the last look, answers left out.
func (r *teller) events() string {
	var out []string
	for _, m := range r.out[r.sent:] {
		if m.Type == core.MsgContent && m.Content.Event != "" {
			out = append(out, m.Content.Event)
		}
	}
	r.sent = len(r.out)
	return strings.Join(out, " ")
}

func (r *teller) wantEvents(want string) {
	r.t.Helper()
	if got := r.events(); got != want {
		r.t.Errorf("sent up %q, want %q", got, want)
	}
}

func (r *teller) stops() (n int) { return count[core.Stop](r.rig) }

func (r *teller) result(done bool) core.Answer {
	s := r.session()
	return *r.do(core.StepResult{Head: core.Head{Msg: "r-1", Hash: "r"}, Step: s.Step, Task: s.ID, Done: done, Reason: "no_source"}).Answers[0]
}

func TestAQuizIsStartedByTheRobotsOwnVoice(t *testing.T) {
	r := newTeller(t, quizPlan)
	if due := r.sent1(core.MsgStepDue); due.StepDue.Skill != "content_session" || !due.StepDue.Tells || due.StepDue.Task != r.session().ID {
		t.Errorf("step_due is %+v", due.StepDue)
	}
	r.ok(r.content(core.ContentSay, "첫 문제"))
	r.wantSaid() // it may not speak yet
	r.ok(r.content(core.ContentStart, ""))
	r.wantSaid("첫 문제")
	if p := r.voice().Params; p["session_id"] != string(r.session().ID) || p["first"] != true || p["last"] != false {
		t.Errorf("called with %v", p)
	}
	r.do(core.TaskAnswered{Task: r.voice().Task, Accepted: true}) // a callback is no proof
	r.wantSession(core.SessionStarting, "")
	r.want("step_1", "running")
	r.event("speech.started", r.voice().Task, nil)
	r.wantSession(core.SessionActive, "")
	r.wantEvents("started")
	r.want("step_1", "running") // the first words have to end
	r.speaks()
	r.want("step_1", "completed")
	r.wantWorkflow(core.WfCompleted)
	ev := r.step("step_1").Effects[0].Evidence
	if len(ev) != 2 || ev[0].Event != "content.started" || ev[1].Event != "speech.finished" || ev[1].By != "task_id" || ev[1].Source != "home" {
		t.Errorf("proven by %+v", ev)
	}
	r.ok(r.content(core.ContentSay, "둘째 문제")) // it outlives its step and its workflow
	r.speaks()
	r.wantSaid("첫 문제", "둘째 문제")
	r.ok(r.content(core.ContentSay, "끝", last))
	r.speaks()
	r.wantSession(core.SessionCompleted, "")
	r.wantEvents("completed")
	if n := r.wf("wf_1").Uplink; n != 3 {
		t.Errorf("%d messages of the plan, want ack, step_due and result", n)
	}
}

func (r *teller) sent1(kind core.MessageType) core.Message {
	r.t.Helper()
	all := r.rig.sent(kind)
	if len(all) != 1 {
		r.t.Fatalf("%d messages %s", len(all), kind)
	}
	return all[0]
}

func TestAStepResultAloneProvesNothing(t *testing.T) {
	t.Run("done, and then told", func(t *testing.T) {
		r := newTeller(t, restPlan)
		r.ok(r.result(true))
		r.want("step_1", "verifying")
		r.ok(r.content(core.ContentStart, "쉬세요", last))
		r.speaks()
		r.want("step_1", "completed")
		r.wantSession(core.SessionCompleted, "")
	})
	t.Run("done, and never told", func(t *testing.T) {
		r := newTeller(t, restPlan)
		r.ok(r.result(true))
		r.pass(15_000)
		r.want("step_1", "timed_out/evidence_timeout")
		r.wantSession(core.SessionFailed, "evidence_timeout")
	})
	t.Run("the clock of the proof waits for the words", func(t *testing.T) {
		r := newTeller(t, restPlan)
		r.ok(r.content(core.ContentStart, strings.Repeat("쉬", 200), last))
		r.ok(r.result(true))
		r.begins()
		r.pass(60_000)
		r.want("step_1", "verifying")
		r.speaks()
		r.want("step_1", "completed")
	})
	t.Run("failed", func(t *testing.T) {
		r := newTeller(t, restPlan)
		r.ok(r.content(core.ContentStart, "쉬세요"))
		r.begins()
		r.ok(r.result(false))
		r.want("step_1", "failed/no_source")
		r.wantSession(core.SessionFailed, "no_source")
		if r.stops() != 1 {
			t.Errorf("%d stops: it speaks on", r.stops())
		}
	})
	t.Run("a step that looks something up is done by its result", func(t *testing.T) {
		r := &teller{rig: newRig(t)}
		r.submit(`[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief","output_key":"news"}]`)
		if n := len(r.s.Sessions); n != 0 {
			t.Errorf("%d sessions", n)
		}
	})
}

// What is told proves that it was fresh only if it was looked up after the step became due, by a time that can be trusted.
func TestFreshIsWhatWasLookedUpAfterTheStepWasDue(t *testing.T) {
	for _, tc := range []struct {
		name    string
		trusted bool
		at      func(due int64) int64
		want    string
	}{
		{"looked up since", true, func(due int64) int64 { return due + 1 }, "completed"},
		{"looked up at that moment", true, func(due int64) int64 { return due }, "completed"},
		{"looked up before", true, func(due int64) int64 { return due - 1 }, "timed_out/evidence_timeout"},
		{"not said when", true, func(int64) int64 { return 0 }, "timed_out/evidence_timeout"},
		{"nobody knows the time", false, func(due int64) int64 { return due + 1_900_000_000_000 }, "timed_out/evidence_timeout"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &teller{rig: newRig(t)}
			r.now.Trusted = tc.trusted
			if !tc.trusted {
				r.now.WallMS = 0
			}
			r.submit(newsPlan)
			r.ok(r.content(core.ContentStart, "뉴스", looked(tc.at(r.session().DueMS))))
			r.ok(r.content(core.ContentSay, "끝", last))
			r.speaks()
			r.speaks()
			r.ok(r.content0(r.result(true)))
			r.pass(15_000)
			r.want("step_1", tc.want)
		})
	}
}

// content0 takes the answer of a result that may have come too late.
func (r *teller) content0(ans core.Answer) core.Answer {
	ans.Accepted = ans.Accepted || ans.Reason == core.ReasonStale
	return ans
}

func TestWhoTalksOverItIsHeardFirst(t *testing.T) {
	r := newTeller(t, quizPlan)
	r.ok(r.content(core.ContentStart, "하나"))
	r.ok(r.content(core.ContentSay, "둘"))
	r.speaks()
	r.begins()
	r.events()
	urgent := core.UrgentStops(r.s, r.now, core.Observed{Event: "voice.interrupted", Source: "voice", Class: catalog.Independent})
	if len(urgent) != 1 {
		t.Errorf("silence waits for the disk: %v", urgent)
	}
	r.event("voice.interrupted", "", nil)
	r.wantSession(core.SessionPaused, "")
	r.do(core.TaskEnded{Task: r.voice().Task, Outcome: core.OutcomeCancelled})
	r.ok(r.content(core.ContentSay, "셋")) // it waits too
	r.pass(10_000)
	r.wantSaid("하나", "둘")
	r.event("voice.session_ended", "", nil)
	r.wantSession(core.SessionActive, "")
	r.wantSaid("하나", "둘", "둘")
	r.speaks()
	r.wantSaid("하나", "둘", "둘", "셋")
	r.wantEvents("paused resumed")
	t.Run("and a stop meanwhile stays", func(t *testing.T) {
		r.event("voice.interrupted", "", nil)
		r.event("pui.cancelled", "", nil)
		r.event("voice.session_ended", "", nil)
		r.pass(10_000)
		r.wantSession(core.SessionCancelled, core.ReasonPUICancelled)
		r.wantSaid("하나", "둘", "둘", "셋")
	})
}

func TestASilencedSessionGoesOnAtLast(t *testing.T) {
	r := newTeller(t, quizPlan)
	r.ok(r.content(core.ContentStart, "하나"))
	r.event("speech.interrupted", r.begins(), nil)
	r.wantSession(core.SessionPaused, "")
	r.do(core.TaskEnded{Task: r.voice().Task, Outcome: core.OutcomeCancelled})
	r.pass(299_000)
	r.wantSaid("하나")
	r.pass(2_000)
	r.wantSaid("하나", "하나")
}

func TestHoldersPauseASessionUntilAllHaveLetGo(t *testing.T) {
	r := newTeller(t, mixedPlan)
	r.ok(r.content(core.ContentStart, "하나"))
	r.begins()
	id := string(r.session().ID)
	control := func(verb, scope, target string) core.Answer {
		r.seq++
		return *r.do(core.ControlReceived{Head: core.Head{Msg: core.MessageID(fmt.Sprintf("k-%d", r.seq)), Hash: "x"}, Verb: verb, Scope: scope, Target: target}).Answers[0]
	}
	r.event("pui.paused", "", nil)
	r.wantSession(core.SessionPaused, "")
	r.do(core.TaskEnded{Task: r.voice().Task, Outcome: core.OutcomeCancelled})
	r.ok(r.content(core.ContentPause, ""))
	r.ok(control("pause", "session", id))
	r.event("pui.resumed", "", nil)
	r.wantSession(core.SessionPaused, "")
	r.ok(r.content(core.ContentResume, "")) // the planner's hold is one, however it was asked for
	r.wantSession(core.SessionActive, "")
	r.wantSaid("하나", "하나")
	r.refused(control("pause", "session", "t-none"), core.ReasonUnknownTarget)
	if n := len(r.s.Device.Holds); n != 0 {
		t.Errorf("%d holds are left", n)
	}
}

func TestOnlyTheQuizIsStopped(t *testing.T) {
	r := newTeller(t, mixedPlan)
	r.ok(r.content(core.ContentStart, "하나"))
	r.begins()
	clean := slices.IndexFunc(r.dispatches(), func(d core.Dispatch) bool { return d.Method == "startBasicAirClear" })
	task := r.dispatches()[clean].Task
	r.do(core.TaskAnswered{Task: task, Accepted: true})
	before := r.stops()
	ev := core.ControlReceived{Head: core.Head{Msg: "k-1", Hash: "x"}, Verb: "cancel", Scope: "session", Target: string(r.session().ID)}
	if urgent := core.UrgentStops(r.s, r.now, ev); len(urgent) != 1 {
		t.Errorf("silence waits for the disk: %v", urgent)
	}
	ans := *r.do(ev).Answers[0]
	if !ans.Accepted || ans.State != "cancelled" || r.stops() != before+1 {
		t.Errorf("answered %+v with %d stops", ans, r.stops()-before)
	}
	r.want("step_1", "cancelled/user_cancelled", "step_2", "running")
	r.wantEvents("started cancelled")
	r.event("cleaning.completed", task, nil)
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.want("step_2", "completed")
	r.refused(r.content(core.ContentSay, "둘"), core.ReasonAlreadyTerminal)
	r.wantSaid("하나")
}

// What a cancel of the plan, of everything and of a step does to sessions.
func TestWhatIsCancelledFallsSilent(t *testing.T) {
	for _, tc := range []struct {
		name string
		told bool // the step has completed
		do   core.Event
		want core.SessionState
	}{
		{"the plan, its step open", false, core.ControlReceived{Head: core.Head{Msg: "k"}, Verb: "cancel", Scope: "workflow", Target: "wf_1"}, core.SessionCancelled},
		{"the plan, its step completed", true, core.ControlReceived{Head: core.Head{Msg: "k"}, Verb: "cancel", Scope: "workflow", Target: "wf_1"}, core.SessionActive},
		{"all", true, core.ControlReceived{Head: core.Head{Msg: "k"}, Verb: "cancel", Scope: "all"}, core.SessionCancelled},
		{"the button", true, core.Observed{Event: "pui.cancelled", Source: "pui", Class: catalog.Independent}, core.SessionCancelled},
		{"the step", false, core.ControlReceived{Head: core.Head{Msg: "k"}, Verb: "cancel", Scope: "step", Target: "wf_1/step_1"}, core.SessionCancelled},
		{"kill", false, core.ControlReceived{Head: core.Head{Msg: "k"}, Verb: "kill", Scope: "workflow", Target: "wf_1"}, core.SessionCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &teller{rig: newRig(t)}
			r.do(r.planText(strings.Replace(planHead, `{"workflow"`, `{"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"g",
				"effects":[{"effect_id":"content_session_started","step_id":"step_1","required":true}]},"workflow"`, 1) + mixedPlan + `}`))
			r.ok(r.content(core.ContentStart, "하나"))
			if tc.told {
				r.speaks()
			} else {
				r.begins()
			}
			r.do(tc.do)
			if r.session().State != tc.want {
				t.Errorf("the session is %s, want %s", r.session().State, tc.want)
			}
		})
	}
}

func TestContentIsAnsweredOnceAndInOrder(t *testing.T) {
	r := newTeller(t, quizPlan)
	r.ok(r.content(core.ContentStart, "하나"))
	seq := r.seq
	again := func(hash string) core.Answer {
		ev := core.ContentReceived{Head: core.Head{Msg: "c-again", Hash: hash, Seq: seq, Before: &core.Answer{Accepted: true, State: "starting"}, HashThen: fmt.Sprint("h", seq)},
			Session: r.session().ID, Verb: core.ContentStart, Text: "하나"}
		return *r.do(ev).Answers[0]
	}
	r.ok(again(fmt.Sprint("h", seq)))
	r.refused(again("other"), core.ReasonIDReused)
	r.seq += 10
	r.ok(r.content(core.ContentSay, "둘"))
	r.refused(r.content(core.ContentSay, "late", func(ev *core.ContentReceived) { ev.Seq = seq + 5 }), core.ReasonSuperseded)
	r.refused(r.content(core.ContentSay, "x", func(ev *core.ContentReceived) { ev.Session = "t-none" }), core.ReasonUnknownTarget)
	r.refused(r.content(core.ContentSay, "x", func(ev *core.ContentReceived) { ev.Epoch = "another" }), core.ReasonWrongEpoch)
	for range 14 {
		r.ok(r.content(core.ContentSay, "mehr"))
	}
	r.refused(r.content(core.ContentSay, "zu viel"), core.ReasonLimit)
	r.ok(r.content(core.ContentStop, "", func(ev *core.ContentReceived) { ev.Epoch = "another" })) // to stop is for any store
	r.wantSession(core.SessionCancelled, core.ReasonUserCancelled)
	r.refused(r.content(core.ContentStart, ""), core.ReasonAlreadyTerminal)
	for _, m := range r.rig.sent(core.MsgContent) {
		if m.Content.Event == "" && m.Content.Ref == "" {
			t.Errorf("neither answer nor event: %+v", m.Content)
		}
	}
	if n := len(r.rig.sent(core.MsgAck)); n != 1 {
		t.Errorf("%d acks: content is not acked", n)
	}
}

func TestAfterTheLastWordsNothingIsTaken(t *testing.T) {
	r := newTeller(t, quizPlan)
	r.ok(r.content(core.ContentStart, "끝", last))
	r.refused(r.content(core.ContentSay, "doch noch"), core.ReasonSuperseded)
}

func TestOnAScreenAloneTheScreensWordIsTheStart(t *testing.T) {
	r := newTeller(t, quizPlan)
	r.ok(r.content(core.ContentShow, "문제"))
	r.ok(r.content(core.ContentStart, ""))
	r.do(core.TaskAnswered{Task: r.voice().Task, Accepted: true})
	r.wantSession(core.SessionStarting, "")
	r.do(core.TaskEnded{Task: r.voice().Task, Outcome: core.OutcomeDone})
	r.wantSession(core.SessionActive, "")
}

func TestALongSilenceEndsASession(t *testing.T) {
	for _, tc := range []struct {
		name, plan, step string
		want             core.SessionState
	}{
		{"its step completed", quizPlan, "completed", core.SessionCompleted},
		{"its step open", strings.Replace(restPlan, `"skill"`, `"timeout_ms":3600000,"skill"`, 1), "failed/content_silent", core.SessionFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newTeller(t, tc.plan)
			r.ok(r.content(core.ContentStart, "하나"))
			r.speaks()
			r.events()
			r.pass(299_000)
			r.wantEvents("")
			r.pass(2_000)
			r.wantEvents("silent")
			r.event("content.user_response", "", core.Values{"text": "음"})
			r.wantEvents("user_response")
			r.pass(300_000)
			r.wantEvents("silent")
			r.pass(299_000)
			r.wantSession(core.SessionActive, "")
			r.pass(2_000)
			r.wantSession(tc.want, core.ReasonContentSilent)
			r.want("step_1", tc.step)
		})
	}
}

func TestWhatTheVoiceCannotSayFailsItsSession(t *testing.T) {
	r := newTeller(t, restPlan)
	r.ok(r.content(core.ContentStart, "쉬세요"))
	for range 5 {
		r.do(core.TaskAnswered{Task: r.voice().Task, Reason: core.ReasonExecutorRefused})
		r.pass(2_000)
	}
	r.wantSession(core.SessionFailed, core.ReasonExecutorRefused)
	r.want("step_1", "failed/executor_refused")
}

func TestLastWordsThatNobodyHeardCompleteNothing(t *testing.T) {
	r := newTeller(t, restPlan)
	r.ok(r.content(core.ContentStart, "쉬세요", last))
	r.do(core.TaskAnswered{Task: r.voice().Task, Accepted: true})
	r.do(core.TaskEnded{Task: r.voice().Task, Outcome: core.OutcomeDone}) // and no event of the robot's own
	r.pass(15_000)
	r.wantSession(core.SessionFailed, core.ReasonEvidenceTimeout)
	r.want("step_1", "failed/evidence_timeout")
}

func TestASessionGoesOnAfterARestart(t *testing.T) {
	r := newTeller(t, quizPlan)
	r.ok(r.content(core.ContentStart, "하나"))
	r.ok(r.content(core.ContentSay, "둘"))
	task := r.begins()
	r.do(core.Started{StartNo: 2})
	r.up("run-1")
	r.do(core.TaskStatus{Task: task, Known: core.KnownEnded, Event: &core.Observed{Event: "speech.finished", Source: "home"}, Ended: &core.TaskEnded{Outcome: core.OutcomeDone}})
	r.want("step_1", "completed")
	r.wantSaid("하나", "둘")
}

func TestEndedSessionsAreForgottenAtLast(t *testing.T) {
	r := &teller{rig: newRig(t)}
	for i := range 40 {
		wf := fmt.Sprintf("wf_%d", i+1)
		if ans := r.offer(wf, fmt.Sprintf("pl_%d", i+1), quizPlan); !ans.Accepted {
			t.Fatal(ans.Reason)
		}
		r.ok(r.content(core.ContentStop, ""))
	}
	if n := len(r.s.Sessions); n > 17 {
		t.Errorf("%d sessions are kept", n)
	}
	for _, s := range r.s.Sessions {
		if s.Queue != nil {
			t.Errorf("the words of an ended session are kept: %v", s.Queue)
		}
	}
}

// What a session comes to without having proven its step is seen as such, and may be asked about like any failure.
func TestTheEndOfASessionIsDecidedByItsOwnRow(t *testing.T) {
	step := `{"cloud_step_id":"step_1","execution_target":"cloud","skill":"rest_guidance","timeout_ms":3600000}`
	aim := goal(`{"effect_id":"rest_guidance_delivered","step_id":"step_1","required":true}`, generous, "full")
	for want, ends := range map[string]func(*teller){
		"CONTENT_ENDED replan_cloud": func(r *teller) { r.ok(r.result(false)) },
		"CONTENT_SILENT replan_cloud": func(r *teller) {
			r.ok(r.content(core.ContentStart, "하나"))
			r.speaks()
			r.pass(300_000)
			r.pass(300_000)
		},
	} {
		t.Run(want, func(t *testing.T) {
			r := &teller{rig: newRig(t)}
			r.aim(step, aim)
			ends(r)
			r.wantSupervised(want)
			if n := len(r.rig.sent(core.MsgEscalation)); n != 1 {
				t.Errorf("%d questions to the cloud", n)
			}
		})
	}
}
