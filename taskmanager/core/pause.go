package core

import (
	"fmt"
	"strings"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// PauseState says how far the pause of a task is. That somebody holds it, and even that its executor said yes, pauses nothing.
type PauseState string

// The states of a pause.
const (
	PauseNone      PauseState = ""
	PauseAsked     PauseState = "asked"    // Pause was called, nothing has confirmed it
	PauseConfirmed PauseState = "paused"   // by its executor's word, or by what it uses being at rest
	PauseResuming  PauseState = "resuming" // Resume was called, nothing has confirmed it
	PauseStopping  PauseState = "stopping" // it is stopped because of a hold; then its step is queued again, or fails
	PauseRefused   PauseState = "refused"  // it would neither pause nor stop: its result is waited for
)

// pauseKeepMS is how long a paused task keeps what it uses although others need it. Source: docs/taskmanager.md, holds (60 s).
const pauseKeepMS = 60_000

// causeExecutor is the cause of a hold that the robot itself set: it reported its own task as paused.
const causeExecutor = "executor"

// steer brings a task in line with those who hold its step. A call that is not answered yet is looked at when it is: never is a step
// called paused while its task runs.
func (w *work) steer(wf *Workflow, i int) {
	st := &wf.Steps[i]
	a := wf.attempt(st.Task)
	if w.stopGuarded(wf, i, a) || a == nil || a.State != Live || a.Cloud {
		return
	}
	held := len(w.holdsOn(wf, i)) > 0
	switch {
	case held && st.State == Running && (a.Pausing == PauseNone || a.Pausing == PauseResuming):
		w.halt(wf, i, a)
	case held && st.State == Paused && a.Pausing == PauseResuming:
		w.unpause(wf, i, a) // it may be moving again by now
		w.halt(wf, i, a)
	case held && st.State == Paused:
		w.note(wf, i, ReasonHeld, w.holdsOn(wf, i)[0].ID())
	case !held && st.State == Running && a.Pausing == PauseAsked:
		w.resume(wf, i, a)
	case !held && st.State == Running && a.Pausing == PauseRefused:
		a.Pausing, a.dirty = PauseNone, true
	case !held && st.State == Paused && a.Pausing == PauseConfirmed:
		w.letGoOn(wf, i, a)
	}
}

// steerAnew does so for a task that was found again: what was asked of it before counts no more, unless it is paused.
func (w *work) steerAnew(wf *Workflow, i int, a *Attempt, anew bool) {
	if anew && a.State == Live && wf.Steps[i].State == Running {
		a.Pausing = PauseNone
	}
	w.steer(wf, i)
}

// halt holds a task as far as its operation can be held: paused where it can pause, stopped where it moves the body, else left to
// come to its end.
func (w *work) halt(wf *Workflow, i int, a *Attempt) {
	switch {
	case wf.facts(i).Pause:
		w.pausing(wf, a, PauseAsked)
		w.pauseNow(a)
	case wf.Plan.Steps[i].MovesBody:
		w.stopForHold(wf, i, a, "its operation cannot pause")
	}
}

// haltCalls holds the tasks whose call is not answered yet, where a hold has just come: what has not left is kept back for it, and what has
// is held again when it is answered.
func (w *work) haltCalls() {
	for _, r := range w.listening() {
		wf := w.peek(r.wf)
		a := &wf.Attempts[r.at]
		switch {
		case a.State != Calling || a.Cloud || w.wfs[r.wf] == nil || len(w.holdsOn(wf, a.Step)) == 0:
		case wf.facts(a.Step).Pause:
			w.ch.Now = append(w.ch.Now, Pause{Task: a.Task, Service: a.Service})
		case wf.Plan.Steps[a.Step].MovesBody:
			w.ch.Now = append(w.ch.Now, Stop{Task: a.Task, Service: a.Service, Method: wf.Plan.Steps[a.Step].Method})
		}
	}
}

// pausing begins a new stage of a pause: what was read and said before counts no more.
func (w *work) pausing(wf *Workflow, a *Attempt, to PauseState) {
	a.Pausing, a.PauseAt, a.PauseSeq, a.PauseTaken, a.PauseTold = to, w.now.Boot, w.seq, false, false
	a.pauseNext = w.now.Boot + rereadMS
	a.dirty, w.touched, w.ch.Must = true, true, true
}

func (w *work) pauseMS(wf *Workflow, i int) Instant {
	if ms := wf.facts(i).PauseMS; ms > 0 {
		return Instant(ms)
	}
	return Instant(w.stopMS(&wf.Plan.Steps[i]))
}

// pauseAnswered takes the answer to a Pause or Resume. Accepted is not paused: the executor is asked, and what the task uses is read.
// Refused: it will not be confirmed any more.
func (w *work) pauseAnswered(ev StopAnswered) {
	wf, a := w.attempt(ev.Task)
	if a != nil && a.holds() && ev.To == ToPause && ev.Accepted {
		w.mayGoOn(a, true) // also where it comes too late for us: it is going to rest
	}
	if a == nil || a.State != Live || ev.To == ToPause && a.Pausing != PauseAsked || ev.To == ToResume && a.Pausing != PauseResuming {
		return
	}
	w.touched = true
	if wf.trailing(a) {
		w.trailingAnswered(wf, a, ev)
		return
	}
	switch {
	case ev.Refused:
		w.ask(a) // it may have ended, or be unknown to its executor
		w.stopForHold(wf, a.Step, a, fmt.Sprintf("%s was refused: %s", ev.To, orReason(ev.Reason, "no reason given")))
	case ev.Accepted:
		a.PauseTaken, a.dirty = true, true
		w.askPaused(wf, a)
	}
}

// askPaused asks for what confirms a pause or its end.
func (w *work) askPaused(wf *Workflow, a *Attempt) {
	w.ask(a)
	if a.Pausing != PauseAsked {
		return
	}
	for _, res := range a.Resources {
		if x := w.cat.Resources[res].AtRest; x != nil {
			n := 0
			leaves(*x, &n, func(_ int, l catalog.Leaf) { w.read(l.Context) })
		}
	}
}

// pauseDue is due while a pause or resume waits for its confirmation, and from time to time while a task is paused: its end may have
// been told while nobody listened.
func (w *work) pauseDue(wf *Workflow, a *Attempt) {
	i := a.Step
	if wf.trailing(a) {
		w.trailingDue(wf, a)
		return
	}
	if a.State != Live || wf.Steps[i].Task != a.Task {
		return
	}
	switch a.Pausing {
	case PauseAsked, PauseResuming:
		over := a.PauseAt + w.pauseMS(wf, i)
		if w.now.Boot >= over {
			w.stopForHold(wf, i, a, "it was not confirmed in time")
			return
		}
		w.askPaused(wf, a)
		a.pauseNext = min(w.now.Boot+rereadMS, over)
	case PauseConfirmed:
		if len(w.holdsOn(wf, i)) == 0 {
			w.letGoOn(wf, i, a)
			return
		}
		w.ask(a)
		w.freed = true // who waits for what it keeps may have it now
		a.pauseNext = w.now.Boot + pauseKeepMS
	}
}

// pauseLook holds the present context against a task that is to pause or to go on.
func (w *work) pauseLook(r ref) {
	a := &w.peek(r.wf).Attempts[r.at]
	st := &w.peek(r.wf).Steps[a.Step]
	switch {
	case a.State != Live || st.Task != a.Task:
	case a.Pausing == PauseAsked && st.State == Running && a.PauseTaken && len(a.Resources) > 0 && w.atRest(a.Resources, view{w: w, after: a.PauseSeq, since: a.PauseAt}):
		wf := w.wf(r.wf)
		w.paused(wf, a.Step, &wf.Attempts[r.at], false)
	case a.Pausing == PauseConfirmed && st.State == Paused && len(w.holdsOn(w.peek(r.wf), a.Step)) == 0:
		wf := w.wf(r.wf)
		w.letGoOn(wf, a.Step, &wf.Attempts[r.at])
	}
}

// paused: the task is at rest, and knows that it is to go on. The clocks of its step stand still from here on.
func (w *work) paused(wf *Workflow, i int, a *Attempt, told bool) {
	w.pausing(wf, a, PauseConfirmed)
	a.PauseTold = told
	a.pauseNext = w.now.Boot + pauseKeepMS
	st := &wf.Steps[i]
	left := st.RunDue
	w.move(wf, i, Paused, ReasonHeld)
	if left != 0 {
		st.LeftMS = int64(max(1, left-w.now.Boot))
	}
	st.RunDue = 0
	if holds := w.holdsOn(wf, i); len(holds) > 0 {
		w.note(wf, i, ReasonHeld, holds[0].ID())
	}
	w.steer(wf, i)
}

// thaw lets the clock of a paused step go on with what was left of it.
func (w *work) thaw(st *Step) {
	if st.LeftMS > 0 {
		st.RunDue, st.LeftMS = w.now.Boot+Instant(st.LeftMS), 0
	}
}

// unpause: its task runs again.
func (w *work) unpause(wf *Workflow, i int, a *Attempt) {
	w.pausing(wf, a, PauseNone)
	a.pauseNext = 0
	w.move(wf, i, Running, ReasonNone)
	st := &wf.Steps[i]
	if st.Due = st.RunDue; st.Due == 0 {
		st.recheck = w.now.Boot + gapMS
	}
	if contradicted(st) {
		st.Due = earlier(st.Due, w.now.Boot+Instant(wf.Plan.Steps[i].EvidenceMS))
	}
}

// pauseTold takes what an executor says of a task that runs: that it is paused, or that it is not.
func (w *work) pauseTold(wf *Workflow, i int, a *Attempt, ev TaskStatus) {
	st := &wf.Steps[i]
	if st.Task != a.Task || a.State != Live || a.Cloud || wf.trailing(a) {
		return
	}
	switch {
	case ev.Paused && a.Pausing == PauseResuming:
	case ev.Paused && st.State == Running:
		if len(w.holdsOn(wf, i)) == 0 && a.Pausing == PauseNone {
			w.pausing(wf, a, PauseAsked)
			w.hold(w.ownHold(wf, a)) // a person at the robot, or the robot itself: it is not fought
		}
		w.paused(wf, i, a, true)
	case ev.Paused && st.State == Paused && !a.PauseTold:
		a.PauseTold, a.dirty = true, true
	case ev.Paused:
	case a.Pausing == PauseResuming && (a.PauseTaken || ev.Resumed):
		w.resumed(wf, i, a)
	case st.State == Paused && a.Pausing == PauseConfirmed && (a.PauseTold || ev.Resumed):
		own := w.ownHold(wf, a)
		w.unpause(wf, i, a)
		w.release(own.Kind, own.Scope, own.Target, own.Cause, HeldByPUI)
		w.steer(wf, i) // who else holds it holds it still
	}
}

// mayGoOn notes whether the rest of a task may be a pause.
func (w *work) mayGoOn(a *Attempt, may bool) {
	if a.MayGoOn != may {
		a.MayGoOn, a.dirty, w.touched = may, true, true
	}
}

// ownHold is the hold of a robot that pauses a task by itself: it goes on by its own word, or when anybody lets it.
func (w *work) ownHold(wf *Workflow, a *Attempt) Hold {
	return Hold{Kind: HeldByPUI, Scope: HoldWorkflow, Target: string(wf.Plan.Workflow), Cause: causeExecutor, Resume: ResumeAsk, By: string(a.Service),
		Why: "the robot paused it by itself"}
}

func (w *work) resumed(wf *Workflow, i int, a *Attempt) {
	w.mayGoOn(a, false)
	if wf.Steps[i].State == Paused {
		w.unpause(wf, i, a)
	} else {
		w.pausing(wf, a, PauseNone)
		a.pauseNext = 0
	}
	w.settle(wf, i)
}

// letGoOn: the last holder has let go. Whether the step may go on is asked again, as before a dispatch; it waits for a missing value, and
// for a prerequisite, as long as a blocked step would. One whose condition has become false is stopped.
func (w *work) letGoOn(wf *Workflow, i int, a *Attempt) {
	st, spec := &wf.Steps[i], &wf.Plan.Steps[i]
	if w.cur.Hold {
		return
	}
	when, pre := w.check(wf, spec.When), w.check(wf, spec.Op.Prerequisites)
	switch {
	case when.Truth == condition.False:
		w.stopForHold(wf, i, a, "its condition has become false")
		return
	case when.Truth == condition.True && pre.Truth == condition.True:
		w.resume(wf, i, a)
		return
	}
	if st.Reason == ReasonHeld {
		a.PauseAt, a.dirty = w.now.Boot, true
	}
	if w.now.Boot >= a.PauseAt+Instant(spec.HoldMS) {
		w.stopForHold(wf, i, a, "it could not go on: "+string(st.Reason))
		return
	}
	ans := when
	if when.Truth == condition.True {
		ans = pre
	}
	reason, key := ReasonPrerequisite, ""
	if ans.Truth == condition.Unknown {
		reason, key = reasonOf(ans)
	} else if key = spec.Op.Prerequisites.Ref; key == "ctx.battery.level" {
		reason = ReasonBatteryLow
	}
	if a.pauseNext <= w.now.Boot || st.Reason == ReasonHeld {
		w.readUnknown(ans, key)
		a.pauseNext = w.now.Boot + rereadMS
	}
	w.note(wf, i, reason, key)
}

// readUnknown reads what a condition lacks, and what it is false by.
func (w *work) readUnknown(ans condition.Answer, key string) {
	refs := []string{key}
	for _, u := range ans.Unknown {
		refs = append(refs, u.Ref)
	}
	for _, ref := range refs {
		if k, ok := strings.CutPrefix(ref, "ctx."); ok {
			w.read(catalog.ContextKey(k))
		}
	}
}

// resume lets the very task go on that was paused, with its own arguments.
func (w *work) resume(wf *Workflow, i int, a *Attempt) {
	w.pausing(wf, a, PauseResuming)
	w.note(wf, i, ReasonNone, "")
	w.ch.Outputs = append(w.ch.Outputs, Resume{Task: a.Task, Service: a.Service})
}

// stopForHold: what cannot pause, does not confirm it, does not go on or keeps what others need is stopped. When its end is confirmed
// its step is queued again, where its operation may be sent again.
func (w *work) stopForHold(wf *Workflow, i int, a *Attempt, why string) {
	st := &wf.Steps[i]
	if st.Task != a.Task || !st.State.active() {
		return
	}
	if st.State == Paused && a.Pausing == PauseResuming {
		w.unpause(wf, i, a) // it may be moving
	}
	w.pausing(wf, a, PauseStopping)
	a.pauseNext = 0
	if w.stop(wf, a); !a.holds() {
		w.stoppedForHold(wf, i) // its call had not left
		return
	}
	w.note(wf, i, ReasonHeld, "it is being stopped: "+why)
	w.readRest(wf, a)
}

// stoppedForHold: the end of a task that was stopped because of a hold is confirmed.
func (w *work) stoppedForHold(wf *Workflow, i int) {
	if st := &wf.Steps[i]; wf.Cancel != ReasonNone || st.Wish != ReasonNone { // somebody wanted it to end before it was held
		w.move(wf, i, Cancelled, orReason(st.Wish, wf.Cancel))
		st.Stop = confirmed
		w.ch.Must = true
		return
	}
	if wf.facts(i).Redo == catalog.RedoNever {
		w.fail(wf, i, Failed, ReasonStoppedByHold)
		return
	}
	st := &wf.Steps[i]
	w.move(wf, i, Queued, ReasonHeld)
	st.RunDue, st.LeftMS, st.TriedSince, st.Checked = 0, 0, 0, false
	st.Accepted, st.Released = 0, 0 // what this task had released waits for the next
	w.freed, w.ch.Must = true, true
}

// stopRefused: a task that would not pause does not stop either. It is left to come to its end.
func (w *work) stopRefused(wf *Workflow, a *Attempt) {
	st := &wf.Steps[a.Step]
	if a.Pausing != PauseStopping || st.Task != a.Task || st.State != Running && st.State != Paused {
		return
	}
	a.State, a.next = Live, 0
	w.pausing(wf, a, PauseRefused)
	a.pauseNext = 0
	if st.State == Paused { // it rests, and keeps what it has for another while
		a.Pausing, a.pauseNext = PauseConfirmed, w.now.Boot+pauseKeepMS
	}
	w.note(wf, a.Step, ReasonCancelRefused, "")
}

// wanted: somebody needs what a task holds. One that is paused keeps it for a while and then has to go. False: it is not paused.
func (w *work) wanted(task TaskID) bool {
	a := w.peekAttempt(task)
	if a == nil || a.Pausing != PauseConfirmed || a.State != Live {
		return false
	}
	until := a.PauseAt + pauseKeepMS
	if w.now.Boot < until && a.pauseNext != 0 && a.pauseNext <= until {
		return true
	}
	wf, a := w.attempt(task)
	if w.now.Boot >= until {
		if wf.Steps[a.Step].State.active() {
			w.stopForHold(wf, a.Step, a, "others need what it uses")
		} else {
			w.stop(wf, a)
		}
		return true
	}
	a.pauseNext = until
	return true
}

// holdEffect says what a hold does to a step that is under way: one word for people and for the answer of a pause; "" where the step is not under
// way or nobody holds it.
func (w *work) holdEffect(wf *Workflow, i int) string {
	st := &wf.Steps[i]
	a := wf.attempt(st.Task)
	switch {
	case a == nil || !st.State.active() || st.State == Cancelling || len(w.holdsOn(wf, i)) == 0:
		return ""
	case st.State == Paused && a.Pausing == PauseConfirmed:
		return "paused"
	case a.Pausing == PauseAsked:
		return "pausing"
	case a.Pausing == PauseStopping:
		return "stopping"
	case a.State == Calling || a.State == Lost:
		return "pending"
	}
	return "goes_on"
}

// HoldEffect says what the holders of a step do to it while it is under way: paused, pausing, stopping, pending (its executor has not
// answered, then it is paused), goes_on (its operation cannot pause and moves nothing, or it would not stop); "" where that is no
// question.
func HoldEffect(s *State, now Now, wf *Workflow, i int) string {
	return newWork(s, now).holdEffect(wf, i)
}

var holdEffects = map[string]string{
	"paused":   "its task is paused",
	"pausing":  "its task was told to pause, and nothing has confirmed it yet",
	"stopping": "its task is being stopped",
	"pending":  "its executor has not answered; then it is paused",
	"goes_on":  "its task goes on to its end: it cannot pause",
}

// whyPaused tells of a step under way what its holders do to it, and who they are; of one that nobody holds any more, why it does not
// go on yet.
func (w *work) whyPaused(wf *Workflow, i int) []Fact {
	st := &wf.Steps[i]
	effect := w.holdEffect(wf, i)
	switch a := wf.attempt(st.Task); {
	case effect != "":
	case a == nil || a.Pausing == PauseNone || st.State == Cancelling:
		return nil
	case a.Pausing == PauseResuming:
		return []Fact{{Kind: "hold", Ref: string(st.Task), Text: "its task was told to go on, and nothing has confirmed it yet"}}
	case a.Pausing == PauseStopping:
		return []Fact{{Kind: "stop", Ref: string(st.Task), Text: st.Detail}}
	case a.Pausing == PauseRefused:
		return []Fact{{Kind: "answer", Ref: string(st.Task), Text: "its task was to be stopped and refused: its result is waited for"}}
	default:
		return append(w.whyConditions(wf, i), Fact{Kind: "hold", Ref: string(st.Task), Text: "its task is paused; nobody holds it any more"})
	}
	return append([]Fact{{Kind: "hold", Ref: string(wf.Steps[i].Task), Text: holdEffects[effect]}}, w.whyHolders(wf, i)...)
}

// effectsOfHold lists what the holders of a workflow do to each step that is under way, as in "step_1 pausing".
func (w *work) effectsOfHold(wf *Workflow) (out []string) {
	for i := range wf.Steps {
		effect := w.holdEffect(wf, i)
		if effect == "" {
			effect = w.trailingEffect(wf, i)
		}
		if effect != "" {
			out = append(out, string(wf.Plan.Workflow)+"/"+string(wf.Steps[i].ID)+" "+effect)
		}
	}
	return out
}

// byPause says whether a look at the task of a paused step is due some time.
func (a *auditor) byPause(wf *Workflow, i int) bool {
	at := wf.attempt(wf.Steps[i].Task)
	return at != nil && at.holds() && (at.pauseNext != 0 || at.next != 0)
}

// healPause brings that look back.
func (w *work) healPause(wf *Workflow, i int) {
	at := wf.attempt(wf.Steps[i].Task)
	switch {
	case at == nil || !at.holds(): // nothing is left that could go on: its outcome is to be found out
		w.move(wf, i, OutcomeUnknown, ReasonOutcomeUnknown)
		w.rearmRun(wf, i)
	case at.State == Live:
		at.Pausing, at.pauseNext = PauseConfirmed, w.now.Boot+rereadMS
	default:
		at.next = w.now.Boot + rereadMS
	}
}
