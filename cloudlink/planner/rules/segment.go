package rules

import (
	"math"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxRunes bounds the work for one utterance. Nobody says a longer command; what is longer is left to conversation.
const maxRunes = 300

// text is an utterance, normalised: original has the words as said (NFC), runes the folded form of the same length.
type text struct {
	original []rune
	runes    []rune
	question bool
}

// normalise folds case, spaces and punctuation. Every rune keeps its place, so an offset cites the original words.
func normalise(said string) text {
	original := []rune(strings.Join(strings.Fields(norm.NFC.String(said)), " "))
	t := text{original: original, runes: make([]rune, len(original))}
	for i, r := range original {
		t.runes[i] = fold(original, i, r)
	}
	t.question = strings.HasSuffix(strings.TrimRight(string(original), " .!~…\"'”’"), "?")
	return t
}

func fold(all []rune, i int, r rune) rune {
	switch {
	case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '%' || r == '\'':
		return unicode.ToLower(r)
	case r == '.' && i > 0 && i+1 < len(all) && unicode.IsDigit(all[i-1]) && unicode.IsDigit(all[i+1]):
		return r
	case (r == '-' || r == '−' || r == '+') && i+1 < len(all) && unicode.IsDigit(all[i+1]) && (i == 0 || unicode.IsSpace(all[i-1])):
		return '-' // a sign: "-10" is no 10, and "+10" no target
	case r == '’':
		return '\''
	}
	return ' '
}

// span cites the original words between two offsets.
func (t text) span(start, end int) string {
	return strings.TrimFunc(string(t.original[start:end]), func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == '.' })
}

// step is one edge of the lattice with the cheapest way to it.
type edge struct {
	item item
	cost float64
	prev *edge
}

// Costs of a reading. An eojeol (what stands between spaces) is either read whole or is unknown: finding a short word inside a
// longer unknown one would invent meaning ("작가" is no "가").
const (
	costWord    = 2.0
	costSuffix  = 1.0 // particles, auxiliaries, light verbs: they continue a word
	costJoined  = 1.0 // a new word without a space before it
	costUnknown = 12.0
	costPerRune = 0.5
	// An eojeol longer than this was said without pauses: a reading of it as known words is worth more than leaving it unread.
	longEojeol      = 8
	costPerLongRune = 3.0
)

func costOfUnknown(runes int) float64 {
	return costUnknown + costPerRune*float64(runes) + costPerLongRune*float64(max(0, runes-longEojeol))
}

// segment reads the text as a chain of words, by the cheapest path through all readings.
func (p *reader) segment(t text) []item {
	best := make([]map[string]*edge, len(t.runes)+1)
	best[0] = map[string]*edge{"": {item: item{kind: "start"}}}
	for at := 0; at < len(t.runes); at++ {
		p.extend(t, best, at)
	}
	return chain(cheapest(best[len(t.runes)]))
}

// extend adds every word that may begin at a place to every reading that ends there.
func (p *reader) extend(t text, best []map[string]*edge, at int) {
	froms := best[at]
	if len(froms) == 0 {
		return
	}
	start := at
	for start < len(t.runes) && t.runes[start] == ' ' {
		start++
	}
	if start == len(t.runes) {
		for _, key := range sortedKeys(froms) {
			relax(best, len(t.runes), froms[key])
		}
		return
	}
	fresh := start == 0 || t.runes[start-1] == ' '
	for _, candidate := range p.candidates(t, start, fresh) {
		for _, key := range sortedKeys(froms) {
			from := froms[key]
			cost := p.join(from.item, candidate, fresh, t, start)
			if math.IsInf(cost, 1) {
				continue
			}
			relax(best, candidate.end, &edge{item: candidate, cost: from.cost + cost, prev: from})
		}
	}
}

func relax(best []map[string]*edge, at int, e *edge) {
	if best[at] == nil {
		best[at] = map[string]*edge{}
	}
	key := string(e.item.kind) + "/" + e.item.fn + "/" + e.item.key
	if old := best[at][key]; old == nil || e.cost < old.cost {
		best[at][key] = e
	}
}

func cheapest(ends map[string]*edge) *edge {
	var found *edge
	for _, key := range sortedKeys(ends) {
		if e := ends[key]; found == nil || e.cost < found.cost {
			found = e
		}
	}
	return found
}

func chain(last *edge) []item {
	var out []item
	for e := last; e != nil && e.prev != nil; e = e.prev {
		out = append([]item{e.item}, out...)
	}
	return out
}

// candidates are the words that may begin at start: of the lexicon, numbers, and the whole eojeol as unknown.
func (p *reader) candidates(t text, start int, fresh bool) []item {
	var out []item
	for end := min(len(t.runes), start+max(p.lex.longest, p.places.longest)); end > start; end-- {
		word := string(t.runes[start:end])
		for _, lex := range []*lexicon{p.places, p.lex} {
			for _, e := range lex.of(word) {
				out = append(out, item{kind: e.kind, key: e.key, keys: e.keys, fn: e.fn, start: start, end: end, text: word})
			}
		}
	}
	if p.lang == english {
		out = append(out, p.englishNumbers(t.runes, start)...)
	} else {
		out = append(out, p.numbers(t.runes, start)...)
	}
	if fresh {
		out = append(out, p.unknowns(t.runes, start)...)
	}
	return out
}

// unknowns reads the eojeol as an unknown word, whole or before each suffix that the lexicon knows.
func (p *reader) unknowns(runes []rune, start int) []item {
	end := start
	for end < len(runes) && runes[end] != ' ' {
		end++
	}
	var out []item
	for cut := start + 1; cut <= end; cut++ {
		if cut == end || p.lang == korean && end-cut <= p.lex.longest && p.isSuffix(string(runes[cut:end])) {
			out = append(out, item{kind: kindUnknown, start: start, end: cut, text: string(runes[start:cut])})
		}
	}
	return out
}

func (p *reader) isSuffix(word string) bool {
	for _, e := range p.lex.of(word) {
		if e.kind == kindParticle || e.kind == kindVerb && e.key == "do" {
			return true
		}
	}
	return false
}
