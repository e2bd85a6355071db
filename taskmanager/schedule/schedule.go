package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Spec is a schedule in the words of the contract. Exactly one of Days and On is given.
type Spec struct {
	Days  []string // mon tue wed thu fri sat sun
	On    string   // 2026-12-24
	At    string   // 18:00
	EndAt string   // 19:00; not later than At: on the day after. "": it has no end
	TZ    string   // Asia/Seoul
	Until string   // the last day, 2026-12-31, or a moment with its zone after which nothing begins. "": for ever
}

// Fault is one thing that is wrong with a Spec.
type Fault struct {
	Field   string // as in the contract: days, on, at, end_at, until
	Missing bool   // it is not there, and has to be
	Message string
}

// Rule is a Spec that was read. The zone is not part of it.
type Rule struct {
	days   [7]bool
	on     day // the zero day: by days of the week
	at     time.Duration
	lasts  time.Duration // nominal, 0: it has no end
	until  day           // the zero day: no last one
	before time.Time     // the zero time: no last moment
}

// day is a date without a zone.
type day struct {
	year  int
	month time.Month
	day   int
}

// Occurrence is one time at which a plan is due.
type Occurrence struct {
	Start time.Time
	End   time.Time // the zero time: it has none
	Stamp string    // 20261224T1800: the day and the time as they are written, the same however the clocks are set
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Parse reads a Spec and names every fault.
func Parse(s Spec) (Rule, []Fault) {
	var r Rule
	var faults []Fault
	fault := func(field string, missing bool, format string, args ...any) {
		faults = append(faults, Fault{field, missing, fmt.Sprintf(format, args...)})
	}
	switch {
	case len(s.Days) == 0 && s.On == "":
		fault("days", true, "a schedule has days, or one date (on)")
	case len(s.Days) > 0 && s.On != "":
		fault("on", false, "a schedule has days or one date, not both")
	}
	for _, d := range s.Days {
		switch i := slices.Index(weekdays, d); {
		case i < 0:
			fault("days", false, "%q is none of %s", d, strings.Join(weekdays, " "))
		case r.days[i]:
			fault("days", false, "%s is named twice", d)
		default:
			r.days[i] = true
		}
	}
	var ok bool
	if s.On != "" {
		if r.on, ok = parseDay(s.On); !ok {
			fault("on", false, "%q is no date such as 2026-12-24", s.On)
		}
	}
	if r.at, ok = parseClock(s.At); !ok {
		fault("at", s.At == "", "%q is no time of day from 00:00 to 23:59", s.At)
	}
	if s.EndAt != "" {
		end, fits := parseClock(s.EndAt)
		switch {
		case !fits:
			fault("end_at", false, "%q is no time of day from 00:00 to 23:59", s.EndAt)
		case ok && end == r.at:
			fault("end_at", false, "it ends when it begins")
		case end < r.at:
			end += 24 * time.Hour
			fallthrough
		default:
			r.lasts = end - r.at
		}
	}
	if s.Until != "" {
		var err error
		if r.until, ok = parseDay(s.Until); !ok {
			if r.before, err = time.Parse(time.RFC3339, s.Until); err != nil {
				fault("until", false, "%q is neither a date such as 2026-12-31 nor a time with a zone", s.Until)
			}
		}
	}
	return r, faults
}

func parseDay(text string) (day, bool) {
	t, err := time.Parse("2006-01-02", text)
	if err != nil {
		return day{}, false
	}
	return dayOf(t), true
}

func parseClock(text string) (time.Duration, bool) {
	t, err := time.Parse("15:04", text)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err == nil && len(text) == 5
}

func dayOf(t time.Time) day {
	y, m, d := t.Date()
	return day{y, m, d}
}

// wall is a time on a day as if there were no zones.
func (d day) wall(at time.Duration) time.Time {
	return time.Date(d.year, d.month, d.day, 0, 0, 0, 0, time.UTC).Add(at)
}

func (d day) add(n int) day { return dayOf(d.wall(0).AddDate(0, 0, n)) }

// Next is the first occurrence that begins after a moment. ok false: there is none any more.
func (r Rule) Next(after time.Time, zone *time.Location) (o Occurrence, ok bool) {
	for _, d := range r.around(after, zone) {
		if o, ok = r.occurrence(d, zone); ok && o.Start.After(after) {
			return o, true
		}
	}
	return Occurrence{}, false
}

// Last is the latest occurrence that begins at a moment or before it. ok false: there was none, or none in the last week.
func (r Rule) Last(upTo time.Time, zone *time.Location) (o Occurrence, ok bool) {
	for _, d := range slices.Backward(r.around(upTo, zone)) {
		if o, ok = r.occurrence(d, zone); ok && !o.Start.After(upTo) {
			return o, true
		}
	}
	return Occurrence{}, false
}

// around lists the days on which the neighbours of a moment may lie: a week on both sides, and two days for what zones do.
func (r Rule) around(t time.Time, zone *time.Location) []day {
	if r.on != (day{}) {
		return []day{r.on}
	}
	out := make([]day, 0, 19)
	today := dayOf(t.In(zone))
	for n := -9; n <= 9; n++ {
		out = append(out, today.add(n))
	}
	return out
}

// occurrence is what the rule says of a day.
func (r Rule) occurrence(d day, zone *time.Location) (Occurrence, bool) {
	wall := d.wall(r.at)
	if r.on == (day{}) && !r.days[wall.Weekday()] || r.until != (day{}) && d.wall(0).After(r.until.wall(0)) {
		return Occurrence{}, false
	}
	o := Occurrence{Start: moment(wall, zone), Stamp: wall.Format("20060102T1504")}
	if !r.before.IsZero() && o.Start.After(r.before) {
		return Occurrence{}, false
	}
	if r.lasts > 0 {
		if o.End = moment(wall.Add(r.lasts), zone); !o.End.After(o.Start) {
			o.End = o.Start.Add(r.lasts) // both lie in one gap
		}
	}
	return o, true
}

// moment is the first moment at which the clocks of a zone show a time, or one behind it where they skip it. wall is written in UTC.
func moment(wall time.Time, zone *time.Location) time.Time {
	t := wall.Add(-26 * time.Hour) // no zone is that far from UTC: its clocks show less
	for range 64 {                 // periods of one offset; a zone has a handful of them in two days at most
		local := t.In(zone)
		_, offset := local.Zone()
		start, end := local.ZoneBounds()
		at := wall.Add(-time.Duration(offset) * time.Second)
		if end.IsZero() || at.Before(end) {
			if at.Before(start) { // the period began behind it: it was skipped
				return start.UTC()
			}
			return at.UTC()
		}
		t = end
	}
	return wall
}
