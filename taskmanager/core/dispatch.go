package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// dispatch commits the intent to call. The call itself follows the commit; that of a read or a stop need not wait for it.
func (w *work) dispatch(wf *Workflow, i int, args, call Values, busy map[catalog.ResourceID]TaskID) {
	spec := &wf.Plan.Steps[i]
	a := w.newAttempt(wf, i)
	a.Service, a.Args, a.Resources, a.Disturbed = spec.Op.Service, args, spec.Resources, w.inUse(spec.Resources)
	a.Instance = w.serviceOf(a.Service).Instance
	w.tookOver(spec.Resources)
	claim(spec.Resources, busy, a.Task)
	w.move(wf, i, Dispatching, ReasonNone)
	wf.Steps[i].Due = w.now.Boot + Instant(w.ackMS(spec))
	out := Dispatch{Task: a.Task, Service: a.Service, Method: spec.Method, Params: call}
	w.ch.Must = true
	if spec.Op.ReadOnly || len(spec.Stops) > 0 {
		w.ch.Now = append(w.ch.Now, out)
	} else {
		w.ch.Outputs = append(w.ch.Outputs, out)
	}
	w.userTouches(wf, i)
	switch {
	case wf.Plan.Standing != "": // the device asks for it, and nobody's plan ends by that
		w.dev.Safety.Drove = w.dev.Safety.Drove || spec.MovesBody
		w.preempt(slices.Concat(spec.Stops, spec.Resources), wf.Plan.Workflow)
	case len(spec.Stops) > 0:
		w.stopUsers(spec.Stops, wf.Plan.Workflow, ReasonUserCancelled)
	}
}

func (w *work) newAttempt(wf *Workflow, i int) *Attempt {
	st := &wf.Steps[i]
	task := w.newTask()
	wf.Attempts = append(wf.Attempts, Attempt{Task: task, Step: i, State: Calling, Seq: w.seq, At: w.now.Boot, dirty: true})
	st.Task, st.Accepted, st.Released, st.RunDue, st.dirty = task, 0, 0, 0, true
	st.Attempts++
	st.Effects = slices.Clone(st.Effects)
	for e := range st.Effects {
		st.Effects[e] = Effect{ID: st.Effects[e].ID, State: EffectOpen}
	}
	w.trace(wf, TraceEntry{Stage: StageAct, What: "dispatch", Step: st.ID, Basis: string(task)})
	return &wf.Attempts[len(wf.Attempts)-1]
}

// dispatchCloud asks the cloud to carry out a step. Its attempt is its outbox row: re-sending is its probe.
func (w *work) dispatchCloud(wf *Workflow, i int, inputs Values) {
	a := w.newAttempt(wf, i)
	a.Cloud, a.State = true, Live
	tells := w.beginSession(wf, i, a.Task)
	w.run(wf, i)
	spec := &wf.Plan.Steps[i]
	var seen []Effect
	for _, d := range spec.Deps {
		seen = append(seen, wf.Steps[d.Step].Effects...)
	}
	w.send(Message{Type: MsgStepDue, Workflow: wf.Plan.Workflow, Step: spec.ID, Task: a.Task,
		StepDue: &StepDue{Step: spec.ID, Task: a.Task, Skill: spec.Skill, Tells: tells, Inputs: inputs, Proof: seen}})
}
