package rules

import (
	"slices"
	"strings"
)

// mood is what a clause does: it asks for something, asks about something, states something, or names it without a verb.
type mood string

const (
	moodRequest mood = "request"
	moodQuery   mood = "query"
	moodDeclare mood = "declare"
	moodNominal mood = "nominal"
)

// clause is one predicate with what belongs to it.
type clause struct {
	items      []item
	link       string // how the next clause follows: seq, chain, simul, cond; empty at the end
	mood       mood
	negated    bool
	start, end int
}

// moods says what an ending does at the end of a clause.
var moods = map[string]mood{
	"imp": moodRequest, "inf": moodRequest, "gi": moodNominal, "polite": moodQuery, "will": moodQuery, "query": moodQuery, "can": moodQuery,
	"tag": moodQuery, "seq": moodRequest, "chain": moodRequest, "simul": moodRequest, "cond": moodRequest, "decl": moodDeclare, "reason": moodDeclare, "permit": moodDeclare, "past": moodDeclare,
	"adv": moodDeclare, "adn_n": moodDeclare, "adn_l": moodDeclare, "adn_p": moodDeclare, "ji": moodDeclare, "before": moodDeclare,
}

// split cuts the items into clauses after each linking ending, at each connecting word and at the end of each sentence.
func split(items []item, t text) []clause {
	var out []clause
	var cur []item
	asked := false // the clause that ends here was said as a question
	flush := func(link string) {
		if len(cur) > 0 {
			out = append(out, newClause(cur, link, asked))
			cur = nil
		} else if len(out) > 0 && out[len(out)-1].link == "" {
			out[len(out)-1].link = link
		}
	}
	for i, it := range items {
		var ends bool
		ends, asked = t.stops(items, i)
		if it.kind == kindConnect {
			flush("seq")
			if it.key == "beside" && len(out) > 0 {
				out[len(out)-1].link = "simul"
			}
			continue
		}
		if !ends && i+1 < len(items) && it.kind == kindVerb && (it.key == "go" || it.key == "visit") && it.fn == "decl" && strings.HasSuffix(t.span(it.start, it.end), "다") {
			it.fn = "seq" // "들렀다 충전하러 가"
		}
		cur = append(cur, it)
		if ends && i+1 < len(items) && !(isPredicate(it) && (isLink(it.fn) || it.fn == "cond" || it.fn == "reason")) {
			flush("")
			continue
		}
		if isPredicate(it) && (isLink(it.fn) || it.fn == "cond" || it.fn == "reason") {
			flush(it.fn)
			continue
		}
		if isPredicate(it) && isFinal(it.fn) && !followedByQuery(items[i+1:]) && !asksFor(items[i+1:]) && !quotes(items[i+1:]) {
			flush("")
		}
	}
	flush("")
	return out
}

// stops says whether a sentence ends behind an item, and whether it is a question there: by the mark, at the end of all by the last one.
func (t text) stops(items []item, i int) (ends, asked bool) {
	if i == len(items)-1 {
		return true, t.question
	}
	for at := items[i].end; at < items[i+1].start; at++ {
		switch t.original[at] {
		case '?':
			return true, true
		case '.', '!', ';':
			ends = true
		}
	}
	return ends, false
}

// isFinal says whether an ending closes a sentence: "거실로 가. 청정해." are two requests in order.
func isFinal(fn string) bool {
	return fn == "imp" || fn == "inf" || fn == "query" || fn == "decl" || fn == "past"
}

// asksFor says whether the rest is a polite frame around what was said: 바랍니다.
func asksFor(rest []item) bool { return len(rest) > 0 && rest[0].key == "ask" }

// quotes says whether the next word ends a quotation: "챙겨 가라고".
func quotes(rest []item) bool { return len(rest) > 0 && strings.HasSuffix(rest[0].text, "라고") }

// followedByQuery says whether the rest only asks to tell ("어떤지 알려줘") or wishes ("주면 좋겠어").
func followedByQuery(rest []item) bool {
	for _, it := range rest {
		switch {
		case it.kind == kindFiller:
			continue
		case isPredicate(it):
			return it.key == "query" || it.key == "wish" || it.key == "measure" || it.key == "ask"
		default:
			return it.kind == kindActNoun && (it.key == "query" || it.key == "ask")
		}
	}
	return false
}

func newClause(items []item, link string, question bool) clause {
	c := clause{items: items, link: link, mood: moodNominal, start: items[0].start, end: items[len(items)-1].end}
	if last, ok := c.predicate(); ok {
		c.mood = moodOf(last, c.items, question && link == "")
		c.negated = last.negated
	} else if question && link == "" {
		c.mood = moodQuery
	}
	if c.asks(question) {
		c.mood = moodQuery
	}
	if slices.ContainsFunc(items, func(it item) bool { return (it.kind == kindActNoun || it.kind == kindVerb) && it.key == "ask" }) {
		c.mood = moodRequest
	}
	return c
}

// asks says whether question words or a question mark make a question of it: "배터리 얼마나 남았어".
func (c clause) asks(question bool) bool {
	last, ok := c.predicate()
	asked := slices.ContainsFunc(c.items, func(it item) bool { return it.kind == kindAsk || it.kind == kindState && it.key == "how" })
	if c.mood == moodDeclare {
		return ok && last.fn == "past" && (asked || question && c.link == "")
	}
	return asked
}

// predicate is the last verb of the clause.
func (c clause) predicate() (item, bool) {
	for i := len(c.items) - 1; i >= 0; i-- {
		if isPredicate(c.items[i]) {
			return c.items[i], true
		}
	}
	return item{}, false
}

// moodOf reads the mood of the last verb. "켜 줄래", "켜 주겠어", "켜 주실 수 있나요" ask to do it, whatever their ending; "켜져 있는지
// 알려 줘" asks about it; a bare verb with a question mark is a question.
func moodOf(last item, items []item, question bool) mood {
	m := moods[last.fn]
	switch {
	case last.give && (last.fn == "will" || last.fn == "polite" || last.fn == "tag"):
		m = moodRequest
	case last.fn == "inf" && question && !last.give:
		m = moodQuery
	case last.kind != kindVerb && isLink(last.fn):
		m = moodDeclare // "공기가 나빠서"
	case last.kind != kindVerb && m == moodRequest:
		m = moodQuery // "공기 좋아"
	}
	for _, it := range items {
		if isPredicate(it) && it.fn == "query" && it.start != last.start && m == moodRequest {
			return moodQuery
		}
	}
	return m
}

// forbids says whether a negated clause is a wish that something is not done; "못 가" and "안 가" only say so.
func (c clause) forbids() bool {
	last, ok := c.predicate()
	return ok && c.negated && (last.fn == "imp" || last.fn == "seq" || last.fn == "permit")
}

// find gives the items of a kind.
func (c clause) find(k kind) []item {
	var out []item
	for _, it := range c.items {
		if it.kind == k {
			out = append(out, it)
		}
	}
	return out
}
