package admission

import "unicode/utf8"

// class says what list a word is of. A word may stand in several.
type class int

const (
	ofProvider class = iota
	ofEnd
	ofCondition
	ofBeside
	ofBesideBefore
	ofUntil
	ofAgain
	ofThere
	ofLater
	ofOutcome
	ofWhile
	ofKeepable
	ofGap
	ofAbout
	ofNot  // sounds like a provider
	ofHint // without one of these nothing is admitted by its words
	classes
)

// pattern is a word of a class; tag is what it stands for: a capability, a skill, a goal.
type pattern struct {
	class class
	word  string
	tag   string
}

// hit is where a word was found, in bytes of the squeezed text.
type hit struct {
	start, end int
	tag        string
}

// scanner finds all words of all classes in one pass over a text: most turns are over after it, and must not become slower by it.
type scanner struct {
	by    map[rune][]pattern // by first letter
	first [(hangulEnd-hangul)/64 + 1]uint64
}

// The syllables of Hangul.
const (
	hangul    = 0xAC00
	hangulEnd = 0xD7A4
)

func newScanner(all []pattern) *scanner {
	s := &scanner{by: map[rune][]pattern{}}
	for _, p := range all {
		r, _ := utf8.DecodeRuneInString(p.word)
		s.by[r] = append(s.by[r], p)
		if r >= hangul && r < hangulEnd {
			s.first[(r-hangul)/64] |= 1 << ((r - hangul) % 64)
		}
	}
	return s
}

// hits are those of each class, in the order of the text.
type hits [classes][]hit

// scan goes through the text once. Of a class that hits counts nothing but the hints, out may be nil.
func (s *scanner) scan(text string, out *hits) (hinted bool) {
	for i, r := range text {
		if r < hangul || r >= hangulEnd || s.first[(r-hangul)/64]&(1<<((r-hangul)%64)) == 0 {
			continue
		}
		for _, p := range s.by[r] {
			if len(p.word) > len(text)-i || text[i:i+len(p.word)] != p.word {
				continue
			}
			if p.class == ofHint {
				if hinted = true; out == nil {
					return true
				}
				continue
			}
			if out != nil {
				out[p.class] = append(out[p.class], hit{i, i + len(p.word), p.tag})
			}
		}
	}
	return hinted
}
