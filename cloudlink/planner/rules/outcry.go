package rules

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"deviceagent/cloudlink/planner/turn"
)

// A stop is obeyed whatever is said before it as its reason or out of anger: "시끄러우니까 청정 꺼", "it's too loud, stop cleaning". Only where what
// stands before says something, or why, and neither asks for anything, nor for when: "안방 청정 끝나면 화면 꺼" is no stop at once.

// stopBehind reads the last words alone, where they stop something and nothing else.
func (p *Planner) stopBehind(h *Heard) (turn.Decision, bool) {
	if h.out.text.question {
		return turn.Decision{}, false
	}
	for _, cut := range cuts(h.of, h.r.lang) {
		out := h.r.parse(cut[1])
		if !out.clear() || out.unknown > 0 || !p.stops(out) || !p.reason(cut[0], h) {
			continue
		}
		return by("what stops is obeyed, whatever stands before it", p.act(h.r.lang, out)), true
	}
	return turn.Decision{}, false
}

// tookBack are words with which people leave what they have said before, or begin; an order behind them is an order.
var tookBack = regexp.MustCompile(`^(?:(?:아|아이|에이|음|어|저|아니|아니야|아니다|아냐|됐어|됐고|그래|그럼|알았어|그냥|야)[,.!~… ]+)+`)

// orderBehind reads the rest of a sentence that begins with nothing but such words: "아니야 됐어 그냥 돌아와".
func (p *Planner) orderBehind(h *Heard) (turn.Decision, bool) {
	before := tookBack.FindString(h.of)
	if before == "" || h.r.lang == english || h.out.text.question {
		return turn.Decision{}, false
	}
	out := h.r.parse(h.of[len(before):])
	if !out.clear() || len(out.intents) == 0 || out.control != nil {
		return turn.Decision{}, false
	}
	return by("an order behind words that only begin", p.act(h.r.lang, out)), true
}

// cuts are the places where words before may end: behind each word; in English behind marks.
func cuts(text string, lang language) (out [][2]string) {
	if lang == english {
		for _, at := range englishCut.FindAllStringIndex(text, -1) {
			out = append(out, [2]string{text[:at[0]], text[at[1]:]})
		}
		return out
	}
	fields := strings.Fields(text)
	for i := 1; i < min(len(fields), 8); i++ {
		out = append(out, [2]string{strings.Join(fields[:i], " "), strings.Join(fields[i:], " ")})
	}
	return out
}

var englishCut = regexp.MustCompile(`[,.!;]+ +(?:so +)?| +so +`)

// stops says whether all that is asked for ends something.
func (p *Planner) stops(out parsed) bool {
	for _, in := range out.intents {
		if len(p.cat.Operations[in.method].Stops) == 0 || in.delayMS > 0 || in.when != nil || in.anchor != "" || in.room != "" {
			return false
		}
	}
	return len(out.intents) > 0 || out.control != nil
}

// because are the endings of what gives a reason.
var because = regexp.MustCompile(`(?:니까|니깐|(?:워|어|아|려|져|해)서|[은는인한운]데|잖아|거든|네|다|어|아|워|해|요|야|죠|지)$`)

// leadsOn are words in what stands before a stop by which the stop hangs on something, is not meant, or is somebody else's.
var leadsOn = regexp.MustCompile(`(?:면|때|전에|후에|뒤에|다음에|까지|다가|말고|라고|다고|자고|냐고|래|대요?)(?: |$|,)`)

// reason says whether words ask for nothing and only say something.
func (p *Planner) reason(text string, h *Heard) bool {
	before := p.hear(turn.Input{Text: text, Locale: localeOf(h.r.lang), Rooms: h.rooms})
	seen := p.Seen(before)
	if len(before.out.intents) > 0 || before.out.control != nil || len(seen.Unsupported)+len(seen.Missing)+len(seen.Times)+len(seen.Rooms) > 0 || seen.Clock || slices.ContainsFunc(before.out.clauses, func(c clause) bool { return c.negated || c.link == "cond" }) {
		return false
	}
	if h.r.lang == english {
		return !strings.HasPrefix(strings.ToLower(text), "if ") && !strings.HasPrefix(strings.ToLower(text), "when ")
	}
	text = strings.TrimRight(text, " ,.!~…")
	asks := seen.About && !strings.HasSuffix(text, "니까") // which ends as a question does
	return !asks && because.MatchString(text) && !leadsOn.MatchString(text)
}

func localeOf(lang language) string {
	if lang == english {
		return "en-US"
	}
	return "ko-KR"
}

// stillWords are how people tell a robot to stand still. Says are the words themselves, without spaces; of what is said at least one has to
// begin as must names it. Beside are words that change nothing about that.
type stillWords struct {
	Says   []string `json:"says"`
	Must   []string `json:"must"`
	Beside []string `json:"beside"`
}

// standStill hears a cry to stop that is put in any of these words: "그대로 멈춰", "가만히 있어", "움직이지 마". Who cries so to a robot that moves
// has no time to say it otherwise, and one that stands still loses nothing.
func (p *Planner) standStill(h *Heard) (turn.Decision, bool) {
	if h.r.lang != korean || h.out.text.question || !p.still.in(string(h.out.text.runes)) {
		return turn.Decision{}, false
	}
	out := h.r.parse(p.still.Says[0])
	if !out.clear() || !p.stops(out) {
		return turn.Decision{}, false // this robot has nothing that stands still
	}
	d := p.act(korean, out)
	for i := range d.Steps {
		d.Steps[i].Span = strings.TrimSpace(h.of)
	}
	return by("told to stand still", d), true
}

func (w stillWords) in(said string) bool {
	fields := strings.FieldsFunc(said, func(r rune) bool { return !unicode.IsLetter(r) })
	if len(fields) > 6 {
		return false
	}
	fields = slices.DeleteFunc(fields, func(f string) bool { return slices.Contains(w.Beside, f) })
	all := strings.Join(fields, "")
	begins := slices.ContainsFunc(w.Must, func(m string) bool { return strings.HasPrefix(all, m) })
	return begins && (slices.Contains(w.Says, all) || !slices.ContainsFunc(fields, func(f string) bool { return !slices.Contains(w.Says, f) }))
}
