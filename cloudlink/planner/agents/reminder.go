package agents

import "time"

// A reminder is said, and said again until somebody answers, three times at most: who does not answer is not there, or does not want to.

const (
	kindReminder  = "reminder"
	remindersMost = 3
	remindAgain   = 2 * time.Minute
)

// beginReminder says what is to be reminded of.
func beginReminder(t Task) Outcome {
	text := clean(t.text("text"), spokenRunes)
	if text == "" {
		return Outcome{Reason: ReasonNotFound, Text: say(t.Locale, "no_content")}
	}
	talk := Talk{Kind: kindReminder, Locale: t.Locale, Text: text, Unanswered: 1, Wait: remindAgain.Milliseconds()}
	return Outcome{Text: text, Words: []Words{{Text: text, Act: "progress"}}, Talk: &talk, Output: map[string]any{"text": text}}
}

// nextReminder says it once more, or no more. Whatever somebody answers, he has heard it.
func nextReminder(t Talk, ev Event) ([]Words, Talk) {
	if ev.What == "user_response" {
		t.Ended, t.Wait = true, 0
		return []Words{{Text: say(t.Locale, "reminder_heard"), Act: "ack", Last: true}}, t
	}
	t.Unanswered++
	w := Words{Text: t.Text, Act: "progress", Last: t.Unanswered >= remindersMost}
	if w.Last {
		t.Ended, t.Wait = true, 0
	}
	return []Words{w}, t
}
