package rules

import (
	"slices"
	"strings"
)

// scopeOpen says whether the words leave open which of two clauses is not wanted. "거실로 가서 청정하지 마" forbids the way as well,
// or does not; "don't go to the kitchen and clean" forbids both. Such a sentence is asked about: the half that would be done may be
// the very thing that was forbidden.
func (p *reader) scopeOpen(before, c clause, t text) bool {
	between := ""
	if before.end <= c.start {
		between = strings.TrimSpace(string(t.original[before.end:c.start]))
	}
	if p.lang == english {
		return before.negated && !c.negated && (between == "" || strings.EqualFold(between, "and"))
	}
	last, ok := before.predicate()
	if !ok || before.negated || !c.negated || before.mood == moodDeclare || before.link == "cond" || c.link == "cond" {
		return false
	}
	if isLink(last.fn) {
		return !slices.ContainsFunc(c.items, func(it item) bool { return it.role == "topic" }) // "… 화면은 끄지 마" sets it apart
	}
	return last.fn == "inf" && between == "" && !c.namesSomething() // "거실로 가 있지 마" is one verb
}

func (c clause) namesSomething() bool {
	return slices.ContainsFunc(c.items, func(it item) bool { return it.kind == kindThing || it.kind == kindRoom || it.kind == kindActNoun })
}
