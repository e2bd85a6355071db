package agents

import (
	"regexp"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// endsTelling are words that end what is told; whoever says them wants nothing told.
var endsTelling = regexp.MustCompile(`(?i)그만|멈[춰추]|중지|취소|끝내|스톱|하지 ?마|지 ?마(?:$|[ .!요세])|안 (?:들|할)|\b(?:stop|end|quit|cancel|no more|enough|don't|do not)\b`)

// OpenContent gives a turn of STM its step: the content session that tells the quiz or the story that is asked for. What there is none of
// is said so. It changes nothing where somebody has planned already, or still asks.
func OpenContent(in turn.Input, d turn.Decision) turn.Decision {
	if d.OwnerSelection != turn.STM || len(d.Steps) > 0 || d.AskFollowUp || d.Control != nil || d.Schedule != nil || d.Slots != nil {
		return d
	}
	if endsTelling.MatchString(in.Text) { // nothing is told: else it would have been stopped
		d.TTSResponse = say(in.Locale, "nothing_told")
		return d
	}
	kind := KindOf(in.Text)
	if kind != kindQuiz && kind != kindStory {
		d.TTSResponse = say(in.Locale, "no_content")
		return d
	}
	d.Steps = []turn.Step{{ID: "step_1", Route: turn.STM, Purpose: kind, ExecutionTarget: "cloud", Skill: SkillContent,
		Params: wire.Object{"kind": {V: kind}}, WaitPolicy: "completed", Span: in.Text}}
	d.TurnMode = turn.Mode(d.Steps)
	d.TTSResponse = say(in.Locale, "opens_"+kind)
	return d
}
