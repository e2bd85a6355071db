package rules

import (
	"slices"
	"strings"
)

// withoutEnded leaves out things that only say when: in "회의 끝나면 화면 꺼 줘" nobody speaks of a meeting. What is ours stays.
func (f *families) withoutEnded(r reading) []hit {
	return slices.DeleteFunc(slices.Clone(r.hits), func(h hit) bool {
		return h.topic != topicOurs && h.at+1 < len(r.tokens) && slices.Contains(f.cues.Ended, r.tokens[h.at+1].text)
	})
}

// makesNote says whether somebody wants to be told something at a time by the word that otherwise names a message ("두 시에 알림 하나 만들어
// 줘"); then it is no thing of an app. Beside a word of one it stays that.
func (e *evidence) makesNote() bool {
	note := func(h hit) bool { return strings.HasPrefix(h.topic, "uns/") && slices.Contains(e.f.cues.Notes, h.word) }
	foreign := func(h hit) bool { return strings.HasPrefix(h.topic, "uns/") && !note(h) }
	if !e.give && !e.imperative || !slices.ContainsFunc(e.hits, note) || slices.ContainsFunc(e.hits, foreign) {
		return false
	}
	made := slices.ContainsFunc(e.tokens, func(k token) bool { return startsWith(k.text, e.f.cues.NotesMade) })
	for i, k := range e.tokens[:len(e.tokens)-1] {
		made = made || slices.Contains(e.f.cues.Notes, k.stem) && strings.HasPrefix(e.tokens[i+1].text, "줘") // "알림 줘"
	}
	if made {
		e.hits = slices.DeleteFunc(e.hits, note)
	}
	return made
}

// proposes says whether it ends as a proposal: "끝말잇기 하자".
func (e *evidence) proposes() bool {
	return len(e.tokens) > 1 && startsWith(e.tokens[len(e.tokens)-1].text, e.f.cues.Proposals)
}

// priced says whether it asks what things of a kind cost or weigh, and not how one at home is.
func (e *evidence) priced() bool {
	return slices.ContainsFunc(e.tokens, func(k token) bool { return startsWith(k.text, e.f.cues.Prices) })
}
