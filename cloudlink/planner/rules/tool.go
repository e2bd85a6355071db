package rules

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"deviceagent/cloudlink/planner/timeko"
	"deviceagent/cloudlink/planner/turn"
)

// toolWords say what tools are about and what their parameters look like. They know no tool: which there are stands in the registry.
type toolWords struct {
	Concepts  map[string][]string `json:"concepts"`
	Instances map[string][]string `json:"instances"` // names of things of a concept: they point at it, and are values too
	Weak      []string            `json:"weak"`      // concepts that alone choose nothing
	Actions   map[string]struct {
		Text []string `json:"text"`
		Tool []string `json:"tool"`
	} `json:"actions"` // that change something: asked for by the same kind of word only
	Blocks         []string            `json:"blocks"` // actions that no other tool may stand for
	Keeps          []string            `json:"keeps"`  // asks to keep something: against what only looks up
	Again          []string            `json:"again"`  // refers to what was said before
	PlaceEnds      []string            `json:"place_ends"`
	PlaceParticles []string            `json:"place_particles"`
	Case           []string            `json:"case"`    // asks for another case: "…는?", "얼마"
	Classes        map[string][]string `json:"classes"` // of a parameter, by the words of its name
	Cues           map[string][]string `json:"cues"`    // what a value of a class stands beside
	Labels         map[string][]string `json:"labels"`  // what a text is announced by
	Generic        []string            `json:"generic"` // nouns that are nobody's name
	Request        []string            `json:"request"`
	Asked          []string            `json:"asked"`
	Drop           []string            `json:"drop"` // endings of what is no noun
}

// ChooseTool finds the tool of a registry that the last message of a dialog asks for, and what is still to be said for it. It never calls
// anything. What it cannot tell apart is asked, what nothing fits is None.
func (p *Planner) ChooseTool(tools []turn.Tool, dialog []turn.Message) turn.Choice {
	w := &p.tools
	talk := talkOf(dialog, w)
	best := w.best(tools, talk, w.conceptsOf(talk.said()))
	if best < 0 && talk.follows && w.goesOn(talk.last) {
		best = w.best(tools, talk, w.conceptsOf(squeeze(talk.before)+talk.said())) // "50달러는?" after "30달러는 …"
	}
	if best < 0 {
		return turn.Choice{Outcome: turn.None}
	}
	tool := tools[best]
	out := turn.Choice{Outcome: turn.Call, Tool: tool.Name, Slots: map[string]string{}}
	p.fillFrom(&out, tool, talk.request, talk.answers)
	if talk.follows && (elliptic(talk.last) || containsAny(squeeze(talk.last), w.Again)) {
		p.fillFrom(&out, tool, talk.before, true)
	}
	for _, param := range tool.Required {
		if _, ok := out.Slots[param]; !ok {
			out.Missing, out.Outcome = append(out.Missing, param), turn.Ask
		}
	}
	return out
}

// fillFrom takes what is still missing from what was said.
func (p *Planner) fillFrom(out *turn.Choice, tool turn.Tool, said string, answers bool) {
	f := p.newFilling(tool, said)
	f.answers = answers
	for _, param := range f.inOrder(tool.Required) {
		if _, has := out.Slots[param]; has {
			continue
		}
		if value, ok := f.take(param); ok {
			out.Slots[param] = value
		}
	}
}

// best is the tool that fits best what is wanted; -1 if none does.
func (w *toolWords) best(tools []turn.Tool, t talk, wanted []string) int {
	best, score := -1, fits
	for i, tool := range tools {
		if s := w.fit(tool, t, wanted); s >= score && (best < 0 || s > score) {
			best, score = i, s
		}
	}
	return best
}

// fits is how well a tool has to fit: nearly a concept of its own, or two that are weak.
const fits = 0.6

// talk is what of a dialog counts for the last message.
type talk struct {
	last    string // the last message
	request string // what was said since the last call
	before  string // what was said for the calls before
	follows bool   // the last message goes on with an earlier call
	answers bool   // it answers a question
}

func talkOf(dialog []turn.Message, w *toolWords) talk {
	var t talk
	asked := false
	for _, m := range dialog {
		switch {
		case m.Role == "user":
			t.answers, asked = asked, false
			t.last = m.Content
			t.request += " " + m.Content
		case m.Called || m.Role == "tool":
			if m.Called {
				t.before, t.request, t.follows = t.before+" "+t.request, "", true
			}
		default:
			asked = containsAny(lastSentences(m.Content), w.Asked)
		}
	}
	if !t.answers {
		t.request = t.last
	}
	return t
}

// said is what the choice looks at: quotations say nothing of what is wanted.
func (t talk) said() string { return squeeze(quoted.ReplaceAllString(t.request, " ")) }

func lastSentences(text string) string {
	runes := []rune(text)
	return string(runes[max(0, len(runes)-30):])
}

func containsAny(text string, list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(text, s) })
}

func squeeze(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "")) }

var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"|‘[^’]*’|“[^”]*”`)

// fit says how well a tool fits: the concepts that its words and the request share. A tool that changes something fits only a request that
// asks for such a change, and the other way round.
func (w *toolWords) fit(tool turn.Tool, t talk, wanted []string) float64 {
	said := t.said()
	if !t.answers && !containsAny(said, w.Request) && !strings.HasSuffix(strings.TrimSpace(t.last), "?") {
		return 0 // nothing is asked for
	}
	if !w.sameAction(tool, said) {
		return 0
	}
	if !w.directed(tool, said, squeeze(t.before)+said) {
		return 0
	}
	score := w.shared(w.conceptsOf(squeeze(tool.Description)+" "+strings.ToLower(tool.Name)), wanted)
	if slices.Contains(nameWords(tool.Name), "convert") && score > 0 && someNumber.MatchString(said) {
		score += 0.5
	}
	if containsAny(said, w.Keeps) && !w.changes(tool) {
		score -= 1.5
	}
	return score
}

// changes says whether a tool changes something.
func (w *toolWords) changes(tool turn.Tool) bool {
	name := nameWords(tool.Name)
	for _, action := range sortedKeys(w.Actions) {
		if len(name) > 0 && slices.Contains(w.Actions[action].Tool, name[0]) {
			return true
		}
	}
	return false
}

// directed says whether the request names both sides of a tool that converts one thing to another, in its order.
func (w *toolWords) directed(tool turn.Tool, texts ...string) bool {
	name := nameWords(tool.Name)
	i := slices.Index(name, "to")
	if i < 1 || i+1 >= len(name) || !slices.Contains([]string{"convert", "change"}, name[0]) {
		return true
	}
	for _, text := range texts { // the last message decides, if it names both
		if from, to := w.placeOf(name[i-1], text), w.placeOf(name[i+1], text); from >= 0 && to >= 0 {
			return from < to
		}
	}
	return false
}

// placeOf is where a text first names what an English word means; -1 if nowhere.
func (w *toolWords) placeOf(word, text string) int {
	first := -1
	for _, c := range sortedKeys(w.Concepts) {
		if !slices.Contains(w.Concepts[c], word) {
			continue
		}
		for _, ko := range w.Concepts[c] {
			if at := strings.Index(text, ko); at >= 0 && (first < 0 || at < first) {
				first = at
			}
		}
	}
	return first
}

// goesOn says whether a message only names another case of what was asked before, or points back to it.
func (w *toolWords) goesOn(text string) bool {
	return containsAny(squeeze(text), w.Again) || elliptic(text) && containsAny(squeeze(text), w.Case)
}

// elliptic says whether a message is too short to stand alone.
func elliptic(text string) bool { return len(strings.Fields(text)) <= 5 }

func (w *toolWords) shared(tool, said []string) float64 {
	score := 0.0
	for _, c := range tool {
		if !slices.Contains(said, c) {
			continue
		}
		if slices.Contains(w.Weak, c) {
			score += 0.5
			continue
		}
		score++
	}
	for _, c := range said { // what it does not know of the request speaks against it
		if !slices.Contains(tool, c) && !slices.Contains(w.Weak, c) {
			score -= 0.15
		}
	}
	for _, c := range tool {
		if !slices.Contains(said, c) {
			score -= 0.05
		}
	}
	return score
}

func (w *toolWords) conceptsOf(text string) []string {
	var out []string
	for _, name := range sortedKeys(w.Concepts) {
		if containsAny(text, w.Concepts[name]) || containsAny(text, w.Instances[name]) {
			out = append(out, name)
		}
	}
	return out
}

func (w *toolWords) sameAction(tool turn.Tool, said string) bool {
	name := nameWords(tool.Name)
	for _, action := range sortedKeys(w.Actions) {
		a := w.Actions[action]
		if len(name) > 0 && slices.Contains(a.Tool, name[0]) {
			return containsAny(said, a.Text)
		}
	}
	for _, action := range w.Blocks {
		if containsAny(said, w.Actions[action].Text) && !containsAny(said, []string{"보내는", "불러온"}) {
			return false
		}
	}
	return true
}

// nameWords splits getStockPrice and get_stock_price.
func nameWords(name string) []string {
	var out []string
	word := ""
	flush := func() {
		if word != "" {
			out = append(out, strings.ToLower(word))
		}
		word = ""
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case r == '_' || r == '-':
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(runes[i-1]):
			flush()
		}
		word += string(r)
	}
	flush()
	return out
}

// classOf is what the values of a parameter look like, by its name; "open" is any name or text.
func (w *toolWords) classOf(param string) string {
	words := nameWords(param)
	all := strings.Join(words, "")
	if slices.Contains(words, "phone") {
		return "phone"
	}
	if words[0] == "include" {
		return "flag"
	}
	for _, word := range slices.Backward(append([]string{all}, words...)) { // the head stands last
		for _, class := range sortedKeys(w.Classes) {
			if slices.Contains(w.Classes[class], word) {
				if class == "number" && slices.Contains(words, "account") {
					return "account"
				}
				return class
			}
		}
	}
	return "open"
}

// name is a word, or several beside each other, that may be a value.
type name struct {
	text   string
	marked string // the particle behind it
}

// filling takes the values for the parameters of a tool from what was said; each word is taken once.
type filling struct {
	w       *toolWords
	text    string
	dates   []string
	times   []string
	numbers []string
	open    []name
	quotes  []string
	places  []string // that are known by name
	answers bool     // what was said answers a question
	formal  bool     // the tool takes a text or a link too: a title is then announced
}

var (
	emails     = regexp.MustCompile(`[\w.+-]+@[\w.-]+`)
	urls       = regexp.MustCompile(`https?://\S+`)
	dashed     = regexp.MustCompile(`\d+(?:-\d+){1,}`)
	codes      = regexp.MustCompile(`\b[A-Za-z]*\d+[A-Za-z]*-?[A-Za-z0-9]*\b`)
	area       = regexp.MustCompile(`\d+\s*(평|제곱미터|㎡)`)
	someNumber = regexp.MustCompile(`\d`)
	told       = regexp.MustCompile(`\S+(?:라고|다고|자고|냐고)`)
	someTime   = regexp.MustCompile(`\d+\s*(초|분|시간)`)
)

// anyDay is a reference for texts of which only is asked whether they name a day.
var anyDay = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func (p *Planner) newFilling(tool turn.Tool, said string) *filling {
	f := &filling{w: &p.tools, text: said, places: p.cues.Places}
	f.formal = slices.ContainsFunc(tool.Required, func(param string) bool { class := f.w.classOf(param); return class == "writing" || class == "url" })
	f.quotes = quoted.FindAllString(f.text, -1)
	plain := quoted.ReplaceAllString(f.text, " ")
	plain = urls.ReplaceAllString(emails.ReplaceAllString(plain, " "), " ")
	runes := []rune(strings.Join(strings.Fields(plain), " "))
	taken := make([]bool, len(runes)+1)
	for _, x := range timeko.Find(string(runes), anyDay) {
		text := string(runes[x.Start:x.End])
		switch x.Kind {
		case timeko.Date:
			f.dates = append(f.dates, text)
		case timeko.Time, timeko.Duration:
			f.times = append(f.times, text)
		case timeko.Number:
			f.numbers = append(f.numbers, text)
			continue
		default:
			continue
		}
		for i := x.Start; i < x.End; i++ {
			taken[i] = true
		}
	}
	for i := range runes {
		if taken[i] {
			runes[i] = ' '
		}
	}
	f.open = p.namesIn(string(runes), tool)
	return f
}

// namesIn gives what is left of a text as names: no word of what the tool is about, no verb, nothing generic, no number. Names that stand
// beside each other are one.
func (p *Planner) namesIn(text string, tool turn.Tool) []name {
	w := &p.tools
	about := []string{}
	for _, c := range w.conceptsOf(squeeze(tool.Description) + " " + strings.ToLower(tool.Name)) {
		about = append(about, w.Concepts[c]...)
	}
	var out []name
	joined := false
	for _, k := range p.families.tokensOf(strings.Map(func(r rune) rune {
		if strings.ContainsRune(",.!?~()[]:;'\"", r) {
			return ' '
		}
		return unicode.ToLower(r)
	}, text)) {
		if !w.isName(k, about) {
			joined = false
			continue
		}
		stem := k.shortest()
		n := name{stem, strings.TrimPrefix(k.text, stem)}
		if joined {
			n.text = out[len(out)-1].text + " " + n.text
			out = out[:len(out)-1]
		}
		out, joined = append(out, n), n.marked == ""
	}
	return out
}

// shortest is the word without its particles, of two syllables at least: a name is not taken apart.
func (k token) shortest() string {
	for _, s := range slices.Backward(k.stems) {
		if len([]rune(s)) > 1 {
			return s
		}
	}
	return k.text
}

func (w *toolWords) isName(k token, about []string) bool {
	for _, s := range k.stems {
		if slices.Contains(w.Generic, s) || slices.Contains(about, s) {
			return false
		}
	}
	if len([]rune(k.text)) < 2 || longest(w.Drop, k.text) != "" || !strings.ContainsFunc(k.stem, unicode.IsLetter) {
		return false
	}
	if r := []rune(k.stem); unicode.IsDigit(r[0]) && !isPlace(k.stem, w.PlaceEnds) {
		return false
	}
	for _, a := range about {
		if strings.HasPrefix(k.text, a) || strings.HasSuffix(k.stem, a) && len([]rune(k.stem)) < len([]rune(a))+2 {
			return false
		}
	}
	return !containsAny(k.text, w.Request)
}

// inOrder puts the parameters with values of a form before those that take any name.
func (f *filling) inOrder(params []string) []string {
	out := slices.Clone(params)
	slices.SortStableFunc(out, func(a, b string) int { return f.rank(a) - f.rank(b) })
	return out
}

func (f *filling) rank(param string) int {
	switch f.w.classOf(param) {
	case "open", "writing":
		return 3
	case "place":
		return 2
	case "number", "quantity", "money":
		return 1
	}
	return 0
}

// take gives the words for a parameter.
func (f *filling) take(param string) (string, bool) {
	switch class := f.w.classOf(param); class {
	case "email":
		return first(emails, f.text)
	case "url":
		return first(urls, f.text)
	case "phone", "account":
		return first(dashed, f.text)
	case "id":
		return first(codes, quoted.ReplaceAllString(f.text, " "))
	case "date":
		return pop(&f.dates)
	case "time":
		if value, ok := pop(&f.times); ok {
			return value, true
		}
		return first(someTime, f.text)
	case "size":
		if value, ok := first(area, f.text); ok {
			return value, true
		}
		return f.cue(class)
	case "gender", "activity", "smoking", "bank", "flag", "timezone":
		return f.cue(class)
	case "place":
		return f.place()
	case "writing":
		return f.writing(param)
	case "open":
		return f.name(param)
	default:
		return f.counted(class)
	}
}

func first(re *regexp.Regexp, text string) (string, bool) {
	found := re.FindString(text)
	return found, found != ""
}

func pop(list *[]string) (string, bool) {
	if len(*list) == 0 {
		return "", false
	}
	value := (*list)[0]
	*list = (*list)[1:]
	return value, true
}

func (f *filling) cue(class string) (string, bool) {
	text := strings.ToLower(f.text) + " "
	for _, c := range f.w.Cues[class] {
		if strings.Contains(text, c) {
			value := strings.TrimSpace(c)
			f.open = slices.DeleteFunc(f.open, func(n name) bool { return n.text == value })
			return value, true
		}
	}
	return "", false
}

// counted takes a number; where the class has words that stand beside it, one that does first.
func (f *filling) counted(class string) (string, bool) {
	if len(f.numbers) == 0 {
		return "", false
	}
	text := strings.ToLower(f.text) + " "
	for i, n := range f.numbers {
		for _, c := range f.w.Cues[class] {
			if strings.Contains(text, n+c) || strings.Contains(text, n+" "+c) || strings.Contains(text, c+n) || strings.Contains(text, c+" "+n) || strings.Contains(text, c+"는 "+n) || strings.Contains(text, c+"은 "+n) {
				f.numbers = slices.Delete(f.numbers, i, i+1)
				return n, true
			}
		}
	}
	if class == "percent" || class == "round" || class == "people" {
		return "", false
	}
	for i, n := range f.numbers {
		if f.foreignUnit(n, text) {
			continue
		}
		f.numbers = slices.Delete(f.numbers, i, i+1)
		return n, true
	}
	return "", false
}

// foreignUnit says whether a number stands beside a word of some class: then it is no bare one.
func (f *filling) foreignUnit(n, text string) bool {
	for _, class := range []string{"weight", "height", "age", "percent", "area"} {
		for _, c := range f.w.Cues[class] {
			if strings.Contains(text, n+c) || strings.Contains(text, n+" "+c) {
				return true
			}
		}
	}
	return false
}

// place takes a name that is a place by its name, its end or its particle.
func (f *filling) place() (string, bool) {
	for i, n := range f.open {
		words := strings.Fields(n.text)
		known := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(f.places, w) || isPlace(w, f.w.PlaceEnds) })
		if known || slices.Contains(f.w.PlaceParticles, n.marked) || f.answers {
			f.open = slices.Delete(f.open, i, i+1)
			return n.text, true
		}
	}
	return "", false
}

// isPlace says whether a word ends like a place and is more than that end: 양재역; 작동 is none.
func isPlace(word string, ends []string) bool {
	end := longest(ends, word)
	rest := len([]rune(word)) - len([]rune(end))
	return end != "" && (rest > 1 || rest == 0 && len([]rune(end)) > 1 || rest == 1 && unicode.IsDigit([]rune(word)[0]))
}

// writing takes a text that is quoted, announced, or told ("늦는다고 전해 줘").
func (f *filling) writing(param string) (string, bool) {
	if q, ok := f.labelled(param); ok {
		return q, true
	}
	if q, ok := pop(&f.quotes); ok {
		return q, true
	}
	if _, said, ok := strings.Cut(f.text, ":"); ok && strings.TrimSpace(said) != "" {
		return strings.TrimSpace(said), true
	}
	if m := told.FindString(f.text); m != "" {
		return m, true
	}
	if f.answers && len(f.open) > 0 {
		return f.any()
	}
	return "", false
}

// labelled takes the quotation that stands behind a word like 제목.
func (f *filling) labelled(param string) (string, bool) {
	words := nameWords(param)
	for _, label := range f.w.Labels[words[len(words)-1]] {
		at := strings.Index(f.text, label)
		if at < 0 {
			continue
		}
		for i, q := range f.quotes {
			if where := strings.Index(f.text, q); where > at && where-at < 40 {
				f.quotes = slices.Delete(f.quotes, i, i+1)
				return q, true
			}
		}
	}
	return "", false
}

// name takes a quotation, by its label if there are several, or a name that is left.
func (f *filling) name(param string) (string, bool) {
	if q, ok := f.labelled(param); ok {
		return q, true
	}
	words := nameWords(param)
	if announced := f.w.Labels[words[len(words)-1]]; f.formal && len(announced) > 0 {
		if containsAny(f.text, announced) && len(f.open) > 0 {
			return f.any()
		}
		return "", false
	}
	if len(f.open) > 0 {
		return f.any()
	}
	return pop(&f.quotes)
}

func (f *filling) any() (string, bool) {
	n := f.open[0]
	f.open = f.open[1:]
	return n.text, true
}
