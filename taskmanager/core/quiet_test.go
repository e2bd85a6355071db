package core_test

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

const (
	loud    = `{"cloud_step_id":"v","taskMethod":"setVolume","params":{"level":60}}`
	ownBare = `{"effect_id":"quiet_environment","step_id":"q","required":true}`
	// what makes no noise, and what does, beside it
	softAndLoud = `{"cloud_step_id":"q","taskMethod":"setVolume","params":{"level":10}},{"cloud_step_id":"v","taskMethod":"setVolume","params":{"level":60},"depends_on":["q"],"on_failure":"escalate"}`
)

// minding writes a goal that respects quiet hours.
func minding(effects string) string {
	return strings.Replace(goal(effects, generous, "full"), `"tier"`, `"constraints":["safety_policy_first","user_can_cancel_anytime","respect_quiet_hours"],"tier"`, 1)
}

// quieted brings the plan to where its loud step is next.
func quieted(t *testing.T, experience string, before ...func(*rig)) *rig {
	t.Helper()
	r := newRig(t)
	for _, see := range before {
		see(r)
	}
	if experience == "" {
		r.submit(`[` + softAndLoud + `]`)
	} else {
		r.aim(softAndLoud, experience)
	}
	r.read("mode.manner", false)
	r.pass(3000) // whether it is quiet already stays unknown
	r.idle()
	return r
}

func (r *rig) softened() {
	r.t.Helper()
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.do(core.Observed{Event: "sound.changed", Task: task, Source: "home", Data: core.Values{"level": 10.0, "muted": false}})
	r.read("sound.volume", 10.0)
	r.want("q", "completed")
}

// In quiet hours what makes noise is held back, what makes none is not; when they end it goes on. A plain plan, and a goal that does not
// ask for it, know no quiet hours.
func TestWhatMakesNoiseWaitsInQuietHours(t *testing.T) {
	for name, experience := range map[string]string{"plain": "", "not asked for": goal(ownBare, generous, "full"), "shadow": strings.Replace(minding(ownBare), `"full"`, `"shadow"`, 1)} {
		r := quieted(t, experience)
		r.read("quiet_hours", true)
		r.softened()
		r.idle()
		if st := r.step("v").State; st != core.Queued && st != core.Dispatching {
			t.Errorf("%s: the loud step is %s", name, st)
		}
	}
	r := quieted(t, minding(ownBare))
	r.read("quiet_hours", true)
	r.softened()
	r.want("v", "blocked/policy_blocked")
	why := core.Why(r.s, r.now, r.wf("wf_1"), 1)
	if !slices.ContainsFunc(why, func(f core.Fact) bool { return f.Ref == "ctx.quiet_hours" && strings.Contains(f.Text, "quiet hours") }) {
		t.Errorf("why: %+v", why)
	}
	r.pass(30_000)
	r.read("quiet_hours", true)
	r.want("v", "blocked/policy_blocked")
	before := count[core.Read](r)
	r.pass(500)
	if count[core.Read](r) == before {
		t.Error("nobody looks whether they have ended")
	}
	r.read("quiet_hours", false)
	r.idle()
	r.want("v", "dispatching")
}

// That nobody knows is never taken for no. When its hold_ms is over the step is exhausted like any other.
func TestUnknownQuietHoursAreNotNone(t *testing.T) {
	for want, see := range map[string]func(*rig){
		"blocked/context_missing": func(*rig) {},
		"blocked/context_stale":   func(r *rig) { r.read("quiet_hours", false); r.pass(61_000); r.idle() },
	} {
		r := quieted(t, minding(ownBare), see)
		r.softened()
		r.want("v", want)
		if n := count[core.Read](r); n == 0 {
			t.Error("nothing was read")
		}
		r.pass(59_000)
		r.read("quiet_hours", true)
		r.want("v", "blocked/policy_blocked")
		r.pass(1_000)
		r.idle() // what it reads beside that is read anew first
		if q := r.asked(); q.Step != "v" || q.Reason != core.ReasonPolicyBlocked {
			t.Errorf("asked %+v", q)
		}
	}
}

// The other constraints hold for every plan: people stop it wherever it stands, and what protects the robot goes first.
func TestWhatHoldsForEveryGoal(t *testing.T) {
	at := map[string]func(*rig){
		"kept quiet":  func(r *rig) { r.read("quiet_hours", true); r.softened(); r.want("v", "blocked/policy_blocked") },
		"under way":   func(*rig) {},
		"asked about": func(r *rig) { r.refuse(); r.want("q", "blocked/executor_refused") },
	}
	for name, reach := range at {
		t.Run(name, func(t *testing.T) {
			r := quieted(t, minding(ownBare))
			reach(r)
			n := len(r.dispatches())
			if a := r.wish("cancel", "workflow", "wf_1"); !a.Accepted {
				t.Fatalf("%+v", a)
			}
			r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeCancelled})
			r.read("quiet_hours", false)
			r.pass(120_000)
			r.wantWorkflow(core.WfCancelled)
			if len(r.dispatches()) != n {
				t.Errorf("%d dispatches after the cancel", len(r.dispatches())-n)
			}
		})
	}
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, strings.Replace(minding(ownGo), "respect_quiet_hours", "safety_policy_first", 1))
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.do(core.Observed{Event: "robot.lifted", Source: "home", Class: "independent"})
	if count[core.Stop](r)+count[core.Pause](r) == 0 {
		t.Error("it drives on in somebody's hands")
	}
	r.wantGoal(core.GoalSuspended)
}
