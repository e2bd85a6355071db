package admission

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

//go:embed data/words.json
var wordsFile []byte

// words are what the axes are found by. All are written without spaces: people put them anywhere, and so do recognizers.
type words struct {
	Providers    map[string][]string `json:"providers"`     // beside the aliases of the catalog: by capability, or by skill
	NotProviders []string            `json:"not_providers"` // sound like one: 공기청정 is no air to look at
	Ends         map[string]string   `json:"ends"`          // verbs of an end: stem and past
	EndForms     []string            `json:"end_forms"`
	EndsToo      []string            `json:"ends_too"`    // endings that say so of any verb
	EndFillers   []string            `json:"end_fillers"` // may stand alone before such a verb: what ends was named before
	Conditions   []string            `json:"conditions"`
	Beside       []string            `json:"beside"`
	BesideBefore []string            `json:"beside_before"` // of these: what goes on is all that was said before
	Until        []string            `json:"until"`
	Again        []string            `json:"again"`
	There        []string            `json:"there"` // goes somewhere to see
	Later        []string            `json:"later"`

	Outcomes      map[string][]string `json:"outcomes"`       // by goal: how things should be for somebody
	WhileOutcomes map[string][]string `json:"while_outcomes"` // the same, if it is for as long as something lasts
	WhileFinals   []string            `json:"while_finals"`
	Keeping       []string            `json:"keeping"`
	Keepable      map[string][]string `json:"keepable"`
	Finals        []string            `json:"finals"` // verbs that say nothing of how
	BareDo        []string            `json:"bare_do"`

	Gives       []string            `json:"gives"`
	Quoting     []string            `json:"quoting"`
	Orders      []string            `json:"orders"`
	Politely    []string            `json:"politely"`
	Asks        []string            `json:"asks"`
	About       []string            `json:"about"`
	Connectives []string            `json:"connectives"`
	Nouns       []string            `json:"nouns"`
	Gaps        map[string][]string `json:"gaps"` // what nothing here provides, by its name

	scanner *scanner
}

func readWords(cat *catalog.Catalog) *words {
	w := &words{}
	if err := json.Unmarshal(wordsFile, w); err != nil {
		panic("internal error: words.json: " + err.Error())
	}
	all := w.patterns(cat)
	w.scanner = newScanner(append(all, hintsOf(all, w.Keeping)...))
	return w
}

// patterns are all words with what they say.
func (w *words) patterns(cat *catalog.Catalog) (all []pattern) {
	list := func(c class, words []string) {
		for _, word := range words {
			all = append(all, pattern{c, word, ""})
		}
	}
	tagged := func(c class, by map[string][]string) {
		for _, tag := range slices.Sorted(maps.Keys(by)) {
			for _, word := range by[tag] {
				all = append(all, pattern{c, word, tag})
			}
		}
	}
	for _, stem := range slices.Sorted(maps.Keys(w.Ends)) {
		for _, form := range w.EndForms {
			all = append(all, pattern{ofEnd, inflect(stem, w.Ends[stem], form), stem})
		}
	}
	list(ofEnd, w.EndsToo)
	tagged(ofProvider, w.Providers)
	for _, m := range slices.Sorted(maps.Keys(cat.Operations)) {
		op := cat.Operations[m]
		if op.Visibility != "" && op.Visibility != "public" || len(op.Stops) > 0 {
			continue
		}
		for _, alias := range op.Aliases.Ko {
			p := pattern{ofProvider, squeeze(alias), op.Capability}
			if len([]rune(p.word)) > 1 && !slices.Contains(all, p) { // one letter is in half of all words
				all = append(all, p)
			}
		}
	}
	list(ofNot, w.NotProviders)
	list(ofCondition, w.Conditions)
	list(ofBeside, w.Beside)
	list(ofBesideBefore, w.BesideBefore)
	list(ofUntil, w.Until)
	list(ofAgain, w.Again)
	list(ofThere, w.There)
	list(ofLater, w.Later)
	tagged(ofOutcome, w.Outcomes)
	tagged(ofWhile, w.WhileOutcomes)
	tagged(ofKeepable, w.Keepable)
	tagged(ofGap, w.Gaps)
	list(ofAbout, w.About)
	return all
}

// hintsOf are the words that every sentence has one of which is admitted by its words.
func hintsOf(all []pattern, keeping []string) (out []pattern) {
	for _, p := range all {
		switch p.class {
		case ofEnd, ofCondition, ofBeside, ofUntil, ofAgain, ofOutcome:
		case ofProvider:
			if p.tag != "vital" {
				continue
			}
		default:
			continue // also of what is wanted for as long as something lasts: its hint is that it lasts
		}
		out = append(out, pattern{ofHint, p.word, ""})
	}
	for _, word := range keeping {
		out = append(out, pattern{ofHint, word, ""})
	}
	return out
}

// The tails of a syllable that endings join to the one before.
const (
	tailN = 4
	tailL = 8
)

// inflect puts a form to a verb: "+면" after the stem as it is, "ㄴ뒤" with its tail in the last syllable, "past을때" after the past.
func inflect(stem, past, form string) string {
	if rest, ok := strings.CutPrefix(form, "+"); ok {
		return stem + rest
	}
	if rest, ok := strings.CutPrefix(form, "past"); ok {
		return past + rest
	}
	for letter, tail := range map[string]rune{"ㄴ": tailN, "ㄹ": tailL} {
		if rest, ok := strings.CutPrefix(form, letter); ok {
			r := []rune(stem)
			last := r[len(r)-1]
			if (last-hangul)%28 != 0 {
				panic(fmt.Sprintf("internal error: words.json: %s has a tail", stem))
			}
			r[len(r)-1] = last + tail
			return string(r) + rest
		}
	}
	panic("internal error: words.json: no form " + form)
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
