package core

import (
	"slices"
	"strconv"

	"deviceagent/taskmanager/core/catalog"
)

// StandingPrefix begins the ids of the workflows that the device makes by itself; nobody else may use it.
const StandingPrefix = "local:safety:"

// The tries of a step of a standing plan, and the pause between two: nobody else is there to send it again. Source: ours; a station
// whose way is blocked is free again in seconds at best.
const (
	standingTries     = 3
	standingBackoffMS = 5_000
)

// runStanding runs a standing plan of the catalog as a workflow of its own, local:safety:n. It goes before all other work, is not held
// back by the guard that it serves, and takes what it needs from those who have it. False: one of that name is under way already, or
// the catalog has none.
func (w *work) runStanding(name, why string) bool {
	if len(w.cat.Standing[name]) == 0 || w.standingOpen(name) != nil {
		return false
	}
	p := &Plan{Workflow: w.newStanding(), Priority: PrioritySafety, CatalogEtag: w.cat.Etag, Local: true, Standing: name, Utterance: why}
	p.ID = PlanID(p.Workflow)
	for _, s := range w.cat.Standing[name] {
		spec, ok := w.standingStep(p, s)
		if !ok {
			return false
		}
		p.Steps = append(p.Steps, spec)
	}
	p.Steps[len(p.Steps)-1].OnFailure = FailEscalate
	w.accept(PlanSubmitted{Head: Head{Local: true}, Plan: p})
	w.ch.Must = true
	return true
}

// newStanding makes an id that no workflow of this store has.
func (w *work) newStanding() WorkflowID {
	for {
		w.dev.Safety.PlanNo++
		id := WorkflowID(StandingPrefix + strconv.FormatInt(w.dev.Safety.PlanNo, 10))
		if w.peek(id) == nil && w.tombOf(id) == ReasonNone {
			return id
		}
	}
}

// standingOpen finds the workflow of a standing plan that is under way and was not cancelled; nil: there is none.
func (w *work) standingOpen(name string) *Workflow {
	for _, id := range w.everyone() {
		if wf := w.peek(id); wf.Plan.Standing == name && !wf.State.Terminal() && wf.Cancel == ReasonNone {
			return wf
		}
	}
	return nil
}

// standingStep makes one step of a standing plan of what the catalog says. A stop waits for nobody and is waited for by nobody; what
// moves follows what moved before it, however that ended.
func (w *work) standingStep(p *Plan, s catalog.StandingStep) (StepSpec, bool) {
	res, faults := w.cat.Resolve(s.Method, s.Params)
	if len(faults) > 0 {
		return StepSpec{}, false // the catalog was checked: it has become another one since
	}
	op := res.Operation
	spec := StepSpec{
		ID: StepID("step_" + strconv.Itoa(len(p.Steps)+1)), Target: OnDevice, Method: s.Method, Args: res.Args, Call: res.Call, Wait: WaitCompleted,
		TimeoutMS: op.Timeout.For(res.Args), EvidenceMS: op.EvidenceMS, HoldMS: op.HoldMS, OnFailure: FailContinue,
		Op: FactsOf(op), Resources: op.Resources, Stops: op.Stops, Effects: EffectsOf(op), MovesBody: op.MovesBody,
	}
	if spec.TimeoutMS == 0 {
		spec.TimeoutMS = 60_000
	}
	if spec.HoldMS == 0 {
		spec.HoldMS = 60_000
	}
	if op.Redo != catalog.RedoNever {
		spec.Retry = Retry{Attempts: standingTries, BackoffMS: standingBackoffMS}
	}
	if pre := spec.Op.Prerequisites; pre != nil && pre.Ref == "ctx."+string(catalog.BatteryLevel) {
		spec.Op.Prerequisites = nil // the way to the station is exempt from the guard that it serves
	}
	for i := len(p.Steps) - 1; i >= 0 && len(spec.Stops) == 0; i-- {
		if len(p.Steps[i].Stops) == 0 {
			spec.Deps = []Dep{{Step: i, On: OnDone}}
			break
		}
	}
	return spec, true
}

// preempt stops the tasks of others on what a standing plan uses or stops. Nobody's wish ended their steps: they are queued again
// where their operation may be sent again, and else they fail.
func (w *work) preempt(resources []catalog.ResourceID, by WorkflowID) {
	for _, r := range w.listening() {
		a := &w.peek(r.wf).Attempts[r.at]
		if r.wf == by || !a.holds() || a.Cloud || a.State == Stopping || !slices.ContainsFunc(a.Resources, func(x catalog.ResourceID) bool { return slices.Contains(resources, x) }) {
			continue
		}
		wf := w.wf(r.wf)
		if a = &wf.Attempts[r.at]; wf.Steps[a.Step].Task == a.Task && wf.Steps[a.Step].State.active() {
			w.stopForHold(wf, a.Step, a, string(by)+" needs what it uses")
		} else {
			w.stop(wf, a)
		}
	}
}

// stopByAllMeans: the task that moves the body was told to stop, and nothing confirms it. The catalog's standing plan stop goes another
// way: it ends whatever turns the wheels, unless they were seen to stand still since.
func (w *work) stopByAllMeans(wf *Workflow, a *Attempt) {
	rests := view{w: w, after: a.StopSeq, since: a.StopAt, hasty: true}
	if wf.Plan.Steps[a.Step].MovesBody && a.StopCalls == 1 && !w.atRest(a.Resources, rests) {
		w.runStanding(catalog.StandingStop, "a stop of "+string(a.Task)+" was not confirmed")
	}
}

// heldOnly leaves of what is taken what a task still holds: safety does not wait for the proof of another step.
func (w *work) heldOnly(busy map[catalog.ResourceID]TaskID) map[catalog.ResourceID]TaskID {
	out := make(map[catalog.ResourceID]TaskID, len(busy))
	for res, task := range busy {
		if a := w.peekAttempt(task); a == nil || a.holds() {
			out[res] = task
		}
	}
	return out
}
