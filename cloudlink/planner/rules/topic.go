package rules

import (
	"slices"
	"strings"

	"deviceagent/bridge/catalogfile"
)

// Topics are what a sentence is about. "uns/…" are things that this robot does not do, "own/…" what people expect of a home robot and
// this one has not.
const (
	topicSchedule = "schedule"
	topicEvent    = "event" // what stands in a calendar
	topicWeather  = "weather"
	topicFeel     = "feel"     // how warm or dry it is
	topicSwitched = "switched" // how a thing is: on, off, open, shut
	topicInfo     = "info"
	topicOutdoor  = "outdoor"
	topicPlace    = "place"
	topicIndoor   = "indoor"
	topicPart     = "part"
	topicIdentity = "identity"
	topicHowTo    = "how_to"
	topicStory    = "story"
	topicOurs     = "ours"
)

// hit is a noun of a topic in the sentence. Head says whether it is the head of its word, which in Korean is its end: 회식일정 is a
// schedule, 일정표 may be one.
type hit struct {
	topic string
	word  string
	at    int // token
	head  bool
}

// topicIndex finds nouns of topics in words.
type topicIndex struct {
	words   map[string][]string
	longest int // runes
}

func (x *topicIndex) add(topic string, list []string) {
	for _, w := range list {
		w = strings.ReplaceAll(strings.ToLower(w), " ", "")
		if !slices.Contains(x.words[w], topic) {
			x.words[w] = append(x.words[w], topic)
		}
		x.longest = max(x.longest, len([]rune(w)))
	}
}

// find looks at each word with those behind it (spaces do not count), and at the end of each compound.
func (x *topicIndex) find(tokens []token) []hit {
	var out []hit
	for i := range tokens {
		out = append(out, x.at(tokens, i)...)
	}
	return out
}

func (x *topicIndex) at(tokens []token, i int) []hit {
	var out []hit
	add := func(word string, head bool) {
		for _, topic := range x.words[word] {
			if !slices.ContainsFunc(out, func(h hit) bool { return h.topic == topic && h.head == head }) {
				out = append(out, hit{topic, word, i, head})
			}
		}
	}
	text, stem := []rune(tokens[i].text), []rune(tokens[i].stem)
	for _, next := range tokens[i+1:] {
		if len(text) >= x.longest {
			break
		}
		text = append(text, []rune(next.text)...)
	}
	for n := min(len(text), x.longest); n > 0 && len(out) == 0; n-- {
		if n == 1 && len(stem) > 1 {
			break // one syllable is a word only as a whole
		}
		add(string(text[:n]), n >= len(stem))
	}
	if len(out) > 0 && out[0].head {
		return out // 스위치 is no 위치
	}
	for _, stem := range tokens[i].stems {
		runes, found := []rune(stem), len(out)
		for cut := 1; cut+1 < len(runes) && len(out) == found; cut++ {
			add(string(runes[cut:]), true)
		}
	}
	return out
}

func (r reading) has(topic string) bool {
	return slices.ContainsFunc(r.hits, func(h hit) bool { return h.topic == topic || strings.HasPrefix(h.topic, topic+"/") })
}

// foreign is the category of the last noun that names something of a group ("uns", "own"): Korean verbs stand behind their object.
func (r reading) category(group string, weak []string) string {
	for _, h := range slices.Backward(r.hits) {
		if category, ok := strings.CutPrefix(h.topic, group+"/"); ok && (r.asksToDo() || r.has(topicSwitched) || !slices.Contains(weak, h.word)) {
			return category
		}
	}
	return ""
}

// families finds the family of a sentence that gives no step.
type families struct {
	cues   *cues
	acts   acts
	nouns  map[string]bool // that end like a verb
	topics topicIndex
	shape  structureWords

	product productWords
}

// newFamilies enters the words of the topics. What the catalog or a frame names is ours, whatever the lists say.
func newFamilies(c *cues, said catalogfile.Planner, frames map[string]*frame, ours *lexicon) *families {
	f := &families{cues: c, nouns: map[string]bool{}, topics: topicIndex{words: map[string][]string{}}}
	readData("acts.json", &f.acts)
	readData("structure.json", &f.shape)
	readData("product.json", &f.product)
	for _, list := range []*[]string{&f.acts.Give, &f.acts.Imperative, &f.acts.Desire, &f.acts.Curious, &f.acts.Question} {
		for i, e := range *list {
			(*list)[i] = strings.ReplaceAll(e, " ", "")
		}
	}
	for _, noun := range readWords("nouns.txt") {
		f.nouns[noun] = true
	}
	notOurs := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(w string) bool {
			return slices.ContainsFunc(ours.of(w), func(e entry) bool { return e.kind == kindThing })
		})
	}
	for _, g := range c.Unsupported {
		f.topics.add("uns/"+g.Category, notOurs(g.Ko))
	}
	for _, category := range sortedKeys(said.Unsupported) {
		if !c.isOwn(category) {
			f.topics.add("uns/"+category, notOurs(said.Unsupported[category].Aliases.Ko))
		}
	}
	for _, g := range c.Own {
		f.topics.add("own/"+g.Category, notOurs(g.Ko))
	}
	for topic, list := range map[string][]string{
		topicSchedule: c.ScheduleStrong.Ko, topicEvent: c.Events, topicFeel: c.Feel, topicSwitched: c.Switched, topicWeather: append(slices.Clone(c.Weather), c.WeatherShort...), topicInfo: c.Info, topicOutdoor: c.Outdoor.Ko, topicPlace: c.Places,
		topicIndoor: c.Indoor, topicPart: c.Part, topicIdentity: c.Identity.Ko, topicHowTo: c.HowTo.Ko, topicStory: c.Story.Ko,
	} {
		f.topics.add(topic, list)
	}
	for _, id := range sortedKeys(frames) {
		f.topics.add(topicOurs, frames[id].Nouns.Ko)
	}
	return f
}
