package schedule

import (
	"regexp"
	"slices"
	"strings"

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
	if len(targets) == 0 && len(in.Around.Schedules) == 1 && !s.english && HasWord(s.text, korean.That) && (s.op == opChange || s.movesTo()) {
		targets = []string{in.Around.Schedules[0].WorkflowID} // "그거 8시로 바꿔": there is no other
	}
	if len(targets) == 0 {
		return turn.Decision{}, false
	}
	switch {
	case !s.question && s.takesBack() && !HasWord(s.text, s.words().All):
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
	if len(in.Around.Schedules) == 0 || len(in.Around.Workflows) > 0 || len(in.Around.Sessions) > 0 || s.question || s.noun || !Has(s.text, w.Cancel) || HasWord(s.text, w.All) || !s.takesBack() {
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

// condition is a clause on which what is behind it hangs.
var condition = regexp.MustCompile(`(?:^|\s)\S+ ?[가-힣]+(?:면|거든)(?: |$)`)

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
	if Has(lastWords(s.text, 3), []string{"하지마", "하지말", "하지 마"}) || s.english && Has(s.text, []string{"don't", "donot"}) {
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
	if cond := condition.FindString(s.rest); t.function == Reminder && cond != "" && !s.english && !strings.Contains(t.text, strings.TrimSpace(cond)) {
		d := owned(opCreate, by, s) // what is told at a time is told then, whatever is the case
		d.FamilyConfidence, d.AskFollowUp, d.AmbiguityReason, d.TTSResponse = "medium", true, "condition_not_supported", say(s.english, "no_condition")
		return d
	}
	slots := turn.Slots{Operation: opCreate, Function: t.function, Request: t.request, Text: t.text, TurnID: in.TurnID, AskedAtMS: in.Now.UnixMilli()}
	if !t.known && t.request != "" {
		return b.notRead(in, s, t, slots, by)
	}
	return b.complete(in, s, slots, s.when, by)
}

// owned is a decision of schedules that nobody else has made.
func owned(op, by string, s *said) turn.Decision {
	skill := map[string]string{opCreate: "schedule_reminder_create", opChange: "schedule_reminder_change", opCancel: "schedule_reminder_cancel", opList: "schedule_reminder_list"}[op]
	return turn.Decision{TurnMode: "singleton", SelectedRoutes: []turn.Family{turn.SCH}, OwnerSelection: turn.SCH, SelectedAgent: "SCH", SelectedSkill: skill,
		SelectedFlowID: "SCH.SCH." + skill, FamilyConfidence: "high", Evidence: []turn.Evidence{{Kind: "rule", ID: by, Span: s.text}}}
}
