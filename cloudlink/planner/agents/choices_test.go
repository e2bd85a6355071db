package agents

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

func choices(t *testing.T, likes ...string) *session {
	t.Helper()
	a := build(t, Sources{})
	out := a.Do(t.Context(), Task{Skill: SkillRest, Inputs: map[string]any{"kind": "choices"}, Locale: "ko-KR", Now: now, Tells: true, Likes: likes})
	if out.Reason != "" || out.Talk == nil || out.Words[0].Last || out.Words[0].Act != "question" {
		t.Fatalf("%+v", out)
	}
	s := &session{t: t, a: a, talk: *out.Talk}
	s.take(out.Words)
	return s
}

// What there is is told, what somebody likes first; it is confirmed once, and is what the next session tells.
func TestChoices(t *testing.T) {
	for _, tc := range []struct {
		name   string
		likes  []string
		first  string
		answer string
		says   string
		chosen string
	}{
		{"named", nil, "퀴즈, 이야기, 뉴스가 있어요. 무엇을 할까요?", "퀴즈 하자", "퀴즈로 할게요.", "quiz"},
		{"another", nil, "퀴즈, 이야기, 뉴스가", "동화가 좋겠어", "이야기로 할게요.", "story"},
		{"the news", nil, "퀴즈, 이야기, 뉴스가", "뉴스", "뉴스로 할게요.", "news"},
		{"a liking", []string{"나는 동화를 좋아해"}, "좋아하신다고 하신 이야기, 그리고 퀴즈, 뉴스가", "아무거나", "이야기로 할게요.", "story"},
		{"a liking of something else", []string{"나는 사과를 좋아해"}, "퀴즈, 이야기, 뉴스가", "네가 골라", "퀴즈로 할게요.", "quiz"},
	} {
		s := choices(t, tc.likes...)
		if !strings.HasPrefix(s.heard[0], tc.first) {
			t.Errorf("%s: told %q", tc.name, s.heard[0])
		}
		s.on("user_response", tc.answer, 1)
		if s.last.Text != tc.says || !s.last.Last || s.last.Act != "ack" || s.memory.Chosen != tc.chosen || s.talk.Reason != "" {
			t.Errorf("%s: %+v %+v", tc.name, s.last, s.memory)
		}
	}
}

func TestNobodyChooses(t *testing.T) {
	s := choices(t)
	if s.on("user_response", "글쎄", 1); s.last.Last || !strings.Contains(s.last.Text, "골라 주세요") || s.talk.Wait == 0 {
		t.Errorf("%+v", s.last)
	}
	if s.on(Waited, "", 2); !s.last.Last || s.talk.Reason != ReasonNoAnswer || s.memory.Chosen != "" {
		t.Errorf("%+v %+v", s.last, s.talk)
	}
	s = choices(t)
	if s.on("user_response", "그만할래", 1); !s.last.Last || s.talk.Reason != ReasonNoAnswer {
		t.Errorf("%+v %+v", s.last, s.talk)
	}
}

func TestTheChoiceIsTold(t *testing.T) {
	m := Memory{Chosen: "quiz", ChosenMS: now.Add(-time.Minute).UnixMilli()}
	s := begin(t, nil, m)
	if s.talk.Kind != kindQuiz || s.memory.Chosen != "" {
		t.Errorf("%+v %+v", s.talk, s.memory)
	}
	if again := begin(t, nil, s.memory); again.talk.Kind != kindStory {
		t.Errorf("the choice counts twice: %+v", again.talk)
	}
	if late := begin(t, nil, Memory{Chosen: "quiz", ChosenMS: now.Add(-time.Hour).UnixMilli()}); late.talk.Kind != kindStory {
		t.Errorf("a choice of an hour ago: %+v", late.talk)
	}
	if named := begin(t, map[string]any{"kind": "story"}, m); named.talk.Kind != kindStory || named.memory.Chosen != "" {
		t.Errorf("%+v", named.talk)
	}
	a := build(t, Sources{Feeds: []Feed{{"뉴스", serve(t, text(feedXML))}}})
	out := a.Do(t.Context(), Task{Skill: SkillContent, Locale: "ko-KR", Now: now, Tells: true, Memory: Memory{Chosen: "news", ChosenMS: now.UnixMilli()}})
	if out.Reason != "" || !strings.Contains(out.Text, "한강 다리") || out.Talk != nil || out.Memory == nil || out.Memory.Chosen != "" {
		t.Errorf("%+v", out)
	}
}

func TestChoicesThatComeAsTurns(t *testing.T) {
	s := choices(t)
	quiz := turn.Decision{OwnerSelection: turn.STM, Steps: []turn.Step{{ID: "a", Skill: SkillContent}}}
	move := turn.Decision{OwnerSelection: turn.ODL, Steps: []turn.Step{{ID: "a", TaskMethod: "setMoveTo"}}}
	for _, tc := range []struct {
		said string
		d    turn.Decision
		want bool
	}{
		{"퀴즈 내줘", quiz, true}, {"뉴스", turn.Decision{OwnerSelection: turn.FRG}, true}, {"아무거나", turn.Decision{OwnerSelection: turn.UNS}, true}, {"음", turn.Decision{OwnerSelection: turn.STTNull}, true},
		{"주방으로 가서 이야기 들려줘", move, false}, {"오늘 날씨 어때", turn.Decision{OwnerSelection: turn.FRG}, false},
		{"응", turn.Decision{OwnerSelection: turn.DEF, Memo: &turn.MemoWish{Verb: "keep"}}, false},
	} {
		if got := s.a.Hears(s.talk, tc.said, tc.d); got != tc.want {
			t.Errorf("%s: %v", tc.said, got)
		}
	}
	if !slices.Equal(s.talk.Offered, choosable) {
		t.Errorf("%v", s.talk.Offered)
	}
}
