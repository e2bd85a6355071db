package schedule

import (
	"slices"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/timeko"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Book decides about schedules. It is built once and may be used by several goroutines at once.
type Book struct {
	cat  *catalog.Catalog
	read func(turn.Input) turn.Decision
}

// New makes a book over a catalog. read is how words are read as an order of now; it must be pure, and never fails.
func New(cat *catalog.Catalog, read func(turn.Input) turn.Decision) *Book {
	return &Book{cat: cat, read: read}
}

// The slots that may be missing.
const (
	slotFunction = "schedule_function"
	slotStart    = "start_time"
	slotEnd      = "end_time"
	slotTarget   = "target"
	slotConfirm  = "confirm"
)

// The ways in which a turn comes to schedules, as its evidence names them.
const (
	byFragment = "answer_to_open_slots"
	byFocus    = "schedule_spoken_of_last"
	byOnly     = "nothing_else_to_cancel"
	byWords    = "words_of_a_schedule"
	byTime     = "time_of_day_on_an_order"
)

// Shortcut answers a turn that only makes sense by what was left open: a fragment that fills a slot, "됐어" that leaves it, "취소해 줘"
// right after a schedule was made. false: the words have a sense of their own.
func (b *Book) Shortcut(in turn.Input) (turn.Decision, bool) {
	open := in.Around.Slots
	if open == nil && len(in.Around.Schedules) == 0 || in.Now.IsZero() {
		return turn.Decision{}, false
	}
	s := read(in)
	if open != nil && len(open.Missing) > 0 {
		return b.fill(in, s, open)
	}
	if d, ok := b.ofSpoken(in, s); ok {
		return d, true
	}
	return b.onlyCancel(in, s)
}

// ofSpoken: what is said right after a schedule was made or changed may be about it.
func (b *Book) ofSpoken(in turn.Input, s *said) (turn.Decision, bool) {
	targets := slices.DeleteFunc(slices.Clone(in.Around.Spoken), func(id string) bool { _, ok := keptOf(in, id); return !ok })
	if len(targets) == 0 {
		return turn.Decision{}, false
	}
	switch {
	case !s.question && s.takesBack() && !hasWord(s.text, s.words().All):
		return cancelled(in, s, targets, byFocus), true
	case s.op == opChange && !s.noun && !s.question && s.when.anything() && len(targets) == 1 && b.about(in, s).empty():
		return b.changed(in, s, targets, s.when, byFocus), true
	case s.movesTo() && !s.question && len(targets) == 1 && len(s.found) > 0 && strings.Trim(strings.ReplaceAll(s.bare(), "아니", ""), " ") == "": // "아니 7시로"
		return b.changed(in, s, targets, s.when, byFocus), true
	}
	return turn.Decision{}, false
}

// onlyCancel: a bare "취소해 줘" with nothing under way and no schedule at work means a schedule, if there is one.
func (b *Book) onlyCancel(in turn.Input, s *said) (turn.Decision, bool) {
	w := s.words()
	if len(in.Around.Schedules) == 0 || len(in.Around.Workflows) > 0 || len(in.Around.Sessions) > 0 || s.question || s.noun || !has(s.text, w.Cancel) || hasWord(s.text, w.All) || !s.takesBack() {
		return turn.Decision{}, false
	}
	for _, k := range in.Around.Schedules {
		if Runs(k.Schedule, in.Now) {
			return turn.Decision{}, false // its work is what is to end
		}
	}
	var ids []string
	for _, k := range in.Around.Schedules {
		ids = append(ids, k.WorkflowID)
	}
	return b.settleTargets(in, s, &turn.Slots{Operation: opCancel}, ids, false, byOnly), true
}

// fill takes an answer to what was asked. It is one if nothing is left of it beside the time, or what is left is what was asked for.
func (b *Book) fill(in turn.Input, s *said, open *turn.Slots) (turn.Decision, bool) {
	if s.takesBack() {
		d := owned(opCreate, byFragment, s)
		d.TTSResponse = say(s.english, "dropped")
		return d, true
	}
	if s.question || slices.Contains(open.Missing, slotTarget) {
		return b.fillTarget(in, s, open)
	}
	next := *open
	if slices.Contains(open.Missing, slotConfirm) && !s.when.anything() {
		return b.complete(in, s, next, s.when, byFragment), slices.Contains(s.words().Yes, s.text)
	}
	bare := s.bare()
	w := s.when
	if part, ok := s.words().Parts[partWord(bare)]; ok { // "오후요"
		w.part, bare = part, ""
	}
	switch {
	case open.Operation == opChange:
		if !w.anything() || bare != "" && s.op != opChange {
			return turn.Decision{}, false
		}
		return b.changed(in, s, open.Targets, of(open).with(w), byFragment), true
	case bare == "" && !w.anything():
		return turn.Decision{}, false
	case bare != "":
		t := b.taskOf(in, s)
		switch {
		case !t.known && t.doubt == nil && open.Request == "" && open.Text == "" && w.anything():
			return turn.Decision{}, false
		case slices.Contains(open.Missing, slotFunction) && t.known:
			next.Request, next.Text, next.Function = t.request, t.text, t.function
		case t.known && t.function == open.Function && t.text == open.Text && w.anything(): // it is said again, with the time
			next.Request, next.Text = t.request, t.text
		case !t.known && w.anything() && b.place(in, bare, &next):
		default:
			return turn.Decision{}, false // a strong anchor of its own
		}
	}
	return b.complete(in, s, next, w, byFragment), true
}

// partWord is the word of an answer that names a part of the day: "오후요", "오전이에요".
func partWord(bare string) string {
	word := squeeze(bare)
	for _, end := range []string{"이에요", "이요", "으로", "예요", "로", "요", "에"} {
		if cut, ok := strings.CutSuffix(word, end); ok {
			return cut
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(word, "inthe"), "the")
}

// place adds a room to what was asked before: "매일 6시에 거실에서".
func (b *Book) place(in turn.Input, bare string, next *turn.Slots) bool {
	for _, form := range []string{bare + " " + next.Request, strings.TrimSuffix(bare, "에서") + " " + next.Request} {
		t := b.taskIn(in, form, false)
		if t.known && t.function == next.Function {
			next.Request = t.request
			return true
		}
	}
	return false
}

func (b *Book) fillTarget(in turn.Input, s *said, open *turn.Slots) (turn.Decision, bool) {
	if s.question || !slices.Contains(open.Missing, slotTarget) {
		return turn.Decision{}, false
	}
	ids := b.chosen(in, s, open.Targets)
	if len(ids) == 0 {
		return turn.Decision{}, false
	}
	return b.settleTargets(in, s, open, ids, hasWord(s.text, s.words().All), byFragment), true
}

// Refine completes what the main planner decided: a turn of schedules, or an order of now that names a time.
func (b *Book) Refine(in turn.Input, d turn.Decision) turn.Decision {
	if decided(d) {
		return d
	}
	timed := d.OwnerSelection == turn.ODL && d.AskFollowUp && d.AmbiguityReason == "time_of_day_not_supported"
	told := slices.Contains([]turn.Family{turn.FRG, turn.STM, turn.DEF}, d.OwnerSelection) && !d.AskFollowUp && !in.Now.IsZero()
	if d.OwnerSelection != turn.SCH && !timed && !told || d.OwnerSelection == turn.SCH && len(d.Steps) > 0 {
		return keepOpen(in, d)
	}
	s := read(in)
	if told && !s.atASetTime() {
		return keepOpen(in, d)
	}
	if in.Now.IsZero() {
		if timed {
			return d
		}
		d.TTSResponse = say(s.english, "no_clock")
		return d
	}
	if told {
		own := b.decide(in, s, byTime)
		if own.Schedule == nil && own.Slots == nil {
			return keepOpen(in, d) // it cannot be kept: what was decided stands
		}
		d.Steps = nil
		if d.OwnerSelection == turn.DEF { // "5시에 복귀해": an order of the robot, which its time has kept from being heard as one
			if own.Schedule == nil || b.cat.Operations[catalog.Method(own.Schedule.Function)].Method == "" {
				return keepOpen(in, d)
			}
			return own
		}
		return merged(d, own)
	}
	by := byWords
	if timed {
		by = byTime
	}
	return merged(d, b.decide(in, s, by))
}

// atASetTime says whether words about what is told ask for it at a time: "내일 아침 7시에 뉴스 요약해 줘", but not "내일 날씨 알려 줘" or "7시 뉴스".
func (s *said) atASetTime() bool {
	if s.question || s.op != opCreate {
		return false
	}
	for _, o := range s.found {
		if o.Kind == timeko.AtClock && o.From.Said && (s.english || strings.HasSuffix(o.Tail, "에") || len(s.when.days) > 0) || o.Kind == timeko.OnDays && s.when.start != unsaid {
			return true
		}
	}
	return false
}

// decided says whether the shortcut has answered already.
func decided(d turn.Decision) bool {
	return slices.ContainsFunc(d.Evidence, func(e turn.Evidence) bool {
		return e.Kind == "rule" && slices.Contains([]string{byFragment, byFocus, byOnly}, e.ID)
	})
}

// keepOpen carries what was left open over a turn about something else, for as long as it counts. A control ends it.
func keepOpen(in turn.Input, d turn.Decision) turn.Decision {
	if open := in.Around.Slots; open != nil && d.Control == nil && d.Slots == nil && d.Schedule == nil {
		d.Slots = open
	}
	return d
}

// merged is the main planner's decision with what was decided of schedules. The owner stays.
func merged(d, own turn.Decision) turn.Decision {
	if d.OwnerSelection != turn.SCH { // else its flow is that of what was found to be wanted of schedules
		own.OwnerSelection, own.SelectedRoutes, own.SelectedFlowID, own.SelectedAgent, own.SelectedSkill = d.OwnerSelection, d.SelectedRoutes, d.SelectedFlowID, d.SelectedAgent, d.SelectedSkill
	}
	own.Structure, own.FamilyConfidence, own.RunnerUpFamily, own.ModelCalls, own.Model = d.Structure, d.FamilyConfidence, d.RunnerUpFamily, d.ModelCalls, d.Model
	if len(d.Evidence) > 0 {
		own.Evidence = append(slices.Clone(d.Evidence), own.Evidence...)
	}
	return own
}

// decide is about a whole sentence of its own.
func (b *Book) decide(in turn.Input, s *said, by string) turn.Decision {
	switch s.op {
	case opList:
		return b.listed(in, s, by)
	case opCancel:
		ids, all := b.meant(in, s, s.when)
		return b.settleTargets(in, s, &turn.Slots{Operation: opCancel}, ids, all, by)
	case opChange:
		return b.toChange(in, s, by)
	}
	if has(lastWords(s.text, 3), []string{"하지마", "하지말", "하지 마"}) || s.english && has(s.text, []string{"don't", "donot"}) {
		d := owned(opCreate, by, s)
		d.TTSResponse = say(s.english, "dropped")
		return d
	}
	if b.mixed(in, s) {
		d := owned(opCreate, by, s)
		d.FamilyConfidence, d.AskFollowUp, d.AmbiguityReason, d.TTSResponse = "medium", true, "now_and_later", say(s.english, "now_and_later")
		return d
	}
	t := b.taskOf(in, s)
	slots := turn.Slots{Operation: opCreate, Function: t.function, Request: t.request, Text: t.text, TurnID: in.TurnID, AskedAtMS: in.Now.UnixMilli()}
	if !t.known && t.request != "" {
		return b.notRead(in, s, t, slots, by)
	}
	return b.complete(in, s, slots, s.when, by)
}

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

// open are the slots that the turn before left open.
func open(in turn.Input) []string {
	if in.Around.Slots == nil {
		return nil
	}
	return in.Around.Slots.Missing
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

// listed answers what is kept.
func (b *Book) listed(in turn.Input, s *said, by string) turn.Decision {
	d := owned(opList, by, s)
	if strings.Contains(squeeze(s.text), "수있") && !hasWord(s.text, korean.Ask) && !has(s.text, korean.Wonder) && has(s.text, []string{"예약할", "설정할", "등록할", "맞출", "알릴", "추가할", "잡을"}) || s.english && strings.HasPrefix(s.text, "can you") {
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
	case len(names) == 0:
		d.TTSResponse = say(s.english, "none_fits")
	case len(names) == 1:
		d.TTSResponse = say(s.english, "list_one", names[0])
	default:
		d.TTSResponse = say(s.english, "list", len(names), strings.Join(names, ", "))
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
	if n := len(s.found) - 1; last < 0 && n >= 0 && has(string(s.runes[:s.found[0].Start]), s.words().Nouns) {
		last = n // "예약을 주말에만 하도록 바꿔 줘"
	}
	first := last
	for first > 0 && !has(string(s.runes[s.found[first-1].End:s.found[first].Start]), s.words().Nouns) && s.found[first-1].Tail != "를" && s.found[first-1].Tail != "을" {
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
	later, sooner := has(s.text, []string{"미뤄", "미루", "늦춰", "늦추"}), has(s.text, []string{"당겨", "당기"})
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
	d.TTSResponse = say(s.english, "change", named(k, in.Now, s.english), spoken(sched, in.Now, s.english))
	return d
}

// owned is a decision of schedules that nobody else has made.
func owned(op, by string, s *said) turn.Decision {
	skill := map[string]string{opCreate: "schedule_reminder_create", opChange: "schedule_reminder_change", opCancel: "schedule_reminder_cancel", opList: "schedule_reminder_list"}[op]
	return turn.Decision{TurnMode: "singleton", SelectedRoutes: []turn.Family{turn.SCH}, OwnerSelection: turn.SCH, SelectedAgent: "SCH", SelectedSkill: skill,
		SelectedFlowID: "SCH.SCH." + skill, FamilyConfidence: "high", Evidence: []turn.Evidence{{Kind: "rule", ID: by, Span: s.text}}}
}
