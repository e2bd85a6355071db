package rules

import (
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/timeko"
	"deviceagent/cloudlink/planner/turn"
)

// structureWords are the words that shape a command of several parts. They are lists, the endings around them are not.
type structureWords struct {
	Recurring []string `json:"recurring"` // 매일, 마다
	When      []string `json:"when"`      // "… 때": a condition beside -면
	NoCond    []string `json:"no_condition"`
	NoLink    []string `json:"no_link"`    // words that end like a linking verb
	NounEnds  []string `json:"noun_ends"`  // heads of nouns that do
	Causes    []string `json:"causes"`     // states before -서: why, and not what comes first
	Quotes    []string `json:"quotes"`     // -라고, -다고: what somebody says
	Wishes    []string `json:"wishes"`     // behind -면 they ask: "…면 좋겠어"
	GoesOn    []string `json:"goes_on"`    // behind -고 they are one verb with it: "-고 있어", "-고 싶어"
	Connects  []string `json:"connectors"` // between two commands
}

// structureOf says which shapes a Korean command has: conditional, sequence, delayed, recurring; single if none. It looks at the endings
// of all words, so it also holds for things that are not ours.
func (f *families) structureOf(t text) []string {
	tokens := f.tokensOf(string(t.runes))
	if len(tokens) == 0 {
		return nil
	}
	var out []string
	for i, k := range tokens {
		var next string
		if i+1 < len(tokens) {
			next = tokens[i+1].text
		}
		last := i == len(tokens)-1
		switch {
		case f.recurs(k.text):
			out = append(out, turn.Recurring)
		case f.isCondition(k.text, next) && !last:
			out = append(out, turn.Conditional)
		case !last && f.links(k.text, next):
			out = append(out, turn.Sequence)
		}
	}
	if len(timeko.Delays(string(t.runes))) > 0 {
		out = append(out, turn.Delayed)
	}
	if len(out) == 0 {
		return []string{turn.Single}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (f *families) recurs(word string) bool {
	return slices.ContainsFunc(f.shape.Recurring, func(w string) bool {
		return strings.HasPrefix(word, w) || len([]rune(w)) > 1 && strings.Contains(word, w)
	})
}

// isCondition says whether a word ends in -면 or -거든 as a verb, and is no wish.
func (f *families) isCondition(word, next string) bool {
	if f.nouns[word] || longest(f.shape.NoCond, word) != "" || longest(f.shape.Wishes, next) != "" || startsWith(next, f.shape.Wishes) {
		return false
	}
	if slices.Contains(f.shape.When, word) || longest(f.shape.When, word) != "" {
		return true
	}
	return strings.HasSuffix(word, "면") && len([]rune(word)) > 1 || strings.HasSuffix(word, "거든") && len([]rune(word)) > 2
}

// links says whether a word is a verb that leads on to another one: 켜고, 가서, 열어서, 켰다가.
func (f *families) links(word, next string) bool {
	switch {
	case slices.Contains(f.shape.Connects, word):
		return true
	case f.nouns[word] || slices.Contains(f.shape.NoLink, word) || longest(f.shape.NounEnds, word) != "" || longest(f.shape.Quotes, word) != "":
		return false
	case strings.HasSuffix(word, "고") && len([]rune(word)) > 1:
		return !startsWith(next, f.shape.GoesOn)
	case strings.HasSuffix(word, "다가") && len([]rune(word)) > 2:
		return true
	case strings.HasSuffix(word, "서") && len([]rune(word)) > 1:
		return linkingVowel(word) && longest(f.shape.Causes, word) == ""
	}
	return false
}

// linkingVowel says whether the syllable before -서 is that of an infinitive: 가서, 열어서, 켜서, 해서; 에서 is a particle, 부서 a noun.
func linkingVowel(word string) bool {
	_, s, ok := splitLast(strings.TrimSuffix(word, "서"))
	if !ok || s.tail != tNone {
		return false
	}
	switch s.vowel {
	case vA, vAE, vEO, vYEO, vWA, vWO, vWAE:
		return true
	}
	return false
}

func startsWith(word string, list []string) bool {
	return slices.ContainsFunc(list, func(w string) bool { return word != "" && strings.HasPrefix(word, w) })
}
