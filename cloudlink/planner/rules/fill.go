package rules

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core/catalog"
)

// fill takes rooms, levels, spans and values into the arguments, and refuses the clause if a word is left over.
func (g *grounding) fill(f *frame, a action, act string) (intent, *doubt) {
	in := intent{frame: f, act: act, method: f.Method, params: wire.Object{}, span: g.text.span(g.clause.start, g.clause.end)}
	if a.Method != "" {
		in.method = a.Method
	}
	op := g.cat.Operations[in.method]
	if g.clause.mood == moodQuery && !op.ReadOnly {
		return in, &doubt{reason: doubtQuestion, frame: f}
	}
	for _, name := range sortedKeys(a.Params) {
		in.params[name] = wire.Value{V: a.Params[name]}
	}
	for _, take := range []func(*intent, action, catalog.Operation) *doubt{g.takeRooms, g.takeLevel, g.takeSpan, g.takeValues, g.takeRest} {
		if d := take(&in, a, op); d != nil {
			d.frame = f
			return in, d
		}
	}
	if act == "set" && f.Level == "" && len(in.params) == 0 {
		return in, &doubt{reason: doubtAct, frame: f} // to what?
	}
	if _, faults := g.cat.Resolve(in.method, plain(in.params)); len(faults) > 0 && f.RoomParam == "" {
		return in, &doubt{reason: doubtRange, frame: f, slot: faults[0].Path}
	}
	return in, nil
}

// plain unwraps params for the catalog's check.
func plain(params wire.Object) map[string]any {
	out := map[string]any{}
	for name, v := range params {
		out[name] = v.V
	}
	return out
}

// takeLevel fills the level of a frame: a number, or the catalog's limit for "최대". A step up or down without a target needs the
// present level, which is not known here, so it is asked for.
func (g *grounding) takeLevel(in *intent, _ action, op catalog.Operation) *doubt {
	f := in.frame
	for i, it := range g.clause.items {
		switch {
		case len(in.params) > 0 && f.Level != "" && in.params[f.Level].V != nil && isLevel(it):
			return &doubt{reason: doubtLevel, slot: f.Level} // two numbers: which one?
		case it.kind == kindLevel && f.Levels[it.key] != nil:
			for _, name := range sortedKeys(f.Levels[it.key]) {
				in.params[name] = wire.Value{V: f.Levels[it.key][name]}
			}
			g.used[i] = true
			continue
		case f.Level == "":
			continue
		case it.kind == kindLevel:
			in.params = wire.Object{f.Level: wire.Value{V: limit(op.Params[f.Level], it.key)}}
		case it.kind == kindNumber || it.kind == kindPercent:
			relative := (in.act == "up" || in.act == "down") && it.role != "to" && it.role != "until"
			if relative {
				return &doubt{reason: doubtLevel, slot: f.Level}
			}
			if it.num != math.Trunc(it.num) || outOfRange(op.Params[f.Level], it.num) {
				return &doubt{reason: doubtRange, slot: f.Level}
			}
			in.params = wire.Object{f.Level: wire.Value{V: it.num}}
		default:
			continue
		}
		g.used[i] = true
	}
	if f.Level != "" && len(in.params) == 0 {
		return &doubt{reason: doubtLevel, slot: f.Level}
	}
	return nil
}

func isLevel(it item) bool {
	return it.kind == kindLevel || it.kind == kindNumber || it.kind == kindPercent
}

func limit(p catalog.Param, which string) float64 {
	if which == "min" && p.Minimum != nil {
		return *p.Minimum
	}
	if which == "max" && p.Maximum != nil {
		return *p.Maximum
	}
	return 0
}

func outOfRange(p catalog.Param, v float64) bool {
	return p.Minimum != nil && v < *p.Minimum || p.Maximum != nil && v > *p.Maximum
}

// takeSpan fills how long: "20분 동안", "30분만", "한 시간 반".
func (g *grounding) takeSpan(in *intent, _ action, op catalog.Operation) *doubt {
	d := in.frame.Duration
	for i, it := range g.clause.items {
		if it.kind != kindSpan && it.kind != kindDuration || d == nil || in.method != in.frame.Method {
			continue
		}
		count := float64(it.ms) / float64(d.UnitMS)
		if in.timed || it.role == "until" || count != math.Trunc(count) || outOfRange(op.Params[d.Param], count) {
			return &doubt{reason: doubtRange, slot: d.Param}
		}
		in.params[d.Param], in.timed, g.used[i] = wire.Value{V: count}, true, true
	}
	return nil
}

// takeValues fills words like "강하게", which belong to one frame.
func (g *grounding) takeValues(in *intent, _ action, _ catalog.Operation) *doubt {
	for i, it := range g.clause.items {
		if it.kind != kindValue || in.method != in.frame.Method {
			continue
		}
		for _, key := range it.keys {
			rest, ok := strings.CutPrefix(key, in.frame.ID+"/")
			param, value, _ := strings.Cut(rest, "=")
			if _, twice := in.params[param]; ok && !twice {
				in.params[param], g.used[i] = wire.Value{V: value}, true
			}
		}
	}
	return nil
}

// takeRest uses the words that add nothing to this frame, and finds the one that nothing accounts for.
func (g *grounding) takeRest(in *intent, _ action, op catalog.Operation) *doubt {
	for i, it := range g.clause.items {
		ok := g.used[i]
		switch it.kind {
		case kindHome:
			ok = ok || in.frame.Home
		case kindHere, kindPronoun:
			ok = ok || in.frame.Here
		case kindBrief:
			ok = ok || in.frame.Brief
		case kindState, kindStateNoun, kindAsk, kindCopula, kindMeasure, kindEvery:
			ok = ok || op.ReadOnly && it.key != "wish" || it.kind == kindEvery && it.text == "다" && len(op.MoreEffects) > 0 && isLink(g.clause.link) // "청정 다 하고"
		case kindWhen:
			ok = ok || op.ReadOnly && it.key == "today" // what it is like now
		case kindNumber, kindPercent:
			ok = ok || op.ReadOnly && g.clause.mood == moodQuery
		}
		if !ok || slices.Contains(strayRoles, it.role) && !(it.role == "from" && it.kind == kindThing) || it.kind == kindThing && !in.frame.standsFor(it.role, in.act) {
			return &doubt{reason: doubtUnknownWord}
		}
	}
	if len(g.clause.find(kindDelay)) > 1 {
		return &doubt{reason: doubtUnknownWord}
	}
	return g.checkActs(in)
}

// strayRoles are particles that say something which no operation can take: from, to whom, each time, more than.
var strayRoles = []string{"person", "from", "each", "than", "by"}

// standsFor says whether a noun of the frame may have this particle: only what one goes to is a place. "야간에 켜" asks for something
// at night, not for the night mode, and "충전대에서 나와" leaves the station.
func (f *frame) standsFor(role, act string) bool {
	switch role {
	case "in", "at", "until":
		_, goal := f.Acts["go"]
		return goal && (role != "at" || act != "go" && act != "return")
	}
	return true
}

// checkActs refuses a clause with two verbs that want different things: "볼륨 켜서 끄기".
func (g *grounding) checkActs(in *intent) *doubt {
	for _, it := range g.clause.items {
		switch it.kind {
		case kindVerb, kindActNoun:
		case kindQuit:
			it.key = "stop" // "측정 그만해" must not measure
		default:
			continue
		}
		switch {
		case it.key == in.act, it.key == "do", it.key == "ask", it.key == "set" && in.frame.Level != "":
		case it.key == "query" || it.key == "measure":
			if !g.cat.Operations[in.method].ReadOnly && it.key != in.act {
				return &doubt{reason: doubtAct}
			}
		case it.key == "go" && in.frame.ID == "halt":
		case in.frame.Place && it.key == "go" && it.kind == kindActNoun:
		default:
			if a, known := in.frame.Acts[it.key]; !known || !reflect.DeepEqual(a, in.frame.Acts[in.act]) {
				return &doubt{reason: doubtAct}
			}
		}
	}
	return nil
}

func allOf(list []string, allowed ...string) bool {
	for _, x := range list {
		if !slices.Contains(allowed, x) {
			return false
		}
	}
	return true
}
