package running

import (
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestWhatIsLookedAt: the device is asked about its work for words that change it or ask about it, and for none that stop something.
func TestWhatIsLookedAt(t *testing.T) {
	r := newRig(t)
	a := open(r.under(s02))
	a.Link = "online"
	for text, want := range map[string]bool{"안방 말고 주방으로 가": true, "지금 뭐 해?": true, "청정 끝났어?": true, "청정은 빼고": true, "다 그만": false, "멈춰": false, "거실로 가": false, "안방 청정해줘": false,
		"오늘 날씨 어때?": false, "고마워": false, "아니 멈춰": false, "청정만 그만": false, "아니 다 취소해": false, "wait, stop": false, "7시로 바꿔 줘": false, "아니 오후 여섯 시로": false, "잠깐 멈춰": false} {
		if got := r.Looks(turn.Input{Text: text, Locale: "ko-KR", Around: a}); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestAnAnswerIsQuotedAsItSounds: what is passed on stands in quotation marks, with the particle that its last sound takes behind them.
func TestAnAnswerIsQuotedAsItSounds(t *testing.T) {
	for option, want := range map[string]string{"그만": "네, '그만'이라고 전할게요.", "다시 가 줘": "네, '다시 가 줘'라고 전할게요.", "거실": "네, '거실'이라고 전할게요."} {
		if got := say1(turn.Input{Text: "네"}, "answered", option); got != want {
			t.Errorf("%s: %s", option, got)
		}
	}
}
