package rules

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
)

// grades are the values of air_state.grade that a word means.
var grades = map[string][]any{"bad": {"bad", "very_bad"}, "good": {"good", "normal"}}

// gradeOf reads a state as a grade of what is measured: much dust is bad, little is good, "필요하면" means that it is bad.
var gradeOf = map[string]string{"bad": "bad", "good": "good", "high": "bad", "low": "good", "need": "bad"}

// opOf reads a word of comparison. "되면" and "떨어지면" are no comparison: they wait for a moment, and a condition is asked once.
var opOf = map[string]string{"ge": "ge", "gt": "gt", "le": "le", "lt": "lt", "high": "gt", "low": "lt", "remain": "ge"}

// conditional is a read condition. frame is what has to be measured for it first, or nil.
type conditional struct {
	when  wire.Condition
	frame *frame
	said  string
	then  bool // no condition: the earlier step of the same sentence has ended ("끝나면")
	// after is 1 + the intent that has ended, where it is not the last; anchor the event of work that began before the sentence.
	after  int
	anchor string
	on     string // the day that is meant
}

// readCondition reads a clause that ends in -면. Only what the catalog can answer is a condition.
func (g *grounding) readCondition(intents []intent) (conditional, *doubt) {
	if end, ok := g.ending(intents); ok {
		if !end.then && end.after == 0 && end.anchor == "" {
			return conditional{}, &doubt{reason: doubtEvent}
		}
		return end, nil
	}
	if cond, ok := g.otherwise(intents); ok {
		return cond, nil
	}
	if f := g.p.frames["weather"]; f != nil && g.rains(intents) {
		return g.weatherCondition(f)
	}
	f := g.conditionFrame(intents)
	if f == nil || f.Metric == nil || !g.onlyCondition() {
		return conditional{}, &doubt{reason: doubtCondition}
	}
	if value, op, ok := g.comparison(); ok {
		return g.numeric(f, op, value)
	}
	return g.graded(f)
}

// ending says whether the clause only waits for an end: 끝나면, 도착하면, 다 되면. It is that of what it names: the last intent, an earlier
// one, or else work that was under way before. Without a name it is the last intent's.
func (g *grounding) ending(intents []intent) (end conditional, ok bool) {
	ended, all := false, false
	var named []item
	for _, it := range g.clause.items {
		switch {
		case it.kind == kindVerb && (it.key == "ended" || it.key == "arrive"), it.kind == kindState && (it.key == "become" || it.key == "ended"):
			ended = true
		case g.p.lang == english && (it.kind == kindIf || it.kind == kindAsk || it.kind == kindCopula):
		case it.kind == kindEvery:
			all = true
		case it.kind == kindFiller, it.kind == kindPronoun, it.kind == kindDelay, it.kind == kindWork, it.kind == kindHere:
		case it.kind == kindVerb && it.fn == "adn_p" && it.key == "do": // "지금 하는 청정"
		case it.kind == kindThing || it.kind == kindActNoun:
			named = append(named, it)
		case it.kind == kindVerb && all && len(intents) > 0 && namesLast(intents[len(intents)-1], item{kind: kindActNoun, key: it.key}):
			ended = true // "다 재면"
		case it.kind == kindRoom && len(it.keys) == 1 && (len(intents) == 0 || g.p.rooms[it.keys[0]].name == g.at && g.at != ""):
		default:
			return end, false
		}
	}
	if !ended || g.clause.negated {
		return end, false
	}
	at := g.endOf(intents, named)
	switch {
	case at == len(intents)-1 && at >= 0:
		end.then = true
	case at >= 0:
		end.after = at + 1
	default:
		end.anchor = g.underWay(named)
		return end, end.anchor != "" || len(intents) == 0
	}
	return end, true
}

// endOf is the intent that all names fit, the latest first; -1: none.
func (g *grounding) endOf(intents []intent, named []item) int {
	for i, in := range slices.Backward(intents) {
		if !slices.ContainsFunc(named, func(it item) bool { return !namesLast(in, it) }) {
			return i
		}
		if len(named) == 0 {
			break
		}
	}
	return -1
}

// underWay is the event with which work ends that is named and not of this sentence.
func (g *grounding) underWay(named []item) string {
	event := ""
	for _, it := range named {
		if it.kind != kindThing {
			continue
		}
		for _, key := range it.keys {
			if f := g.p.frames[key]; f != nil && f.EndEvent != "" {
				event = f.EndEvent
			}
		}
	}
	return event
}

// rains says whether the clause is about rain: "비 오면", or "오면" alone where the sky was looked up before.
func (g *grounding) rains(intents []intent) bool {
	for _, it := range g.clause.items {
		if it.kind == kindState && (it.key == "rain" || it.key == "dry") {
			return true
		}
	}
	looked := slices.ContainsFunc(intents, func(in intent) bool { return in.frame.ID == "weather" })
	pred, ok := g.clause.predicate()
	return looked && ok && pred.kind == kindVerb && pred.key == "go" && strings.HasPrefix(g.text.span(pred.start, pred.end), "오") && len(g.clause.find(kindRoom)) == 0
}

// weatherCondition reads whether it has to rain, or not to.
func (g *grounding) weatherCondition(f *frame) (conditional, *doubt) {
	rain := !g.clause.negated
	cond := conditional{frame: f}
	for _, it := range g.clause.items {
		switch it.kind {
		case kindState:
			if it.key == "dry" {
				rain = !rain
			} else if it.key != "rain" {
				return cond, &doubt{reason: doubtCondition, frame: f}
			}
		case kindWhen:
			cond.on = it.key
		case kindFiller, kindManner, kindPronoun, kindVerb, kindIf, kindCopula:
		default:
			return cond, &doubt{reason: doubtCondition, frame: f}
		}
	}
	cond.when = wire.Condition{Ref: f.Metric.OutputKey + "." + f.Metric.Flag, Op: "eq", Value: wire.Value{V: rain}}
	return cond, nil
}

// namesLast says whether a noun means what the intent does: "청정 끝나면" after cleaning, "측정 끝나면" after a measurement.
func namesLast(last intent, it item) bool {
	switch it.kind {
	case kindThing:
		return slices.Contains(it.keys, last.frame.ID)
	case kindActNoun:
		_, ok := last.frame.Acts[it.key]
		return ok
	}
	return false
}

// conditionFrame is what the condition is about: the thing it names, else what the sentence measured before, else the air for
// words that only fit it.
func (g *grounding) conditionFrame(intents []intent) *frame {
	for _, it := range g.clause.items {
		if it.kind != kindThing {
			continue
		}
		for _, key := range it.keys {
			if f := g.p.frames[key]; f != nil && f.Metric != nil {
				return f
			}
		}
		if slices.Contains(it.keys, "clean") && slices.ContainsFunc(g.clause.find(kindState), func(s item) bool { return s.key == "need" }) {
			return g.p.frames["air"] // "청정 필요하면"
		}
		return nil
	}
	_, _, counted := g.comparison()
	for _, in := range slices.Backward(intents) {
		if m := in.frame.Metric; m != nil && (counted || m.Grade != "") {
			return in.frame // "필요하면" behind a look at the battery is about the air
		}
	}
	if len(g.clause.find(kindState)) > 0 {
		return g.p.frames["air"]
	}
	return nil
}

// onlyCondition says whether every word of the clause belongs to a condition.
func (g *grounding) onlyCondition() bool {
	for _, it := range g.clause.items {
		if it.kind == kindState && it.key == "else" {
			return false // "80 이상이 아니면"
		}
		switch it.kind {
		case kindThing, kindState, kindStateNoun, kindMeasure, kindNumber, kindPercent, kindCopula, kindFiller, kindHome, kindHere, kindIf:
		case kindWhen:
			if it.key != "today" {
				return false
			}
		case kindAsk:
			if g.p.lang == korean {
				return false // English "is" opens a question elsewhere
			}
		case kindVerb:
			if it.key != "do" && it.key != "on" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (g *grounding) comparison() (value float64, op string, ok bool) {
	for _, it := range g.clause.items {
		switch {
		case ok && (it.kind == kindNumber || it.kind == kindPercent):
			return 0, "", true // "50 이상 80 이하면": one comparison is all that is read
		case it.kind == kindNumber || it.kind == kindPercent:
			value, ok = it.num, true
		case it.kind == kindState && (it.key == "fall" || it.key == "become"):
			return 0, "", true
		case (it.kind == kindState || it.kind == kindMeasure) && opOf[it.key] != "":
			if op == "" || it.kind == kindMeasure {
				op = opOf[it.key]
			}
		}
	}
	return value, op, ok
}

func (g *grounding) numeric(f *frame, op string, value float64) (conditional, *doubt) {
	if op == "" || g.clause.negated {
		return conditional{}, &doubt{reason: doubtCondition, frame: f}
	}
	when := wire.Condition{Op: op, Value: wire.Value{V: value}}
	if f.Metric.Context != "" {
		when.Ref = "ctx." + f.Metric.Context
		return conditional{when: when}, nil
	}
	if f.Metric.Number == "" {
		return conditional{}, &doubt{reason: doubtCondition, frame: f}
	}
	when.Ref = f.Metric.OutputKey + "." + f.Metric.Number
	return conditional{when: when, frame: f}, nil
}

func (g *grounding) graded(f *frame) (conditional, *doubt) {
	grade := ""
	for _, it := range g.clause.items {
		if (it.kind == kindState || it.kind == kindMeasure) && gradeOf[it.key] != "" {
			if grade != "" && grade != gradeOf[it.key] {
				return conditional{}, &doubt{reason: doubtCondition, frame: f}
			}
			grade = gradeOf[it.key]
		}
	}
	if g.clause.negated && grade != "" {
		grade = map[string]string{"bad": "good", "good": "bad"}[grade]
	}
	if grade == "" || f.Metric.Grade == "" {
		return conditional{}, &doubt{reason: doubtCondition, frame: f}
	}
	when := wire.Condition{Ref: f.Metric.OutputKey + "." + f.Metric.Grade, Op: "in", Value: wire.Value{V: grades[grade]}}
	return conditional{when: when, frame: f}, nil
}
