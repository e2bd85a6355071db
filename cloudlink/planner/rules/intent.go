package rules

import (
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
	ifSaid  string // the words of the condition
	visible string // the output that when reads
	clause  int    // which clause it came from
	span    string
	timed   bool // the words say how long

	silent     bool   // looked up, and nobody asked to be told
	takes      bool   // what was looked up just before is looked for
	gives      string // the output key that another one takes
	anchor     string // the event of other work that it waits for, and the words that say so
	anchorSaid string
	after      int // 1 + the intent that it waits for in place of the one before; 0: the one before
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
	doubtMissing      = "capability_not_here" // a home robot may have it, this one has not
)

// grounding reads one clause against the catalog. Every item that carries content is used by something, or the clause is in doubt.
type grounding struct {
	p      *reader
	cat    *catalog.Catalog
	clause clause
	used   []bool
	prev   *intent
	at     string // where the robot will be by then, if the words say
	judged bool   // the next clause is a condition
	ended  bool   // the clause before said that work has ended
	all    []intent
	about  *frame // what the condition before was about
	text   text
}

// acts are what the clause wants done, the most specific first.
func (g *grounding) acts() []string {
	var out, light []string
	for i, it := range g.clause.items {
		switch {
		case it.kind == kindVerb && (it.key == "do" || it.key == "ask" || it.key == "query"), it.kind == kindActNoun && (it.key == "ask" || it.key == "query"):
			light = append(light, map[string]string{"do": "do", "ask": "do", "query": "query"}[it.key])
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
	if len(out) == 0 {
		return light // a verb that says nothing counts only where no other does: "충전 그만하고" is not "충전하고"
	}
	return out
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
	if in, ok := g.notice(); ok {
		return in, nil
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
	for _, it := range g.clause.find(kindState) {
		if f := g.p.frames[map[string]string{"rain": "weather", "dry": "weather", "jam": "traffic"}[it.key]]; f != nil {
			return []*frame{f}
		}
	}
	if g.about != nil && len(g.clause.find(kindRoom)) == 0 {
		if slices.ContainsFunc(acts, func(act string) bool { _, ok := g.about.Acts[act]; return ok && act != "query" }) {
			return []*frame{g.about}
		}
	}
	if g.prev != nil && len(g.clause.find(kindRoom)) == 0 {
		for _, act := range acts {
			if _, ok := g.prev.frame.Acts[act]; ok && slices.Contains([]string{"on", "off", "start", "stop", "set", "query", "measure"}, act) {
				return []*frame{g.prev.frame}
			}
		}
	}
	if f := g.sameThing(acts); f != nil {
		return []*frame{f}
	}
	for _, pair := range []struct {
		ok    bool
		frame string
	}{{slices.Contains(acts, "purify"), "clean"}, {slices.Contains(acts, "mute") || slices.Contains(acts, "unmute"), "volume"}, {slices.Contains(acts, "hush"), "quiet"}, {stops, "halt"}, {slices.Contains(acts, "return"), "return"}, {slices.Contains(acts, "go") || slices.Contains(acts, "visit") && isLink(g.clause.link), "move"}} {
		if f := g.p.frames[pair.frame]; pair.ok && f != nil {
			return []*frame{f}
		}
	}
	return nil
}

// sameThing is what an earlier clause was about, where this one names only another room or time for it: "옷방 청정하고 서재도 해 줘",
// "10분 더 해 줘". A bare goal behind other work is gone to: "청정하고 안방으로".
func (g *grounding) sameThing(acts []string) *frame {
	rooms, spans := g.clause.find(kindRoom), len(g.clause.find(kindSpan))+len(g.clause.find(kindDuration))
	if len(acts) == 0 && len(g.all) > 0 && len(rooms) == 1 && rooms[0].role == "to" {
		return g.p.frames["move"]
	}
	if !slices.Equal(acts, []string{"do"}) {
		return nil
	}
	for _, in := range slices.Backward(g.all) {
		if f := in.frame; f.Skill == "" && (len(rooms) > 0 && f.Place && f.RoomParam == "" || len(rooms) == 0 && spans > 0 && f.Duration != nil) {
			return f
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
			if f.Skill != "" {
				return g.fillSkill(f, act)
			}
			return g.fill(f, a, act)
		}
	}
	f := frames[0]
	if _, goal := f.Acts["go"]; goal && len(acts) == 0 && (f.ID == "move" || len(things) == 1 && things[0].role == "to" && len(g.all) > 0) {
		return g.fill(f, f.Acts["go"], "go")
	}
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
