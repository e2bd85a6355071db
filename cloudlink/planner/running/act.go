package running

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

//go:embed data/acts.json
var actsJSON []byte

// completion is how people say that something has been done, in each language, and what in a sentence takes that back.
var completion = func() (c struct {
	Ko   []pattern0 `json:"ko"`
	En   []pattern0 `json:"en"`
	KoNo []pattern0 `json:"ko_not"`
	EnNo []pattern0 `json:"en_not"`
}) {
	if err := json.Unmarshal(actsJSON, &c); err != nil {
		panic("internal error: acts.json: " + err.Error()) // it is built in, and tested
	}
	return c
}()

// pattern0 fits anywhere in a sentence.
type pattern0 struct{ *regexp.Regexp }

func (p *pattern0) UnmarshalJSON(data []byte) (err error) {
	var text string
	if err = json.Unmarshal(data, &text); err == nil {
		p.Regexp, err = regexp.Compile(`(?i)` + text)
	}
	return err
}

// The speech acts. Source: docs/planner.md, escalations.
const (
	Ack      = "ack"
	Progress = "progress"
	Question = "question"
	Done     = "done"
	Failed   = "failed"
)

// Act is the speech act of a decision, where its planner has named none: what asks is a question, what refuses has failed, and all else
// acknowledges.
func Act(d turn.Decision) string {
	switch {
	case d.SpeechAct != "":
		return d.SpeechAct
	case d.AskFollowUp || len(d.MissingSlots) > 0:
		return Question
	case d.OwnerSelection == turn.UNS || d.UnsupportedCategory != "" && len(d.Steps) == 0:
		return Failed
	}
	return Ack
}

// Fault says what is wrong with what a decision says aloud; empty: nothing. Nothing is said to be done, in whatever act, before a message of
// the device has proved it: what the evidence of the decision does not hold may not be heard from its words. Talk, stories and what was
// looked up outside are about other things than what the robot does, and are not judged.
func Fault(d turn.Decision) string {
	act := Act(d)
	proved := slices.ContainsFunc(d.Evidence, func(e turn.Evidence) bool {
		state, _, _ := strings.Cut(e.Span, " ")
		return (e.Kind == "step" || e.Kind == "result") && (act == Failed || slices.Contains(done, state))
	})
	switch {
	case !slices.Contains([]string{Ack, Progress, Question, Done, Failed}, act):
		return "it has no speech act that is known: " + act
	case proved:
		return ""
	case act == Done:
		return "it is said to be done, and nothing has proved it"
	case !slices.Contains([]turn.Family{turn.ODL, turn.SCH, turn.UNS}, d.OwnerSelection) && len(d.Steps) == 0:
		return ""
	}
	if said := Completed(d.TTSResponse); said != "" {
		return "it sounds as if it were done, and nothing has proved it: " + said
	}
	return ""
}

var sentenceEnd = regexp.MustCompile(`[.!…\n]+`)

// Completed finds the first sentence that says that something has been done; empty: there is none. A question says nothing, and what was
// not done is not said to be.
func Completed(text string) string {
	for _, s := range sentenceEnd.Split(text, -1) {
		s = strings.TrimSpace(s)
		yes, no := completion.Ko, completion.KoNo
		if english(s) {
			yes, no = completion.En, completion.EnNo
		}
		if s == "" || strings.HasSuffix(s, "?") || found(no, s) || !found(yes, s) {
			continue
		}
		return s
	}
	return ""
}

func found(all []pattern0, s string) bool {
	return slices.ContainsFunc(all, func(p pattern0) bool { return p.MatchString(s) })
}

// Unproved is what is said instead of words that report what nothing has proved.
func Unproved(text string) string {
	if english(text) {
		return sentences["unproved"].En
	}
	return sentences["unproved"].Ko
}
