package rules

import (
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestStandStillIsHeard: who cries to a robot that moves has no time to choose the word. What only speaks of standing still moves nothing either.
func TestStandStillIsHeard(t *testing.T) {
	p := planner(t)
	for _, said := range []string{"그대로 멈춰", "가만히 있어", "움직이지 마", "야 거기 서", "위험해 멈춰!", "움직이지 말라고", "제자리에 가만히 있어 줘", "당장 정지해", "멈춰 멈춰", "동작 그만", "로봇아 좀 가만있어 봐"} {
		d, err := p.Plan(t.Context(), turn.Input{Text: said})
		if err != nil || len(d.Steps) != 1 || d.Steps[0].TaskMethod != "stopMovement" || d.Steps[0].Span == "" {
			t.Errorf("%s: %+v %v", said, d.Steps, err)
		}
	}
	for _, said := range []string{"가만히 있으니까 심심해", "버스가 멈춰 섰어", "왜 멈췄어?", "나 여기 있어", "가만히 있어도 땀이 나", "멈춰 있어?", "엘리베이터가 멈췄어"} {
		d, err := p.Plan(t.Context(), turn.Input{Text: said})
		if err != nil || len(d.Steps) > 0 || d.Control != nil {
			t.Errorf("%s: %+v %v", said, d.Steps, err)
		}
	}
}

// TestModesAreReleased: "풀어" takes back what holds, and mutes nothing.
func TestModesAreReleased(t *testing.T) {
	p := planner(t)
	for said, method := range map[string]string{"음소거 풀어 줘": "setVolume", "매너모드 풀어 줘": "setMannerMode", "취침 모드 좀 풀어 줘": "setNightMode", "소리 풀어 줘": "", "화면 좀 어둡게 해 줘": "", "소리 크게 해 줘": ""} {
		d, err := p.Plan(t.Context(), turn.Input{Text: said})
		switch {
		case err != nil:
			t.Error(err)
		case method == "" && (len(d.Steps) > 0 || d.OwnerSelection != turn.ODL || !d.AskFollowUp):
			t.Errorf("%s: %s %+v, it should be asked", said, d.OwnerSelection, d.Steps)
		case method != "" && (len(d.Steps) != 1 || d.Steps[0].TaskMethod != method):
			t.Errorf("%s: %+v", said, d.Steps)
		}
	}
}
