package timeko

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// OccasionKind is what an expression says of when something is to be done.
type OccasionKind string

// The kinds of occasions.
const (
	OnDays  OccasionKind = "days"   // each week on these days
	OnDay   OccasionKind = "day"    // on one date
	AtClock OccasionKind = "clock"  // at a time of day, or from one to another, or until one
	InPart  OccasionKind = "part"   // in a part of the day, no hour said
	After   OccasionKind = "after"  // some time from now
	Period  OccasionKind = "period" // again and again, but not by days of the week: 격주, 매달 3일
)

// Clock is a time of day. Either says that nothing tells the half of the day: 6시 is 6 and 18.
type Clock struct {
	Said    bool
	Seconds int
	Either  bool
	Part    string // am, pm, noon, night: as it was said
}

// Occasion is an expression of when something is to be done, with its place in the text, in runes. What counts follows from the kind.
type Occasion struct {
	Kind       OccasionKind
	Days       []int // ISO: Monday is 1
	Day        time.Time
	From, Till Clock
	Part       string
	Delay      time.Duration
	Tail       string // the particle behind it, left out of nothing: 로 in "7시로"
	Start, End int    // with the particle
}

// Occasions reads, left to right, when something is to be done. It gives the text as the places count it: lower case, spaces in a row
// once. Days are counted from the reference. Words that a known expression does not begin with are left alone.
func Occasions(said string, ref time.Time) (string, []Occasion) {
	c := calendar{newText(said), ref}
	var out []Occasion
	free := true // a word may begin here although no space stands before
	for at := 0; at < len(c.text); {
		if c.text[at] == ' ' || !free && !atWord(c.text, at) && !c.strong(at) {
			at, free = at+1, false
			continue
		}
		o, ok := c.occasion(at)
		if !ok {
			at, free = at+1, false
			continue
		}
		o.Start = at
		o.Tail, o.End = c.tail(o.End)
		out = append(out, o)
		at, free = o.End, true
	}
	return string(c.text), out
}

// strong says whether a word stands here that begins an expression also in the middle of what was written without spaces.
func (c calendar) strong(at int) bool {
	_, ok := c.eatAny(at, words.Strong)
	return ok && c.skip(at) == at
}

// occasion reads the longest expression at a place.
func (c calendar) occasion(at int) (o Occasion, ok bool) {
	for _, read := range []func(int) (Occasion, bool){c.onPeriod, c.onDays, c.after, c.atClock, c.onDay, c.inPart} {
		if x, found := read(at); found && x.End > o.End {
			o, ok = x, true
		}
	}
	return o, ok
}

// tail reads the particle behind an expression. One of a single syllable that words begin with counts at the end of its word only.
func (c calendar) tail(at int) (string, int) {
	for _, p := range words.Tails {
		end, ok := c.eat(at, p)
		if !ok || c.skip(at) != at {
			continue
		}
		if strings.Contains("이가은는을를도만", p) && end < len(c.text) && c.text[end] != ' ' {
			continue
		}
		return p, end
	}
	return "", at
}

var everyDay = []int{1, 2, 3, 4, 5, 6, 7}

var groupDays = map[string][]int{"WD": {1, 2, 3, 4, 5}, "WE": {6, 7}, "ALL": everyDay}

// onDays reads "매일", "평일", "월수금", "월요일 목요일마다", "매주 화요일", "월요일부터 금요일까지".
func (c calendar) onDays(at int) (Occasion, bool) {
	if g, e, ok := eatKey(c.text, at, words.DayGroups); ok && c.skip(at) == at {
		if after, each := c.eatAny(e, words.Each); each {
			e = after
		}
		if _, part, found := eatKey(c.text, e, words.Parts); found && strings.HasSuffix(string(c.text[:part]), "마다") {
			e = part
		}
		return Occasion{Kind: OnDays, Days: groupDays[g], End: e}, true
	}
	if days, e, ok := c.initials(at); ok {
		return Occasion{Kind: OnDays, Days: days, End: e}, true
	}
	if _, e, ok := eatKey(c.text, at, words.Parts); ok { // 아침마다
		if _, each := c.eat(e, "마다"); each {
			part, _, _ := eatKey(c.text, at, words.Parts)
			after, _ := c.eat(e, "마다")
			return Occasion{Kind: OnDays, Days: everyDay, Part: part, End: after}, true
		}
	}
	weekly := false
	if every, e, ok := eatKey(c.text, at, words.Every); ok && every == "P1W" {
		at, weekly = e, true
	} else if e, ok := c.eat(at, "매"); ok {
		at, weekly = e, true
	}
	if g, e, ok := eatKey(c.text, at, words.DayGroups); ok && weekly {
		return Occasion{Kind: OnDays, Days: groupDays[g], End: e}, true
	}
	if days, e, ok := c.initials(at); ok && weekly {
		return Occasion{Kind: OnDays, Days: days, End: e}, true
	}
	days, e := c.weekdayList(at)
	if len(days) == 0 {
		return Occasion{}, false
	}
	if after, each := c.eatAny(e, words.Each); each {
		e, weekly = after, true
	}
	return Occasion{Kind: OnDays, Days: days, End: e}, weekly || len(days) > 1
}

// initials reads 월수금, 화목: at least two, in the order of the week.
func (c calendar) initials(at int) (days []int, end int, ok bool) {
	for end = at; end < len(c.text); end++ {
		day := slices.Index([]rune("월화수목금토일"), c.text[end]) + 1
		if day == 0 || len(days) > 0 && day <= days[len(days)-1] {
			break
		}
		days = append(days, day)
	}
	if e, found := c.eat(end, "요일"); found && c.skip(end) == end {
		end = e
	}
	_, after := c.tail(end)
	if e, each := c.eat(end, "마다"); each {
		after, end = e, e
	}
	whole := after >= len(c.text) || !unicode.IsLetter(c.text[after])
	return days, end, len(days) > 1 && whole
}

// weekdayList reads "월요일, 수요일 그리고 금요일", "월요일부터 금요일까지".
func (c calendar) weekdayList(at int) (days []int, end int) {
	for {
		d, e, ok := eatKey(c.text, at, words.Weekdays)
		if !ok || slices.Contains(days, d) {
			return days, end
		}
		days, end = append(days, d), e
		if from, ok := c.eat(e, "부터"); ok && len(days) == 1 {
			last, e, found := eatKey(c.text, from, words.Weekdays)
			if found && last > d {
				for d < last {
					d++
					days = append(days, d)
				}
				if after, ok := c.eat(e, "까지"); ok {
					e = after
				}
				return days, e
			}
		}
		at = e
		if after, ok := c.eatAny(e, words.DayLinks); ok {
			at = after
		}
	}
}

// onPeriod reads what comes again otherwise than by days of the week.
func (c calendar) onPeriod(at int) (Occasion, bool) {
	timex, e, ok := c.set(at)
	if !ok || timex == "P1D" || timex[0] == 'T' || timex == "P1W" || strings.HasPrefix(timex, "XXXX-WXX-") {
		return Occasion{}, false
	}
	return Occasion{Kind: Period, End: e}, true
}

// after reads "30분 뒤", "두 시간 있다가".
func (c calendar) after(at int) (Occasion, bool) {
	l, e, ok := c.length(at)
	if !ok || l.byDays() || l.some {
		return Occasion{}, false
	}
	if after, about := c.eatAny(e, words.About); about {
		e = after
	}
	e, ok = c.eatAny(e, words.After)
	return Occasion{Kind: After, Delay: time.Duration(l.seconds() * float64(time.Second)), End: e}, ok
}

// onDay reads a date.
func (c calendar) onDay(at int) (Occasion, bool) {
	day, e, ok := c.date(at)
	return Occasion{Kind: OnDay, Day: day, End: e}, ok && !day.IsZero()
}

// inPart reads a part of the day that stands alone: "아침에", "저녁".
func (c calendar) inPart(at int) (Occasion, bool) {
	part, e, ok := eatKey(c.text, at, words.Parts)
	if !ok {
		return Occasion{}, false
	}
	_, after := c.tail(e)
	alone := after >= len(c.text) || c.text[after] == ' '
	return Occasion{Kind: InPart, Part: part, End: e}, alone
}

// atClock reads "오후 6시 반", "6시부터 7시까지", "오전 9시~10시", "4-5시", "7시까지".
func (c calendar) atClock(at int) (Occasion, bool) {
	from, e, ok := c.clock(at)
	if !ok {
		return c.dashed(at)
	}
	o := Occasion{Kind: AtClock, From: c.said(from, at), End: e}
	for _, link := range words.ClockLinks {
		next, linked := c.eat(e, link)
		if !linked {
			continue
		}
		if next, at, to, found := c.second(next); found {
			o.End = next
			o.From, o.Till = c.settle(from, at, to, o.From)
			return o, true
		}
	}
	if e, ok := c.eatAny(e, words.Until); ok {
		return Occasion{Kind: AtClock, Till: o.From, End: e}, true
	}
	return o, true
}

// second reads the end of a range.
func (c calendar) second(at int) (end, begun int, to clock, ok bool) {
	to, e, ok := c.clock(at)
	if !ok {
		return 0, 0, to, false
	}
	for _, list := range [][]string{words.Until, words.Between} {
		if after, found := c.eatAny(e, list); found {
			e = after
		}
	}
	return e, c.skip(at), to, true
}

// settle gives both ends their half of the day as far as one tells that of the other.
func (c calendar) settle(from clock, at int, to clock, said Clock) (Clock, Clock) {
	a, b := between(from, to)
	till := c.said(to, at)
	if till.Either && (!said.Either || from.part != "") || b != to.seconds {
		till.Either = false
	}
	if a != from.seconds || said.Either && !till.Either && to.part != "" {
		said.Either = false
	}
	said.Seconds, till.Seconds = a, b
	return said, till
}

// dashed reads "4-5시", "오후 4~5시".
func (c calendar) dashed(at int) (Occasion, bool) {
	part, e, named := eatKey(c.text, at, words.Parts)
	if !named {
		e = at
	}
	n, e, ok := c.plain(e)
	e, dash := c.eatAny(e, []string{"-", "~"})
	if !ok || !dash || n > 24 || n != float64(int(n)) {
		return Occasion{}, false
	}
	end, begun, to, found := c.second(e)
	if !found {
		return Occasion{}, false
	}
	from := clock{seconds: int(n) * 3600, part: part}.inPart()
	o := Occasion{Kind: AtClock, End: end}
	o.From, o.Till = c.settle(from, begun, to, c.said(from, at))
	return o, true
}

// said is a time of day as it was said. 07:30 and 18시 leave nothing open, nor does 12시, which is noon.
func (c calendar) said(k clock, at int) Clock {
	at = c.skip(at)
	zero := at < len(c.text) && c.text[at] == '0'
	return Clock{Said: true, Seconds: k.seconds, Part: k.part, Either: k.part == "" && k.seconds < 12*3600 && !zero}
}
