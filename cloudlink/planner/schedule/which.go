package schedule

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"deviceagent/cloudlink/planner/turn"
)

// meant are the kept schedules that a sentence may mean by its words and times. all says that it means every one of them.
func (b *Book) meant(in turn.Input, s *said, w when) (ids []string, all bool) {
	kept := in.Around.Schedules
	about := b.about(in, s)
	for _, k := range kept {
		if fitsTime(k, w) && about.fits(k) {
			ids = append(ids, k.WorkflowID)
		}
	}
	return ids, HasWord(s.text, s.words().All)
}

// subject is what a sentence names of a schedule: an operation, or words of it.
type subject struct {
	function string
	words    []string
	reminder bool
}

// about reads what a sentence names: "청정 예약 취소해 줘" is about cleaning. Nothing: any schedule will do.
func (b *Book) about(in turn.Input, s *said) subject {
	w := s.words()
	left := " " + s.rest + " "
	if s.english {
		var keep []string
		for _, f := range strings.Fields(left) {
			if !slices.Contains(w.Nouns, f) && !slices.Contains(w.Frame, f) {
				keep = append(keep, f)
			}
		}
		left = strings.Join(keep, " ")
	} else {
		for _, list := range [][]string{w.Cancel, w.Change, w.All, w.Show, w.CancelWithNoun, w.Ask, w.Nouns} {
			for _, v := range slices.SortedFunc(slices.Values(list), func(a, b string) int { return len(b) - len(a) }) {
				if len([]rune(v)) > 1 || HasWord(left, []string{v}) {
					left = strings.ReplaceAll(left, v, " ")
				}
			}
		}
		var keep []string
		for _, f := range strings.Fields(left) {
			f = trimParticle(f)
			if r := []rune(f); len(r) > 0 && unicode.IsDigit(r[0]) {
				continue // a length or a number names no schedule
			}
			if slices.Contains(w.Frame, f) || f == "" {
				continue
			}
			keep = append(keep, f)
		}
		left = strings.Join(keep, " ")
	}
	if left == "" {
		return subject{reminder: hasOnly(s, w)}
	}
	sub := subject{words: strings.Fields(left)}
	if t := b.taskIn(in, left, s.english); t.known {
		sub.function = t.function
	}
	return sub
}

// hasOnly says whether a sentence names reminders alone by their noun: 알람 is no cleaning.
func hasOnly(s *said, w *lists) bool {
	only := []string{"알람", "알림", "리마인더", "모닝콜", "기상벨", "타이머"}
	if s.english {
		only = []string{"alarm", "reminder", "timer"}
	}
	return Has(s.text, only) && !Has(s.text, []string{"예약", "스케줄", "schedule"})
}

func (x subject) fits(k turn.Kept) bool {
	switch {
	case x.reminder:
		return k.Function == Reminder
	case len(x.words) == 0, x.function != "" && x.function == k.Function:
		return true
	}
	text := Squeeze(strings.ToLower(k.What + k.Utterance))
	return slices.ContainsFunc(x.words, func(w string) bool { return len([]rune(w)) > 1 && strings.Contains(text, strings.ToLower(w)) })
}

// fitsTime says whether a schedule is one of a time: "6시 예약" may be at 6 or at 18.
func fitsTime(k turn.Kept, w when) bool {
	at := minutesIn(k.Schedule.At)
	if w.start != unsaid && at != w.start && !(w.either && at == w.start+halfDay) {
		return false
	}
	if len(w.days) > 0 && !slices.Equal(sortedDays(w.days), sortedDays(k.Schedule.Days)) {
		return false
	}
	return w.on == "" || onDate(k, w.on)
}

// onDate says whether a schedule is due on a date.
func onDate(k turn.Kept, date string) bool {
	if k.Schedule.On != "" {
		return k.Schedule.On == date
	}
	day, err := time.Parse(time.DateOnly, date)
	return err == nil && slices.Contains(k.Schedule.Days, DayNames[day.Weekday()])
}

func sortedDays(days []string) []string {
	return slices.SortedFunc(slices.Values(days), func(a, b string) int { return slices.Index(isoNames, a) - slices.Index(isoNames, b) })
}

// chosen are the targets that an answer picks out of those that were offered, in their order: by number, by time, by name, or all.
func (b *Book) chosen(in turn.Input, s *said, offered []string) []string {
	w := s.words()
	if HasWord(s.text, w.All) {
		return offered
	}
	for _, text := range slices.SortedFunc(keysOf(w.Numbers), func(a, b string) int { return len(b) - len(a) }) {
		if !strings.Contains(Squeeze(s.text), Squeeze(text)) {
			continue
		}
		n := w.Numbers[text]
		if n < 0 {
			return offered[len(offered)-1:]
		}
		if n <= len(offered) {
			return offered[n-1 : n]
		}
		return nil
	}
	if !s.when.anything() && b.about(in, s).empty() {
		return nil
	}
	ids, _ := b.meant(in, s, s.when)
	return slices.DeleteFunc(slices.Clone(offered), func(id string) bool { return !slices.Contains(ids, id) })
}

func (x subject) empty() bool { return len(x.words) == 0 && !x.reminder }

func keysOf(m map[string]int) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func keptOf(in turn.Input, id string) (turn.Kept, bool) {
	i := slices.IndexFunc(in.Around.Schedules, func(k turn.Kept) bool { return k.WorkflowID == id })
	if i < 0 {
		return turn.Kept{}, false
	}
	return in.Around.Schedules[i], true
}
