package agents

import (
	"embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

//go:embed data
var data embed.FS

// both is a text in both languages.
type both struct {
	Ko string `json:"ko"`
	En string `json:"en"`
}

func (b both) in(locale string) string {
	if english(locale) {
		return b.En
	}
	return b.Ko
}

func english(locale string) bool { return strings.HasPrefix(locale, "en") }

var sentences = read[map[string]both]("sentences.json")

// say gives a fixed sentence; slots are pairs of a name and its text.
func say(locale, key string, slots ...string) string {
	s, ok := sentences[key]
	if !ok {
		panic("internal error: no sentence " + key)
	}
	for i := range slots {
		if i%2 == 0 {
			slots[i] = "{" + slots[i] + "}"
		}
	}
	return strings.TrimSpace(strings.NewReplacer(slots...).Replace(s.in(locale)))
}

// read decodes data that is built in; a test reads all of it.
func read[T any](name string) (out T) {
	text, err := data.ReadFile("data/" + name)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic("internal error: " + name + ": " + err.Error())
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
