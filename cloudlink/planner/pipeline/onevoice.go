package pipeline

import (
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/turn"
)

// OneVoice is the stage by which one thing is told at a time.
const OneVoice = "one_voice"

// oneVoice ends what is being told where something else is to be told at once: two stories that are told beside each other nobody can follow.
// What waits for something ends nothing, nor does what is kept for a set time.
func oneVoice(in turn.Input, d turn.Decision) turn.Decision {
	told := func(s turn.Session) bool {
		return s.Skill == agents.SkillContent && s.Kind != "" && s.Kind != "reminder"
	}
	at := func(s turn.Step) bool {
		return s.Skill == agents.SkillContent && len(s.DependsOn) == 0 && s.DelayMS == 0 && s.AnchorEvent == "" && s.When == nil
	}
	n := len(in.Around.Sessions) - 1
	if n < 0 || !told(in.Around.Sessions[n]) || d.Control != nil || d.Schedule != nil || d.Revises != nil || d.AskFollowUp || !slices.ContainsFunc(d.Steps, at) {
		return d
	}
	s := in.Around.Sessions[n]
	d.Control = &wire.Control{Verb: "cancel", Scope: "session", Target: s.SessionID, RequestedBy: "voice", Reason: "user_cancelled"}
	d.ControlOf = s.WorkflowID
	d.Evidence = append(d.Evidence, turn.Evidence{Kind: "session", ID: s.SessionID, Span: s.State})
	return d
}
