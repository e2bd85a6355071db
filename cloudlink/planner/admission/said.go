package admission

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// said is an utterance without its spaces, that knows where it came from.
type said struct {
	original string
	text     string // composed, no spaces, no punctuation
	tokens   []token
	question bool
	hits     hits
	rooms    []string
}

// token is what stood between two spaces.
type token struct {
	text       string
	start, end int  // in said.text
	from, to   int  // in said.original
	stop       bool // a sentence, or a part of it, ends behind it
}

// korean says whether the words are, so far as one letter shows it.
func (s *said) korean() bool {
	return strings.ContainsFunc(s.text, func(r rune) bool { return r >= hangul && r < hangulEnd })
}

// dropped says whether a letter is no part of a word.
func dropped(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(".,!?~…;\"'”’", r) }

// hinted says whether any hint stands in a text, wherever its spaces are.
func (w *words) hinted(text string) bool {
	var buf [256]byte
	out := buf[:0]
	for _, r := range text {
		if r != ' ' {
			out = utf8.AppendRune(out, r)
		}
	}
	return w.scanner.scan(string(out), nil) || !norm.NFC.IsNormalString(text)
}

func hear(text string, rooms []string) *said {
	s := &said{original: norm.NFC.String(text), rooms: rooms}
	var b strings.Builder
	b.Grow(len(s.original))
	for i, r := range s.original {
		switch n := len(s.tokens); {
		case !dropped(r):
			if n == 0 || s.tokens[n-1].to != i {
				s.tokens = append(s.tokens, token{start: b.Len(), from: i})
				n++
			}
			b.WriteRune(r)
			s.tokens[n-1].end, s.tokens[n-1].to = b.Len(), i+utf8.RuneLen(r)
		case !unicode.IsSpace(r):
			s.question = s.question || r == '?'
			if n > 0 {
				s.tokens[n-1].stop = true
			}
		}
	}
	s.text = b.String()
	for i := range s.tokens {
		t := &s.tokens[i]
		t.text = s.text[t.start:t.end]
	}
	return s
}

// look finds the words of all classes. Before it there are no hits.
func (s *said) look(w *words) { w.scanner.scan(s.text, &s.hits) }

// span cites the words of a part of the squeezed text, letter by letter.
func (s *said) span(start, end int) string {
	from, to := -1, 0
	for _, t := range s.tokens {
		if t.end > start && from < 0 {
			from = t.from + max(0, start-t.start)
		}
		if t.start < end {
			to = t.from + min(t.to-t.from, end-t.start)
		}
	}
	if from < 0 || to <= from {
		return ""
	}
	return s.original[from:to]
}

// first is the first hit of a class in a part of the text, and of those the longest.
func (s *said) first(c class, from, to int) (h hit, ok bool) {
	for _, x := range s.hits[c] {
		if x.start < from || x.end > to {
			continue
		}
		if !ok || x.start < h.start || x.start == h.start && x.end > h.end {
			h, ok = x, true
		}
	}
	return h, ok
}

func (s *said) has(c class) bool { return len(s.hits[c]) > 0 }

// in lists who would have to do what a part of the words is about: capabilities of the catalog, and skills.
func (s *said) in(from, to int) (out []string) {
	for _, h := range s.hits[ofProvider] {
		if h.start < from || h.end > to || slices.Contains(out, h.tag) {
			continue
		}
		if slices.ContainsFunc(s.hits[ofNot], func(no hit) bool { return no.start == h.start && no.end > h.end }) {
			continue
		}
		if h.tag != "movement" || s.place(from, to) {
			out = append(out, h.tag)
		}
	}
	return out
}

// place says whether a room stands in a part: only with a place does somebody go anywhere.
func (s *said) place(from, to int) bool {
	part := s.text[from:to]
	return strings.Contains(part, "한바퀴") || strings.Contains(part, "이동") || slices.ContainsFunc(s.rooms, func(r string) bool { return strings.Contains(part, r) })
}

// speaks says whether a provider is a skill that talks: of two things side by side one has to be.
func speaks(of string) bool {
	return of == "content_session" || of == "fresh_information_brief" || of == "rest_guidance"
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}
