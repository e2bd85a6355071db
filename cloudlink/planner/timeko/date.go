package timeko

import (
	"regexp"
	"strconv"
	"time"
)

// calendar reads dates from a reference.
type calendar struct {
	text
	ref time.Time
}

func (c calendar) today() time.Time { return cut(c.ref, Day) }

// date reads a day in any of the ways people name one; the longest reading counts.
func (c calendar) date(at int) (day time.Time, end int, ok bool) {
	for _, read := range []func(int) (time.Time, int, bool){c.inDigits, c.calendarDate, c.dayOfMonth, c.weekday, c.nthWeekday, c.dayWord, c.holiday, c.away, c.workingDays} {
		if d, e, found := read(at); found && e > end {
			day, end, ok = d, e, true
		}
	}
	if ok {
		if d, e, found := c.countedFrom(day, end); found {
			return d, e, true
		}
	}
	return day, end, ok
}

// countedFrom reads "부터 4일 후" behind a day.
func (c calendar) countedFrom(day time.Time, at int) (time.Time, int, bool) {
	from, ok := c.eatAny(at, []string{"로부터", "으로부터", "부터", "에서"})
	if !ok {
		return day, 0, false
	}
	l, end, ok := c.length(from)
	if !ok || !l.byDays() {
		return day, 0, false
	}
	if e, before := c.eatAny(end, words.Before); before {
		return l.from(day, -1), e, true
	}
	for _, list := range [][]string{words.After, words.Within, words.During} {
		if e, found := c.eatAny(end, list); found {
			return l.from(day, 1), e, true
		}
	}
	return l.from(day, 1), end, true
}

var (
	yearFirst = regexp.MustCompile(`^(\d{4})\s?[-/.]\s?(\d{1,2})\s?[-/.]\s?(\d{1,2})`)
	yearLast  = regexp.MustCompile(`^(\d{1,2})\s?[-/.]\s?(\d{1,2})\s?[-/.,]\s?(\d{4}|\d{2})`)
	noYear    = regexp.MustCompile(`^(\d{1,2})(?:[/-]|[.])(\d{1,2})(?:[^\d.]|$)`)
)

// inDigits reads 2017-03-07, 3-7-2017 (month first, unless that is no month), 89/05/05, 04/22.
func (c calendar) inDigits(at int) (day time.Time, end int, ok bool) {
	at = c.skip(at)
	if at > 0 && (isDigit(c.text[at-1]) || c.text[at-1] == '-') {
		return day, 0, false
	}
	rest := string(c.text[at:])
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	if m := yearFirst.FindStringSubmatch(rest); m != nil {
		return c.valid(number(m[1]), number(m[2]), number(m[3]), at+len([]rune(m[0])))
	}
	if m := yearLast.FindStringSubmatch(rest); m != nil {
		a, b, y := number(m[1]), number(m[2]), number(m[3])
		end := at + len([]rune(m[0]))
		switch {
		case len(m[3]) == 2 && a > 31:
			return c.valid(century(a), b, y, end)
		case a > 12:
			a, b = b, a
		}
		if len(m[3]) == 2 {
			y = century(y)
		}
		return c.valid(y, a, b, end)
	}
	if m := noYear.FindStringSubmatch(rest); m != nil {
		a, b := number(m[1]), number(m[2])
		if a > 12 {
			a, b = b, a
		}
		return c.coming(a, b, at+len(m[1])+1+len(m[2]))
	}
	return day, 0, false
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// century completes a year of two digits: 89 is 1989, 15 is 2015.
func century(y int) int {
	if y < 40 {
		return 2000 + y
	}
	return 1900 + y
}

func (c calendar) valid(y, m, d, end int) (time.Time, int, bool) {
	day := time.Date(y, time.Month(m), d, 0, 0, 0, 0, c.ref.Location())
	return day, end, m >= 1 && m <= 12 && d >= 1 && day.Day() == d
}

// coming is the first such day that is not before the reference; 29 February may be years away.
func (c calendar) coming(m, d, end int) (time.Time, int, bool) {
	for y := c.ref.Year(); y <= c.ref.Year()+8; y++ {
		if day, end, ok := c.valid(y, m, d, end); ok && !day.Before(c.today()) {
			return day, end, true
		}
	}
	return time.Time{}, 0, false
}

// year reads "2018년", "이천십팔년", "내년".
func (c calendar) year(at int) (y, end int, ok bool) {
	if shift, e, found := eatKey(c.text, at, words.Years); found {
		return c.ref.Year() + shift, e, true
	}
	n, e, ok := c.plain(at)
	if end, found := c.eat(e, "년"); ok && found && n >= 10 && n < 10000 && n == float64(int(n)) && !c.begins(end, "간", "전", "후", "도 전") {
		y := int(n)
		if y < 100 {
			y = century(y)
		}
		return y, end, true
	}
	return 0, 0, false
}

// month reads "8월", "시월", "다음 달", as year (0: not said) and month.
func (c calendar) month(at int) (y, m, end int, ok bool) {
	if m, e, found := eatKey(c.text, at, words.Months); found {
		return 0, m, e, true
	}
	if n, e, found := c.plain(at); found && n >= 1 && n <= 12 && n == float64(int(n)) {
		if end, ok := c.eat(e, "월"); ok && !c.begins(end, "요일") {
			return 0, int(n), end, true
		}
	}
	if shift, e, found := eatKey(c.text, at, words.Shifts); found {
		if end, ok := c.eatAny(e, words.MonthWords); ok && !c.begins(end, "요일") {
			first := cut(c.ref, Month).AddDate(0, shift, 0)
			return first.Year(), int(first.Month()), end, true
		}
	}
	return 0, 0, 0, false
}

// day reads "21일", "이십일일".
func (c calendar) day(at int) (d, end int, ok bool) {
	n, e, ok := c.plain(at)
	if end, found := c.eat(e, "일"); ok && found && n >= 1 && n <= 31 && n == float64(int(n)) && !c.begins(end, "간", "전", "후", "뒤", "동안", "마다", "내", "안", "째") {
		return int(n), end, true
	}
	// 이십일일: the reading takes 이십일 for the number and leaves 일; 십일 may also be ten and its unit
	for cut := e - 1; ok && cut > at; cut-- {
		part := c.text[:cut]
		n, e2, found := part.plain(at)
		if end, is := c.eat(e2, "일"); found && is && e2 == cut && end == e && n >= 1 && n <= 31 && n == float64(int(n)) && !c.begins(end, "간", "전", "후", "월") {
			return int(n), end, true
		}
	}
	return 0, 0, false
}

// yearBehind reads the year behind a day, also without its unit: "9월 21일 1978".
func (c calendar) yearBehind(at int) (y, end int, ok bool) {
	if y, end, ok = c.year(at); ok {
		return y, end, ok
	}
	n, end, ok := c.digits(c.skip(at))
	_, _, unit := eatKey(c.text, end, words.Units)
	return int(n), end, ok && !unit && n >= 1000 && n < 10000 && n == float64(int(n))
}

// dayBehind reads the day behind a month, also without its unit: "1월 21".
func (c calendar) dayBehind(at int) (d, end int, ok bool) {
	if d, end, ok = c.day(at); ok {
		return d, end, ok
	}
	n, end, ok := c.digits(c.skip(at))
	_, _, unit := eatKey(c.text, end, words.Units)
	return int(n), end, ok && !unit && n >= 1 && n <= 31 && n == float64(int(n))
}

// calendarDate reads "2019년 4월 3일 수요일", "5월 21일", "토요일 5월 이십일일 이천십육년", "다음 달 20일", "내년 5월 3일".
func (c calendar) calendarDate(at int) (day time.Time, end int, ok bool) {
	if _, e, found := eatKey(c.text, at, words.Weekdays); found {
		at = e
	}
	y, e, hasYear := c.year(at)
	if hasYear {
		at = e
	}
	my, m, e, ok := c.month(at)
	if !ok {
		return day, 0, false
	}
	if my > 0 {
		y, hasYear = my, true
	}
	d, e, ok := c.dayBehind(e)
	if !ok {
		return day, 0, false
	}
	if !hasYear {
		if late, e2, found := c.yearBehind(e); found {
			y, e, hasYear = late, e2, true
		}
	}
	e = c.withWeekday(e)
	if hasYear {
		return c.valid(y, m, d, e)
	}
	return c.coming(m, d, e)
}

// withWeekday passes over a weekday that only repeats what the date says.
func (c calendar) withWeekday(at int) int {
	e := at
	if after, ok := c.eat(at, ","); ok {
		e = after
	}
	if after, ok := c.eat(e, "("); ok {
		e = after
	}
	if _, after, ok := eatKey(c.text, e, words.Weekdays); ok {
		return after
	}
	return at
}

// dayOfMonth reads "15일", "22일 금요일": the next such day.
func (c calendar) dayOfMonth(at int) (day time.Time, end int, ok bool) {
	d, e, ok := c.day(at)
	if !ok {
		return day, 0, false
	}
	end = c.withWeekday(e)
	day, _, ok = c.valid(c.ref.Year(), int(c.ref.Month()), d, end)
	if ok && !day.Before(c.today()) || end > e {
		return day, end, ok // a weekday that is said fits this month or none
	}
	next := cut(c.ref, Month).AddDate(0, 1, 0)
	return c.valid(next.Year(), int(next.Month()), d, end)
}

// weekday reads "금요일" (the next one), "이번 주 금요일", "다음 금요일" (of next week), "다가오는 금요일".
func (c calendar) weekday(at int) (day time.Time, end int, ok bool) {
	if e, found := c.eatAny(at, words.Coming); found {
		if d, e, found := eatKey(c.text, e, words.Weekdays); found {
			return c.following(d), e, true
		}
	}
	if d, e, found := eatKey(c.text, at, words.Weekdays); found {
		return c.following(d), e, true // 금요일 is no 금주
	}
	shift, e, shifted := eatKey(c.text, at, words.Shifts)
	if shifted {
		at = e
		if e, found := c.eatAny(at, words.WeekWords); found {
			at = e
			if e, found := c.eat(at, "의"); found {
				at = e
			}
		}
	}
	d, e, ok := eatKey(c.text, at, words.Weekdays)
	if !ok || !shifted {
		return day, 0, false
	}
	return monday(c.today()).AddDate(0, 0, 7*shift+d-1), e, true
}

// following is the first such weekday that is not before the reference.
func (c calendar) following(weekday int) time.Time {
	return c.today().AddDate(0, 0, (weekday-isoDay(c.today())+7)%7)
}

// nthWeekday reads "10월 둘째 수요일", "다음 달 두 번째 월요일", "4월 마지막 월요일", "첫째주 일요일".
func (c calendar) nthWeekday(at int) (day time.Time, end int, ok bool) {
	y, e, hasYear := c.year(at)
	if hasYear {
		at = e
	}
	my, m, e, hasMonth := c.month(at)
	if hasMonth {
		at = e
		if e, found := c.eat(at, "의"); found {
			at = e
		}
	} else {
		my, m = c.ref.Year(), int(c.ref.Month())
	}
	n, e, ok := eatKey(c.text, at, words.Ordinals)
	if !ok || n < 0 && !hasMonth {
		return day, 0, false
	}
	if after, found := c.eat(e, "주"); found {
		e = after
	}
	d, e, ok := eatKey(c.text, e, words.Weekdays)
	if !ok {
		return day, 0, false
	}
	switch {
	case my > 0:
		y = my
	case !hasYear:
		y = c.ref.Year()
		if nth(y, m, d, n, c.ref.Location()).Before(c.today()) {
			y++
		}
	}
	return nth(y, m, d, n, c.ref.Location()), e, true
}

// nth is the n-th such weekday of a month, the last for -1.
func nth(y, m, weekday, n int, loc *time.Location) time.Time {
	if n < 0 {
		last := time.Date(y, time.Month(m)+1, 0, 0, 0, 0, 0, loc)
		return last.AddDate(0, 0, -((isoDay(last) - weekday + 7) % 7))
	}
	first := time.Date(y, time.Month(m), 1, 0, 0, 0, 0, loc)
	return first.AddDate(0, 0, (weekday-isoDay(first)+7)%7+7*(n-1))
}

// dayWord reads "모레".
func (c calendar) dayWord(at int) (day time.Time, end int, ok bool) {
	weeks, e, shifted := eatKey(c.text, at, words.Shifts)
	if e, week := c.eatAny(e, words.WeekWords); shifted && week {
		if shift, e, found := eatKey(c.text, e, words.DayWords); found {
			return c.today().AddDate(0, 0, 7*weeks+shift), e, true // "다음 주 오늘"
		}
	}
	shift, e, ok := eatKey(c.text, at, words.DayWords)
	if !ok {
		return day, 0, false
	}
	return c.today().AddDate(0, 0, shift), e, true
}

// holiday reads "광복절", "내년 새해", "2017년 크리스마스".
func (c calendar) holiday(at int) (day time.Time, end int, ok bool) {
	y, e, hasYear := c.year(at)
	if hasYear {
		at = e
	}
	on := func(y int) time.Time { return time.Time{} }
	if h, e, found := eatKey(c.text, at, words.Holidays); found {
		on, end, ok = func(y int) time.Time { return time.Date(y, time.Month(h[0]), h[1], 0, 0, 0, 0, c.ref.Location()) }, e, true
	}
	if h, e, found := eatKey(c.text, at, words.Moving); found && e > end {
		on, end, ok = func(y int) time.Time { return nth(y, h[0], h[1], h[2], c.ref.Location()) }, e, true
	}
	if dates, e, found := eatKey(c.text, at, words.Lunar); found && e > end {
		for _, text := range dates { // in order
			day, err := time.ParseInLocation("2006-01-02", text, c.ref.Location())
			if err == nil && (hasYear && day.Year() == y || !hasYear && !day.Before(c.today())) {
				return day, e, true
			}
		}
	}
	if !hasYear {
		y = c.ref.Year()
		if ok && on(y).Before(c.today()) {
			y++
		}
	}
	return on(y), end, ok
}

// workingDays reads "영업일 기준으로 나흘 후": Saturdays and Sundays do not count.
func (c calendar) workingDays(at int) (day time.Time, end int, ok bool) {
	e, ok := c.eatAny(at, words.WorkingDays)
	if !ok {
		return day, 0, false
	}
	l, e, ok := c.length(e)
	end, after := c.eatAny(e, words.After)
	if !ok || !after || l.finest != "d" || l.counts["d"] > 366 {
		return day, 0, false
	}
	day = c.today()
	for n := int(l.counts["d"]); n > 0; {
		day = day.AddDate(0, 0, 1)
		if isoDay(day) < 6 {
			n--
		}
	}
	return day, end, true
}

// away reads "삼일 후", "이틀 전", "2주 내", "2년 21일 지나서": whole days from the reference.
func (c calendar) away(at int) (day time.Time, end int, ok bool) {
	moment, l, end, ok := c.offset(at)
	if !ok || !l.byDays() {
		return day, 0, false
	}
	return cut(moment, Day), end, true
}

// offset reads a length that is counted from the reference.
func (c calendar) offset(at int) (moment time.Time, l length, end int, ok bool) {
	l, e, ok := c.length(at)
	if !ok {
		return moment, l, 0, false
	}
	if l.some {
		l.counts[l.finest]++ // some days ago are three, for some days are two
	}
	if after, found := c.eat(e, "정도"); found {
		e = after
	}
	for _, way := range []struct {
		words []string
		sign  int
	}{{words.After, 1}, {words.Within, 1}, {words.Before, -1}} {
		if e, found := c.eatAny(e, way.words); found {
			return l.from(c.ref, way.sign), l, e, true
		}
	}
	return moment, l, 0, false
}
