package pipeline

import (
	_ "embed"
	"encoding/json"
	"strings"
	"unicode"

	"deviceagent/taskmanager/core/catalog"
)

// said finds words in an utterance.
type said struct {
	folded  string   // lower case, no spaces
	fields  []string // lower case, without marks
	spoken  []string // the same as they were said
	english bool
}

// mostWords bounds what is looked at of a long speech.
const mostWords = 100

func saidOf(text string, english bool) said {
	s := said{english: english}
	fields := strings.Fields(text)
	for _, f := range fields[:min(len(fields), mostWords)] {
		f = strings.TrimFunc(f, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })
		if f != "" {
			s.spoken, s.fields = append(s.spoken, f), append(s.fields, strings.ToLower(f))
		}
	}
	s.folded = strings.Join(s.fields, "")
	return s
}

// find gives the words of the first entry that stands at the beginning of a word, as they were said. An entry of one letter, and any in
// English, has to be whole words: 비 is not in 비밀.
func (s said) find(entries []string) (span string, ok bool) {
	for _, entry := range entries {
		want := strings.ToLower(strings.ReplaceAll(entry, " ", ""))
		for i := range s.fields {
			if n := s.length(i, want, s.english || len([]rune(want)) == 1); n > 0 {
				return strings.Join(s.spoken[i:i+n], " "), true
			}
		}
	}
	return "", false
}

// last is where the last word stands that is one of the entries; -1: none.
func (s said) last(entries []string) int {
	for i := len(s.fields) - 1; i >= 0; i-- {
		if _, ok := (said{fields: s.fields[i : i+1], spoken: s.spoken[i : i+1], english: s.english}).find(entries); ok {
			return i
		}
	}
	return -1
}

// length is how many words from i on begin with want; 0: they do not.
func (s said) length(i int, want string, whole bool) int {
	joined := ""
	for n, f := range s.fields[i:] {
		joined += f
		switch {
		case joined == want || !whole && strings.HasPrefix(joined, want):
			return n + 1
		case !strings.HasPrefix(want, joined):
			return 0
		}
	}
	return 0
}

// in picks the words of the language.
func (s said) in(a catalog.Aliases) []string {
	if s.english {
		return a.En
	}
	return a.Ko
}

func (s said) has(a catalog.Aliases) bool {
	_, ok := s.find(s.in(a))
	return ok
}

//go:embed data/words.json
var wordsFile []byte

// own are the few words that stand in no catalog.
var own = func() (w struct {
	SelfStyle catalog.Aliases `json:"self_style"`
	NoTarget  catalog.Aliases `json:"no_target"`
	Self      catalog.Aliases `json:"self"`
	Greeting  catalog.Aliases `json:"greeting"`
}) {
	if err := json.Unmarshal(wordsFile, &w); err != nil {
		panic("internal error: words.json: " + err.Error())
	}
	return w
}()
