package timeko

import "time"

// length is a span of time as it was said, by unit.
type length struct {
	counts map[string]float64
	finest string
	some   bool // nobody said how many
}

func (l length) seconds() float64 {
	sum := 0.0
	for unit, n := range l.counts {
		sum += n * words.Seconds[unit]
	}
	return sum
}

// from adds the length to a moment, or takes it away: months and years by the calendar, halves of them by days.
func (l length) from(at time.Time, sign int) time.Time {
	whole := func(unit string) int { return sign * int(l.counts[unit]) }
	at = at.AddDate(whole("Y"), whole("M"), whole("d")+7*whole("w"))
	rest := 0.0
	for unit, n := range l.counts {
		if unit == "h" || unit == "m" || unit == "s" {
			rest += n * words.Seconds[unit]
		} else {
			rest += (n - float64(int(n))) * words.Seconds[unit]
		}
	}
	return at.Add(time.Duration(float64(sign)*rest) * time.Second)
}

// byDays says whether the length has no hours or finer.
func (l length) byDays() bool {
	return l.counts["h"] == 0 && l.counts["m"] == 0 && l.counts["s"] == 0
}

var grains = map[string]Grain{"s": Second, "m": Minute, "h": Hour, "d": Day, "w": Week, "M": Month, "Y": Year}

// length reads "1시간 30분", "3년 반", "일주일 그리고 사흘", "2년 21일", "몇 달", "반나절".
func (t text) length(at int) (l length, end int, ok bool) {
	l.counts = map[string]float64{}
	for {
		n, unit, e, found := t.counted(at)
		if !found || l.counts[unit] > 0 {
			break
		}
		l.counts[unit], l.finest, end, ok = n, unit, e, true
		_, l.some = t.eatAny(at, words.Few)
		if e, half := t.eat(end, words.Half); half && !t.begins(e, "드", "복", "응") {
			l.counts[unit] += 0.5
			return l, e, true
		}
		at = end
		if e, plus := t.eatAny(end, words.Plus); plus {
			at = e
		}
	}
	return l, end, ok
}

// counted reads a number with its unit, or a word for a number of days.
func (t text) counted(at int) (n float64, unit string, end int, ok bool) {
	if n, e, found := eatKey(t, at, words.Days); found {
		return n, "d", e, true
	}
	if e, found := t.eat(at, "시간반"); found {
		return 0.5, "h", e, true
	}
	if e, found := t.eatAny(at, words.Few); found {
		n, end = 2, e
	} else if e, found := t.eat(at, words.Half); found && !t.begins(e, " ") {
		n, end = 0.5, e
	} else if n, end, ok = t.plain(at); !ok || n < 0 {
		return 0, "", 0, false
	}
	unit, end, ok = eatKey(t, end, words.Units)
	if ok && t.begins(end, "요일", "의", "러") {
		return 0, "", 0, false // 삼 월요일, 삼분의 일, 100달러
	}
	return n, unit, end, ok
}

func (t text) begins(at int, list ...string) bool {
	for _, w := range list {
		if e, ok := t.eat(at, w); ok && t.skip(at) == at && e > at {
			return true
		}
	}
	return false
}
