package rules

import (
	"slices"

	"deviceagent/bridge/wire"
)

// What is said beside what is wanted: "퀴즈 말고 동화", "볼륨 30 말고 40으로", "청정은 놔두고", "아니면".

// fronted gives a thing that stands before the condition to the clause that does something with it: "뉴스는 청정 끝나면 알려 줘". A condition
// keeps what it is about.
func fronted(all []clause) []clause {
	for i := 0; i+1 < len(all); i++ {
		c, next := &all[i], &all[i+1]
		if c.link != "cond" || len(next.find(kindThing)) > 0 {
			continue
		}
		first := slices.IndexFunc(c.items, func(it item) bool { return it.kind == kindThing })
		if first < 0 || c.items[first].role != "topic" && c.items[first].role != "obj" {
			continue
		}
		if slices.ContainsFunc(c.items[:first], func(it item) bool { return it.kind != kindWhen && it.kind != kindFiller && it.kind != kindManner }) {
			continue
		}
		rest := c.items[first+1:]
		about := slices.ContainsFunc(rest, func(it item) bool {
			return it.kind == kindThing || it.kind == kindState && (it.key == "need" || it.key == "rain")
		})
		if !about {
			continue
		}
		next.items = slices.Concat(c.items[:first+1], next.items)
		c.items = slices.Clone(rest)
		c.start = rest[0].start
	}
	return all
}

// slots say what may stand in the place of an excluded word: another thing for a thing, another value for a value.
var slots = map[kind][]kind{
	kindThing: {kindThing, kindActNoun, kindVerb}, kindForeign: {kindThing}, kindUnknown: {kindThing}, kindActNoun: {kindThing, kindActNoun, kindVerb},
	kindNumber: {kindNumber, kindPercent, kindLevel}, kindPercent: {kindNumber, kindPercent, kindLevel}, kindLevel: {kindNumber, kindPercent, kindLevel},
	kindDuration: {kindDuration, kindSpan}, kindSpan: {kindDuration, kindSpan}, kindValue: {kindValue}, kindWhen: {kindWhen},
}

// corrected takes out what stands before 말고, where the same clause says what is wanted in its place. Rooms keep theirs: [grounding.rooms].
// A word that nobody knows goes only where such words are what is looked for.
func corrected(items []item, unknown bool) []item {
	for i := 1; i < len(items); i++ {
		if items[i].kind != kindExclude || items[i].role != "" || items[i-1].kind == kindRoom {
			continue
		}
		rest := items[i+1:]
		if end := slices.IndexFunc(rest, isPredicate); end >= 0 {
			rest = rest[:end+1]
		}
		fits := func(it item) bool {
			return (unknown || it.kind != kindUnknown) && slices.ContainsFunc(rest, func(x item) bool {
				return slices.Contains(slots[it.kind], x.kind) && (x.kind != kindVerb || x.key != "do" && it.kind == kindActNoun)
			})
		}
		from := i
		for from > 0 && fits(items[from-1]) {
			from--
		}
		if from == i || negatedEnd(rest) {
			continue
		}
		items = slices.Concat(items[:from], items[i+1:])
		i = from
	}
	return items
}

// negatedEnd: "주방 말고는 가지 마" corrects nothing.
func negatedEnd(rest []item) bool {
	return slices.ContainsFunc(rest, func(it item) bool { return isPredicate(it) && it.negated })
}

// leaves says whether a clause only says that something goes on as it is: "청정은 놔두고".
func (g *grounding) leaves() bool {
	pred, ok := g.clause.predicate()
	return ok && pred.kind == kindVerb && pred.key == "leave" && g.clause.mood == moodRequest && !g.clause.negated && g.known() && len(g.clause.find(kindThing))+len(g.clause.find(kindActNoun)) > 0
}

// otherwise reads "아니면" behind a condition: the other way round. ok is false where the clause is none, or there is no condition.
func (g *grounding) otherwise(intents []intent) (conditional, bool) {
	for _, it := range g.clause.items {
		if it.kind != kindFiller && !(it.kind == kindState && it.key == "else") {
			return conditional{}, false
		}
	}
	for _, in := range slices.Backward(intents) {
		if in.when == nil {
			continue
		}
		when, ok := inverted(*in.when)
		if !ok {
			return conditional{}, false
		}
		cond := conditional{when: when}
		for _, id := range sortedKeys(g.p.frames) {
			if m := g.p.frames[id].Metric; m != nil && m.OutputKey != "" && m.OutputKey == in.visible {
				cond.frame = g.p.frames[id]
			}
		}
		return cond, true
	}
	return conditional{}, false
}

var opposite = map[string]string{"ge": "lt", "lt": "ge", "gt": "le", "le": "gt"}

// inverted is the condition that holds where the other does not.
func inverted(c wire.Condition) (wire.Condition, bool) {
	switch v := c.Value.V.(type) {
	case bool:
		c.Value.V = !v
		return c, c.Op == "eq"
	case []any:
		for name, list := range grades {
			if len(v) > 0 && len(list) > 0 && v[0] == list[0] {
				c.Value.V = grades[map[string]string{"bad": "good", "good": "bad"}[name]]
				return c, true
			}
		}
	default:
		if op := opposite[c.Op]; op != "" {
			c.Op = op
			return c, true
		}
	}
	return c, false
}

// spreadThings makes one clause of each thing of "화면이랑 소리 다 꺼 줘", in the order said.
func spreadThings(c clause) []clause {
	var things []int
	for i, it := range c.items {
		if it.kind == kindThing {
			things = append(things, i)
		}
	}
	if len(things) < 2 {
		return []clause{c}
	}
	for n, i := range things[:len(things)-1] {
		if things[n+1] != i+1 || c.items[i].role != "and" {
			return []clause{c}
		}
	}
	var out []clause
	for n, keep := range things {
		part := c
		part.items = nil
		for i, it := range c.items {
			if (!slices.Contains(things, i) || i == keep) && it.kind != kindEvery && !(n > 0 && it.kind == kindDelay) {
				part.items = append(part.items, it)
			}
		}
		if n < len(things)-1 {
			part.link = "seq"
		}
		out = append(out, part)
	}
	return out
}
