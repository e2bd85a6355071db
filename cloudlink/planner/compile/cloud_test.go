package compile

import (
	"testing"
	"time"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// mixed compiles steps, and has the device's own check read the plan.
func mixed(t *testing.T, steps ...turn.Step) wire.Plan {
	t.Helper()
	cat, _ := load(t)
	plan, err := Plan(cat, turn.Input{TurnID: "tn_1", Text: "…", Locale: "ko-KR", Now: time.Date(2026, 11, 30, 18, 0, 0, 0, time.FixedZone("KST", 9*3600))}, turn.Decision{Steps: steps}, ids)
	if err != nil {
		t.Fatal(err)
	}
	if _, faults := bridge.CheckPlan(cat, &plan); len(faults) > 0 {
		t.Fatalf("the device would refuse the plan: %v", faults)
	}
	return plan
}

func after(id string) []wire.Dependency { return []wire.Dependency{{Step: id}} }

func TestNewsAfterWorkThatIsUnderWay(t *testing.T) {
	plan := mixed(t, turn.Step{ID: "news", Route: turn.FRG, ExecutionTarget: "cloud", Skill: "fresh_information_brief", Params: wire.Object{"topic": {V: "news"}},
		TemporalRelation: "after_existing_event", AnchorEvent: "cleaning.completed"})
	r := plan.Requests[0]
	if r.AnchorEvent != "cleaning.completed" || r.AnchorSeenAt != "2026-11-30T09:00:00Z" || r.TimeoutMS != 120_000 || r.Params["topic"].V != "news" || r.Skill != "fresh_information_brief" {
		t.Errorf("request %+v", r)
	}
	// The longest cleaning is 180 min with 5 min to spare; then 2 min for the news, half as much again.
	if want := int64(185*60_000+120_000) * 3 / 2; plan.Workflow.DeadlineMS != want {
		t.Errorf("deadline %d ms, want %d: the plan would end before what it waits for", plan.Workflow.DeadlineMS, want)
	}
}

func TestTwoLanesWithAQuiz(t *testing.T) {
	plan := mixed(t,
		turn.Step{ID: "go", ExecutionTarget: "device", TaskMethod: "setMoveTo", Params: wire.Object{"position": {V: "거실"}}, WaitPolicy: "completed"},
		turn.Step{ID: "clean", TaskMethod: "startBasicAirClear", DependsOn: after("go"), WaitPolicy: "event", RequiredEffects: []string{"air_cleaning_completed"}},
		turn.Step{ID: "quiz", ExecutionTarget: "cloud", Skill: "content_session", Params: wire.Object{"kind": {V: "quiz"}}, DependsOn: after("clean")})
	if r := plan.Requests[2]; r.ExecutionTarget != "cloud" || r.TimeoutMS != 300_000 || r.DependsOn[0].Step != "clean" || plan.Requests[1].Params["duration_min"].V != 60.0 {
		t.Errorf("requests %+v", plan.Requests)
	}
}

func TestCloudStepsFeedEachOtherAndTheDevice(t *testing.T) {
	raining := &wire.Condition{Ref: "weather.rain", Op: "eq", Value: wire.Value{V: true}}
	plan := mixed(t,
		turn.Step{ID: "ask", ExecutionTarget: "cloud", Skill: "fresh_information_brief", Params: wire.Object{"topic": {V: "weather"}}, OutputKey: "weather", TimeoutMS: 20_000},
		turn.Step{ID: "tell", ExecutionTarget: "cloud", Skill: "rest_guidance", Params: wire.Object{"kind": {V: "notice"}, "text": {V: "우산 챙기세요."}}, DependsOn: after("ask"),
			InputFrom: &wire.InputFrom{Visible: []string{"weather"}}, When: raining},
		turn.Step{ID: "home", TaskMethod: "returnToStation", DependsOn: after("ask"), InputFrom: &wire.InputFrom{Visible: []string{"weather"}}, When: raining})
	if r := plan.Requests[0]; r.OutputKey != "weather" || r.TimeoutMS != 20_000 {
		t.Errorf("request %+v", r)
	}
	if r := plan.Requests[1]; r.When == nil || r.InputFrom == nil || r.Params["text"].V != "우산 챙기세요." {
		t.Errorf("request %+v", r)
	}
}
