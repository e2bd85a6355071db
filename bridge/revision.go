package bridge

import (
	"fmt"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// cancelSteps are what a revision stops. A step is either asked for or stopped: nothing of the plan can wait for one that is stopped,
// since it has no place in the plan. Whether the device ever had such a step is for the core to say.
func (k *checker) cancelSteps(h *wire.Workflow) {
	if len(h.CancelSteps) > 0 && h.Revision == 0 {
		k.fault("workflow.cancel_steps", wire.ReasonBadValue, "revision 0 is the first: there is nothing to stop")
		return
	}
	for i, id := range h.CancelSteps {
		path := fmt.Sprintf("workflow.cancel_steps[%d]", i)
		switch _, asked := k.index[id]; {
		case asked:
			k.fault(path, wire.ReasonBadValue, "the plan asks for %s too: leave it out of the requests, what is there of it is kept", id)
		case slices.Contains(k.plan.CancelSteps, core.StepID(id)):
			k.fault(path, wire.ReasonBadValue, "it is named twice")
		default:
			k.plan.CancelSteps = append(k.plan.CancelSteps, core.StepID(id))
		}
	}
}
