package running

import (
	"strings"
	"testing"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// stuck is a plan of words of which a step asks.
func (r *rig) stuck(text, step, reason string, owed ...string) Stuck {
	r.t.Helper()
	s := Stuck{Workflow: r.under(text), StepID: step, ReasonCode: reason, Locale: "ko-KR"}
	for _, id := range owed {
		s.Owed = append(s.Owed, wire.RemainingEffect{CloudStepID: id, EffectID: "e", State: "bound"})
	}
	return s
}

// fits is the check of the device, with the rooms that it has.
func (r *rig) fits(rooms []wire.Room) func(wire.Plan) bool {
	cat := r.home(turn.Input{Rooms: rooms})
	return func(p wire.Plan) bool {
		_, faults := bridge.CheckPlan(cat, &p)
		return len(faults) == 0
	}
}

// TestTheSmallestChangeIsTriedFirst: S19. What cannot be reached is given up with what was to be done there, and the next way is gone; where
// nothing else was asked for there is nothing to replan.
func TestTheSmallestChangeIsTriedFirst(t *testing.T) {
	r := newRig(t)
	for _, tc := range []struct {
		name, text, step, reason string
		want                     string // "": no replan
	}{
		{"the rest has a way of its own", s02, "step_1", "path_blocked", "replan_cloud smallest_change, rest: step_3 setMoveTo 안방 | stops step_2 step_1"},
		{"two rooms", "거실 청정하고 안방 청정해줘", "step_1", "room_unreachable", "replan_cloud smallest_change, rest: step_3 setMoveTo 안방; step_4 startBasicAirClear after step_3 | stops step_2 step_1"},
		{"it goes home", "거실로 가서 공기 상태 확인하고 충전대로 복귀해", "step_1", "step_timeout", "replan_cloud smallest_change, rest: step_3 returnToStation | stops step_2 step_1"},
		{"the second way", "거실로 가서 청정하고 안방 갔다가 복귀해", "step_3", "path_blocked", "replan_cloud smallest_change, rest: step_1 setMoveTo 거실; step_2 startBasicAirClear after step_1; step_4 returnToStation after step_2 | stops step_3"},
		{"nothing else", "거실로 가서 청정해", "step_1", "path_blocked", ""},
		{"what is left is done", "화면 켜고 거실로 가서 청정해", "step_2", "path_blocked", ""},
		{"what follows hangs on it", "거실로 가서 공기 상태 확인하고 필요하면 청정해줘", "step_1", "path_blocked", ""},
		{"not the way has failed", s02, "step_2", "step_timeout", ""},
		{"not the place is the reason", s02, "step_1", "executor_busy", ""},
		{"a person's stop", s02, "step_1", "external_stop", ""},
		{"no such step", s02, "step_9", "path_blocked", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := r.Replan(r.stuck(tc.text, tc.step, tc.reason), r.fits(nil))
			text := ""
			if ok {
				text = got.Action + " " + got.Why() + ": " + shape(got.Plan)
			}
			if text != tc.want {
				t.Errorf("%s\nwant %s", text, tc.want)
			}
			if ok && got.Plan.Workflow.Revision != 1 {
				t.Errorf("revision %d", got.Plan.Workflow.Revision)
			}
		})
	}
}

// TestNoReplanGivesUpWhatTheGoalRequires: a plan that completes without it would be no success.
func TestNoReplanGivesUpWhatTheGoalRequires(t *testing.T) {
	r := newRig(t)
	s := r.stuck(s02, "step_1", "path_blocked")
	s.Workflow.Plan.Experience = &wire.Experience{ContractVersion: "experience.v1", ExperienceID: "exp_1", GoalID: "g", Effects: []wire.GoalEffect{{EffectID: "air_cleaning_completed", StepID: "step_2", Required: true}, {EffectID: "target_location_reached", StepID: "step_3", Required: true}}}
	if got, ok := r.Replan(s, r.fits(nil)); ok {
		t.Errorf("%s: %s", got.Why(), shape(got.Plan))
	}
	s.Workflow.Plan.Experience.Effects[0].Required = false
	got, ok := r.Replan(s, r.fits(nil))
	if !ok || len(got.Plan.Experience.Effects) != 1 || len(s.Workflow.Plan.Experience.Effects) != 2 {
		t.Errorf("%+v", got.Plan.Experience)
	}
}

// TestARoomIsFoundByTheNameThatItHasNow: the map was made anew since the plan, and the words still mean the room.
func TestARoomIsFoundByTheNameThatItHasNow(t *testing.T) {
	r := newRig(t)
	rooms := []wire.Room{{ID: "m1", Name: "큰방", Reachable: true}, {ID: "m2", Name: "거실", Reachable: true}, {ID: "m3", Name: "다용도실", Reachable: true}}
	s := r.stuck(s02, "step_3", "unknown_location", "step_3")
	s.Rooms = rooms
	got, ok := r.Replan(s, r.fits(rooms))
	if !ok || got.What != "other_name" || shape(got.Plan) != "step_1 setMoveTo 거실; step_2 startBasicAirClear after step_1; step_3_r1 setMoveTo 큰방 after step_2 | stops step_3" {
		t.Errorf("%+v: %s", got, shape(got.Plan))
	}
}

// TestTheWordsAreReadAnewWhereNoSmallChangeIsValid: what is done is adopted word for word, the rest has ids of its own.
func TestTheWordsAreReadAnewWhereNoSmallChangeIsValid(t *testing.T) {
	r := newRig(t)
	rooms := []wire.Room{{ID: "m1", Name: "침실", Aliases: []string{"안방"}, Reachable: true}, {ID: "m2", Name: "거실", Reachable: true}}
	s := r.stuck("거실로 가서 공기 상태 확인하고 안방으로 가", "step_3", "unknown_location", "step_3")
	s.Rooms = rooms
	s.Workflow.Plan.Requests[2].Params["position"] = wire.Value{V: "옛날 안방"} // as the map was called once: nobody knows that name now
	s.Workflow.Plan.Requests[2].DependsOn[0].Step = "step_2"
	got, ok := r.Replan(s, r.fits(rooms))
	if !ok || got.How != Rebuilt || got.Action != "replan_cloud" {
		t.Fatalf("%v %+v", ok, got)
	}
	if text := shape(got.Plan); text != "step_1 setMoveTo 거실; step_2 getAirQuality after step_1; step_3_r1 setMoveTo 침실 after step_2 | stops step_3" {
		t.Error(text)
	}
	s.Workflow.Plan.Experience = &wire.Experience{ExperienceID: "exp_1"}
	if _, ok := r.Replan(s, r.fits(rooms)); ok {
		t.Error("a plan with a goal is made anew")
	}
	s.Workflow.Plan.Experience, s.Workflow.Utterance = nil, "거실로 가서 공기 상태 확인하고 옛날 안방으로 가"
	if _, ok := r.Replan(s, r.fits(rooms)); ok {
		t.Error("words that are not understood become a plan")
	}
}

// TestAnotherProviderTakesOver: only one of the catalog that brings the same effect about, moves nothing, and needs no consent.
func TestAnotherProviderTakesOver(t *testing.T) {
	r := newRig(t)
	s := r.stuck(s02, "step_2", "executor_unavailable")
	s.Owed = []wire.RemainingEffect{{CloudStepID: "step_2", EffectID: "air_cleaning_completed", Providers: []string{"startBasicAirClear", "returnToStation", "startVitalSign", "nobody", "setAirCleanerOperation", "setNightMode"}}}
	got, ok := r.Replan(s, func(wire.Plan) bool { return true })
	if !ok || got.Action != "substitute" || !strings.Contains(shape(got.Plan), "step_2_r1 setNightMode after step_1; step_3 setMoveTo 안방 after step_2_r1") {
		t.Errorf("%+v: %s", got, shape(got.Plan))
	}
	if _, ok := r.Replan(s, r.fits(nil)); ok {
		t.Error("a provider that the check refuses is sent")
	}
}

// TestAnInvalidChangeIsNotSent: the same check as for every plan comes last.
func TestAnInvalidChangeIsNotSent(t *testing.T) {
	r := newRig(t)
	if got, ok := r.Replan(r.stuck(s02, "step_1", "path_blocked"), func(wire.Plan) bool { return false }); ok {
		t.Errorf("sent %s", got.Why())
	}
}
