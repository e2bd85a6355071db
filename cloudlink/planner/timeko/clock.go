package timeko

import "time"

// clock is a time of day as it was said.
type clock struct {
	seconds int
	part    string // am, pm, noon, night, or nothing
	parts   bool   // minutes or seconds were said
	grain   Grain
}

// clock reads "오후 7시 56분 13초", "저녁 8시 반", "8:00", "3pm", "자정", "자정 12시".
func (t text) clock(at int) (c clock, end int, ok bool) {
	part, e, found := eatKey(t, at, words.Parts)
	if found {
		if c, end, ok = t.hours(e); ok {
			c.part = part
			return c.inPart(), t.about(end), true
		}
	}
	if s, e, found := eatKey(t, at, words.Moments); found {
		return clock{seconds: s, part: "exact", grain: Hour}, t.about(e), true
	}
	c, end, ok = t.hours(at)
	if !ok {
		return clock{}, 0, false
	}
	if c.part == "" {
		if part, e, found := eatKey(t, end, words.Latin); found {
			c.part, end = part, e
		}
	}
	return c.inPart(), t.about(end), true
}

// about passes over "쯤", "정각".
func (t text) about(at int) int {
	if e, ok := t.eatAny(at, words.About); ok {
		return e
	}
	return at
}

// hours reads the hour with what is finer.
func (t text) hours(at int) (c clock, end int, ok bool) {
	h, e, ok := t.plain(at)
	if !ok || h < 0 || h > 24 || h != float64(int(h)) {
		return clock{}, 0, false
	}
	c = clock{seconds: int(h) * 3600, grain: Hour}
	if e < len(t) && t[e] == ':' {
		return t.colons(c, e)
	}
	if end, ok = t.eat(e, "시"); ok {
		if _, isSpan := t.eat(end, "간"); isSpan {
			return clock{}, 0, false
		}
		return t.finer(c, end)
	}
	c.part, end, ok = eatKey(t, e, words.Latin)
	return c, end, ok
}

func (t text) colons(c clock, at int) (clock, int, bool) {
	for _, unit := range []int{60, 1} {
		n, e, ok := t.digits(at + 1)
		if at >= len(t) || t[at] != ':' || !ok || n >= 60 {
			break
		}
		c.seconds, c.parts, at, c.grain = c.seconds+int(n)*unit, true, e, Minute
		if unit == 1 {
			c.grain = Second
		}
	}
	return c, at, c.parts
}

// finer reads minutes and seconds, or a half.
func (t text) finer(c clock, at int) (clock, int, bool) {
	if e, ok := t.eat(at, words.Half); ok {
		c.seconds, c.parts, c.grain = c.seconds+1800, true, Minute
		return c, e, true
	}
	for _, unit := range []struct {
		word    string
		seconds int
		grain   Grain
	}{{"분", 60, Minute}, {"초", 1, Second}} {
		n, e, ok := t.plain(at)
		if !ok || n < 0 || n >= 60 {
			continue
		}
		if e, ok = t.eat(e, unit.word); !ok {
			continue
		}
		if _, fraction := t.eat(e, "의"); fraction && unit.word == "분" {
			break
		}
		if before, is := t.eat(e, "전"); is && unit.word == "분" { // "8시 15분 전" is 7:45
			c.seconds, c.parts, c.grain = c.seconds-int(n)*60, true, Minute
			return c, before, c.seconds >= 0
		}
		c.seconds, c.parts, c.grain, at = c.seconds+int(n)*unit.seconds, true, unit.grain, e
	}
	return c, at, true
}

// inPart moves the hour into its part of the day: 오후 7시 is 19, 밤 12시 and 새벽 12시 are 0, 낮 1시 is 13.
func (c clock) inPart() clock {
	h := c.seconds / 3600
	switch {
	case c.part == "am" && h == 12, c.part == "night" && h == 12, h == 24:
		c.seconds -= h * 3600
	case c.part == "pm" && h < 12, c.part == "night" && h >= 6 && h < 12, c.part == "noon" && h < 7:
		c.seconds += 12 * 3600
	}
	return c
}

// times are the readings that a time of day may have: 7시 is 7 and 19.
func (c clock) times() []int {
	if c.part == "" && c.seconds < 12*3600 {
		return []int{c.seconds, c.seconds + 12*3600}
	}
	return []int{c.seconds}
}

// next is the first moment after the reference at which the clock shows it.
func (c clock) next(ref time.Time) time.Time {
	day := cut(ref, Day)
	for _, d := range []int{0, 1} {
		for _, s := range c.times() {
			if at := day.AddDate(0, 0, d).Add(time.Duration(s) * time.Second); !at.Before(ref) {
				return at
			}
		}
	}
	return day
}

// timeRange reads "1시 30분부터 오후 3시까지", "5시에서 6시 사이", "오전 7시까지", "이른 아침", "저녁에".
func (t text) timeRange(at int) (v Value, end int, ok bool) {
	from, e, ok := t.clock(at)
	if !ok {
		if v, end, ok := t.hoursByDash(at); ok {
			return v, end, true
		}
		return t.partOfDay(at)
	}
	if after, found := t.eatAny(e, []string{"-", "~"}); found {
		if to, e, found := t.clock(after); found {
			a, b := between(from, to)
			return Value{Kind: TimeRange, From: a, To: b}, e, true
		}
	}
	for i, list := range [][]string{words.After, words.Before} {
		if e, found := t.eatAny(e, list); found {
			v := Value{Kind: TimeRange, From: Open, To: from.seconds}
			if i == 0 {
				v.From, v.To = from.seconds, Open
			}
			return v, e, true
		}
	}
	if after, found := t.eatAny(e, []string{"와", "과"}); found {
		if to, e2, found := t.clock(after); found {
			if e3, found := t.eatAny(e2, words.Between); found {
				a, b := between(from, to)
				return Value{Kind: TimeRange, From: a, To: b}, e3, true
			}
		}
	}
	if after, found := t.eatAny(e, words.From); found {
		to, e2, found := t.clock(after)
		if !found {
			return Value{Kind: TimeRange, From: from.seconds, To: Open}, after, true
		}
		for _, list := range [][]string{words.Until, words.Between} {
			if e, ok := t.eatAny(e2, list); ok {
				e2 = e
			}
		}
		a, b := between(from, to)
		return Value{Kind: TimeRange, From: a, To: b}, e2, true
	}
	if e, found := t.eatAny(e, words.Until); found {
		return Value{Kind: TimeRange, From: Open, To: from.seconds}, e, true
	}
	return Value{}, 0, false
}

// hoursByDash reads "오후 4-5시", "4~5시".
func (t text) hoursByDash(at int) (v Value, end int, ok bool) {
	part, e, found := eatKey(t, at, words.Parts)
	if found {
		at = e
	}
	n, e, ok := t.plain(at)
	e, dash := t.eatAny(e, []string{"-", "~"})
	to, end, found := t.clock(e)
	if !ok || !dash || !found || n > 24 || n != float64(int(n)) {
		return v, 0, false
	}
	a, b := between(clock{seconds: int(n) * 3600, part: part}.inPart(), to)
	return Value{Kind: TimeRange, From: a, To: b}, end, true
}

// between settles the halves of the day: 오후 5시에서 6시 ends at 18, 1시 30분부터 오후 3시 begins at 13:30.
func between(from, to clock) (int, int) {
	const half = 12 * 3600
	a, b := from.seconds, to.seconds
	switch {
	case from.part == "pm" && to.part == "" && b < half && b+half > a:
		b += half
	case from.part == "" && to.part == "pm" && a < half && a+half < b:
		a += half
	case from.part == "night" && to.part == "" && b == half:
		b = 0
	case from.part == "" && to.part == "am" && a < half && a > b:
		a += half // 11시부터 새벽 3시까지 begins in the evening: four hours, and not sixteen
	case (from.part == "" || from.part == "am") && to.part == "" && b <= a && b < half:
		b += half
	}
	return a, b
}

// partOfDay reads "아침", "이른 아침", "늦은 저녁에".
func (t text) partOfDay(at int) (v Value, end int, ok bool) {
	early, late := false, false
	if e, found := t.eatAny(at, words.Early); found {
		at, early = e, true
	} else if e, found := t.eatAny(at, words.Late); found {
		at, late = e, true
	}
	s, end, ok := eatKey(t, at, words.Spans)
	if !ok {
		return Value{}, 0, false
	}
	if e, found := t.eat(end, "에"); found {
		end = e
	}
	if e, found := t.eat(end, "일찍"); found {
		end, early = e, true
	} else if e, found := t.eat(end, "늦게"); found {
		end, late = e, true
	}
	a, b := s.from, s.to
	switch {
	case early:
		b = a + 2*3600
	case late:
		a += 2 * 3600
	}
	return Value{Kind: TimeRange, From: a, To: b, Timex: s.timex}, end, true
}
