package core_test

import (
	"fmt"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

const (
	goTo    = `{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"}}`
	cleanIt = `{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20},"depends_on":["go"],"required_effects":["air_cleaning_completed"]}`
	ownGo   = `{"effect_id":"target_location_reached","step_id":"go","required":true}`
	ownAir  = `{"effect_id":"air_cleaning_completed","step_id":"clean","required":true}`
)

// goal writes an experience with these effects and this budget.
func goal(effects, budget, tier string) string {
	if budget != "" {
		budget = `,"budget":{` + budget + `,"fallback":"ask_or_stop","user_questions":0}`
	}
	return `"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"g_1","summary":"…","effects":[` + effects + `]` + budget + `,"tier":"` + tier + `"}`
}

// asks lets the goal ask its user once.
func asks(experience string) string {
	return strings.Replace(experience, `"user_questions":0`, `"user_questions":1`, 1)
}

const generous = `"max_decisions":3,"max_replans":1,"deadline_ms":7200000,"automatic_retries":1`

// aim hands in a plan with a goal; it has to be accepted.
func (r *rig) aim(requests, experience string) {
	r.t.Helper()
	if a := r.aimed(0, requests, experience); !a.Accepted {
		r.t.Fatalf("plan refused: %s %+v", a.Reason, a.Faults)
	}
}

func (r *rig) aimed(revision int, requests, experience string) core.Answer {
	r.t.Helper()
	head := strings.Replace(planHead, `"revision":0`, fmt.Sprintf(`"revision":%d`, revision), 1)
	return *r.do(r.planText(head + `[` + requests + `],` + experience + `}`)).Answers[0]
}

func (r *rig) wantGoal(want core.GoalStatus) {
	r.t.Helper()
	if got := r.wf("wf_1").GoalStatus(); got != want {
		r.t.Errorf("the goal is %s, want %s", got, want)
	}
}

// closures writes the effects of the goal as "go observed, clean bound".
func (r *rig) closures() string {
	var out []string
	for _, c := range r.wf("wf_1").Closures() {
		out = append(out, string(c.Step)+" "+string(c.State))
	}
	return strings.Join(out, ", ")
}

// A goal is completed by the evidence of its effects: not by an accepted plan, a submitted task, or an executor's word.
func TestAGoalIsCompletedByEvidenceAlone(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+","+cleanIt, goal(ownGo+","+ownAir, generous, "full"))
	r.wantGoal(core.GoalActive)
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeDone})
	r.wantGoal(core.GoalActive)
	if got := r.closures(); got != "go pending, clean bound" {
		t.Errorf("closures %q", got)
	}
	r.event("movement.arrived", r.last().Task, core.Values{"room_id": "living_room"})
	r.settleAt("movement.location", "living_room")
	r.idle()
	r.cleaned(r.last().Task)
	r.wantGoal(core.GoalCompleted)
	r.wantWorkflow(core.WfCompleted)
	results := r.sent(core.MsgResult)
	if len(results) != 1 || results[0].Result.Goal == nil || results[0].Result.Goal.Status != core.GoalCompleted || results[0].Result.Goal.Reason != "" {
		t.Fatalf("results %+v", results)
	}
}

// An effect that is not required decides nothing; a plan that goes on does not keep its goal open, and one that failed does not undo it.
func TestAGoalClosesOnWhatIsRequired(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+`,{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","depends_on":["go"],"on_failure":"continue"}`,
		goal(ownGo+`,{"effect_id":"air_cleaning_active","step_id":"clean","required":false}`, generous, "full"))
	r.arrive(r.last().Task, "living_room")
	r.wantGoal(core.GoalCompleted)
	r.wantWorkflow(core.WfActive)
	if n := len(r.sent(core.MsgResult)); n != 0 {
		t.Fatalf("%d results before the plan has ended", n)
	}
	r.refuse()
	r.wantWorkflow(core.WfPartial)
	r.wantGoal(core.GoalCompleted)
}

// Who cancels a step has waived its effect, and the goal closes on the rest; who cancels the plan has given up the goal.
func TestWhatAPersonCancelsIsWaived(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+`,{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","depends_on":["go"]}`,
		goal(ownGo+`,{"effect_id":"air_cleaning_active","step_id":"clean","required":true}`, generous, "full"))
	r.do(core.ControlReceived{Head: core.Head{Msg: "c-1"}, Verb: "cancel", Scope: "step", Target: "wf_1/clean", By: "user"})
	r.arrive(r.last().Task, "living_room")
	if got := r.closures(); got != "go observed, clean waived" {
		t.Errorf("closures %q", got)
	}
	r.wantGoal(core.GoalCompleted)

	r = newRig(t)
	r.elsewhere()
	r.aim(goTo+","+cleanIt, goal(ownGo+","+ownAir, generous, "full"))
	r.arrive(r.last().Task, "living_room")
	r.do(core.ControlReceived{Head: core.Head{Msg: "c-2"}, Verb: "cancel", Scope: "workflow", Target: "wf_1", By: "user"})
	r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeCancelled})
	r.wantGoal(core.GoalCancelled)
	if got := r.closures(); got != "go observed, clean waived" {
		t.Errorf("closures %q", got)
	}
}

// The states on the way: nothing begun, waiting as planned, held, blocked.
func TestTheStatesOfAGoal(t *testing.T) {
	r := newRig(t)
	r.read("movement.is_moving", false)
	r.aim(`{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"},"temporal_relation":"after_planned_step","delay_ms":5000}`, goal(ownGo, generous, "full"))
	r.wantGoal(core.GoalActivated)
	r.do(core.ControlReceived{Head: core.Head{Msg: "p-1"}, Verb: "pause", Scope: "workflow", Target: "wf_1", By: "user"})
	r.wantGoal(core.GoalSuspended)
	r.do(core.ControlReceived{Head: core.Head{Msg: "p-2"}, Verb: "resume", Scope: "workflow", Target: "wf_1", By: "user"})
	r.wantGoal(core.GoalActivated)
	r.elsewhere()
	r.pass(5000)
	r.elsewhere()
	r.wantGoal(core.GoalActive)
	r.refuse()
	r.wantGoal(core.GoalBlocked)

	r = newRig(t)
	r.elsewhere()
	r.aim(goTo+`,{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","depends_on":["go"],"temporal_relation":"after_planned_step","temporal_anchor_id":"go","delay_ms":60000}`,
		goal(ownGo+`,{"effect_id":"air_cleaning_active","step_id":"clean","required":true}`, generous, "full"))
	r.arrive(r.last().Task, "living_room")
	r.wantGoal(core.GoalWaiting)
}

// The budget is that of the goal, to the last decision. When none is left, and where nobody answers, the goal is ended safely: what runs is
// stopped, and nothing more begins.
func TestNobodyDecidesAndTheGoalEndsSafely(t *testing.T) {
	beside := goTo + `,{"cloud_step_id":"screen","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]},{"cloud_step_id":"then","taskMethod":"setScreen","params":{"on":false},"depends_on":["screen"]}`
	for name, tc := range map[string]struct {
		budget string
		asks   int
		reason core.Reason
	}{
		"nobody answers":      {generous, 1, core.ReasonNoDecision},
		"no decision is left": {`"max_decisions":0,"max_replans":0,"deadline_ms":7200000,"automatic_retries":0`, 0, core.ReasonBudgetExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.aim(beside, goal(ownGo, tc.budget, "full"))
			all := r.dispatches()
			if len(all) != 2 {
				t.Fatalf("%d dispatches, want 2", len(all))
			}
			r.do(core.TaskAnswered{Task: all[1].Task, Accepted: true, Instance: "run-1"})
			r.do(core.TaskAnswered{Task: all[0].Task, Reason: core.ReasonExecutorRefused})
			if n := len(r.sent(core.MsgEscalation)); n != tc.asks {
				t.Fatalf("%d questions, want %d", n, tc.asks)
			}
			if tc.asks > 0 {
				r.undecided()
			}
			r.want("go", "failed/executor_refused", "then", "cancelled/"+string(tc.reason), "screen", "cancelling/"+string(tc.reason))
			r.do(core.TaskEnded{Task: all[1].Task, Outcome: core.OutcomeCancelled})
			r.wantGoal(core.GoalSafeEnd)
			if wf := r.wf("wf_1"); wf.Reason != tc.reason || len(r.dispatches()) != 2 {
				t.Errorf("reason %s, %d dispatches", wf.Reason, len(r.dispatches()))
			}
		})
	}
}

// The deadline of the goal ends it the same way.
func TestTheDeadlineOfAGoalEndsItSafely(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, goal(ownGo, `"max_decisions":3,"max_replans":1,"deadline_ms":60000,"automatic_retries":1`, "full"))
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.pass(60_000)
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.wantGoal(core.GoalSafeEnd)
	r.wantWorkflow(core.WfExpired)
}

// Declared retries are counted over all steps of the goal.
func TestTheRetriesOfAGoalAreCounted(t *testing.T) {
	for allowed, want := range map[int]int{0: 1, 2: 3, 9: 5} {
		r := newRig(t)
		r.elsewhere()
		r.aim(`{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"},"retry":{"max_attempts":5,"backoff_ms":1000}}`,
			goal(ownGo, fmt.Sprintf(`"max_decisions":0,"max_replans":0,"deadline_ms":7200000,"automatic_retries":%d`, allowed), "full"))
		for range 8 {
			r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorBusy})
			r.elsewhere()
			r.pass(1000)
		}
		if n := len(r.dispatches()); n != want {
			t.Errorf("%d retries allowed: %d dispatches, want %d", allowed, n, want)
		}
	}
}

// In shadow a goal is written down, and nothing else: budget, deadline and fallback do nothing to the plan.
func TestShadowChangesNothing(t *testing.T) {
	run := func(experience string) *rig {
		r := newRig(t)
		r.elsewhere()
		if experience == "" {
			r.submit(`[` + goTo + `]`)
		} else {
			r.aim(goTo, experience)
		}
		r.refuse()
		r.undecided()
		return r
	}
	plain, shadow := run(""), run(goal(ownGo, `"max_decisions":0,"max_replans":0,"deadline_ms":60000,"automatic_retries":0`, "shadow"))
	if len(plain.log) != len(shadow.log) || len(plain.sent(core.MsgEscalation)) != len(shadow.sent(core.MsgEscalation)) {
		t.Errorf("%d outputs and %d questions, without the goal %d and %d", len(shadow.log), len(shadow.sent(core.MsgEscalation)), len(plain.log), len(plain.sent(core.MsgEscalation)))
	}
	shadow.want("go", "failed/executor_refused")
	shadow.wantWorkflow(core.WfFailed)
	shadow.wantGoal(core.GoalFailed)
}

// A revision keeps the goal, its budget and its tier, and may bind an effect to another step.
func TestARevisionKeepsTheGoal(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, goal(ownGo, `"max_decisions":1,"max_replans":1,"deadline_ms":7200000,"automatic_retries":0`, "full"))
	r.refuse()
	other := `{"cloud_step_id":"aside","taskMethod":"setMoveTo","params":{"position":"주방"}}`
	bound := `{"effect_id":"target_location_reached","step_id":"aside","required":true}`
	for name, experience := range map[string]string{
		"no goal":      `"experience":null`,
		"another goal": strings.Replace(goal(bound, generous, "full"), "g_1", "g_2", 1),
		"another id":   strings.Replace(goal(bound, generous, "full"), "exp_1", "exp_2", 1),
	} {
		if a := r.aimed(1, other, experience); a.Accepted || a.Reason != core.ReasonIDReused || a.Faults[0].Path != "experience" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := r.aimed(1, other, goal(bound, generous, "full")); !a.Accepted {
		t.Fatalf("refused: %+v", a)
	}
	r.elsewhere()
	if got := r.closures(); got != "aside pending" {
		t.Errorf("closures %q", got)
	}
	if left := r.wf("wf_1").Left(); left.Decisions != 0 {
		t.Errorf("%+v left: a revision bought more", left)
	}
	r.arrive(r.last().Task, "kitchen")
	r.wantGoal(core.GoalCompleted)
}

func TestARevisionDoesNotRaiseTheTier(t *testing.T) {
	r := newRig(t)
	screen := `{"cloud_step_id":"s","taskMethod":"setScreen","params":{"on":false},"temporal_relation":"after_planned_step","delay_ms":5000}`
	bound := `{"effect_id":"reduced_visual_stimulation","step_id":"s","required":true}`
	r.aim(screen, goal(bound, generous, "restricted"))
	if a := r.aimed(1, screen, goal(bound, generous, "full")); a.Reason != core.ReasonTierBlocked || a.Faults[0].Path != "experience.tier" {
		t.Errorf("raised: %+v", a)
	}
	if a := r.aimed(1, screen, goal(bound, generous, "shadow")); !a.Accepted {
		t.Errorf("lowered: %+v", a)
	}
}
