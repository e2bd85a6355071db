package rules

import (
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

// Where one clause asks for what the robot does not do and another for what it does, the first is refused by name and the rest goes on:
// "청정 켜고 티비도 켜 줘". Only where nothing else is in doubt: a clause that hangs on a refused one ("안방으로 가서 티비 켜") goes with it, and
// a thing that the refused one may have too ("티비 켜고 볼륨 30으로") is nobody's to guess.

// partly reads the sentence again without the clauses that are refused.
func (p *reader) partly(out parsed) (rest parsed, refused []turn.Refusal, ok bool) {
	if out.unknown > 0 {
		return rest, nil, false
	}
	first := -1
	for n, c := range out.clauses {
		if n > 0 && c.negated != out.clauses[n-1].negated && refusedBeside(c, out.clauses[n-1]) {
			return rest, nil, false // what is refused and what is forbidden may be the same
		}
		category, foreign := c.foreign()
		switch {
		case c.link == "cond":
			return rest, nil, false
		case !foreign:
			rest.clauses = append(rest.clauses, c)
		case category == "" || c.mood != moodRequest || c.negated || !apart(c.link) || n > 0 && !apart(out.clauses[n-1].link):
			return rest, nil, false
		default:
			refused = append(refused, turn.Refusal{Span: out.text.span(c.start, c.end), Category: category})
			if first < 0 {
				first = len(rest.clauses)
			}
		}
	}
	if len(refused) == 0 || len(rest.clauses) == 0 {
		return rest, nil, false
	}
	rest.text = out.text
	for _, c := range rest.clauses {
		rest.items = append(rest.items, c.items...)
	}
	p.readClauses(&rest)
	if len(rest.doubts) > 0 || len(rest.intents) == 0 || rest.control != nil {
		return rest, nil, false
	}
	shared := slices.ContainsFunc(rest.intents, func(in intent) bool { return in.clause >= first && in.frame.Shared })
	return rest, refused, !shared
}

func refusedBeside(a, b clause) bool {
	_, one := a.foreign()
	_, other := b.foreign()
	return one || other
}

// apart says whether a clause with this link stands beside the next one, and does not lead to it.
func apart(link string) bool { return link == "" || link == "seq" }

// foreign gives the category of what is not ours in a clause; it is empty for a time of day and the like, which nobody refuses.
func (c clause) foreign() (category string, ok bool) {
	for _, it := range c.items {
		if it.kind == kindClock {
			return "", true
		}
		if it.kind != kindForeign {
			continue
		}
		ok = true
		for _, group := range []string{"uns/", "own/"} {
			if name, found := strings.CutPrefix(it.key, group); found && category == "" {
				category = name
			}
		}
	}
	return category, ok
}
