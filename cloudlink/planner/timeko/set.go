package timeko

import "fmt"

// set reads how often: "매일", "격주로", "매주 일요일 아침 9시", "월요일마다", "3일마다", "매일 저녁", "평일마다".
func (c calendar) set(at int) (timex string, end int, ok bool) {
	if timex, e, found := c.everyDay(at); found {
		return timex, e, true
	}
	if timex, e, found := c.eachOf(at); found {
		return timex, e, true
	}
	if e, found := c.eatAny(at, words.EveryUnit); found {
		if d, e, found := eatKey(c.text, e, words.Weekdays); found {
			return c.atTime(fmt.Sprintf("XXXX-WXX-%d", d), e)
		}
		if timex, e, found := c.everyLength(e); found {
			return timex, e, true
		}
	}
	return "", 0, false
}

// everyDay reads a word of repetition with a weekday or a time behind it.
func (c calendar) everyDay(at int) (timex string, end int, ok bool) {
	timex, e, ok := eatKey(c.text, at, words.Every)
	if !ok {
		return "", 0, false
	}
	day := ""
	switch timex {
	case "P1W":
		if d, e2, found := eatKey(c.text, e, words.Weekdays); found {
			day, e = fmt.Sprintf("XXXX-WXX-%d", d), e2
		} else if g, e2, found := eatKey(c.text, e, words.Groups); found {
			day, e = "XXXX-WXX-"+g, e2
		}
	case "P1M":
		if d, e2, found := c.day(e); found {
			day, e = fmt.Sprintf("XXXX-XX-%02d", d), e2
		}
	case "P1Y":
		if _, m, e2, found := c.month(e); found {
			if d, e3, found := c.day(e2); found {
				day, e = fmt.Sprintf("XXXX-%02d-%02d", m, d), e3
			}
		}
	}
	if clock, e2, found := c.timex(e); found && (day != "" || timex == "P1D") {
		return day + clock, e2, true
	}
	if day != "" {
		return day, e, true
	}
	return timex, e, true
}

// timex reads a time or part of the day.
func (c calendar) timex(at int) (timex string, end int, ok bool) {
	if clock, e, found := c.clock(at); found {
		return clockTimex(clock), e, true
	}
	if s, e, found := eatKey(c.text, at, words.Spans); found {
		return s.timex, e, true
	}
	return "", 0, false
}

func clockTimex(c clock) string {
	text := fmt.Sprintf("T%02d", c.seconds/3600)
	if c.parts {
		text += fmt.Sprintf(":%02d", c.seconds/60%60)
	}
	if c.seconds%60 > 0 {
		text += fmt.Sprintf(":%02d", c.seconds%60)
	}
	return text
}

// eachOf reads "월요일마다", "주말마다 9시에", "3일마다".
func (c calendar) eachOf(at int) (timex string, end int, ok bool) {
	if d, e, found := eatKey(c.text, at, words.Weekdays); found {
		timex, end = fmt.Sprintf("XXXX-WXX-%d", d), e
	} else if g, e, found := eatKey(c.text, at, words.Groups); found {
		timex, end = "XXXX-WXX-"+g, e
	} else if timex, end, ok = c.everyLength(at); !ok {
		return "", 0, false
	}
	if clock, e, found := c.timex(end); found && timex[0] == 'X' { // "월요일 아침마다"
		if e, found := c.eatAny(e, words.Each); found {
			return timex + clock, e, true
		}
	}
	end, ok = c.eatAny(end, words.Each)
	if !ok {
		return "", 0, false
	}
	return c.atTime(timex, end)
}

// atTime adds a time of day to days that come again.
func (c calendar) atTime(timex string, at int) (string, int, bool) {
	if clock, e, found := c.timex(at); found && timex[0] == 'X' {
		return timex + clock, e, true
	}
	return timex, at, true
}

// everyLength writes one length as a period.
func (c calendar) everyLength(at int) (timex string, end int, ok bool) {
	l, end, ok := c.length(at)
	if !ok || len(l.counts) != 1 {
		return "", 0, false
	}
	n := l.counts[l.finest]
	switch l.finest {
	case "h", "m", "s":
		return fmt.Sprintf("PT%g%s", n, map[string]string{"h": "H", "m": "M", "s": "S"}[l.finest]), end, true
	}
	return fmt.Sprintf("P%g%s", n, map[string]string{"d": "D", "w": "W", "M": "M", "Y": "Y"}[l.finest]), end, true
}
