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
// only waits as planned, else, if the user wants it, what waits for the late step. Nobody answers: all goes on as planned.
func (w *work) late(wf *Workflow, i int) {
	st := &wf.Steps[i]
	st.Late, st.dirty, w.touched, w.ch.Must = true, true, true, true
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Workflow: wf.Plan.Workflow, Step: st.ID, Goal: wf.Plan.Goal.ID, From: "on_time", To: "late", Reason: ReasonStepLate, Task: st.Task})
	switch w.supervise(&gateQuery{wf: wf, i: i, on: ObsStepLate, reason: ReasonStepLate, policy: FailEscalate}).Decision {
	case DecideResume:
		for _, j := range wf.startable(i) {
			w.goOn(wf, j, 0)
		}
	case DecideAsk:
		a := Ask{Kind: AskLate, Reason: ReasonStepLate, Text: w.fill(wf, i, w.words(wf, "late", "{step}: it takes longer. Shall I go on with the rest first?")), Options: w.yesOrNo(wf)}
		w.openAsk(wf, i, &a, askMS)
		w.putAsk(wf, &a, ReasonStepLate)
	}
}

// lateAsk is the open question about a late step; nil: there is none.
func (wf *Workflow) lateAsk() *Ask {
	for k := range wf.Asks {
		if a := &wf.Asks[k]; a.Kind == AskLate && a.State == AskOpen {
			return a
		}
	}
	return nil
}

// behind lists the content that waits for a late step, be it over others, and needs nothing of it: the user may want to hear it first.
func (wf *Workflow) behind(late int) (steps []int) {
	for j := range wf.Steps {
		spec := &wf.Plan.Steps[j]
		if spec.forPeople() && wf.Steps[j].State == Pending && !wf.Steps[j].Early && !spec.timed() && len(spec.InputFrom) == 0 && spec.When == nil && wf.waitsFor(j, late) {
			steps = append(steps, j)
		}
	}
	return steps
}

// beginEarly: the user does not want to wait. What else the content waits for it waits for still.
func (w *work) beginEarly(wf *Workflow, late StepID) {
	for _, j := range wf.behind(wf.Plan.Lookup(late)) {
		wf.Steps[j].Early, wf.Steps[j].dirty, w.touched = true, true, true
	}
}

// goesAhead says whether step i does not wait for step dep any more: that is late, or waits for one that is.
func (wf *Workflow) goesAhead(i, dep int) bool {
	if !wf.Steps[i].Early {
		return false
	}
	for l := range wf.Steps {
		if wf.Steps[l].Late && (dep == l || wf.waitsFor(dep, l)) {
			return true
		}
	}
	return false
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
