package rules

import (
	"math"
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core/catalog"
)

// intent is one thing that a clause asks the robot to do, grounded in the catalog.
type intent struct {
	frame   *frame
	act     string
	method  catalog.Method
	params  wire.Object
	room    string // go there first, or the destination
	said    string // the room in the language of the utterance
	link    string // how the next one follows
	delayMS int64
	when    *wire.Condition
	visible string // the output that when reads
	clause  int    // which clause it came from
	span    string
	timed   bool // the words say how long
}

// doubt is why a clause did not become an intent. Slot and Options are for the question back.
type doubt struct {
	reason  string // ambiguity_reason
	slot    string
	frame   *frame
	room    string
	options []string
}

// The reasons of a doubt.
const (
	doubtUnknownWord  = "word_not_understood"
	doubtNoOperation  = "no_operation_named"
	doubtTwoThings    = "two_things_in_one_clause"
	doubtRoom         = "room_not_known"
	doubtUnreachable  = "room_not_reachable"
	doubtAmbiguous    = "room_ambiguous"
	doubtElsewhere    = "state_of_another_room"
	doubtLevel        = "level_not_given"
	doubtRange        = "value_out_of_range"
	doubtQuestion     = "question_about_an_action"
	doubtCondition    = "condition_not_supported"
	doubtEvent        = "waiting_for_earlier_work_not_supported"
	doubtAct          = "act_not_supported"
	doubtCannotAtRoom = "not_bound_to_a_room"
)

// grounding reads one clause against the catalog. Every item that carries content is used by something, or the clause is in doubt.
type grounding struct {
	p      *reader
	cat    *catalog.Catalog
	clause clause
	used   []bool
	prev   *intent
	at     string // where the robot will be by then, if the words say
	text   text
}

// acts are what the clause wants done, the most specific first.
func (g *grounding) acts() []string {
	var out, light []string
	for i, it := range g.clause.items {
		switch {
		case it.kind == kindVerb && (it.key == "do" || it.key == "ask" || it.key == "query"), it.kind == kindActNoun && (it.key == "ask" || it.key == "query"):
			light = append(light, it.key)
		case it.kind == kindVerb, it.kind == kindActNoun:
			out = append(out, it.key)
		case it.kind == kindQuit:
			out = append(out, "stop")
		case it.kind == kindPurify:
			out = append([]string{"purify"}, out...)
		default:
			continue
		}
		g.used[i] = true
	}
	return append(out, light...)
}

// frames are the frames that all things of the clause share.
func (g *grounding) frames() []*frame {
	var shared []string
	for i, it := range g.clause.items {
		if it.kind != kindThing {
			continue
		}
		g.used[i] = true
		if shared == nil {
			shared = it.keys
			continue
		}
		shared = intersect(shared, it.keys)
		if len(shared) == 0 {
			return nil
		}
	}
	var out []*frame
	for _, key := range shared {
		if f := g.p.frames[key]; f != nil {
			out = append(out, f)
		}
	}
	return out
}

func intersect(a, b []string) []string {
	out := []string{}
	for _, x := range a {
		if slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

// ground makes the intent of a clause that asks for something or asks about something.
func (g *grounding) ground() (intent, *doubt) {
	g.used = make([]bool, len(g.clause.items))
	for i, it := range g.clause.items {
		g.used[i] = it.kind == kindFiller || it.kind == kindDelay
	}
	acts := g.acts()
	things := g.clause.find(kindThing)
	frames := g.frames()
	if len(things) > 0 && len(frames) == 0 {
		return intent{}, &doubt{reason: doubtTwoThings}
	}
	if len(things) == 0 {
		frames = g.implied(acts)
	}
	if len(frames) == 0 {
		return intent{}, &doubt{reason: doubtNoOperation}
	}
	return g.choose(frames, acts, things)
}

// implied names the frame of a clause without a noun: going needs a room, returning and stopping nothing, and switching refers to
// what was named before ("청정 켜고 10분 뒤에 꺼 줘").
func (g *grounding) implied(acts []string) []*frame {
	stops := slices.Contains(acts, "stop") || slices.Contains(acts, "cancel")
	if g.prev != nil && len(g.clause.find(kindRoom)) == 0 {
		for _, act := range acts {
			if _, ok := g.prev.frame.Acts[act]; ok && slices.Contains([]string{"on", "off", "start", "stop", "set", "query", "measure"}, act) {
				return []*frame{g.prev.frame}
			}
		}
	}
	for _, pair := range []struct {
		ok    bool
		frame string
	}{{slices.Contains(acts, "purify"), "clean"}, {slices.Contains(acts, "mute") || slices.Contains(acts, "unmute"), "volume"}, {stops, "halt"}, {slices.Contains(acts, "return"), "return"}, {slices.Contains(acts, "go"), "move"}} {
		if f := g.p.frames[pair.frame]; pair.ok && f != nil {
			return []*frame{f}
		}
	}
	return nil
}

// choose takes the first frame that knows one of the acts, and fills its arguments.
func (g *grounding) choose(frames []*frame, acts []string, things []item) (intent, *doubt) {
	noun := ""
	if len(things) > 0 {
		noun = strings.ReplaceAll(things[0].key, " ", "")
	}
	if g.asksState(acts) {
		acts = append(acts, "state")
	}
	for _, act := range acts {
		for _, f := range frames {
			a, ok := f.Acts[act]
			if !ok || len(a.Nouns) > 0 && !slices.Contains(a.Nouns, noun) {
				continue
			}
			if other := g.p.frames[a.Frame]; a.Frame != "" && other != nil {
				f, a = other, other.Acts[act]
			}
			return g.fill(f, a, act)
		}
	}
	f := frames[0]
	if f.BecomesWithLevel != "" && g.hasLevel() {
		f = g.p.frames[f.BecomesWithLevel]
	}
	if f != nil && f.Level != "" && g.hasLevel() && (len(acts) == 0 || allOf(acts, "do", "ask", "set", "up", "down")) {
		return g.fill(f, action{}, "set")
	}
	if len(acts) == 0 || allOf(acts, "do", "ask") && g.clause.mood == moodNominal {
		return intent{}, &doubt{reason: doubtNoOperation, frame: frames[0]}
	}
	return intent{}, &doubt{reason: doubtAct, frame: frames[0]}
}

func (g *grounding) hasLevel() bool {
	return len(g.clause.find(kindNumber))+len(g.clause.find(kindPercent))+len(g.clause.find(kindLevel)) > 0
}

// asksState says whether the clause asks how something is, and uses the words that do.
func (g *grounding) asksState(acts []string) bool {
	found := g.clause.mood == moodQuery || len(acts) == 0 && len(g.clause.find(kindStateNoun)) > 0
	return found || len(g.clause.find(kindAsk)) > 0
}

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
		if count != math.Trunc(count) || outOfRange(op.Params[d.Param], count) {
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
		case kindHere:
			ok = ok || in.frame.Here
		case kindState, kindStateNoun, kindAsk, kindCopula, kindMeasure, kindEvery:
			ok = ok || op.ReadOnly && it.key != "wish"
		case kindNumber, kindPercent:
			ok = ok || op.ReadOnly && g.clause.mood == moodQuery
		}
		if !ok {
			return &doubt{reason: doubtUnknownWord}
		}
	}
	return g.checkActs(in)
}

// checkActs refuses a clause with two verbs that want different things: "볼륨 켜서 끄기".
func (g *grounding) checkActs(in *intent) *doubt {
	for _, it := range g.clause.items {
		if it.kind != kindVerb && it.kind != kindActNoun {
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
			if _, known := in.frame.Acts[it.key]; !known || in.act != it.key {
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
