package agents

import (
	"time"

	"deviceagent/cloudlink/planner/turn"
)

// Talk is a session that goes on: all that has to be known to say the next words. It is kept as JSON beside its step.
type Talk struct {
	Kind       string   `json:"kind"`             // quiz, story, reminder, choices, told
	Locale     string   `json:"locale"`           // of the turn that opened it
	Reason     string   `json:"reason,omitempty"` // of told: the step is to end by it when the words were heard
	Title      string   `json:"title,omitempty"`  // of a story: its id
	Text       string   `json:"text,omitempty"`   // of a reminder
	From       int      `json:"from,omitempty"`   // of a story: the part that it began with
	Before     int      `json:"before,omitempty"` // words that came before the first part
	Asked      []string `json:"asked,omitempty"`  // of a quiz: ids, the last one is open
	Level      int      `json:"level,omitempty"`
	Right      int      `json:"right,omitempty"`
	Unanswered int      `json:"unanswered,omitempty"` // in a row
	Ended      bool     `json:"ended,omitempty"`      // the last words were given
	Offered    []string `json:"offered,omitempty"`    // of choices: the kinds that were named
	Wait       int64    `json:"wait_ms,omitempty"`    // after that long without a word of the user it goes on by itself; 0: it waits for nothing
}

// KindTold is the kind of a session whose words were all given at once.
const KindTold = "told"

// Event is what happened to a session, in the words of up/content; waited: nobody has said anything for Talk.Wait.
type Event struct {
	What     string
	Text     string // what the user said
	Position int64  // words that were heard to their end
}

// Waited is the event of a wait that is over.
const Waited = "waited"

// Next says what follows from an event. It is quick, and the same input gives the same outcome: words that are due, the talk as it is
// from then on, and what the device is to be remembered by. Over says that nothing more comes to the session.
func (a *Agents) Next(t Talk, m Memory, now time.Time, ev Event) (words []Words, next Talk, memory Memory, over bool) {
	switch ev.What {
	case "completed", "cancelled", "failed":
		return nil, t, a.content.remember(t, m, ev), true
	case "user_response", Waited, "silent":
		if t.Ended {
			return nil, t, m, false
		}
		if t.Kind == kindChoices {
			words, next, memory = nextChoices(t, m, now, ev)
			return words, next, memory, false
		}
		words, next, memory = a.content.goOn(t, m, ev)
		return words, next, memory, false
	}
	return nil, t, m, false
}

// Hears says whether what was said in a turn is for a session that waits for its listener: the answer to a quiz, a choice, that a reminder was
// heard; and what means nothing else, for then it was meant as one. Where the words order, plan or stop something, or answer another question, they are no answer.
func (a *Agents) Hears(t Talk, said string, d turn.Decision) bool {
	if t.Ended || d.Control != nil || d.Schedule != nil || d.Revises != nil || d.Answers != nil || d.Memo != nil {
		return false
	}
	idle := len(d.Steps) == 0 && (d.OwnerSelection == turn.DEF || d.OwnerSelection == turn.STTNull)
	switch t.Kind {
	case kindChoices:
		return chooses(said, d)
	case kindReminder:
		return idle
	case kindQuiz:
		open, asked := a.content.quiz(t.Asked)
		return asked && len(d.Steps) == 0 && (idle || open.in(t.Locale).right(said) || again(said) || passes(said))
	}
	return false
}
