package people

import (
	"slices"
	"time"

	"deviceagent/cloudlink/planner/schedule"
	"deviceagent/cloudlink/planner/turn"
)

// Why an offer is not made. Text: sent and kept.
const (
	NotApproved  = "offer_not_approved"  // nobody has said yes to it
	OutsideHours = "offer_outside_hours" // it was approved for other hours
	Refused      = "offer_refused"       // for good
	TooSoon      = "offer_too_soon"      // it was offered within the last hour
	NotAnOffer   = "offer_not_an_order"  // what would be offered is no order of this robot
)

// between two offers of one thing.
const offerEvery = time.Hour

// MayOffer says whether an operation may be offered at a moment, in the zone of the home; the reason where it may not. last is when it was
// offered before; zero: never. A refusal goes over every approval.
func MayOffer(memos []turn.Memo, key string, last, now time.Time) (reason string, ok bool) {
	about := func(kind string) (out []turn.Memo) {
		for _, m := range memos {
			if m.Kind == kind && (m.Key == key || kind == turn.MemoRefusal && m.Key == "") {
				out = append(out, m)
			}
		}
		return out
	}
	approved := about(turn.MemoOffer)
	switch {
	case len(about(turn.MemoRefusal)) > 0:
		return Refused, false
	case len(approved) == 0:
		return NotApproved, false
	case !slices.ContainsFunc(approved, func(m turn.Memo) bool { return Within(m.Hours, now) }):
		return OutsideHours, false
	case !last.IsZero() && now.Sub(last) < offerEvery:
		return TooSoon, false
	}
	return "", true
}

// Within says whether a moment lies inside hours. Without hours nothing does: an approval always names some.
func Within(h *turn.Hours, now time.Time) bool {
	if h == nil {
		return false
	}
	from, err := time.Parse("15:04", h.From)
	to, bad := time.Parse("15:04", h.To)
	if err != nil || bad != nil {
		return false
	}
	minute := now.Hour()*60 + now.Minute()
	a, b := from.Hour()*60+from.Minute(), to.Hour()*60+to.Minute()
	day := now
	in := minute >= a && minute < b
	if b <= a { // over midnight
		if in = minute >= a || minute < b; minute < b {
			day = now.AddDate(0, 0, -1) // it began the day before
		}
	}
	return in && (len(h.Days) == 0 || slices.Contains(h.Days, schedule.DayNames[day.Weekday()]))
}
