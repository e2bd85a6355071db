package rules

import (
	"context"
	"slices"
	"strings"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Planner plans by rules. It is built once and may be used by several goroutines at once.
type Planner struct {
	cat    *catalog.Catalog
	words  catalogfile.Planner
	cues   *cues
	frames map[string]*frame

	families *families
	still    stillWords
	mixed    map[language]*reader // with the words of the skills
	triggers map[language][]string
	skills   skillWords
	hearing  *hearing
	tools    toolWords
	topics   words // of product questions
	readers  map[language]*reader
}

// New builds a planner for a catalog and what planner.json says. It reads nothing else; the words of the languages are built in.
func New(cat *catalog.Catalog, said catalogfile.Planner) *Planner {
	p := &Planner{cat: cat, words: said, cues: &cues{}, readers: map[language]*reader{}}
	readData("cues.json", p.cues)
	readData("tools.json", &p.tools)
	readData("still.json", &p.still)
	for _, topic := range sortedKeys(said.QnATopics) {
		p.topics.Ko = append(p.topics.Ko, said.QnATopics[topic].Ko...)
		p.topics.En = append(p.topics.En, said.QnATopics[topic].En...)
	}
	var levels map[string]words
	p.frames, levels = framesOf(cat)
	for _, lang := range []language{korean, english} {
		r := newReader(lang, cat, said, p.frames, p.cues)
		for _, which := range sortedKeys(levels) {
			for _, word := range levels[which].in(lang) {
				r.lex.add(word, entry{kind: kindLevel, key: which})
			}
		}
		p.readers[lang] = r.withRooms(roomsOf(cat, nil))
	}
	p.hearing = newHearing(p.readers[korean])
	readData("skills.json", &p.skills)
	clouds := skillFrames(cat, p.skills)
	p.mixed, p.triggers = map[language]*reader{}, map[language][]string{}
	for lang, r := range p.readers {
		p.triggers[lang] = p.skills.triggers(lang, clouds)
		p.mixed[lang] = r.withSkills(p.skills, clouds, p.cues.Places)
	}
	p.families = newFamilies(p.cues, said, p.frames, p.readers[korean].lex)
	return p
}

// Plan reads one utterance, or goes on from what was heard of it. It never fails: what it does not understand is a question back or
// conversation. ModelCalls is 0.
func (p *Planner) Plan(_ context.Context, in turn.Input) (turn.Decision, error) {
	h := p.hear(in)
	d := p.decide(h)
	if h.ev != nil {
		d.Structure = p.families.structureOf(h.out.text)
	}
	return d, nil
}

// reader is the one of a language, with the rooms that the device has.
func (p *Planner) reader(of map[language]*reader, lang language, rooms []wire.Room) *reader {
	if len(rooms) > 0 {
		return of[lang].withRooms(roomsOf(p.cat, rooms))
	}
	return of[lang]
}

// decide turns what was read into a decision. Steps exist only where nothing is in doubt.
func (p *Planner) decide(h *Heard) turn.Decision {
	out, lang := h.out, h.r.lang
	if d, ok := p.standStill(h); ok {
		return d
	}
	switch {
	case h.long:
		return by("a long speech", p.answer(lang, out, verdict{family: turn.DEF, runnerUp: turn.STTNull}))
	case out.clear():
		return by("every word is accounted for", p.act(lang, out))
	case out.text.runes == nil:
		return by("nothing said", p.answer(lang, out, verdict{family: turn.STTNull, subtype: "STT_NULL_HARD", certain: true}))
	}
	if rest, refused, ok := h.r.partly(out); ok {
		return by("a part is refused by name", p.actPartly(lang, rest, refused))
	}
	d, ok, looksUp := p.together(h)
	if ok {
		return by("each clause by itself", d)
	}
	if d, ok := p.misheard(h); ok {
		return by("one letter was misheard", d)
	}
	if d, ok := p.orderBehind(h); ok {
		return d
	}
	if d, ok := p.stopBehind(h); ok {
		return d
	}
	v := p.route(h)
	if looksUp && (v.family == turn.DEF || v.family == turn.STTNull) {
		v = verdict{family: turn.FRG, runnerUp: v.family, rule: "one thing to look up"}
	}
	return by(v.rule, p.answer(lang, out, v))
}

// by names the rule that decided.
func by(rule string, d turn.Decision) turn.Decision {
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "rule", ID: rule})
	return d
}

// actPartly answers with the steps of what can be done, and says what cannot.
func (p *Planner) actPartly(lang language, rest parsed, refused []turn.Refusal) turn.Decision {
	d := p.act(lang, rest)
	d.Refused, d.RunnerUpFamily = refused, turn.UNS
	said := []string{d.TTSResponse}
	for _, r := range refused {
		if text := p.refusal(lang, r.Category); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	d.TTSResponse = strings.Join(said, " ")
	return d
}

// act answers with steps, or with the promise not to do something.
func (p *Planner) act(lang language, out parsed) turn.Decision {
	routes := routesOf(out.intents)
	d := owned(routes[0])
	d.SelectedRoutes, d.FamilyConfidence, d.Evidence = routes, "high", out.evidence()
	d.Steps = stepsOf(p.cat, lang, p.frames, out.intents)
	d.TurnMode = turn.Mode(d.Steps)
	d.Control = out.control
	switch {
	case len(out.intents) > 0:
		d.TTSResponse = acknowledge(lang, out.intents)
		if out.control != nil {
			d.TTSResponse = say(lang, "cancelling") + " " + d.TTSResponse
		}
	case out.control != nil:
		d.TTSResponse = say(lang, "cancelling")
	default:
		d.TTSResponse = say(lang, "will_not")
	}
	return d
}

// routesOf are the families of the steps, each once; the first owns the turn. Nothing to do at all is the device's.
func routesOf(intents []intent) []turn.Family {
	var out []turn.Family
	for _, in := range intents {
		f := turn.ODL
		if in.frame.Skill != "" {
			f = in.frame.Route
			if in.room != "" && !slices.Contains(out, turn.ODL) {
				out = append(out, turn.ODL) // the way to where it is told
			}
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return []turn.Family{turn.ODL}
	}
	return out
}

// answer speaks for a sentence without steps.
func (p *Planner) answer(lang language, out parsed, v verdict) turn.Decision {
	d := owned(v.family)
	d.TurnMode, d.RunnerUpFamily, d.STTNullSubtype = "singleton", v.runnerUp, v.subtype
	d.FamilyConfidence = "medium"
	if v.certain {
		d.FamilyConfidence = "high"
	}
	switch v.family {
	case turn.ODL:
		if v.category == "" {
			p.ask(lang, out, &d)
			break
		}
		d.AmbiguityReason, d.UnsupportedCategory = doubtMissing, v.category
		d.TTSResponse = p.refusal(lang, v.category)
	case turn.UNS:
		d.UnsupportedCategory = v.category
		d.TTSResponse = p.refusal(lang, v.category)
	case turn.SCH:
		d.TTSResponse = say(lang, "no_schedules")
	default:
		d.TTSResponse = say(lang, string(v.family))
		d.NeedsSecondPass = d.FamilyConfidence != "high" && v.runnerUp != "" && v.family != turn.DQR
	}
	return d
}

// ask puts the first doubt as a question.
func (p *Planner) ask(lang language, out parsed, d *turn.Decision) {
	d.AskFollowUp = true
	q := doubt{reason: doubtUnknownWord}
	if len(out.doubts) > 0 {
		q = out.doubts[0]
	}
	if slices.Contains(out.foreign, "sch") {
		q = doubt{reason: "time_of_day_not_supported"}
	}
	d.AmbiguityReason = q.reason
	d.FamilyConfidence = "medium"
	if q.reason == doubtUnknownWord || q.reason == doubtNoOperation {
		d.FamilyConfidence = "low"
	}
	if q.slot != "" {
		d.MissingSlots = []string{q.slot}
	}
	d.TTSResponse = question(lang, q)
}

func (p *Planner) refusal(lang language, category string) string {
	ko, en := "", ""
	if u, ok := p.words.Unsupported[category]; ok {
		ko, en = u.Refusal.Ko, u.Refusal.En
	} else if s, ok := p.cues.UnsupportedSay[category]; ok {
		ko, en = s.Ko, s.En
	}
	if ko == "" {
		return say(lang, string(turn.UNS))
	}
	if lang == english {
		return en
	}
	return ko
}

// owned is a decision of the agent that serves a family.
func owned(f turn.Family) turn.Decision {
	d := turn.Decision{SelectedRoutes: []turn.Family{f}}
	flow, ok := registry.Default().Owner(f)
	if !ok {
		panic("internal error: nobody serves " + string(f)) // the registry was checked
	}
	flow.Own(&d)
	return d
}
