package timeko

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind is what a value is.
type Kind string

// The kinds, with their normal form as [Value.String] writes it.
const (
	Number    Kind = "number"    // decimal: -5, 0.6, 200.71
	Duration  Kind = "duration"  // seconds: 5400s; a month has 30 days, a year 365
	Time      Kind = "time"      // of the day: 19:30:00
	TimeRange Kind = "timerange" // 13:30:00/15:00:00; .. is an open end
	Date      Kind = "date"      // 2016-11-08
	DateTime  Kind = "datetime"  // 2016-11-08T19:30:00
	Set       Kind = "set"       // how often, as TIMEX: P1W, XXXX-WXX-7T09
	Relative  Kind = "relative"  // a place in a row: end-1, current+1
	Instant   Kind = "instant"   // a moment and how fine it is: 2013-02-12T15:00:00@hour
)

// Grain is how fine a moment is.
type Grain string

// The grains, fine to coarse.
const (
	Second Grain = "second"
	Minute Grain = "minute"
	Hour   Grain = "hour"
	Day    Grain = "day"
	Week   Grain = "week" // begins on Monday
	Month  Grain = "month"
	Year   Grain = "year"
)

// Value is a value in normal form. Which fields count follows from the kind.
type Value struct {
	Kind     Kind
	Number   float64 // number; seconds of a duration
	From, To int     // seconds of the day: From of a time, both of a range; Open where nothing is said
	At       time.Time
	Grain    Grain
	Timex    string
	Place    place
}

// Open is the end of a range of which nothing is said.
const Open = -1

func (v Value) String() string {
	switch v.Kind {
	case Number:
		return fmt.Sprintf("%.12g", v.Number)
	case Duration:
		return fmt.Sprintf("%.12gs", v.Number)
	case Time:
		return clockText(v.From)
	case TimeRange:
		return clockText(v.From) + "/" + clockText(v.To)
	case Date:
		return v.At.Format("2006-01-02")
	case DateTime:
		return v.At.Format("2006-01-02T15:04:05")
	case Instant:
		return v.At.Format("2006-01-02T15:04:05") + "@" + string(v.Grain)
	case Relative:
		return fmt.Sprintf("%s%+d", v.Place.to, v.Place.offset)
	}
	return v.Timex
}

// ParsePlace reads the normal form of a place in a row: end-1, current+0.
func ParsePlace(text string) (Value, error) {
	i := strings.LastIndexAny(text, "+-")
	if i < 0 {
		return Value{}, fmt.Errorf("%q is no place", text)
	}
	offset, err := strconv.Atoi(text[i:])
	if err != nil {
		return Value{}, fmt.Errorf("%q is no place: %w", text, err)
	}
	return Value{Kind: Relative, Place: place{text[:i], offset}}, nil
}

func clockText(seconds int) string {
	if seconds == Open {
		return ".."
	}
	return fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
}

// Equal is the rule by which two values of a kind are the same: numbers and durations up to a billionth, instants when both are cut to
// the coarser grain of the two, all else by its text.
func (v Value) Equal(other Value) bool {
	switch {
	case v.Kind != other.Kind:
		return false
	case v.Kind == Number || v.Kind == Duration:
		return math.Abs(v.Number-other.Number) <= 1e-9*math.Max(1, math.Max(math.Abs(v.Number), math.Abs(other.Number)))
	case v.Kind == Instant:
		g := v.Grain
		if rank[other.Grain] > rank[g] {
			g = other.Grain
		}
		return cut(v.At, g).Equal(cut(other.At, g))
	}
	return v.String() == other.String()
}

var rank = map[Grain]int{Second: 0, Minute: 1, Hour: 2, Day: 3, Week: 4, Month: 5, Year: 6}

// cut takes off what is finer than the grain.
func cut(at time.Time, g Grain) time.Time {
	y, m, d := at.Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, at.Location())
	switch g {
	case Minute:
		return at.Truncate(time.Minute)
	case Hour:
		return day.Add(time.Duration(at.Hour()) * time.Hour)
	case Day:
		return day
	case Week:
		return monday(day)
	case Month:
		return time.Date(y, m, 1, 0, 0, 0, 0, at.Location())
	case Year:
		return time.Date(y, 1, 1, 0, 0, 0, 0, at.Location())
	}
	return at.Truncate(time.Second)
}

func monday(day time.Time) time.Time { return day.AddDate(0, 0, -isoDay(day)+1) }

// isoDay is 1 for Monday, 7 for Sunday.
func isoDay(day time.Time) int { return (int(day.Weekday())+6)%7 + 1 }
