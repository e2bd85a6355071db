package core_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// wish sends a control from the cloud and gives the answer.
func (r *rig) wish(verb, scope, target string) core.Answer {
	r.t.Helper()
	r.wishes++
	return *r.do(core.ControlReceived{Head: core.Head{Msg: core.MessageID("wish-" + string(rune('a'+r.wishes)))}, Verb: verb, Scope: scope, Target: target, By: "cloud"}).Answers[0]
}

const (
	dim    = `{"cloud_step_id":"dim","taskMethod":"setScreen","params":{"on":false}}`
	ownDim = `{"effect_id":"reduced_visual_stimulation","step_id":"dim","required":true}`
	// first something that needs no more than restricted, then what moves the body.
	dimAndGo = dim + `,{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"},"depends_on":["dim"]}`
)

func (r *rig) dimmed() {
	r.t.Helper()
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.do(core.Observed{Event: "display.changed", Task: task, Source: "home", Data: core.Values{"on": false, "brightness": 0.0}})
	r.read("display.brightness", 0.0)
	r.want("dim", "completed")
}

// From afar a tier only goes down, it lasts, and what was begun goes on while nothing above it is begun any more: the goal falls back.
func TestALoweredTierBeginsNothingAboveIt(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(dimAndGo, goal(ownDim+","+ownGo, generous, "full"))
	if a := r.wish("set_tier", "all", "restricted"); !a.Accepted || a.State != "restricted" {
		t.Fatalf("%+v", a)
	}
	r.want("dim", "dispatching")
	r.elsewhere()
	r.dimmed()
	r.want("go", "failed/tier_blocked")
	r.wantGoal(core.GoalSafeEnd)
	if wf := r.wf("wf_1"); wf.Reason != core.ReasonTierBlocked || len(r.dispatches()) != 1 {
		t.Errorf("%s, %d dispatches", wf.Reason, len(r.dispatches()))
	}
	if a := r.wish("set_tier", "all", "full"); a.Accepted || a.Reason != core.ReasonTierBlocked || a.State != "restricted" {
		t.Errorf("raised from afar: %+v", a)
	}
	r.restart("run-1")
	if r.s.Device.TierCap != core.TierRestricted {
		t.Errorf("the tier is %q after a restart", r.s.Device.TierCap)
	}
	r.wantTakenIn(t, core.ReasonTierBlocked)
}

// wantTakenIn hands in a plan with a goal that moves the body, in a tier of its own choice and in the device's.
func (r *rig) wantTakenIn(t *testing.T, want core.Reason) {
	t.Helper()
	for _, tier := range []string{`,"tier":"full"`, ""} {
		body := strings.NewReplacer("wf_1", "wf_2", "pl_1", "pl_2").Replace(planHead) + `[` + goTo + `],` + strings.Replace(goal(ownGo, generous, "full"), `,"tier":"full"`, tier, 1) + `}`
		a := *r.do(r.planText(body)).Answers[0]
		if a.Accepted != (want == "" || want == core.ReasonExperienceDisabled) || a.Reason != want {
			t.Errorf("a plan with %q: %+v", tier, a)
		}
		if a.Accepted {
			return
		}
	}
}

// A plain plan is affected by no tier, and neither is one in shadow.
func TestAPlainPlanHasNoTier(t *testing.T) {
	for _, experience := range []string{"", goal(ownDim+","+ownGo, generous, "shadow")} {
		r := newRig(t)
		r.elsewhere()
		if experience == "" {
			r.submit(`[` + dimAndGo + `]`)
		} else {
			r.aim(dimAndGo, experience)
		}
		r.wish("set_tier", "all", "content_only")
		r.elsewhere()
		r.dimmed()
		r.want("go", "dispatching")
	}
}

// One experience can be lowered by itself; another one, and what comes later, is not.
func TestTheTierOfOneExperience(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(dimAndGo, goal(ownDim+","+ownGo, generous, "full"))
	for target, want := range map[string]core.Reason{"exp_9/restricted": core.ReasonUnknownTarget, "exp_1/restricted": ""} {
		if a := r.wish("set_tier", "experience", target); a.Reason != want {
			t.Errorf("%s: %+v", target, a)
		}
	}
	if a := r.wish("set_tier", "experience", "exp_1/full"); a.Reason != core.ReasonTierBlocked {
		t.Errorf("raised: %+v", a)
	}
	r.elsewhere()
	r.dimmed()
	r.want("go", "failed/tier_blocked")
	if a := r.wish("set_tier", "experience", "exp_1/shadow"); a.Reason != core.ReasonAlreadyTerminal {
		t.Errorf("an ended one: %+v", a)
	}
	r.elsewhere()
	r.wantTakenIn(t, "")
}

// Somebody at the robot sets the tier as they like, and lets experiences be evaluated again.
func TestTheTierIsRaisedAtTheRobot(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.wish("set_tier", "all", "restricted")
	r.wish("disable_experience", "all", "")
	r.wantTakenIn(t, core.ReasonExperienceDisabled)
	r.wish("cancel", "workflow", "wf_2")
	r.do(core.ControlReceived{Head: core.Head{Msg: "l-1", Local: true}, Verb: "set_tier", Scope: "all", Target: "full"})
	if d := r.s.Device; d.NoGoals || d.TierCap != core.TierFull {
		t.Fatalf("%+v", d)
	}
	r.aim(goTo, goal(ownGo, generous, "full"))
	if r.wf("wf_1").Plan.Goal == nil {
		t.Error("it was taken without its goal")
	}
}

// Disabled in the middle, a plan goes on with what a plain plan does: its goal is given up, and with it budget, deadline and fallback. A
// goal that was reached stays reached.
func TestADisabledExperienceGoesOnAsAPlainPlan(t *testing.T) {
	tight := strings.Replace(generous, `"deadline_ms":7200000`, `"deadline_ms":60000`, 1)
	run := func(experience, scope, target string) *rig {
		r := newRig(t)
		r.elsewhere()
		if experience == "" {
			r.submit(`[` + dimAndGo + `]`)
		} else {
			r.aim(dimAndGo, experience)
			if a := r.wish("disable_experience", scope, target); !a.Accepted || a.State != "experience_disabled" {
				t.Fatalf("%+v", a)
			}
			r.wantGoal(core.GoalCancelled)
		}
		r.restart("run-1")
		r.idle()
		r.elsewhere()
		r.do(core.TaskStatus{Task: r.last().Task, Known: core.KnownRunning, Instance: "run-1"})
		r.dimmed()
		r.pass(120_000)
		r.idle()
		r.elsewhere()
		r.refuse()
		r.undecided()
		return r
	}
	plain := run("", "", "")
	for scope, target := range map[string]string{"all": "", "experience": "exp_1"} {
		off := run(goal(ownDim+","+ownGo, tight, "full"), scope, target)
		if a, b := len(plain.log), len(off.log); a != b {
			t.Errorf("%d outputs, a plain plan has %d", b, a)
		}
		if a, b := len(plain.dispatches()), len(off.dispatches()); a != 2 || b != 2 {
			t.Errorf("%d dispatches, a plain plan has %d", b, a)
		}
		off.want("go", "failed/executor_refused")
		off.wantWorkflow(core.WfFailed)
		res := off.sent(core.MsgResult)
		if len(res) != 1 || res[0].Result.Goal.Status != core.GoalCancelled || res[0].Result.Goal.Reason != core.ReasonExperienceDisabled {
			t.Errorf("results %+v", res)
		}
	}

	r := newRig(t)
	r.elsewhere()
	r.aim(dimAndGo, goal(ownDim, generous, "full"))
	r.dimmed()
	r.wantGoal(core.GoalCompleted)
	r.wish("disable_experience", "all", "")
	r.wantGoal(core.GoalCompleted)
}

// What is wrong with a goal, or above the tier, does not matter where none is evaluated: the plan is taken, and told so.
func TestADisabledDeviceTakesThePlanWithoutItsGoal(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	if a := r.aimed(0, goTo, goal(strings.Replace(ownGo, "go", "nowhere", 1), generous, "full")); a.Accepted || a.Reason != "unknown_step" {
		t.Fatalf("a goal without a step: %+v", a)
	}
	r.wish("disable_experience", "all", "")
	a := r.aimed(0, goTo, goal(strings.Replace(ownGo, "go", "nowhere", 1), generous, "full"))
	if !a.Accepted || a.Reason != core.ReasonExperienceDisabled || r.wf("wf_1").Plan.Goal != nil {
		t.Fatalf("%+v", a)
	}
	if a := r.aimed(0, goTo, goal(strings.Replace(ownGo, "go", "nowhere", 1), generous, "full")); !a.Accepted || a.Reason != core.ReasonExperienceDisabled {
		t.Errorf("the same again: %+v", a)
	}
	if a := r.aimed(1, goTo+","+dim, goal(ownGo, generous, "full")); !a.Accepted || a.Reason != core.ReasonExperienceDisabled {
		t.Errorf("a revision of it: %+v", a)
	}
}

// An experience is held, let go and cancelled by its id; its hold goes with it, and is no business of other plans.
func TestAnExperienceIsHeldByItsID(t *testing.T) {
	r := newRig(t)
	r.read("movement.is_moving", false)
	r.aim(strings.Replace(dim, `"taskMethod"`, `"temporal_relation":"after_planned_step","delay_ms":1000,"taskMethod"`, 1), goal(ownDim, generous, "full"))
	if a := r.wish("pause", "experience", "exp_1"); !a.Accepted || len(a.Holders) != 1 || a.Holders[0] != "cloud:experience:exp_1" {
		t.Fatalf("%+v", a)
	}
	r.wantGoal(core.GoalSuspended)
	r.pass(1000)
	r.idle()
	r.want("dim", "queued/held")
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"quiet","taskMethod":"setMannerMode","params":{"on":true}}]`)
	r.read("mode.manner", false)
	if len(r.dispatches()) != 1 {
		t.Errorf("%d dispatches: another plan is held too", len(r.dispatches()))
	}
	if a := r.wish("resume", "experience", "exp_1"); !a.Accepted || len(a.Holders) != 0 {
		t.Fatalf("%+v", a)
	}
	r.idle()
	r.want("dim", "dispatching")
	r.wish("pause", "experience", "exp_1")
	if a := r.wish("cancel", "experience", "exp_1"); !a.Accepted || a.Workflow != "wf_1" {
		t.Fatalf("%+v", a)
	}
	r.do(core.TaskEnded{Task: r.dispatches()[1].Task, Outcome: core.OutcomeCancelled})
	r.wantGoal(core.GoalCancelled)
	if len(r.s.Device.Holds) != 0 {
		t.Errorf("holds %+v", r.s.Device.Holds)
	}
	for _, verb := range []string{"pause", "resume", "cancel"} {
		if a := r.wish(verb, "experience", "exp_9"); a.Accepted || a.Reason != core.ReasonUnknownTarget {
			t.Errorf("%s of an unknown one: %+v", verb, a)
		}
	}
}
