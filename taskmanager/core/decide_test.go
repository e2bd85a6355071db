package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

func TestOneMoreAttempt(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(chain)
	r.refuse()
	first := r.last().Task
	r.decided(core.ActRetry)
	r.elsewhere()
	r.want("step_1", "dispatching", "step_2", "pending")
	if r.last().Task == first || r.step("step_1").Attempts != 2 {
		t.Fatalf("%d attempts, task %s again", r.step("step_1").Attempts, first)
	}
	if q := r.asked(); q.State != core.EscDecided || q.Action != core.ActRetry {
		t.Fatalf("question %+v", q)
	}
	r.arrive(r.last().Task, "living_room")
	r.want("step_1", "completed")
}

// TestOneMoreAttemptWaitsForTheOldOne: two tasks never overlap on a resource, whatever was decided.
func TestOneMoreAttemptWaitsForTheOldOne(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.accept(task)
	r.pass(180_000) // it takes too long, and is being stopped
	r.want("step_1", "blocked/step_timeout")
	r.decided(core.ActRetry)
	r.idle()
	r.read("movement.is_moving", true)
	r.want("step_1", "blocked/step_timeout")
	if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); why[0].Kind != "stop" || why[0].Ref != string(task) {
		t.Errorf("why: %+v", why)
	}
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches beside a task that may still move", n)
	}
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.elsewhere()
	r.want("step_1", "dispatching")
}

// TestOneMoreAttemptIsNotWaitedForForEver: nothing confirms that the old task has ended.
func TestOneMoreAttemptIsNotWaitedForForEver(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.accept(r.last().Task)
	r.pass(180_000)
	for left := 2; left > 0; left-- {
		r.decided(core.ActRetry)
		r.pass(60_000)
		r.want("step_1", "blocked/step_timeout")
	}
	if n := len(r.sent(core.MsgEscalation)); n != 3 {
		t.Fatalf("%d questions", n)
	}
	r.decided(core.ActRetry)
	r.pass(60_000)
	r.want("step_1", "failed/step_timeout")
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
}

// TestOneMoreAttemptFindsTheEffect: what was asked about is true by now.
func TestOneMoreAttemptFindsTheEffect(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.refuse()
	for range 3 {
		r.read("movement.location", "kitchen")
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.read("movement.location", "kitchen")
	r.decided(core.ActRetry)
	r.want("step_1", "satisfied")
}

func TestWhatASubmittedTryReleasedWaitsForTheNext(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"submitted"},
	 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":5000}]`)
	r.accept(r.last().Task)
	r.want("step_2", "waiting")
	r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeFailed, Reason: "robot_fault"})
	r.pass(5_000)
	r.want("step_1", "blocked", "step_2", "queued")
	r.decided(core.ActRetry)
	r.idle()
	r.want("step_1", "dispatching", "step_2", "queued")
	r.accept(r.last().Task)
	r.want("step_1", "running", "step_2", "dispatching")
}

func TestCaseF16_ALateAnswerStartsNothing(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.refuse()
	r.undecided()
	if a := r.decide(core.ActRetry); a.Accepted || a.Reason != core.ReasonDecisionStale {
		t.Fatalf("%+v", a)
	}
	r.elsewhere()
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
}

// TestAnAnswerInTheMomentOfTheDeadline: the deadline was first, and both ends agree.
func TestAnAnswerInTheMomentOfTheDeadline(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.refuse()
	r.now.Boot = r.asked().Due
	if a := r.decide(core.ActRetry); a.Reason != core.ReasonDecisionStale {
		t.Fatalf("%+v", a)
	}
	r.want("step_1", "failed/executor_refused")
}

func TestDecisionsThatAreRefused(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(r *rig, ev *core.DecisionReceived)
		want   core.Reason
	}{
		{"of no question", func(_ *rig, ev *core.DecisionReceived) { ev.Escalation = "e-other" }, core.ReasonUnknownTarget},
		{"of an earlier store", func(_ *rig, ev *core.DecisionReceived) { ev.Epoch = "epoch-0" }, core.ReasonWrongEpoch},
		{"of another revision", func(_ *rig, ev *core.DecisionReceived) { ev.PlanRevision = 1 }, core.ReasonDecisionStale},
		{"what was not offered", func(_ *rig, ev *core.DecisionReceived) { ev.Action = core.ActSubstitute }, core.ReasonNotAllowed},
		{"a word that completes", func(_ *rig, ev *core.DecisionReceived) { ev.Action = "complete" }, core.ReasonNotAllowed},
		{"too late by its own time", func(r *rig, ev *core.DecisionReceived) { ev.ExpireMS = r.now.WallMS - 1 }, core.ReasonExpired},
		{"its age cannot be judged", func(r *rig, ev *core.DecisionReceived) { ev.ExpireMS, r.now.Trusted = r.now.WallMS+1, false }, core.ReasonClockUntrusted},
		{"from the future", func(r *rig, ev *core.DecisionReceived) { ev.IDMS = r.now.WallMS + 25*hourMS }, core.ReasonClockSkew},
		{"the key with other content", func(_ *rig, ev *core.DecisionReceived) {
			ev.Before, ev.HashThen = &core.Answer{Accepted: true}, "other"
		}, core.ReasonIDReused},
		{"a plan with a fault", func(_ *rig, ev *core.DecisionReceived) {
			ev.Action, ev.Plan = core.ActReplan, &core.Plan{}
			ev.Faults = []core.Fault{{Path: "plan.device_task_requests[0]", Reason: "unknown_method"}}
		}, "unknown_method"},
		{"a plan of another workflow", func(_ *rig, ev *core.DecisionReceived) {
			ev.Action, ev.Plan = core.ActReplan, &core.Plan{Workflow: "wf_2", ID: "pl_1", Revision: 1}
		}, core.ReasonIDReused},
		{"a plan of the same revision", func(r *rig, ev *core.DecisionReceived) {
			ev.Action, ev.Plan = core.ActReplan, r.wf("wf_1").Plan
		}, core.ReasonOutdatedRevision},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			r.refuse()
			q := r.asked()
			ev := core.DecisionReceived{Head: core.Head{Msg: "d-1", Hash: "h"}, Escalation: q.ID, Action: core.ActRetry}
			tc.change(r, &ev)
			c := r.do(ev)
			if a := c.Answers[0]; a.Accepted || a.Reason != tc.want {
				t.Fatalf("answer %+v, want %s", a, tc.want)
			}
			if len(c.Remember) != 0 {
				t.Error("it is remembered, and would bind the key against a better answer")
			}
			r.want("step_1", "blocked")
			if now := r.asked(); now.ID != q.ID || now.State != core.EscOpen || r.wf("wf_1").Left() != (core.Budget{Decisions: 2, Replans: 1}) {
				t.Fatalf("question %+v, left %+v", now, r.wf("wf_1").Left())
			}
			r.now.Trusted = true
			r.decided(core.ActRetry) // and then a good one
			r.elsewhere()
			r.want("step_1", "dispatching")
		})
	}
}

// TestADecisionThatIsRepeated gets the same answer, and changes nothing.
func TestADecisionThatIsRepeated(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.refuse()
	q := r.asked()
	ev := core.DecisionReceived{Head: core.Head{Msg: "d-1", Hash: "h"}, Escalation: q.ID, Action: core.ActRetry}
	c := r.do(ev)
	if len(c.Remember) != 1 || c.Remember[0].Key != "decision:"+string(q.ID) || c.Remember[0].Hash != "h" {
		t.Fatalf("remembered %+v", c.Remember)
	}
	r.elsewhere()
	r.refuse() // and the next question is another one
	ev.Msg, ev.Before, ev.HashThen = "d-2", &c.Remember[0].Answer, "h"
	if a := r.do(ev).Answers[0]; !a.Accepted || a.Ref != "d-2" {
		t.Fatalf("answer %+v", a)
	}
	r.want("step_1", "blocked")
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches", n)
	}
}

// replanned is a revision that leaves the move and goes on without it.
const replanned = `[{"cloud_step_id":"other","taskMethod":"setMoveTo","params":{"position":"안방"}},
 {"cloud_step_id":"air","taskMethod":"getAirQuality","depends_on":["other"]}]`

func (r *rig) replan(revision int64, head, requests string) core.Answer {
	r.t.Helper()
	q := r.asked()
	ev := core.DecisionReceived{Head: core.Head{Msg: "d-1", Hash: "h"}, Escalation: q.ID, Action: core.ActReplan, PlanRevision: q.Revision, Plan: r.revision(revision, head, requests).Plan}
	return *r.do(ev).Answers[0]
}

func TestS19_ReplanOnceThenNoMore(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"air","taskMethod":"getAirQuality","depends_on":["step_1"]}]`)
	r.refuse()
	if a := r.replan(1, `"cancel_steps":["step_1"]`, replanned); !a.Accepted {
		t.Fatalf("%+v", a)
	}
	r.elsewhere()
	r.want("step_1", "cancelled/superseded", "other", "dispatching", "air", "pending")
	if q := r.asked(); q.State != core.EscDecided || q.Action != core.ActReplan {
		t.Fatalf("question %+v", q)
	}
	r.refuse()
	q := r.asked()
	if q.Revision != 1 || q.Before != (core.Budget{Decisions: 2, Replans: 0}) {
		t.Fatalf("question %+v", q)
	}
	for _, a := range q.Allowed {
		if a == core.ActReplan || a == core.ActSubstitute {
			t.Errorf("%s is offered, and no replan is left", a)
		}
	}
	if a := r.replan(2, "", replanned); a.Reason != core.ReasonNotAllowed {
		t.Fatalf("%+v", a)
	}
	r.undecided()
	r.want("other", "failed/executor_refused", "air", "skipped/dependency_failed")
	if res := r.sent(core.MsgResult)[0].Result; res.Decisions != 2 || res.Replans != 1 || res.Status != core.WfFailed {
		t.Fatalf("result %+v", res)
	}
}

// TestARevisionGoesOverTheQuestion: its message is taken back; a step that stays as it is asks anew, about the new revision.
func TestARevisionGoesOverTheQuestion(t *testing.T) {
	const plan = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]`
	r := newRig(t)
	r.elsewhere()
	r.submit(plan)
	r.refuse()
	first, row := r.asked(), r.sent(core.MsgEscalation)[0]
	r.taken(1, "", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"air","taskMethod":"getAirQuality","depends_on":["step_1"]}]`)
	if w := r.ch.Withdrawn; len(w) != 1 || w[0] != row.Seq {
		t.Fatalf("withdrawn %v", w)
	}
	second := r.asked()
	if second.ID == first.ID || second.Revision != 1 || second.End != core.Failed || second.Reason != core.ReasonExecutorRefused {
		t.Fatalf("question %+v", second)
	}
	if a := r.do(core.DecisionReceived{Head: core.Head{Msg: "d-1"}, Escalation: first.ID, Action: core.ActRetry}).Answers[0]; a.Reason != core.ReasonSuperseded {
		t.Fatalf("%+v", a)
	}
	for rev := int64(2); rev < 5; rev++ { // revision after revision must not ask for ever
		r.do(r.revision(rev, "", plan))
	}
	r.want("step_1", "failed/executor_refused")
	if n := len(r.sent(core.MsgEscalation)); n != 3 {
		t.Fatalf("%d questions", n)
	}
}

func TestA18_TheWordOfADecisionProvesNothing(t *testing.T) {
	for _, action := range []core.Action{core.ActCancel, core.ActRetry, "complete", "continue"} {
		r := newRig(t)
		r.elsewhere()
		r.submit(toKitchen)
		r.accept(r.last().Task)
		r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeDone})
		r.pass(15_000)
		q := r.asked()
		r.do(core.DecisionReceived{Head: core.Head{Msg: "d-1"}, Escalation: q.ID, Action: action, Reason: "the robot has arrived, completed"})
		if st := r.step("step_1"); st.State == core.Completed || st.Effects[0].State == core.EffectObserved {
			t.Errorf("%s: the step is %s, its effect %s", action, st.State, st.Effects[0].State)
		}
	}
}

// TestTheRobotReturnsByDecision: the plan is given up with all its branches, and the catalog's own plan takes the robot home.
func TestTheRobotReturnsByDecision(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},
	 {"cloud_step_id":"clean","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]},
	 {"cloud_step_id":"air","taskMethod":"getAirQuality","depends_on":["step_1"]}]`)
	move, clean := r.dispatches()[0], r.dispatches()[1]
	if move.Method != "setMoveTo" {
		move, clean = clean, move
	}
	r.accept(clean.Task)
	r.do(core.TaskAnswered{Task: move.Task, Reason: core.ReasonExecutorRefused})
	r.want("step_1", "blocked", "clean", "running")
	r.decided(core.ActReturn)
	r.want("step_1", "failed/executor_refused", "clean", "cancelling/plan_aborted", "air", "cancelled/plan_aborted")
	if left := r.wf("wf_1").Left(); left != (core.Budget{Decisions: 2, Replans: 0}) {
		t.Errorf("left %+v", left)
	}
	r.do(core.TaskEnded{Task: clean.Task, Outcome: core.OutcomeCancelled})
	r.wantWorkflow(core.WfFailed)
	for range 10 { // whether it is there already is read first
		r.elsewhere()
		r.idle()
		r.pass(500)
	}
	for _, d := range r.dispatches() {
		if d.Method == "returnToStation" {
			return
		}
	}
	t.Fatalf("dispatched %+v", r.dispatches())
}
