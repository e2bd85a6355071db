package admission

import (
	"slices"
	"strings"
)

// The axes of meaning, as [turn.ExperienceRequest] lists them.
const (
	Delegated   = "delegated_result"
	Lasting     = "lasting" // over turns or events
	Several     = "several_providers"
	Temporal    = "temporal_or_condition"
	Observation = "observation_or_consent"
)

var axisOrder = []string{Delegated, Lasting, Several, Temporal, Observation}

// What cannot be watched here: how the air is, all the time.
const goodAir = "good_air_kept"

// found is what the words say on each axis, with the words for it.
type found struct {
	spans map[string]string
	goal  string // of a delegated result
	gap   string // what nothing here provides
}

func (f *found) set(span string, axes ...string) {
	for _, a := range axes {
		if f.spans[a] == "" {
			f.spans[a] = span
		}
	}
}

// read finds the axes in the words. ok is false where they do not make a goal together.
func (w *words) read(s *said) (f found, ok bool) {
	f.spans = map[string]string{}
	all := s.in(0, len(s.text))
	joined := w.afterEnd(s, &f)
	joined = w.sideBySide(s, &f) || joined
	joined = onCondition(s, &f, all) || joined
	joined = againAndAgain(s, &f, all) || joined
	joined = persons(s, &f, all) || joined
	delegated := w.delegates(s, &f)
	if joined {
		f.set(s.span(0, len(s.text)), Several)
	}
	if h, gap := s.first(ofGap, 0, len(s.text)); gap {
		f.gap = h.tag
	}
	return f, joined || delegated
}

// afterEnd: something else once work of the robot has ended, or it has arrived: "청정 끝나면 뉴스 들려줘". What the robot cannot see
// ("회의 끝나면") is no event to it.
func (w *words) afterEnd(s *said, f *found) bool {
	for from := 0; ; {
		h, ok := s.first(ofEnd, from, len(s.text))
		if !ok {
			return false
		}
		begin := w.clause(s, h.start)
		subject := s.in(begin, h.end)
		if len(subject) == 0 && w.bare(s, begin, h.start) {
			subject = s.in(0, begin)
		}
		then := s.in(h.end, len(s.text))
		if len(subject) > 0 && len(then) > 0 && len(union(subject, then)) > 1 {
			f.set(s.span(begin, h.end), Temporal, Lasting, Observation)
			return true
		}
		from = h.end
	}
}

// bare says whether nothing stands before a verb of an end in its clause: what ends was said before.
func (w *words) bare(s *said, begin, start int) bool {
	part := s.text[begin:start]
	for part != "" {
		i := slices.IndexFunc(w.EndFillers, func(f string) bool { return strings.HasPrefix(part, f) })
		if i < 0 {
			return false
		}
		part = part[len(w.EndFillers[i]):]
	}
	return begin > 0
}

// clause is where the part of the sentence begins that a place in the text belongs to.
func (w *words) clause(s *said, at int) int {
	begin := 0
	for _, t := range s.tokens {
		if t.end > at {
			break
		}
		if t.stop || w.connects(t.text) {
			begin = t.end
		}
	}
	return begin
}

func (w *words) connects(text string) bool {
	if slices.Contains(w.Nouns, text) {
		return false
	}
	return slices.ContainsFunc(w.Connectives, func(c string) bool { return len(text) > len(c) && strings.HasSuffix(text, c) })
}

// sideBySide: one thing beside another, with ends of their own: "청정하면서 퀴즈 내줘".
func (w *words) sideBySide(s *said, f *found) bool {
	for from := 0; ; {
		h, ok := s.first(ofBeside, from, len(s.text))
		if !ok {
			return false
		}
		begin, start := w.clause(s, h.start), h.start
		if b, before := s.first(ofBesideBefore, max(0, h.start-len("그")), h.end); before {
			begin, start = 0, b.start
		}
		left, right := s.in(begin, start), s.in(h.end, len(s.text))
		both := union(left, right)
		own := slices.ContainsFunc(both, speaks) || slices.Contains(both, "vital") // a lane with an end of its own
		if len(left) > 0 && len(right) > 0 && len(both) > 1 && own {
			f.set(s.span(begin, h.end), Temporal, Lasting)
			return true
		}
		from = h.end
	}
}

// onCondition: what is found there decides: "거실로 가서 공기 보고 나쁘면 청정해줘". What is looked at once, here and now, is an order.
func onCondition(s *said, f *found, all []string) bool {
	h, ok := s.first(ofCondition, 0, len(s.text))
	if !ok || len(all) < 2 {
		return false
	}
	_, went := s.first(ofThere, 0, h.start)
	again := s.has(ofAgain)
	if !(went || again || len(all) > 2 || slices.Contains(all, "vital") || slices.ContainsFunc(all, speaks)) {
		return false
	}
	f.set(s.span(h.start, h.end), Temporal, Observation)
	if went || again {
		f.set(s.span(0, h.end), Lasting)
	}
	return true
}

// againAndAgain: things of the device and what is told beside them, at every occurrence.
func againAndAgain(s *said, f *found, all []string) bool {
	h, ok := s.first(ofAgain, 0, len(s.text))
	if !ok || !slices.ContainsFunc(all, speaks) || !slices.ContainsFunc(all, func(p string) bool { return !speaks(p) }) {
		return false
	}
	f.set(s.span(h.start, h.end), Lasting)
	return true
}

// persons: a part that only a person ends or agrees to, beside something else.
func persons(s *said, f *found, all []string) bool {
	if !slices.Contains(all, "vital") || len(all) < 2 {
		return false
	}
	for _, h := range s.hits[ofProvider] {
		if h.tag == "vital" {
			f.set(s.span(h.start, h.end), Observation, Lasting)
		}
	}
	if h, later := s.first(ofLater, 0, len(s.text)); later {
		f.set(s.span(h.start, h.end), Temporal)
	}
	return true
}

// delegates: how things should be for somebody, and nothing of how.
func (w *words) delegates(s *said, f *found) bool {
	if !w.light(s, w.Finals) {
		return false
	}
	lasts := w.lasts(s, f)
	if h, ok := s.first(ofOutcome, 0, len(s.text)); ok {
		f.goal = h.tag
		f.set(s.span(h.start, h.end), Delegated, Several)
		return true
	}
	kept, ok := s.first(ofWhile, 0, len(s.text))
	also := []string{}
	if !lasts || !ok || !w.light(s, w.WhileFinals) {
		if kept, ok = s.first(ofKeepable, 0, len(s.text)); !ok || !w.light(s, w.Keeping) {
			return false
		}
		also = []string{Lasting}
	}
	if f.goal = kept.tag; f.goal == goodAir {
		f.gap = ReasonSensing
	}
	f.set(s.span(kept.start, kept.end), append(also, Delegated)...)
	return true
}

// lasts: for as long as somebody does something, or until.
func (w *words) lasts(s *said, f *found) bool {
	h, ok := s.first(ofUntil, 0, len(s.text))
	if !ok {
		for _, b := range s.hits[ofBeside] {
			if s.text[b.start:b.end] == "동안" {
				h, ok = b, true
			}
		}
	}
	if ok {
		f.set(s.span(w.clause(s, h.start), h.end), Lasting)
	}
	return ok
}
