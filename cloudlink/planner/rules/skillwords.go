package rules

import (
	"maps"

	"deviceagent/taskmanager/core/catalog"
)

// skillWords are the words of what the cloud does for a plan: news, weather, stories. They are read only beside the words of the robot, in
// sentences that the robot's words alone do not make a plan of.
type skillWords struct {
	Frames   []frame             `json:"frames"`
	Verbs    map[string][]string `json:"verbs"`
	ActNouns map[string][]string `json:"act_nouns"`
	Rain     rainWords           `json:"rain"`
	Jam      []string            `json:"jam"`
	Exist    []string            `json:"exist"`
	When     map[string][]string `json:"when"`
	Manner   []string            `json:"manner"`
	Pronouns []string            `json:"pronouns"` // stand for what was looked up just before
	En       skillEnglish        `json:"en"`
	Wishes   []wish              `json:"wishes"`
}

type rainWords struct {
	Stems []string `json:"stems"`
	Cond  []string `json:"cond"`
	Query []string `json:"query"`
}

// skillFrames are the frames whose skill the catalog has.
func skillFrames(cat *catalog.Catalog, s skillWords) map[string]*frame {
	out := map[string]*frame{}
	for i := range s.Frames {
		f := &s.Frames[i]
		if _, ok := cat.Skills[catalog.SkillID(f.Skill)]; ok {
			out[f.ID] = f
		}
	}
	return out
}

// withSkills gives a reader that knows the words of the skills as well. It has a lexicon of its own: what is said of the robot alone is
// read as before.
func (p *reader) withSkills(s skillWords, frames map[string]*frame, places []string) *reader {
	other := *p
	other.placeNames = places
	other.skills = true
	other.lex = p.lex.over()
	other.frames = maps.Clone(p.frames)
	for _, id := range sortedKeys(frames) {
		other.frames[id] = frames[id]
		for _, noun := range frames[id].Nouns.in(p.lang) {
			other.lex.replace(noun, entry{kind: kindThing, key: noun, keys: []string{id}})
		}
	}
	if p.lang == korean {
		other.addSkillKorean(s)
	} else {
		other.addSkillEnglish(s.En)
	}
	return &other
}

// skillEnglish are the same words in English.
type skillEnglish struct {
	Verbs  map[string][]string `json:"verbs"`
	When   map[string][]string `json:"when"`
	Rain   []string            `json:"rain"`
	Manner []string            `json:"manner"`
}

func (p *reader) addSkillEnglish(s skillEnglish) {
	for _, act := range sortedKeys(s.Verbs) {
		for _, verb := range s.Verbs[act] {
			p.lex.replace(verb, entry{kind: kindVerb, key: act, fn: "imp"})
		}
	}
	for _, when := range sortedKeys(s.When) {
		for _, word := range s.When[when] {
			p.lex.replace(word, entry{kind: kindWhen, key: when})
		}
	}
	for _, text := range s.Rain {
		p.lex.replace(text, entry{kind: kindState, key: "rain"})
	}
	for _, word := range s.Manner {
		p.lex.replace(word, entry{kind: kindManner})
	}
}

func (p *reader) addSkillKorean(s skillWords) {
	verbs := func(k kind, key string, stems []string) {
		for _, stem := range stems {
			for _, f := range forms(stem, p.ko.Endings) {
				p.lex.add(f.text, entry{kind: k, key: key, fn: f.fn})
			}
		}
	}
	for _, act := range sortedKeys(s.Verbs) {
		verbs(kindVerb, act, s.Verbs[act])
	}
	for _, act := range sortedKeys(s.ActNouns) {
		for _, noun := range s.ActNouns[act] {
			p.lex.replace(noun, entry{kind: kindActNoun, key: act})
		}
	}
	verbs(kindState, "rain", s.Rain.Stems)
	verbs(kindState, "jam", s.Jam)
	for _, text := range s.Rain.Cond {
		p.lex.add(text, entry{kind: kindState, key: "rain", fn: "cond"})
	}
	for _, text := range s.Rain.Query {
		p.lex.add(text, entry{kind: kindState, key: "rain", fn: "query"})
	}
	for _, text := range s.Exist {
		p.lex.replace(text, entry{kind: kindState, key: "how", fn: "query"})
	}
	for _, when := range sortedKeys(s.When) {
		for _, word := range s.When[when] {
			p.lex.replace(word, entry{kind: kindWhen, key: when})
		}
	}
	for _, word := range s.Manner {
		p.lex.replace(word, entry{kind: kindManner})
	}
	for _, word := range s.Pronouns {
		p.lex.replace(word, entry{kind: kindPronoun})
	}
}

// over gives a lexicon of the same words, to which others can be added.
func (l *lexicon) over() *lexicon {
	return &lexicon{entries: map[string][]entry{}, under: l, longest: l.longest}
}

// replace enters a word in place of all that it meant before.
func (l *lexicon) replace(text string, e entry) {
	for _, variant := range spacings(text) {
		l.entries[variant] = []entry{} // whatever lies under it
		l.addExact(variant, e)
	}
}
