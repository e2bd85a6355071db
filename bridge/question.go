package bridge

import (
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// questionOf makes the body of a question to the user. Once it has closed, only that is told.
func questionOf(q *core.Asking, wallMS int64) *wire.Question {
	out := &wire.Question{QuestionID: string(q.Ask.ID), ExperienceID: q.Experience}
	switch q.Ask.State {
	case core.AskWithdrawn:
		out.Withdrawn = true
	case core.AskAnswered:
		out.Option, out.By = q.Ask.Option, q.Ask.By
	default:
		out.Kind, out.Consent, out.Text, out.ExpiresMS = string(q.Ask.Kind), q.Ask.Consent, q.Ask.Text, q.LeftMS
		for _, o := range q.Ask.Options {
			out.Options = append(out.Options, wire.QuestionOption{ID: o.ID, Text: o.Text})
		}
		if wallMS != 0 {
			out.ExpiresAt = stamp(wallMS + q.LeftMS)
		}
	}
	return out
}
