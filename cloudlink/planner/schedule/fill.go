package schedule

import (
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

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
	word := Squeeze(bare)
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
	if s.question || !slices.Contains(open.Missing, slotTarget) || b.ordered(in, s) {
		return turn.Decision{}, false
	}
	if b.halts(in, s) {
		return turn.Decision{}, false // "전부 멈춰" is said to the robot, whatever it has asked
	}
	ids := b.chosen(in, s, open.Targets)
	if len(ids) == 0 {
		return turn.Decision{}, false
	}
	return b.settleTargets(in, s, open, ids, HasWord(s.text, s.words().All), byFragment), true
}

// halts says whether words stop what the robot does, and do not speak of taking back what is kept.
func (b *Book) halts(in turn.Input, s *said) bool {
	return b.read(in).Control != nil && !Has(s.text, s.words().Cancel) && !Has(s.text, s.words().Nouns)
}

// ordered says whether words are an order of their own, that picks no schedule out of several: "30분 뒤에 청정 꺼줘", but not "청정 예약" or "6시 거 취소해 줘".
func (b *Book) ordered(in turn.Input, s *said) bool {
	w := s.words()
	if s.noun || Has(s.text, w.Cancel) || Has(s.text, w.Change) {
		return false
	}
	in.Around = turn.Around{}
	d := b.read(in)
	asks := s.english || slices.ContainsFunc(w.Request, func(e string) bool { return strings.HasSuffix(s.text, e) })
	return asks && (len(d.Steps) > 0 || d.Control != nil)
}

// open are the slots that the turn before left open.
func open(in turn.Input) []string {
	if in.Around.Slots == nil {
		return nil
	}
	return in.Around.Slots.Missing
}
