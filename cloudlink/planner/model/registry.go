package model

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// known is what a model may name: nothing else exists.
type known struct {
	cat    *catalog.Catalog
	words  catalogfile.Planner
	agents *registry.Registry
	flows  []registry.Flow
}

// flow is the one by which a family is served where nothing more is known.
func (r *known) flow(f turn.Family) (registry.Flow, bool) { return r.agents.Owner(f) }

// lists gives one column of the flows, each word once.
func (r *known) lists(column func(registry.Flow) string) (out []string) {
	for _, f := range r.flows {
		if w := column(f); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

func (r *known) families() []string {
	return r.lists(func(f registry.Flow) string { return string(f.Family) })
}

// methods are the operations that may be planned for people: internal ones and those of a lab do not exist for a model.
func (r *known) methods() (out []string) {
	for _, m := range slices.Sorted(maps.Keys(r.cat.Operations)) {
		if r.public(string(m)) {
			out = append(out, string(m))
		}
	}
	return out
}

func (r *known) public(method string) bool {
	op, ok := r.cat.Operations[catalog.Method(method)]
	return ok && (op.Visibility == "" || op.Visibility == "public")
}

// params are the names of all parameters of the public operations.
func (r *known) params() (out []string) {
	for _, m := range r.methods() {
		for name := range r.cat.Operations[catalog.Method(m)].Params {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// effects are those that the public operations can bring about.
func (r *known) effects() (out []string) {
	for _, m := range r.methods() {
		for _, e := range r.cat.Operations[catalog.Method(m)].AllEffects() {
			if !slices.Contains(out, string(e)) {
				out = append(out, string(e))
			}
		}
	}
	slices.Sort(out)
	return out
}

func (r *known) categories() []string { return slices.Sorted(maps.Keys(r.words.Unsupported)) }

// folded is how words are compared: NFC, lower case, single spaces.
func folded(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFC.String(s))), " ")
}

// hasWord says whether a span has one of the words, at the beginning of one of its own words. A word of one letter has to be a whole
// one: "가" (go) begins too many others.
func hasWord(span string, words []string) bool {
	span = " " + strings.Map(spaced, folded(span)) + " "
	for _, w := range words {
		w = folded(w)
		switch n := utf8.RuneCountInString(w); {
		case n > 1 && strings.Contains(span, " "+w), n == 1 && strings.Contains(span, " "+w+" "):
			return true
		}
	}
	return false
}

// spaced makes what stands between words a space.
func spaced(r rune) rune {
	if unicode.IsPunct(r) {
		return ' '
	}
	return r
}

// namesRoom says whether a text has one of a room's names, spaces aside.
func namesRoom(text string, room catalog.Room) bool {
	text = strings.ReplaceAll(folded(text), " ", "")
	return slices.ContainsFunc(append([]string{room.Name}, room.Aliases...), func(name string) bool {
		name = strings.ReplaceAll(folded(name), " ", "")
		return name != "" && strings.Contains(text, name)
	})
}

func both(a catalog.Aliases) []string { return append(slices.Clone(a.Ko), a.En...) }
