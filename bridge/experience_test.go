package bridge_test

import (
	"strings"
	"testing"

	"deviceagent/bridge"
	"deviceagent/taskmanager/core"
)

const (
	goalMove  = `{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"}}`
	goalClean = `{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20},"depends_on":["go"]}`
	goalAll   = `{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"mode":"all"}}`
	goalDim   = `{"cloud_step_id":"dim","taskMethod":"setScreen","params":{"on":false}}`
	goalNews  = `{"cloud_step_id":"news","execution_target":"cloud","skill":"fresh_information_brief"}`
)

func goalBody(requests, effects, more string) string {
	return strings.TrimSuffix(planBody("", requests), "}") +
		`,"experience":{"contract_version":"experience.v1","experience_id":"exp_1","goal_id":"g_1","effects":[` + effects + `]` + more + `}}`
}

func effectOf(id, step string) string {
	return `{"effect_id":"` + id + `","step_id":"` + step + `","required":true}`
}

// What a goal says has to be true of its plan: every fault is named, and nothing of the plan is let in.
func TestAGoalIsGroundedInItsPlan(t *testing.T) {
	for _, tc := range []struct {
		name, body, want string
		tier             core.Tier
		off              bool
	}{
		{name: "all in order", body: goalBody(goalMove, effectOf("target_location_reached", "go"), `,"tier":"full"`)},
		{name: "an unknown effect", body: goalBody(goalMove, effectOf("joy", "go"), ""), want: "experience.effects[0].effect_id unknown_effect"},
		{name: "an effect with no step", body: goalBody(goalMove, effectOf("target_location_reached", "come"), ""), want: "experience.effects[0].step_id unknown_step"},
		{name: "a step that does not bring it about", body: goalBody(goalMove, effectOf("air_cleaning_active", "go"), ""), want: "experience.effects[0] effect_not_provided"},
		{name: "an effect that the step could have, and is not asked for", body: goalBody(goalMove+","+goalClean, effectOf("air_cleaning_completed", "clean"), ""),
			want: "experience.effects[0] effect_not_provided"},
		{name: "named twice", body: goalBody(goalMove, effectOf("target_location_reached", "go")+","+effectOf("target_location_reached", "go"), ""),
			want: "experience.effects[1] bad_value"},
		{name: "nothing required", body: goalBody(goalMove, strings.Replace(effectOf("target_location_reached", "go"), "true", "false", 1), ""), want: "experience.effects bad_value"},
		{name: "more replans than decisions", body: goalBody(goalMove, effectOf("target_location_reached", "go"),
			`,"budget":{"max_decisions":1,"max_replans":2,"deadline_ms":1800000,"fallback":"ask_or_stop","automatic_retries":0,"user_questions":0}`), want: "experience.budget.max_replans bad_value"},
		{name: "a deadline that is too short", body: goalBody(strings.Replace(goalMove, `}}`, `},"temporal_relation":"after_planned_step","delay_ms":60000}`, 1), effectOf("target_location_reached", "go"),
			`,"budget":{"max_decisions":1,"max_replans":1,"deadline_ms":30000,"fallback":"ask_or_stop","automatic_retries":0,"user_questions":0}`), want: "workflow.deadline_ms deadline_too_short"},
		{name: "time that is not the step's", body: goalBody(goalMove, effectOf("target_location_reached", "go"),
			`,"temporal":[{"temporal_relation":"after_existing_event","anchor_event":"cleaning.completed","step_id":"go"}]`), want: "experience.temporal[0] bad_value"},
		{name: "time of no step", body: goalBody(goalMove, effectOf("target_location_reached", "go"), `,"temporal":[{"temporal_relation":"at_time","step_id":"come"}]`),
			want: "experience.temporal[0].step_id unknown_step"},
		{name: "a step with a fault is told once", body: goalBody(strings.Replace(goalMove, "거실", "달", 1), effectOf("target_location_reached", "go"), ""),
			want: "device_task_requests[0].params.position unknown_location"},

		{name: "movement in restricted", body: goalBody(goalMove, effectOf("target_location_reached", "go"), ""), tier: core.TierRestricted, want: "device_task_requests[0].taskMethod tier_blocked"},
		{name: "cleaning that drives in restricted", body: goalBody(goalAll, effectOf("air_cleaning_active", "clean"), ""), tier: core.TierRestricted, want: "device_task_requests[0].taskMethod tier_blocked"},
		{name: "a screen in restricted", body: goalBody(goalDim, effectOf("reduced_visual_stimulation", "dim"), ""), tier: core.TierRestricted},
		{name: "a tier above the device's", body: goalBody(goalDim, effectOf("reduced_visual_stimulation", "dim"), `,"tier":"full"`), tier: core.TierRestricted, want: "experience.tier tier_blocked"},
		{name: "a tier below the device's", body: goalBody(goalMove, effectOf("target_location_reached", "go"), `,"tier":"restricted"`), tier: core.TierFull, want: "device_task_requests[0].taskMethod tier_blocked"},
		{name: "a device step in content_only", body: goalBody(goalNews+","+goalDim, effectOf("reduced_visual_stimulation", "dim"), ""), tier: core.TierContent, want: "device_task_requests[1].taskMethod tier_blocked"},
		{name: "movement in shadow", body: goalBody(goalMove, effectOf("target_location_reached", "go"), ""), tier: core.TierShadow},
		{name: "not evaluated", body: goalBody(goalMove, effectOf("joy", "come"), `,"tier":"full"`), tier: core.TierRestricted, off: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			codec := bridge.New(bridge.Options{DeviceID: deviceID, Catalog: fixed(t), AllowJSON: true, NewID: func() string { return "" },
				Experiences: bridge.Experiences{Off: tc.off, Tier: tc.tier}})
			switch ev := codec.Decode(message("plan", tc.body), false).(type) {
			case core.Refused:
				if got := faultLines(ev.Answer.Faults); got != tc.want {
					t.Errorf("faults\n%s\nwant\n%s", got, tc.want)
				}
			case core.PlanSubmitted:
				if got := faultLines(ev.GoalFaults); got != tc.want { // the core refuses it by them, unless it evaluates no goals
					t.Errorf("faults of the goal\n%s\nwant\n%s", got, tc.want)
				}
				if tc.off != (ev.Plan.Goal == nil) || tc.off != ev.Plan.NoGoal {
					t.Errorf("goal %+v, no goal %v", ev.Plan.Goal, ev.Plan.NoGoal)
				}
			}
		})
	}
}

// A control sets no tier above the setting of the device; up to it, the core judges.
func TestTheSettingBoundsTheTier(t *testing.T) {
	codec := bridge.New(bridge.Options{DeviceID: deviceID, Catalog: fixed(t), AllowJSON: true, NewID: func() string { return "" }, Experiences: bridge.Experiences{Tier: core.TierRestricted}})
	for target, want := range map[string]core.Reason{"full": core.ReasonTierBlocked, "restricted": "", "shadow": ""} {
		for _, c := range []string{`"scope":"all","target":"` + target + `"`, `"scope":"experience","target":"exp_1/` + target + `"`} {
			switch ev := codec.Decode(message("control", `{"verb":"set_tier",`+c+`}`), false).(type) {
			case core.Refused:
				if ev.Answer.Reason != want {
					t.Errorf("%s: %+v", c, ev.Answer)
				}
			case core.ControlReceived:
				if want != "" {
					t.Errorf("%s: let in", c)
				}
			}
		}
	}
}

// Where experiences are off, the steps are those of the same plan without one, byte for byte.
func TestAPlanWhoseExperienceIsNotEvaluatedIsThePlainPlan(t *testing.T) {
	off := bridge.New(bridge.Options{DeviceID: deviceID, Catalog: fixed(t), AllowJSON: true, NewID: func() string { return "" }, Experiences: bridge.Experiences{Off: true}})
	with := off.Decode(message("plan", goalBody(goalMove+","+goalAll, effectOf("joy", "come"), "")), false).(core.PlanSubmitted)
	plain := off.Decode(message("plan", planBody("", goalMove+","+goalAll)), false).(core.PlanSubmitted)
	if len(with.GoalFaults) > 0 {
		t.Errorf("faults of a goal that is not evaluated: %+v", with.GoalFaults)
	}
	with.Plan.NoGoal, with.Hash = false, plain.Hash
	if indented(t, with) != indented(t, plain) {
		t.Errorf("with\n%s\nwithout\n%s", indented(t, with), indented(t, plain))
	}
}
