package running

import (
	"slices"

	"deviceagent/cloudlink/planner/turn"
)

// answer takes words as the answer to what the device has asked its user, if they are one and nothing more: an option's own words, its
// number, yes or no. The device takes the first answer, whoever heard it.
func (r *Runner) answer(in turn.Input) (turn.Decision, bool) {
	if len(in.Around.Questions) == 0 {
		return turn.Decision{}, false
	}
	q := in.Around.Questions[0] // the latest: it is the one that was just heard
	option, ok := chosen(q, key(in.Text))
	if !ok {
		return turn.Decision{}, false
	}
	d := decided(in, "answer", say1(in, "answered", option.Text), "ack")
	d.Answers = &turn.Answers{WorkflowID: q.WorkflowID, QuestionID: q.QuestionID, Option: option.ID}
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "question", ID: q.QuestionID, Span: q.Text})
	return d, true
}

// chosen is the option that words choose.
func chosen(q turn.Question, said string) (turn.Option, bool) {
	var no []turn.Option
	var others []turn.Option
	for _, o := range q.Options {
		switch {
		case said != "" && (key(o.Text) == said || key(o.ID) == said):
			return o, true
		case refuses(o):
			no = append(no, o)
		default:
			others = append(others, o)
		}
	}
	for i, words := range say.Firsts {
		if i < len(q.Options) && slices.Contains(words, said) {
			return q.Options[i], true
		}
	}
	switch {
	case slices.Contains(say.No, said) && len(no) == 1:
		return no[0], true
	case slices.Contains(say.Yes, said) && len(others) == 1 && len(no) > 0: // "네" to a choice of two ways is no answer
		return others[0], true
	}
	return turn.Option{}, false
}

// refuses says whether an option is the one that leaves things alone.
func refuses(o turn.Option) bool {
	return slices.Contains([]string{"no", "cancel", "stop"}, o.ID) || slices.Contains(say.No, key(o.Text))
}
