package rules

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// clear says whether the words are a plan with nothing in doubt.
func (out *parsed) clear() bool {
	asked := len(out.intents)+len(out.negated) > 0 || out.control != nil
	return asked && len(out.doubts) == 0 && len(out.foreign) == 0 && out.unknown == 0
}

// accounted says the same of words that were read with skills: what a skill looks for may be unknown or foreign, as long as every clause
// became something.
func (out *parsed) accounted() bool {
	return len(out.intents) > 0 && len(out.doubts) == 0 && out.control == nil
}

// cloudy says whether a part of it is done by the cloud.
func (out *parsed) cloudy() bool {
	return slices.ContainsFunc(out.intents, func(in intent) bool { return in.frame.Skill != "" })
}

// together reads a sentence again with the words of what the cloud does: clauses of several families make one plan. What is one question
// for the cloud alone is no plan: it is answered in the turn, and looksUp says that it is one.
func (p *Planner) together(h *Heard) (d turn.Decision, ok, looksUp bool) {
	lang := h.r.lang
	if h.bare {
		return d, false, looksUp
	}
	if d, ok := p.wished(h); ok {
		return d, true, false
	}
	if !p.names(lang, h.of) {
		return d, false, looksUp
	}
	r := p.reader(p.mixed, lang, h.rooms)
	out := r.parse(h.of)
	if out.accounted() && worthAPlan(out) || out.clear() && !out.cloudy() {
		return p.act(lang, out), true, false
	}
	looksUp = out.accounted() && len(out.intents) == 1 && out.intents[0].frame.Route == turn.FRG && out.clauses[0].mood == moodRequest
	if d, ok := p.askSlot(lang, out); ok {
		return d, true, false
	}
	rest, refused, ok := r.partly(out)
	if ok && rest.accounted() && rest.cloudy() {
		return p.actPartly(lang, rest, refused), true, false
	}
	return d, false, looksUp
}

// askSlot asks for the one thing that is missing where all else of a mixed sentence is understood: "볼륨을 줄이고 동화 들려줘".
func (p *Planner) askSlot(lang language, out parsed) (turn.Decision, bool) {
	if len(out.doubts) != 1 || out.doubts[0].slot == "" || !out.cloudy() || out.control != nil {
		return turn.Decision{}, false
	}
	d := owned(turn.ODL)
	d.TurnMode = "singleton"
	p.ask(lang, parsed{doubts: out.doubts}, &d)
	return d, true
}

// names says whether the words name anything that the cloud does: only then it is worth reading them again.
func (p *Planner) names(lang language, said string) bool {
	folded := strings.ReplaceAll(string(normalise(said).runes), " ", "")
	return slices.ContainsFunc(p.triggers[lang], func(w string) bool { return strings.Contains(folded, w) })
}

// triggers are the words that a sentence has to have for a second reading.
func (s skillWords) triggers(lang language, frames map[string]*frame) []string {
	var out []string
	for _, id := range sortedKeys(frames) {
		out = append(out, frames[id].Nouns.in(lang)...)
	}
	if lang == english {
		out = append(out, s.En.Rain...)
	} else {
		out = append(out, s.Jam...)
		out = append(out, s.Rain.Stems...)
		out = append(out, "비", "오늘", "라고", "알려", "말해", "불러")
	}
	for i, w := range out {
		out[i] = strings.ReplaceAll(w, " ", "")
	}
	return out
}

// worthAPlan: several steps, one that waits, or a session that goes on. A single reminder belongs to the schedules.
func worthAPlan(out parsed) bool {
	if !out.cloudy() && !slices.ContainsFunc(out.intents, func(in intent) bool { return in.anchor != "" }) {
		return false
	}
	only := out.intents[0]
	if len(out.intents) > 1 || len(out.negated) > 0 || only.room != "" || only.anchor != "" || only.when != nil {
		return true
	}
	return only.frame.Route == turn.STM || only.delayMS > 0 && only.frame.Route == turn.FRG
}

// wish is a state that somebody asks for without saying how: to rest, not to be bored.
type wish struct {
	ID    string      `json:"id"`
	Roots []string    `json:"roots"`
	Owner turn.Family `json:"owner"`
}

// maxWish is the longest wish, in words; whoever says more tells something.
const maxWish = 9

// wished plans for a wish that is made as a request. It never moves the robot and never ends work: what needs a consent is asked for by
// the goal.
func (p *Planner) wished(h *Heard) (turn.Decision, bool) {
	if h.ev == nil || h.asksForMore() {
		return turn.Decision{}, false
	}
	lang, t := h.r.lang, h.out.text
	folded := strings.ReplaceAll(string(t.runes), " ", "")
	for _, w := range p.skills.Wishes {
		if !slices.ContainsFunc(w.Roots, func(root string) bool { return strings.Contains(folded, strings.ReplaceAll(root, " ", "")) }) {
			continue
		}
		r := h.ev.reading
		if !r.give || r.inform && !r.comfort || r.question || len(r.tokens) > maxWish || r.has(topicSchedule) || p.families.recurs(strings.Fields(string(t.runes))[0]) {
			return turn.Decision{}, false
		}
		intents := p.wishIntents(w.ID, t.span(0, len(t.runes)))
		if intents == nil {
			return turn.Decision{}, false
		}
		d := p.act(lang, parsed{text: t, intents: intents, clauses: []clause{{end: len(t.runes)}}})
		owner := owned(w.Owner)
		owner.SelectedRoutes = append([]turn.Family{w.Owner}, slices.DeleteFunc(d.SelectedRoutes, func(f turn.Family) bool { return f == w.Owner })...)
		owner.Steps, owner.TurnMode, owner.TTSResponse, owner.FamilyConfidence, owner.RunnerUpFamily = d.Steps, d.TurnMode, d.TTSResponse, "medium", turn.ODL
		owner.Evidence = []turn.Evidence{{Kind: "wish", ID: w.ID, Span: t.span(0, len(t.runes))}}
		return owner, true
	}
	return turn.Decision{}, false
}

// asksForMore says whether the words name more than a wish: a place to go to, a time of day, or a thing that is not ours. What people do
// meanwhile is none.
func (h *Heard) asksForMore() bool {
	return slices.ContainsFunc(h.out.items, func(it item) bool {
		return it.kind == kindRoom && it.role == "to" || it.kind == kindClock ||
			it.kind == kindForeign && strings.HasPrefix(it.key, "uns/") && it.key != "uns/household_chore"
	})
}

// restBrightness is how bright the screen stays while somebody rests, in percent. The catalog counts 30 and less as less to look at.
const restBrightness = 20.0

// wishIntents are the steps for a wish, by the frames that this catalog has; nil: one is missing.
func (p *Planner) wishIntents(id, span string) []intent {
	r := p.mixed[korean]
	var out []intent
	add := func(frameID, act, link string, params wire.Object) bool {
		f := r.frames[frameID]
		if f == nil {
			return false
		}
		in := intent{frame: f, act: act, method: f.Method, params: wire.Object{}, link: link, span: span}
		for _, name := range sortedKeys(f.Args) {
			in.params[name] = wire.Value{V: f.Args[name]}
		}
		for _, name := range sortedKeys(params) {
			in.params[name] = params[name]
		}
		out = append(out, in)
		return true
	}
	switch id {
	case "rest":
		if add("manner", "on", "simul", wire.Object{"on": {V: true}}) && add("brightness", "set", "seq", wire.Object{"brightness": {V: restBrightness}}) && add("rest", "query", "", nil) {
			return out
		}
	case "company":
		if add("choices", "query", "seq", nil) && add("company", "start", "", nil) {
			return out
		}
	}
	return nil
}
