package running

import "testing"

// TestWhatIsNoWordAboutWork: what people say for other reasons fits no pattern, or names nothing that is known.
func TestWhatIsNoWordAboutWork(t *testing.T) {
	for _, text := range []string{"다 그만", "멈춰", "거실로 가", "안방 청정해줘", "오늘 날씨 어때?", "고마워", "오늘 좀 힘들었어", "stop", "go to the kitchen", "퀴즈 내줘", "잠깐 멈춰", "아니 멈춰", "청정만 그만", "아니 다 취소해", "wait, stop"} {
		if Looks(text) {
			t.Errorf("%q is about work that is under way", text)
		}
	}
}
