package compile

import (
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// experience is the goal that goes with a plan: an activated one, with its id. All others stay with the turn. The steps of a plan are the
// same with it and without.
func experience(d turn.Decision, ids IDs) *wire.Experience {
	x := d.Experience
	if x == nil || x.Admission != turn.Activated || x.Goal == nil {
		return nil
	}
	goal := *x.Goal
	if goal.ExperienceID == "" { // else it is kept by a revision
		goal.ExperienceID = "exp_" + ids.WorkflowID
	}
	return &goal
}
