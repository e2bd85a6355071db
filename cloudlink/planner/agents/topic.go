package agents

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	"deviceagent/cloudlink/planner/timeko"
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

// WhenOf says which day words are about, as the parameter when has it: today, tomorrow, a date; today where none is named. Another time than
// a day, such as 주말, is "other": nobody knows its weather here.
func WhenOf(text string, now time.Time) string {
	when := cueOf("days", text)
	for _, f := range timeko.Find(text, now) {
		switch {
		case f.Kind == timeko.Date && f.Grain == timeko.Day:
			return dayName(f.At, now)
		case f.Kind == timeko.Instant && (f.Grain == timeko.Week || f.Grain == timeko.Month || f.Grain == timeko.Year):
			when = otherTime
		}
	}
	return cmp.Or(when, "today")
}

const otherTime = "other"

func dayName(day, now time.Time) string {
	switch date := day.Format(time.DateOnly); date {
	case now.Format(time.DateOnly):
		return "today"
	case now.AddDate(0, 0, 1).Format(time.DateOnly):
		return "tomorrow"
	default:
		return date
	}
}

var places = words("places.txt")

// PlaceOf is the place that words name, with its particle off; "": none that is known by name.
func PlaceOf(text string) string {
	for _, w := range strings.Fields(strings.ToLower(text)) {
		w = folded(w)
		for _, end := range append([]string{""}, particles...) {
			name, ok := strings.CutSuffix(w, end)
			for _, kind := range []string{"", "시", "군", "도", "지역", "쪽"} {
				if bare, also := strings.CutSuffix(name, kind); ok && also && slices.Contains(places, bare) {
					return bare
				}
			}
		}
	}
	return ""
}

// LocaleOf is the language to answer in: that of the words where they are of one, else the one that was given.
func LocaleOf(text, locale string) string {
	latin := strings.IndexFunc(text, func(r rune) bool { return r < 0x250 && unicode.IsLetter(r) }) >= 0
	switch {
	case hasHangul(text):
		return "ko-KR"
	case latin:
		return "en-US"
	}
	return locale
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
