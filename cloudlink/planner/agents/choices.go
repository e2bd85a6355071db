package agents

import (
	"slices"
	"strings"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

// kindChoices is the talk that lets somebody choose what is told next.
const kindChoices = "choices"

// ReasonNoAnswer: nobody has chosen.
const ReasonNoAnswer = "no_answer"

// choosable are the kinds of content that may be chosen, in the order in which they are named where nobody has a liking.
var choosable = []string{kindQuiz, kindStory, kindNews}

// chosenFor is how long a choice counts for the content that follows it.
const chosenFor = 10 * time.Minute

// beginChoices tells what there is, what somebody likes first, and waits for one of them.
func beginChoices(t Task) Outcome {
	order, liked := choicesFor(t.Likes)
	text := say(t.Locale, kindChoices, "list", listed(t.Locale, order))
	if liked {
		text = say(t.Locale, "choices_liked", "first", say(t.Locale, "name_"+order[0]), "list", listed(t.Locale, order[1:]))
	}
	talk := &Talk{Kind: kindChoices, Locale: t.Locale, Offered: order, Wait: answerWait}
	return Outcome{Text: text, Words: []Words{{Text: text, Act: "question"}}, Talk: talk}
}

// choicesFor puts first what people of this home said that they like.
func choicesFor(likes []string) (order []string, liked bool) {
	for _, text := range likes {
		if kind := choiceOf(text); kind != "" && !slices.Contains(order, kind) {
			order = append(order, kind)
		}
	}
	liked = len(order) == 1 || len(order) == 2
	for _, kind := range choosable {
		if !slices.Contains(order, kind) {
			order = append(order, kind)
		}
	}
	return order, liked && len(order) > 1
}

// choiceOf is the kind that words name; "": none of them.
func choiceOf(text string) string {
	if kind := KindOf(text); slices.Contains(choosable, kind) {
		return kind
	}
	if TopicOf(text) == kindNews {
		return kindNews
	}
	return ""
}

func listed(locale string, kinds []string) string {
	var names []string
	for _, kind := range kinds {
		names = append(names, say(locale, "name_"+kind))
	}
	return strings.Join(names, ", ")
}

// nextChoices takes the answer, asks once more, and then lets it be.
func nextChoices(t Talk, m Memory, now time.Time, ev Event) ([]Words, Talk, Memory) {
	said := ev.What == "user_response"
	kind := ""
	switch {
	case said && stops(ev.Text):
		t.Unanswered = unansweredMost
	case said && among("any", ev.Text):
		kind = t.Offered[0]
	case said:
		kind = choiceOf(ev.Text)
	}
	if kind != "" {
		t.Ended, t.Wait = true, 0
		m.Chosen, m.ChosenMS = kind, now.UnixMilli()
		return []Words{{Text: say(t.Locale, "chose_"+kind), Act: "ack", Last: true}}, t, m
	}
	if t.Unanswered++; t.Unanswered < unansweredMost {
		return []Words{{Text: say(t.Locale, "choices_again", "list", listed(t.Locale, t.Offered)), Act: "question"}}, t, m
	}
	t.Ended, t.Wait, t.Reason = true, 0, ReasonNoAnswer
	return []Words{{Text: say(t.Locale, "choices_none"), Act: "done", Last: true}}, t, m
}

// chooses says whether words that were said in a turn are the choice that is waited for: also a wish for the content itself is.
func chooses(said string, d turn.Decision) bool {
	content := !slices.ContainsFunc(d.Steps, func(s turn.Step) bool { return s.Skill != SkillContent })
	return content && (choiceOf(said) != "" || among("any", said) || d.OwnerSelection == turn.STM || d.OwnerSelection == turn.DEF || d.OwnerSelection == turn.STTNull)
}

// takeChoice gives the kind that was chosen a moment ago, once.
func (m Memory) takeChoice(now time.Time) (string, Memory) {
	kind, at := m.Chosen, time.UnixMilli(m.ChosenMS)
	m.Chosen, m.ChosenMS = "", 0
	if kind == "" || now.Sub(at) > chosenFor {
		return "", m
	}
	return kind, m
}
