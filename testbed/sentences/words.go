package sentences

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

//go:embed words.json
var wordsJSON []byte

// vocabulary is what the sentences are made of.
type vocabulary struct {
	Verbs       map[string]verb   `json:"verbs"`
	Endings     []ending          `json:"endings"`
	Ands        []string          `json:"ands"`  // one after the other; those with 주- are not for verbs that have it
	Withs       []string          `json:"withs"` // beside each other
	Between     []string          `json:"between"`
	Openers     []string          `json:"openers"`
	Delays      []string          `json:"delays"`
	Units       []unit            `json:"units"`
	Sino        map[string]string `json:"sino"`
	Native      map[string]string `json:"native"`
	Minutes     []int             `json:"minutes"`
	During      []string          `json:"during"`
	Levels      []int             `json:"levels"`
	Operations  []operation       `json:"operations"`
	Skills      []operation       `json:"skills"`
	Unsupported []unsupported     `json:"unsupported"`
	Conditions  []condition       `json:"conditions"`
	Asked       []string          `json:"asked"`
}

// verb has the forms that the connectives and endings need; gives: it ends in 주- already.
type verb struct {
	And    string `json:"and"`
	Then   string `json:"then"`
	With   string `json:"with"`
	Gone   string `json:"gone"`
	Inf    string `json:"inf"`
	Polite string `json:"polite"`
	Past   string `json:"past"`
	Gives  bool   `json:"gives"`
}

// ending closes a sentence; plain ones are not for verbs that end in 주-.
type ending struct {
	Text  string `json:"text"`
	Plain bool   `json:"plain"`
}

type unit struct {
	Name   string `json:"name"`
	MS     int64  `json:"ms"`
	Counts []int  `json:"counts"`
}

// operation is one thing to ask for, with its ways to be said: what stands before the verb, and the verb.
type operation struct {
	ID         string                         `json:"id"`
	Method     string                         `json:"method"`
	Skill      string                         `json:"skill"`
	Route      string                         `json:"route"`
	Room       string                         `json:"room"` // the parameter that takes the room it goes to
	Place      bool                           `json:"place"`
	Timed      bool                           `json:"timed"`
	Ends       bool                           `json:"ends"`        // it goes on until its end, which may be waited for
	EndsItself bool                           `json:"ends_itself"` // "끝나면" may be said behind it
	Arrives    bool                           `json:"arrives"`     // "도착하면" may be said behind it
	Shared     bool                           `json:"shared"`      // other things of a home have it too
	Params     map[string]any                 `json:"params"`
	Level      string                         `json:"level"`
	Output     string                         `json:"output"`
	Weight     int                            `json:"weight"`
	Says       [][2]string                    `json:"says"`
	Starts     [][2]string                    `json:"starts"` // ask for its start only
	Values     map[string]map[string][]string `json:"values"`
	When       map[string][]string            `json:"when"`
}

type unsupported struct {
	Says [][2]string `json:"says"`
}

// condition is a clause in -면 with what it says, and the output that has to be read for it.
type condition struct {
	Text  []string `json:"text"`
	Reads string   `json:"reads"`
	Is    string   `json:"is"`
}

// load reads the words and keeps what the catalog can do.
// Errors: an operation that people may ask for has aliases and no words here.
func load(cat *catalog.Catalog) (vocabulary, error) {
	var v vocabulary
	if err := json.Unmarshal(wordsJSON, &v); err != nil {
		return v, fmt.Errorf("cannot read the words of the sentences: %w", err)
	}
	v.Operations = slices.DeleteFunc(v.Operations, func(o operation) bool {
		_, ok := cat.Operations[catalog.Method(o.Method)]
		return !ok
	})
	for method, op := range cat.Operations {
		public := op.Visibility == "" || op.Visibility == "public"
		known := slices.ContainsFunc(v.Operations, func(o operation) bool { return o.Method == string(method) })
		if public && len(op.Aliases.Ko) > 0 && !known && method != "stopMovement" {
			return v, fmt.Errorf("cannot compose sentences of %s: words.json has no words for it", method)
		}
	}
	return v, nil
}

// openEnd says how a word ends: without a final consonant, or with ㄹ. Digits end as they are read.
func openEnd(word string) (open, rieul bool) {
	runes := []rune(word)
	last := runes[len(runes)-1]
	if last >= '0' && last <= '9' {
		return strings.ContainsRune("2459", last), strings.ContainsRune("178", last)
	}
	tail := (int(last) - 0xAC00) % 28
	return tail == 0, tail == 8
}

// to adds 로 or 으로.
func to(word string) string {
	if open, rieul := openEnd(word); open || rieul {
		return word + "로"
	}
	return word + "으로"
}
