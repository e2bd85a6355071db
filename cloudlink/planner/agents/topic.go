package agents

import (
	"slices"
	"strings"
	"unicode"
)

// cue are words that point at a topic or a kind, in their order: the first that fits counts.
type cue struct {
	Is    string   `json:"is"`
	Words []string `json:"words"`
}

var cues = read[map[string][]cue]("cues.json")

func cueOf(list, text string) string {
	said := folded(text)
	for _, c := range cues[list] {
		if slices.ContainsFunc(c.Words, func(w string) bool { return strings.Contains(said, folded(w)) }) {
			return c.Is
		}
	}
	return ""
}

// TopicOf says which topic of fresh information words are about: weather, traffic, news, else search.
func TopicOf(text string) string {
	if topic := cueOf("topics", text); topic != "" {
		return topic
	}
	return "search"
}

// KindOf says which content words are about: quiz, story, or something else that has a name here; "": nothing of it is named.
func KindOf(text string) string { return cueOf("kinds", text) }

// WhenOf says which day words are about: tomorrow, else today.
func WhenOf(text string) string {
	if when := cueOf("days", text); when != "" {
		return when
	}
	return "today"
}

// queryWords are the words of a query that can be found: without those that only ask, and without their particles.
func queryWords(query string) (out []string) {
	for _, w := range strings.Fields(query) {
		w = folded(w)
		for _, p := range particles {
			if rest, ok := strings.CutSuffix(w, p); ok && len([]rune(rest)) > 1 {
				w = rest
				break
			}
		}
		if number := strings.IndexFunc(w, unicode.IsDigit) == 0; !number && len([]rune(w)) > 1 && !slices.Contains(askingWords, w) {
			out = append(out, w)
		}
	}
	return out
}

var (
	askingWords = words("asking.txt")
	particles   = words("particles.txt")
)

// words reads a list of words that is built in, one a line.
func words(name string) []string {
	text, err := data.ReadFile("data/" + name)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return strings.Fields(string(text))
}
