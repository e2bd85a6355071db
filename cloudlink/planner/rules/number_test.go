package rules

import "testing"

func TestDurations(t *testing.T) {
	p := planner(t).readers[korean]
	for text, want := range map[string]int64{
		"30초": 30_000, "삼십초": 30_000, "삼십 초": 30_000, "오 분": 300_000, "1분 30초": 90_000, "한 시간 반": 5_400_000, "한시간반": 5_400_000, "두 시간": 7_200_000,
		"1시간 20분": 4_800_000, "스물다섯 초": 25_000, "백이십 초": 120_000, "1.5시간": 5_400_000, "열 시간": 36_000_000, "십오분": 900_000, "1분반": 90_000,
	} {
		it, ok := p.duration([]rune(text), 0)
		if !ok || it.ms != want || it.end != len([]rune(text)) {
			t.Errorf("%s: %d ms to %d (%v), want %d", text, it.ms, it.end, ok, want)
		}
	}
	for _, text := range []string{"분", "이 방", "일곱시", "삼", "반드시"} {
		if it, ok := p.duration([]rune(text), 0); ok {
			t.Errorf("%s is read as %d ms", text, it.ms)
		}
	}
}

func TestSinoNumbers(t *testing.T) {
	p := planner(t).readers[korean]
	for text, want := range map[string]float64{"영": 0, "오": 5, "십": 10, "십오": 15, "이십": 20, "구십구": 99, "백": 100, "백오": 105, "이백삼십": 230, "천이백": 1200} {
		if q, ok := p.sino([]rune(text), 0); !ok || q.value != want || q.end != len([]rune(text)) {
			t.Errorf("%s: %v to %d (%v), want %v", text, q.value, q.end, ok, want)
		}
	}
}
