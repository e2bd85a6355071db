package core

// released is the moment at which a step let its dependants go.
func released(spec *StepSpec, st *Step) Instant {
	switch {
	case spec.Wait == WaitSubmitted && st.Accepted != 0:
		return st.Accepted
	case spec.Wait == WaitForEvent && st.Released != 0:
		return st.Released
	case st.Done != 0:
		return st.Done
	}
	return st.Ended
}

// dependencies says whether a step may go on, or why it never can.
func (w *work) dependencies(wf *Workflow, i int) (met bool, never Reason) {
	met = true
	for _, d := range wf.Plan.Steps[i].Deps {
		if wf.goesAhead(i, d.Step) {
			continue
		}
		ok, no := dependency(&wf.Plan.Steps[d.Step], &wf.Steps[d.Step], d.On)
		if no != ReasonNone {
			return false, no
		}
		met = met && ok
	}
	return met, ReasonNone
}

func dependency(spec *StepSpec, st *Step, on On) (met bool, never Reason) {
	lost := st.lost() != ReasonNone // what it had brought about did not last as long as it had to
	success := (st.State == Completed || st.State == Satisfied) && !lost || st.State == Skipped && st.Reason == ReasonConditionFalse
	failure := st.State == Failed || st.State == TimedOut || lost
	switch on {
	case OnFailure:
		if failure || !st.State.Terminal() {
			return failure, ReasonNone
		}
		return false, ReasonBranchNotTaken
	case OnDone:
		if success || failure || !st.State.Terminal() {
			return success || failure, ReasonNone
		}
		return false, ReasonDependencyFailed
	}
	switch {
	case st.State.Terminal() && !success:
		return false, ReasonDependencyFailed
	case spec.Wait == WaitForEvent && st.State == Completed && st.Released == 0:
		return false, ReasonWaitEventMissing
	case spec.Wait == WaitForEvent:
		return success || st.Released != 0 && st.State != Blocked, ReasonNone
	case spec.Wait == WaitSubmitted:
		return success || st.Accepted != 0 && st.State != Blocked, ReasonNone // what a try released waits where that try has failed
	}
	return success, ReasonNone
}
