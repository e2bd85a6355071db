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
	saturation   = 1.2
	lengthBias   = 0.6
	headWeight   = 1.5
	coveredLeast = 0.5 // of the weight of the question's terms
)

// answer finds the passage that fits a question best, and says where it stands. A question whose weight is mostly elsewhere is not answered.
func (l *library) answer(query, locale string) Outcome {
	if len(l.passages) == 0 {
		return Outcome{Reason: ReasonNoDocuments}
	}
	asked := questionTerms(query)
	best, most := -1, 0.0
	for i := range l.passages {
		if l.passages[i].korean == english(locale) {
			continue
		}
		if score, covered := l.score(&l.passages[i], asked); covered >= coveredLeast && score > most {
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

// questionTerms are the terms of the words that ask about something: "필터는 언제 갈아야 해" is about 필터 and 갈아.
func questionTerms(query string) (out []string) {
	for _, t := range terms(strings.Join(queryWords(query), " ")) {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// score ranks a passage, and says how much of the question's weight it has.
func (l *library) score(p *passage, asked []string) (score, covered float64) {
	var all, had float64
	for _, t := range asked {
		idf := math.Log(1 + (float64(len(l.passages))-float64(l.in[t])+0.5)/(float64(l.in[t])+0.5))
		all += idf
		n := float64(p.terms[t])
		if n == 0 {
			continue
		}
		had += idf
		s := idf * n * (saturation + 1) / (n + saturation*(1-lengthBias+lengthBias*float64(p.size)/l.mean))
		if p.head[t] {
			s *= headWeight
		}
		score += s
	}
	if all == 0 {
		return 0, 0
	}
	return score, had / all
}
