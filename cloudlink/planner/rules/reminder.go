package rules

import (
	"slices"
	"strings"
	"time"

	"deviceagent/cloudlink/planner/timeko"
)

// reminderWords are how somebody asks to be told something later: what is quoted before the verb is what will be said.
type reminderWords struct {
	Quotes  []string `json:"quotes"`  // -라고, -다고
	Verbs   []string `json:"verbs"`   // behind the quotation
	Persons []string `json:"persons"` // somebody else is to be told
}

// reminds says whether the words ask for a reminder: a quotation, a verb of telling behind it, a time, and nobody else to tell.
func (f *families) reminds(r reading, out parsed) bool {
	if !r.give && !r.imperative {
		return false
	}
	quoted := -1
	for i, k := range r.tokens {
		if longest(f.acts.Reminder.Persons, k.text) != "" && len([]rune(k.text)) > 1 {
			return false
		}
		if longest(f.acts.Reminder.Quotes, k.text) != "" {
			quoted = i
		}
	}
	if quoted < 0 || quoted == len(r.tokens)-1 {
		return false
	}
	behind := ""
	for _, k := range r.tokens[quoted+1:] {
		behind += k.text
	}
	return startsWith(behind, f.acts.Reminder.Verbs) && f.saysWhen(r, out)
}

// saysWhen says whether a moment, a day or a repetition is named.
func (f *families) saysWhen(r reading, out parsed) bool {
	if slices.ContainsFunc(out.items, func(it item) bool {
		return it.kind == kindClock || it.kind == kindDelay || it.kind == kindForeign && it.key == "sch"
	}) || slices.ContainsFunc(r.tokens, func(k token) bool { return f.recurs(k.text) }) {
		return true
	}
	when := []string{"date", "datetime", "time", "timerange", "set", "instant"}
	return slices.ContainsFunc(timeko.Find(string(out.text.original), someDay), func(found timeko.Found) bool { return slices.Contains(when, string(found.Kind)) })
}

// someDay is any moment: only whether a time is named counts here, and not which.
var someDay = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)

// whatIs says whether a sentence asks what a thing of ours is: "야간 모드가 뭐야".
func (f *families) whatIs(r reading) bool {
	n := len(r.tokens)
	at := n - 2
	switch {
	case n < 2 || n > 5:
		return false
	case slices.Contains(f.acts.WhatIs, r.tokens[n-1].text):
	case n > 2 && slices.Contains(f.acts.WhatIs, r.tokens[n-2].text+" "+r.tokens[n-1].text):
		at = n - 3 // "무슨 기능이야"
	default:
		return false
	}
	subject := r.tokens[at]
	return subject.text != subject.stem && slices.ContainsFunc(r.hits, func(h hit) bool { return h.topic == topicOurs && h.head })
}

// wants says whether a short sentence ends in how a thing of ours should be: "화면 밝기 좀 더 밝게". "할게" is no such end.
func (f *families) wants(r reading) bool {
	n := len(r.tokens)
	if n < 2 || n > 5 || r.question || r.personal {
		return false
	}
	head, ok := strings.CutSuffix(r.tokens[n-1].text, "게")
	_, s, hangul := splitLast(head)
	return ok && hangul && s.tail != tL && slices.ContainsFunc(r.hits, func(h hit) bool { return h.topic == topicOurs && h.head && h.at == 0 })
}

// able says whether somebody asks what the robot can do: "너 몇 개 국어 할 줄 알아".
func (f *families) able(r reading) bool {
	if len(r.tokens) < 3 || len(r.tokens) > 7 || r.give {
		return false
	}
	folded := ""
	for _, k := range r.tokens[1:] {
		folded += k.text
	}
	return slices.Contains(f.acts.You, r.tokens[0].text) && (strings.Contains(folded, "할줄아") || strings.Contains(folded, "할줄알"))
}

// complains says whether a short sentence only tells how a thing of ours is: "화면이 너무 밝아".
func (f *families) complains(r reading) bool {
	n := len(r.tokens)
	if n < 2 || n > 4 || r.personal || !r.statement || !startsWith(r.tokens[n-1].text, f.acts.Complaints) {
		return false
	}
	return slices.ContainsFunc(r.hits, func(h hit) bool { return h.topic == topicOurs && h.head && h.at == 0 })
}
