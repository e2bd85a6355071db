package schedule

import (
	"slices"
	"strings"
	"time"

	"deviceagent/cloudlink/planner/timeko"
	"deviceagent/cloudlink/planner/turn"
)

// listed answers what is kept.
func (b *Book) listed(in turn.Input, s *said, by string) turn.Decision {
	d := owned(opList, by, s)
	if strings.Contains(Squeeze(s.text), "수있") && !HasWord(s.text, korean.Ask) && !Has(s.text, korean.Wonder) && Has(s.text, []string{"예약할", "설정할", "등록할", "맞출", "알릴", "추가할", "잡을"}) || s.english && strings.HasPrefix(s.text, "can you") {
		d.TTSResponse = say(s.english, "can")
		return d
	}
	d.Schedule = &turn.ScheduleWish{Verb: opList}
	var names []string
	ids, _ := b.meant(in, s, s.when)
	for _, id := range ids {
		k, _ := keptOf(in, id)
		name := named(k, in.Now, s.english)
		if k.State != "accepted" {
			name += map[bool]string{false: " (로봇의 답을 기다리는 중)", true: " (the robot has not answered yet)"}[s.english]
		}
		names = append(names, name)
	}
	slices.Sort(names)
	switch {
	case len(in.Around.Schedules) == 0:
		d.TTSResponse = say(s.english, "none")
	case len(names) == 0 && !s.when.anything() && b.about(in, s).function == "": // of words that name nothing it is not said that there is no such thing
		for _, k := range in.Around.Schedules {
			names = append(names, named(k, in.Now, s.english))
		}
		slices.Sort(names)
		d.TTSResponse = say(s.english, "none_fits_of", strings.Join(names, ", "))
	case len(names) == 0:
		d.TTSResponse = say(s.english, "none_fits")
	case len(names) == 1:
		d.TTSResponse = say(s.english, "list_one", names[0])
	default:
		d.TTSResponse = say(s.english, "list", len(names), strings.Join(names, ", "))
	}
	for _, k := range in.Around.Refused {
		d.TTSResponse += " " + say(s.english, "refused", named(k, in.Now, s.english))
	}
	return d
}

// toChange tells the schedule that is meant from the time that it is moved to: "6시 예약을 7시로", "청정 예약을 내일 8시로".
func (b *Book) toChange(in turn.Input, s *said, by string) turn.Decision {
	last := -1
	for i, o := range s.found {
		if isGoal(o) {
			last = i
		}
	}
	if n := len(s.found) - 1; last < 0 && n >= 0 && Has(string(s.runes[:s.found[0].Start]), s.words().Nouns) {
		last = n // "예약을 주말에만 하도록 바꿔 줘"
	}
	first := last
	for first > 0 && !Has(string(s.runes[s.found[first-1].End:s.found[first].Start]), s.words().Nouns) && s.found[first-1].Tail != "를" && s.found[first-1].Tail != "을" {
		first-- // "내일 8시로": the day belongs to it
	}
	from, next := s.found, s.found[:0:0]
	if last >= 0 {
		from, next = append(slices.Clone(s.found[:first]), s.found[last+1:]...), s.found[first:last+1]
	}
	ids, all := b.meant(in, s, whenOf(from, s.runes))
	slots := &turn.Slots{Operation: opChange, TurnID: in.TurnID, AskedAtMS: in.Now.UnixMilli()}
	to := whenOf(next, s.runes)
	if shift := s.shift(); shift != 0 && !to.anything() {
		slots.Shift = shift
	}
	to.into(slots)
	return b.settleTargets(in, s, slots, ids, all, by)
}

// shift is by how many minutes something is put off or brought forward: "30분 미뤄 줘", "한 시간 당겨 줘"; 0: it is not.
func (s *said) shift() int {
	later, sooner := Has(s.text, []string{"미뤄", "미루", "늦춰", "늦추"}), Has(s.text, []string{"당겨", "당기"})
	if s.english || later == sooner {
		return 0
	}
	for _, f := range timeko.Find(s.text, time.Time{}) {
		if minutes := int(f.Number) / 60; f.Kind == timeko.Duration && minutes > 0 && minutes < minutesOfADay {
			return map[bool]int{true: minutes, false: -minutes}[later]
		}
	}
	return 0
}

// settleTargets goes on with the one schedule that fits, asks which of several, and says so if there is none.
func (b *Book) settleTargets(in turn.Input, s *said, slots *turn.Slots, ids []string, all bool, by string) turn.Decision {
	if slots.Operation == opChange {
		all = false // one after the other: each has its own time
	}
	d := owned(slots.Operation, by, s)
	switch {
	case len(in.Around.Schedules) == 0:
		d.TTSResponse = say(s.english, "none")
		return d
	case len(ids) == 0:
		d.TTSResponse = say(s.english, "none_fits")
		return d
	case len(ids) > 1 && !all:
		next := *slots
		next.Targets, next.Missing = ids, []string{slotTarget}
		next.TurnID, next.AskedAtMS = in.TurnID, in.Now.UnixMilli()
		var names []string
		for _, id := range ids {
			k, _ := keptOf(in, id)
			names = append(names, named(k, in.Now, s.english))
		}
		d.TurnMode, d.AskFollowUp, d.MissingSlots, d.Slots = "multi_turn", true, next.Missing, &next
		d.AmbiguityReason, d.TTSResponse = "schedule_ambiguous", say(s.english, "which", strings.Join(names, ", "))
		return d
	case slots.Operation == opChange && slots.Shift != 0:
		k, _ := keptOf(in, ids[0])
		to := when{start: (minutesIn(k.Schedule.At) + slots.Shift + minutesOfADay) % minutesOfADay, end: unsaid}
		return b.changed(in, s, ids, to, by)
	case slots.Operation == opChange:
		return b.changed(in, s, ids, of(slots), by)
	}
	return cancelled(in, s, ids, by)
}

func cancelled(in turn.Input, s *said, ids []string, by string) turn.Decision {
	d := owned(opCancel, by, s)
	d.Schedule = &turn.ScheduleWish{Verb: opCancel, Targets: ids}
	if len(ids) > 1 {
		d.TTSResponse = say(s.english, "cancel_all", len(ids))
		return d
	}
	k, _ := keptOf(in, ids[0])
	d.TTSResponse = say(s.english, "cancel", named(k, in.Now, s.english))
	return d
}

// changed moves a schedule. What is not said stays: its days, its half of the day, how long it lasts.
func (b *Book) changed(in turn.Input, s *said, ids []string, to when, by string) turn.Decision {
	d := owned(opChange, by, s)
	k, ok := keptOf(in, ids[0])
	if !ok {
		d.TTSResponse = say(s.english, "none_fits")
		return d
	}
	if !to.anything() {
		slots := &turn.Slots{Operation: opChange, Targets: ids, Missing: []string{slotStart}, TurnID: in.TurnID, AskedAtMS: in.Now.UnixMilli()}
		d.TurnMode, d.AskFollowUp, d.MissingSlots, d.Slots = "multi_turn", true, slots.Missing, slots
		d.AmbiguityReason, d.TTSResponse = "slot_missing", say(s.english, "change_when")
		return d
	}
	old := k.Schedule
	lasts := window(old)
	if to.start == unsaid {
		to.start = minutesIn(old.At)
	} else if to.either && to.part == "" && to.delay == 0 { // in the half of the day in which it was
		to.settle(minutesIn(old.At) >= halfDay)
	}
	if len(to.days) == 0 && to.on == "" && to.delay == 0 {
		to.days, to.on = old.Days, old.On
	}
	if to.end == unsaid && lasts > 0 {
		to.end, to.eitherEnd = (to.start+lasts)%minutesOfADay, false
		if to.either {
			to.end = unsaid
		}
	}
	to.resolve(in.Now)
	if to.past {
		slots := &turn.Slots{Operation: opChange, Targets: ids, Missing: []string{slotStart}, TurnID: in.TurnID, AskedAtMS: in.Now.UnixMilli()}
		d.TurnMode, d.AskFollowUp, d.MissingSlots, d.Slots = "multi_turn", true, slots.Missing, slots
		d.AmbiguityReason, d.TTSResponse = "slot_missing", say(s.english, "past")
		return d
	}
	if to.end == unsaid && lasts > 0 {
		to.end = (to.start + lasts) % minutesOfADay
	}
	sched := to.wire(in.Now)
	sched.TZ, sched.Until = old.TZ, old.Until
	d.Schedule = &turn.ScheduleWish{Verb: opChange, Targets: ids[:1], Schedule: &sched, Function: k.Function, What: k.What}
	d.TTSResponse = say(s.english, "change", named(k, in.Now, s.english), toward(spoken(sched, in.Now, s.english), s.english))
	return d
}
