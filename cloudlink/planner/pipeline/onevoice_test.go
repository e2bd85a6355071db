package pipeline

import (
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// TestOneThingIsToldAtATime: what is told now ends where something else is to be told at once, and for nothing else.
func TestOneThingIsToldAtATime(t *testing.T) {
	story := []turn.Session{{SessionID: "cs_1", WorkflowID: "wf_1", StepID: "step_1", Skill: "content_session", Kind: "story", State: "active"}}
	reminder := []turn.Session{{SessionID: "cs_1", WorkflowID: "wf_1", StepID: "step_1", Skill: "content_session", Kind: "reminder", State: "active"}}
	for _, tc := range []struct {
		said string
		told []turn.Session
		ends bool
	}{
		{"퀴즈 내줘", story, true}, {"다른 이야기 해줘", story, true}, {"퀴즈 내줘", nil, false}, {"퀴즈 내줘", reminder, false},
		{"안방으로 가서 퀴즈 내줘", story, false}, {"주방으로 가", story, false},
	} {
		d := plan(t, whole(), turn.Input{TurnID: "tn_1", Text: tc.said, Locale: "ko-KR", Around: turn.Around{Link: "online", Sessions: tc.told}})
		ends := d.Control != nil && d.Control.Scope == "session" && d.Control.Target == "cs_1" && d.ControlOf == "wf_1"
		if ends != tc.ends || len(d.Steps) == 0 {
			t.Errorf("%q: control %+v, %d steps, want an end: %v", tc.said, d.Control, len(d.Steps), tc.ends)
		}
	}
}
