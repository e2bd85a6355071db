package core_test

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Every cell ends with a decision that is always possible; what is normal goes on by itself, in every state, and opens nothing.
func TestEveryObservationIsDecidedInEveryState(t *testing.T) {
	always := []core.Decision{core.DecideContinue, core.DecidePause, core.DecideResume, core.DecideComplete, core.DecideCancel}
	quiet := []core.Observation{core.ObsQueued, core.ObsRunning, core.ObsProgress, core.ObsStepCompleted, core.ObsHeartbeat, core.ObsDuplicate}
	mayAsk := []core.Observation{core.ObsFailed, core.ObsBlocked, core.ObsTimeout, core.ObsNeedsUser, core.ObsStepLate, core.ObsContradicted, core.ObsExpired,
		core.ObsUserChange, core.ObsContext, core.ObsContentEnded, core.ObsContentSilent, core.ObsScheduleDue}
	states := []core.GoalStatus{"", core.GoalActivated, core.GoalActive, core.GoalWaiting, core.GoalSuspended, core.GoalBlocked, core.GoalCompleted, core.GoalFailed, core.GoalCancelled, core.GoalSafeEnd}
	for _, r := range core.Rulings {
		for _, goal := range states {
			cell := core.Ruled(r.On, goal)
			if len(cell) == 0 || !slices.Contains(always, cell[len(cell)-1]) {
				t.Errorf("%s, goal %q: %v", r.On, goal, cell)
			}
			if slices.Contains(quiet, r.On) && !slices.Equal(cell, []core.Decision{core.DecideContinue}) {
				t.Errorf("%s, goal %q: %v, and it is normal", r.On, goal, cell)
			}
			if goal == "" && (slices.Contains(cell, core.DecideAsk) || slices.Contains(cell, core.DecideComplete)) {
				t.Errorf("%s of a plain plan: %v", r.On, cell)
			}
		}
		if r.MayAsk() != slices.Contains(mayAsk, r.On) {
			t.Errorf("%s may open the gate: %v", r.On, r.MayAsk())
		}
	}
	if want := len(quiet) + len(mayAsk) + 6; len(core.Rulings) != want {
		t.Errorf("%d rows, want %d", len(core.Rulings), want)
	}
}

// Each reason with which a step may fail is an observation, and each has a row.
func TestEveryReasonIsObserved(t *testing.T) {
	for _, r := range core.Reasons {
		core.Ruled(core.ObservedBy(r.Code), "") // it panics where there is none
	}
	if on := core.ObservedBy("lidar_dirty"); on != core.ObsFailed {
		t.Errorf("a word of an executor is %s", on)
	}
}

// supervised gives what was decided in the last batch, as "FAILED replan_cloud", "BLOCKED cancel not_required".
func (r *rig) supervised() string {
	var out []string
	for _, s := range r.ch.Decided {
		out = append(out, strings.TrimSpace(string(s.On)+" "+string(s.Decision)+" "+string(s.Refused)))
	}
	return strings.Join(out, ", ")
}

func (r *rig) wantSupervised(want string) {
	r.t.Helper()
	if got := r.supervised(); got != want {
		r.t.Errorf("decided %q, want %q", got, want)
	}
}

// The first conjunct that is not met is named, each by itself; and where the gate is closed the goal falls back, unless a person or the
// plan has said what is to become of the step.
func TestTheGateNamesWhatKeepsItClosed(t *testing.T) {
	refused := func(reason core.Reason) func(*rig) {
		return func(r *rig) { r.do(core.TaskAnswered{Task: r.last().Task, Reason: reason}) }
	}
	none := strings.Replace(generous, `"max_decisions":3,"max_replans":1`, `"max_decisions":0,"max_replans":0`, 1)
	for name, tc := range map[string]struct {
		step, budget string
		when         func(*rig)
		want         string
		goal         core.GoalStatus
	}{
		"open":     {goTo, generous, refused(core.ReasonExecutorRefused), "FAILED replan_cloud", core.GoalBlocked},
		"policy":   {strings.Replace(goTo, `"cloud`, `"on_failure":"continue","cloud`, 1), generous, refused(core.ReasonExecutorRefused), "FAILED cancel policy", core.GoalFailed},
		"required": {goTo, generous, refused(core.ReasonDeadlineTooShort), "FAILED cancel not_required, DECISION_MISSED cancel", core.GoalSafeEnd},
		"safety": {goTo, generous, func(r *rig) {
			r.do(core.Observed{Event: "robot.lifted", Source: "home", Class: catalog.Independent}, core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
		}, "PAUSED pause, FAILED cancel safety_prohibited, DECISION_MISSED cancel", core.GoalSafeEnd},
		"consent": {goTo, generous, refused(core.ReasonConsentRequired), "NEEDS_USER_INPUT cancel consent_prohibited, DECISION_MISSED cancel", core.GoalSafeEnd},
		"budget":  {goTo, none, refused(core.ReasonExecutorRefused), "FAILED cancel budget_exhausted, DECISION_MISSED cancel", core.GoalSafeEnd},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.aim(tc.step, goal(ownGo, tc.budget, "full"))
			tc.when(r)
			r.wantSupervised(tc.want)
			r.wantGoal(tc.goal)
			closed := r.wf("wf_1").Steps[0].Fate
			if name == "open" {
				return
			}
			why := core.Why(r.s, r.now, r.wf("wf_1"), 0)
			if closed == nil || !slices.ContainsFunc(why, func(f core.Fact) bool { return f.Kind == "gate" && f.Ref == string(closed.Refused) }) {
				t.Errorf("why: %+v", why)
			}
		})
	}
}

// What a step reads may be too old to decide on. It is read anew first, for at most its hold_ms; then the question goes out and says how
// old it is, and one more attempt is not offered: nothing is repeated on stale context.
func TestNobodyDecidesOnStaleContext(t *testing.T) {
	offers := func(r *rig, a core.Action) bool { return slices.Contains(r.asked().Allowed, a) }
	late := func(experience string) *rig {
		r := newRig(t)
		r.elsewhere()
		if experience == "" {
			r.submit(`[` + goTo + `]`)
		} else {
			r.aim(goTo, experience)
		}
		r.pass(2_900) // the place is known for two seconds
		r.refuse()
		return r
	}
	if r := late(""); len(r.sent(core.MsgEscalation)) != 1 || !offers(r, core.ActRetry) {
		t.Error("a plain plan waits for what it reads")
	}
	r := late(goal(ownGo, generous, "full"))
	if n := len(r.sent(core.MsgEscalation)); n != 0 {
		t.Fatalf("%d questions on what was true once", n)
	}
	r.want("go", "blocked/executor_refused")
	r.wantGoal(core.GoalBlocked)
	if n := count[core.Read](r); n == 0 {
		t.Fatal("nothing was read anew")
	}
	why := core.Why(r.s, r.now, r.wf("wf_1"), 0)
	if why[0].Kind != "context" || !strings.Contains(why[0].Text, "movement.location") {
		t.Errorf("why: %+v", why)
	}
	r.elsewhere()
	if n := len(r.sent(core.MsgEscalation)); n != 1 || !offers(r, core.ActRetry) {
		t.Fatalf("%d questions once it is read, offered %v", n, r.asked().Allowed)
	}

	r = late(goal(ownGo, generous, "full"))
	for range 59 {
		r.pass(1000)
	}
	if n := len(r.sent(core.MsgEscalation)); n != 0 {
		t.Fatalf("%d questions before its hold_ms was over", n)
	}
	r.pass(1000)
	sent := r.sent(core.MsgEscalation)
	if len(sent) != 1 || offers(r, core.ActRetry) {
		t.Fatalf("%d questions, offered %v", len(sent), r.asked().Allowed)
	}
	if !slices.ContainsFunc(sent[0].Escalation.Context, func(s core.Seen) bool { return s.Availability == "stale" && s.AgeMS > 60_000 }) {
		t.Errorf("the question does not say how old it is: %+v", sent[0].Escalation.Context)
	}
}

// The wait for what is read anew is durable, and outlives a restart.
func TestReadingAnewSurvivesARestart(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, goal(ownGo, generous, "full"))
	r.pass(2_900)
	r.refuse()
	r.restart("run-1")
	r.want("go", "blocked/executor_refused")
	r.idle()
	r.elsewhere()
	if n := len(r.sent(core.MsgEscalation)); n != 1 {
		t.Fatalf("%d questions", n)
	}
}

// What is offered comes from the catalog and the budget, and never holds what only proof can say.
func TestWhatIsOfferedForAGoal(t *testing.T) {
	for name, tc := range map[string]struct {
		step, own, budget string
		want              string
	}{
		"a move":                     {goTo, ownGo, generous, "retry_local replan_cloud return_to_station cancel"},
		"no retry is left":           {goTo, ownGo, strings.Replace(generous, `"automatic_retries":1`, `"automatic_retries":0`, 1), "replan_cloud return_to_station cancel"},
		"no replan is left":          {goTo, ownGo, strings.Replace(generous, `"max_replans":1`, `"max_replans":0`, 1), "retry_local cancel"},
		"another brings it about":    {`{"cloud_step_id":"go","taskMethod":"setVolume","params":{"level":10}}`, `{"effect_id":"quiet_environment","step_id":"go","required":true}`, generous, "retry_local substitute replan_cloud cancel"},
		"nothing that moves is left": {`{"cloud_step_id":"go","taskMethod":"setScreen","params":{"on":false}}`, `{"effect_id":"reduced_visual_stimulation","step_id":"go","required":true}`, generous, "retry_local replan_cloud cancel"},
		"it may not be sent again":   {`{"cloud_step_id":"go","taskMethod":"startVitalSign"}`, `{"effect_id":"vital_interaction_ended","step_id":"go","required":true}`, generous, "replan_cloud cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.event("consent.granted", "", core.Values{"consent": "vital"})
			r.aim(tc.step, goal(tc.own, tc.budget, "full"))
			r.read("mode.manner", false)
			r.pass(3000) // what is not known by then is dispatched
			r.idle()
			r.elsewhere()
			r.read("mode.manner", false)
			r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
			r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeFailed, Reason: "robot_fault"})
			var got []string
			for _, a := range r.asked().Allowed {
				got = append(got, string(a))
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("offered %v, want %s", got, tc.want)
			}
		})
	}
}

// A retry that was decided is one of the goal's: with the next question none is offered any more.
func TestADecidedRetryIsCounted(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, goal(ownGo, generous, "full"))
	r.refuse()
	r.decided(core.ActRetry)
	r.elsewhere()
	r.refuse()
	if slices.Contains(r.asked().Allowed, core.ActRetry) {
		t.Errorf("offered %v, and the one retry is spent", r.asked().Allowed)
	}
}

// Holding and letting go, and the end, are decisions too; what goes on as planned is none.
func TestWhatGoesOnIsNoDecision(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, goal(ownGo, generous, "full"))
	r.wantSupervised("")
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"}, core.TaskProgress{Task: r.last().Task})
	r.wantSupervised("")
	r.do(core.ControlReceived{Head: core.Head{Msg: "p-1"}, Verb: "pause", Scope: "workflow", Target: "wf_1", By: "user"})
	r.wantSupervised("PAUSED pause")
	r.do(core.ControlReceived{Head: core.Head{Msg: "p-2"}, Verb: "resume", Scope: "workflow", Target: "wf_1", By: "user"})
	r.wantSupervised("RESUMED resume")
	task := r.last().Task
	r.event("movement.arrived", task, core.Values{"room_id": "living_room"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.settleAt("movement.location", "living_room")
	r.wantGoal(core.GoalCompleted)
	r.wantSupervised("ALL_EFFECTS_OBSERVED complete")
}
