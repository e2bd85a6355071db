package running

import (
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestParaphrases: S31, S08. Own paraphrases of what the scenarios say, each with what it has to bring about.
func TestParaphrases(t *testing.T) {
	r := newRig(t)
	a := open(r.under(s02, "completed", "running", "pending"))
	a.Sessions = []turn.Session{{SessionID: "cs_1", WorkflowID: "wf_1", StepID: "q", Kind: "quiz", State: "active"}}
	toKitchen := func(d turn.Decision) bool {
		return d.Revises != nil && shape(d.Revises.Plan) == "step_1 setMoveTo 거실; step_2 startBasicAirClear after step_1; step_3_r1 setMoveTo 주방 after step_2 | stops step_3"
	}
	told := func(d turn.Decision) bool {
		return d.SpeechAct == Progress && d.Revises == nil && d.Control == nil && len(d.Evidence) > 1
	}
	quizOff := func(d turn.Decision) bool {
		return d.Control != nil && d.Control.Scope == "session" && d.Control.Target == "cs_1" && d.Revises == nil
	}
	noCleaning := func(d turn.Decision) bool {
		return d.Revises != nil && shape(d.Revises.Plan) == "step_1 setMoveTo 거실; step_3 setMoveTo 안방 after step_1 | stops step_2"
	}
	for _, tc := range []struct {
		texts []string
		is    func(turn.Decision) bool
	}{
		{[]string{"안방 말고 주방으로 가 줘", "안방이 아니라 주방으로 가", "안방으로 가지 말고 주방으로 가", "안방 가지 말고 주방으로 가 줘", "주방으로 가 안방 말고", "그냥 주방으로 가", "목적지를 주방으로 바꿔 줘", "주방으로 바꿔",
			"안방 대신에 주방으로 가 줄래", "아니야 안방 말고 부엌", "change the destination to the kitchen", "kitchen instead of the master bedroom"}, toKitchen},
		{[]string{"지금 뭐 하는 거야?", "뭐 하고 있니?", "지금 무슨 일 하고 있어?", "너 지금 뭐 하고 있어?", "뭐하는 중?", "지금 하고 있는 일이 뭐야?", "시킨 일은 어떻게 되고 있어?", "지금 뭐 하고 있는지 알려 줘", "어디까지 됐어?",
			"진행 상황 알려 줘", "얼마나 남았어?", "what's the status", "what are you doing right now?"}, told},
		{[]string{"청정은 놔두고 퀴즈는 그만하자", "퀴즈는 이제 그만할래", "퀴즈 그만하고 청정은 계속해 줘", "청정은 그대로 두고 퀴즈만 꺼 줘", "퀴즈만 멈춰 줘", "퀴즈 그만", "stop the quiz", "퀴즈 게임만 그만해"}, quizOff},
		{[]string{"청정은 빼 줘", "청정은 안 해도 돼", "청정은 필요 없어", "청정 건너뛰어", "청정은 제외해 줘", "청정만 취소해 줘", "leave out the cleaning"}, noCleaning},
	} {
		for _, text := range tc.texts {
			if d, by := r.say(text, a); !tc.is(d) {
				t.Errorf("%q is answered by %q: %q %+v", text, by, d.TTSResponse, d.Control)
			}
		}
	}
}

// TestWordsThatAreNotMeant: not said to the robot, or not said to their end.
func TestWordsThatAreNotMeant(t *testing.T) {
	r := newRig(t)
	a := open(r.under(s02, "completed", "running", "pending"))
	no := false
	for _, v := range []turn.Voice{{Addressed: &no}, {Partial: true}} {
		a.Voice = v
		for _, text := range []string{"안방 말고 주방으로 가", "잠깐 멈춰", "청정만 그만", "지금 뭐 해?"} {
			if _, by := r.say(text, a); by != "" {
				t.Errorf("%q is answered by %s", text, by)
			}
		}
	}
}
