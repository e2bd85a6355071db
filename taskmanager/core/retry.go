package core

import (
	"fmt"

	"deviceagent/taskmanager/core/catalog"
)

// mayRetry: a retry is for what passes by itself, where the catalog lets the operation be sent again, and only when nothing of the
// failed try is left.
func (w *work) mayRetry(wf *Workflow, i int, reason Reason) bool {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	a := wf.attempt(st.Task)
	return InfoOf(reason).Class == Transient && st.Tries+1 < spec.Retry.Attempts && wf.Cancel == ReasonNone && st.Wish == ReasonNone &&
		wf.facts(i).Redo != catalog.RedoNever && (a == nil || !a.holds()) && wf.retriesLeft()
}

// retry waits its back-off; then the step is queued anew: its condition, its prerequisites and whether its effect holds by now are
// looked at again.
func (w *work) retry(wf *Workflow, i int, reason Reason) {
	st := &wf.Steps[i]
	w.move(wf, i, RetryWait, reason)
	st.Tries++
	st.Checked, st.TriedSince = false, 0
	st.Accepted, st.Released = 0, 0 // what this try had released waits for the next
	st.Due = w.now.Boot + max(1, Instant(wf.Plan.Steps[i].Retry.BackoffMS))
	w.ch.Must = true
	w.trace(wf, TraceEntry{Stage: StageAct, What: "retry", Step: st.ID, Reason: reason})
}

// whyRetry says which try failed and why another is to come.
func whyRetry(st *Step, spec *StepSpec) []Fact {
	return []Fact{{Kind: "delay", Ref: string(st.Reason),
		Text: fmt.Sprintf("try %d of %d failed (%s: %s); it waits for the next", st.Tries, spec.Retry.Attempts, st.Reason, InfoOf(st.Reason).Text)}}
}
