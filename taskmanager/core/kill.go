package core

import (
	"fmt"
	"strings"
)

// kill is a cancel that does not wait for the clean-up: every step that it covers ends at once, unconfirmed. Its tasks are stopped all
// the same, and keep what they hold until they are seen at rest.
func (w *work) kill(ev ControlReceived, ans *Answer) {
	w.cancel(ev, ans)
	id, step, one := strings.Cut(ev.Target, "/")
	ids := []WorkflowID{WorkflowID(id)}
	switch ev.Scope {
	case "all":
		ids = w.everyone()
	case string(HoldExperience):
		ids = nil
		for _, id := range w.everyone() {
			if wf := w.peek(id); wf.Plan.Goal != nil && wf.Plan.Goal.Experience == ev.Target {
				ids = append(ids, id)
			}
		}
	}
	for _, id := range ids {
		wf := w.peek(id)
		if wf == nil {
			continue
		}
		for i := range wf.Steps {
			if st := &wf.Steps[i]; st.State == Cancelling && (!one || string(st.ID) == step) {
				wf = w.wf(id)
				w.cancelled(wf, i, unconfirmed)
				ans.State = string(wf.State)
				if one {
					ans.State = string(wf.Steps[i].State)
				}
			}
		}
	}
	if ev.Scope == "all" {
		ans.State = ""
	}
}

// stopText tells how far the clean-up of a cancelled step is.
func (w *work) stopText(wf *Workflow, task TaskID) string {
	calls := 0
	if a := wf.attempt(task); a != nil {
		calls = a.StopCalls
	}
	return fmt.Sprintf("it is being cleaned up: stop was called %d of at most %d times and nothing has confirmed it yet", calls, maxStops)
}
