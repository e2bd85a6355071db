package rules

import (
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

// cues are words that point at a route family. They are evidence for a sentence without device steps, never a reason for one.
type cues struct {
	Unsupported []category `json:"uns"`
	// Own are things that people expect of a home robot and this one has not. The device owns such a turn and says what it cannot do.
	Own            []category           `json:"own"`
	UnsupportedSay map[string]twoSpeech `json:"uns_say"`
	Schedule       words                `json:"sch"`
	ScheduleStrong words                `json:"sch_strong"`
	Events         []string             `json:"events"`
	Ended          []string             `json:"ended"` // behind a thing it only says when
	Proposals      []string             `json:"proposals"`
	Prices         []string             `json:"prices"`
	Notes          []string             `json:"notes"`      // a message of an app, or what one wants to be told at a time
	NotesMade      []string             `json:"notes_made"` // verbs of the second
	Feel           []string             `json:"feel"`
	Switched       []string             `json:"switched"`
	Fresh          words                `json:"frg"` // English; Korean has weather and info
	Weather        []string             `json:"weather"`
	Reports        []string             `json:"reports"`
	WeatherShort   []string             `json:"weather_short"`
	Info           []string             `json:"info"`
	Indoor         []string             `json:"indoor"`
	Places         []string             `json:"places"`
	Part           []string             `json:"part"`
	Identity       words                `json:"identity"`
	Product        words                `json:"dqr"`
	Story          words                `json:"stm"`
	HowTo          words                `json:"how_to"`
	Outdoor        words                `json:"outdoor"`
	FinalSuffixes  []string             `json:"final_suffixes"`
}

type category struct {
	Category string `json:"category"`
	words
}

type twoSpeech struct {
	Ko string `json:"ko"`
	En string `json:"en"`
}

func (c *cues) isOwn(name string) bool {
	return slices.ContainsFunc(c.Own, func(g category) bool { return g.Category == name })
}

// verdict is the family of a sentence that gives no step, with the reason.
type verdict struct {
	family   turn.Family
	category string // of UNS, and of ODL where the robot has not what was asked for
	runnerUp turn.Family
	subtype  string // of STT_NULL
	rule     string // that gave it
	certain  bool
}

// route finds the family of what was not planned.
func (p *Planner) route(h *Heard) verdict {
	if h.ev != nil {
		return route(h.ev)
	}
	v := p.routeEnglish(h.out, h.bare)
	v.rule = "english words"
	return v
}

// routeEnglish goes by the words alone. Order matters: a sentence about a schedule or about a thing that is not ours is that also when
// it names one of our things.
func (p *Planner) routeEnglish(out parsed, bare bool) verdict {
	const lang = english
	c := p.cues
	if bare {
		c = &cues{}
	}
	request := slices.ContainsFunc(out.clauses, func(cl clause) bool { return cl.mood == moodRequest || cl.mood == moodQuery })
	ours := p.oursOnly(out)
	uns, own := foreign(out, "uns/"), foreign(out, "own/")
	switch {
	case len(out.items) == 0:
		return verdict{family: turn.STTNull, subtype: "STT_NULL_HARD", certain: true}
	case out.text.contains(c.HowTo.En) && (uns != "" || own != "" || ours || out.text.contains(c.Product.En)):
		return verdict{family: turn.DQR, runnerUp: turn.DEF}
	case out.text.contains(c.ScheduleStrong.En):
		return verdict{family: turn.SCH, certain: true}
	case out.text.contains(c.Story.En):
		return verdict{family: turn.STM, certain: true}
	case uns != "" && asksAbout(out) && publicMedia[uns]:
		return verdict{family: turn.FRG, runnerUp: turn.UNS}
	case uns != "" && (request || out.unknown == 0):
		return verdict{family: turn.UNS, category: uns, certain: out.unknown == 0}
	case out.text.contains(c.Product.En) && out.unknown <= 2, out.text.contains(c.Identity.En), !ours && asksProduct(lang, out, p.topics):
		return verdict{family: turn.DQR, runnerUp: turn.DEF}
	case out.text.contains(c.Outdoor.En) && out.text.contains(c.Fresh.En) && out.unknown > 0, out.text.contains(c.Fresh.En) && !ours:
		return verdict{family: turn.FRG, runnerUp: turn.DEF}
	case slices.Contains(out.foreign, "sch") && request && !ours:
		return verdict{family: turn.SCH, runnerUp: turn.DEF}
	case own != "" && request:
		return verdict{family: turn.ODL, category: own, runnerUp: turn.UNS}
	case ours:
		return verdict{family: turn.ODL, runnerUp: turn.DEF}
	case uns != "":
		return verdict{family: turn.UNS, category: uns, runnerUp: turn.DEF}
	case asksOutside(out):
		return verdict{family: turn.FRG, runnerUp: turn.DEF}
	case p.isFragment(lang, out):
		return verdict{family: turn.STTNull, subtype: "STT_NULL_GENERIC", runnerUp: turn.DEF}
	}
	return verdict{family: turn.DEF, runnerUp: turn.STTNull}
}

// asksProduct says whether a question names a topic of the product questions in planner.json.
func asksProduct(lang language, out parsed, topics words) bool {
	asked := out.text.question || slices.ContainsFunc(out.clauses, func(c clause) bool { return c.mood == moodQuery })
	return asked && out.text.contains(topics.in(lang))
}

// foreign is the first category of words that are not ours, of a group.
func foreign(out parsed, group string) string {
	for _, key := range out.foreign {
		if category, ok := strings.CutPrefix(key, group); ok {
			return category
		}
	}
	return ""
}

// publicMedia are the categories whose things are also talked about: a question about a film is not a wish to play it.
var publicMedia = map[string]bool{"video_playback": true, "music_playback": true, "streaming_or_app_execution": true}

// asksAbout says whether every clause with a verb is a question.
func asksAbout(out parsed) bool {
	asked := false
	for _, c := range out.clauses {
		asked = asked || c.mood == moodQuery
		if pred, ok := c.predicate(); ok && c.mood == moodRequest && pred.key != "query" {
			return false
		}
	}
	return asked || out.text.question
}

// asksOutside says whether it asks how much, where or when of something that is not ours.
func asksOutside(out parsed) bool {
	return out.unknown > 0 && slices.ContainsFunc(out.items, func(it item) bool {
		return it.kind == kindAsk && !slices.Contains([]string{"뭐", "무엇", "what", "how", "is", "are", "do", "does", "did", "has", "was", "why", "who"}, it.text)
	})
}

// oursOnly says whether the sentence is about the robot: it names one of our things, or goes somewhere, and what is not understood
// does not outweigh what is.
func (p *Planner) oursOnly(out parsed) bool {
	named, directed, moves, linked, allowed := 0, false, false, false, 1
	for _, it := range out.items {
		switch it.kind {
		case kindThing:
			named++
		case kindRoom:
			directed, allowed = true, 2
		case kindDeictic:
			directed = true
		case kindUnknown:
			directed = directed || it.role == "to"
		case kindVerb, kindActNoun:
			if allowed == 2 && isLink(it.fn) {
				linked = true
			}
			moves = moves || it.key == "go" || it.key == "return" || it.key == "visit"
		}
	}
	asked := slices.ContainsFunc(out.clauses, func(c clause) bool {
		pred, ok := c.predicate()
		measured := len(c.find(kindDuration))+len(c.find(kindSpan))+len(c.find(kindNumber))+len(c.find(kindValue)) > 0
		return measured || c.mood == moodQuery || ok && (pred.fn == "imp" || pred.fn == "inf" || pred.give) || len(c.find(kindActNoun)) > 0
	})
	return linked && moves && out.unknown <= allowed || asked && (named > 0 && out.unknown <= 2 || directed && moves && out.unknown <= allowed || whereTo(out)) || out.control != nil
}

// whereTo says whether all that is missing is the room.
func whereTo(out parsed) bool {
	return slices.ContainsFunc(out.doubts, func(d doubt) bool { return d.reason == doubtRoom && out.unknown <= 1 })
}

// isFragment says whether the words end like no sentence, and are few.
func (p *Planner) isFragment(lang language, out parsed) bool {
	fields := strings.Fields(string(out.text.runes))
	if len(fields) == 0 {
		return true
	}
	if len(fields) > 3 || lang == english && len(fields) > 2 || out.text.question {
		return false
	}
	last := fields[len(fields)-1]
	for _, suffix := range p.cues.FinalSuffixes {
		if strings.HasSuffix(last, suffix) && (len([]rune(last)) > len([]rune(suffix)) || len(fields) > 1) {
			return false
		}
	}
	return true
}
