package rules

import (
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// Heard is what the rules make of the words of one turn before anything is decided. Stages before the main planner look at it
// ([Heard.Seen]), and the rules planner goes on from it: nobody reads the words twice.
type Heard struct {
	of   string
	r    *reader
	out  parsed
	ev   *evidence // Korean
	bare bool

	long bool // over maxRunes: a speech, of which only the beginning is looked at and nothing is done

	rooms []wire.Room // that the device reported
}

// Of gives the words.
func (h *Heard) Of() string { return h.of }

// Bare is the same without what word lists point at: topics, things that are not ours, cues. What is left are the endings, and what the
// clauses ask of the robot itself.
func (h *Heard) Bare() turn.Heard {
	other := *h
	other.bare = true
	if h.ev != nil {
		seen := h.ev.reading
		seen.hits = nil
		other.ev = newEvidence(h.ev.f, seen, h.out, h.ev.ours)
		other.ev.bare = true
	}
	return &other
}

// Hear reads the words of a turn. It is cheap, and fails never.
func (p *Planner) Hear(in turn.Input) turn.Heard { return p.hear(in) }

func (p *Planner) hear(in turn.Input) *Heard {
	if h, ok := in.Heard.(*Heard); ok && h.of == in.Text {
		return h
	}
	lang := korean
	if isEnglish(in.Text, in.Locale) {
		lang = english
	}
	r := p.reader(p.readers, lang, in.Rooms)
	h := &Heard{of: in.Text, r: r, out: r.parse(in.Text), rooms: in.Rooms}
	if len(h.out.text.runes) > maxRunes {
		h.long = true
		h.out.text.original, h.out.text.runes = h.out.text.original[:maxRunes], h.out.text.runes[:maxRunes]
	}
	if lang == korean {
		h.ev = newEvidence(p.families, p.families.read(h.out.text), h.out, p.oursOnly(h.out))
	}
	return h
}

// Match is a registered thing that the words name.
type Match struct {
	ID   string // an operation, a room, a category, a topic
	Span string // the words, letter by letter
}

// Seen is what stands in the words, by lists and endings. It decides nothing.
type Seen struct {
	English     bool
	Operations  []Match // things and acts of the catalog, in the order of the words
	Rooms       []Match
	Unsupported []Match // categories of what this robot does not do
	Missing     []Match // what a home robot may have and this one has not
	Times       []Match // a time of day, a delay, how long
	Topics      []Match // schedule, event, weather, info, place, part, identity, how_to, story

	Explicit  bool // every word of a command to the robot is accounted for
	ToDo      bool // something is to be done
	About     bool // something is asked about
	Wish      bool
	Statement bool // it ends as a sentence that says something
	Fragment  bool // few words that end like no sentence
	Personal  bool // of oneself and one's own people
	Comfort   bool // what people ask of one another
	Fact      bool // asks who, where, how much
	Weather   bool // out there
	Outside   bool // other information from outside
	Product   bool // how a product is used, what it is
	Clock     bool // a time of day
	Recurring bool
	Ended     string // how it ends: the last word
	Words     int
	Unknown   int // words of the command reading that nobody knows
}

// Seen lists it.
func (h *Heard) Seen() Seen {
	s := Seen{English: h.r.lang == english, Unknown: h.out.unknown}
	fields := strings.Fields(string(h.out.text.runes))
	s.Words = len(fields)
	if len(fields) > 0 {
		s.Ended = fields[len(fields)-1]
	}
	s.Explicit = h.out.clear()
	s.Clock = slices.ContainsFunc(h.out.items, func(it item) bool { return it.kind == kindClock })
	h.operations(&s)
	if h.bare {
		return s
	}
	if s.English {
		h.seeEnglish(&s)
	} else {
		h.seeKorean(&s)
	}
	return s
}

// operations are those that a named thing belongs to, and those of the intents: going has no thing.
func (h *Heard) operations(s *Seen) {
	at := map[string]int{}
	add := func(list *[]Match, m Match, start int) {
		if !slices.ContainsFunc(*list, func(have Match) bool { return have.ID == m.ID }) {
			*list, at[m.ID] = append(*list, m), start
		}
	}
	defer func() {
		for _, in := range h.out.intents {
			add(&s.Operations, Match{string(in.method), in.span}, h.out.clauses[in.clause].start)
		}
		slices.SortStableFunc(s.Operations, func(a, b Match) int { return at[a.ID] - at[b.ID] })
	}()
	for _, it := range h.out.items {
		span := h.out.text.span(it.start, it.end)
		switch it.kind {
		case kindThing:
			for _, key := range it.keys {
				if f := h.r.frames[key]; f != nil {
					add(&s.Operations, Match{string(f.Method), span}, it.start)
				}
			}
		case kindClock, kindDelay, kindSpan:
			add(&s.Times, Match{string(it.kind) + "@" + span, span}, it.start)
		case kindRoom:
			for _, id := range it.keys {
				add(&s.Rooms, Match{id, h.out.text.cite(it.text, span)}, it.start)
			}
		}
	}
}

func (h *Heard) seeKorean(s *Seen) {
	e := h.ev
	s.ToDo, s.About, s.Wish = e.asksToDo(), e.asksAbout(), e.desire
	s.Statement, s.Fragment, s.Personal, s.Comfort = e.statement, e.fragment, e.personal, e.comfort
	s.Fact = e.wh && !e.why && !e.personal && !e.muses
	s.Weather, s.Outside = e.weather, e.info
	s.Product = e.asksProduct() || e.has(topicPart) || e.named || (e.has(topicHowTo) || e.how) && (e.appliance || e.own != "" || e.has(topicOurs) || e.ours)
	s.Recurring = slices.Contains(e.f.structureOf(h.out.text), turn.Recurring)
	for _, hit := range e.hits {
		m := Match{hit.topic, h.out.text.cite(hit.word, e.tokens[hit.at].text)}
		switch category, _, _ := strings.Cut(hit.topic, "/"); category {
		case "uns":
			m.ID = strings.TrimPrefix(hit.topic, "uns/")
			s.Unsupported = append(s.Unsupported, m)
		case "own":
			m.ID = strings.TrimPrefix(hit.topic, "own/")
			s.Missing = append(s.Missing, m)
		case topicOurs, topicFeel, topicSwitched, topicIndoor:
		default:
			s.Topics = append(s.Topics, m)
		}
	}
}

func (h *Heard) seeEnglish(s *Seen) {
	for _, c := range h.out.clauses {
		pred, ok := c.predicate()
		s.About = s.About || c.mood == moodQuery || h.out.text.question
		s.ToDo = s.ToDo || c.mood == moodRequest && !(ok && pred.key == "query")
		s.Statement = s.Statement || c.mood == moodDeclare
	}
	s.Statement = s.Statement || s.Words > 3 && !s.ToDo && !s.About
	s.Fact = asksOutside(h.out)
	for _, it := range h.out.items {
		span := h.out.text.span(it.start, it.end)
		if it.kind != kindForeign {
			continue
		}
		switch group, category, _ := strings.Cut(it.key, "/"); group {
		case "uns":
			s.Unsupported = append(s.Unsupported, Match{category, span})
		case "own":
			s.Missing = append(s.Missing, Match{category, span})
		case "sch":
			s.Topics = append(s.Topics, Match{topicSchedule, span})
		}
	}
}

// seeEnglishTopics is what the word lists of the planner add: they are not the reader's.
func (p *Planner) seeEnglishTopics(h *Heard, s *Seen) {
	for _, list := range []struct {
		topic string
		words []string
	}{{topicInfo, p.cues.Fresh.En}, {topicSchedule, p.cues.ScheduleStrong.En}, {topicStory, p.cues.Story.En}, {topicIdentity, p.cues.Identity.En}, {topicPart, p.cues.Product.En}, {topicHowTo, p.cues.HowTo.En}} {
		for _, w := range list.words {
			if h.out.text.contains([]string{w}) {
				s.Topics = append(s.Topics, Match{list.topic, h.out.text.cite(strings.ToLower(w), "")})
				break
			}
		}
	}
	named := func(topic string) bool {
		return slices.ContainsFunc(s.Topics, func(m Match) bool { return m.ID == topic })
	}
	s.Outside, s.Product = named(topicInfo), named(topicIdentity) || named(topicPart) || named(topicHowTo)
	s.Fragment = p.isFragment(english, h.out)
}

// Seen lists what stands in the words of a turn that this planner has heard.
func (p *Planner) Seen(heard turn.Heard) Seen {
	h, ok := heard.(*Heard)
	if !ok {
		return Seen{}
	}
	s := h.Seen()
	if s.English && !h.bare {
		p.seeEnglishTopics(h, &s)
	}
	return s
}

// cite finds a folded word in the text and gives it as it was said; otherwise the other.
func (t text) cite(word, otherwise string) string {
	for _, w := range []string{word, otherwise} {
		if before, _, ok := strings.Cut(string(t.runes), w); ok && w != "" {
			start := len([]rune(before))
			return t.span(start, start+len([]rune(w)))
		}
	}
	return otherwise
}
