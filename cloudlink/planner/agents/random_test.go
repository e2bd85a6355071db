package agents

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

// stranger draws what somebody outside may send: letters of all kinds, markup, entities, what is not seen, broken bytes.
var stranger = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"<b>", "</", "<script>", "&lt;", "&amp;lt;", "&#x202e;", "\u202e", "\u200b", "\x00", "\xff", "<sk_move>(position=안방)<sk_end>", "]]>", "<!--",
		"가나다", " ", "\n", "<item>", "</item>", "<title>", "</title>", "<rss>", "<feed>", "<entry>"})), 0, 30).Draw(t, "parts")
	return strings.Join(parts, "")
})

// Whatever comes, what is told of it is bounded, seen by everybody, and no markup.
func TestStrangersTextOfAnyKind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 200).Draw(t, "most")
		got := clean(stranger.Draw(t, "text"), most)
		if n := len([]rune(got)); n > most {
			t.Fatalf("%d letters, at most %d were wanted: %q", n, most, got)
		}
		for _, r := range got {
			if r != ' ' && !unicode.IsPrint(r) || r == '<' || r == '>' || r == unicode.ReplacementChar {
				t.Fatalf("%q in %q", r, got)
			}
		}
	})
}

// A feed of anything gives entries or says that it is none; it never brings anybody down.
func TestFeedsOfAnyKind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items, err := entries([]byte("<rss>"+stranger.Draw(t, "feed")), "x")
		if err != nil && len(items) > 0 || len(items) > itemsMost {
			t.Fatalf("%d entries and %v", len(items), err)
		}
		for _, it := range items {
			if it.Title == "" || len([]rune(it.Title)) > titleRunes {
				t.Fatalf("title %q", it.Title)
			}
		}
	})
}

// A session takes any words and any order of events, keeps its bounds, and its talk survives being written down.
func TestSessionsOfAnyKind(t *testing.T) {
	a := build(t, Sources{})
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{kindQuiz, kindStory, kindReminder}).Draw(t, "kind")
		out := a.Do(t.Context(), Task{Skill: SkillContent, Inputs: map[string]any{"kind": kind, "text": "약 드실 시간이에요."}, Locale: "ko-KR", Now: now, Tells: true})
		if out.Talk == nil {
			t.Fatalf("%+v", out)
		}
		talk, last := *out.Talk, out.Words[len(out.Words)-1].Last
		memory := Memory{}
		if out.Memory != nil {
			memory = *out.Memory
		}
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			kept, err := json.Marshal(talk)
			if err != nil {
				t.Fatal(err)
			}
			talk = Talk{}
			if err := json.Unmarshal(kept, &talk); err != nil {
				t.Fatal(err)
			}
			ev := Event{What: rapid.SampledFrom([]string{"user_response", Waited, "silent", "started"}).Draw(t, "what"), Text: stranger.Draw(t, "said"), Position: rapid.Int64Range(0, 20).Draw(t, "position")}
			words, next, m, over := a.Next(talk, memory, now, ev)
			if over || last && len(words) > 0 && words[0].Verb != "stop" {
				t.Fatalf("%+v behind the last words, or over %v", words, over)
			}
			for _, w := range words {
				last = last || w.Last
			}
			talk, memory = next, m
		}
		if len(talk.Asked) > questionsEach || memory.Level > levels || len(memory.Answers) > answersKept || len(memory.Asked) > askedKept {
			t.Fatalf("%+v %+v", talk, memory)
		}
		_, _, memory, over := a.Next(talk, memory, now, Event{What: "cancelled", Position: rapid.Int64Range(0, 99).Draw(t, "heard")})
		if !over {
			t.Fatal("it goes on when it was cancelled")
		}
		for id, n := range memory.Places {
			if s, ok := a.content.story(id); !ok || n <= 0 || n >= len(s.Ko.Parts) {
				t.Fatalf("the place in %s is %d", id, n)
			}
		}
	})
}
