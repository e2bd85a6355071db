package rules

import "testing"

func TestConjugation(t *testing.T) {
	for _, tc := range []struct{ stem, inf, past, n, l, eu string }{
		{"가", "가", "갔", "간", "갈", "가"},
		{"켜", "켜", "켰", "켠", "켤", "켜"},
		{"끄", "꺼", "껐", "끈", "끌", "끄"},
		{"하", "해", "했", "한", "할", "하"},
		{"멈추", "멈춰", "멈췄", "멈춘", "멈출", "멈추"},
		{"틀", "틀어", "틀었", "튼", "틀", "틀"},
		{"돌아오", "돌아와", "돌아왔", "돌아온", "돌아올", "돌아오"},
		{"줄이", "줄여", "줄였", "줄인", "줄일", "줄이"},
		{"나쁘", "나빠", "나빴", "나쁜", "나쁠", "나쁘"},
		{"좋", "좋아", "좋았", "좋은", "좋을", "좋으"},
		{"어둡", "어두워", "어두웠", "어두운", "어두울", "어두우"},
		{"고르", "골라", "골랐", "고른", "고를", "고르"},
		{"되", "돼", "됐", "된", "될", "되"},
	} {
		got := []string{infinitive(tc.stem), past(tc.stem), withTail(tc.stem, tN, "은"), withTail(tc.stem, tL, "을"), euStem(tc.stem)}
		want := []string{tc.inf, tc.past, tc.n, tc.l, tc.eu}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: form %d is %q, want %q", tc.stem, i, got[i], want[i])
			}
		}
	}
}
