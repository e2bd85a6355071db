package agents

import (
	"slices"
	"testing"
)

// A reminder is said three times, and then no more; whoever answers anything has heard it.
func TestReminder(t *testing.T) {
	const text = "약 먹을 시간이에요."
	s := begin(t, map[string]any{"kind": "reminder", "text": text}, Memory{})
	if s.last.Last || s.talk.Wait != 120_000 {
		t.Errorf("%+v %+v", s.last, s.talk)
	}
	s.on(Waited, "", 1)
	s.on(Waited, "", 2)
	if !s.last.Last || s.talk.Wait != 0 || !slices.Equal(s.heard, []string{text, text, text}) {
		t.Errorf("said %q, %+v", s.heard, s.talk)
	}
	s.on(Waited, "", 3)
	if len(s.heard) != 3 {
		t.Errorf("said %q", s.heard)
	}
	s = begin(t, map[string]any{"kind": "reminder", "text": text}, Memory{})
	s.on("user_response", "알았어", 1)
	if !s.last.Last || s.talk.Wait != 0 || s.last.Text != "네, 그만 알려 드릴게요." || len(s.heard) != 2 {
		t.Errorf("said %q, %+v", s.heard, s.talk)
	}
	if out := do(t, build(t, Sources{}), SkillContent, map[string]any{"kind": "reminder"}); out.Reason == "" {
		t.Errorf("nothing to say: %+v", out)
	}
}
