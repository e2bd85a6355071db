package rules

import (
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestAStopIsObeyedWhateverStandsBeforeIt: what is said out of anger or as the reason keeps no stop from being one; what hangs on something,
// is asked, or is not to be stopped does.
func TestAStopIsObeyedWhateverStandsBeforeIt(t *testing.T) {
	p := planner(t)
	for said, want := range map[string]string{
		"아 시끄러워 청정 그만해":                      "stopCleaning",
		"머리가 아프니까 청정 좀 꺼":                    "stopCleaning",
		"손님이 오셨는데 청정 꺼 줘":                    "stopCleaning",
		"부딪히겠다 멈춰":                           "stopMovement",
		"아기가 잠들었어 다 그만":                      "cancel",
		"it is far too loud, stop cleaning":  "stopCleaning",
		"careful! stop":                      "stopMovement",
		"아니야 됐어 그냥 돌아와":                      "returnToStation",
		"에이 아니다 서재로 가 줘":                     "setMoveTo",
		"아니 거실로 가지 마":                        "",
		"아니야 거실로 갔어":                         "",
		"손님이 오시면 청정 꺼 줘":                     "",
		"애기 잠들 때 청정 꺼":                       "",
		"언니가 멈추라고 했는데 청정 계속 돌려":              "",
		"손님 가셨는데 청정 켜":                       "",
		"when my guests come, stop cleaning": "",
		"아기가 자는데 청정 꺼 줄까?":                   "",
		"불이 밝아서 불 꺼":                         "",
	} {
		d, err := p.Plan(t.Context(), turn.Input{Text: said, Locale: "ko-KR"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		switch {
		case d.Control != nil && len(d.Steps) == 0:
			got = d.Control.Verb
		case len(d.Steps) == 1:
			got = d.Steps[0].TaskMethod
		case len(d.Steps) > 1:
			got = "several steps"
		}
		if got != want {
			t.Errorf("%q: %q, want %q (%s)", said, got, want, d.TTSResponse)
		}
	}
}
