package core

// lateAt is the moment at which a running step of a goal takes longer than the catalog expects; 0: it does not, or was late before. What
// it was paused does not count.
func (wf *Workflow) lateAt(i int) Instant {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	if st.State != Running || st.Late || spec.Op.ExpectedMS == 0 || !wf.supervised() {
		return 0
	}
	from := st.Accepted
	if spec.TimeoutMS > 0 && st.RunDue != 0 { // this is moved on by a pause
		from = st.RunDue - Instant(spec.TimeoutMS)
	}
	return from + Instant(spec.Op.ExpectedMS)
}

// late: a step is late, once. That is no failure: it runs on. What people can have meanwhile is begun: first content of the same plan that
// only waits as planned.
func (w *work) late(wf *Workflow, i int) {
	st := &wf.Steps[i]
	st.Late, st.dirty, w.touched, w.ch.Must = true, true, true, true
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Workflow: wf.Plan.Workflow, Step: st.ID, Goal: wf.Plan.Goal.ID, From: "on_time", To: "late", Reason: ReasonStepLate, Task: st.Task})
	if w.supervise(&gateQuery{wf: wf, i: i, on: ObsStepLate, reason: ReasonStepLate, policy: FailEscalate}).Decision == DecideResume {
		for _, j := range wf.startable(i) {
			w.goOn(wf, j, 0)
		}
	}
}

// startable lists the content of a plan that waits for nothing but a planned delay, and has nothing to do with the late step.
func (wf *Workflow) startable(late int) (steps []int) {
	for j := range wf.Steps {
		st, spec := &wf.Steps[j], &wf.Plan.Steps[j]
		if spec.forPeople() && st.State == Waiting && st.Due != 0 && !st.atAnchor() && spec.NotBeforeMS == 0 && !wf.waitsFor(j, late) {
			steps = append(steps, j)
		}
	}
	return steps
}

// forPeople says whether a step is content: what the cloud prepares or says, and no operation of the robot.
func (s *StepSpec) forPeople() bool { return s.Target == OnCloud }

// waitsFor says whether step j depends on step i, be it over others.
func (wf *Workflow) waitsFor(j, i int) bool {
	for _, d := range wf.Plan.Steps[j].Deps {
		if d.Step == i || wf.waitsFor(d.Step, i) {
			return true
		}
	}
	return false
}
