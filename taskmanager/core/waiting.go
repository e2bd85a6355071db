package core

import (
	"fmt"
	"time"
)

// Overdue says what becomes of a step whose moment passed while the device could not see it: it was off or asleep, its clock was not
// to be trusted, or the plan came too late.
type Overdue string

// The answers.
const (
	OverdueRun  Overdue = "run"
	OverdueSkip Overdue = "skip"
	OverdueFail Overdue = "fail"
)

// graceMS is how late a moment may be noticed and still count as kept. Source: a restart of the machine takes about 30 s; nobody who
// asked for 18:00 means "and not at 18:00:40".
const graceMS int64 = 60_000

// timed says whether a step waits for time once its dependencies are met.
func (s *StepSpec) timed() bool { return s.DelayMS > 0 || s.NotBeforeMS > 0 || s.AnchorEvent != "" }

// reached says whether the wall clock, as far as it can be trusted, has come to a moment; 0: there is none.
func (w *work) reached(wallMS int64) bool {
	return wallMS != 0 && w.now.Trusted && w.now.WallMS >= wallMS
}

// wait begins the planned wait of a step whose dependencies are met. A delay counts from the anchor's evidence, with submitted from
// its acceptance, with a skipped anchor from its end. A moment that passed while the step waited for others is not overdue.
func (w *work) wait(wf *Workflow, i int) {
	spec := &wf.Plan.Steps[i]
	if late := w.now.WallMS - spec.NotBeforeMS; spec.GraceMS > 0 && w.reached(spec.NotBeforeMS) && late > spec.GraceMS && spec.OnOverdue != OverdueRun {
		w.goOn(wf, i, late) // the whole occurrence is overdue, whatever else the step would wait for
		return
	}
	if spec.AnchorEvent != "" {
		w.waitAnchor(wf, i)
		return
	}
	from := max(wf.Accepted, wf.Steps[i].Added) // a step of a revision: from that revision's acceptance
	if spec.Anchor > 0 {
		from = released(&wf.Plan.Steps[spec.Anchor-1], &wf.Steps[spec.Anchor-1])
	}
	due := from + Instant(spec.DelayMS)
	switch {
	case spec.DelayMS > 0 && due > w.now.Boot:
		w.move(wf, i, Waiting, ReasonNone)
		wf.Steps[i].Due = due
		w.ch.Must = true
	case spec.NotBeforeMS > 0 && !w.reached(spec.NotBeforeMS):
		w.move(wf, i, Waiting, ReasonNone)
		w.noteClock(wf, i)
		w.ch.Must = true
	case spec.NotBeforeMS > 0 && len(spec.Deps) == 0:
		w.goOn(wf, i, w.now.WallMS-spec.NotBeforeMS)
	default:
		w.goOn(wf, i, 0)
	}
}

// waited: the delay of a step is over (at due), or the wall clock has come to its moment (due 0).
func (w *work) waited(wf *Workflow, i int, due Instant) {
	spec := &wf.Plan.Steps[i]
	switch {
	case spec.NotBeforeMS > 0 && !w.reached(spec.NotBeforeMS):
		w.noteClock(wf, i)
	case due != 0:
		w.goOn(wf, i, int64(w.now.Boot-due))
	default:
		w.goOn(wf, i, w.now.WallMS-spec.NotBeforeMS)
	}
}

// goOn ends a planned wait that was noticed so many ms late.
func (w *work) goOn(wf *Workflow, i int, lateMS int64) {
	spec := &wf.Plan.Steps[i]
	policy, grace := spec.OnOverdue, max(graceMS, spec.GraceMS)
	switch {
	case spec.Ends:
		w.endOccurrence(wf, i)
	case lateMS <= grace || policy == OverdueRun || policy == "":
		w.move(wf, i, Queued, ReasonNone)
		w.freed = true
	case policy == OverdueSkip:
		w.move(wf, i, Skipped, ReasonOverdueSkipped)
		w.ch.Must = true
	default:
		if wf.Steps[i].State == Pending {
			w.move(wf, i, Waiting, ReasonNone)
		}
		w.fail(wf, i, Failed, ReasonOverdue)
	}
}

// awaitsWall is the moment of the wall clock that a step waits for now; 0: none.
func (wf *Workflow) awaitsWall(i int) int64 {
	if st := &wf.Steps[i]; st.State == Waiting && st.Due == 0 {
		return wf.Plan.Steps[i].NotBeforeMS
	}
	return 0
}

func (wf *Workflow) nextWall() (at int64) {
	for i := range wf.Steps {
		if ms := wf.awaitsWall(i); ms != 0 && (at == 0 || ms < at) {
			at = ms
		}
	}
	return at
}

// NextWall is the earliest moment of the wall clock that something waits for, Unix ms; 0: none. The core compares it with the wall
// clock at each batch, so whoever wakes it finds out anew how far off that is after each jump of that clock.
func (s *State) NextWall() (at int64) {
	for _, wf := range s.Workflows {
		if wf.wall != 0 && (at == 0 || wf.wall < at) {
			at = wf.wall
		}
	}
	return at
}

// noteClock writes whether a step waits for its moment, or for a clock that can be trusted.
func (w *work) noteClock(wf *Workflow, i int) {
	if w.now.Trusted {
		w.note(wf, i, ReasonNone, "")
		return
	}
	w.note(wf, i, ReasonClockUntrusted, "")
}

// trust takes note that the wall clock has come to be trusted, or ceased to be.
func (w *work) trust() {
	if (w.cur.Device.WallMS != 0) == w.now.Trusted {
		return
	}
	w.noteClocks()
	w.learnTimeOff()
}

func (w *work) noteClocks() {
	for _, id := range w.cur.order {
		if w.cur.Workflows[id].wall == 0 {
			continue
		}
		wf := w.wf(id)
		for i := range wf.Steps {
			if wf.awaitsWall(i) != 0 {
				w.noteClock(wf, i)
			}
		}
	}
}

// timeOff: the device was off, and for how long cannot be told now. Delays that ran go on from the last mark, which is late and never
// early, and say so; once the clock can be trusted the time off is made up for.
func (w *work) timeOff(shift Instant) {
	switch {
	case w.dev.OffMS == 0 && w.dev.WallMS != 0:
		w.dev.OffMS, w.dev.OffAt = w.dev.WallMS, w.now.Boot
	case w.dev.OffMS != 0: // a second one, before the first was known: they are made up for together
		w.dev.OffAt += shift
	}
	w.eachDelay(func(wf *Workflow, i int) {
		if wf.Steps[i].State == Waiting {
			w.note(wf, i, ReasonClockUntrusted, "")
		}
	})
}

// learnTimeOff makes up for a time off that could not be told at the start, now that the clock can be trusted.
func (w *work) learnTimeOff() {
	if w.dev.OffMS == 0 || !w.now.Trusted {
		return
	}
	off := Instant(max(0, w.now.WallMS-w.dev.OffMS-int64(w.now.Boot-w.dev.OffAt)))
	w.eachDelay(func(wf *Workflow, i int) {
		st := &wf.Steps[i]
		if st.State == Waiting {
			w.note(wf, i, ReasonNone, "")
		}
		if st.Since < w.dev.OffAt {
			st.Due = max(1, st.Due-off)
			st.dirty = true
		}
	})
	for _, id := range w.everyone() {
		if wf := w.peek(id); wf.Deadline != 0 && wf.Accepted < w.dev.OffAt {
			wf = w.wf(id)
			wf.Deadline = max(1, wf.Deadline-off)
			wf.dirty = true
		}
	}
	w.dev.OffMS, w.dev.OffAt, w.ch.Must = 0, 0, true
}

// eachDelay visits the steps whose delay or back-off runs.
func (w *work) eachDelay(visit func(*Workflow, int)) {
	for _, id := range w.everyone() {
		for i := range w.peek(id).Steps {
			if st := &w.peek(id).Steps[i]; st.Due != 0 && !st.atAnchor() && (st.State == Waiting || st.State == RetryWait) {
				visit(w.wf(id), i)
			}
		}
	}
}

// whyWaiting says what a planned wait waits for.
func (w *work) whyWaiting(wf *Workflow, i int) (facts []Fact) {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	if st.atAnchor() {
		return []Fact{w.whyAnchor(wf, i)}
	}
	if st.Due != 0 {
		facts = append(facts, Fact{Kind: "delay", Text: fmt.Sprintf("a planned delay of %d ms runs", spec.DelayMS)})
		if st.Reason == ReasonClockUntrusted {
			facts = append(facts, Fact{Kind: "delay", Text: "the device was off, and for how long is not known: the delay is late by that time, never early"})
		}
	}
	if spec.NotBeforeMS > 0 {
		f := Fact{Kind: "delay", Ref: "not_before", Text: "it waits for " + time.UnixMilli(spec.NotBeforeMS).UTC().Format(time.RFC3339)}
		if w.now.Trusted {
			f.LeftMS = max(0, spec.NotBeforeMS-w.now.WallMS)
		} else {
			f.Text += ", and the clock cannot be trusted yet"
		}
		facts = append(facts, f)
	}
	return facts
}
