package rules

import (
	"math"
	"slices"
	"strings"
)

// English has words between spaces and no endings, so the same items are made from words; the mood comes from how a clause begins.

type englishWords struct {
	Verbs        map[string][]string `json:"verbs"`
	Questions    []string            `json:"questions"`
	Negations    []string            `json:"negations"`
	Fillers      []string            `json:"fillers"`
	Prepositions map[string]string   `json:"prepositions"`
	Connectors   []string            `json:"connectors"`
	Conditions   []string            `json:"conditions"`
	Once         []string            `json:"once"` // open a condition where something is said to have ended
	States       map[string][]string `json:"states"`
	Copulas      []string            `json:"copulas"`
	Delays       []string            `json:"delays"`
	Later        []string            `json:"later"`
	During       []string            `json:"during"`
	Everything   []string            `json:"everything"`
	Quit         []string            `json:"quit"`
	Deictic      []string            `json:"deictic"`
	Asks         []string            `json:"asks"`
	Numbers      map[string]float64  `json:"numbers"`
	Units        map[string]int64    `json:"units"`
	Percent      []string            `json:"percent"`
}

func (p *reader) addEnglish() {
	en := p.en
	for _, act := range sortedKeys(en.Verbs) {
		for _, verb := range en.Verbs[act] {
			p.lex.addExact(verb, entry{kind: kindVerb, key: act, fn: "imp"})
		}
	}
	for _, state := range sortedKeys(en.States) {
		for _, word := range en.States[state] {
			p.lex.addExact(word, entry{kind: kindState, key: state, fn: "query"})
		}
	}
	for _, word := range sortedKeys(en.Prepositions) {
		p.lex.addExact(word, entry{kind: kindParticle, key: en.Prepositions[word]})
	}
	lists := []struct {
		kind  kind
		words []string
	}{
		{kindFiller, en.Fillers}, {kindAsk, en.Questions}, {kindNeg, en.Negations}, {kindConnect, en.Connectors}, {kindIf, en.Conditions},
		{kindCopula, en.Copulas}, {kindAfter, en.Delays}, {kindSince, en.Later}, {kindDuring, en.During}, {kindEvery, en.Everything},
		{kindQuit, en.Quit}, {kindDeictic, en.Deictic}, {kindStateNoun, en.Asks},
	}
	for _, list := range lists {
		for _, word := range list.words {
			p.lex.addExact(word, entry{kind: list.kind})
		}
	}
}

// isEnglishVerb says whether a word begins one of the verbs.
func (p *reader) isEnglishVerb(word string) bool {
	for _, act := range sortedKeys(p.en.Verbs) {
		if slices.ContainsFunc(p.en.Verbs[act], func(v string) bool { return v == word || strings.HasPrefix(v, word+" ") }) {
			return true
		}
	}
	return false
}

// englishJoin lets a word stand only between spaces.
func englishJoin(next item, fresh bool, t text) float64 {
	whole := next.end == len(t.runes) || t.runes[next.end] == ' '
	switch {
	case !fresh || !whole:
		return math.Inf(1)
	case next.kind == kindUnknown:
		return costUnknown + costPerRune*float64(next.end-next.start)
	case next.kind == kindFiller:
		return costWord + 0.1 // a word with a meaning wins over the same word without one
	}
	return costWord
}

// englishNumbers reads "30", "twenty five", "half an hour", "30 percent", "90 seconds" from the words at start.
func (p *reader) englishNumbers(runes []rune, start int) []item {
	value, end, ok := p.englishNumber(runes, start)
	if !ok {
		return nil
	}
	var out []item
	if word, after := wordAt(runes, end); p.en.Units[word] != 0 {
		ms := int64(math.Round(value * float64(p.en.Units[word])))
		more, next, ok := item{}, 0, false
		if w, at := wordAt(runes, after); w == "and" {
			if found := p.englishNumbers(runes, skipSpace(runes, at)); len(found) > 0 && found[0].kind == kindDuration {
				more, next, ok = found[0], found[0].end, true
			}
		}
		if ok {
			ms, after = ms+more.ms, next
		}
		return []item{{kind: kindDuration, ms: ms, start: start, end: after}}
	} else if slices.Contains(p.en.Percent, word) {
		out = append(out, item{kind: kindPercent, num: value, start: start, end: after})
	}
	if hasRunes(runes, end, []rune("%")) {
		out = append(out, item{kind: kindPercent, num: value, start: start, end: end + 1})
	}
	if word, _ := wordAt(runes, start); word != "a" && word != "an" {
		out = append(out, item{kind: kindNumber, num: value, start: start, end: end})
	}
	return out
}

func (p *reader) englishNumber(runes []rune, start int) (value float64, end int, ok bool) {
	if q, found := digits(runes, start); found {
		return q.value, q.end, true
	}
	for at := start; ; {
		word, after := wordAt(runes, at)
		if two, afterTwo := wordAt(runes, after); word == "half" && (two == "an" || two == "a") {
			return 0.5, afterTwo, true
		}
		n, known := p.en.Numbers[word]
		if !known {
			return value, end, ok
		}
		if n == 100 && value > 0 {
			value *= 100
		} else {
			value += n
		}
		at, end, ok = after, after, true
	}
}

// wordAt gives the word that begins at or after a space, and where it ends.
func wordAt(runes []rune, at int) (string, int) {
	at = skipSpace(runes, at)
	end := at
	for end < len(runes) && runes[end] != ' ' {
		end++
	}
	return string(runes[at:end]), end
}

// mergeEnglish joins what belongs together: "after 30 seconds", "for 20 minutes", "to the kitchen", "turn the screen off".
func (p *reader) mergeEnglish(items []item) []item {
	var out []item
	role := ""
	for i := 0; i < len(items); i++ {
		it := items[i]
		next := item{}
		if i+1 < len(items) {
			next = items[i+1]
		}
		switch {
		case p.endsSomething(items[i:]):
			it.kind = kindIf
			out = append(out, it)
		case (it.kind == kindAfter || it.kind == kindParticle && it.key == "in") && next.kind == kindDuration:
			next.kind, next.start = kindDelay, it.start
			out, i = append(out, next), i+1
		case it.kind == kindVerb && it.key == "wait" && next.kind == kindDuration:
			next.kind, next.start, next.key = kindDelay, it.start, "wait"
			out, i = append(out, next), i+1
		case it.kind == kindDuration && next.kind == kindSince:
			it.kind, it.end = kindDelay, next.end
			out, i = append(out, it), i+1
		case it.kind == kindDuring && next.kind == kindDuration:
			next.kind, next.start = kindSpan, it.start
			out, i = append(out, next), i+1
		case it.kind == kindParticle && turns(out, it.key, it.end):
		case it.kind == kindParticle && (it.key == "to" || it.key == "in" || it.key == "from" || it.key == "by"):
			role = it.key
		case it.kind == kindFiller:
		default:
			if role == "from" {
				it.role = "at"
			} else if role != "" {
				it.role = role
			}
			role = ""
			out = append(out, it)
		}
	}
	return out
}

// endsSomething says whether the words open the end of work: "after cleaning is done", "when it has finished".
func (p *reader) endsSomething(rest []item) bool {
	if !slices.Contains(p.en.Once, rest[0].text) {
		return false
	}
	for _, it := range rest[1:] {
		switch it.kind {
		case kindState:
			return it.key == "ended"
		case kindThing, kindFiller, kindCopula, kindAsk, kindRoom, kindParticle, kindVerb:
		default:
			return false
		}
		if it.kind == kindVerb && it.key != "purify" {
			return false
		}
	}
	return false
}

// turns makes on or off of an open "turn": "turn the screen off".
func turns(out []item, key string, end int) bool {
	for i := len(out) - 1; i >= 0; i-- {
		if out[i].kind == kindVerb {
			if out[i].key != "turn" || !slices.Contains([]string{"on", "off", "up", "down"}, key) {
				return false
			}
			out[i].key = key
			out[len(out)-1].end = end
			return true
		}
	}
	return false
}

// englishClauses cuts at connecting words, and before each verb that follows a verb. A condition said last ("… if needed") goes
// before its action.
func englishClauses(items []item, t text) []clause {
	var groups [][]item
	var cur []item
	flush := func() {
		if len(cur) > 0 {
			groups, cur = append(groups, cur), nil
		}
	}
	for i, it := range items {
		hasVerb := slices.ContainsFunc(cur, func(x item) bool { return x.kind == kindVerb })
		condition := len(cur) > 0 && cur[0].kind == kindIf
		switch {
		case it.kind == kindConnect:
			flush()
			continue
		case it.kind == kindDelay && it.key == "wait":
			flush()
			cur = append(cur, it)
			flush()
			continue
		case it.kind == kindDelay && hasVerb && t.comma(items[i-1].end, it.start):
			flush()
		case it.kind == kindDelay && hasVerb && i+1 < len(items) && items[i+1].kind == kindVerb && !t.comma(it.end, items[i+1].start):
			it.kind = kindUnknown // before it or after it? Nothing says which
		case it.kind == kindIf, it.kind == kindVerb && (hasVerb || condition), it.kind == kindNeg && len(cur) > 0, it.kind == kindDelay && condition:
			flush()
		}
		cur = append(cur, it)
	}
	flush()
	return orderEnglish(groups, t.question)
}

// comma says whether a comma stands between two places.
func (t text) comma(from, to int) bool { return strings.ContainsRune(string(t.original[from:to]), ',') }

func orderEnglish(groups [][]item, question bool) []clause {
	var out []clause
	for _, group := range groups {
		c := englishClause(group, question)
		last := len(out) - 1
		if c.link == "cond" && last >= 0 && !onlyWaits(out[last]) && trailing(groups, group) {
			out = slices.Insert(out, last, c)
			continue
		}
		out = append(out, c)
	}
	return out
}

// trailing says whether the condition is the last thing said.
func trailing(groups [][]item, group []item) bool {
	return &groups[len(groups)-1][0] == &group[0]
}

func englishClause(items []item, question bool) clause {
	c := clause{link: "seq", mood: moodRequest, start: items[0].start, end: items[len(items)-1].end}
	verb := slices.ContainsFunc(items, func(it item) bool { return it.kind == kindVerb })
	for i, it := range items {
		switch {
		case it.kind == kindIf && i == 0:
			c.link = "cond"
		case it.kind == kindNeg:
			c.negated = true
			continue
		case it.kind == kindAsk && i == 0, it.kind == kindCopula && i == 0 && question:
			c.mood = moodQuery
		}
		c.items = append(c.items, it)
	}
	if !verb && c.mood == moodRequest {
		c.mood = moodNominal
	}
	if question && !verb {
		c.mood = moodQuery
	}
	return c
}

// isEnglish says whether an utterance is read as English: its locale says so and it has no Hangul, or it has only Latin letters.
func isEnglish(said, locale string) bool {
	hangul := strings.ContainsFunc(said, func(r rune) bool { _, ok := decompose(r); return ok })
	latin := strings.ContainsFunc(said, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
	return !hangul && (latin || strings.HasPrefix(locale, "en"))
}
