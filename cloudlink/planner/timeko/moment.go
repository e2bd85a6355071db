package timeko

import "time"

// dateTime reads "내일 오전 10시", "월요일 2시 30분", "2분 내", "지금", "하루가 끝날 무렵".
func (c calendar) dateTime(at int) (moment time.Time, g Grain, end int, ok bool) {
	if e, found := c.eatAny(at, words.EndOfDay); found {
		return c.today().Add(24*time.Hour - time.Second), Second, e, true
	}
	if moment, l, e, found := c.offset(at); found && !l.byDays() {
		return moment, grains[l.finest], e, true
	}
	if day, e, found := c.date(at); found {
		if e, found := c.eatAny(e, words.EndOf); found {
			return day.Add(24*time.Hour - time.Second), Second, e, true
		}
		for _, link := range []string{"에", "의", ",", "t"} {
			if after, found := c.eat(e, link); found {
				e = after
				break
			}
		}
		if clock, e, found := c.clock(e); found {
			return day.Add(time.Duration(clock.seconds) * time.Second), clock.grain, e, true
		}
		return moment, "", 0, false
	}
	if clock, e, found := c.clock(at); found {
		if day, e, found := c.date(e); found && clock.part != "" {
			return day.Add(time.Duration(clock.seconds) * time.Second), clock.grain, e, true
		}
		return moment, "", 0, false
	}
	if e, found := c.eatAny(at, words.Now); found {
		return c.ref, Second, e, true
	}
	return moment, "", 0, false
}

// instant reads any moment with its grain: what dateTime and date read, the next time that a clock shows, and weeks, months and years.
func (c calendar) instant(at int) (v Value, end int, ok bool) {
	take := func(at time.Time, g Grain, e int, found bool) {
		if found && e > end {
			v, end, ok = Value{Kind: Instant, At: at, Grain: g}, e, true
		}
	}
	moment, g, e, found := c.dateTime(at)
	take(moment, g, e, found)
	if moment, l, e, found := c.offset(at); found {
		take(moment, grains[l.finest], e, true)
	}
	day, e, found := c.date(at)
	take(day, Day, e, found)
	if clock, e, found := c.clock(at); found {
		take(clock.next(c.ref), clock.grain, e, true)
	}
	first, g, e, found := c.period(at)
	take(first, g, e, found)
	return v, end, ok
}

// period reads a week, a month or a year: "다음 주", "10월", "2015년 9월 첫번째주", "내년".
func (c calendar) period(at int) (first time.Time, g Grain, end int, ok bool) {
	y, e, hasYear := c.year(at)
	if hasYear {
		first, g, end, ok = time.Date(y, 1, 1, 0, 0, 0, 0, c.ref.Location()), Year, e, true
		at = e
	}
	from := at
	shift, e, shifted := eatKey(c.text, at, words.Shifts)
	if shifted && !hasYear {
		if e2, found := c.eatAny(e, words.WeekWords); found && !c.begins(e2, "말") {
			return monday(c.today()).AddDate(0, 0, 7*shift), Week, e2, true
		}
		if _, m, e2, found := c.month(e); found {
			first, end := c.shiftedMonth(m, shift), e2
			return first, Month, end, true
		}
	}
	my, m, e, found := c.month(from)
	if !found {
		return first, g, end, ok
	}
	switch {
	case my > 0:
		y = my
	case !hasYear:
		y = c.ref.Year()
		if time.Month(m) < c.ref.Month() {
			y++
		}
	}
	first, g, end, ok = time.Date(y, time.Month(m), 1, 0, 0, 0, 0, c.ref.Location()), Month, e, true
	if n, e2, found := eatKey(c.text, e, words.Ordinals); found && n > 0 {
		if e3, found := c.eat(e2, "주"); found {
			return nth(y, m, 1, n, c.ref.Location()), Week, e3, true
		}
	}
	return first, g, end, ok
}

// shiftedMonth is the next, this or last month of a name.
func (c calendar) shiftedMonth(m, shift int) time.Time {
	first := time.Date(c.ref.Year(), time.Month(m), 1, 0, 0, 0, 0, c.ref.Location())
	switch this := cut(c.ref, Month); {
	case shift > 0 && !first.After(this):
		return first.AddDate(1, 0, 0)
	case shift < 0 && !first.Before(this):
		return first.AddDate(-1, 0, 0)
	}
	return first
}
