package schedule

import (
	"slices"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// mixed says whether something is asked for before the time is said, so that nobody knows whether it is meant for now: "거실 청정하고 저녁 7시에
// 안방으로 가".
func (b *Book) mixed(in turn.Input, s *said) bool {
	if len(s.found) == 0 || s.english {
		return false
	}
	before := strings.TrimSpace(string(s.runes[:s.found[0].Start]))
	for _, link := range []string{"고", "서", "그리고", "다음에", "뒤에", "후에", "다가", "면서"} {
		if strings.HasSuffix(before, link) && !strings.HasSuffix(before, "에서") {
			return b.taskIn(in, before, false).known
		}
	}
	return false
}

// notRead: the words of what is to be done are no order that the robot knows. It is asked what is missing of it, or refused by name; what can
// be done is to remind of it.
func (b *Book) notRead(in turn.Input, s *said, t task, slots turn.Slots, by string) turn.Decision {
	d := owned(opCreate, by, s)
	d.FamilyConfidence = "medium"
	if t.doubt != nil {
		d.AskFollowUp, d.MissingSlots, d.AmbiguityReason, d.TTSResponse = true, t.doubt.MissingSlots, t.doubt.AmbiguityReason, t.doubt.TTSResponse
		return d
	}
	d.AmbiguityReason = "not_schedulable_here"
	if s.when.anything() || !s.noun {
		d.TTSResponse = say(s.english, "not_ours_now", topic(t.request, s.english))
		return d
	}
	slots.Function, slots.Request, slots.Text, slots.Missing = Reminder, "", noun(t.request), []string{slotStart}
	d.AskFollowUp, d.MissingSlots, d.Slots, d.TTSResponse = true, slots.Missing, &slots, say(s.english, "not_ours", topic(t.request, s.english))
	return d
}

// complete makes the schedule if nothing is missing, and else asks for the first thing that is.
func (b *Book) complete(in turn.Input, s *said, slots turn.Slots, now when, by string) turn.Decision {
	d := owned(opCreate, by, s)
	w := of(&slots).with(now)
	slots.Missing = nil
	settled := w
	settled.resolve(in.Now)
	if now.delay > 0 {
		w = settled
	}
	w.into(&slots)
	ask := func(slot, key string, args ...any) turn.Decision {
		slots.Missing = []string{slot}
		d.TurnMode, d.AskFollowUp, d.MissingSlots, d.Slots = "multi_turn", true, slots.Missing, &slots
		d.AmbiguityReason, d.TTSResponse = "slot_missing", say(s.english, key, args...)
		return d
	}
	t := task{known: true, function: Reminder, text: slots.Text}
	switch {
	case slots.Text != "":
		t = remind(slots.Text, s.english)
	case slots.Request != "":
		t = b.taskIn(in, slots.Request, s.english)
	default:
		return ask(slotFunction, "what")
	}
	switch {
	case t.refused != "":
		d.AmbiguityReason, d.TTSResponse = "not_schedulable", say(s.english, "cannot", topic(t.refused, s.english))
		return d
	case now.period:
		return ask(slotStart, "period")
	case now.twice:
		return ask(slotStart, "one_by_one")
	case settled.start == unsaid && settled.end != unsaid:
		return ask(slotStart, "end_only")
	case settled.start == unsaid && !settled.anything():
		return ask(slotStart, map[bool]string{false: "when", true: "when_told"}[slots.Text != ""])
	case settled.start == unsaid:
		return ask(slotStart, "hour")
	case settled.past:
		slots.On, slots.Start, slots.Open = "", "", nil
		return ask(slotStart, "past")
	case settled.either:
		h := strings.TrimPrefix(strings.TrimPrefix(HourText(slots.Start), "오전 "), "오후 ")
		if s.english {
			return ask(slotStart, "half", kitchen(slots.Start)[:len(kitchen(slots.Start))-3])
		}
		return ask(slotStart, "half", h, h)
	}
	if first, ok := Next(settled.wire(in.Now), in.Now); ok && settled.from > first.Format(time.DateOnly) && !slices.Contains(open(in), slotConfirm) {
		return ask(slotConfirm, "from_now", begins(settled.wire(in.Now), in.Now, s.english))
	}
	return b.created(in, s, d, t, settled)
}

// created is the schedule as a wish, with the steps that are done then.
func (b *Book) created(in turn.Input, s *said, d turn.Decision, t task, w when) turn.Decision {
	if t.function == Reminder {
		w.end = unsaid // of an event that lasts it is said when it begins
	}
	sched := w.wire(in.Now)
	d.Steps = b.until(t.steps, sched)
	d.TurnMode = turn.Mode(d.Steps)
	d.Schedule = &turn.ScheduleWish{Verb: opCreate, Schedule: &sched, Function: t.function, What: t.what}
	if len(w.days) > 0 {
		d.Structure = []string{turn.Recurring}
	}
	key := "create"
	if in.Around.Link == "link_lost" {
		key = "create_later"
	}
	d.TTSResponse = say(s.english, key, begins(sched, in.Now, s.english), t.ack)
	return d
}

// wire is the time in the words of the contract.
func (w when) wire(now time.Time) wire.Schedule {
	s := wire.Schedule{Days: sortedDays(w.days), At: clockText(w.start), EndAt: clockText(w.end), TZ: now.Location().String()}
	if len(w.days) == 0 {
		s.Days, s.On = nil, w.on
	} else if w.until != "" {
		s.Until = &w.until
	}
	return s
}
