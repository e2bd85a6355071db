package planner

import (
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/running"
	"deviceagent/cloudlink/planner/store"
	"deviceagent/cloudlink/planner/turn"
)

// A turn about work that is under way sends what it has decided in the transaction that keeps it: a revision, a control, an answer.

// put keeps one message of a turn.
func (s *Server) put(tx *store.Tx, env wire.Envelope) error {
	switch {
	case env.Answer != nil:
		out := answerAnswer{WorkflowID: env.Corr.WorkflowID}
		return s.answerQuestion(tx, env, &out)
	case env.Control != nil && env.Control.Verb == "cancel" && env.Control.Scope == "workflow":
		return s.cancelBy(tx, env)
	case env.Control != nil:
		return s.queueControl(tx, env)
	case env.Plan.Workflow.Revision > 0:
		if _, err := repeatOf(tx, env); err != nil { // somebody has changed the plan since it was looked at
			return err
		}
	}
	return s.queuePlan(tx, env)
}

// cancelBy cancels a workflow by what was said, with the id that the turn has told.
func (s *Server) cancelBy(tx *store.Tx, env wire.Envelope) error {
	out := cancelAnswer{WorkflowID: env.Control.Target, State: "requested"}
	return s.cancelWith(tx, env, &out)
}

// revision is the plan of a turn that changes one. It goes through the same check as a new plan.
func (s *Server) revision(in turn.Input, a turnAnswer) (turnAnswer, *wire.Plan, error) {
	plan := a.Decision.Revises.Plan
	if faults := s.check(plan, in.Rooms); len(faults) > 0 {
		p := refusedPlan(faults)
		p.TurnID, p.Hint = a.TurnID, "the changed plan does not fit the catalog"
		return a, nil, p
	}
	a.Requests = nonNil(plan.Requests)
	return a, &plan, nil
}

// speak gives what is said its speech act. What sounds as if it were done, and is not proved to be, is not said: whoever planned it.
func (s *Server) speak(turnID string, d *turn.Decision) {
	d.SpeechAct = running.Act(*d)
	fault := running.Fault(*d)
	if fault == "" {
		return
	}
	s.opt.Log.Error().Str(keyTurn, turnID).Str("fault", fault).Msg("words that report what nothing has proved are not said")
	d.SpeechAct, d.TTSResponse = running.Ack, running.Unproved(d.TTSResponse)
}
