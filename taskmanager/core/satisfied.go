package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// holdsAlready says that the step is not to be dispatched now: because its effects hold (then it is satisfied), or because that
// is still being read. It waits for the answer at most the ack deadline; what stays unknown is dispatched.
func (w *work) holdsAlready(wf *Workflow, i int, args Values) bool {
	spec, st := &wf.Plan.Steps[i], &wf.Steps[i]
	if st.Checked || !w.mayHold(spec, st) {
		return false
	}
	if args == nil {
		args = spec.Args
	}
	truth := condition.True
	proofs := make([][]Evidence, len(st.Effects))
	var need []catalog.ContextKey
	for e := range st.Effects {
		effect := w.cat.Effects[st.Effects[e].ID]
		v := view{w: w, args: args, after: w.lastUse(spec.Resources).Seq, accept: effect.Confidence.Accept}
		truth = and(truth, v.eval(*effect.Holds))
		proofs[e], need = v.proof, append(need, v.need...)
	}
	if truth == condition.True && w.inUse(spec.Resources) {
		truth = condition.False // it holds by the doing of something else, which goes on
	}
	if truth == condition.True {
		w.satisfy(wf, i, proofs)
		return true
	}
	if truth == condition.False || w.unavailable(need) {
		st.Checked, st.dirty = true, true
		return false
	}
	if st.State == Blocked {
		w.move(wf, i, Queued, ReasonNone)
	}
	if st.Due == 0 {
		st.Due, st.dirty = w.now.Boot+Instant(w.ackMS(spec)), true
	}
	if st.recheck <= w.now.Boot {
		w.read(need...)
		st.recheck = w.now.Boot + rereadMS
		w.touched = true
	}
	return true
}

// lastUse is when a task last let go of one of the resources. What was read before that may have been changed by it, however
// fresh it is.
func (w *work) lastUse(resources []catalog.ResourceID) (last Sample) {
	for _, res := range resources {
		use, now := w.ch.used[res]
		if !now {
			use = w.cur.used[res]
		}
		if use.Seq > last.Seq {
			last = use
		}
	}
	return last
}

func (w *work) mayHold(spec *StepSpec, st *Step) bool {
	if len(st.Effects) == 0 || len(spec.Stops) > 0 || spec.Op.HasOutput {
		return false
	}
	return !slices.ContainsFunc(st.Effects, func(e Effect) bool { return e.ID == "" || w.cat.Effects[e.ID].Holds == nil })
}

func (w *work) unavailable(keys []catalog.ContextKey) bool {
	return slices.ContainsFunc(keys, func(k catalog.ContextKey) bool { v, ok := w.known(k); return ok && !v.Available })
}

func (w *work) satisfy(wf *Workflow, i int, proofs [][]Evidence) {
	for e := range proofs {
		for _, p := range proofs[e] {
			w.keepAt(wf, i, e, p)
		}
		w.setEffect(wf, i, e, EffectObserved)
	}
	wf.Steps[i].Done = w.now.Boot
	w.move(wf, i, Satisfied, ReasonNone)
	w.ch.Must = true
}
