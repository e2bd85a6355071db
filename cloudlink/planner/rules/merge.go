package rules

import (
	"slices"
	"strings"
)

// Words that together are one: "청정" + "하", "켜" + "줘", "갈" + "수" + "있어", "가지" + "마", "30초" + "뒤". Each rule looks at the
// list once, from the left.

// merge applies the rules in order.
func merge(items []item) []item {
	items = mergeGiving(mergeActNouns(items))
	items = mergeAux(items)
	items = mergeNegation(items)
	items = mergeCan(items)
	items = mergeCausative(items)
	items = mergeWish(items)
	items = mergeTimes(items)
	items = mergeAfter(items)
	return mergeParticles(items)
}

// mergeGiving: a verb that has 주- in itself (들려주) asks for it like one that has it behind.
func mergeGiving(items []item) []item {
	for i, it := range items {
		if rest, ok := strings.CutPrefix(it.text, "들려"); ok && it.kind == kindVerb && rest != "" {
			items[i].give = strings.ContainsAny(rest[:len("주")], "주줘줄줬준")
		}
	}
	return items
}

// mergeActNouns: 이동 + 하다 is the verb of the noun. 부탁해 asks for what was named before it.
func mergeActNouns(items []item) []item {
	var out []item
	for i := 0; i < len(items); i++ {
		it := items[i]
		next := i + 1
		for next < len(items) && items[next].kind == kindParticle && items[next].key == "obj" {
			next++ // "확인을 해"
		}
		filler := next
		for filler < len(items) && (items[filler].kind == kindFiller || items[filler].kind == kindNeg) {
			filler++
		}
		if it.kind == kindActNoun && filler < len(items) && items[filler].kind == kindVerb && items[filler].key == "do" {
			out = append(out, items[next:filler]...)
			v := items[filler]
			v.key, v.start = it.key, it.start
			out = append(out, v)
			i = filler
			continue
		}
		if it.kind == kindActNoun && next < len(items) && items[next].kind == kindAux {
			it.kind, it.fn = kindVerb, "inf" // "확인 좀 줘" is rare; "이동 부탁" comes here as act nouns
		}
		out = append(out, it)
	}
	return out
}

// mergeAux: 켜 + 줘. The last auxiliary ends the verb; 주 and 드리 make a wish of it.
func mergeAux(items []item) []item {
	var out []item
	for _, it := range items {
		last := len(out) - 1
		if it.kind == kindAux && last >= 0 && (out[last].kind == kindVerb || out[last].kind == kindState) {
			v := &out[last]
			v.fn, v.end = it.fn, it.end
			v.give = v.give || it.key == "주" || it.key == "드리"
			continue
		}
		out = append(out, it)
	}
	return out
}

// mergeNegation: 가지 + 마, 안 + 가. A negated verb never becomes a step.
func mergeNegation(items []item) []item {
	var out []item
	var open item // a negation whose verb has not come, and where it stood
	negated, at := false, 0
	for _, it := range items {
		last := len(out) - 1
		switch {
		case it.kind == kindNegVerb && last >= 0 && isPredicate(out[last]) && out[last].fn == "ji":
			out[last].fn, out[last].end, out[last].negated = it.fn, it.end, true
			continue
		case it.kind == kindNeg:
			open, negated, at = it, true, len(out)
			continue
		case negated && isPredicate(it):
			it.negated, negated = true, false
			if at == len(out) {
				it.start = open.start // "안 좋은" is cited whole
			}
		}
		out = append(out, it)
	}
	if negated {
		open.kind, open.text = kindUnknown, "안"
		out = slices.Insert(out, at, open)
	}
	return out
}

// mergeCan: 켜 줄 수 있어 asks to do it; 갈 수 있어 asks whether it can be done.
func mergeCan(items []item) []item {
	var out []item
	for i := 0; i < len(items); i++ {
		it := items[i]
		if it.kind == kindCan && len(out) > 0 && i+1 < len(items) && isPredicate(items[i+1]) {
			v, tail := &out[len(out)-1], items[i+1]
			v.end = tail.end
			switch {
			case tail.key == "short" || tail.negated:
				v.fn, v.negated = "decl", true
			case v.give && tail.fn != "cond" && tail.fn != "adn_n":
				v.fn = "imp"
			default:
				v.fn = "can"
			}
			i++
			continue
		}
		out = append(out, it)
	}
	return out
}

// mergeCausative: 꺼지게 해 줘, 가도록 해: the second verb says only what is wanted of the first.
func mergeCausative(items []item) []item {
	var out []item
	for _, it := range items {
		last := len(out) - 1
		if it.kind == kindVerb && it.key == "do" && last >= 0 && out[last].kind == kindVerb && out[last].fn == "adv" {
			out[last].fn, out[last].give, out[last].end = it.fn, it.give, it.end
			continue
		}
		out = append(out, it)
	}
	return out
}

// mergeWish: 가 줬으면 좋겠어 asks for it; 가면 좋겠어 only says so. So do 가 줬으면 해, 가 주면 돼, 가 주면 안 될까.
func mergeWish(items []item) []item {
	var out []item
	for _, it := range items {
		last := len(out) - 1
		if it.kind == kindState && it.key == "wish" && last >= 0 && isPredicate(out[last]) && out[last].fn == "cond" {
			out[last].fn, out[last].end = "decl", it.end
			if out[last].give {
				out[last].fn = "imp"
			}
			continue
		}
		if last >= 0 && out[last].give && out[last].fn == "cond" && wishes(it) {
			out[last].fn, out[last].end = "imp", it.end
			continue
		}
		out = append(out, it)
	}
	return out
}

// wishes says whether a verb behind 주면 makes a wish of it: 해, 돼; with a negation only as a question.
func wishes(it item) bool {
	final := it.fn == "inf" || it.fn == "query" || it.fn == "decl" || it.fn == "polite" || it.fn == "imp"
	switch {
	case it.kind == kindVerb && it.key == "do":
		return final && !it.negated
	case it.kind == kindState && it.key == "become":
		return final && (!it.negated || it.fn == "query")
	}
	return false
}

// mergeTimes: 30초 + 뒤 is a delay, 20분 + 동안 a span, and a wait of 30 seconds is a delay for what comes next.
func mergeTimes(items []item) []item {
	var out []item
	for _, it := range items {
		last := len(out) - 1
		if last >= 0 && out[last].kind == kindDuration {
			switch {
			case it.kind == kindAfter, it.kind == kindVerb && it.key == "wait" && isLink(it.fn):
				out[last].kind, out[last].end = kindDelay, it.end
				continue
			case it.kind == kindState && it.key == "become" && it.fn == "cond" && last > 0 && out[last-1].kind == kindSince:
				out[last].kind, out[last].end = kindDelay, it.end // "간 지 30초 되면"
				continue
			case it.kind == kindDuring, it.kind == kindParticle && it.key == "only":
				out[last].kind, out[last].end = kindSpan, it.end
				continue
			case it.kind == kindStateNoun || it.kind == kindParticle && it.key == "obj":
				out[last].end = it.end // "30초 정도", "30초를"
				continue
			}
		}
		out = append(out, it)
	}
	return out
}

// mergeAfter: 간 + 뒤 links like 가고 나서; 간 지 30초 뒤 says the same with a delay; 청정 + 후 ends a clause without a verb.
func mergeAfter(items []item) []item {
	var out []item
	for i, it := range items {
		last := len(out) - 1
		switch {
		case it.kind == kindAfter && last >= 0 && isPredicate(out[last]) && out[last].fn == "adn_n":
			out[last].fn, out[last].end = "seq", it.end
			continue
		case it.kind == kindDuring && last >= 0 && isPredicate(out[last]) && out[last].fn == "adn_p":
			out[last].fn, out[last].end = "cond", it.end // "청정하는 동안": it may be going on or not, nobody asked to begin it
			continue
		case it.kind == kindMeanwhile && last >= 0 && isPredicate(out[last]) && (out[last].fn == "adn_p" || out[last].fn == "simul"):
			out[last].fn, out[last].end = "simul", it.end // "청정하는 동시에"
			continue
		case it.kind == kindMeanwhile:
			it.kind = kindUnknown
		case it.kind == kindSince && last >= 0 && isPredicate(out[last]) && i+1 < len(items) && items[i+1].kind == kindDelay:
			out[last].fn = "seq"
			continue
		case it.kind == kindAfter && (it.key == "elapsed" || last < 0):
			it.kind = kindUnknown // "이따가", "다음에": later, but nobody said when
		case it.kind == kindAfter:
			it.kind = kindConnect
		}
		out = append(out, it)
	}
	return out
}

// mergeParticles hangs each particle on the noun before it, as its role.
func mergeParticles(items []item) []item {
	var out []item
	for _, it := range items {
		last := len(out) - 1
		if it.kind == kindParticle && last >= 0 {
			if out[last].role == "" || it.key == "to" {
				out[last].role = it.key
			}
			out[last].end = it.end
			continue
		}
		if it.kind == kindPart && last >= 0 && (out[last].kind == kindRoom || out[last].kind == kindUnknown) {
			out[last].end = it.end // "거실 쪽으로"
			continue
		}
		out = append(out, it)
	}
	return out
}

func isPredicate(it item) bool {
	return it.kind == kindVerb || it.kind == kindState || it.kind == kindCopula
}

// isLink says whether an ending leads on to another clause.
func isLink(fn string) bool { return fn == "seq" || fn == "chain" || fn == "simul" }
