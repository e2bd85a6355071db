package rules

// kind says what part a word plays for the planner.
type kind string

// The kinds. What is none of these is unknown, and an unknown word in a clause keeps it from becoming a step.
const (
	kindRoom      kind = "room"     // keys: room ids that the name may mean
	kindThing     kind = "thing"    // keys: frame ids of a noun
	kindVerb      kind = "verb"     // key: act; fn: ending
	kindActNoun   kind = "act_noun" // key: act; a verb with 하-
	kindState     kind = "state"    // key: state; fn: ending
	kindMeasure   kind = "measure"  // key: comparison ("이상")
	kindCopula    kind = "copula"   // fn: ending
	kindParticle  kind = "particle" // key: role
	kindAux       kind = "aux"      // key: stem; fn: ending
	kindNeg       kind = "neg"      // 안, 못
	kindNegVerb   kind = "neg_verb" // 마, 말고, 않고; fn: what it does to the clause
	kindNumber    kind = "number"   // num
	kindPercent   kind = "percent"  // num
	kindDuration  kind = "duration" // ms
	kindDelay     kind = "delay"    // ms; made from duration + after
	kindSpan      kind = "span"     // ms; made from duration + during
	kindClock     kind = "clock"    // a time of day
	kindAfter     kind = "after"    // 뒤, 후
	kindDuring    kind = "during"   // 동안
	kindConnect   kind = "connect"  // 그리고
	kindSince     kind = "since"    // 지 (간 지 30초)
	kindCan       kind = "can"      // 수 (줄 수 있어)
	kindExclude   kind = "exclude"  // 말고
	kindValue     kind = "value"    // key: param=value of a frame
	kindLevel     kind = "level"    // key: max, min
	kindQuit      kind = "quit"     // 그만
	kindPurify    kind = "purify"   // 깨끗하게
	kindEvery     kind = "every"    // 다, 전부
	kindWork      kind = "work"     // 하던 일
	kindStateNoun kind = "state_noun"
	kindAsk       kind = "ask" // 얼마, 몇
	kindDeictic   kind = "deictic"
	kindHere      kind = "here"
	kindHome      kind = "home"
	kindBrief     kind = "brief" // 잠깐
	kindPart      kind = "part"  // 안, 쪽
	kindFiller    kind = "filler"
	kindForeign   kind = "foreign" // key: what it belongs to; never ours
	kindIf        kind = "if"      // English: opens a condition
	kindWhen      kind = "when"    // key: today, tomorrow; of what is looked up
	kindManner    kind = "manner"  // says nothing new of what is told
	kindPronoun   kind = "pronoun" // what was looked up just before
	kindMeanwhile kind = "meanwhile"
	kindUnknown   kind = "unknown"
)

// item is one word in its place. Offsets are in runes of the normalised text.
type item struct {
	kind       kind
	key        string
	keys       []string
	fn         string
	num        float64
	ms         int64
	start, end int
	text       string

	give    bool // a verb asked for with 주- ("켜 줘")
	negated bool
	role    string // the particle that follows a noun
}

// entry is a word of the lexicon.
type entry struct {
	kind kind
	key  string
	keys []string
	fn   string
}

// lexicon finds the words that begin at a place of the text. One that lies over another holds only the words that are not as they are
// there: a second list of all verbs in all their forms would take as much memory again.
type lexicon struct {
	entries map[string][]entry
	under   *lexicon // only read
	longest int
}

// of are the meanings of a word.
func (l *lexicon) of(text string) []entry {
	for ; l != nil; l = l.under {
		if list, ok := l.entries[text]; ok {
			return list
		}
	}
	return nil
}

func newLexicon() *lexicon { return &lexicon{entries: map[string][]entry{}} }

// add enters a word, with and without each of its spaces: speech recognition puts them where it likes.
func (l *lexicon) add(text string, e entry) {
	for _, variant := range spacings(text) {
		l.addExact(variant, e)
	}
}

func (l *lexicon) addExact(text string, e entry) {
	if _, own := l.entries[text]; !own {
		if list := l.under.of(text); len(list) > 0 {
			l.entries[text] = append([]entry(nil), list...)
		}
	}
	for i, old := range l.entries[text] {
		if old.kind == e.kind && old.key == e.key && old.fn == e.fn {
			l.entries[text][i].keys = mergeKeys(old.keys, e.keys)
			return
		}
	}
	l.entries[text] = append(l.entries[text], e)
	l.longest = max(l.longest, len([]rune(text)))
}

func (l *lexicon) has(text string) bool { return len(l.of(text)) > 0 }

func mergeKeys(a, b []string) []string {
	out := append([]string(nil), a...)
	for _, k := range b {
		if !contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// spacings gives every way to write the word with its spaces kept or left out.
func spacings(text string) []string {
	for i, r := range text {
		if r == ' ' {
			var out []string
			for _, rest := range spacings(text[i+1:]) {
				out = append(out, text[:i]+" "+rest, text[:i]+rest)
			}
			return out
		}
	}
	return []string{text}
}
