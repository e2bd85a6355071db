package core

import (
	"fmt"
	"maps"
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// Stuck is something that has not ended and that nothing could move any more: the worst fault of a task manager, since nobody notices
// it. There is none unless the core has a bug or a record was written by another hand.
type Stuck struct {
	Workflow WorkflowID
	Step     StepID // "" for a workflow as a whole
	Task     TaskID // of an attempt that holds something
	State    string
	Lacks    string // what would have to be there, in words
}

func (s Stuck) String() string {
	return fmt.Sprintf("%s/%s%s is %s and lacks %s", s.Workflow, s.Step, s.Task, s.State, s.Lacks)
}

// Audited asks the core to look for what nothing can move, and to heal it. It is sent when [Audit] has found something, so that an
// audit that finds nothing leaves no trace.
type Audited struct{}

// KindAudited names the event in the journal.
const KindAudited EventKind = "audited"

func (Audited) eventKind() EventKind { return KindAudited }

// mover is a kind of thing that can move a step.
type mover struct {
	name  string
	moves func(a *auditor, wf *Workflow, i int) bool
}

var (
	byDependency = mover{"a dependency that can still end", (*auditor).byDependency}
	byTimer      = mover{"a timer", (*auditor).byTimer}
	byAttempt    = mover{"a task that holds something", (*auditor).byAttempt}
	byResource   = mover{"a resource that is taken", (*auditor).byResource}
	byHolder     = mover{"a holder", (*auditor).byHolder}
	byPause      = mover{"a look at its paused task", (*auditor).byPause}
	byWall       = mover{"a moment of the wall clock", func(_ *auditor, wf *Workflow, i int) bool { return wf.awaitsWall(i) != 0 && wf.wall != 0 }}
	byDecision   = mover{"an open question", (*auditor).byDecision}
	byHold       = mover{"the agent looking on only", func(a *auditor, _ *Workflow, _ int) bool { return a.w.cur.Hold }}
)

// lives is, for each state that is not terminal, what can move a step of it (one is enough), and how its mover is brought back where it
// has none. A new state needs a row.
var lives = map[StepState]struct {
	movers []mover
	heal   func(w *work, wf *Workflow, i int)
}{
	Pending:        {[]mover{byDependency, byDecision, byHold}, nil},
	Waiting:        {[]mover{byTimer, byWall}, func(w *work, wf *Workflow, i int) { w.rearm(wf, i, wf.Steps[i].Since, wf.Plan.Steps[i].DelayMS) }},
	Queued:         {[]mover{byTimer, byResource, byHolder, byDependency, byHold}, func(w *work, wf *Workflow, i int) { wf.Steps[i].recheck = w.now.Boot + rereadMS }},
	Blocked:        {[]mover{byTimer, byDecision}, func(w *work, wf *Workflow, i int) { w.rearm(wf, i, w.now.Boot, wf.Plan.Steps[i].HoldMS) }},
	Dispatching:    {[]mover{byTimer}, func(w *work, wf *Workflow, i int) { w.rearm(wf, i, w.now.Boot, w.ackMS(&wf.Plan.Steps[i])) }},
	Running:        {[]mover{byTimer}, (*work).rearmRun},
	Verifying:      {[]mover{byTimer}, func(w *work, wf *Workflow, i int) { w.rearm(wf, i, w.now.Boot, wf.Plan.Steps[i].EvidenceMS) }},
	Paused:         {[]mover{byHolder, byPause}, (*work).healPause},
	Cancelling:     {[]mover{byAttempt}, (*work).healStop},
	RetryWait:      {[]mover{byTimer}, func(w *work, wf *Workflow, i int) { w.rearm(wf, i, w.now.Boot, wf.Plan.Steps[i].Retry.BackoffMS) }},
	OutcomeUnknown: {[]mover{byTimer}, (*work).rearmRun},
}

// Audit finds everything that has not ended and that nothing can move: steps, attempts that hold something, open workflows. It is
// pure and cheap, and finds nothing in a state that the core itself has made.
func Audit(s *State, now Now) []Stuck { return newAuditor(newWork(s, now)).find() }

// auditor looks at one state.
type auditor struct {
	w    *work
	busy map[catalog.ResourceID]TaskID
}

func newAuditor(w *work) *auditor { return &auditor{w: w, busy: w.busy()} }

func (a *auditor) find() (out []Stuck) {
	for _, id := range slices.Sorted(maps.Keys(a.w.cur.Workflows)) {
		wf := a.w.peek(id)
		if wf.State.Terminal() && !wf.HoldsAny() {
			continue
		}
		out = append(out, a.workflow(id, wf)...)
		for i := range wf.Steps {
			if lack := a.step(wf, i); lack != "" {
				out = append(out, Stuck{Workflow: id, Step: wf.Steps[i].ID, State: string(wf.Steps[i].State), Lacks: lack})
			}
		}
		for k := range wf.Attempts {
			if at := &wf.Attempts[k]; at.holds() && !a.attempt(wf, at) {
				out = append(out, Stuck{Workflow: id, Task: at.Task, State: string(at.State), Lacks: "whatever could end it"})
			}
		}
	}
	return out
}

// workflow looks at what is derived of a workflow: its state, its place in the order of those that are open, its wake-up.
func (a *auditor) workflow(id WorkflowID, wf *Workflow) (out []Stuck) {
	lacks := func(what string) { out = append(out, Stuck{Workflow: id, State: string(wf.State), Lacks: what}) }
	if !wf.State.Terminal() && ended(wf) {
		lacks("a step that has not ended")
	}
	if !wf.State.Terminal() && !slices.Contains(a.w.cur.order, id) {
		lacks("its place among the open ones")
	}
	if next := wf.nextWake(); next != 0 && (wf.wake == 0 || wf.wake > next) || wf.wall != wf.nextWall() {
		lacks("its wake-up")
	}
	return out
}

// step gives what a step lacks, "" if something can move it.
func (a *auditor) step(wf *Workflow, i int) (lacks string) {
	st := &wf.Steps[i]
	if st.State.Terminal() {
		if st.Keeping() && st.nextKept() == 0 {
			return "a look at the effect that it keeps"
		}
		return ""
	}
	movers := lives[st.State].movers
	for n, m := range movers {
		if m.moves(a, wf, i) {
			return ""
		}
		if n > 0 {
			lacks += " or "
		}
		lacks += m.name
	}
	return lacks
}

// attempt says whether something will end an attempt: a look that is due, or its step, which has a bound of its own. A task that goes
// on after its step is proven is asked for when somebody needs what it holds.
func (a *auditor) attempt(wf *Workflow, at *Attempt) bool {
	st := &wf.Steps[at.Step]
	return at.next != 0 || at.pauseNext != 0 || st.Task == at.Task && !st.State.Terminal() || (at.State == Live || at.State == Calling) && !a.wanted(at)
}

// wanted says whether a queued step waits for what the attempt holds.
func (a *auditor) wanted(at *Attempt) bool {
	for _, id := range a.w.cur.order {
		wf := a.w.peek(id)
		for i := range wf.Steps {
			if st := &wf.Steps[i]; st.State == Queued && st.Detail == string(at.Task) {
				if met, _ := a.w.dependencies(wf, i); met { // what had released it may ask by now: then it waits for that
					return true
				}
			}
		}
	}
	return false
}

func (a *auditor) byTimer(wf *Workflow, i int) bool {
	return wf.Steps[i].Due != 0 || wf.Steps[i].recheck != 0 // also one that is over: what is due is decided at the next tick
}

func (a *auditor) byDependency(wf *Workflow, i int) bool {
	met, never := a.w.dependencies(wf, i)
	return !met && never == ReasonNone && slices.ContainsFunc(wf.Plan.Steps[i].Deps, func(d Dep) bool { return !wf.Steps[d.Step].State.Terminal() })
}

func (a *auditor) byAttempt(wf *Workflow, i int) bool {
	at := wf.attempt(wf.Steps[i].Task)
	return at != nil && at.holds() && at.next != 0
}

// byResource: a task has what the step needs, or an earlier step keeps its place for it.
func (a *auditor) byResource(wf *Workflow, i int) bool {
	if _, taken := firstBusy(wf.Plan.Steps[i].Resources, a.busy); taken {
		return true
	}
	for _, id := range a.w.cur.order {
		other := a.w.peek(id)
		for k := range other.Steps {
			if other == wf && k == i {
				return false
			}
			shared := func(res catalog.ResourceID) bool { return slices.Contains(other.Plan.Steps[k].Resources, res) }
			if other.Steps[k].State == Queued && slices.ContainsFunc(wf.Plan.Steps[i].Resources, shared) {
				return true
			}
		}
	}
	return false
}

func (a *auditor) byHolder(wf *Workflow, i int) bool { return len(a.w.holdsOn(wf, i)) > 0 }

// byDecision: a question about the step is open, or one about the step whose event it missed. A question has a deadline of its own.
func (a *auditor) byDecision(wf *Workflow, i int) bool {
	open := func(about StepID) bool {
		return slices.ContainsFunc(wf.Escalations, func(e Escalation) bool { return e.State == EscOpen && e.About == about && e.Due != 0 })
	}
	if st := &wf.Steps[i]; st.asked() {
		e := wf.escalation(st.Fate.Asked)
		return e != nil && e.State == EscOpen && e.Due != 0
	}
	if st := &wf.Steps[i]; st.toUser() {
		q := wf.ask(st.Fate.Ask)
		return q != nil && q.State == AskOpen && q.Due != 0
	}
	_, never := a.w.dependencies(wf, i)
	return never == ReasonWaitEventMissing && open(wf.Steps[a.w.withoutEvent(wf, i)].ID)
}

// audited heals what the audit finds: what is derived is derived anew, a step gets back what can move it.
func (w *work) audited() {
	for _, s := range newAuditor(w).find() {
		w.touched, w.freed, w.ch.Must = true, true, true
		wf := w.wf(s.Workflow) // putting it back derives its indices and its wake-up
		wf.dirty = true
		switch i := wf.Plan.Lookup(s.Step); {
		case s.Task != "":
			wf.attempt(s.Task).next = w.now.Boot + idleMS
		case s.Step == "":
			w.progress(wf)
		case wf.Steps[i].Keeping():
			w.lookSoon(wf, i)
		case lives[wf.Steps[i].State].heal != nil:
			lives[wf.Steps[i].State].heal(w, wf, i)
		}
	}
}

// rearm sets the end of a state anew. It is never earlier than it would have been.
func (w *work) rearm(wf *Workflow, i int, from Instant, ms int64) {
	st := &wf.Steps[i]
	st.Due, st.dirty = max(w.now.Boot+1, from+Instant(ms)), true
}

// rearmRun: the step timeout goes on where it is known, and counts anew where it is not; what a person ends is asked for again.
func (w *work) rearmRun(wf *Workflow, i int) {
	st := &wf.Steps[i]
	if w.limit(&wf.Plan.Steps[i]) == 0 || st.State == Running && wf.Plan.Steps[i].TimeoutMS == 0 {
		st.recheck = w.now.Boot + rereadMS
		return
	}
	from, ms := w.now.Boot, w.limit(&wf.Plan.Steps[i])
	if st.RunDue > w.now.Boot {
		from, ms = st.RunDue, 0
	}
	w.rearm(wf, i, from, ms)
	st.RunDue = st.Due
}

// healStop: a stop that nobody repeats is called anew; where nothing is left to stop, the step is cancelled.
func (w *work) healStop(wf *Workflow, i int) {
	if at := wf.attempt(wf.Steps[i].Task); at != nil && at.holds() {
		w.stop(wf, at)
		return
	}
	w.cancelled(wf, i, confirmed)
}

// Movers says what can move a step of a state, in words; nothing for a terminal one.
func Movers(s StepState) (names []string) {
	for _, m := range lives[s].movers {
		names = append(names, m.name)
	}
	return names
}
