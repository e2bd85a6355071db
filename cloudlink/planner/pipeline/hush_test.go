package pipeline

import (
	"testing"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/admission"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
)

// TestWorkIsEndedForARestOnlyIfItGoesOn: and only where the goal goes along that asks for it.
func TestWorkIsEndedForARestOnlyIfItGoesOn(t *testing.T) {
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	h := hush{cat, admission.New(cat)}
	work := func(state string, age int64, method string, params wire.Object, effects ...wire.RequiredEffect) turn.Workflow {
		return turn.Workflow{WorkflowID: "wf_1", Plan: wire.Plan{Requests: []wire.Request{{CloudStepID: "s", TaskMethod: method, Params: params, RequiredEffects: effects}}},
			Steps: []turn.StepNow{{ID: "s", Method: method, State: state, AgeMS: age}}}
	}
	five := wire.Object{"duration_min": {V: 5.0}}
	rest := func() turn.Decision {
		return turn.Decision{OwnerSelection: turn.DEF, Steps: []turn.Step{{ID: "step_1", ExecutionTarget: "device", TaskMethod: "setMannerMode", Params: wire.Object{"on": {V: true}}},
			{ID: "step_2", ExecutionTarget: "cloud", Skill: "rest_guidance", DependsOn: []wire.Dependency{{Step: "step_1"}}}}}
	}
	for _, tc := range []struct {
		name   string
		around turn.Around
		said   string
		want   int // steps
	}{
		{"nothing goes on", turn.Around{}, "", 2},
		{"a cleaning whose start was proven goes on for its time", turn.Around{Ended: []turn.Workflow{work("completed", 60_000, "startBasicAirClear", five)}}, "", 3},
		{"its time is over", turn.Around{Ended: []turn.Workflow{work("completed", 400_000, "startBasicAirClear", five)}}, "", 2},
		{"its end was proven", turn.Around{Ended: []turn.Workflow{work("completed", 60_000, "startBasicAirClear", five, wire.RequiredEffect{EffectID: "air_cleaning_completed"})}}, "", 2},
		{"it runs to its end", turn.Around{Workflows: []turn.Workflow{work("running", 60_000, "startBasicAirClear", five, wire.RequiredEffect{EffectID: "air_cleaning_completed"})}}, "", 3},
		{"it was stopped since", turn.Around{Ended: []turn.Workflow{work("completed", 60_000, "startBasicAirClear", five), work("completed", 10_000, "stopCleaning", nil)}}, "", 2},
		{"it was begun again", turn.Around{Ended: []turn.Workflow{work("completed", 5_000, "startBasicAirClear", five), work("completed", 10_000, "stopCleaning", nil)}}, "", 3},
		{"it failed", turn.Around{Ended: []turn.Workflow{work("failed", 5_000, "startBasicAirClear", five)}}, "", 2},
		{"something else goes on", turn.Around{Workflows: []turn.Workflow{work("running", 5_000, "setMoveTo", wire.Object{"position": {V: "거실"}})}}, "", 2},
		{"no goal goes along in this tier, and nobody would be asked", turn.Around{Tier: "content_only", Ended: []turn.Workflow{work("completed", 60_000, "startBasicAirClear", five)}}, "", 2},
		{"the device evaluates no goals, and nobody would be asked", turn.Around{Tier: "off", Ended: []turn.Workflow{work("completed", 60_000, "startBasicAirClear", five)}}, "", 2},
		{"the words ask for no goal", turn.Around{Ended: []turn.Workflow{work("completed", 60_000, "startBasicAirClear", five)}}, "호흡하는 법 알려줘", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			said := tc.said
			if said == "" {
				said = "잠깐 편하게 쉬게 도와줘"
			}
			d := h.refine(turn.Input{Text: said, Around: tc.around}, rest())
			if len(d.Steps) != tc.want {
				t.Fatalf("%d steps, want %d: %+v", len(d.Steps), tc.want, d.Steps)
			}
			if tc.want == 2 {
				return
			}
			first, then := d.Steps[0], d.Steps[1]
			if first.TaskMethod != "stopCleaning" || first.OnFailure != "continue" || len(then.DependsOn) != 1 || then.DependsOn[0] != (wire.Dependency{Step: first.ID, On: "done"}) {
				t.Errorf("first %+v, then %+v", first, then)
			}
			if x := admission.New(cat).Judge(turn.Input{Text: said, Around: tc.around}, d); x.Goal.Consent["pause_cleaning"] != "ask" {
				t.Errorf("nobody is asked: %+v", x.Goal)
			}
		})
	}
}
