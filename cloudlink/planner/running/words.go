package running

import (
	_ "embed"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed data/words.json
var wordsJSON []byte

// phrases are how people talk about work that is under way, as patterns over the words as they are said (see [tidy]). Groups: what is
// meant (x), what comes in its place (y), what goes on (keep).
type phrases struct {
	Replace []pattern           `json:"replace"`   // x is not meant, y is
	Instead []pattern           `json:"instead"`   // y is meant, and not what was
	Drop    []pattern           `json:"drop"`      // x is not wanted, the rest is
	Stop    []pattern           `json:"stop"`      // only x is to stop
	Told    []pattern           `json:"stop_told"` // x is to stop, where x is something that is being told
	End     []pattern           `json:"end"`       // x, which may be told, is to stop
	EndThen []pattern           `json:"end_then"`  // x, which is being told, is to stop, and then y is to be done
	Quit    []pattern           `json:"quit"`      // whatever it is, it is to stop
	Forbid  []pattern           `json:"forbid"`    // what was asked for is not to be done
	Stay    []pattern           `json:"stay"`      // nowhere to go; with x: not there
	Off     []pattern           `json:"off"`       // what is on is to be off
	Around  []string            `json:"around"`    // words that may stand before or behind a stop and change nothing of it
	Where   []pattern           `json:"where"`     // where the robot is
	Past    []pattern           `json:"past"`      // what it was doing before
	Status  []pattern           `json:"status"`    // what is being done
	Ended   []pattern           `json:"ended"`     // whether it has ended; with x: whether that has
	During  []pattern           `json:"during"`    // whether x is being done
	Arrived []pattern           `json:"arrived"`   // whether the robot has come to x
	Pause   []pattern           `json:"pause"`
	Resume  []pattern           `json:"resume"`
	Halts   []string            `json:"halts"` // words with which something is stopped or held
	Yes     []string            `json:"yes"`
	No      []string            `json:"no"`
	Firsts  [][]string          `json:"ordinals"` // of the first option, of the second …
	Kinds   map[string][]string `json:"kinds"`    // of content: quiz, story, news
	Moves   []string            `json:"moves"`    // words for going somewhere, where no room is named
	Tails   []string            `json:"tails"`    // particles that say nothing here, behind a noun
}

type pattern struct{ *regexp.Regexp }

func (p *pattern) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err = json.Unmarshal(data, &text); err == nil {
		p.Regexp, err = regexp.Compile(`(?i)^(?:` + text + `)$`)
	}
	return err
}

var say = func() (p phrases) {
	if err := json.Unmarshal(wordsJSON, &p); err != nil {
		panic("internal error: words.json: " + err.Error()) // it is built in, and tested
	}
	return p
}()

// match finds the first pattern that fits the whole text, and gives its groups by name.
func match(all []pattern, text string) (map[string]string, bool) {
	for _, p := range all {
		m := p.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		out := map[string]string{}
		for i, name := range p.SubexpNames() {
			if name != "" && m[i] != "" {
				out[name] = strings.TrimSpace(m[i])
			}
		}
		return out, true
	}
	return nil, false
}

var spaces = regexp.MustCompile(`\s+`)

// tidy is the text in NFC with single spaces, in lower case, without the marks at its end.
func tidy(text string) string {
	text = spaces.ReplaceAllString(norm.NFC.String(strings.ToLower(text)), " ")
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("?!.~…,", r) })
}

// plain is the text of a stop without the words around it that change nothing: "아 됐어 그만둬", "please stop it now".
func plain(text string) string {
	text = tidy(text)
	for {
		short := text
		for _, word := range say.Around {
			if rest, ok := strings.CutPrefix(short, word); ok && strings.TrimLeft(rest, " ,.!~…") != rest {
				short = strings.TrimLeft(rest, " ,.!~…")
			}
			if rest, ok := strings.CutSuffix(short, word); ok && strings.TrimRight(rest, " ,.!~…") != rest {
				short = strings.TrimRight(rest, " ,.!~…")
			}
		}
		if short == text {
			return text
		}
		text = short
	}
}

// key is the text with its letters and digits only: spaces and marks are written as people like.
func key(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, tidy(text))
}

// english says whether there is no Korean letter in it.
func english(text string) bool {
	return !strings.ContainsFunc(norm.NFC.String(text), func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
}

// bare takes particles and what else says nothing off the end of a noun.
func bare(x string) string {
	for {
		short := x
		for _, tail := range say.Tails {
			if rest, ok := strings.CutSuffix(short, tail); ok && len([]rune(strings.TrimSpace(rest))) >= 2 {
				short = strings.TrimSpace(rest)
				break
			}
		}
		if short == x {
			return x
		}
		x = short
	}
}

// kindOf is the kind of content that words name; empty: none.
func kindOf(x string) string {
	for _, kind := range slices.Sorted(maps.Keys(say.Kinds)) {
		if slices.Contains(say.Kinds[kind], key(bare(x))) {
			return kind
		}
	}
	return ""
}
