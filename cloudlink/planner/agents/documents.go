package agents

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"unicode"
)

// library is the product documents, cut into passages that can be found. It is built once.
type library struct {
	passages []passage
	in       map[string]int // passages that have a term
	mean     float64        // terms of a passage
	faults   []error        // of files that could not be read
}

// passage is one paragraph, with where it stands.
type passage struct {
	text   string
	source string // title of the document, and the heading
	korean bool
	terms  map[string]int
	size   int
	head   map[string]bool // terms of its headings: what a part is about counts more than what it mentions
}

// Bounds of the documents.
const (
	documentBytes = 1 << 20
	passagesMost  = 5000
	passageRunes  = 320
)

// newLibrary reads the documents: markdown and plain text, also below folders. Files that cannot be read are left out.
func newLibrary(files fs.FS) *library {
	l := &library{in: map[string]int{}}
	if files == nil {
		return l
	}
	_ = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains([]string{".md", ".txt"}, strings.ToLower(path.Ext(name))) {
			if err != nil {
				l.faults = append(l.faults, err)
			}
			return nil
		}
		if info, err := e.Info(); err != nil || info.Size() > documentBytes {
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			l.faults = append(l.faults, err)
			return nil
		}
		l.add(strings.TrimSuffix(path.Base(name), path.Ext(name)), string(text))
		return nil
	})
	total := 0
	for _, p := range l.passages {
		total += p.size
		for term := range p.terms {
			l.in[term]++
		}
	}
	l.mean = float64(total) / float64(max(1, len(l.passages)))
	return l
}

// add cuts a document at its headings and empty lines. The first heading is its title.
func (l *library) add(name, text string) {
	title, heading := name, ""
	var lines []string
	flush := func() {
		body := clean(strings.Join(lines, " "), passageRunes)
		lines = nil
		if body == "" || len(l.passages) >= passagesMost {
			return
		}
		p := passage{text: body, source: title, korean: hasHangul(body), terms: map[string]int{}, head: map[string]bool{}}
		if heading != "" {
			p.source += ", " + heading
		}
		for _, t := range terms(heading) {
			p.head[t] = true
			p.terms[t]++
		}
		for _, t := range terms(body) {
			p.terms[t]++
			p.size++
		}
		l.passages = append(l.passages, p)
	}
	titled := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		mark := strings.TrimLeft(line, "#")
		switch {
		case line == "":
			flush()
		case len(mark) < len(line) && strings.HasPrefix(mark, " "):
			flush()
			if head := clean(mark, titleRunes); !titled {
				title, titled = head, true
			} else {
				heading = head
			}
		default:
			lines = append(lines, strings.TrimLeft(line, "*-> "))
		}
	}
	flush()
}

func hasHangul(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return unicode.Is(unicode.Hangul, r) }) >= 0
}

// terms are what is counted: words of letters and digits, and of Korean ones each pair of letters, since their endings vary.
func terms(text string) (out []string) {
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if !hasHangul(w) {
			if w = strings.TrimSuffix(w, "s"); len(w) > 1 && !slices.Contains(askingWords, w) {
				out = append(out, w)
			}
			continue
		}
		runes := []rune(w)
		for i := range len(runes) - 1 {
			out = append(out, string(runes[i:i+2]))
		}
	}
	return out
}

// Weights of the ranking (BM25), and what an answer has to reach.
const (
	saturation    = 1.2
	lengthBias    = 0.6
	headWeight    = 1.5
	coveredLeast  = 0.5 // of the weight of the things that are asked about
	relatedWeight = 0.7
	strangeness   = 2.5 // weight of a thing that no document names
)

// asked is one word of a question.
type asked struct {
	terms []string
	verb  bool // it says what is done; what is asked about are the things
}

// answer finds the passage that fits a question best, and says where it stands. A question that is about something else is not answered.
func (l *library) answer(query, locale string) Outcome {
	if len(l.passages) == 0 {
		return Outcome{Reason: ReasonNoDocuments}
	}
	words := l.wordsOf(query)
	best, most := -1, 0.0
	for i := range l.passages {
		p := &l.passages[i]
		if p.korean == english(locale) || l.covered(p, words) < coveredLeast {
			continue
		}
		if score := l.score(p, words) + relatedWeight*l.score(p, related(query)); score > most {
			best, most = i, score
		}
	}
	if best < 0 {
		return Outcome{Reason: ReasonNoDocument}
	}
	p := l.passages[best]
	text := say(locale, "from_document", "text", p.text, "source", p.source)
	return Outcome{Text: text, Output: map[string]any{"text": text, "source": p.source}}
}

// relatedTo says which words of a manual go with words of a question: 언제 asks for how often something is to be done.
var relatedTo = read[map[string][]string]("related.json")

// related are the words of a manual that go with a question. They only order what is about the right thing.
func related(query string) (out []asked) {
	said := folded(query)
	for _, w := range sortedKeys(relatedTo) {
		if strings.Contains(said, folded(w)) {
			out = append(out, asked{terms: terms(strings.Join(relatedTo[w], " "))})
		}
	}
	return out
}

// wordsOf are the words of a question that ask about something: "필터는 언제 갈아야 해" is about 필터.
func (l *library) wordsOf(query string) (out []asked) {
	things := false
	for _, w := range queryWords(query) {
		if list := terms(w); len(list) > 0 {
			verb := slices.ContainsFunc(verbEndings, func(end string) bool { return strings.HasSuffix(w, end) })
			things = things || !verb
			out = append(out, asked{list, verb})
		}
	}
	if !things { // only what is done is said: what goes with that is asked about
		return related(query)
	}
	return out
}

var verbEndings = words("verb_endings.txt")

// covered is how much of what is asked about a passage has. A thing that no document knows weighs more.
func (l *library) covered(p *passage, words []asked) float64 {
	var all, had float64
	for _, w := range words {
		here, known := 0, false
		for _, t := range w.terms {
			if p.terms[t] > 0 {
				here++
			}
			known = known || l.in[t] > 0
		}
		weight := 1.0
		switch {
		case w.verb:
			continue
		case !known:
			weight = strangeness
		}
		if all += weight; 2*here >= len(w.terms) {
			had += weight
		}
	}
	if all == 0 {
		return 0
	}
	return had / all
}

// score ranks a passage for a question.
func (l *library) score(p *passage, words []asked) (score float64) {
	for _, w := range words {
		for _, t := range w.terms {
			n := float64(p.terms[t])
			if n == 0 {
				continue
			}
			idf := math.Log(1 + (float64(len(l.passages))-float64(l.in[t])+0.5)/(float64(l.in[t])+0.5))
			s := idf * n * (saturation + 1) / (n + saturation*(1-lengthBias+lengthBias*float64(p.size)/l.mean))
			if p.head[t] {
				s *= headWeight
			}
			score += s
		}
	}
	return score
}
