package compile

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

var ids = IDs{WorkflowID: "wf_1", PlanID: "pl_1"}

func load(t *testing.T) (*catalog.Catalog, *rules.Planner) {
	t.Helper()
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	return cat, rules.New(cat, words)
}

// compiled plans by rules, compiles, and has the device's own check read the plan.
func compiled(t *testing.T, said string) wire.Plan {
	t.Helper()
	cat, p := load(t)
	in := turn.Input{TurnID: "tn_1", Text: said, Locale: "ko-KR"}
	d, err := p.Plan(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Plan(cat, in, d, ids)
	if err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	if _, faults := bridge.CheckPlan(cat, &plan); len(faults) > 0 {
		t.Fatalf("%s: the device would refuse the plan: %v", said, faults)
	}
	return plan
}

func TestSequenceWaitsForTheEndOfCleaning(t *testing.T) {
	plan := compiled(t, "서재로 가서 청정하고 주방으로 가")
	if len(plan.Requests) != 3 {
		t.Fatalf("%d requests, want 3", len(plan.Requests))
	}
	clean := plan.Requests[1]
	if got := clean.RequiredEffects; len(got) != 1 || got[0].EffectID != "air_cleaning_completed" {
		t.Errorf("required effects %v, want the end of cleaning", got)
	}
	if got := clean.Params["duration_min"].V; got != float64(defaultDurationMin) {
		t.Errorf("duration %v, want %d", got, defaultDurationMin)
	}
	if clean.WaitPolicy != "completed" || plan.Requests[2].DependsOn[0].Step != "step_2" {
		t.Errorf("the last move does not wait for the end of cleaning: %+v", plan.Requests[2])
	}
	// 180 s + (60 min + 5 min) + 180 s on the longest path, half as much again.
	if want := int64(180_000+3_900_000+180_000) * 3 / 2; plan.Workflow.DeadlineMS != want {
		t.Errorf("deadline %d ms, want %d", plan.Workflow.DeadlineMS, want)
	}
}

func TestHead(t *testing.T) {
	cat, _ := load(t)
	w := compiled(t, "주방으로 가").Workflow
	if w.CloudWorkflowID != "wf_1" || w.PlanID != "pl_1" || w.TTLMS != 300_000 || w.CatalogEtag != cat.Etag || w.DeadlineMS != 1_800_000 {
		t.Errorf("head %+v", w)
	}
	if want := (wire.Origin{TurnID: "tn_1", Utterance: "주방으로 가", Locale: "ko-KR"}); *w.Origin != want {
		t.Errorf("origin %+v, want %+v", *w.Origin, want)
	}
}

func TestSaidDurationStays(t *testing.T) {
	plan := compiled(t, "주방에서 20분 청정하고 복귀해")
	if got := plan.Requests[1].Params["duration_min"].V; got != 20.0 {
		t.Errorf("duration %v, want 20", got)
	}
}

func TestDelayAndCondition(t *testing.T) {
	plan := compiled(t, "현관으로 가서 40초 뒤에 화면 꺼 줘")
	if r := plan.Requests[1]; r.TemporalRelation != "after_planned_step" || r.TemporalAnchorID != "step_1" || r.DelayMS != 40_000 {
		t.Errorf("delay %+v", r)
	}
	plan = compiled(t, "삼십초 뒤에 화면 꺼줘")
	if r := plan.Requests[0]; len(plan.Requests) != 1 || r.TemporalRelation != "after_planned_step" || r.TemporalAnchorID != "" || r.DelayMS != 30_000 {
		t.Errorf("a delay from now %+v", plan.Requests)
	}
	plan = compiled(t, "서재로 가서 공기 확인하고 나쁘면 청정해 줘")
	r := plan.Requests[2]
	if r.When == nil || r.When.Ref != "air_state.grade" || !slices.Equal(r.InputFrom.Visible, []string{"air_state"}) || plan.Requests[1].OutputKey != "air_state" {
		t.Errorf("condition %+v", r)
	}
	if len(r.RequiredEffects) != 0 || r.Params["duration_min"].V != nil {
		t.Errorf("nothing waits for the end of the last step, but it asks for %v %v", r.RequiredEffects, r.Params)
	}
}

func TestEachReadingIsAnOutputOfItsOwn(t *testing.T) {
	plan := compiled(t, "거실 가서 공기 확인하고 나쁘면 청정하고 안방 가서 공기 확인하고 나쁘면 청정해")
	var keys, refs []string
	for _, r := range plan.Requests {
		if r.OutputKey != "" {
			keys = append(keys, r.OutputKey)
		}
		if r.When != nil {
			refs = append(refs, r.When.Ref+" of "+r.InputFrom.Visible[0])
		}
	}
	if want := []string{"air_state", "air_state_2"}; !slices.Equal(keys, want) {
		t.Errorf("outputs %v, want %v", keys, want)
	}
	if want := []string{"air_state.grade of air_state", "air_state_2.grade of air_state_2"}; !slices.Equal(refs, want) {
		t.Errorf("conditions read %v, want %v", refs, want)
	}
}

func TestWhatTheDeviceAccepts(t *testing.T) {
	for _, said := range []string{
		"청정 켜고 10분 뒤에 꺼줘", "삼십초 뒤에 화면 꺼줘", "거실로 가서 청정하면서 바이탈 측정해 줘", "배터리 50 넘으면 주방으로 가",
		"미세먼지 수치가 80 이상이면 청정해 줘", "공기 확인해서 탁하면 서재로 가서 청정해", "안방으로 가서 바이탈사인을 시작하고 끝나면 복귀해줘",
		"볼륨 최대로", "소리 꺼줘", "야간 모드 켜고 매너 모드 꺼", "집 전체 청정해줘", "거실이랑 안방 청정해줘", "멈추고 청정 꺼",
		"go to the kitchen then turn off the screen after 30 seconds",
	} {
		t.Run(said, func(t *testing.T) { compiled(t, said) })
	}
}

func TestSameInputSamePlan(t *testing.T) {
	const said = "서재로 가서 공기 확인하고 나쁘면 20분 청정하고 복귀해"
	if a, b := compiled(t, said), compiled(t, said); !reflect.DeepEqual(a, b) {
		t.Errorf("two plans of one sentence differ:\n%+v\n%+v", a, b)
	}
}

func TestRefused(t *testing.T) {
	cat, _ := load(t)
	move := func(room string) turn.Step {
		return turn.Step{ID: "step_1", TaskMethod: "setMoveTo", Params: wire.Object{"position": {V: room}}}
	}
	second := turn.Step{ID: "step_2", TaskMethod: "getAirQuality"}
	for _, tc := range []struct {
		name  string
		steps []turn.Step
		want  string
	}{
		{"no steps", nil, "no steps"},
		{"method that the catalog does not have", []turn.Step{{ID: "a", TaskMethod: "playMusic"}}, "unknown_method"},
		{"room that is not there", []turn.Step{move("다락방")}, "unknown_location"},
		{"room that cannot be reached", []turn.Step{move("베란다")}, "room_unreachable"},
		{"parameter out of range", []turn.Step{{ID: "a", TaskMethod: "setVolume", Params: wire.Object{"level": {V: 120.0}}}}, "bad_parameter"},
		{"dependency that is no step", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", DependsOn: []wire.Dependency{{Step: "b"}}}}, "no other step"},
		{"dependency on itself", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", DependsOn: []wire.Dependency{{Step: "a"}}}}, "no other step"},
		{"anchor that is no step", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", TemporalAnchorID: "b", DelayMS: 1}}, "no step"},
		{"two steps of one id", []turn.Step{move("주방"), move("거실")}, "used twice"},
		{"delay beyond 30 days", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", DelayMS: maxDelayMS + 1}}, "outside"},
		{"cloud step with a method", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", ExecutionTarget: "cloud"}}, "a skill and no method"},
		{"skill that the catalog does not have", []turn.Step{{ID: "a", Skill: "sing", ExecutionTarget: "cloud"}}, "no skill"},
		{"skill on the device", []turn.Step{{ID: "a", Skill: "content_session"}}, "cloud with a skill"},
		{"target that is nobody", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", ExecutionTarget: "moon"}}, "device with a method"},
		{"anchor event that nothing gives", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", TemporalRelation: "after_existing_event", AnchorEvent: "voice.ended"}}, "no operation gives"},
		{"anchor event without its relation", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", AnchorEvent: "cleaning.completed"}}, "goes with an event"},
		{"relation without its event", []turn.Step{{ID: "a", TaskMethod: "getAirQuality", TemporalRelation: "after_existing_event"}}, "goes with an event"},
		{"circle", []turn.Step{
			{ID: "step_1", TaskMethod: "getBatteryStatus", DependsOn: []wire.Dependency{{Step: "step_2"}}},
			{ID: second.ID, TaskMethod: second.TaskMethod, DependsOn: []wire.Dependency{{Step: "step_1"}}},
		}, "waits for itself"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Plan(cat, turn.Input{}, turn.Decision{Steps: tc.steps}, ids)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestRoomsOfTheDevice(t *testing.T) {
	cat, _ := load(t)
	in := turn.Input{Rooms: []wire.Room{{ID: "attic", Name: "다락방", Reachable: true}}}
	d := turn.Decision{Steps: []turn.Step{{ID: "a", TaskMethod: "setMoveTo", Params: wire.Object{"position": {V: "다락방"}}}}}
	if _, err := Plan(cat, in, d, ids); err != nil {
		t.Errorf("a room that the device reported is refused: %v", err)
	}
	d.Steps[0].Params["position"] = wire.Value{V: "거실"}
	if _, err := Plan(cat, in, d, ids); err == nil {
		t.Error("a room that the device does not have is accepted")
	}
}
