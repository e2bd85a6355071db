package rules

import (
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

// evidence is what the rules of a route look at.
type evidence struct {
	reading
	f         *families
	bare      bool // without what word lists point at
	out       parsed
	ours      bool   // the sentence names one of our things, or goes somewhere
	uns, own  string // the category of a thing that is not ours
	schedule  bool
	weather   bool
	report    bool // weather by the name of its report: 날씨, 기온
	info      bool
	timed     bool // a time of day or a delay is said
	subject   bool // a thing stands at the head of a short sentence: what is said is how it is
	indoors   bool
	how       bool // "어떻게 … 는지 알려줘"
	muses     bool // "뭐 먹을까": nobody knows but who asks
	skies     bool // short, and how the sky is: "대전 지금 비 와" asks as well as tells
	appliance bool // a thing of the home is named
	outside   bool // another place, or another day
	shows     bool // "보여 줘": something is to be played
	worth     bool // "갈 만한": what others like
	named     bool // it asks for the robot itself, and speaks of nobody else before
}

// rule gives its verdict where it holds. The rules stand in order, the first that holds decides: who is asked to do something by name
// comes before who is asked about something, and both before talk.
type rule struct {
	name string
	when func(e *evidence) bool
	then verdict
}

var routes = []rule{
	{"nothing said", func(e *evidence) bool { return len(e.tokens) == 0 || len(e.out.items) == 0 }, verdict{family: turn.STTNull, subtype: "STT_NULL_HARD", certain: true}},
	{"only sounds", func(e *evidence) bool {
		return !slices.ContainsFunc(e.tokens, func(k token) bool { return !slices.Contains(e.f.acts.Interjections, k.text) })
	}, verdict{family: turn.STTNull, subtype: "STT_NULL_GENERIC", runnerUp: turn.DEF}},
	{"how a device is used", func(e *evidence) bool {
		return (e.has(topicHowTo) || e.how) && !e.weather && (e.question || e.curious || e.give || e.desire || len(e.tokens) < 6) && (e.appliance || e.own != "" || e.has(topicOurs) || e.ours)
	}, verdict{family: turn.DQR, runnerUp: turn.DEF}},
	{"what a function of ours is", func(e *evidence) bool { return e.f.whatIs(e.reading) }, verdict{family: turn.DQR, runnerUp: turn.ODL}},
	{"about the product", func(e *evidence) bool { return e.asksProduct() }, verdict{family: turn.DQR, runnerUp: turn.ODL}},
	{"to be reminded at a time", func(e *evidence) bool { return e.f.reminds(e.reading, e.out) }, verdict{family: turn.SCH, certain: true}},
	{"to be told again and again", func(e *evidence) bool {
		return e.give && e.inform && !e.wh && slices.ContainsFunc(e.tokens, func(k token) bool { return strings.HasSuffix(k.text, "마다") })
	}, verdict{family: turn.SCH, runnerUp: turn.FRG}},
	{"schedule", func(e *evidence) bool {
		return e.schedule && (e.asks() || e.desire || !e.statement && !e.fragment)
	}, verdict{family: turn.SCH, certain: true}},
	{"story", func(e *evidence) bool { return e.has(topicStory) && (e.asks() || e.desire || e.proposes()) }, verdict{family: turn.STM, certain: true}},
	{"who the robot is", func(e *evidence) bool { return e.named && len(e.tokens) <= 6 || e.f.able(e.reading) }, verdict{family: turn.DQR, runnerUp: turn.DEF}},
	{"a part of the product", func(e *evidence) bool {
		return e.has(topicPart) && (e.asks() || e.desire) && (e.uns == "" || e.has(topicOurs))
	}, verdict{family: turn.DQR, runnerUp: turn.ODL}},
	{"public things that are also played", func(e *evidence) bool {
		return publicMedia[e.uns] && (e.wh || e.uns != apps) && e.asksAbout() && !e.asksToDo() && !e.shows
	}, verdict{family: turn.FRG, runnerUp: turn.UNS}},
	{"what this robot does not do", func(e *evidence) bool {
		return e.uns != "" && (e.asksToDo() || e.desire || publicMedia[e.uns] && e.shows) && !(e.weather && e.inform)
	}, verdict{family: turn.UNS}},
	{"weather out there", func(e *evidence) bool {
		return e.weather && (e.asks() || e.desire || e.skies || e.report && !e.statement && len(e.tokens) <= 3) && !(e.ours && !e.outside)
	}, verdict{family: turn.FRG, runnerUp: turn.DEF, certain: true}},
	{"climate out there", func(e *evidence) bool {
		return e.own == climate && e.outside && !e.indoors && (e.asks() || len(e.tokens) <= 3)
	}, verdict{family: turn.FRG, runnerUp: turn.ODL}},
	{"what a home robot has and this one has not", func(e *evidence) bool { return e.own != "" && (e.asks() || e.desire || e.subject) }, verdict{family: turn.ODL, runnerUp: turn.UNS, category: missing}},
	{"outside information", func(e *evidence) bool { return (e.info || e.worth) && (e.asks() || e.desire) && !e.ours }, verdict{family: turn.FRG, runnerUp: turn.DEF}},
	{"what a thing out there costs", func(e *evidence) bool { return e.uns != "" && e.asksAbout() && !e.asksToDo() && e.priced() }, verdict{family: turn.FRG, runnerUp: turn.UNS}},
	{"state of what is not ours", func(e *evidence) bool { return e.uns != "" && (e.asksAbout() || e.subject) }, verdict{family: turn.UNS, runnerUp: turn.DEF}},
	{"ours", func(e *evidence) bool { return e.ours }, verdict{family: turn.ODL, runnerUp: turn.DEF}},
	{"ours, how it is", func(e *evidence) bool {
		return e.has(topicOurs) && e.has(topicSwitched) && e.statement && len(e.tokens) <= 3 && !e.personal
	}, verdict{family: turn.ODL, runnerUp: turn.DEF}},
	{"ours, and too much", func(e *evidence) bool { return e.f.complains(e.reading) || e.f.wants(e.reading) }, verdict{family: turn.ODL, runnerUp: turn.DEF}},
	{"ours, asked about", func(e *evidence) bool { return e.has(topicOurs) && (e.question || e.give) && len(e.tokens) <= 6 }, verdict{family: turn.ODL, runnerUp: turn.DEF}},
	{"named and no more", func(e *evidence) bool { return e.uns != "" && e.out.unknown == 0 }, verdict{family: turn.UNS}},
	{"to be told at a time", func(e *evidence) bool {
		return e.timed && e.give && !e.wh && !e.weather && !e.info && !e.ours && e.uns == ""
	}, verdict{family: turn.SCH, runnerUp: turn.DEF}},
	{"a fact", func(e *evidence) bool {
		return (e.question || e.curious) && e.wh && !e.why && !e.personal && !e.muses || e.give && e.inform && !e.personal
	}, verdict{family: turn.FRG, runnerUp: turn.DEF}},
	{"to be done, whatever it is", func(e *evidence) bool { return e.give && !e.comfort && !e.inform && len(e.tokens) > 1 }, verdict{family: turn.UNS, runnerUp: turn.DEF}},
	{"a fragment", func(e *evidence) bool { return e.fragment }, verdict{family: turn.STTNull, subtype: "STT_NULL_GENERIC", runnerUp: turn.DEF}},
}

// newEvidence looks at what a Korean sentence does and is about.
func newEvidence(f *families, seen reading, out parsed, ours bool) *evidence {
	e := &evidence{reading: seen, f: f, out: out, ours: ours}
	weak := f.acts.WithRequest
	e.hits = f.withoutEnded(seen)
	note := e.makesNote()
	e.uns, e.own = e.category("uns", weak), e.category("own", nil)
	if e.own == climate && slices.ContainsFunc(e.hits, func(h hit) bool {
		return h.topic == "own/"+climate && h.at > 0 && strings.HasSuffix(e.tokens[h.at-1].text, "는") && e.tokens[h.at-1].text == e.tokens[h.at-1].stems[0] && !e.has(topicIndoor)
	}) {
		e.own = "" // "굽는 온도"
	}
	recommended := slices.ContainsFunc(e.hits, func(h hit) bool { return h.topic == topicInfo && h.word == "추천" })
	e.schedule = e.has(topicSchedule) || e.has(topicEvent) && e.uns == "" && !recommended
	e.schedule = e.schedule || note
	e.shows = e.give && !e.wh && !recommended && len(e.tokens) > 0 && startsWith(e.tokens[len(e.tokens)-1].text, f.acts.Shows)
	e.weather = slices.ContainsFunc(e.hits, func(h hit) bool { return h.topic == topicWeather && !slices.Contains(f.cues.WeatherShort, h.word) }) ||
		e.asksAbout() && slices.ContainsFunc(e.hits, func(h hit) bool { return h.topic == topicWeather })
	e.info = slices.ContainsFunc(e.hits, func(h hit) bool { return h.topic == topicInfo && (e.asksAbout() || !slices.Contains(weak, h.word)) })
	e.report = slices.ContainsFunc(e.hits, func(h hit) bool { return h.topic == topicWeather && h.head && slices.Contains(f.cues.Reports, h.word) })
	e.timed = slices.ContainsFunc(out.items, func(it item) bool { return it.kind == kindClock || it.kind == kindDelay })
	e.subject = e.statement && len(e.tokens) <= 4 && !e.personal && slices.ContainsFunc(e.hits, func(h hit) bool {
		return h.head && (strings.HasPrefix(h.topic, "own/") || strings.HasPrefix(h.topic, "uns/") && appliances[strings.TrimPrefix(h.topic, "uns/")]) && h.at <= 1 && len([]rune(h.word)) > 1
	}) && f.endsOpenly(e.tokens[len(e.tokens)-1].text)
	e.worth = slices.ContainsFunc(e.tokens, func(k token) bool { return strings.HasSuffix(k.text, "만한") })
	e.indoors = e.has(topicIndoor)
	e.how = e.inform && e.why && slices.ContainsFunc(e.tokens, func(k token) bool { return interrogative(k.text) || strings.HasSuffix(k.text, "는지") })
	e.muses = len(e.tokens) > 0 && f.muses(e.tokens[len(e.tokens)-1].text)
	e.appliance = slices.ContainsFunc(e.hits, func(h hit) bool { return appliances[strings.TrimPrefix(h.topic, "uns/")] })
	if e.own == "" && e.indoors && e.has(topicFeel) {
		e.own = climate
	}
	e.named = slices.ContainsFunc(e.hits, func(h hit) bool {
		return h.topic == topicIdentity && !slices.ContainsFunc(e.tokens[:h.at], func(k token) bool { return !f.begins(k, f.acts.Self) && !slices.Contains(f.acts.Interjections, k.text) })
	})
	e.outside = e.has(topicPlace) || e.has(topicOutdoor)
	e.skies = e.has(topicWeather) && e.outside && !e.personal && len(e.tokens) > 1 && len(e.tokens) <= 5 && e.statement && f.endsOpenly(e.tokens[len(e.tokens)-1].text)
	e.weather = e.weather || e.skies
	return e
}

// route finds the family of a Korean sentence.
func route(e *evidence) verdict {
	for _, r := range routes {
		if r.when(e) {
			v := r.then.named(e)
			v.rule = r.name
			return v
		}
	}
	return verdict{family: turn.DEF, runnerUp: turn.STTNull, rule: "talk"}
}

// climate is the category of room temperature and the like.
const climate = "indoor_climate_reading"

// apps are the category of programs by name; what is asked of them is asked of nobody else, unless it is a fact.
const apps = "streaming_or_app_execution"

// missing stands for the category of what the robot has not; the sentence says which.
const missing = "own"

// appliances are the categories of things in the home.
var appliances = map[string]bool{"other_appliance": true, "appliance_control": true}

// named fills the category in.
func (v verdict) named(e *evidence) verdict {
	switch {
	case v.family == turn.UNS:
		v.category = e.uns
	case v.category == missing:
		v.category = e.own
	}
	return v
}
