package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// KeyQuiet says whether it is quiet in the home now. The home tells it; the agent reckons no hours of its own.
const KeyQuiet catalog.ContextKey = "quiet_hours"

// RespectQuiet is the constraint of a goal that keeps what makes noise back in quiet hours.
const RespectQuiet = "respect_quiet_hours"

// respects says whether a goal is bound by a constraint.
func (g *Goal) respects(constraint string) bool {
	return g.kept() && slices.Contains(g.Constraints, constraint)
}

// minds says whether the step makes noise and its goal respects quiet hours.
func (wf *Workflow) minds(i int) bool {
	return wf.facts(i).Noisy && wf.Plan.Goal.respects(RespectQuiet)
}

// keepQuiet holds a step that makes noise back in quiet hours, for at most its hold_ms. That nobody knows whether it is quiet is never taken
// for no: then it is read first.
func (w *work) keepQuiet(wf *Workflow, i int) bool {
	if !wf.minds(i) {
		return false
	}
	quiet, av := w.availability(KeyQuiet, 0)
	reason := ReasonPolicyBlocked
	switch {
	case av == condition.Fresh && quiet == false:
		return false
	case av == condition.Stale:
		reason = ReasonContextStale
	case av == condition.Conflict:
		reason = ReasonContextConflict
	case av != condition.Fresh:
		reason = ReasonContextMissing
	}
	look := wf.Steps[i].State != Blocked || wf.Steps[i].recheck <= w.now.Boot
	w.block(wf, i, reason, "ctx."+string(KeyQuiet))
	if look {
		w.read(KeyQuiet)
	}
	return true
}

// whyHushed says that a step is held back since it would make noise.
func (w *work) whyHushed(wf *Workflow, i int) []Fact {
	st := &wf.Steps[i]
	if st.State != Blocked || st.Detail != "ctx."+string(KeyQuiet) || !wf.minds(i) {
		return nil
	}
	text := "it would make noise, and these are quiet hours"
	if st.Reason != ReasonPolicyBlocked {
		text = "it would make noise, and whether these are quiet hours is not known: unknown never counts as no"
	}
	return []Fact{{Kind: "context", Ref: st.Detail, Text: text}}
}
