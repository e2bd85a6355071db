package core_test

import (
	"slices"
	"testing"

	"deviceagent/taskmanager/core"
)

// goalTold lists what those who watch were told of the goal of a plan.
func goalTold(changes ...core.Change) (out []string) {
	for _, c := range changes {
		for _, mv := range c.Moves {
			if mv.Goal != "" {
				out = append(out, mv.To)
			}
		}
	}
	return out
}

const (
	cleanFixed = `{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20,"mode":"fixed"}}`
	ownActive  = `{"effect_id":"air_cleaning_active","step_id":"clean","required":true}`
	broke      = `"max_decisions":0,"max_replans":0,"deadline_ms":60000,"automatic_retries":0`
)

// Where nothing is left of a plan but the step that fails, its goal has one end all the same.
func TestAGoalHasOneEnd(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, goal(ownGo, broke, "full"))
	c := r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
	if told := goalTold(c); !slices.Equal(told, []string{"safely_ended"}) {
		t.Errorf("the goal was told to be %v, want one end", told)
	}
	ends := 0
	for _, mv := range c.Moves {
		if mv.Step == "" && mv.Goal == "" && core.WorkflowState(mv.To).Terminal() {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the plan was told to have ended %d times", ends)
	}
	r.want("go", "failed/executor_refused")
	r.wantWorkflow(core.WfCancelled)
}

// A completed goal stays completed when somebody cancels what is left of its plan.
func TestACompletedGoalStaysSo(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+`,{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20},"required_effects":["air_cleaning_completed"]},{"cloud_step_id":"later","taskMethod":"setScreen","params":{"on":false},"depends_on":["clean"]}`,
		goal(ownGo+`,{"effect_id":"reduced_visual_stimulation","step_id":"later","required":true}`, generous, "full"))
	all := r.dispatches()
	r.do(core.ControlReceived{Head: core.Head{Msg: "c-1"}, Verb: "cancel", Scope: "step", Target: "wf_1/later", By: "user"})
	r.arrive(all[0].Task, "living_room")
	r.wantGoal(core.GoalCompleted)
	r.wantWorkflow(core.WfActive)
	r.do(core.ControlReceived{Head: core.Head{Msg: "c-2"}, Verb: "cancel", Scope: "workflow", Target: "wf_1", By: "user"})
	r.do(core.TaskEnded{Task: all[1].Task, Outcome: core.OutcomeCancelled})
	r.wantWorkflow(core.WfCancelled)
	r.wantGoal(core.GoalCompleted)
}

// An effect that is to be kept completes nothing when it is seen: neither while its step runs, nor before its time is over. One that is not
// is told at once, though its step goes on.
func TestAGoalIsToldWhenItsLastEffectIsSeen(t *testing.T) {
	until := `,"until":"then","kind":"maintain"`
	for name, tc := range map[string]struct {
		keep string
		want core.GoalStatus
	}{"seen": {"", core.GoalCompleted}, "to be kept": {until, core.GoalActive}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.aim(`{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20},"required_effects":[{"effect_id":"air_cleaning_active"`+tc.keep+`},"air_cleaning_completed"]},
				{"cloud_step_id":"then","taskMethod":"setScreen","params":{"on":false},"depends_on":["clean"]}`, goal(ownActive, generous, "full"))
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			r.event("cleaning.started", task, nil)
			r.want("clean", "running")
			if r.wantGoal(tc.want); r.wf("wf_1").Goal != tc.want {
				t.Errorf("those who watch were told %s", r.wf("wf_1").Goal)
			}
		})
	}
}

// A safe end waits for what a step has left running that has ended, and is none where that is not seen to stop.
func TestASafeEndIsAtRest(t *testing.T) {
	for name, tc := range map[string]struct {
		stops bool
		want  core.GoalStatus
	}{"it stops": {true, core.GoalSafeEnd}, "nobody knows": {false, core.GoalFailed}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.aim(cleanFixed+`,{"cloud_step_id":"off","taskMethod":"setScreen","params":{"on":false},"depends_on":["clean"],"temporal_relation":"after_planned_step","temporal_anchor_id":"clean","delay_ms":50000}`,
				goal(ownActive+`,{"effect_id":"reduced_visual_stimulation","step_id":"off","required":true}`, `"max_decisions":0,"max_replans":0,"deadline_ms":1210000,"automatic_retries":0`, "full"))
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			r.event("cleaning.started", task, nil)
			r.want("clean", "completed")
			r.do(core.ControlReceived{Head: core.Head{Msg: "p-1"}, Verb: "pause", Scope: "step", Target: "wf_1/off", By: "user"})
			r.pass(1_210_000)
			r.want("off", "cancelled/deadline_exceeded")
			if r.wf("wf_1").State.Terminal() || count[core.Stop](r) != 1 {
				t.Fatalf("the plan is %s after %d stops, and cleans", r.wf("wf_1").State, count[core.Stop](r))
			}
			if tc.stops {
				r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
			} else {
				r.pass(30_000)
			}
			r.wantGoal(tc.want)
			r.wantWorkflow(core.WfExpired)
		})
	}
}

// Whoever cancels a step has given up its effect, also where nothing confirms its stop.
func TestAnUnconfirmedCancelWaivesTheEffect(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, goal(ownGo, generous, "full"))
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.do(core.ControlReceived{Head: core.Head{Msg: "c-1"}, Verb: "cancel", Scope: "step", Target: "wf_1/go", By: "user"})
	r.pass(30_000)
	r.want("go", "cancelled/cancel_unconfirmed")
	if got := r.closures(); got != "go waived" {
		t.Errorf("closures %q", got)
	}
	r.wantGoal(core.GoalCancelled)
}

// Two questions of a plan are open at once, and one more try is left: whoever is answered first has it.
func TestTwoQuestionsShareTheRetriesOfAGoal(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+`,{"cloud_step_id":"dark","taskMethod":"setScreen","params":{"on":false}}`, goal(ownGo, `"max_decisions":3,"max_replans":0,"deadline_ms":7200000,"automatic_retries":1`, "full"))
	for _, d := range r.dispatches() {
		r.do(core.TaskAnswered{Task: d.Task, Reason: core.ReasonExecutorRefused})
	}
	asked := r.sent(core.MsgEscalation)
	if len(asked) != 2 {
		t.Fatalf("%d questions, want 2", len(asked))
	}
	for i, want := range []core.Reason{core.ReasonNone, core.ReasonNotAllowed} {
		q := asked[i].Escalation
		if !slices.Contains(q.Allowed, core.ActRetry) {
			t.Fatalf("question %d offers %v", i, q.Allowed)
		}
		a := r.do(core.DecisionReceived{Head: core.Head{Msg: core.MessageID(q.ID)}, Escalation: q.ID, Action: core.ActRetry, PlanRevision: q.Revision}).Answers[0]
		if a.Reason != want {
			t.Errorf("answer %d: %q, want %q", i, a.Reason, want)
		}
	}
}
