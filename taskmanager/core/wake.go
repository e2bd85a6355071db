package core

// StepWake is the earliest moment at which time alone moves step i: the end of what its state may last, a look that is due, the next
// question about one of its tasks. 0: time alone does not move it. The deadline of the plan does not count: it ends the step and moves
// it nowhere.
func (wf *Workflow) StepWake(i int) (t Instant) {
	early := func(x Instant) {
		if x != 0 {
			t = earlier(t, x)
		}
	}
	st := &wf.Steps[i]
	if !st.State.Terminal() {
		early(st.Due)
		early(st.recheck)
	}
	for k := range wf.Attempts {
		if a := &wf.Attempts[k]; a.Step == i && a.holds() {
			early(a.next)
			early(a.pauseNext)
		}
	}
	return t
}
