package schedule

import (
	"slices"
	"time"

	"deviceagent/bridge/wire"
)

// DayNames are the days of the contract, by [time.Weekday].
var DayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Next is when a schedule begins next after a moment, by its own zone; false: never any more, or its zone or time cannot be read. The
// device reckons for itself, also where clocks are set back or forth; this is for telling people.
func Next(s wire.Schedule, after time.Time) (time.Time, bool) {
	zone, err := time.LoadLocation(s.TZ)
	at, badAt := time.Parse("15:04", s.At)
	if err != nil || badAt != nil {
		return time.Time{}, false
	}
	local := after.In(zone)
	for n := range 9 {
		day := time.Date(local.Year(), local.Month(), local.Day()+n, at.Hour(), at.Minute(), 0, 0, zone)
		if s.On != "" {
			on, err := time.ParseInLocation("2006-01-02", s.On, zone)
			if err != nil {
				return time.Time{}, false
			}
			day = time.Date(on.Year(), on.Month(), on.Day(), at.Hour(), at.Minute(), 0, 0, zone)
		} else if !slices.Contains(s.Days, DayNames[day.Weekday()]) {
			continue
		}
		if ended(s, day) {
			return time.Time{}, false
		}
		if day.After(after) {
			return day, true
		}
		if s.On != "" {
			return time.Time{}, false
		}
	}
	return time.Time{}, false
}

// ended says whether an occurrence lies behind the last day of a schedule.
func ended(s wire.Schedule, at time.Time) bool {
	if s.Until == nil {
		return false
	}
	if last, err := time.ParseInLocation("2006-01-02", *s.Until, at.Location()); err == nil {
		return !at.Before(last.AddDate(0, 0, 1))
	}
	last, err := time.Parse(time.RFC3339, *s.Until)
	return err == nil && at.After(last)
}

// Runs says whether a schedule that has an end is at work at a moment: begun, and not ended.
func Runs(s wire.Schedule, now time.Time) bool {
	at, err := time.Parse("15:04", s.At)
	end, badEnd := time.Parse("15:04", s.EndAt)
	if err != nil || badEnd != nil {
		return false
	}
	lasts := end.Sub(at)
	if lasts <= 0 {
		lasts += 24 * time.Hour
	}
	begun, ok := Next(s, now.Add(-lasts))
	return ok && !begun.After(now)
}
