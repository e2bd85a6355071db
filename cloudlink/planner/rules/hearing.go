package rules

import (
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

// Speech recognition mistakes one sound for another: "거실르 가", "청점해줘". A word that nobody knows is taken for one of the catalog's words,
// or for a particle behind one, if it differs in one letter of one syllable, the sounds are easily confused, and the whole sentence makes
// a plan then. Where two words would do, nothing is guessed. What was heard and what was meant stands in the evidence.

// hearingWords are the sounds that are confused. Each list holds letters that are taken for one another; "-" is no final consonant.
type hearingWords struct {
	Leads  []string `json:"leads"`
	Vowels []string `json:"vowels"`
	Tails  []string `json:"tails"`
	Forms  []string `json:"forms"` // of the verbs of these acts, beside nouns and rooms
	Acts   []string `json:"acts"`
}

const (
	leadLetters  = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
	vowelLetters = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
	tailLetters  = "-ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"
)

// longWord is the least length, in syllables, of a word that is known again whichever letter was misheard.
const longWord = 3

// hearing knows which letters are confused, and the words that may be meant.
type hearing struct {
	lead, vowel, tail map[[2]int]bool
	words             [][]rune
	particles         [][]rune
}

func newHearing(r *reader) *hearing {
	var w hearingWords
	readData("hearing.json", &w)
	h := &hearing{lead: pairs(w.Leads, leadLetters), vowel: pairs(w.Vowels, vowelLetters), tail: pairs(w.Tails, tailLetters)}
	seen := map[string]bool{}
	add := func(list *[][]rune, word string, least int) {
		runes := []rune(strings.ReplaceAll(word, " ", ""))
		if _, hangul := decompose(runes[0]); hangul && len(runes) >= least && !seen[string(runes)] {
			seen[string(runes)] = true
			*list = append(*list, runes)
		}
	}
	for _, text := range sortedKeys(r.lex.entries) {
		if slices.ContainsFunc(r.lex.entries[text], func(e entry) bool { return e.kind == kindThing || e.kind == kindActNoun }) {
			add(&h.words, text, 2)
		}
	}
	for _, act := range w.Acts {
		for _, stem := range r.ko.Verbs[act] {
			for _, form := range w.Forms {
				add(&h.words, strings.NewReplacer("{inf}", infinitive(stem), "{stem}", stem).Replace(form), 2)
			}
		}
	}
	clear(seen)
	for _, pt := range r.ko.Particles {
		for _, text := range slices.Concat(pt.Any, pt.Open, pt.Closed) {
			add(&h.particles, text, 1)
		}
	}
	return h
}

func pairs(lists []string, letters string) map[[2]int]bool {
	order := []rune(letters)
	out := map[[2]int]bool{}
	for _, list := range lists {
		for _, a := range list {
			for _, b := range list {
				out[[2]int{slices.Index(order, a), slices.Index(order, b)}] = true
			}
		}
	}
	return out
}

// near says whether what was heard differs from a word in one letter that is confused with its own; in a long word, in any one letter.
func (h *hearing) near(heard, word []rune) bool {
	if len(heard) != len(word) {
		return false
	}
	differs := false
	for i := range heard {
		if heard[i] == word[i] {
			continue
		}
		a, ok := decompose(heard[i])
		b, ok2 := decompose(word[i])
		if differs || !ok || !ok2 {
			return false
		}
		differs = true
		one := 0
		confused := true
		for _, l := range []struct {
			heard, meant int
			pairs        map[[2]int]bool
		}{{a.lead, b.lead, h.lead}, {a.vowel, b.vowel, h.vowel}, {a.tail, b.tail, h.tail}} {
			if l.heard != l.meant {
				one++
				confused = confused && l.pairs[[2]int{l.heard, l.meant}]
			}
		}
		if one != 1 || !confused && len(word) < longWord {
			return false
		}
	}
	return differs
}

// meant is a word in place of what was heard.
type meant struct {
	start, end int // runes of the text
	word       []rune
}

// guesses are the words that may be meant by an eojeol: one of ours somewhere in it, or a particle behind one of ours.
func (h *hearing) guesses(t text, start, end int, rooms [][]rune) []meant {
	var out []meant
	heard := t.runes[start:end]
	for _, list := range [][][]rune{rooms, h.words} {
		for _, word := range list {
			for at := 0; at+len(word) <= len(heard); at++ {
				if h.near(heard[at:at+len(word)], word) {
					out = append(out, meant{start + at, start + at + len(word), word})
				}
			}
			if len(heard) <= len(word) || !slices.Equal(heard[:len(word)], word) {
				continue
			}
			for _, p := range h.particles {
				if h.near(heard[len(word):], p) {
					out = append(out, meant{start + len(word), end, p})
				}
			}
		}
	}
	return out
}

// roomWords are the names of the rooms, without their spaces.
func (p *reader) roomWords() [][]rune {
	var out [][]rune
	for _, name := range sortedKeys(p.places.entries) {
		if runes := []rune(name); !strings.Contains(name, " ") && len(runes) > 1 {
			out = append(out, runes)
		}
	}
	return out
}

// maxMisheard bounds what is tried: a sentence with more unknown words is not misheard, it is about something else.
const maxMisheard = 1

// longestMisheard is how long, in letters, the unknown word may be: a whole sentence without its spaces is one that is long.
const longestMisheard = 40

// misheard reads the words as they may have been meant. ok only if exactly one reading is a whole plan.
func (p *Planner) misheard(h *Heard) (turn.Decision, bool) {
	if h.r.lang != korean || h.bare || h.out.control != nil {
		return turn.Decision{}, false
	}
	spots := h.out.unread()
	if len(spots) == 0 || len(spots) > maxMisheard || spots[0][1]-spots[0][0] > longestMisheard {
		return turn.Decision{}, false
	}
	var found turn.Decision
	var as meant
	readings := map[string]bool{}
	for _, g := range p.hearing.guesses(h.out.text, spots[0][0], spots[0][1], h.r.roomWords()) {
		t := h.out.text
		t.runes = slices.Clone(t.runes)
		copy(t.runes[g.start:g.end], g.word)
		if readings[string(t.runes)] {
			continue
		}
		d, ok := p.whole(h, t)
		if !ok {
			continue
		}
		readings[string(t.runes)] = true
		found, as = d, g
	}
	if len(readings) != 1 {
		return turn.Decision{}, false
	}
	found.FamilyConfidence = "medium"
	found.Evidence = append(found.Evidence, turn.Evidence{Kind: "heard", ID: string(as.word), Span: h.out.text.span(as.start, as.end)})
	return found, true
}

// whole reads a text, and says whether it is a plan with steps and nothing in doubt.
func (p *Planner) whole(h *Heard, t text) (turn.Decision, bool) {
	if out := h.r.parseText(t); out.clear() {
		return p.act(h.r.lang, out), len(out.intents) > 0
	}
	if out := p.reader(p.mixed, h.r.lang, h.rooms).parseText(t); out.accounted() && worthAPlan(out) {
		return p.act(h.r.lang, out), true
	}
	return turn.Decision{}, false
}

// unread are the eojeols with a word that nobody knows: start and end, in runes.
func (out *parsed) unread() [][2]int {
	var spots [][2]int
	for _, it := range out.items {
		if it.kind != kindUnknown {
			continue
		}
		start, end := it.start, it.end
		for start > 0 && out.text.runes[start-1] != ' ' {
			start--
		}
		for end < len(out.text.runes) && out.text.runes[end] != ' ' {
			end++
		}
		if spot := [2]int{start, end}; !slices.Contains(spots, spot) {
			spots = append(spots, spot)
		}
	}
	return spots
}
