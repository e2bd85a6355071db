package core_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// questions gives the messages about questions to the user.
func (r *rig) questions() (out []core.Asking) {
	for _, m := range r.sent(core.MsgQuestion) {
		out = append(out, *m.Question)
	}
	return out
}

// open gives the one open question of wf_1.
func (r *rig) open() core.Ask {
	r.t.Helper()
	var open []core.Ask
	for _, a := range r.wf("wf_1").Asks {
		if a.State == core.AskOpen {
			open = append(open, a)
		}
	}
	if len(open) != 1 {
		r.t.Fatalf("%d questions are open, want 1: %+v", len(open), r.wf("wf_1").Asks)
	}
	return open[0]
}

// wantAsk checks the state of the latest question of wf_1.
func (r *rig) wantAsk(want core.AskState) {
	r.t.Helper()
	all := r.wf("wf_1").Asks
	if len(all) == 0 || all[len(all)-1].State != want {
		r.t.Errorf("questions %+v, want the latest %s", all, want)
	}
}

// says is an answer from the planner; msg is its id.
func (r *rig) says(msg string, q core.AskID, option string) core.Answer {
	r.t.Helper()
	ev := core.AnswerReceived{Head: core.Head{Msg: core.MessageID(msg), Hash: msg + option}, Question: q, Option: option, By: "app"}
	for _, m := range r.remembered {
		if m.Key == "answer:"+string(q) {
			ev.Before, ev.HashThen = &m.Answer, m.Hash
		}
	}
	a := *r.do(ev).Answers[0]
	r.remembered = append(r.remembered, r.ch.Remember...)
	return a
}

func (r *rig) told(said string, data core.Values) {
	all := core.Values{"answer": said}
	for k, v := range data {
		all[k] = v
	}
	r.event("user.answered", "", all)
}

func options(a core.Ask) string {
	var out []string
	for _, o := range a.Options {
		out = append(out, o.ID)
	}
	return strings.Join(out, " ")
}

const spentBudget = `"max_decisions":0,"max_replans":0,"deadline_ms":7200000,"automatic_retries":0`

// failing is a plan of one move whose goal would be lost, with no decision left: the executor has refused it.
func failing(t *testing.T, experience string) *rig {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, experience)
	r.refuse()
	return r
}

// Where nobody else decides and the goal would be lost, the user is asked, in the words of the catalog; each question is counted.
func TestFallbackAsksBeforeItStops(t *testing.T) {
	r := failing(t, asks(goal(ownGo, spentBudget, "full")))
	q := r.open()
	r.want("go", "blocked/executor_refused")
	if q.Kind != core.AskFallback || options(q) != "retry_local return_to_station cancel" || q.Due != q.Opened+60_000 {
		t.Errorf("question %+v", q)
	}
	if q.Text != "이동: 로봇 기능이 요청을 거절했어요. 어떻게 할까요?" || q.Options[0].Text != "다시 해 줘" {
		t.Errorf("text %q %+v", q.Text, q.Options)
	}
	if got := r.questions(); len(got) != 1 || got[0].Experience != "exp_1" || got[0].LeftMS != 60_000 {
		t.Errorf("messages %+v", got)
	}
	if left := r.wf("wf_1").Left(); left.Questions != 0 || len(r.sent(core.MsgEscalation)) != 0 {
		t.Errorf("left %+v", left)
	}
	// again: one more attempt, and no question is left for its failure
	if a := r.says("a-1", q.ID, "retry_local"); !a.Accepted {
		t.Fatalf("answer %+v", a)
	}
	r.elsewhere()
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches, want 2", n)
	}
	r.refuse()
	r.want("go", "failed/executor_refused")
	r.wantGoal(core.GoalSafeEnd)
	if n := len(r.wf("wf_1").Asks); n != 1 {
		t.Errorf("%d questions, one was allowed", n)
	}
}

func TestFallbackInTheLanguageOfThePlan(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	head := strings.Replace(planHead, `"revision":0`, `"revision":0,"origin":{"locale":"en-US"}`, 1)
	r.do(r.planText(head + `[` + goTo + `],` + asks(goal(ownGo, spentBudget, "full")) + `}`))
	r.refuse()
	if q := r.open(); q.Text != "go: the robot function refused the request. What shall I do?" {
		t.Errorf("text %q", q.Text)
	}
}

func TestFallbackIsAskedWhereNobodyDecides(t *testing.T) {
	r := failing(t, asks(goal(ownGo, generous, "full")))
	r.undecided()
	if q := r.open(); q.Reason != core.ReasonNoDecision {
		t.Errorf("question %+v", q)
	}
	r.pass(59_999)
	r.want("go", "blocked")
	r.pass(1)
	r.wantAsk(core.AskExpired)
	r.want("go", "failed/executor_refused")
	r.wantGoal(core.GoalSafeEnd)
	if wf := r.wf("wf_1"); wf.Reason != core.ReasonNoDecision {
		t.Errorf("reason %s", wf.Reason)
	}
}

// What else is under way is stopped when the user says so, or says nothing.
func TestTheUsersChoiceIsCarriedOut(t *testing.T) {
	beside := goTo + `,{"cloud_step_id":"air","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]}`
	for chosen, home := range map[string]bool{"cancel": false, "return_to_station": true, "": false} {
		t.Run(chosen, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.aim(beside, asks(goal(ownGo, spentBudget, "full")))
			all := r.dispatches()
			r.do(core.TaskAnswered{Task: all[1].Task, Accepted: true, Instance: "run-1"})
			r.do(core.TaskAnswered{Task: all[0].Task, Reason: core.ReasonExecutorRefused})
			r.want("air", "running")
			if chosen == "" {
				r.pass(60_000)
			} else if a := r.says("a-1", r.open().ID, chosen); !a.Accepted {
				t.Fatalf("%+v", a)
			}
			r.want("go", "failed", "air", "cancelling/budget_exhausted")
			r.do(core.TaskEnded{Task: all[1].Task, Outcome: core.OutcomeCancelled})
			r.wantGoal(core.GoalSafeEnd)
			if got := r.s.Workflows["local:safety:1"] != nil; got != home {
				t.Errorf("sent home: %v, want %v", got, home)
			}
		})
	}
}

// Nobody is asked who cannot hear it, or more often than the plan allows; nor in shadow, nor for a plain plan, nor when the deadline is over.
func TestNobodyIsAskedInVain(t *testing.T) {
	for name, play := range map[string]func() *rig{
		"no question is left": func() *rig { return failing(t, goal(ownGo, spentBudget, "full")) },
		"the robot cannot speak": func() *rig {
			r := newRig(t)
			r.elsewhere()
			r.aim(goTo, asks(goal(ownGo, spentBudget, "full")))
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			r.do(core.ExecutorDown{Service: "home"})
			r.pass(400_000)
			return r
		},
		"the deadline is over": func() *rig {
			r := newRig(t)
			r.elsewhere()
			r.aim(goTo, asks(goal(ownGo, `"max_decisions":3,"max_replans":1,"deadline_ms":60000,"automatic_retries":1`, "full")))
			r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
			r.pass(60_000)
			return r
		},
		"shadow": func() *rig {
			r := failing(t, asks(goal(ownGo, spentBudget, "shadow")))
			r.undecided()
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := play()
			if n := len(r.wf("wf_1").Asks); n != 0 || len(r.questions()) != 0 {
				t.Errorf("%d questions", n)
			}
		})
	}
}

// An answer counts once, from whoever is first; a wrong one leaves the question open.
func TestAnAnswerCountsOnce(t *testing.T) {
	r := failing(t, asks(goal(ownGo, spentBudget, "full")))
	q := r.open().ID
	for want, a := range map[core.Reason]core.Answer{core.ReasonUnknownTarget: r.says("a-0", "q-0", "cancel"), core.ReasonNotAllowed: r.says("a-1", q, "complete")} {
		if a.Accepted || a.Reason != want {
			t.Errorf("%+v, want %s", a, want)
		}
	}
	r.want("go", "blocked")
	first := r.says("a-2", q, "retry_local")
	r.elsewhere()
	if !first.Accepted || len(r.dispatches()) != 2 {
		t.Fatalf("%+v, %d dispatches", first, len(r.dispatches()))
	}
	if again := r.says("a-2", q, "retry_local"); !again.Accepted || len(r.dispatches()) != 2 {
		t.Errorf("the same message again: %+v, %d dispatches", again, len(r.dispatches()))
	}
	for msg, option := range map[string]string{"a-3": "cancel", "a-4": "retry_local"} {
		if a := r.says(msg, q, option); a.Reason != core.ReasonDecisionStale {
			t.Errorf("%s: %+v", option, a)
		}
	}
	r.told("cancel", core.Values{"question_id": string(q)})
	r.want("go", "dispatching")
	if got := r.questions(); len(got) != 1 {
		t.Errorf("the planner heard the answer itself: %+v", got)
	}
}

func TestALateAnswerIsStale(t *testing.T) {
	r := failing(t, asks(goal(ownGo, spentBudget, "full")))
	q := r.open().ID
	r.now.Boot += 60_000 // nobody has looked at the clock yet
	if a := r.says("a-1", q, "retry_local"); a.Reason != core.ReasonDecisionStale {
		t.Errorf("%+v", a)
	}
	r.want("go", "failed")
}

// What is said at the robot is taken by its words or its id, told to the planner, and refused where it could mean two questions.
func TestThePersonAnswersAtTheRobot(t *testing.T) {
	for name, tc := range map[string]struct {
		said  string
		data  core.Values
		taken bool
	}{
		"the id":           {"retry_local", nil, true},
		"the words":        {" 다시 해 줘 ", nil, true},
		"with its id":      {"retry_local", core.Values{"question_id": "own"}, true},
		"another question": {"retry_local", core.Values{"question_id": "q-9"}, false},
		"no option":        {"글쎄", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := failing(t, asks(goal(ownGo, spentBudget, "full")))
			if tc.data["question_id"] == "own" {
				tc.data["question_id"] = string(r.open().ID)
			}
			r.told(tc.said, tc.data)
			r.elsewhere()
			if got := len(r.dispatches()) == 2; got != tc.taken {
				t.Fatalf("taken: %v", got)
			}
			if !tc.taken {
				r.open()
				return
			}
			q := r.questions()
			if len(q) != 2 || q[1].Ask.State != core.AskAnswered || q[1].Ask.Option != "retry_local" || q[1].Ask.By != "user" {
				t.Errorf("messages %+v", q)
			}
		})
	}
	r := failing(t, asks(goal(ownGo, spentBudget, "full")))
	other := strings.NewReplacer("exp_1", "exp_2").Replace(asks(goal(ownGo, spentBudget, "full")))
	r.do(r.planText(strings.NewReplacer("wf_1", "wf_2", "pl_1", "pl_2").Replace(planHead) + `[` + goTo + `],` + other + `}`))
	r.elsewhere()
	r.refuse()
	r.told("cancel", nil)
	r.want("go", "blocked")
	if r.stepOf("wf_2", "go").State != core.Blocked {
		t.Error("one word was taken for two questions")
	}
}

// A cancel, a button, a revision withdraw the question in the same commit, and say so.
func TestAQuestionIsWithdrawn(t *testing.T) {
	for name, play := range map[string]func(r *rig){
		"cancel": func(r *rig) {
			r.do(core.ControlReceived{Head: core.Head{Msg: "c"}, Verb: "cancel", Scope: "workflow", Target: "wf_1"})
		},
		"step": func(r *rig) {
			r.do(core.ControlReceived{Head: core.Head{Msg: "c"}, Verb: "cancel", Scope: "step", Target: "wf_1/go"})
		},
		"button": func(r *rig) { r.event("pui.cancelled", "", nil) },
		"revision": func(r *rig) {
			r.aimed(1, strings.Replace(goTo, `"go"`, `"go2"`, 1), strings.Replace(asks(goal(ownGo, spentBudget, "full")), `"step_id":"go"`, `"step_id":"go2"`, 1))
		},
		"deadline": func(r *rig) { r.pass(50_000) },
	} {
		t.Run(name, func(t *testing.T) {
			r := failing(t, asks(goal(ownGo, strings.Replace(spentBudget, "7200000", "50000", 1), "full")))
			id := r.open().ID
			play(r)
			if a := r.wf("wf_1").Asks[0]; a.State != core.AskWithdrawn {
				t.Errorf("question %+v", a)
			}
			q := r.questions()
			if len(q) < 2 || q[1].Ask.ID != id || q[1].Ask.State != core.AskWithdrawn {
				t.Errorf("messages %+v", q)
			}
			if a := r.says("a-1", id, "retry_local"); a.Reason != core.ReasonDecisionStale {
				t.Errorf("answer %+v", a)
			}
		})
	}
}

// A restart keeps the question and its time; so does a reboot.
func TestAQuestionOutlivesARestart(t *testing.T) {
	r := failing(t, asks(goal(ownGo, spentBudget, "full")))
	r.pass(20_000)
	r.reboot("run-2", 30_000)
	r.up("run-2")
	q := r.open()
	r.pass(9_999)
	r.want("go", "blocked")
	if a := r.says("a-1", q.ID, "retry_local"); !a.Accepted {
		t.Fatalf("%+v", a)
	}
	r = failing(t, asks(goal(ownGo, spentBudget, "full")))
	r.pass(20_000)
	r.reboot("run-2", 30_000)
	r.pass(10_000)
	r.wantAsk(core.AskExpired)
}

// The cloud may decide to ask, where a question is left and somebody can hear it. What the user chooses is carried out as a decision is.
func TestTheCloudAsksTheUser(t *testing.T) {
	ask := func(r *rig, options ...core.AskOption) core.Answer {
		e := r.asked()
		return *r.do(core.DecisionReceived{Head: core.Head{Msg: "d-1", Hash: "h"}, Escalation: e.ID, Action: core.ActAsk, PlanRevision: e.Revision,
			Question: &core.UserAsk{Text: "다시 갈까요?", TimeoutMS: 30_000, Options: options}}).Answers[0]
	}
	again, stop, home := core.AskOption{ID: "again", Text: "네", Action: core.ActRetry}, core.AskOption{ID: "stop", Text: "아니요", Action: core.ActCancel}, core.AskOption{ID: "home", Text: "집", Action: core.ActReturn}
	start := func(t *testing.T) *rig {
		r := failing(t, asks(goal(ownGo, generous, "full")))
		if e := r.asked(); len(e.Allowed) == 0 || !contains(e.Allowed, core.ActAsk) || r.sent(core.MsgEscalation)[0].Escalation.Left.Questions != 1 {
			t.Fatalf("escalation %+v", e)
		}
		return r
	}
	t.Run("answered", func(t *testing.T) {
		r := start(t)
		if a := ask(r, again, stop); !a.Accepted {
			t.Fatalf("%+v", a)
		}
		if q := r.open(); q.Text != "다시 갈까요?" || q.Escalation != r.asked().ID || r.asked().State != core.EscDecided || r.wf("wf_1").Left() != (core.Budget{Decisions: 2, Replans: 1}) {
			t.Errorf("question %+v, left %+v", q, r.wf("wf_1").Left())
		}
		r.told("네", nil)
		r.elsewhere()
		if n := len(r.dispatches()); n != 2 {
			t.Fatalf("%d dispatches", n)
		}
		r.refuse() // the next question to the cloud offers no question to the user any more
		if e := r.asked(); contains(e.Allowed, core.ActAsk) {
			t.Errorf("offered %v", e.Allowed)
		}
	})
	t.Run("home is a replan", func(t *testing.T) {
		r := start(t)
		ask(r, home, stop)
		r.told("home", nil)
		if left := r.wf("wf_1").Left(); left.Replans != 0 || r.s.Workflows["local:safety:1"] == nil {
			t.Errorf("left %+v", left)
		}
	})
	t.Run("not answered", func(t *testing.T) {
		r := start(t)
		ask(r, again, stop)
		r.pass(30_000)
		r.want("go", "failed/executor_refused")
		r.wantGoal(core.GoalSafeEnd)
	})
	t.Run("refused", func(t *testing.T) {
		for name, o := range map[string]core.AskOption{"a plan": {ID: "x", Text: "x", Action: core.ActReplan}, "itself": {ID: "x", Text: "x", Action: core.ActAsk}, "not a word of ours": {ID: "x", Text: "x", Action: "complete"}} {
			r := start(t)
			before := r.wf("wf_1").Left()
			if a := ask(r, again, o); a.Reason != core.ReasonNotAllowed || r.asked().State != core.EscOpen || r.wf("wf_1").Left() != before || len(r.wf("wf_1").Asks) != 0 {
				t.Errorf("%s: %+v", name, a)
			}
		}
		r := start(t)
		r.do(core.ExecutorDown{Service: "home"})
		if a := ask(r, again); a.Reason != core.ReasonNotAllowed {
			t.Errorf("nobody can hear it: %+v", a)
		}
	})
}

func contains(list []core.Action, a core.Action) bool {
	for _, x := range list {
		if x == a {
			return true
		}
	}
	return false
}

// What is asked is said and shown, and hushed when it has closed.
func TestAQuestionIsSaidAndShown(t *testing.T) {
	r := failing(t, asks(goal(ownGo, spentBudget, "full")))
	text := "이동: 로봇 기능이 요청을 거절했어요. 어떻게 할까요?"
	want := []string{"setLlmTts " + text, "showText " + text + "\n- 다시 해 줘\n- 충전대로 돌아가\n- 그만해"}
	if got := r.heard(); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Fatalf("heard %q", got)
	}
	for _, o := range r.log {
		if d, ok := o.(core.Dispatch); ok && r.mouths(d.Method) {
			r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"})
			if d.Method == "showText" {
				r.do(core.TaskEnded{Task: d.Task, Outcome: core.OutcomeDone})
			}
		}
	}
	stops := count[core.Stop](r)
	r.says("a-1", r.open().ID, "cancel")
	if got := r.heard(); count[core.Stop](r) != stops+1 || got[len(got)-1] != "showText " {
		t.Errorf("%d stops, heard %q", count[core.Stop](r)-stops, got)
	}
}

// Who waits for the user has something that moves it, and says so.
func TestWhyOfAQuestion(t *testing.T) {
	r := failing(t, asks(goal(ownGo, spentBudget, "full")))
	q := r.open()
	facts := core.Why(r.s, r.now, r.wf("wf_1"), 0)
	if len(facts) != 2 || facts[0].Kind != "question" || facts[0].Ref != string(q.ID) || facts[1].LeftMS != 60_000 {
		t.Errorf("why %+v", facts)
	}
	if stuck := core.Audit(r.s, r.now); len(stuck) != 0 {
		t.Errorf("stuck %v", stuck)
	}
}
