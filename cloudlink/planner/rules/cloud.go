package rules

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// A clause that asks for what the cloud does (news, a story) is grounded in a skill. Words that nobody knows are what is looked for, or a
// title; the words of the robot still are not: "화면 뉴스" is nobody's.

// fillSkill takes when, where and what to look for out of the clause, and refuses it if a word is left over.
func (g *grounding) fillSkill(f *frame, act string) (intent, *doubt) {
	in := intent{frame: f, act: act, params: wire.Object{}, span: g.text.span(g.clause.start, g.clause.end)}
	for _, name := range sortedKeys(f.Args) {
		in.params[name] = wire.Value{V: f.Args[name]}
	}
	if d := g.skillRoom(&in); d != nil {
		return in, d
	}
	var words []item
	for i, it := range g.clause.items {
		switch ok, content := g.skillWord(&in, it); {
		case !ok && !g.used[i]:
			return in, &doubt{reason: doubtUnknownWord, frame: f}
		case content:
			words = append(words, it)
		}
	}
	if d := g.skillActs(&in); d != nil {
		return in, d
	}
	if f.Titled && act == "do" && g.talk() {
		return in, &doubt{reason: doubtAct, frame: f}
	}
	in.silent = f.Route == turn.FRG && !g.tells()
	return in, g.lookFor(&in, words)
}

// skillRoom: "거실에서 뉴스 들려줘" is told there. A room without a particle of place belongs to no skill: "거실 날씨".
func (g *grounding) skillRoom(in *intent) *doubt {
	for i, it := range g.clause.items {
		if it.kind != kindRoom {
			continue
		}
		if !in.frame.Place || in.room != "" || it.role != "at" {
			return &doubt{reason: doubtCannotAtRoom, frame: in.frame}
		}
		r, d := g.one(it)
		if d != nil {
			return d
		}
		in.room, in.said, g.used[i] = r.name, r.name, true
	}
	return nil
}

// skillWord says whether a word may stand in the clause, and whether it is part of what is looked for.
func (g *grounding) skillWord(in *intent, it item) (ok, content bool) {
	open := in.frame.Open
	switch it.kind {
	case kindWhen:
		if in.frame.Route == turn.FRG {
			in.params["when"] = wire.Value{V: it.key}
		}
		return true, false
	case kindPronoun:
		in.takes = open
		return true, false
	case kindManner:
		return true, false
	case kindThing:
		return true, open
	case kindUnknown:
		if it.role == "person" {
			return true, false // "아이한테"
		}
		if open && g.p.isPlace(it.text) {
			in.params["place"] = wire.Value{V: it.text}
			return true, false
		}
		return open || in.frame.Titled && it.role != "to" && it.role != "until" && g.mayBeTitle(it), true
	case kindState, kindStateNoun, kindMeasure, kindAsk, kindCopula, kindPart, kindHome, kindHere, kindQuit:
		return open, open && it.kind != kindAsk && it.key != "how" && it.key != "rain"
	case kindForeign:
		return open && !strings.HasPrefix(it.key, "sch") && in.act != "on" && in.act != "start", true
	case kindVerb:
		return true, open && (it.fn == "adn_n" || it.fn == "adn_l" || it.fn == "adn_p")
	}
	return false, false
}

// talk says whether "이야기" is what two people do and no tale: "이야기하자". "이야기 하나 해 줘" asks for one.
func (g *grounding) talk() bool {
	pred, _ := g.clause.predicate()
	return !pred.give && slices.ContainsFunc(g.clause.find(kindThing), func(it item) bool { return it.key == "이야기" || it.key == "얘기" })
}

// mayBeTitle: a title stands before the noun ("신데렐라 동화"), or between it and the verb.
func (g *grounding) mayBeTitle(it item) bool {
	thing := slices.IndexFunc(g.clause.items, func(x item) bool { return x.kind == kindThing })
	at := slices.IndexFunc(g.clause.items, func(x item) bool { return x.start == it.start })
	return at < thing || at == thing+1 && at+1 < len(g.clause.items) && isPredicate(g.clause.items[at+1]) && g.clause.items[at+1].key != "ask"
}

// skillActs refuses a verb that is none of the skill's, unless it only describes what is looked for.
func (g *grounding) skillActs(in *intent) *doubt {
	for _, it := range g.clause.items {
		switch it.kind {
		case kindVerb, kindActNoun:
		case kindQuit:
			return &doubt{reason: doubtAct, frame: in.frame}
		default:
			continue
		}
		describes := in.frame.Open && (it.fn == "adn_n" || it.fn == "adn_l" || it.fn == "adn_p" || it.fn == "query")
		if _, known := in.frame.Acts[it.key]; !known && it.key != "do" && it.key != "ask" && !describes {
			return &doubt{reason: doubtAct, frame: in.frame}
		}
	}
	return nil
}

// tells says whether the verb asks to be told; "확인하고" only looks.
func (g *grounding) tells() bool {
	for _, it := range slices.Backward(g.clause.items) {
		if it.kind == kindVerb || it.kind == kindActNoun {
			said := g.text.span(it.start, it.end)
			return slices.ContainsFunc([]string{"알려", "알리", "말", "들려", "들리", "가르", "일러", "읽", "요약", "정리", "브리핑", "이야기", "얘기", "보여", "설명", "안내", "tell", "show", "read"},
				func(w string) bool { return strings.HasPrefix(said, w) })
		}
	}
	return true
}

// lookFor makes the query, or the title, of the words. A noun of the topic alone is no query: the topic says it.
func (g *grounding) lookFor(in *intent, words []item) *doubt {
	own := func(it item) bool { return it.kind == kindThing }
	generic := in.frame.ID == "search"
	rest := slices.DeleteFunc(slices.Clone(words), func(it item) bool {
		return own(it) && (generic || it.start > words[0].start && it.end == words[len(words)-1].end)
	})
	text := g.phrase(rest)
	switch {
	case in.takes:
		in.params["topic"] = wire.Value{V: "search"}
		return nil
	case generic && text == "":
		return &doubt{reason: doubtNoOperation, frame: in.frame}
	case text == "" || !slices.ContainsFunc(words, func(it item) bool { return !own(it) }):
		return nil
	case in.frame.Titled:
		in.params["title"] = wire.Value{V: g.phrase(slices.DeleteFunc(slices.Clone(words), own))}
	default:
		in.params["query"] = wire.Value{V: text}
	}
	return nil
}

// phrase cites items as they were said, the last one without its particle.
func (g *grounding) phrase(items []item) string {
	var out []string
	for i, it := range items {
		end := it.end
		if i == len(items)-1 && it.text != "" {
			end = it.start + len([]rune(it.text))
		}
		out = append(out, g.text.span(it.start, end))
	}
	return strings.Join(out, " ")
}

func (p *reader) isPlace(word string) bool { return slices.Contains(p.placeNames, word) }

// notice reads "우산 챙기라고 알려줘": the words before -라고 are said as a request.
func (g *grounding) notice() (intent, bool) {
	f := g.p.frames["notice"]
	last := len(g.clause.items) - 1
	if f != nil && g.ended && g.onlyTells() {
		return g.noticeOf(f, endNotice), true
	}
	if f == nil || last < 1 || g.clause.mood != moodRequest || g.clause.negated {
		return intent{}, false
	}
	verb, quoted := g.clause.items[last], -1
	if verb.kind != kindVerb || verb.key != "query" && verb.key != "do" {
		return intent{}, false
	}
	for i, it := range g.clause.items[:last] {
		switch it.kind {
		case kindUnknown:
			if strings.HasSuffix(it.text, "라고") || reported(it.text) != "" {
				quoted = i
			}
		case kindManner, kindFiller, kindWhen, kindDelay:
		case kindThing, kindForeign, kindVerb:
			if quoted >= 0 {
				return intent{}, false
			}
		}
	}
	if quoted < 0 {
		return intent{}, false
	}
	first := 0
	for first < quoted && (g.clause.items[first].kind == kindDelay || g.clause.items[first].kind == kindFiller || g.clause.items[first].role == "person") {
		first++
	}
	words := g.text.span(g.clause.items[first].start, g.clause.items[quoted].end)
	return g.noticeOf(f, polite(words)), true
}

// endNotice is said when the work has ended that somebody wants to be told the end of.
const endNotice = "말씀하신 일이 끝났어요."

func (g *grounding) noticeOf(f *frame, text string) intent {
	in := intent{frame: f, act: "query", params: wire.Object{"text": {V: text}}, span: g.text.span(g.clause.start, g.clause.end)}
	for _, name := range sortedKeys(f.Args) {
		in.params[name] = wire.Value{V: f.Args[name]}
	}
	return in
}

// onlyTells says whether the clause asks to be told, and not what: "청정 끝나면 알려 줘".
func (g *grounding) onlyTells() bool {
	told := false
	for _, it := range g.clause.items {
		switch {
		case it.kind == kindVerb && it.key == "query" && g.tells():
			told = true
		case it.kind != kindFiller && it.kind != kindManner && it.kind != kindDelay:
			return false
		}
	}
	return told && g.clause.mood == moodRequest && !g.clause.negated
}

// reported makes of what has happened what is said of it: "택배 왔다고" → "택배 왔어요."; empty: it is no such quotation.
func reported(quoted string) string {
	head, ok := strings.CutSuffix(quoted, "다고")
	if _, s, hangul := splitLast(head); !ok || !hangul || s.tail != tSS {
		return ""
	}
	return head + "어요."
}

// polite says what somebody is to be told to do as a request to them: 챙기라고 → 챙기세요.
func polite(quoted string) string {
	if said := reported(quoted); said != "" {
		return said
	}
	head := strings.TrimSuffix(strings.TrimSuffix(quoted, "라고"), "이")
	for _, final := range []string{"요", "다", "세요", "니다", "까", "네", "해", "어", "아", "안녕", "자"} {
		if strings.HasSuffix(head, final) {
			return head + "." // said as it was quoted
		}
	}
	return strings.TrimSuffix(quoted, "라고") + "세요."
}
