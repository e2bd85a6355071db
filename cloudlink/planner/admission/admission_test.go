package admission_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/admission"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

func load(t *testing.T) (*catalog.Catalog, catalogfile.Planner) {
	t.Helper()
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	return cat, words
}

// device and cloud make steps as a planner gives them.
func device(id, method string, params wire.Object, after ...string) turn.Step {
	return with(turn.Step{ID: id, Route: turn.ODL, ExecutionTarget: "device", TaskMethod: method, Params: params, WaitPolicy: "completed", Span: id}, after)
}

func cloud(id, skill string, after ...string) turn.Step {
	return with(turn.Step{ID: id, Route: turn.FRG, ExecutionTarget: "cloud", Skill: skill, WaitPolicy: "completed", Span: id}, after)
}

func with(s turn.Step, after []string) turn.Step {
	for _, a := range after {
		s.DependsOn = append(s.DependsOn, wire.Dependency{Step: a})
	}
	return s
}

func value(name string, v any) wire.Object { return wire.Object{name: wire.Value{V: v}} }

func after(event string, s turn.Step) turn.Step {
	s.TemporalRelation, s.AnchorEvent = "after_existing_event", event
	return s
}

func when(ref string, from string, s turn.Step) turn.Step {
	s.When = &wire.Condition{Ref: ref + ".grade", Op: "in", Value: wire.Value{V: []any{"bad"}}}
	s.InputFrom = &wire.InputFrom{Visible: []string{ref}}
	return with(s, []string{from})
}

func gives(key string, s turn.Step) turn.Step { s.OutputKey = key; return s }

func TestJudge(t *testing.T) {
	cat, _ := load(t)
	judge := admission.New(cat)
	type goal = map[string]bool // step.effect: required
	for _, tc := range []struct {
		name, text, tier string
		owner            turn.Family
		steps            []turn.Step
		state            turn.Admission
		reason           string
		goal             goal
		goalID           string
		consent          []string
	}{
		{name: "news after a cleaning that runs", text: "청정 끝나면 오늘 주요 뉴스만 요약해줘", owner: turn.FRG,
			steps: []turn.Step{after("cleaning.completed", cloud("news", "fresh_information_brief"))},
			state: turn.Activated, reason: admission.ReasonGrounded, goal: goal{"news.fresh_information_delivered": true}, goalID: "fresh_information_delivered"},
		{name: "a rest: what is ended first is asked for, and may be declined", text: "잠깐 편하게 쉬게 도와줘", owner: turn.DEF,
			steps: []turn.Step{device("hush", "stopCleaning", nil), device("low", "setVolume", value("level", 15.0), "hush"), cloud("rest", "rest_guidance", "low")},
			state: turn.Activated, reason: admission.ReasonGrounded, goalID: "restful_environment_supported", consent: []string{"pause_cleaning"},
			goal: goal{"hush.air_cleaning_stopped": false, "low.quiet_environment": true, "rest.rest_guidance_delivered": true}},
		{name: "nothing is planned yet", text: "내가 집안일 하는 동안 심심하지 않게 해줘", owner: turn.DEF, state: turn.Candidate, reason: admission.ReasonNoStep, goalID: "company_kept"},
		{name: "nothing watches all the time", text: "손님 있는 동안 공기 쾌적하게 유지해줘", owner: turn.ODL, state: turn.Blocked, reason: admission.ReasonSensing, goalID: "good_air_kept"},
		{name: "the device has said no tier: what is shipped does not drive", text: "거실로 가서 공기 상태 확인하고 필요하면 청정해줘", owner: turn.ODL,
			steps: []turn.Step{device("go", "setMoveTo", value("position", "거실")), gives("air", device("look", "getAirQuality", nil, "go")), when("air", "look", device("clean", "startBasicAirClear", nil))},
			state: turn.Blocked, reason: admission.ReasonTier},
		{name: "the same in full", text: "거실로 가서 공기 상태 확인하고 필요하면 청정해줘", owner: turn.ODL, tier: "full",
			steps: []turn.Step{device("go", "setMoveTo", value("position", "거실")), gives("air", device("look", "getAirQuality", nil, "go")), when("air", "look", device("clean", "startBasicAirClear", nil))},
			state: turn.Activated, reason: admission.ReasonGrounded, goalID: "air_quality_reported",
			goal: goal{"go.target_location_reached": true, "look.air_quality_reported": true, "clean.air_cleaning_active": false}},
		{name: "a measurement of the body is asked for", text: "안방으로 가서 바이탈사인을 시작하고 끝나면 복귀해줘", owner: turn.ODL, tier: "full",
			steps: []turn.Step{device("go", "setMoveTo", value("position", "안방")), device("vital", "startVitalSign", nil, "go"), device("home", "returnToStation", nil, "vital")},
			state: turn.Activated, reason: admission.ReasonGrounded, goalID: "station_docked", consent: []string{"vital"},
			goal: goal{"go.target_location_reached": true, "vital.vital_interaction_ended": true, "home.station_docked": true}},
		{name: "content only: no step of the device", text: "청정하면서 퀴즈 내줘", owner: turn.ODL, tier: "content_only",
			steps: []turn.Step{device("clean", "startBasicAirClear", nil), cloud("quiz", "content_session")}, state: turn.Blocked, reason: admission.ReasonTier},
		{name: "two lanes", text: "청정하면서 퀴즈 내줘", owner: turn.ODL,
			steps: []turn.Step{device("clean", "startBasicAirClear", nil), cloud("quiz", "content_session")}, state: turn.Activated, reason: admission.ReasonGrounded,
			goalID: "content_session_started", goal: goal{"clean.air_cleaning_active": true, "quiz.content_session_started": true}},
		{name: "a step that does not compile", text: "청정하면서 퀴즈 내줘", owner: turn.ODL,
			steps: []turn.Step{device("clean", "startBasicAirClear", value("power", 3.0)), cloud("quiz", "content_session")}, state: turn.Candidate, reason: admission.ReasonBadPlan},
		{name: "an effect that nobody knows", text: "청정하면서 퀴즈 내줘", owner: turn.ODL,
			steps: []turn.Step{effect("world_peace", device("clean", "startBasicAirClear", nil)), cloud("quiz", "content_session")}, state: turn.Candidate, reason: admission.ReasonBadPlan},
		{name: "an effect of something else", text: "청정하면서 퀴즈 내줘", owner: turn.ODL,
			steps: []turn.Step{effect("station_docked", device("clean", "startBasicAirClear", nil)), cloud("quiz", "content_session")}, state: turn.Candidate, reason: admission.ReasonBadPlan},
		{name: "an effect that a skill does not have", text: "청정하면서 퀴즈 내줘", owner: turn.ODL,
			steps: []turn.Step{device("clean", "startBasicAirClear", nil), effect("station_docked", cloud("quiz", "content_session"))}, state: turn.Candidate, reason: admission.ReasonBadPlan},
		{name: "steps that have no effect", text: "바이탈 재는 동안 화면 밝게 해줘", owner: turn.ODL, tier: "full",
			steps: []turn.Step{device("bright", "setScreen", value("brightness", 90.0)), device("loud", "setVolume", value("level", 50.0))}, state: turn.Candidate, reason: admission.ReasonNoEffect},
		{name: "all of it hangs on a condition", text: "청정 끝나면 나쁘면 뉴스 들려줘", owner: turn.FRG,
			steps: []turn.Step{after("cleaning.completed", conditional(cloud("news", "fresh_information_brief")))}, state: turn.Candidate, reason: admission.ReasonNothingSure},
		{name: "orders one after the other", text: "거실로 가서 청정하고 안방으로 가", owner: turn.ODL, tier: "full",
			steps: []turn.Step{device("a", "setMoveTo", value("position", "거실")), device("b", "startBasicAirClear", nil, "a"), device("c", "setMoveTo", value("position", "안방"), "b")},
			state: turn.NotAdmitted, reason: admission.ReasonOrders},
		{name: "looked at once, here and now", text: "공기 나쁘면 청정해줘", owner: turn.ODL,
			steps: []turn.Step{gives("air", device("look", "getAirQuality", nil)), when("air", "look", device("clean", "startBasicAirClear", nil))}, state: turn.NotAdmitted, reason: admission.ReasonOrders},
		{name: "talk", text: "오늘 좀 힘들었어", owner: turn.DEF, state: turn.NotAdmitted, reason: admission.ReasonOrders},
		{name: "a question", text: "청정 끝나면 뉴스 들려줄 수도 있는 거야?", owner: turn.DEF, state: turn.NotAdmitted, reason: admission.ReasonNoRequest},
		{name: "a question for which something is planned all the same", text: "퀴즈 내면서 청정도 할 수 있어?", owner: turn.STM,
			steps: []turn.Step{device("clean", "startBasicAirClear", nil), cloud("quiz", "content_session")}, state: turn.NotAdmitted, reason: admission.ReasonNoRequest},
		{name: "one part of two is planned", text: "거실로 가서 청정하면서 퀴즈 내줘", owner: turn.STM,
			steps: []turn.Step{cloud("quiz", "content_session")}, state: turn.Candidate, reason: admission.ReasonPart},
		{name: "how it works", text: "청정하면서 퀴즈 내는 방법 알려줘", owner: turn.DEF, state: turn.NotAdmitted, reason: admission.ReasonAbout},
		{name: "a question about the product", text: "청정 끝나면 퀴즈 내줘", owner: turn.DQR, state: turn.NotAdmitted, reason: admission.ReasonAbout},
		{name: "nobody to reply to", text: "청정 끝나면 퀴즈 내줘", owner: turn.STTNull, state: turn.NotAdmitted, reason: admission.ReasonNoTarget},
		{name: "somebody else said so", text: "엄마가 쉬게 도와줘 라고 했어", owner: turn.DEF, state: turn.NotAdmitted, reason: admission.ReasonNoRequest},
		{name: "an end that the robot cannot see", text: "회의 끝나면 화면 꺼줘", owner: turn.ODL, state: turn.NotAdmitted, reason: admission.ReasonOrders},
		{name: "a wish with its order", text: "푹 자게 화면 꺼줘", owner: turn.ODL, state: turn.NotAdmitted, reason: admission.ReasonOrders},
		{name: "in English, by its steps", text: "when the cleaning is done tell me the news", owner: turn.FRG,
			steps: []turn.Step{after("cleaning.completed", cloud("news", "fresh_information_brief"))}, state: turn.Activated, reason: admission.ReasonGrounded,
			goal: goal{"news.fresh_information_delivered": true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := turn.Decision{OwnerSelection: tc.owner, Steps: tc.steps}
			in := turn.Input{Text: tc.text, Around: turn.Around{Tier: tc.tier}}
			x := judge.Judge(in, d)
			if x.Admission != tc.state || x.ReasonCode != tc.reason {
				t.Fatalf("%s/%s, want %s/%s", x.Admission, x.ReasonCode, tc.state, tc.reason)
			}
			if x.DispatchAllowed {
				t.Error("a goal may not dispatch anything")
			}
			if tc.state == turn.NotAdmitted {
				if x.Goal != nil || len(x.Axes) > 0 {
					t.Errorf("not admitted, and has a goal %v on %v", x.Goal, x.Axes)
				}
				return
			}
			if len(x.Axes) == 0 || len(x.Evidence) != len(x.Axes) {
				t.Errorf("axes %v with evidence %v", x.Axes, x.Evidence)
			}
			if tc.state != turn.Activated {
				return
			}
			got := goal{}
			for _, e := range x.Goal.Effects {
				got[e.StepID+"."+e.EffectID] = e.Required
			}
			if !equal(got, tc.goal) || tc.goalID != "" && x.Goal.GoalID != tc.goalID {
				t.Errorf("goal %s %v, want %s %v", x.Goal.GoalID, got, tc.goalID, tc.goal)
			}
			var consent []string
			for k := range x.Goal.Consent {
				consent = append(consent, k)
			}
			if !slices.Equal(consent, tc.consent) || x.Goal.Tier != "" {
				t.Errorf("consent %v, want %v; tier %q, want none", consent, tc.consent, x.Goal.Tier)
			}
			if b := x.Goal.Budget; b == nil || b.MaxDecisions != 3 || b.MaxReplans != 1 || b.DeadlineMS < 1_800_000 || b.Fallback != "ask_or_stop" {
				t.Errorf("budget %+v", b)
			}
		})
	}
}

func equal(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

func effect(id string, s turn.Step) turn.Step { s.RequiredEffects = []string{id}; return s }

func conditional(s turn.Step) turn.Step {
	s.When = &wire.Condition{Ref: "ctx.battery.level", Op: "gt", Value: wire.Value{V: 50.0}}
	return s
}

// TestSpans: each axis cites words of the utterance, letter by letter, wherever its spaces are.
func TestSpans(t *testing.T) {
	cat, _ := load(t)
	judge := admission.New(cat)
	for _, text := range []string{"청정 끝나면, 오늘 주요 뉴스만 요약해줘!", "청정끝나면오늘뉴스요약해줘", "  거실로  가서 청정하면서   퀴즈 내줘", "잠깐 편하게 쉬게 도와줘.", "매일 밤 아이들 방 공기를 관리하면서 동화를 들려줘"} {
		x := judge.Judge(turn.Input{Text: text}, turn.Decision{OwnerSelection: turn.DEF})
		if x.Admission == turn.NotAdmitted {
			t.Errorf("%q: not admitted, %s", text, x.ReasonCode)
		}
		for _, e := range x.Evidence {
			if e.Span == "" || !strings.Contains(text, e.Span) {
				t.Errorf("%q: %s cites %q", text, e.ID, e.Span)
			}
		}
	}
}

// TestRefineChangesNothingElse: whatever was decided, only the request is set.
func TestRefineChangesNothingElse(t *testing.T) {
	cat, words := load(t)
	planner, judge := rules.New(cat, words), admission.New(cat)
	for _, text := range sentences(t) {
		in := turn.Input{TurnID: "t", Text: text}
		d, err := planner.Plan(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		before := encoded(t, d)
		after := judge.Refine(in, d)
		if encoded(t, d) != before {
			t.Errorf("%q: the decision that was given was changed", text)
		}
		if after.Experience == nil || after.Experience.DispatchAllowed {
			t.Errorf("%q: request %+v", text, after.Experience)
		}
		if after.Experience = nil; encoded(t, after) != before {
			t.Errorf("%q: more than the request was changed", text)
		}
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestKept: a revision keeps the goal of its plan, for the steps that are there then.
func TestKept(t *testing.T) {
	cat, _ := load(t)
	judge := admission.New(cat)
	was := &wire.Experience{ContractVersion: "experience.v1", ExperienceID: "exp_1", GoalID: "measured", Effects: []wire.GoalEffect{{EffectID: "target_location_reached", StepID: "go"}, {EffectID: "station_docked", StepID: "home", Required: true}},
		Budget: &wire.GoalBudget{MaxDecisions: 1, DeadlineMS: 60_000, Fallback: "ask_or_stop"}}
	in := turn.Input{Text: "안방 말고 주방으로 가", Around: turn.Around{Workflows: []turn.Workflow{{WorkflowID: "wf_1", Plan: wire.Plan{Experience: was}}, {WorkflowID: "wf_2"}}}}
	d := turn.Decision{OwnerSelection: turn.ODL, Revises: &turn.Revises{WorkflowID: "wf_1", PlanID: "pl_1", Revision: 1},
		Steps: []turn.Step{device("go", "setMoveTo", value("position", "주방")), device("home", "returnToStation", nil, "go")}}
	x := judge.Judge(in, d)
	if x.Admission != turn.Activated || x.ReasonCode != admission.ReasonKept {
		t.Fatalf("%s/%s, want it kept", x.Admission, x.ReasonCode)
	}
	if g := x.Goal; g.ExperienceID != "exp_1" || g.GoalID != "measured" || len(g.Effects) != 2 || g.Effects[0].Required || !g.Effects[1].Required || g.Budget.MaxDecisions != 1 {
		t.Errorf("goal %+v", g)
	}
	d.Revises.Plan = wire.Plan{Requests: []wire.Request{{CloudStepID: "go"}}, Experience: was}
	if x := judge.Judge(in, d); x.ReasonCode != admission.ReasonKept || x.Goal != was {
		t.Errorf("a revision that is made already: %s, %+v", x.ReasonCode, x.Goal)
	}
	if d.Revises.Plan.Experience = nil; judge.Judge(in, d).ReasonCode != admission.ReasonRevision {
		t.Error("a revision that is made already, with no goal, has one")
	}
	d.Revises = &turn.Revises{WorkflowID: "wf_2", PlanID: "pl_1", Revision: 1}
	if x := judge.Judge(in, d); x.Admission != turn.NotAdmitted || x.ReasonCode != admission.ReasonRevision {
		t.Errorf("a plain plan that is revised: %s/%s", x.Admission, x.ReasonCode)
	}
}
