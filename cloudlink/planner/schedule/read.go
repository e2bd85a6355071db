package schedule

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"deviceagent/cloudlink/planner/timeko"
	"deviceagent/cloudlink/planner/turn"
)

// The operations on schedules.
const (
	opCreate = "create"
	opChange = "change"
	opCancel = "cancel"
	opList   = "list"
)

// said is what one sentence says about schedules.
type said struct {
	english  bool
	text     string // lower case, spaces in a row once
	runes    []rune
	found    []timeko.Occasion
	when     when
	rest     string // without what says when
	noun     bool   // a word for what is kept for set times is there
	question bool
	lasts    int // minutes that it is to last, where only that was said of its end
	op       string
}

func isEnglish(in turn.Input) bool {
	hangul := strings.ContainsFunc(in.Text, func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
	return !hangul && (in.Locale == "en-US" || strings.ContainsFunc(in.Text, unicode.IsLetter))
}

func (s *said) words() *lists {
	if s.english {
		return &english
	}
	return &korean
}

// read takes a sentence apart.
func read(in turn.Input) *said {
	s := &said{english: isEnglish(in)}
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(",.!?()[]~…\"'“”‘’", r) && r != '~' {
			return ' '
		}
		return r
	}, keepPoints(in.Text))
	if s.english {
		s.text, s.found = englishOccasions(plain, in.Now)
	} else {
		s.text, s.found = timeko.Occasions(plain, clockOr(in.Now))
	}
	s.runes = []rune(s.text)
	s.found = append(s.found, timers(s)...)
	s.lasting()
	s.when = whenOf(s.found, s.runes)
	if s.lasts > 0 {
		s.when.lasts = s.lasts
	}
	s.rest = s.without()
	w := s.words()
	s.noun = Has(s.text, w.Nouns) || !s.english && Has(s.text, w.Reminders) || s.english && strings.Contains(s.text, "remind")
	s.question = strings.Contains(in.Text, "?") || s.asks()
	s.op = s.operation(in.Text)
	return s
}

// timers reads the length of a timer, which needs no word for "from now": "10분 타이머 맞춰 줘".
func timers(s *said) (out []timeko.Occasion) {
	if s.english || !strings.Contains(s.text, "타이머") || len(s.found) > 0 {
		return nil
	}
	for _, f := range timeko.Find(s.text, time.Time{}) {
		if f.Kind == timeko.Duration && f.Number > 0 && f.Number <= 24*3600 {
			return []timeko.Occasion{{Kind: timeko.After, Delay: time.Duration(f.Number * float64(time.Second)), Start: f.Start, End: f.End}}
		}
	}
	return nil
}

// lasting reads how long something goes on from its time: "6시부터 한 시간 동안".
func (s *said) lasting() {
	for i := range s.found {
		o := &s.found[i]
		if o.Kind != timeko.AtClock || o.Tail != "부터" || o.Till.Said {
			continue
		}
		for _, f := range timeko.Find(s.text, time.Time{}) {
			gap := f.Start - o.End
			if f.Kind != timeko.Duration || gap < 0 || gap > 1 || f.Number < 60 || f.Number >= 24*3600 {
				continue
			}
			o.End = f.End
			for _, tail := range []string{" 동안", "동안", "간", "만"} {
				if strings.HasPrefix(string(s.runes[o.End:]), tail) {
					o.End += len([]rune(tail))
					break
				}
			}
			o.Till = timeko.Clock{Said: true, Seconds: (o.From.Seconds + int(f.Number)) % (24 * 3600)}
			s.lasts = int(f.Number) / 60
		}
	}
}

// clockOr is the given moment; without one, days are counted from a day that no schedule can be on, so that nothing is planned from them.
func clockOr(now time.Time) time.Time {
	if now.IsZero() {
		return time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC)
	}
	return now
}

// keepPoints spaces out commas and full stops, but not those inside a number or time: 10:30, 12.24, 1,000.
func keepPoints(text string) string {
	r := []rune(text)
	for i, c := range r {
		inside := i > 0 && i+1 < len(r) && unicode.IsDigit(r[i-1]) && unicode.IsDigit(r[i+1])
		if (c == '.' || c == ',') && inside {
			r[i] = map[rune]rune{'.': '/', ',': ' '}[c]
		}
	}
	return string(r)
}

// without is the sentence less what says when.
func (s *said) without() string {
	var out []rune
	at := 0
	for _, o := range s.found {
		out = append(append(out, s.runes[at:o.Start]...), ' ')
		at = o.End
		rest := string(s.runes[at:])
		trimmed := strings.TrimLeft(rest, " ")
		for _, b := range korean.Behind {
			if r, ok := strings.CutPrefix(trimmed, b); ok && !s.english && (r == "" || r[0] == ' ') {
				at += len([]rune(rest)) - len([]rune(r))
				break
			}
		}
	}
	out = append(out, s.runes[min(at, len(s.runes)):]...)
	return strings.Join(slices.DeleteFunc(strings.Fields(string(out)), func(f string) bool { return slices.Contains(s.words().Vague, f) }), " ")
}

// asks says whether a sentence without a question mark is a question all the same.
func (s *said) asks() bool {
	w := s.words()
	if s.english {
		return slices.ContainsFunc(w.Ask, func(q string) bool { return strings.HasPrefix(s.text, q) }) || Has(s.text, []string{"is there", "are there", "do i have"})
	}
	last := s.text
	if i := strings.LastIndexByte(last, ' '); i >= 0 {
		last = last[i+1:]
	}
	what := slices.ContainsFunc(strings.Fields(s.text), func(f string) bool { return strings.HasPrefix(f, "뭐") || strings.HasPrefix(f, "뭘") })
	asked := what || HasWord(s.text, w.Ask) || slices.ContainsFunc(w.Ask, func(q string) bool { return len([]rune(q)) > 1 && strings.Contains(s.text, q) })
	if strings.Contains(s.text, "라고") || strings.Contains(s.text, "다고") {
		return asked
	}
	wonders := Has(s.text, w.Wonder) || s.noun && slices.ContainsFunc(w.NounEnds, func(e string) bool { return strings.HasSuffix(last, e) }) && !Has(last, []string{"줄래", "줄수", "주실"})
	return asked || wonders || slices.ContainsFunc(w.State, func(v string) bool { return strings.HasPrefix(last, v) || strings.HasPrefix(last, "예약"+v) }) && !Has(last, []string{"줘", "주세"})
}

// operation says what is wanted of schedules.
func (s *said) operation(original string) string {
	w := s.words()
	give := !s.english && Has(lastWords(s.text, 3), []string{"줘", "줄래", "주세", "주실", "주겠", "주라", "달라", "부탁", "줄 수", "주실 수"}) && !Has(s.text, w.Wonder) && !Has(lastWords(s.text, 3), w.Look)
	switch {
	case s.english && s.question:
		return opList
	case !s.english && s.question && !give:
		return opList
	case Has(s.text, w.Cancel), s.noun && Has(s.text, w.CancelWithNoun) && !Has(s.text, []string{"켜", "맞춰"}) && s.endsWithCancel():
		return opCancel
	case Has(s.text, w.Change) && (s.noun || s.movesTo()), s.noun && s.movesTo() && !give && !Has(s.rest, []string{"해", "켜", "꺼"}):
		return opChange
	case s.noun && (s.shows() || !s.english && Has(lastWords(s.text, 2), w.Look) && !strings.Contains(s.text, "라고")):
		return opList
	}
	return opCreate
}

// movesTo says whether a time is one that something is moved to: 7시로, 내일로.
func (s *said) movesTo() bool { return slices.ContainsFunc(s.found, isGoal) }

func isGoal(o timeko.Occasion) bool { return o.Tail == "로" || o.Tail == "으로" || o.Tail == "to" }

// endsWithCancel: "알람 꺼 줘" lets go of an alarm; "청정 꺼 줘 예약" is what is to be done.
func (s *said) endsWithCancel() bool {
	w := s.words()
	if s.english {
		return slices.ContainsFunc(w.CancelWithNoun, func(v string) bool { return strings.HasPrefix(s.text, v) })
	}
	rest := s.rest
	_, word, ok := cutEnd(rest, w.CancelWithNoun)
	before, _, _ := cutEnd(rest, []string{word})
	before = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(before), "을"), "를")
	_, _, noun := cutEnd(before, w.Nouns)
	return ok && noun
}

// shows says whether a sentence asks to be told of what is kept: "예약 알려 줘", but not "6시에 약 먹으라고 알려 줘" or "회의 알림 등록해 줘".
func (s *said) shows() bool {
	w := s.words()
	if s.english {
		return Has(s.text, w.Show)
	}
	if strings.Contains(s.text, "라고") || strings.Contains(s.text, "다고") {
		return false
	}
	rest := s.rest
	for _, verb := range []string{"해줘", "해 줘", "줘", "주세요", "해주세요", "해 주세요", "줄래", "달라"} {
		rest = strings.TrimSuffix(strings.TrimSpace(rest), verb)
	}
	_, _, show := cutEnd(strings.TrimSpace(rest), w.Show)
	if !show {
		return false
	}
	for _, v := range w.Show {
		rest = strings.TrimSpace(strings.TrimSuffix(rest, v))
	}
	rest = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(rest, "을"), "를"))
	for range 3 {
		rest, _, _ = cutEnd(rest, []string{"좀", "한번", "목록", "리스트", "현황", "내역", "내용", "들", "된 거", "한 거", "된거", "한거", "상태"})
	}
	_, _, noun := cutEnd(rest, w.Nouns)
	return noun
}

func lastWords(text string, n int) string {
	f := strings.Fields(text)
	return strings.Join(f[max(0, len(f)-n):], " ")
}

// takesBack says whether a sentence is nothing but a wish to leave it: "아니야 됐어", "취소해 줘".
func (s *said) takesBack() bool {
	w := s.words()
	if !Has(s.text, w.Never) || s.when.anything() {
		return false
	}
	left := s.rest
	for _, list := range [][]string{w.Never, w.Nouns, w.Fill, {"해 줘", "해줘", "해", "줘", "할래", "요", "그거", "방금", "방금 거", "그", "이거", "아까", "한 거", "한거", "그냥", "아니", "하고 싶어", "싶어", "을", "를", "은", "는", "한"}} {
		for _, v := range slices.Backward(slices.SortedFunc(slices.Values(list), func(a, b string) int { return len(a) - len(b) })) {
			if s.english {
				left = strings.TrimSpace(strings.ReplaceAll(" "+left+" ", " "+v+" ", " "))
				continue
			}
			left = strings.TrimSpace(strings.ReplaceAll(left, v, " "))
		}
	}
	return strings.TrimSpace(left) == ""
}

// bare is what is left of an answer to a question when words that say nothing are taken off.
func (s *said) bare() string {
	w := s.words()
	fill := slices.SortedFunc(slices.Values(w.Fill), func(a, b string) int { return len(b) - len(a) })
	left := " " + s.rest + " "
	for range 3 {
		for _, v := range fill {
			left = strings.ReplaceAll(left, " "+v+" ", " ")
		}
		for _, v := range w.Nouns {
			left = strings.ReplaceAll(left, " "+v+" ", " ")
		}
	}
	return strings.TrimSpace(left)
}

// HoursIn are the hours that a sentence names, and its words without them; nil: it names no range. A part of the day that stands alone is
// its usual hours: 아침 is 6 to 10, 저녁 17 to 21.
func HoursIn(in turn.Input) (*turn.Hours, string) {
	s := read(in)
	w := s.when
	w.resolve(clockOr(in.Now))
	h := &turn.Hours{Days: sortedDays(w.days), From: clockText(w.start), To: clockText(w.end)}
	if len(h.Days) == 0 || len(h.Days) == 7 {
		h.Days = nil
	}
	if usual, ok := usualHours[w.part]; ok && w.start == unsaid {
		h.From, h.To = usual[0], usual[1]
	}
	if h.From == "" || h.To == "" || w.either {
		return nil, s.rest
	}
	return h, s.rest
}

var usualHours = map[string][2]string{"am": {"06:00", "10:00"}, "noon": {"11:00", "14:00"}, "pm": {"17:00", "21:00"}, "night": {"20:00", "23:00"}}
