package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"deviceagent/cloudlink/planner/timeko"
	"deviceagent/cloudlink/planner/turn"
)

// when is what was said of the time. An hour without its half of the day stays open until something settles it.
type when struct {
	days       []string
	on         string
	start, end int  // minutes of the day; unsaid
	either     bool // nothing tells the half of the day of the start
	eitherEnd  bool
	part       string
	delay      time.Duration
	period     bool   // again and again, but not by days of the week
	bareDay    bool   // the day is a weekday without its week
	from       string // "내일부터 매일": the first day
	until      string // "금요일까지 매일": the last one
	twice      bool   // two times, each for its own days
	lasts      int    // minutes, where the end was said so
	past       bool   // what was said is over
}

const (
	unsaid  = -1
	halfDay = 12 * 60
)

// anything says whether something was said of the time.
func (w when) anything() bool {
	return len(w.days) > 0 || w.on != "" || w.start != unsaid || w.end != unsaid || w.part != "" || w.delay > 0 || w.period
}

var isoNames = []string{"", "mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// whenOf joins what the expressions of a sentence say.
func whenOf(found []timeko.Occasion, text []rune) when {
	w := when{start: unsaid, end: unsaid}
	rules, starts := 0, 0
	for _, o := range found {
		switch o.Kind {
		case timeko.OnDays:
			rules++
			if len(w.days) == 0 || len(o.Days) < len(w.days) {
				w.days = nil
				for _, d := range o.Days {
					w.days = append(w.days, isoNames[d])
				}
			}
			if o.Part != "" {
				w.part = o.Part
			}
		case timeko.OnDay:
			if o.Tail == "까지" {
				w.until = o.Day.Format(time.DateOnly)
			} else if w.on == "" {
				w.on = o.Day.Format(time.DateOnly)
				said := strings.TrimSuffix(string(text[o.Start:o.End]), o.Tail)
				w.bareDay = strings.HasSuffix(said, "요일") && len([]rune(said)) == 3
			}
			if o.Part != "" {
				w.part = o.Part
			}
		case timeko.InPart:
			w.part = o.Part
		case timeko.After:
			w.delay = o.Delay
		case timeko.Period:
			w.period = true
		case timeko.AtClock:
			if w.takeClock(o); o.From.Said {
				starts++
			}
		}
	}
	w.twice = rules > 1 && starts > 1
	if len(w.days) > 0 && w.on != "" {
		w.from, w.on = w.on, ""
	} else if len(w.days) == 0 && w.until != "" {
		w.on, w.until = cmp.Or(w.on, w.until), ""
	}
	return w
}

func (w *when) takeClock(o timeko.Occasion) {
	if o.From.Said {
		w.start, w.either = o.From.Seconds/60%minutesOfADay, o.From.Either
		if o.From.Part != "" && o.From.Part != "exact" {
			w.part = o.From.Part
		}
	}
	if o.Till.Said {
		w.end, w.eitherEnd = o.Till.Seconds/60%minutesOfADay, o.Till.Either
	}
}

// with is what was said earlier with what is said now over it.
func (w when) with(now when) when {
	if len(now.days) > 0 {
		w.days, w.on = now.days, ""
	}
	if now.on != "" {
		w.on, w.days, w.bareDay = now.on, nil, now.bareDay
	}
	if now.start != unsaid {
		w.start, w.either, w.lasts = now.start, now.either, now.lasts
	}
	if now.end != unsaid {
		w.end, w.eitherEnd = now.end, now.eitherEnd
	}
	if now.part != "" {
		w.part = now.part
	}
	w.from, w.until = cmp.Or(now.from, w.from), cmp.Or(now.until, w.until)
	w.delay, w.period, w.twice = max(w.delay, now.delay), now.period, now.twice
	return w
}

// resolve settles what follows from a part of the day and from the present moment. What nothing settles stays open.
func (w *when) resolve(now time.Time) {
	if w.delay > 0 {
		at := now.Add(w.delay)
		if at.Second() > 0 || at.Nanosecond() > 0 {
			at = at.Truncate(time.Minute).Add(time.Minute) // a schedule has no seconds, and is never early
		}
		w.on, w.start, w.either, w.days = at.Format(time.DateOnly), at.Hour()*60+at.Minute(), false, nil
	}
	if w.start == unsaid {
		return
	}
	if w.either && w.part != "" {
		h := w.start / 60
		w.settle(w.part == "pm" || w.part == "noon" && h < 7 || w.part == "night" && h >= 6)
	}
	if len(w.days) == 0 {
		w.resolveDay(now)
	}
	if w.lasts > 0 {
		w.end, w.eitherEnd = (w.start+w.lasts)%minutesOfADay, false
	}
	if w.end != unsaid && w.eitherEnd && !w.either { // the first such moment after the start
		if w.end %= halfDay; w.end <= w.start {
			w.end += halfDay
		}
		if w.end <= w.start {
			w.end -= halfDay // on the day after
		}
		w.eitherEnd = false
	}
	if w.end == w.start {
		w.end = unsaid
	}
}

// settle says which half of the day is meant.
func (w *when) settle(late bool) {
	if w.either = false; late && w.start < halfDay {
		w.start += halfDay
	}
}

// resolveDay reckons a time without a day, which is the next one, and a day of which a part is over.
func (w *when) resolveDay(now time.Time) {
	today, minute := now.Format(time.DateOnly), now.Hour()*60+now.Minute()
	switch {
	case w.on == "" && w.either: // the next time that the clock shows it
		w.settle(w.start <= minute && w.start+halfDay > minute)
	case w.on == today && w.either && w.start <= minute:
		w.settle(true)
	}
	over := !w.either && w.start <= minute
	switch {
	case w.on == "":
		if w.on = today; over {
			w.on = now.AddDate(0, 0, 1).Format(time.DateOnly)
		}
	case w.on == today && over && w.bareDay:
		w.on = now.AddDate(0, 0, 7).Format(time.DateOnly)
	default:
		w.past = w.on < today || w.on == today && over
	}
}

// into writes what was said into slots.
func (w when) into(s *turn.Slots) {
	s.Days, s.On, s.Part, s.From, s.Until = w.days, w.on, w.part, w.from, w.until
	s.Start, s.End, s.Open = clockText(w.start), clockText(w.end), nil
	if w.either {
		s.Open = append(s.Open, slotStart)
	}
	if w.eitherEnd {
		s.Open = append(s.Open, slotEnd)
	}
}

// of reads slots back.
func of(s *turn.Slots) when {
	return when{days: slices.Clone(s.Days), on: s.On, part: s.Part, from: s.From, until: s.Until, start: minutesIn(s.Start), end: minutesIn(s.End),
		either: slices.Contains(s.Open, slotStart), eitherEnd: slices.Contains(s.Open, slotEnd)}
}

func clockText(minutes int) string {
	if minutes == unsaid {
		return ""
	}
	return fmt.Sprintf("%02d:%02d", minutes/60%24, minutes%60)
}

func minutesIn(text string) int {
	at, err := time.Parse("15:04", text)
	if err != nil {
		return unsaid
	}
	return at.Hour()*60 + at.Minute()
}
