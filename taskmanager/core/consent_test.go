package core_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

const (
	stopAir  = `{"cloud_step_id":"hush","taskMethod":"stopCleaning"}`
	ownHush  = `{"effect_id":"air_cleaning_stopped","step_id":"hush","required":true}`
	vital    = `{"cloud_step_id":"vital","taskMethod":"startVitalSign"}`
	ownVital = `{"effect_id":"vital_interaction_ended","step_id":"vital","required":true}`
)

// asking adds to an experience that the cleaning is not ended without a person's word.
func asking(experience string) string {
	return strings.Replace(experience, `"tier"`, `"consent":{"pause_cleaning":"ask"},"tier"`, 1)
}

// whileCleaning is a home where a plain plan cleans, and then a plan with a goal wants that stopped.
func whileCleaning(t *testing.T, experience string) *rig {
	r := newRig(t)
	r.offer("wf_0", "pl_0", `[{"cloud_step_id":"air","taskMethod":"startBasicAirClear"}]`)
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.event("cleaning.started", r.last().Task, nil)
	r.read("cleaning.is_running", true)
	if st := r.stepOf("wf_0", "air"); st.State != core.Completed {
		t.Fatalf("cleaning is %s", st.State)
	}
	r.aim(stopAir, experience)
	return r
}

func (r *rig) consents() string {
	var out []string
	for _, c := range r.s.Device.Consents {
		out = append(out, c.Key+" "+c.Scope+" "+string(c.State)+" "+c.By)
	}
	return strings.Join(out, ", ")
}

// A step that would end the cleaning of another plan waits for a yes, and for nothing else.
func TestConsentIsAskedBeforeTheDispatch(t *testing.T) {
	r := whileCleaning(t, asking(asks(goal(ownHush, generous, "restricted"))))
	r.want("hush", "blocked/consent_required")
	q := r.open()
	if q.Kind != core.AskConsent || q.Consent != "pause_cleaning" || options(q) != "yes no" || q.Text != "지금 하고 있는 공기 청정을 멈춰도 될까요?" {
		t.Errorf("question %+v", q)
	}
	if len(r.dispatches()) != 1 || r.wf("wf_1").Left().Questions != 1 || r.consents() != "pause_cleaning exp_1 asked device" {
		t.Errorf("%d dispatches, left %+v, %s", len(r.dispatches()), r.wf("wf_1").Left(), r.consents())
	}
	if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); why[0].Kind != "question" {
		t.Errorf("why %+v", why)
	}
	r.told("네", nil)
	if r.last().Method != "stopCleaning" || r.consents() != "pause_cleaning exp_1 granted user" {
		t.Errorf("dispatched %s, %s", r.last().Method, r.consents())
	}
	if c := r.s.Device.Consents[0]; c.Expires != r.now.Boot+24*hourMS || c.Question != q.ID {
		t.Errorf("record %+v", c)
	}
}

// The urgent lane of stops does not run ahead of the question.
func TestAStopThatNeedsConsentIsNotUrgent(t *testing.T) {
	r := whileCleaning(t, asking(asks(goal(ownHush, generous, "restricted"))))
	next := strings.NewReplacer("wf_1", "wf_2", "pl_1", "pl_2").Replace(planHead) + `[` + stopAir + `],` + asking(asks(goal(ownHush, generous, "restricted"))) + `}`
	if out := core.UrgentStops(r.s, r.now, r.planText(next)); len(out) != 0 {
		t.Errorf("urgent %v", out)
	}
	plain := strings.NewReplacer("wf_1", "wf_2", "pl_1", "pl_2").Replace(planHead) + `[` + stopAir + `]}`
	if out := core.UrgentStops(r.s, r.now, r.planText(plain)); len(out) != 1 {
		t.Errorf("urgent of a plain plan %v", out)
	}
}

func TestNoConsentEndsTheStep(t *testing.T) {
	for name, tc := range map[string]struct {
		play  func(r *rig)
		end   string
		state string
		goal  core.GoalStatus
	}{
		"no":               {func(r *rig) { r.told("no", nil) }, "failed/consent_denied", "exp_1 denied user", core.GoalFailed},
		"silence":          {func(r *rig) { r.pass(60_000) }, "failed/consent_required", "exp_1 expired nobody", core.GoalSafeEnd},
		"denied elsewhere": {func(r *rig) { r.event("consent.denied", "", core.Values{"consent": "pause_cleaning"}) }, "failed/consent_denied", "exp_1 denied user", core.GoalFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := whileCleaning(t, asking(asks(goal(ownHush, generous, "restricted"))))
			tc.play(r)
			r.want("hush", tc.end)
			if got := r.consents(); !strings.HasSuffix(got, "pause_cleaning "+tc.state) {
				t.Errorf("records %s", got)
			}
			if len(r.dispatches()) != 1 || len(r.sent(core.MsgEscalation)) != 0 {
				t.Errorf("%d dispatches, %d escalations", len(r.dispatches()), len(r.sent(core.MsgEscalation)))
			}
			r.wantGoal(tc.goal)
		})
	}
}

// Only what would end the work of others is asked for; and only where the plan says so, or the operation is sensitive.
func TestConsentIsAskedOnlyWhereItIsNeeded(t *testing.T) {
	for name, tc := range map[string]struct {
		cleans               bool
		requests, experience string
		want                 bool
	}{
		"nothing runs":                   {false, stopAir, asking(asks(goal(ownHush, generous, "restricted"))), false},
		"not named by the plan":          {true, stopAir, asks(goal(ownHush, generous, "restricted")), false},
		"in shadow":                      {true, stopAir, asking(asks(goal(ownHush, generous, "shadow"))), false},
		"a plain plan":                   {true, stopAir, "", false},
		"sensitive, not named":           {false, vital, asks(goal(ownVital, generous, "full")), true},
		"sensitive, plain":               {false, vital, "", false},
		"sensitive, cleaning beside":     {true, vital, asks(goal(ownVital, generous, "full")), true},
		"would end what others clean by": {true, stopAir, asking(asks(goal(ownHush, generous, "full"))), true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if tc.cleans {
				r.offer("wf_0", "pl_0", `[{"cloud_step_id":"air","taskMethod":"startBasicAirClear"}]`)
				r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
				r.event("cleaning.started", r.last().Task, nil)
				r.read("cleaning.is_running", true)
			}
			if tc.experience == "" {
				r.submit(`[` + tc.requests + `]`)
			} else {
				r.aim(tc.requests, tc.experience)
			}
			if got := len(r.wf("wf_1").Asks) == 1; got != tc.want {
				t.Errorf("asked: %v", got)
			}
		})
	}
}

// What was agreed to holds for a day, and no longer than its experience; a person's own word at the robot counts without being asked for.
func TestHowLongAConsentHolds(t *testing.T) {
	again := func(r *rig, wf string) core.StepState {
		r.t.Helper()
		body := strings.NewReplacer("wf_1", wf, "pl_1", "pl_"+wf).Replace(planHead) + `[` + vital + `],` + strings.Replace(asks(goal(ownVital, generous, "full")), "exp_1", "exp_"+wf, 1) + `}`
		if a := *r.do(r.planText(body)).Answers[0]; !a.Accepted {
			r.t.Fatalf("%+v", a)
		}
		return r.stepOf(wf, "vital").State
	}
	r := newRig(t)
	r.aim(vital, asks(goal(ownVital, generous, "full")))
	r.told("yes", nil)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("vital.completed", task, nil)
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.wantWorkflow(core.WfCompleted)
	if got := r.consents(); got != "vital exp_1 expired end" {
		t.Errorf("records %s", got)
	}
	if got := again(r, "wf_2"); got != core.Blocked {
		t.Errorf("another experience is %s", got)
	}

	r = newRig(t)
	r.event("consent.granted", "", core.Values{"consent": "vital"})
	if got := again(r, "wf_2"); got != core.Dispatching {
		t.Errorf("granted at the robot: %s", got)
	}
	r = newRig(t)
	r.event("consent.granted", "", core.Values{"consent": "vital"})
	r.pass(24*hourMS - 1)
	r.do(core.Tick{})
	if got := again(r, "wf_2"); got != core.Dispatching {
		t.Errorf("within the day: %s", got)
	}
	r = newRig(t)
	r.event("consent.granted", "", core.Values{"consent": "vital"})
	r.pass(24 * hourMS)
	if got := again(r, "wf_2"); got != core.Blocked {
		t.Errorf("after a day: %s", got)
	}
	for _, name := range []string{"consent.expired", "consent.revoked"} {
		r = newRig(t)
		r.event("consent.granted", "", core.Values{"consent": "vital"})
		r.event(name, "", core.Values{"consent": "vital"})
		r.pass(1)
		if got := again(r, "wf_2"); got != core.Blocked {
			t.Errorf("%s: %s", name, got)
		}
	}
	// an echo is nobody's word
	r = newRig(t)
	r.do(core.Observed{Event: "consent.granted", Source: "home", Class: "echo", Data: core.Values{"consent": "vital"}})
	if got := again(r, "wf_2"); got != core.Blocked || r.consents() != "vital exp_wf_2 asked device" {
		t.Errorf("an echo: %s, %s", got, r.consents())
	}
}

// A reboot keeps a consent for as long as is known that it holds.
func TestAConsentOverAReboot(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		r := newRig(t)
		r.event("consent.granted", "", core.Values{"consent": "vital"})
		r.now.Trusted = trusted
		r.reboot("boot-2", 3600_000)
		c := r.s.Device.Consents[0]
		if trusted && (c.State != core.ConsentGranted || c.Expires != r.now.Boot+23*hourMS) || !trusted && c.State != core.ConsentExpired {
			t.Errorf("trusted %v: %+v", trusted, c)
		}
	}
}

// Who takes a consent back stops what runs by it, at once; what comes later of that experience is not begun, and not asked for again.
func TestRevokingStops(t *testing.T) {
	r := newRig(t)
	r.aim(vital+`,{"cloud_step_id":"more","taskMethod":"startVitalSign","depends_on":[{"step":"vital","on":"done"}]},{"cloud_step_id":"third","taskMethod":"startVitalSign","temporal_relation":"after_planned_step","delay_ms":90000}`,
		asks(goal(ownVital, generous, "full")))
	r.told("yes", nil)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	ev := core.Observed{Event: "consent.revoked", Source: "home", Data: core.Values{"consent": "vital"}}
	if out := core.UrgentStops(r.s, r.now, ev); len(out) != 1 {
		t.Errorf("urgent %v", out)
	}
	r.do(ev)
	r.want("vital", "cancelling/consent_denied")
	stops := 0
	for _, o := range r.log {
		if s, ok := o.(core.Stop); ok && s.Task == task {
			stops++
		}
	}
	if stops != 1 {
		t.Errorf("%d stops", stops)
	}
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.want("vital", "cancelled/consent_denied")
	r.pass(90_000)
	r.want("third", "failed/consent_denied")
	if n := len(r.dispatches()); n != 1 || len(r.wf("wf_1").Asks) != 1 {
		t.Errorf("%d dispatches, %d questions", n, len(r.wf("wf_1").Asks))
	}
}

// Two steps that need the same word ask once.
func TestTwoStepsOneQuestion(t *testing.T) {
	r := newRig(t)
	r.aim(vital+`,{"cloud_step_id":"more","taskMethod":"startVitalSign"}`, asks(goal(ownVital, generous, "full")))
	q := r.open()
	r.want("vital", "blocked/consent_required", "more", "blocked/consent_required")
	r.do(core.ControlReceived{Head: core.Head{Msg: "c"}, Verb: "cancel", Scope: "step", Target: "wf_1/vital"})
	if got := r.open(); got.ID != q.ID {
		t.Errorf("asked anew: %+v", got)
	}
	r.told("yes", nil)
	r.want("more", "dispatching")
}

// A question for a consent that a revision has gone over is asked anew.
func TestARevisionAsksForConsentAnew(t *testing.T) {
	r := whileCleaning(t, asking(asks(goal(ownHush, generous, "restricted"))))
	first := r.open().ID
	if a := r.aimed(1, stopAir, asking(asks(goal(ownHush, generous, "restricted")))); !a.Accepted {
		t.Fatalf("%+v", a)
	}
	if q := r.open(); q.ID == first {
		t.Error("the old question is still open")
	}
	r.told("yes", nil)
	if r.last().Method != "stopCleaning" {
		t.Errorf("dispatched %s", r.last().Method)
	}
}

func TestConsentsAreBounded(t *testing.T) {
	r := newRig(t)
	for i := range 200 {
		r.event("consent.granted", "", core.Values{"consent": "c" + string(rune('a'+i%26)) + string(rune('a'+i/26))})
	}
	if n := len(r.s.Device.Consents); n != 128 {
		t.Errorf("%d records", n)
	}
}

// That a person is asked to agree is a decision of the table, told once.
func TestAConsentIsAskedForByTheTable(t *testing.T) {
	r := whileCleaning(t, asking(asks(goal(ownHush, generous, "restricted"))))
	if got := r.supervised(); got != "NEEDS_USER_INPUT ask_user" {
		t.Errorf("decided %q", got)
	}
	r.pass(1000)
	if n := len(r.questions()); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
