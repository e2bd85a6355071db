package agents

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of a quiz.
const (
	questionsEach  = 5
	unansweredMost = 2      // in a row: nobody is there any more
	answerWait     = 60_000 // ms from when a question was sent; it has to be spoken, too
)

// beginQuiz asks the first question.
func (c *content) beginQuiz(t Task) Outcome {
	level := max(1, t.Memory.Level)
	if said, ok := t.Inputs["level"].(float64); ok && said >= 1 && said <= levels {
		level = int(said)
	}
	talk := Talk{Kind: kindQuiz, Locale: t.Locale, Level: level}
	ask, talk, memory := c.askNext(talk, t.Memory)
	text := say(t.Locale, "quiz_intro") + " " + ask
	return Outcome{Text: text, Words: []Words{{Text: text, Act: "question"}}, Talk: &talk, Memory: &memory}
}

// askNext takes the first quiz of the level that was not asked lately; where the level has none left, of the nearest level.
func (c *content) askNext(t Talk, m Memory) (string, Talk, Memory) {
	order := slices.Clone(c.quizzes)
	slices.SortStableFunc(order, func(a, b quiz) int { return distance(a.Level, t.Level) - distance(b.Level, t.Level) })
	next := order[0]
	for _, q := range order {
		if !slices.Contains(m.Asked, q.ID) && !slices.Contains(t.Asked, q.ID) {
			next = q
			break
		}
	}
	t.Asked, t.Wait = append(slices.Clone(t.Asked), next.ID), answerWait
	return say(t.Locale, "quiz_question", "n", fmt.Sprint(len(t.Asked)), "ask", next.in(t.Locale).Ask), t, m.asked(next.ID)
}

func distance(a, b int) int { return max(a-b, b-a) }

// nextQuiz answers what was said, or what was not, and goes on with the next question.
func (c *content) nextQuiz(t Talk, m Memory, ev Event) ([]Words, Talk, Memory) {
	open, ok := c.quiz(t.Asked)
	if !ok {
		return c.endQuiz(t, m, say(t.Locale, "quiz_stop"))
	}
	q := open.in(t.Locale)
	said := ev.What == "user_response"
	switch {
	case said && stops(ev.Text):
		return c.endQuiz(t, m, say(t.Locale, "quiz_stop"))
	case said && again(ev.Text):
		return []Words{{Text: q.Ask, Act: "question"}}, t, m
	case said && passes(ev.Text):
		return c.judged(t, m, false, say(t.Locale, "quiz_told", "answer", q.Answer, "is", copula(q.Answer)))
	case said && q.right(ev.Text):
		return c.judged(t, m, true, say(t.Locale, "quiz_right", "answer", q.Answer, "is", copula(q.Answer)))
	case said:
		return c.judged(t, m, false, say(t.Locale, "quiz_wrong", "answer", q.Answer, "is", copula(q.Answer)))
	}
	if t.Unanswered++; t.Unanswered >= unansweredMost {
		return c.endQuiz(t, m, say(t.Locale, "quiz_unheard", "answer", q.Answer, "is", copula(q.Answer))+" "+say(t.Locale, "quiz_none"))
	}
	return c.goOnQuiz(t, m, say(t.Locale, "quiz_unheard", "answer", q.Answer, "is", copula(q.Answer)))
}

// judged notes an answer; the next question is of the level that follows from it.
func (c *content) judged(t Talk, m Memory, right bool, reply string) ([]Words, Talk, Memory) {
	if t.Unanswered = 0; right {
		t.Right++
	}
	m = m.answered(t.Level, right)
	t.Level = m.Level
	return c.goOnQuiz(t, m, reply)
}

func (c *content) goOnQuiz(t Talk, m Memory, reply string) ([]Words, Talk, Memory) {
	if len(t.Asked) >= questionsEach {
		return c.endQuiz(t, m, reply+" "+say(t.Locale, "quiz_end", "right", fmt.Sprint(t.Right)))
	}
	ask, t, m := c.askNext(t, m)
	return []Words{{Text: reply + " " + ask, Act: "question"}}, t, m
}

func (c *content) endQuiz(t Talk, m Memory, text string) ([]Words, Talk, Memory) {
	t.Ended, t.Wait = true, 0
	return []Words{{Text: text, Act: "done", Last: true}}, t, m
}

func (c *content) quiz(asked []string) (quiz, bool) {
	if len(asked) == 0 {
		return quiz{}, false
	}
	i := slices.IndexFunc(c.quizzes, func(q quiz) bool { return q.ID == asked[len(asked)-1] })
	if i < 0 {
		return quiz{}, false
	}
	return c.quizzes[i], true
}

// right says whether an answer names what is accepted: as a word of its own, or where it is long enough to be nothing else, inside one.
func (q question) right(said string) bool {
	words := strings.FieldsFunc(strings.ToLower(norm.NFC.String(said)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	whole := strings.Join(words, "")
	return slices.ContainsFunc(q.Accept, func(want string) bool {
		want = folded(want)
		long := len([]rune(want)) > 1 && !digits(want)
		return long && strings.Contains(whole, want) || slices.ContainsFunc(append(words, whole), func(w string) bool { return bare(w) == want || w == want })
	})
}

// copula is how a Korean sentence ends behind a noun, as its last sound wants it.
func copula(noun string) string {
	runes := []rune(noun)
	if last := runes[len(runes)-1]; last >= '가' && last <= '힣' && (last-'가')%28 == 0 {
		return "예요"
	}
	return "이에요"
}

func digits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}

// What a spoken answer ends with, and what numbers are counted in.
var (
	answerEndings = []string{"이라고생각해요", "인것같아요", "같아요", "입니다", "이에요", "이예요", "예요", "에요", "이지요", "이죠", "지요", "죠", "이야", "이요", "요", "야"}
	counters      = []string{"개", "일", "분", "초", "도", "마리", "명", "쪽", "날"}
)

// bare takes the ending, and then what it is counted in, off a word.
func bare(w string) string {
	for _, list := range [][]string{answerEndings, counters} {
		for _, end := range list {
			if rest, ok := strings.CutSuffix(w, end); ok && rest != "" {
				w = rest
				break
			}
		}
	}
	return w
}

// folded is how titles and answers are compared: NFC, lower case, letters and digits only.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFC.String(s))
}

// replies are what a user says to a session that is no answer.
var replies = read[map[string][]string]("replies.json")

func among(kind, said string) bool {
	words := " " + strings.Join(strings.FieldsFunc(strings.ToLower(said), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }), " ") + " "
	said = folded(said)
	return slices.ContainsFunc(replies[kind], func(w string) bool {
		if w[0] < utf8.RuneSelf { // English has spaces between its words: a mosquito does not quit
			return strings.Contains(words, " "+w+" ")
		}
		return strings.Contains(said, folded(w))
	})
}

// leaves are words with which somebody takes leave, or has had enough, where they begin what is said: "나무늘보는 잘 자요" is an answer.
var leaves = regexp.MustCompile(`^(?:(?:나|난|나는|저|전|저는|이제|우리|좀|아|음|그럼|너무|오늘은|이거)[ ,]+)*(?:자야겠|자야지|잘래|잘게요?[.! ]*$|잘 ?자(?:요|라)?[.! ]*$|자러 ?[가갈]|졸려|졸리|나갔다 ?올|나가 ?봐야|다녀올게|이따 ?하|나중에 ?하|재미 ?없|지루해)`)

// goesOn are words that take a stop back.
var goesOn = regexp.MustCompile(`지 ?(?:말|않|마)|계속`)

func stops(said string) bool {
	return (among("stop", said) || leaves.MatchString(strings.TrimSpace(said))) && !goesOn.MatchString(said)
}
func again(said string) bool  { return among("again", said) }
func passes(said string) bool { return among("pass", said) }
