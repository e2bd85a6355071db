package wire

import "fmt"

// Question is the body of up/question: a question to the user is open, was answered on the device, or is withdrawn. Source:
// docs/contract.md, question and answer.
type Question struct {
	QuestionID   string           `json:"question_id" rule:"ref"`
	ExperienceID string           `json:"experience_id,omitempty" rule:"ref"`
	Kind         string           `json:"kind,omitempty" rule:"ref"` // decision, fallback, consent
	Consent      string           `json:"consent,omitempty" rule:"text"`
	Text         string           `json:"text,omitempty" rule:"text"`
	Options      []QuestionOption `json:"options,omitempty"`
	ExpiresAt    string           `json:"expires_at,omitempty" rule:"time"` // left out where the device does not know the time
	ExpiresMS    int64            `json:"expires_ms,omitempty"`             // the same, from sent_at
	Option       string           `json:"option,omitempty" rule:"ref"`      // answered on the device: what was chosen
	By           string           `json:"by,omitempty" rule:"text"`
	Withdrawn    bool             `json:"withdrawn,omitempty"` // nobody is asked any more
}

// QuestionOption is one answer that may be given.
type QuestionOption struct {
	ID   string `json:"id" rule:"ref"`
	Text string `json:"text" rule:"text"`
}

// Answer is the body of down/answer: what the user has chosen, heard by the planner.
type Answer struct {
	QuestionID string `json:"question_id" rule:"ref"`
	Option     string `json:"option" rule:"ref"`
	TurnID     string `json:"turn_id,omitempty" rule:"ref"`
	By         string `json:"by,omitempty" rule:"text"`
}

// UserAsk is the question of a decision that says ask_user.
type UserAsk struct {
	Text      string          `json:"text" rule:"some"`
	TimeoutMS int64           `json:"timeout_ms" rule:"int=1000:600000"` // then the default of the escalation is taken
	Options   []UserAskOption `json:"options" rule:"min=1"`
}

// UserAskOption is one answer and the action of it: one that the escalation allows and the device carries out by itself.
type UserAskOption struct {
	ID     string `json:"id" rule:"id"`
	Text   string `json:"text" rule:"some"`
	Action string `json:"action" rule:"enum=retry_local|return_to_station|cancel|replan_cloud|substitute|ask_user"` // the last three are refused by the device
}

// crossAsk: who asks the user says what, and no two answers have one name.
func crossAsk(w *walker, d *Decision) {
	switch {
	case ActionOf(d.Action) == "ask_user" && d.Question == nil:
		w.faultAt("question", ReasonMissingField, "is needed for ask_user: what the user is asked")
		return
	case ActionOf(d.Action) != "ask_user" && d.Question != nil:
		w.faultAt("question", ReasonBadValue, "belongs to ask_user")
		return
	case d.Question == nil:
		return
	}
	seen := map[string]bool{}
	for i, o := range d.Question.Options {
		if seen[o.ID] {
			w.faultAt(fmt.Sprintf("question.options[%d].id", i), ReasonBadValue, fmt.Sprintf("%q is the name of another option", o.ID))
		}
		seen[o.ID] = true
	}
	if len(seen) > maxAskOptions {
		w.faultAt("question.options", ReasonTooLarge, fmt.Sprintf("%d options, at most %d can be said", len(seen), maxAskOptions))
	}
}

// maxAskOptions is what a listener can keep in mind. Source: ours.
const maxAskOptions = 6
