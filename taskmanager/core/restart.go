package core

import (
	"cmp"
	"maps"
	"slices"
)

// started is the first event after a start. Nothing that was read counts any more, and of whatever was under way it is not known
// how it stands: it is asked for as soon as its service is there. A plan's state is not changed by a stop, so the same happens
// after a tidy shutdown, a kill and a power cut.
func (w *work) started(ev Started) {
	w.touched, w.ch.Must, w.ch.forget = true, true, true
	w.dev.StopBody, w.dev.StopTask = w.dev.StopBody || ev.Fresh, "" // a call that the end cut off is made anew
	for id := range w.cur.Services {
		w.ch.gone = append(w.ch.gone, id)
	}
	slices.Sort(w.ch.gone)
	shift, reboot := w.shift(), w.dev.BootID != "" && w.dev.BootID != w.now.BootID
	if reboot {
		w.dev.PlannerMS, w.dev.PlannerAt = 0, 0 // nobody knows how long the device was off
	}
	if shift != 0 {
		rebased(shift, &w.dev.CancelAllAt)
		w.rebaseTemplates(shift)
		w.dev.Holds = rebasedHolds(w.dev.Holds, shift)
		w.dev.Consents = rebasedConsents(w.dev.Consents, shift, !w.now.Trusted || w.dev.WallMS == 0)
	}
	w.speechStart(shift)
	w.sessionsStart(shift)
	for _, id := range w.everyone() {
		wf := w.wf(id)
		if shift != 0 {
			wf.rebase(shift)
		}
		w.askAgain(wf)
		for i := range wf.Steps {
			if wf.Steps[i].Keeping() {
				wf.Steps[i].recheck = 0
				w.lookSoon(wf, i)
			}
		}
		for k := range wf.Attempts {
			if a := &wf.Attempts[k]; a.holds() && !a.Cloud {
				w.lose(wf, a)
			}
		}
		if !wf.State.Terminal() {
			w.progress(wf) // who holds it is not stored with it
		}
	}
	if reboot && (!w.now.Trusted || w.dev.WallMS == 0) {
		w.timeOff(shift)
	}
	w.learnTimeOff()
	w.noteClocks()
	w.releaseIf(Hold{Scope: HoldAll}, Hold.isRestart) // this is the start that was announced, or its time is over
}

// stopBodyOnce: nothing is known of what an earlier store had begun, so a service that can stop the body is told to, once. What
// it does not accept is tried again when it comes anew.
func (w *work) stopBodyOnce(ev ExecutorUp) {
	if !w.dev.StopBody {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(w.cat.Resources)) {
		res := w.cat.Resources[id]
		if res.Body && res.Stop != "" && slices.Contains(ev.Methods, res.Stop) {
			w.dev.StopTask = w.newTask()
			w.ch.Now = append(w.ch.Now, Dispatch{Task: w.dev.StopTask, Service: ev.Service, Method: res.Stop})
			w.ch.Must = true
		}
	}
}

// stoppedOnce takes the answer to that stop.
func (w *work) stoppedOnce(ev TaskAnswered) bool {
	if ev.Task == "" || ev.Task != w.dev.StopTask {
		return false
	}
	w.dev.StopBody, w.dev.StopTask = !ev.Accepted, ""
	w.touched, w.ch.Must, w.freed = true, true, true
	return true
}

// everyone lists the workflows that are open or still hold something, by rank.
func (w *work) everyone() []WorkflowID {
	var ids []WorkflowID
	for id := range w.cur.Workflows {
		if wf := w.peek(id); !wf.State.Terminal() || wf.HoldsAny() {
			ids = append(ids, id)
		}
	}
	for _, id := range w.ids { // those that this very batch brought
		if w.cur.Workflows[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b WorkflowID) int {
		return cmp.Or(byRank(w.peek(a), w.peek(b)), cmp.Compare(a, b))
	})
	return ids
}

// shift is what the boot clock's new start adds to stored instants: 0 in the same boot. The time off is taken from the wall
// clock where both readings can be trusted; otherwise it counts as nothing, so that a delay is late by the time off, never early.
func (w *work) shift() Instant {
	if w.dev.BootID == "" || w.dev.BootID == w.now.BootID {
		return 0
	}
	off := int64(0)
	if w.now.Trusted && w.dev.WallMS > 0 {
		off = max(0, w.now.WallMS-w.dev.WallMS)
	}
	return w.now.Boot - w.dev.Boot - Instant(off)
}

// rebase moves all stored instants of a workflow into the present boot.
func (wf *Workflow) rebase(by Instant) {
	move := func(ts ...*Instant) { rebased(by, ts...) }
	wf.Holds = rebasedHolds(wf.Holds, by)
	move(&wf.Accepted, &wf.Ended, &wf.Deadline)
	wf.Asks = slices.Clone(wf.Asks)
	for i := range wf.Asks {
		move(&wf.Asks[i].Opened, &wf.Asks[i].Due, &wf.Asks[i].Closed)
	}
	wf.Escalations = slices.Clone(wf.Escalations)
	for i := range wf.Escalations {
		e := &wf.Escalations[i]
		move(&e.Opened, &e.Due, &e.Closed)
	}
	wf.dirty = true
	for i := range wf.Steps {
		st := &wf.Steps[i]
		move(&st.Since, &st.Due, &st.RunDue, &st.TriedSince, &st.Accepted, &st.Released, &st.Done, &st.Ended, &st.Added)
		st.rebaseKept(by)
		st.Effects = slices.Clone(st.Effects)
		for e := range st.Effects { // a question tells how old its proof is
			st.Effects[e].Evidence = slices.Clone(st.Effects[e].Evidence)
			for k := range st.Effects[e].Evidence {
				move(&st.Effects[e].Evidence[k].At)
			}
		}
		if st.Bound != nil {
			b := *st.Bound
			move(&b.At, &b.Lost)
			st.Bound = &b
		}
		st.recheck, st.dirty = 0, true
	}
	for i := range wf.Attempts {
		a := &wf.Attempts[i]
		move(&a.At, &a.StopAt, &a.PauseAt, &a.Yielded)
		a.Given = slices.Clone(a.Given)
		for k := range a.Given {
			move(&a.Given[k].At)
		}
		a.next, a.pauseNext, a.dirty = 0, 0, true
	}
}

// rebased moves moments; 0 means that there is no such moment.
func rebased(by Instant, ts ...*Instant) {
	for _, t := range ts {
		if *t != 0 {
			if *t += by; *t == 0 {
				*t = 1 // what hangs on it would never happen
			}
		}
	}
}

// lose: after a restart only its executor can say how a task stands. A stop goes on being a stop.
func (w *work) lose(wf *Workflow, a *Attempt) {
	if a.State == Stopping {
		a.next = w.now.Boot + Instant(w.stopMS(&wf.Plan.Steps[a.Step]))
		return
	}
	w.unknown(wf, a.Step, a, ReasonOutcomeUnknown)
}
