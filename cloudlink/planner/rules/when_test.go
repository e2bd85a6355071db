package rules

import (
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestWhatOnlySaysWhen: a thing that ends first is not what the sentence is about.
func TestWhatOnlySaysWhen(t *testing.T) {
	p := planner(t)
	for said, want := range map[string]turn.Family{
		"회의 끝나면 늘 기운이 빠져":     turn.DEF,
		"드라마 끝나면 왜 이렇게 허무하지":  turn.DEF,
		"회의 끝나면 뉴스 요약해 줘":     turn.FRG,
		"수업 끝나고 먹을 맛집 추천해 줘":  turn.FRG,
		"오늘 회의 언제 끝나?":        turn.SCH,
		"회의 끝나고 일정이 있는지 봐 줘":  turn.SCH,
		"드라마 틀어 줘":            turn.UNS,
		"통화 끝나면 음악 틀어 줘":      turn.UNS,
		"오후 두 시에 알림 하나 만들어 줘": turn.SCH,
		"약 먹는 시간 알림 등록해 줘":    turn.SCH,
		"카톡 알림 꺼 줘":           turn.UNS,
		"문자 알림 소리 설정해 줘":      turn.UNS,
		"알림 온 거 읽어 줘":         turn.UNS,
		"다음 주 월요일 알림 추가 부탁해":  turn.SCH,
	} {
		if d := plan(t, p, said); d.OwnerSelection != want {
			t.Errorf("%q: %s, want %s", said, d.OwnerSelection, want)
		}
	}
}

// TestALongSpeechIsTalk: nothing of it is done, whatever stands at its beginning, and it takes no longer to read than its beginning.
func TestALongSpeechIsTalk(t *testing.T) {
	p := planner(t)
	for _, said := range []string{strings.Repeat("주방으로 가 ", 1000), "거실로 가서 청정해 줘. " + strings.Repeat("오늘은 정말 힘든 하루였어. ", 40), strings.Repeat("go to the kitchen ", 100), strings.Repeat("뉴스 틀어 줘 ", 100)} {
		if d := plan(t, p, said); d.OwnerSelection != turn.DEF || len(d.Steps) > 0 || d.Control != nil {
			t.Errorf("%.30q…: %s with %d steps", said, d.OwnerSelection, len(d.Steps))
		}
	}
}
