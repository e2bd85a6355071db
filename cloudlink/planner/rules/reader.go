package rules

import (
	"maps"
	"math"
	"slices"
	"strings"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core/catalog"
)

// language is what an utterance is read as.
type language string

const (
	korean  language = "ko"
	english language = "en"
)

// reader turns text of one language into items. It is built once per catalog and set of rooms, and then only read.
type reader struct {
	lang   language
	cat    *catalog.Catalog
	ko     koreanWords
	en     englishWords
	lex    *lexicon // words of the language and of the catalog
	places *lexicon // names of rooms
	frames map[string]*frame
	rooms  map[string]room // by id
	order  []string        // room ids as the catalog lists them

	skills     bool     // knows what the cloud does
	placeNames []string // of the world outside
}

type room struct {
	id, name  string
	names     []string
	reachable bool
}

func newReader(lang language, cat *catalog.Catalog, planner catalogfile.Planner, frames map[string]*frame, c *cues) *reader {
	p := &reader{lang: lang, cat: cat, lex: newLexicon(), frames: frames}
	readData("ko.json", &p.ko)
	readData("en.json", &p.en)
	p.addFrames()
	p.addCatalogAliases(cat)
	if lang == english {
		p.addEnglish()
	} else {
		p.addKorean()
	}
	p.addForeign(planner, c)
	return p
}

// withRooms gives a reader that knows these rooms. Every name is entered under its rooms: a name that two rooms share stays
// ambiguous and is asked about.
func (p *reader) withRooms(rooms []room) *reader {
	other := *p
	other.places, other.rooms, other.order = newLexicon(), map[string]room{}, nil
	other.cat = p.cat.WithRooms(catalogRooms(rooms), p.cat.RoomsEtag)
	other.addRooms(rooms)
	return &other
}

func (p *reader) addRooms(rooms []room) {
	for _, r := range rooms {
		p.rooms[r.id] = r
		p.order = append(p.order, r.id)
		for _, name := range append([]string{r.name}, r.names...) {
			for _, spelled := range spellings(strings.ToLower(name)) {
				p.places.add(spelled, entry{kind: kindRoom, key: spelled, keys: []string{r.id}})
			}
		}
	}
}

// spellings writes the digit at the end of a name the ways that speech recognition does: 공간1, 공간 1, 공간일.
func spellings(name string) []string {
	out := []string{name}
	if head := strings.TrimRight(name, "0123456789"); head != name && head != "" {
		tail := name[len(head):]
		head = strings.TrimSpace(head)
		out = append(out, head+" "+tail)
		if word, ok := map[string]string{"1": "일", "2": "이", "3": "삼", "4": "사", "5": "오", "6": "육", "7": "칠", "8": "팔", "9": "구"}[tail]; ok {
			out = append(out, head+" "+word)
		}
	}
	return out
}

func (p *reader) addFrames() {
	for _, id := range sortedKeys(p.frames) {
		f := p.frames[id]
		for _, noun := range f.Nouns.in(p.lang) {
			p.lex.add(noun, entry{kind: kindThing, key: noun, keys: []string{id}})
		}
		for _, v := range f.Values {
			for _, word := range v.in(p.lang) {
				p.lex.add(word, entry{kind: kindValue, key: word, keys: []string{id + "/" + v.Param + "=" + v.Value}})
			}
		}
	}
}

// addCatalogAliases lets the catalog teach nouns that the frames do not have, so that a robot's own words need no code. Aliases
// that are verbs, or begin with a noun that is known, are covered by the frames and the verb lists.
func (p *reader) addCatalogAliases(cat *catalog.Catalog) {
	for _, id := range sortedKeys(p.frames) {
		f := p.frames[id]
		if len(f.Nouns.in(p.lang)) == 0 && !f.fromCatalog {
			continue
		}
		aliases := cat.Operations[f.Method].Aliases
		for _, alias := range (words{aliases.Ko, aliases.En}).in(p.lang) {
			alias = strings.ToLower(alias)
			if !p.lex.has(alias) && !p.isVerbText(alias) {
				p.lex.add(alias, entry{kind: kindThing, key: alias, keys: []string{id}})
			}
		}
	}
}

// isVerbText says whether an alias is a verb or a phrase around one, which the verb lists serve.
func (p *reader) isVerbText(alias string) bool {
	if p.lang == english {
		first, _, _ := strings.Cut(alias, " ")
		return p.isEnglishVerb(first) || alias == "home"
	}
	for _, act := range sortedKeys(p.ko.Verbs) {
		for _, stem := range p.ko.Verbs[act] {
			if alias == stem || alias == infinitive(stem) || strings.HasSuffix(alias, " "+infinitive(stem)) {
				return true
			}
		}
	}
	for _, act := range sortedKeys(p.ko.ActNouns) {
		for _, noun := range p.ko.ActNouns[act] {
			if alias == noun || strings.HasSuffix(alias, " "+noun) {
				return true
			}
		}
	}
	return slices.ContainsFunc(p.ko.Quit, func(q string) bool { return strings.HasSuffix(alias, q) }) || len([]rune(alias)) < 2
}

func (p *reader) addKorean() {
	ko := p.ko
	p.addVerbs(ko)
	lists := []struct {
		kind  kind
		words []string
	}{
		{kindFiller, ko.Fillers}, {kindAfter, ko.After}, {kindAfter, ko.AfterForms}, {kindDuring, ko.During}, {kindConnect, ko.Connectors},
		{kindSince, ko.Since}, {kindCan, ko.Can}, {kindExclude, ko.Exclude}, {kindMeanwhile, ko.Meanwhile}, {kindEvery, ko.Everything}, {kindWork, ko.Work},
		{kindDeictic, ko.Deictic}, {kindHere, ko.Here}, {kindHome, ko.Home}, {kindBrief, ko.Brief}, {kindPart, ko.Parts}, {kindStateNoun, ko.StateNouns},
		{kindAsk, ko.QuestionWords}, {kindNeg, ko.NegAdverbs}, {kindQuit, ko.Quit}, {kindPurify, ko.Purify},
	}
	for _, list := range lists {
		for _, word := range list.words {
			p.lex.add(word, entry{kind: list.kind})
		}
	}
	for _, word := range ko.Otherwise {
		p.lex.add(word, entry{kind: kindState, key: "else", fn: "cond"})
	}
	for _, word := range ko.Others {
		p.lex.add(word, entry{kind: kindUnknown, key: "other"})
	}
	for _, word := range ko.Beside {
		p.lex.add(word, entry{kind: kindConnect, key: "beside"})
	}
	for _, word := range ko.Alone {
		p.lex.addExact(word, entry{kind: kindFiller, key: "alone"})
	}
	for _, word := range ko.Elapsed {
		p.lex.add(word, entry{kind: kindAfter, key: "elapsed"})
	}
	for _, word := range sortedKeys(ko.Measures) {
		p.lex.add(word, entry{kind: kindMeasure, key: ko.Measures[word]})
	}
	for _, pt := range ko.Particles {
		for _, word := range slices.Concat(pt.Any, pt.Open, pt.Closed) {
			p.lex.add(word, entry{kind: kindParticle, key: pt.Role})
		}
	}
	for _, c := range ko.Copula {
		for _, word := range c.Any {
			p.lex.add(word, entry{kind: kindCopula, fn: c.Fn})
		}
	}
}

func (p *reader) addVerbs(ko koreanWords) {
	add := func(k kind, key string, stems []string) {
		for _, stem := range stems {
			for _, f := range forms(stem, ko.Endings) {
				p.lex.add(f.text, entry{kind: k, key: key, fn: f.fn})
			}
		}
	}
	for _, act := range sortedKeys(ko.Verbs) {
		add(kindVerb, act, ko.Verbs[act])
	}
	for _, state := range sortedKeys(ko.States) {
		add(kindState, state, ko.States[state])
	}
	for _, stem := range ko.Aux {
		add(kindAux, stem, []string{stem})
	}
	add(kindVerb, "do", []string{"되"}) // "작동되게 해 줘"
	for _, word := range sortedKeys(ko.StateForms) {
		p.lex.add(word, entry{kind: kindState, key: ko.StateForms[word], fn: "query"})
	}
	for _, word := range sortedKeys(ko.NegForms) {
		p.lex.add(word, entry{kind: kindNegVerb, fn: ko.NegForms[word]})
	}
	for _, act := range sortedKeys(ko.ActNouns) {
		for _, noun := range ko.ActNouns[act] {
			p.lex.add(noun, entry{kind: kindActNoun, key: act})
		}
	}
}

// addForeign enters the words that are not ours, so that a sentence about a television is never read as one about the screen.
func (p *reader) addForeign(planner catalogfile.Planner, c *cues) {
	add := func(group string, list []string) {
		for _, word := range list {
			if word = strings.ToLower(word); !p.lex.has(word) {
				p.lex.add(word, entry{kind: kindForeign, key: group})
			}
		}
	}
	for _, group := range c.Unsupported {
		add("uns/"+group.Category, group.in(p.lang))
	}
	for _, group := range c.Own {
		add("own/"+group.Category, group.in(p.lang))
	}
	for _, category := range sortedKeys(planner.Unsupported) {
		a, group := planner.Unsupported[category].Aliases, "uns/"
		if c.isOwn(category) {
			group = "own/"
		}
		add(group+category, words{a.Ko, a.En}.in(p.lang))
	}
	add("sch", c.Schedule.in(p.lang))
}

// Which kinds may follow without a space, and what that costs.
var suffixKinds = map[kind]bool{kindParticle: true, kindCopula: true, kindAux: true, kindAfter: true, kindDuring: true, kindSince: true, kindCan: true}

// join says what it costs that a word follows another one; infinity: it cannot.
func (p *reader) join(prev, next item, fresh bool, t text, at int) float64 {
	no := math.Inf(1)
	if p.lang == english {
		return englishJoin(next, fresh, t)
	}
	switch {
	case next.key == "alone" && (!fresh || next.end < len(t.runes) && t.runes[next.end] != ' '):
		return no
	case next.key == "other":
		if !fresh {
			return no
		}
		return costWord
	case next.kind == kindUnknown:
		return costOfUnknown(next.end - next.start)
	case next.kind == kindParticle || next.kind == kindCopula:
		if strings.HasSuffix(next.text, "나") && prev.kind != kindThing {
			return no // "청정이나 해": anything else with -나 may be a choice
		}
		if fresh || !takesParticle(prev.kind) || prev.kind != kindUnknown && slices.Contains(p.ko.PersonVerbs, next.text) || !p.agrees(t, at, next) || next.text == "하고" && prev.kind != kindRoom {
			return no
		}
		if prev.kind == kindUnknown {
			return costPerRune / 2 // "다락방" + "로" rather than "다락방로"
		}
		return costSuffix
	case prev.kind == kindUnknown && !fresh && !(next.kind == kindVerb && next.key == "do"):
		return no
	case next.kind == kindAux && !(endsInfinitive(prev) || prev.kind == kindActNoun && fresh):
		return no
	case next.kind == kindCan && prev.fn != "adn_l", next.kind == kindSince && prev.fn != "adn_n":
		return no
	case next.kind == kindDuring && prev.kind != kindDuration && prev.fn != "adn_p":
		return no // "간" is a form of 가 everywhere else
	case next.kind == kindNegVerb && prev.fn != "ji", next.kind == kindExclude && isPredicate(prev):
		return no
	case !fresh && next.kind == kindFiller && prev.kind == kindAux && next.end-next.start > 1:
		return costWord + costJoined // "꺼 줘제발"
	case !fresh && endsInfinitive(prev) && next.kind != kindAux:
		return no // "가수" is no "가" + "수"
	case !fresh && prev.kind == kindVerb && prev.fn == "imp" && len([]rune(prev.text)) < 2:
		return no
	case !fresh && next.kind == kindVerb && next.key == "do" && prev.kind == kindParticle && prev.key == "subj":
		return no // "70이하면" is 이하
	case !fresh && suffixKinds[next.kind], next.kind == kindAux:
		return costSuffix
	case !fresh && next.kind == kindVerb && next.key == "do":
		return costSuffix
	case !fresh:
		return costWord + costJoined
	}
	return costWord
}

func takesParticle(k kind) bool {
	switch k {
	case kindVerb, kindState, kindAux, kindParticle, kindAfter, kindCopula, kindNeg, kindConnect, "start":
		return false
	}
	return true
}

func endsInfinitive(it item) bool {
	return (it.kind == kindVerb || it.kind == kindAux || it.kind == kindState) && it.fn == "inf"
}

// agrees checks that the particle fits the final sound before it: 안방"가" is no subject, it is a verb.
func (p *reader) agrees(t text, at int, next item) bool {
	open, rieul, sure := endsOpen(string(t.runes[:at]))
	if next.kind == kindCopula {
		return !sure || open == !strings.HasPrefix(next.text, "이") || next.text == "인" || next.text == "일 때" || strings.HasPrefix(next.text, "일")
	}
	if !sure {
		return true
	}
	for _, pt := range p.ko.Particles {
		if pt.Role != next.key {
			continue
		}
		if slices.Contains(pt.Any, next.text) || open && slices.Contains(pt.Open, next.text) || !open && slices.Contains(pt.Closed, next.text) {
			return true
		}
		if rieul && pt.Rieul == "open" && slices.Contains(pt.Open, next.text) {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func catalogRooms(rooms []room) []catalog.Room {
	var out []catalog.Room
	for _, r := range rooms {
		out = append(out, catalog.Room{ID: catalog.RoomID(r.id), Name: r.name, Aliases: r.names, Reachable: r.reachable})
	}
	return out
}

// roomsOf takes the device's rooms where it reported some, else the catalog's.
func roomsOf(cat *catalog.Catalog, reported []wire.Room) []room {
	var out []room
	for _, r := range reported {
		out = append(out, room{r.ID, r.Name, r.Aliases, r.Reachable})
	}
	if len(out) > 0 {
		return out
	}
	for _, r := range cat.Rooms {
		out = append(out, room{string(r.ID), r.Name, r.Aliases, r.Reachable})
	}
	return out
}
