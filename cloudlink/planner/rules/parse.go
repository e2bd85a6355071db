package rules

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// parsed is all that the words of one utterance say.
type parsed struct {
	text    text
	items   []item
	clauses []clause
	intents []intent
	doubts  []doubt
	foreign []string // groups of words that are not ours
	negated []clause // what was asked not to be done
	control *wire.Control
	unknown int
}

// parse reads an utterance. The intents may be used only where there is no doubt and no foreign word.
func (p *reader) parse(said string) parsed { return p.parseText(normalise(said)) }

// parseText reads words that may have been meant otherwise than they were heard: what is cited is what was heard.
func (p *reader) parseText(t text) parsed {
	out := parsed{text: t}
	if len(out.text.runes) == 0 || len(out.text.runes) > maxRunes {
		return out
	}
	raw := p.segment(out.text)
	if p.lang == english {
		raw = p.mergeEnglish(raw)
	} else {
		raw = corrected(merge(raw), p.skills)
	}
	out.items = raw
	for _, it := range raw {
		switch it.kind {
		case kindForeign:
			out.foreign = append(out.foreign, it.key)
		case kindUnknown:
			out.unknown++
		case kindClock:
			out.foreign = append(out.foreign, "sch")
		}
	}
	out.clauses = p.clausesOf(raw, out.text)
	p.readClauses(&out)
	return out
}

func (p *reader) clausesOf(items []item, t text) []clause {
	var out []clause
	if p.lang == english {
		return englishClauses(items, t)
	}
	all := fronted(split(items, t))
	for i := 0; i < len(all); i++ {
		parts := spread(all[i])
		if len(parts) < 2 || all[i].link != "chain" {
			for _, part := range parts {
				out = append(out, spreadThings(part)...)
			}
			continue
		}
		last := chained(all, i)
		for n, part := range parts {
			part.link = "chain"
			out = append(append(out, part), all[i+1:last+1]...)
			if n < len(parts)-1 {
				out[len(out)-1].link = "seq"
			}
		}
		i = last
	}
	return out
}

// chained is the last of the clauses that hang on one another by -아서: "안방과 서재에 가서 청정해" means cleaning in both.
func chained(all []clause, from int) int {
	for from+1 < len(all) && all[from].link == "chain" {
		from++
	}
	return from
}

// state is what earlier clauses leave to later ones.
type state struct {
	at      string
	delayMS int64
	when    *conditional
	opens   bool   // the condition began the sentence
	taken   bool   // an intent hangs on it
	about   *frame // what the condition before named and did not measure
	ended   bool   // the clause before said that work has ended
	anchor  string
	waits   string // the words of the anchor
	after   int
}

// readClauses reads each clause in turn. A condition holds for the clause after it and for what is chained to that by -아서. One that
// begins the sentence holds to its end: after "배터리 50 넘으면 청정하고 주방으로 가" a robot with 40 percent stays where it is.
func (p *reader) readClauses(out *parsed) {
	var st state
	for n, c := range out.clauses {
		g := &grounding{p: p, clause: c, cat: p.cat, text: out.text, at: st.at}
		g.judged = n+1 < len(out.clauses) && out.clauses[n+1].link == "cond"
		g.about, st.about = st.about, nil
		g.all, g.ended = out.intents, st.anchor != "" || st.ended
		if len(out.intents) > 0 {
			g.prev = &out.intents[len(out.intents)-1]
		}
		st.delayMS += delayOf(c)
		switch {
		case onlyWaits(c), n == len(out.clauses)-1 && g.stays():
			continue
		case n > 0 && p.scopeOpen(out.clauses[n-1], c, out.text):
			out.doubts = append(out.doubts, doubt{reason: doubtUnknownWord})
		case c.link == "cond", isLink(c.link) && g.waitsForEnd():
			p.takeCondition(out, g, &st, n)
		case c.mood == moodDeclare && (c.link == "seq" || c.link == "simul") && n+1 < len(out.clauses) && out.clauses[n+1].link == "cond":
			out.doubts = append(out.doubts, doubt{reason: doubtCondition}) // "공기 나쁘고 배터리 50 넘으면": half of a condition
		case c.mood == moodDeclare && g.known() && !g.namesAct() && len(out.clauses) > 1:
			continue // "공기가 안 좋네" only says why
		case g.leaves() && (len(out.clauses) > 1):
			out.negated = append(out.negated, c)
		case c.negated:
			out.negated = append(out.negated, c)
			if !g.known() || !c.forbids() && p.lang == korean {
				out.doubts = append(out.doubts, doubt{reason: doubtUnknownWord})
			}
		case c.mood == moodDeclare:
			out.doubts = append(out.doubts, doubt{reason: doubtNoOperation})
		case g.isControl():
			p.takeControl(out, c)
		default:
			p.takeIntent(out, g, &st, n)
		}
	}
	if st.when != nil && !st.taken || st.delayMS > 0 || st.anchor != "" || st.after > 0 {
		out.doubts = append(out.doubts, doubt{reason: doubtNoOperation})
	}
}

func delayOf(c clause) (ms int64) {
	for _, it := range c.find(kindDelay) {
		ms += it.ms
	}
	return ms
}

func onlyWaits(c clause) bool {
	for _, it := range c.items {
		if it.kind != kindDelay && it.kind != kindFiller && it.kind != kindHere {
			return false
		}
	}
	return true
}

// namesAct says whether a statement is about doing something: such a clause may not be passed over.
func (g *grounding) namesAct() bool {
	return slices.ContainsFunc(g.clause.items, func(it item) bool { return it.kind == kindVerb || it.kind == kindActNoun })
}

// stays says whether the clause only tells to wait after a move: "안방으로 가서 대기해", "가 있어". That is what happens anyway.
func (g *grounding) stays() bool {
	if g.prev == nil || g.prev.frame.ID != "move" || g.clause.mood != moodRequest || g.clause.negated {
		return false
	}
	for _, it := range g.clause.items {
		if it.kind != kindFiller && it.kind != kindHere && !(it.kind == kindVerb && it.key == "wait") {
			return false
		}
	}
	return true
}

// known says whether the clause has no word that is not understood.
func (g *grounding) known() bool {
	return !slices.ContainsFunc(g.clause.items, func(it item) bool { return it.kind == kindUnknown || it.kind == kindForeign })
}

// waitsForEnd says whether the clause says only that something has ended: 끝나고 나서, 도착한 뒤에.
func (g *grounding) waitsForEnd() bool {
	pred, ok := g.clause.predicate()
	return ok && pred.kind == kindVerb && (pred.key == "ended" || pred.key == "arrive")
}

func (p *reader) takeCondition(out *parsed, g *grounding, st *state, n int) {
	cond, d := g.readCondition(out.intents)
	switch {
	case d != nil:
		out.doubts = append(out.doubts, *d)
		return
	case cond.then:
		last := &out.intents[len(out.intents)-1]
		last.link, last.act, st.ended = "seq", endAct(last), true
		return
	case cond.after > 0:
		out.intents[cond.after-1].act = endAct(&out.intents[cond.after-1])
		out.intents[len(out.intents)-1].link, st.after = "seq", cond.after
		return
	case cond.anchor != "":
		st.anchor, st.waits = cond.anchor, out.text.span(g.clause.start, g.clause.end)
		return
	}
	st.opens, st.taken = len(out.intents) == 0, false
	if cond.frame != nil && !slices.ContainsFunc(out.intents, func(in intent) bool { return in.frame == cond.frame && in.reads() }) {
		out.intents = append(out.intents, st.hand(readingFor(cond, intent{clause: n, span: out.text.span(g.clause.start, g.clause.end)})))
	}
	for _, it := range g.clause.find(kindThing) {
		if f := g.p.frames[it.keys[0]]; len(it.keys) == 1 && f != nil && f.Metric == nil {
			st.about = f
		}
	}
	cond.said = out.text.span(g.clause.start, g.clause.end)
	st.when = &cond
}

// reads says whether others may take what the intent finds out.
func (in *intent) reads() bool { return in.frame.Skill == "" || in.silent }

// hand gives an intent what the sentence has said before it: a delay, the end that it waits for.
func (st *state) hand(in intent) intent {
	in.delayMS, in.anchor, in.anchorSaid, in.after = st.delayMS, st.anchor, st.waits, st.after
	st.delayMS, st.anchor, st.after, st.ended = 0, "", 0, false
	return in
}

// readingFor is the intent to find out what a condition is about.
func readingFor(cond conditional, in intent) intent {
	in.frame, in.act, in.method, in.params, in.link, in.silent = cond.frame, "query", cond.frame.Method, wire.Object{}, "seq", true
	for _, name := range sortedKeys(cond.frame.Args) {
		in.params[name] = wire.Value{V: cond.frame.Args[name]}
	}
	if cond.on != "" {
		in.params["when"] = wire.Value{V: cond.on}
	}
	return in
}

// endAct: "청정 켜고 끝나면" waits for the end, not for the start.
func endAct(in *intent) string {
	if slices.Contains(in.frame.ReleasedByStart, in.act) {
		return "do"
	}
	return in.act
}

func (p *reader) takeIntent(out *parsed, g *grounding, st *state, n int) {
	in, d := g.ground()
	if d != nil {
		if d.reason == doubtNoOperation && g.repeatsQuery() {
			return // "확인해서 알려 줘": the second verb asks for the same
		}
		out.doubts = append(out.doubts, *d)
		return
	}
	if in.takes && !handOver(out.intents) {
		out.doubts = append(out.doubts, doubt{reason: doubtUnknownWord})
		return
	}
	in = st.hand(in)
	in.link, in.clause = g.clause.link, n
	if st.when != nil {
		when := st.when.when
		in.when, in.ifSaid = &when, st.when.said
		if st.when.frame != nil {
			in.visible = st.when.frame.Metric.OutputKey
		}
	}
	st.taken = in.link != "chain"
	if st.taken && !(st.opens && g.goesOn()) {
		st.when = nil
	}
	if in.room != "" {
		st.at = in.room
	}
	if then := g.p.frames[in.frame.Acts[in.act].Then]; then != nil {
		out.intents = append(out.intents, looked(in), mended(in, then))
		return
	}
	if g.sameAgain(in) {
		g.prev.link, g.prev.silent = in.link, in.silent && (g.prev.silent || g.prev.act == "state") // "비 온대? 확인하고" only looks
		return
	}
	out.intents = append(out.intents, in)
}

// looked is the first half of "공기 관리해": what is it like?
func looked(in intent) intent {
	in.act, in.link = "query", "seq"
	return in
}

// mended is the other half: where it is bad, something is done about it. There, not on another way.
func mended(in intent, then *frame) intent {
	when := wire.Condition{Ref: in.frame.Metric.OutputKey + "." + in.frame.Metric.Grade, Op: "in", Value: wire.Value{V: grades["bad"]}}
	return intent{frame: then, act: "do", method: then.Method, params: wire.Object{}, link: in.link, clause: in.clause, span: in.span, when: &when, ifSaid: "필요하면", visible: in.frame.Metric.OutputKey}
}

// sameAgain says whether the clause asks once more for what was just looked at: "확인해서 알려줘".
func (g *grounding) sameAgain(in intent) bool {
	if g.prev == nil || in.when != nil || in.delayMS > 0 || in.room != "" || in.anchor != "" || in.after > 0 {
		return false
	}
	if in.frame.Skill != "" {
		return in.frame == g.prev.frame && len(g.clause.find(kindThing))+len(g.clause.find(kindUnknown)) == 0
	}
	return g.prev.method == in.method && g.cat.Operations[in.method].ReadOnly
}

// handOver lets the last look-up give what it finds to the next one; false: there is none.
func handOver(intents []intent) bool {
	if len(intents) == 0 {
		return false
	}
	last := &intents[len(intents)-1]
	if last.frame.Route != turn.FRG {
		return false
	}
	last.silent, last.gives = true, "places"
	return true
}

// goesOn says whether the sentence goes on behind this clause, by its ending: what comes after a full stop or 그리고 is another one.
func (g *grounding) goesOn() bool {
	if g.p.lang == english {
		rest := strings.TrimSpace(string(g.text.original[g.clause.end:]))
		return rest != "" && !strings.ContainsAny(rest[:1], ".!;")
	}
	last, ok := g.clause.predicate()
	return g.clause.link != "" && (!ok || isLink(last.fn))
}

// repeatsQuery says whether a clause only asks to tell what was just measured.
func (g *grounding) repeatsQuery() bool {
	if g.prev == nil || !g.cat.Operations[g.prev.method].ReadOnly && g.prev.frame.Route != turn.FRG || !g.known() {
		return false
	}
	for _, it := range g.clause.items {
		if it.kind != kindFiller && it.kind != kindStateNoun && !(it.kind == kindVerb && (it.key == "query" || it.key == "do")) && !(it.kind == kindState && it.key == "how") {
			return false
		}
	}
	return true
}

// isControl says whether the clause stops work as such: "다 그만", "하던 일 멈춰", "그만해", "취소해 줘".
func (g *grounding) isControl() bool {
	var quit, all, stop bool
	for _, it := range g.clause.items {
		switch {
		case it.kind == kindQuit, it.kind == kindVerb && it.key == "cancel", it.kind == kindActNoun && it.key == "cancel":
			quit = true
		case it.kind == kindVerb && (it.key == "stop" || it.key == "off"), it.kind == kindActNoun && it.key == "stop":
			stop = true
		case it.kind == kindEvery || it.kind == kindWork:
			all = true
		case it.kind == kindFiller, it.kind == kindVerb && it.key == "do", it.kind == kindHere:
		default:
			return false
		}
	}
	return g.clause.mood != moodQuery && (quit && g.prev == nil || (quit || stop) && all)
}

func (p *reader) takeControl(out *parsed, c clause) {
	if len(out.intents) > 0 {
		out.doubts = append(out.doubts, doubt{reason: doubtAct})
		return
	}
	out.control = &wire.Control{Verb: "cancel", Scope: "all", RequestedBy: "user", Reason: "user_cancelled"}
}

// contains says whether the utterance has one of the words. Spaces do not count, but a word of one syllable counts only as a whole
// word, alone or before a particle: "비" is not in "비밀".
func (t text) contains(list []string) bool {
	folded := strings.ReplaceAll(string(t.runes), " ", "")
	fields := strings.Fields(string(t.runes))
	return slices.ContainsFunc(list, func(w string) bool {
		if len([]rune(w)) == 1 {
			return slices.ContainsFunc(fields, func(f string) bool {
				rest, begins := strings.CutPrefix(f, w)
				return begins && (rest == "" || slices.Contains(shortParticles, rest))
			})
		}
		return strings.Contains(folded, strings.ReplaceAll(w, " ", ""))
	})
}

var shortParticles = []string{"가", "는", "도", "이", "은", "만"}
