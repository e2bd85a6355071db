package core_test

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// asked gives the latest question of wf_1.
func (r *rig) asked() core.Escalation {
	r.t.Helper()
	all := r.wf("wf_1").Escalations
	if len(all) == 0 {
		r.t.Fatal("nothing was asked")
	}
	return all[len(all)-1]
}

// decide answers the latest question of wf_1.
func (r *rig) decide(action core.Action) core.Answer {
	r.t.Helper()
	q := r.asked()
	ev := core.DecisionReceived{Head: core.Head{Msg: "d-1", Hash: string(action)}, Escalation: q.ID, Action: action, PlanRevision: q.Revision}
	return *r.do(ev).Answers[0]
}

func (r *rig) decided(action core.Action) {
	r.t.Helper()
	if a := r.decide(action); !a.Accepted {
		r.t.Fatalf("%s: %+v", action, a)
	}
}

// refuse lets the executor refuse the latest call for good: nothing of it is left.
func (r *rig) refuse() {
	r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
}

func TestCaseF4_AnExhaustedStepAsksOnce(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(retried)
	for range 2 {
		r.busy()
		r.pass(4_999)
		r.elsewhere()
		r.pass(1)
	}
	if n := len(r.sent(core.MsgEscalation)); n != 0 {
		t.Fatalf("%d questions while the declared retry goes on", n)
	}
	r.busy()
	r.want("step_1", "blocked/executor_busy", "step_2", "pending")
	r.restart("run-1") // the question is durable, and the restart asks nothing anew
	r.idle()
	r.elsewhere()
	r.pass(60_000)
	sent := r.sent(core.MsgEscalation)
	if len(sent) != 1 || sent[0].Workflow != "wf_1" || sent[0].Step != "step_1" || sent[0].Escalation.ID != r.asked().ID {
		t.Fatalf("questions %+v", sent)
	}
	if n := len(r.dispatches()); n != 3 {
		t.Fatalf("%d dispatches, the last while the question is open", n)
	}
	r.pass(60_000)
	r.want("step_1", "failed/executor_busy", "step_2", "skipped/dependency_failed")
	r.wantWorkflow(core.WfFailed)
	res := r.sent(core.MsgResult)
	if len(res) != 1 || res[0].Result.Decisions != 1 || res[0].Result.Replans != 0 {
		t.Fatalf("results %+v", res)
	}
}

// TestWhatAQuestionSays: whoever decides sees how old each value is and to which revision the answer has to belong.
func TestCaseF12_AQuestionShowsThePresentState(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(chain)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.pass(700)
	r.event("movement.arrived", task, core.Values{"room_id": "study"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	q := r.sent(core.MsgEscalation)[0].Escalation
	if q.Reason != core.ReasonContradicts || q.Revision != 0 || !q.Recoverable || q.Default != core.ActCancel || q.DeadlineMS != 120_000 || q.Left != (core.Budget{Decisions: 2, Replans: 1}) {
		t.Fatalf("question %+v", q)
	}
	seen := map[string]core.Seen{}
	for _, s := range q.Context {
		seen[string(s.Key)] = s
	}
	if at := seen["movement.location"]; at.Value != "study" || at.AgeMS != 700 || at.Source != "home" || at.Availability != "fresh" {
		t.Errorf("where it is: %+v", at)
	}
	if _, other := seen["sound.volume"]; other {
		t.Error("it tells what the step does not read")
	}
	var owed []string
	for _, o := range q.Owed {
		owed = append(owed, string(o.Step)+" "+string(o.Effect)+" "+string(o.State))
	}
	if want := []string{"step_1 target_location_reached contradicted", "step_2 air_cleaning_completed bound", "step_3 target_location_reached bound"}; !slices.Equal(owed, want) {
		t.Errorf("owed %v", owed)
	}
	var happened []string
	for _, h := range q.Events {
		happened = append(happened, h.Event)
	}
	if want := []string{"dispatched", "done", "movement.arrived"}; !slices.Equal(happened, want) {
		t.Errorf("happened %v", happened)
	}
	if a := r.do(core.DecisionReceived{Head: core.Head{Msg: "d-1"}, Escalation: q.ID, Action: core.ActRetry, PlanRevision: 1}).Answers[0]; a.Reason != core.ReasonDecisionStale {
		t.Errorf("an answer about another revision: %+v", a)
	}
	r.want("step_1", "blocked")
}

func TestAQuestionIsBounded(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"retry":{"max_attempts":20,"backoff_ms":1}}]`)
	for range 20 {
		r.busy()
		r.elsewhere()
		r.pass(1)
		r.elsewhere()
	}
	if n := len(r.sent(core.MsgEscalation)[0].Escalation.Events); n != 8 {
		t.Fatalf("%d events", n)
	}
}

// TestWhatIsOffered: by the catalog, the reason and the budget.
func TestWhatIsOffered(t *testing.T) {
	move := `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]`
	vital := `[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`
	failed := func(reason core.Reason) func(*rig) {
		return func(r *rig) {
			r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
			r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeFailed, Reason: reason})
		}
	}
	for _, tc := range []struct {
		name, plan string
		fail       func(r *rig)
		want       string
	}{
		{"a move may be tried again", move, failed("robot_fault"), "retry_local replan_cloud return_to_station cancel"},
		{"what a person has stopped may not", move, failed(core.ReasonExternalStop), "replan_cloud cancel"},
		{"nor what safety is against", move, failed(core.ReasonBatteryLow), "replan_cloud return_to_station cancel"},
		{"what must not run twice and may have run", vital, failed("robot_fault"), "replan_cloud cancel"},
		{"the same, and it was refused", vital, (*rig).refuse, "retry_local replan_cloud cancel"},
		{"nobody took the call", vital, func(r *rig) {
			for range 200 {
				if r.step("step_1").State == core.Dispatching {
					r.do(core.TaskAnswered{Task: r.last().Task, NotSent: true, Reason: core.ReasonExecutorBusy})
				}
				r.pass(500)
			}
		}, "retry_local replan_cloud cancel"},
		{"the way to the station has failed", `[{"cloud_step_id":"step_1","taskMethod":"returnToStation"}]`, func(r *rig) { r.pass(5_000); failed("robot_fault")(r) }, "retry_local replan_cloud cancel"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(tc.plan)
			tc.fail(r)
			var got []string
			for _, a := range r.asked().Allowed {
				got = append(got, string(a))
			}
			if strings.Join(got, " ") != tc.want {
				t.Fatalf("offered %v, want %s", got, tc.want)
			}
		})
	}
}

// TestAnAskedStepWaits holds everything that can happen to a step against one that is asked about: its time and a cancel move it, and
// nothing else.
func TestAnAskedStepWaits(t *testing.T) {
	recipes := map[string]func(r *rig){
		"its task has ended":              func(r *rig) { r.submit(toKitchen); r.refuse() },
		"its task is still being stopped": func(r *rig) { r.submit(toKitchen); r.accept(r.last().Task); r.pass(180_000) },
		"nobody knows what became of it":  func(r *rig) { r.submit(toKitchen); r.pass(190_000) },
		"it was never dispatched":         func(r *rig) { r.read("battery.level", 10.0); r.submit(toKitchen); r.pass(61_000) },
		"its executor said done, wrongly": func(r *rig) {
			r.submit(toKitchen)
			r.accept(r.last().Task)
			r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeDone})
			r.pass(15_000)
		},
		"it waits for its second try's time": func(r *rig) { r.submit(toKitchen); r.refuse(); r.pass(1) },
	}
	for name, make := range recipes {
		for _, s := range core.Stimuli {
			t.Run(name+"/"+string(s), func(t *testing.T) {
				r := newRig(t)
				r.elsewhere()
				make(r)
				r.want("step_1", "blocked")
				q, calls := r.asked(), len(r.dispatches())
				task := core.TaskID("t-none")
				if st := r.step("step_1"); st.Task != "" {
					task = st.Task
				}
				stimuli[s](r, task)
				r.idle()
				r.elsewhere()
				switch s {
				case "its time is over":
					r.want("step_1", string(q.End))
				case "cancel":
					r.want("step_1", "cancelled/user_cancelled")
				default:
					r.want("step_1", "blocked/"+string(q.Reason))
					if now := r.asked(); now.ID != q.ID || now.State != core.EscOpen {
						t.Errorf("the question is now %+v", now)
					}
					if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); why[0].Kind != "decision" || why[0].Ref != string(q.ID) || why[len(why)-1].LeftMS <= 0 {
						t.Errorf("why: %+v", why)
					}
				}
				if n := len(r.dispatches()); n != calls {
					t.Errorf("%d dispatches while the question is open", n-calls)
				}
			})
		}
	}
}

func TestWhoAsksNobody(t *testing.T) {
	for name, change := range map[string]func(ev *core.PlanSubmitted){
		"handed in on the robot": func(ev *core.PlanSubmitted) { ev.Plan.Local = true },
		"on_failure continue":    func(ev *core.PlanSubmitted) { ev.Plan.Steps[0].OnFailure = core.FailContinue },
		"on_failure abort":       func(ev *core.PlanSubmitted) { ev.Plan.Steps[0].OnFailure = core.FailAbort },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
			change(&ev)
			r.do(ev)
			r.refuse()
			r.want("step_1", "failed/executor_refused")
			if n := len(r.sent(core.MsgEscalation)); n != 0 {
				t.Fatalf("%d questions", n)
			}
		})
	}
}

func TestCaseF6_OtherBranchesGoOnWhileAQuestionIsOpen(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},
	 {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","depends_on":["step_1"]},
	 {"cloud_step_id":"else","taskMethod":"setVolume","params":{"level":60},"depends_on":[{"step":"step_1","on":"failure"}]},
	 {"cloud_step_id":"apart","taskMethod":"getAirQuality"}]`)
	for _, d := range r.dispatches() {
		if d.Method == "setMoveTo" {
			r.do(core.TaskAnswered{Task: d.Task, Reason: core.ReasonExecutorRefused})
		} else {
			r.accept(d.Task)
			r.event("air.measured", d.Task, core.Values{"pm25": 3.0, "grade": "good"})
		}
	}
	r.want("step_1", "blocked", "step_2", "pending", "else", "pending", "apart", "completed")
	r.wantWorkflow(core.WfActive)
	r.decided(core.ActCancel)
	r.want("step_1", "failed/executor_refused", "step_2", "skipped/dependency_failed", "else", "dispatching")
}

func TestC1_WhatNobodyConfirmsIsReportedAndKeepsNothingOpen(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.accept(r.last().Task)
	r.do(cancel("wf_1"))
	r.pass(60_000)
	r.want("step_1", "cancelled/cancel_unconfirmed")
	r.wantWorkflow(core.WfCancelled)
	if n := len(r.sent(core.MsgEscalation)); n != 0 {
		t.Fatalf("%d questions about what nobody may go on with", n)
	}
	if res := r.sent(core.MsgResult); len(res) != 1 || res[0].Result.Steps[0].Reason != core.ReasonCancelUnconfirmed {
		t.Fatalf("results %+v", res)
	}
	if a := r.wf("wf_1").Attempts[0]; a.State != core.Stopping {
		t.Fatalf("what may still move is %s", a.State)
	}
}

// TestTheBudgetIsNeverExceeded: three questions in all, whoever asks them, and then failures end as they would without.
func TestTheBudgetIsNeverExceeded(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":[{"step":"step_1","on":"failure"}]}]`)
	for left := int64(2); left >= 0; left-- {
		r.refuse()
		r.want("step_1", "blocked")
		if q := r.sent(core.MsgEscalation); q[len(q)-1].Escalation.Left.Decisions != left {
			t.Fatalf("%d decisions left, want %d", q[len(q)-1].Escalation.Left.Decisions, left)
		}
		r.decided(core.ActRetry)
		r.elsewhere()
		r.want("step_1", "dispatching")
	}
	r.refuse()
	r.want("step_1", "failed/executor_refused", "step_2", "dispatching")
	if n := len(r.sent(core.MsgEscalation)); n != 3 {
		t.Fatalf("%d questions", n)
	}
}

func TestOneQuestionWhereAnEventIsMissing(t *testing.T) {
	plan := `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"event","wait_event":{"event":"cleaning.progress"}},
	 {"cloud_step_id":"step_2","taskMethod":"setVolume","params":{"level":10},"depends_on":["step_1"]},
	 {"cloud_step_id":"step_3","taskMethod":"setScreen","params":{"on":false},"depends_on":["step_1"]},
	 {"cloud_step_id":"step_4","taskMethod":"getAirQuality","depends_on":["step_3"]}]`
	r := newRig(t)
	r.submit(plan)
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", task, nil)
	r.want("step_1", "completed", "step_2", "blocked/wait_event_missing", "step_3", "pending", "step_4", "pending")
	if q := r.asked(); q.About != "step_1" || q.End != core.Skipped || slices.Contains(q.Allowed, core.ActRetry) {
		t.Fatalf("question %+v", q)
	}
	r.restart("run-1")
	r.undecided()
	r.want("step_2", "skipped/wait_event_missing", "step_3", "skipped/wait_event_missing", "step_4", "skipped/dependency_failed")
	r.wantWorkflow(core.WfFailed)
	if n := len(r.sent(core.MsgEscalation)); n != 1 {
		t.Fatalf("%d questions", n)
	}
}

func TestADeadlineOfAQuestionCountsTheTimeOff(t *testing.T) {
	for _, tc := range []struct {
		name    string
		off     int64
		trusted bool
		want    string
	}{
		{"within it", 30_000, true, "blocked"},
		{"over it", 200_000, true, "failed/executor_refused"},
		{"nobody knows how long", 200_000, false, "blocked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			r.refuse()
			r.pass(60_000)
			if !tc.trusted {
				r.now.Trusted = false
			}
			r.off(tc.off, tc.trusted)
			r.do(core.Tick{})
			r.want("step_1", tc.want)
			if tc.want == "blocked" {
				if q := r.asked(); q.Due != r.step("step_1").Due || q.Opened > r.now.Boot {
					t.Errorf("the question is of %d and due at %d, the step at %d", q.Opened, q.Due, r.step("step_1").Due)
				}
				r.pass(120_000) // late where nobody knows the time, never early
				r.want("step_1", "failed/executor_refused")
			}
		})
	}
}

func TestACancelTakesTheQuestionBack(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(chain)
	r.refuse()
	row := r.sent(core.MsgEscalation)[0]
	c := r.do(cancel("wf_1"))
	if !slices.Equal(c.Withdrawn, []int64{row.Seq}) {
		t.Fatalf("withdrawn %v, want %d", c.Withdrawn, row.Seq)
	}
	r.wantWorkflow(core.WfCancelled)
	if a := r.decide(core.ActRetry); a.Accepted || a.Reason != core.ReasonAfterCancel {
		t.Fatalf("a decision after the cancel: %+v", a)
	}
	r.pass(600_000)
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
}

// TestAQuestionIsNotOpenLongerThanItsPlan: the deadline of the plan ends both.
func TestAQuestionIsNotOpenLongerThanItsPlan(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
	ev.Plan.DeadlineMS = 50_000
	r.do(ev)
	r.pass(10_000)
	r.refuse()
	if q := r.sent(core.MsgEscalation)[0].Escalation; q.DeadlineMS != 40_000 {
		t.Fatalf("open for %d ms", q.DeadlineMS)
	}
	r.pass(39_999)
	r.want("step_1", "blocked")
	r.pass(1)
	r.want("step_1", "cancelled/deadline_exceeded")
	r.wantWorkflow(core.WfExpired)
	if a := r.decide(core.ActRetry); a.Accepted || a.Reason != core.ReasonSuperseded {
		t.Fatalf("%+v", a)
	}
}

// A question that is opened and taken back in one batch never leaves, and is not counted as sent.
func TestAQuestionTakenBackAtOnceIsNeverSent(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	c := r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused}, cancel("wf_1"))
	for _, m := range c.Outbox {
		if m.Type == core.MsgEscalation {
			t.Fatal("it is sent")
		}
	}
	if len(c.Withdrawn) != 0 {
		t.Fatalf("withdrawn %v", c.Withdrawn)
	}
	if res := r.sent(core.MsgResult); len(res) != 1 || res[0].Result.Uplink != 3 { // two acks and the result
		t.Fatalf("results %+v", res[0].Result)
	}
}

func TestTheButtonEndsWhatWaitsForADecision(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.accept(r.last().Task)
	r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeFailed, Reason: "robot_fault"})
	r.want("step_1", "blocked")
	r.button("pui.cancelled")
	r.want("step_1", "cancelled/pui_cancelled")
	if a := r.decide(core.ActRetry); a.Reason != core.ReasonAfterCancel {
		t.Fatalf("%+v", a)
	}
}

// A step that began something and has completed is not forgotten by a cancel of its workflow.
func TestACancelStopsWhatAnEndedStepLeftRunning(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"},{"cloud_step_id":"step_2","taskMethod":"startVitalSign","depends_on":["step_1"]}]`)
	clean := r.last().Task
	r.accept(clean)
	r.read("cleaning.is_running", true)
	r.event("cleaning.started", clean, nil)
	r.want("step_1", "completed", "step_2", "dispatching")
	r.do(cancel("wf_1"))
	for _, o := range r.log {
		if s, ok := o.(core.Stop); ok && s.Task == clean {
			return
		}
	}
	t.Fatal("the cleaning goes on")
}
