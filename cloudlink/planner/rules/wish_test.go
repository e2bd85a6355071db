package rules

import (
	"strings"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// TestWishes: a wish is planned only where it is all that is asked for, as a request.
func TestWishes(t *testing.T) {
	p := planner(t)
	for _, tc := range []sentence{
		{"조금만 쉬게 해 줘", rest},
		{"나 쉬고 싶어", "DEF"},
		{"쉬게 해 줄 수 있어?", rest},
		{"휴식을 취하려고 해", "DEF"},
		{"어제는 쉴 수 있어서 좋았어", "DEF"},
		{"심심하지 않아", "DEF"},
	} {
		if got := short(plan(t, p, tc.said)); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.said, got, tc.want)
		}
	}
	for _, said := range []string{"거실로 가서 쉬게 도와줘", "유튜브 틀어서 쉬게 해 줘", "여섯 시에 쉬게 도와줘", "매일 밤 쉬게 도와줘"} {
		if d := plan(t, p, said); strings.Contains(short(d), "rest_guidance") {
			t.Errorf("%s: a part of it is left out: %s", said, short(d))
		}
	}
	for _, s := range plan(t, p, "편하게 쉬게 도와줘").Steps {
		if op := p.cat.Operations["stopCleaning"]; s.TaskMethod == string(op.Method) || s.TaskMethod == "setMoveTo" {
			t.Errorf("a wish to rest moves the robot or ends work: %+v", s)
		}
	}
}

// TestTwoWordsThatWouldDo: which of two rooms was meant is not guessed.
func TestTwoWordsThatWouldDo(t *testing.T) {
	p := planner(t)
	one := []wire.Room{{ID: "r1", Name: "다락", Reachable: true}}
	two := append(one, wire.Room{ID: "r2", Name: "타락", Reachable: true})
	for _, tc := range []struct {
		rooms []wire.Room
		want  string
	}{{one, "setMoveTo(position=다락)"}, {two, "ODL ask position"}} {
		d, err := p.Plan(t.Context(), turn.Input{Text: "따락으로 가 줘", Rooms: tc.rooms})
		if err != nil || short(d) != tc.want {
			t.Errorf("%d rooms: %s, want %s (%v)", len(tc.rooms), short(d), tc.want, err)
		}
	}
}
