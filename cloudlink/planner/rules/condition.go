package rules

import (
	"slices"

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
}

// readCondition reads a clause that ends in -면. Only what the catalog can answer is a condition.
func (g *grounding) readCondition(intents []intent) (conditional, *doubt) {
	if g.isEnd(intents) {
		if len(intents) == 0 {
			return conditional{}, &doubt{reason: doubtEvent}
		}
		return conditional{then: true}, nil
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

// isEnd says whether the clause only waits for what came before: 끝나면, 도착하면, 다 되면.
// What it names has to be what the last intent does: otherwise it waits for other work.
func (g *grounding) isEnd(intents []intent) bool {
	ended := false
	for _, it := range g.clause.items {
		switch {
		case it.kind == kindVerb && (it.key == "ended" || it.key == "arrive"), it.kind == kindState && it.key == "become":
			ended = true
		case it.kind == kindFiller, it.kind == kindEvery:
		case len(intents) == 0 && (it.kind == kindThing || it.kind == kindActNoun):
		case len(intents) > 0 && namesLast(intents[len(intents)-1], it):
		case it.kind == kindRoom && len(it.keys) == 1 && g.p.rooms[it.keys[0]].name == g.at && g.at != "":
		default:
			return false
		}
	}
	return ended && !g.clause.negated
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
		return nil
	}
	for _, in := range slices.Backward(intents) {
		if in.frame.Metric != nil {
			return in.frame
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
		switch it.kind {
		case kindThing, kindState, kindStateNoun, kindMeasure, kindNumber, kindPercent, kindCopula, kindFiller, kindHome, kindHere, kindIf:
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
