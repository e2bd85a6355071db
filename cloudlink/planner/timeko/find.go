package timeko

import (
	"slices"
	"time"
	"unicode"
)

// Found is a value with its place in the text, in runes. Spaces in a row count once.
type Found struct {
	Value
	Start, End int
}

// Find reads every expression of every kind in a text, left to right; those of one kind do not overlap. The same words may be found as
// several kinds: "내일" is a date and an instant. Days and moments are counted from the reference.
func Find(said string, ref time.Time) []Found {
	c := calendar{newText(said), ref}
	var out []Found
	for _, k := range kinds {
		for at := 0; at < len(c.text); {
			v, end, ok := Value{}, 0, false
			if k.begins(c.text, at) {
				v, end, ok = k.read(c, at)
			}
			if !ok || end <= at {
				at++
				continue
			}
			v.Kind = k.kind
			out = append(out, Found{v, at, end})
			at = end
		}
	}
	return out
}

var kinds = []struct {
	kind   Kind
	begins func(text, int) bool
	read   func(calendar, int) (Value, int, bool)
}{
	{Number, atWord, func(c calendar, at int) (Value, int, bool) {
		n, e, ok := c.number(at)
		return Value{Number: n}, e, ok && c.standsAlone(at, e)
	}},
	{Duration, atWord, func(c calendar, at int) (Value, int, bool) {
		l, e, ok := c.length(at)
		return Value{Number: l.seconds()}, e, ok
	}},
	{Time, anywhere, func(c calendar, at int) (Value, int, bool) {
		clock, e, ok := c.clock(at)
		return Value{From: clock.seconds}, e, ok
	}},
	{TimeRange, anywhere, func(c calendar, at int) (Value, int, bool) { return c.timeRange(at) }},
	{Date, anywhere, func(c calendar, at int) (Value, int, bool) {
		day, e, ok := c.date(at)
		return Value{At: day, Grain: Day}, e, ok
	}},
	{DateTime, anywhere, func(c calendar, at int) (Value, int, bool) {
		moment, g, e, ok := c.dateTime(at)
		return Value{At: moment, Grain: g}, e, ok
	}},
	{Set, anywhere, func(c calendar, at int) (Value, int, bool) {
		timex, e, ok := c.set(at)
		return Value{Timex: timex}, e, ok
	}},
	{Relative, atWord, func(c calendar, at int) (Value, int, bool) {
		p, e, ok := eatKey(c.text, at, words.Relatives)
		return Value{Place: p}, e, ok
	}},
	{Instant, anywhere, func(c calendar, at int) (Value, int, bool) { return c.instant(at) }},
}

// atWord says whether a word begins here. A numeral inside a word would be no numeral: "사과" is no four.
func atWord(t text, at int) bool {
	return t[at] != ' ' && (at == 0 || !unicode.IsLetter(t[at-1]) && !isDigit(t[at-1]))
}

// standsAlone says whether a numeral is more than the first syllable of some other word: 사과 is no four.
func (t text) standsAlone(at, end int) bool {
	if end-at > 1 || isDigit(t[at]) {
		return true
	}
	rest := at + 1
	for rest < len(t) && unicode.IsLetter(t[rest]) {
		rest++
	}
	return rest == end || slices.Contains(words.BehindOne, string(t[end:rest]))
}

func anywhere(t text, at int) bool {
	return t[at] != ' ' && (at == 0 || !isDigit(t[at-1]) || !isDigit(t[at]))
}
