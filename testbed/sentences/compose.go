package sentences

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// Case is one sentence with the plan that it asks for, in short form (see plan.go), and what it was made of.
type Case struct {
	Text     string   `json:"text"`
	Want     string   `json:"want"`
	Features []string `json:"features"`
}

// link is how a part leads to the next one.
type link string

const (
	linkSeq   link = "seq"   // -고, -고 나서, -ㄴ 뒤에
	linkChain link = "chain" // -아서
	linkWith  link = "with"  // -면서
	linkEnds  link = "ends"  // 끝나면, 도착하면
	linkStop  link = "stop"  // a new sentence
	linkLast  link = ""
)

// part is one clause: what is asked for, where, when, and how the next one follows.
type part struct {
	op        operation
	skill     bool
	refused   string // the noun of what the robot does not do
	negated   bool
	room      string
	params    map[string]any
	when      string
	timed     bool
	starts    bool // only its start is asked for
	delayMS   int64
	cond      *condition
	condIs    string
	afterWork bool // waits for work that began earlier
	link      link

	before, noun, verb string // the words: what stands before it, its noun phrase, its verb
}

type composer struct {
	rng   *rand.Rand
	v     vocabulary
	cat   *catalog.Catalog
	rooms []catalog.Room
	seen  map[string]bool
}

// Compose gives count sentences of a seed with their plans.
// Errors: the catalog has an operation for people that no words are known for.
func Compose(cat *catalog.Catalog, seed uint64, count int) ([]Case, error) {
	v, err := load(cat)
	if err != nil {
		return nil, err
	}
	c := &composer{rng: rand.New(rand.NewPCG(seed, 0x5e47e4ce5)), v: v, cat: cat}
	for _, r := range cat.Rooms {
		if r.Reachable {
			c.rooms = append(c.rooms, r)
		}
	}
	var out []Case
	for len(out) < count {
		out = append(out, c.sentence())
	}
	return out, nil
}

func pick[T any](c *composer, list []T) T { return list[c.rng.IntN(len(list))] }

func (c *composer) chance(percent int) bool { return c.rng.IntN(100) < percent }

// sentence composes one case. Few are questions, which ask for nothing.
func (c *composer) sentence() Case {
	if c.chance(4) {
		text := strings.ReplaceAll(pick(c, c.v.Asked), "{room:로}", to(c.roomName(pick(c, c.rooms))))
		return Case{Text: text, Want: nothing, Features: []string{"question"}}
	}
	for {
		parts := c.parts()
		if sound(parts) {
			text, features := c.say(parts)
			return Case{Text: text, Want: wanted(c.cat, parts), Features: features}
		}
	}
}

// parts draws one to four clauses.
func (c *composer) parts() []part {
	n := 1 + c.rng.IntN(4)
	c.seen = map[string]bool{}
	var out []part
	for i := range n {
		p := c.part(i, n)
		if i < n-1 {
			p.link = c.linkOf(p)
		}
		if p.delayMS == 0 && p.cond == nil && !p.negated && c.chance(25) && p.room != "" && p.op.Room != "" {
			p.before = c.roomName(c.otherRoom(p.room)) + " 말고"
			p.noun = strings.TrimPrefix(p.noun, " ")
		}
		out = append(out, p)
	}
	return out
}

func (c *composer) part(i, n int) part {
	p := part{}
	switch {
	case n > 1 && c.chance(9):
		says := pick(c, pick(c, c.v.Unsupported).Says)
		return part{refused: says[0], noun: says[0], verb: says[1]}
	case c.chance(18):
		p = c.fill(part{op: c.weighted(c.v.Skills), skill: true})
	default:
		p = c.fill(part{op: c.weighted(c.v.Operations)})
		if n > 1 && i < n-1 && c.chance(25) && p.op.ID == "clean" {
			p.negated, p.room, p.noun, p.verb = true, "", "청정은", "하"
			return p
		}
	}
	switch {
	case i == 0 && c.chance(8):
		p.afterWork = true
	case c.chance(14):
		p.delayMS = 1
	case c.chance(14):
		cond := pick(c, c.v.Conditions)
		p.cond = &cond
	}
	return p
}

func (c *composer) weighted(list []operation) operation {
	total := 0
	for _, o := range list {
		total += o.Weight
	}
	at := c.rng.IntN(total)
	for _, o := range list {
		if at -= o.Weight; at < 0 {
			return o
		}
	}
	panic("internal error: weights")
}

// fill draws the words and arguments of an operation.
func (c *composer) fill(p part) part {
	o := p.op
	p.params = map[string]any{}
	for name, v := range o.Params {
		p.params[name] = v
	}
	says := pick(c, o.Says)
	if len(o.Starts) > 0 && c.chance(40) {
		says, p.starts = pick(c, o.Starts), true
	}
	p.noun, p.verb = says[0], says[1]
	switch {
	case o.Room != "":
		r := pick(c, c.rooms)
		name := c.roomName(r)
		p.room, p.params[o.Room] = r.Name, r.Name
		p.noun = strings.NewReplacer("{room:로}", to(name), "{room}", name).Replace(p.noun)
	case o.Place && c.chance(35):
		r := pick(c, c.rooms)
		p.room = r.Name
		p.noun = c.roomName(r) + pick(c, []string{" ", "에서 "}) + p.noun
	}
	if o.Level != "" {
		level := pick(c, c.v.Levels)
		p.params[o.Level] = float64(level)
		p.noun = strings.ReplaceAll(p.noun, "{level:로}", to(c.number(level)))
	}
	if o.Timed && c.chance(25) {
		n := pick(c, c.v.Minutes)
		p.params["duration_min"], p.timed = float64(n), true
		p.noun += " " + strings.TrimSpace(c.number(n)+pick(c, c.v.During))
	}
	for param, values := range o.Values {
		if c.chance(12) {
			value := pick(c, []string{"high", "low", "turbo"})
			p.params[param] = value
			p.noun += " " + pick(c, values[value])
		}
	}
	if len(o.When) > 0 {
		p.when = pick(c, []string{"", "today", "tomorrow"})
		for o.When[p.when] == nil {
			p.when = pick(c, []string{"", "today", "tomorrow"})
		}
		p.noun = strings.TrimSpace(pick(c, o.When[p.when]) + " " + p.noun)
		if p.when != "" {
			p.params["when"] = p.when
		}
	}
	return p
}

// roomName is one of the Korean names of a room.
func (c *composer) roomName(r catalog.Room) string {
	names := []string{r.Name, r.Name}
	for _, a := range r.Aliases {
		if first := []rune(a)[0]; first >= 0xAC00 && first <= 0xD7A3 {
			names = append(names, a)
		}
	}
	return pick(c, names)
}

func (c *composer) otherRoom(name string) catalog.Room {
	for {
		if r := pick(c, c.rooms); r.Name != name {
			return r
		}
	}
}

// number writes a number in digits or in words.
func (c *composer) number(n int) string {
	if word, ok := c.v.Sino[strconv.Itoa(n)]; ok && n > 9 && c.chance(25) {
		return word
	}
	return strconv.Itoa(n)
}

func (c *composer) linkOf(p part) link {
	switch {
	case p.refused != "" || p.negated:
		return pick(c, []link{linkSeq, linkSeq, linkStop})
	case p.op.Room != "" && c.chance(45):
		return linkChain
	case p.op.ID != "return" && !p.starts && c.chance(12):
		return linkWith
	case (p.op.Ends && !p.timed || p.op.EndsItself || p.op.Arrives) && c.chance(30):
		return linkEnds
	case c.chance(12):
		return linkStop
	}
	return linkSeq
}

// sound says whether the parts can be said in one breath: what people would not put together, or what has no one meaning, is drawn anew.
func sound(parts []part) bool {
	wanted := 0
	for i, p := range parts {
		first, last := i == 0, i == len(parts)-1
		if p.refused == "" && !p.negated {
			wanted++
		}
		switch {
		case last:
		case p.link == linkWith && (parts[i+1].refused != "" || parts[i+1].negated || parts[i+1].cond != nil || parts[i+1].delayMS > 0 || p.afterWork || p.cond != nil):
			return false
		case p.link == linkChain && (parts[i+1].cond != nil || parts[i+1].refused != "" || parts[i+1].negated || parts[i+1].op.Room != "" && parts[i+1].room == p.room):
			return false
		case p.link == linkEnds && (parts[i+1].refused != "" || parts[i+1].negated || parts[i+1].cond != nil || parts[i+1].delayMS > 0):
			return false
		}
		switch {
		case p.refused == "" && !p.negated:
		case first && last, !first && parts[i-1].link != linkSeq && parts[i-1].link != linkStop:
			return false
		case p.negated && (last || !first && parts[i-1].link == linkSeq):
			return false
		case p.refused != "" && !last && parts[i+1].delayMS > 0:
			return false // it would count from what is not done
		case p.refused != "" && sharedBehind(parts[i+1:]), p.refused != "" && conditional(parts):
			return false
		}
		if !first && p.refused == "" && parts[i-1].refused == "" && p.op.ID == parts[i-1].op.ID && p.room == parts[i-1].room {
			return false
		}
		if !last && p.link == linkWith && (p.room != "" && parts[i+1].room != "" || p.op.ID == parts[i+1].op.ID || parts[i+1].op.ID == "return") {
			return false // a robot is at one place
		}
		if p.skill && slices.ContainsFunc(parts[:i], func(q part) bool {
			return q.skill && (q.op.ID == p.op.ID || p.op.Route == "FRG" && q.params["topic"] == p.params["topic"])
		}) {
			return false
		}
		if !first && (p.negated && parts[i-1].refused != "" || p.refused != "" && parts[i-1].negated) {
			return false // what is refused may be what is not wanted
		}
		if p.op.Output != "" && read(parts[:i]) == p.op.Output {
			return false // read again under its own condition
		}
		if p.afterWork && p.op.ID == "clean" || p.cond != nil && p.cond.Reads != "" && p.op.Output != "" {
			return false
		}
	}
	return wanted > 0
}

// read is what a condition that goes on has read; empty: none does.
func read(parts []part) string {
	for i, p := range parts {
		if p.cond != nil && (i == 0 || p.link == linkChain) {
			return p.cond.Reads
		}
	}
	return ""
}

func sharedBehind(parts []part) bool {
	for _, p := range parts {
		if p.op.Shared {
			return true
		}
	}
	return false
}

func conditional(parts []part) bool {
	for _, p := range parts {
		if p.cond != nil || p.link == linkEnds || p.afterWork {
			return true
		}
	}
	return false
}

// say puts the parts into words, and names what it used.
func (c *composer) say(parts []part) (string, []string) {
	features := map[string]bool{}
	var words []string
	if c.chance(15) {
		words = append(words, pick(c, c.v.Openers))
	}
	for i := range parts {
		p := &parts[i]
		words = append(words, c.lead(p, features)...)
		words = append(words, p.before)
		phrase := p.noun
		if c.chance(8) && phrase != "" {
			phrase += " 좀"
		}
		words = append(words, phrase, c.close(*p, i == len(parts)-1, features))
		if i < len(parts)-1 {
			words = append(words, c.between(*p, features)...)
		}
		note(*p, features)
	}
	text := strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	text = strings.ReplaceAll(strings.ReplaceAll(text, " .", "."), "?.", "?")
	return c.spacing(text, features), sorted(features)
}

// lead says what stands before a clause: a delay, a condition, the end of other work.
func (c *composer) lead(p *part, features map[string]bool) []string {
	switch {
	case p.afterWork:
		features["after existing work"] = true
		return []string{pick(c, []string{"청정 끝나면", "청정이 끝나면", "청정 다 끝나면", "공기 청정 끝나면", "청정이 끝난 뒤에", "청정 끝나고 나서", "청정이 끝나고"})}
	case p.delayMS > 0:
		features["delay"] = true
		u := pick(c, c.v.Units)
		n := pick(c, u.Counts)
		p.delayMS = int64(n) * u.MS
		count := c.number(n)
		if word, ok := c.v.Native[strconv.Itoa(n)]; ok && u.Name == "시간" && c.chance(60) {
			count = word + " "
		}
		more := ""
		if u.Name == "분" && c.chance(15) {
			p.delayMS += 30_000
			more = pick(c, []string{" 30초", " 삼십 초", "30초"})
		} else if u.Name == "시간" && c.chance(20) {
			p.delayMS += 1_800_000
			more = pick(c, []string{" 반", " 30분"})
		}
		return []string{count + u.Name + more, pick(c, c.v.Delays)}
	case p.cond != nil:
		features["condition"] = true
		n := strconv.Itoa(pick(c, c.v.Levels))
		p.condIs = strings.ReplaceAll(p.cond.Is, "{n}", n)
		return []string{strings.ReplaceAll(pick(c, p.cond.Text), "{n}", n)}
	}
	return nil
}

// close ends a clause: with its connective, or with a final ending.
func (c *composer) close(p part, last bool, features map[string]bool) string {
	v := c.v.Verbs[p.verb]
	for noun := range c.v.Verbs { // "확인하" is "확인" and the verb 하
		if head, ok := strings.CutSuffix(p.verb, noun); ok && c.v.Verbs[p.verb].Inf == "" && (v.Inf == "" || len(noun) > len("하")) {
			v = prefixed(head, c.v.Verbs[noun])
		}
	}
	delete(features, "…고")
	switch {
	case p.negated:
		features["negation"] = true
		if p.link == linkStop {
			return "하지 마"
		}
		return pick(c, []string{"하지 말고", "하지 말고"})
	case last || p.link == linkStop:
		return c.final(v)
	case p.link == linkChain:
		return v.Then
	case p.link == linkWith:
		features["parallel"] = true
		return c.joined(c.v.Withs, v)
	case p.link == linkEnds:
		features["after an event"] = true
		return v.And
	case p.refused != "":
		return v.And // "티비 켠 뒤에" would wait for it
	case p.op.ID == "move" && c.chance(15):
		return v.Past + "다가"
	}
	features["connective"] = true
	features["…고"] = c.chance(40)
	if features["…고"] {
		return v.And + c.comma()
	}
	return c.joined(c.v.Ands, v) + c.comma()
}

// joined puts a verb into one of the forms that lead on.
func (c *composer) joined(forms []string, v verb) string {
	for {
		form := pick(c, forms)
		if v.Gives && strings.Contains(form, "{inf}") {
			continue
		}
		return strings.NewReplacer("{and}", v.And, "{with}", v.With, "{gone}", v.Gone, "{inf}", v.Inf).Replace(form)
	}
}

func (c *composer) comma() string {
	if c.chance(12) {
		return ","
	}
	return ""
}

func prefixed(head string, v verb) verb {
	for _, s := range []*string{&v.And, &v.Then, &v.With, &v.Gone, &v.Inf, &v.Polite, &v.Past} {
		*s = head + *s
	}
	return v
}

func (c *composer) final(v verb) string {
	for {
		e := pick(c, c.v.Endings)
		if e.Plain && v.Gives {
			continue
		}
		return strings.NewReplacer("{inf}", v.Inf, "{polite}", v.Polite).Replace(e.Text)
	}
}

// between says what stands between two clauses.
func (c *composer) between(p part, features map[string]bool) []string {
	switch {
	case p.link == linkStop:
		features["two sentences"] = true
		return []string{".", pick(c, []string{"", "그리고", "그다음에", "그 다음에"})}
	case p.link == linkEnds && p.op.Arrives:
		return []string{"도착하면"}
	case p.link == linkEnds:
		return []string{pick(c, []string{"끝나면", "다 끝나면", "끝나고 나면"})}
	case p.link == linkSeq && c.chance(15) && features["…고"]:
		return []string{pick(c, c.v.Between)}
	}
	return nil
}

func note(p part, features map[string]bool) {
	switch {
	case p.refused != "":
		features["unsupported clause"] = true
	case p.skill:
		features["cloud step"] = true
	}
	if strings.HasSuffix(p.before, "말고") {
		features["correction"] = true
	}
}

// spacing takes spaces out, as speech recognition does.
func (c *composer) spacing(text string, features map[string]bool) string {
	switch at := c.rng.IntN(100); {
	case at < 6 && !strings.ContainsAny(text, ".?"):
		features["no spaces"] = true
		return strings.ReplaceAll(text, " ", "")
	case at < 22:
		features["few spaces"] = true
		out := ""
		for i, word := range strings.Fields(text) {
			if i > 0 && !c.chance(30) {
				out += " "
			}
			out += word
		}
		return out
	}
	return text
}

func sorted(set map[string]bool) []string {
	var out []string
	for _, name := range []string{"connective", "parallel", "after an event", "after existing work", "two sentences", "delay", "condition", "correction", "negation", "unsupported clause", "cloud step", "few spaces", "no spaces"} {
		if set[name] {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		out = append(out, "single")
	}
	return out
}

func value(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
