package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// lateFor is a cleaning of a goal that is late just now, and content behind it.
func lateFor(t *testing.T, behind string) *rig {
	t.Helper()
	r := cleaningFor(t, longClean+","+behind, asks(goal(ownAir, generous, "full")))
	r.pass(expected)
	return r
}

// What waits for a late step is told first if the user says so: it waits no more for that step, whatever becomes of it.
func TestTheUserMayHearFirstWhatWaitsForALateStep(t *testing.T) {
	r := lateFor(t, afterIt)
	r.wantSupervised("STEP_LATE ask_user")
	r.wantAsk(core.AskOpen)
	r.want("clean", "running", "news", "pending")
	q := r.open()
	if a := r.says("m-1", q.ID, "maybe"); a.Accepted || a.Reason != core.ReasonNotAllowed {
		t.Errorf("an answer that was not offered: %+v", a)
	}
	if a := r.says("m-2", q.ID, "yes"); !a.Accepted {
		t.Fatalf("refused: %s", a.Reason)
	}
	r.want("clean", "running", "news", "running")
	if a := r.says("m-3", q.ID, "no"); a.Accepted || a.Reason != core.ReasonDecisionStale {
		t.Errorf("a second answer: %+v", a)
	}
	r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeFailed, Reason: core.ReasonExecutorFailed})
	if st := r.step("news"); st.State != core.Running {
		t.Errorf("the failure of what it did not wait for made it %s", st.State)
	}
}

// No, silence, or an end of the late step: all goes on as planned.
func TestALateStepIsWaitedForUnlessTheUserSaysOtherwise(t *testing.T) {
	for name, tc := range map[string]struct {
		then func(*rig, core.Ask)
		want core.AskState
	}{
		"no":           {func(r *rig, q core.Ask) { r.says("m-1", q.ID, "no") }, core.AskAnswered},
		"silence":      {func(r *rig, _ core.Ask) { r.pass(60_000) }, core.AskExpired},
		"it has ended": {func(r *rig, _ core.Ask) { r.cleaned(r.last().Task) }, core.AskWithdrawn},
		"it was cancelled": {func(r *rig, _ core.Ask) {
			r.do(core.ControlReceived{Head: core.Head{Msg: "m-c"}, Verb: "cancel", Scope: "all"})
		}, core.AskWithdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			r := lateFor(t, afterIt)
			q := r.open()
			tc.then(r, q)
			r.wantAsk(tc.want)
			if name == "no" || name == "silence" {
				r.want("clean", "running", "news", "pending")
				r.cleaned(r.last().Task)
				r.want("news", "running")
			}
			if a := r.says("m-9", q.ID, "yes"); a.Accepted {
				t.Error("it is answered after its end")
			}
		})
	}
}

// The question is one of the goal's questions, and is asked only about content that needs nothing of the late step.
func TestWhatNobodyIsAskedAboutALateStep(t *testing.T) {
	for name, tc := range map[string]struct{ news, experience string }{
		"no question left": {afterIt, goal(ownAir, generous, "full")},
		"shadow":           {afterIt, asks(goal(ownAir, generous, "shadow"))},
		"a device step":    {`{"cloud_step_id":"news","taskMethod":"getAirQuality","depends_on":["clean"]}`, asks(goal(ownAir, generous, "full"))},
		"a condition":      {`{"cloud_step_id":"news","execution_target":"cloud","skill":"fresh_information_brief","depends_on":["clean"],"when":{"ref":"ctx.battery.level","op":"ge","value":1}}`, asks(goal(ownAir, generous, "full"))},
	} {
		t.Run(name, func(t *testing.T) {
			r := cleaningFor(t, longClean+","+tc.news, tc.experience)
			r.pass(expected)
			if n := len(r.questions()); n != 0 {
				t.Errorf("%d questions", n)
			}
			r.want("clean", "running", "news", "pending")
		})
	}
}
