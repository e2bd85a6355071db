package agents

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// The data is whole: enough of it, in both languages, and every quiz accepts its own answer as a person would say it.
func TestOwnContent(t *testing.T) {
	c := ownContent()
	perLevel := map[int]int{}
	for _, q := range c.quizzes {
		perLevel[q.Level]++
		for locale, endings := range map[string][]string{"ko-KR": {"", "요", "이요", "입니다", "이에요"}, "en-US": {""}} {
			in := q.in(locale)
			if in.Ask == "" || in.Answer == "" {
				t.Errorf("%s has no words in %s", q.ID, locale)
			}
			for _, said := range append([]string{in.Answer}, in.Accept...) {
				for _, end := range endings {
					if !in.right(said + end) {
						t.Errorf("%s: %q is not accepted", q.ID, said+end)
					}
				}
			}
			if in.right("글쎄요 잘 모르겠네요") || in.right("let me think about it") || in.right("") {
				t.Errorf("%s accepts what is no answer", q.ID)
			}
		}
	}
	if len(perLevel) != levels || perLevel[1] < 7 || perLevel[2] < 7 || perLevel[3] < 7 {
		t.Errorf("quizzes by level: %v", perLevel)
	}
	if len(c.stories) < 4 {
		t.Errorf("%d stories", len(c.stories))
	}
	for _, s := range c.stories {
		if len(s.Ko.Parts) != len(s.En.Parts) || len(s.Ko.Parts) < 4 || len(s.Ko.Parts)+2 > 16 || s.Ko.Title == "" || s.En.Title == "" {
			t.Errorf("story %s: %d and %d parts", s.ID, len(s.Ko.Parts), len(s.En.Parts))
		}
	}
}

func TestEveryQuizTellsOthersApart(t *testing.T) {
	c := ownContent()
	for _, q := range c.quizzes {
		for _, o := range c.quizzes {
			if q.ID != o.ID && !slices.ContainsFunc(q.Ko.Accept, func(w string) bool { return slices.Contains(o.Ko.Accept, w) }) && q.Ko.right(o.Ko.Answer) {
				t.Errorf("%s takes %q, the answer of %s", q.ID, o.Ko.Answer, o.ID)
			}
		}
	}
}

// session plays what a robot and its listener do.
type session struct {
	t      *testing.T
	a      *Agents
	talk   Talk
	memory Memory
	heard  []string
	last   Words
}

func begin(t *testing.T, inputs map[string]any, m Memory) *session {
	t.Helper()
	a := build(t, Sources{})
	out := a.Do(t.Context(), Task{Skill: SkillContent, Inputs: inputs, Locale: "ko-KR", Now: now, Tells: true, Memory: m})
	if out.Reason != "" || out.Talk == nil {
		t.Fatalf("no session: %+v", out)
	}
	s := &session{t: t, a: a, talk: *out.Talk, memory: *out.Memory}
	s.take(out.Words)
	return s
}

func (s *session) take(words []Words) {
	for _, w := range words {
		s.heard, s.last = append(s.heard, w.Text), w
	}
}

func (s *session) on(what, text string, position int64) (over bool) {
	words, talk, memory, over := s.a.Next(s.talk, s.memory, now, Event{What: what, Text: text, Position: position})
	s.talk, s.memory = talk, memory
	s.last = Words{}
	s.take(words)
	return over
}

// answer says the right answer of the question that is open, or another one.
func (s *session) answer(right bool) {
	q, _ := s.a.content.quiz(s.talk.Asked)
	said := "잘은 모르지만 코끼리"
	if right {
		said = q.Ko.Answer + "요"
	}
	s.on("user_response", said, 1)
}

func TestQuiz(t *testing.T) {
	s := begin(t, map[string]any{"kind": "quiz"}, Memory{})
	if s.last.Act != "question" || s.last.Last || !strings.HasPrefix(s.last.Text, "퀴즈를 시작할게요.") || s.talk.Wait != answerWait || s.talk.Level != 1 {
		t.Fatalf("%+v %+v", s.last, s.talk)
	}
	s.answer(true)
	if !strings.HasPrefix(s.last.Text, "맞았어요.") || s.last.Last || s.last.Act != "question" || !strings.Contains(s.last.Text, "2번 문제") {
		t.Errorf("%+v", s.last)
	}
	s.answer(false)
	if !strings.HasPrefix(s.last.Text, "아쉬워요.") {
		t.Errorf("%+v", s.last)
	}
	asked := slices.Clone(s.talk.Asked)
	if s.on("user_response", "다시 한번 말해 줄래", 2); !slices.Equal(asked, s.talk.Asked) || s.last.Act != "question" || strings.Contains(s.last.Text, "정답") {
		t.Errorf("asked to say it again: %+v", s.last)
	}
	if s.on("user_response", "모르겠어", 3); !strings.HasPrefix(s.last.Text, "정답은") {
		t.Errorf("%+v", s.last)
	}
	s.answer(true)
	if s.answer(true); !s.last.Last || s.last.Act != "done" || !strings.Contains(s.last.Text, "3문제를 맞히셨어요") {
		t.Errorf("the end: %+v", s.last)
	}
	if len(s.talk.Asked) != questionsEach || len(slices.Compact(slices.Sorted(slices.Values(s.talk.Asked)))) != questionsEach {
		t.Errorf("asked %v", s.talk.Asked)
	}
	if s.on("user_response", "또", 6); s.last.Text != "" {
		t.Errorf("words behind the last ones: %+v", s.last)
	}
	if !s.on("completed", "", 6) {
		t.Error("it goes on when it was heard to its end")
	}
}

// An answer that comes as a turn is for the quiz; an order is not.
func TestWhoIsMeant(t *testing.T) {
	s := begin(t, map[string]any{"kind": "quiz"}, Memory{})
	step := []turn.Step{{ID: "a"}}
	for _, tc := range []struct {
		said string
		d    turn.Decision
		want bool
	}{
		{"무지개요", turn.Decision{OwnerSelection: turn.FRG}, true},
		{"구름이요", turn.Decision{OwnerSelection: turn.STTNull}, true},
		{"음 뭐더라", turn.Decision{OwnerSelection: turn.DEF}, true},
		{"다시 한번 말해 줘", turn.Decision{OwnerSelection: turn.UNS}, true},
		{"주방으로 가", turn.Decision{OwnerSelection: turn.ODL, Steps: step}, false},
		{"무지개 뜨면 청정해", turn.Decision{OwnerSelection: turn.ODL, Steps: step}, false},
		{"다 그만", turn.Decision{OwnerSelection: turn.ODL, Control: &wire.Control{}}, false},
		{"오늘 날씨 어때", turn.Decision{OwnerSelection: turn.FRG}, false},
		{"지금 뭐 해", turn.Decision{OwnerSelection: turn.ODL}, false},
		{"네", turn.Decision{OwnerSelection: turn.ODL, Answers: &turn.Answers{}}, false},
		{"응", turn.Decision{OwnerSelection: turn.DEF, Memo: &turn.MemoWish{Verb: "keep"}}, false},
	} {
		if got := s.a.Hears(s.talk, tc.said, tc.d); got != tc.want {
			t.Errorf("%s: %v", tc.said, got)
		}
	}
	s.on("user_response", "그만", 1)
	if s.a.Hears(s.talk, "무지개", turn.Decision{OwnerSelection: turn.DEF}) {
		t.Error("a quiz that has ended hears answers")
	}
	pills := begin(t, map[string]any{"kind": "reminder", "text": "약 드실 시간이에요."}, Memory{})
	if !pills.a.Hears(pills.talk, "알았어", turn.Decision{OwnerSelection: turn.DEF}) || pills.a.Hears(pills.talk, "주방으로 가", turn.Decision{OwnerSelection: turn.ODL, Steps: step}) {
		t.Error("a reminder is answered by an order, or not by an answer")
	}
	story := begin(t, map[string]any{"kind": "story"}, Memory{})
	if story.a.Hears(story.talk, "무지개", turn.Decision{OwnerSelection: turn.DEF}) {
		t.Error("a story waits for an answer")
	}
}

func TestQuizThatNobodyAnswers(t *testing.T) {
	s := begin(t, map[string]any{"kind": "quiz"}, Memory{})
	if s.on(Waited, "", 1); !strings.HasPrefix(s.last.Text, "답을 듣지 못했어요.") || s.last.Last {
		t.Errorf("%+v", s.last)
	}
	if s.on(Waited, "", 2); !s.last.Last || !strings.Contains(s.last.Text, "대답이 없어서") || s.talk.Wait != 0 {
		t.Errorf("%+v", s.last)
	}
	if len(s.memory.Answers) != 0 {
		t.Errorf("silence counts as answers: %+v", s.memory)
	}
}

func TestQuizIsStopped(t *testing.T) {
	for _, said := range []string{"이제 그만할래", "이제 자야겠다", "잘 자", "나 나갔다 올게", "재미없다", "그만 하고 싶어", "졸려", "이따 하자"} { // who takes leave does not answer
		s := begin(t, map[string]any{"kind": "quiz"}, Memory{})
		if s.on("user_response", said, 1); !s.last.Last || strings.Contains(s.last.Text, "정답") || len(s.memory.Answers) > 0 {
			t.Errorf("%s: %+v", said, s.last)
		}
	}
}

// What only sounds like a farewell is an answer, and who asks to go on goes on.
func TestAnswersAreNoFarewells(t *testing.T) {
	for _, said := range []string{"나무늘보는 잘 자요", "잘게 썬 것", "mosquito", "그만두지 말고 계속해", "재미없지 않아 계속하자"} {
		if stops(said) {
			t.Errorf("%q ends the quiz", said)
		}
	}
	for _, said := range []string{"stop it", "I quit", "good night!", "잘 자!", "아 너무 졸려", "그만"} {
		if !stops(said) {
			t.Errorf("%q does not end the quiz", said)
		}
	}
}

// The level follows the last five answers, over sessions, and falls as it rises.
func TestLevels(t *testing.T) {
	m := Memory{}
	levelsSeen := []int{}
	for i := range 12 {
		m = m.answered(max(1, m.Level), i < 8)
		levelsSeen = append(levelsSeen, m.Level)
	}
	if want := []int{1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 2}; !slices.Equal(levelsSeen, want) {
		t.Errorf("levels %v, want %v", levelsSeen, want)
	}
	s := begin(t, map[string]any{"kind": "quiz"}, Memory{Level: 3})
	if q, _ := s.a.content.quiz(s.talk.Asked); q.Level != 3 {
		t.Errorf("level %d was asked of somebody at level 3", q.Level)
	}
	s = begin(t, map[string]any{"kind": "quiz", "level": 2.0}, Memory{})
	if q, _ := s.a.content.quiz(s.talk.Asked); q.Level != 2 {
		t.Errorf("level %d, and level 2 was wanted", q.Level)
	}
}

func TestQuizzesDoNotComeAgainSoon(t *testing.T) {
	m, seen := Memory{}, map[string]int{}
	for range 3 {
		s := begin(t, map[string]any{"kind": "quiz"}, m)
		for range 4 {
			s.on("user_response", "패스", 1)
		}
		for _, id := range s.talk.Asked {
			seen[id]++
		}
		m = s.memory
	}
	for id, n := range seen {
		if n > 1 {
			t.Errorf("%s was asked %d times in three quizzes", id, n)
		}
	}
}

func TestStoryGoesOnFromItsPlace(t *testing.T) {
	s := begin(t, map[string]any{"kind": "story"}, Memory{})
	whole := s.heard
	if !s.last.Last || len(whole) != 7 || !strings.HasPrefix(whole[0], "이야기를 들려드릴게요.") {
		t.Fatalf("%q", whole)
	}
	if !s.on("cancelled", "", 3) { // the title and two parts
		t.Fatal("it goes on after a stop")
	}
	next := begin(t, map[string]any{"kind": "story"}, s.memory)
	if !strings.HasPrefix(next.heard[0], "지난번에 이어서") || !slices.Equal(next.heard[1:], whole[3:]) {
		t.Errorf("went on with %q, want %q", next.heard, whole[3:])
	}
	next.on("failed", "", 1) // nothing but the title was heard
	again := begin(t, map[string]any{"kind": "story"}, next.memory)
	if !slices.Equal(again.heard[1:], whole[3:]) {
		t.Errorf("went on with %q, want %q", again.heard, whole[3:])
	}
	again.on("completed", "", int64(len(again.heard)))
	if other := begin(t, map[string]any{"kind": "story"}, again.memory); other.talk.Title == s.talk.Title {
		t.Errorf("the same story again: %q", other.heard[0])
	}
	if named := begin(t, map[string]any{"kind": "story", "title": "구름 가게"}, again.memory); named.talk.Title != "cloud-shop" {
		t.Errorf("%q", named.heard[0])
	}
	if none := begin(t, map[string]any{"kind": "story", "title": "아기 돼지 삼형제"}, Memory{}); !strings.Contains(none.heard[0], "가지고 있지 않아요") {
		t.Errorf("%q", none.heard[0])
	}
	stopped := begin(t, map[string]any{"kind": "story"}, Memory{})
	stopped.talk.Ended = false
	if stopped.on("user_response", "그만", 2); stopped.last.Verb != "stop" {
		t.Errorf("%+v", stopped.last)
	}
}

func TestAllStoriesWereTold(t *testing.T) {
	m, told := Memory{}, []string{}
	for range 6 {
		s := begin(t, map[string]any{"kind": "story"}, m)
		s.on("completed", "", int64(len(s.heard)))
		m, told = s.memory, append(told, s.talk.Title)
	}
	if want := []string{"lamp-star", "slow-snail", "cloud-shop", "clock-mouse", "lamp-star", "slow-snail"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestPrefetch(t *testing.T) {
	parts := build(t, Sources{}).Prefetch(Task{Locale: "ko-KR", Inputs: map[string]any{"title": "달팽이"}})
	if more := build(t, Sources{}).Prefetch(Task{Locale: "ko-KR", Inputs: map[string]any{"kind": "quiz"}}); more != nil {
		t.Errorf("a quiz cannot be kept in parts: %+v", more)
	}
	if len(parts) != 7 || parts[0].Position != 1 || parts[6].Position != 7 || parts[0].Part != "slow-snail" {
		t.Errorf("%+v", parts)
	}
}

func TestContentThatThereIsNoneOf(t *testing.T) {
	if out := do(t, build(t, Sources{}), SkillContent, map[string]any{"kind": "karaoke"}); out.Reason != ReasonSkill || out.Words[0].Act != "failed" {
		t.Errorf("%+v", out)
	}
	if out := do(t, build(t, Sources{}), "sing", nil); out.Reason != ReasonSkill {
		t.Errorf("%+v", out)
	}
}

func TestRest(t *testing.T) {
	a := build(t, Sources{Documents: manual})
	if out := do(t, a, SkillRest, nil); len(out.Words) < 4 || !out.Words[len(out.Words)-1].Last || out.Words[0].Last {
		t.Errorf("%+v", out)
	}
	for _, tc := range []struct {
		inputs map[string]any
		want   string
		reason string
	}{
		{map[string]any{"kind": "notice", "text": "우산 챙기세요."}, "우산 챙기세요.", ""},
		{map[string]any{"kind": "notice"}, "알려 드릴 내용이 없어요.", ReasonNotFound},
		{map[string]any{"kind": "compose", "b": "둘.", "a": "<b>하나</b>.", "n": 3.0, "purpose": "요약한다"}, "하나. 둘.", ""},
		{map[string]any{"kind": "compose", "purpose": "요약한다"}, "알려 드릴 내용이 없어요.", ReasonNotFound},
		{map[string]any{"kind": "product_answer", "query": "필터는 언제 갈아야 해"}, "필터는 여섯 달에 한 번 교체하세요. (출처: 설명서, 필터 교체)", ""},
	} {
		if out := do(t, a, SkillRest, tc.inputs); out.Text != tc.want || out.Reason != tc.reason {
			t.Errorf("%v: %+v", tc.inputs, out)
		}
	}
}

// Nothing that an agent says of its own claims that something was done in the home.
func TestNobodyClaimsToHaveDoneIt(t *testing.T) {
	var all []string
	for key, s := range sentences {
		all = append(all, key+": "+s.Ko, key+": "+s.En)
	}
	for _, r := range remarks {
		for _, list := range r.Reply {
			all = append(all, list...)
		}
	}
	for _, text := range all {
		for _, claim := range []string{"했어요", "하였습니다", "했습니다", "켰어요", "껐어요", "갔어요", "도착했", "완료", "끝났", "i have turned", "i have moved", "is done", "completed", "i cleaned"} {
			if strings.Contains(strings.ToLower(text), claim) && !strings.Contains(text, "못했어요") {
				t.Errorf("%q claims %q", text, claim)
			}
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d sentences were looked at", len(all))
	}
}
