package sim

import (
	"maps"

	"deviceagent/taskmanager/core"
)

// The budget of a plan without an experience. Source: docs/taskmanager.md, escalation.
const (
	mostQuestions = 3
	mostReplans   = 1
)

// questioned sees the questions of a change: one at a time about a step, and no more than the plan has decisions.
func (j *judge) questioned(c core.Change) {
	for _, x := range c.Outbox {
		if x.Type != core.MsgEscalation {
			continue
		}
		at, q := stepRef{x.Workflow, x.Step}, x.Escalation
		j.m.tally.Questions++
		if open := j.asked[at]; open != "" {
			j.m.failf("budget: %s is asked about as %s while %s is open", at, q.ID, open)
		}
		j.asked[at] = q.ID
		if j.questions[at.wf] == nil {
			j.questions[at.wf] = map[core.EscalationID]bool{}
		}
		j.questions[at.wf][q.ID] = true
		if most, _ := j.most(at.wf); int64(len(j.questions[at.wf])) > most {
			j.m.failf("budget: %s has asked %d times, %d are allowed", at.wf, len(j.questions[at.wf]), most)
		}
	}
}

// decision sees an answer that was taken.
func (j *judge) decision(ev core.DecisionReceived, a *core.Answer, now int64) {
	if !a.Accepted || ev.Before != nil {
		return
	}
	j.m.tally.Decisions++
	for at, id := range j.asked {
		if id != ev.Escalation {
			continue
		}
		delete(j.asked, at)
		_, most := j.most(at.wf)
		switch ev.Action {
		case core.ActReplan, core.ActSubstitute:
			j.superseded(at.wf)
			j.takes(ev.Plan, now)
			fallthrough
		case core.ActReturn:
			if j.replans[at.wf]++; int64(j.replans[at.wf]) > most {
				j.m.failf("budget: %s was replanned %d times, %d are allowed", at.wf, j.replans[at.wf], most)
			}
		}
		if ev.Action == core.ActRetry {
			j.retried(at.wf)
		}
		if ev.Action == core.ActCancel || ev.Action == core.ActReturn {
			j.decisionOn[at] = true
		}
		return
	}
	j.m.failf("late decision: the answer to %s is accepted, and nobody asks that", ev.Escalation)
}

// superseded: a revision goes over every open question of a workflow.
func (j *judge) superseded(wf core.WorkflowID) {
	maps.DeleteFunc(j.asked, func(at stepRef, _ core.EscalationID) bool { return at.wf == wf })
}

// oneMore counts the attempt that a decision adds. A read may leave before its commit.
func (j *judge) oneMore(id core.EscalationID) {
	for at, open := range j.asked {
		if open == id {
			if j.again[at] == nil {
				j.again[at] = map[core.EscalationID]bool{}
			}
			j.again[at][id] = true
		}
	}
}
