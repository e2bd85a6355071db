package admission

import (
	"slices"
	"strings"
)

// requests says whether something is asked of the robot, and is no question.
func (w *words) requests(s *said) bool {
	for i, t := range s.tokens {
		if w.give(s, t) == "" {
			continue
		}
		if i+1 < len(s.tokens) && !t.stop && slices.Contains(w.Quoting, s.tokens[i+1].text) {
			continue // somebody else says so
		}
		return true
	}
	if s.question || len(s.tokens) == 0 || slices.ContainsFunc(w.Asks, func(a string) bool { return strings.Contains(s.text, a) }) {
		return false
	}
	return w.orders(s)
}

// give is the ending of a token that makes a request: "들려줘", "들려 줘", "들려줄 수 있어". Empty: it makes none.
func (w *words) give(s *said, t token) (give string) {
	for _, g := range w.Gives {
		if len(g) > len(give) && strings.HasSuffix(s.text[:t.end], g) && (len(g) <= t.end-t.start || t.end == len(s.text) || t.stop) {
			give = g
		}
	}
	return give
}

// orders says whether the end tells the robot to do something, without asking for it: "돌아가", "복귀해".
func (w *words) orders(s *said) bool {
	last := s.tokens[len(s.tokens)-1].text
	for _, p := range w.Politely {
		last = strings.TrimSuffix(last, p)
	}
	return slices.ContainsFunc(w.Orders, func(o string) bool { return strings.HasSuffix(last, o) })
}

// light says whether all that is requested ends in verbs that say nothing of how: "쉬게 해줘", but not "쉬게 화면 꺼줘", nor with "도와줘"
// behind that.
func (w *words) light(s *said, finals []string) bool {
	found := false
	for _, t := range s.tokens {
		give := w.give(s, t)
		if give == "" {
			continue
		}
		head := strings.TrimSuffix(s.text[:t.end], give)
		if !slices.ContainsFunc(finals, func(v string) bool {
			before, ok := strings.CutSuffix(head, v)
			return ok && (v != "해" || slices.ContainsFunc(w.BareDo, func(e string) bool { return strings.HasSuffix(before, e) }))
		}) {
			return false
		}
		found = true
	}
	return found
}
