package core

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"deviceagent/taskmanager/core/catalog"
)

// Reduce decides what a batch of events means. It first lets pass what time alone moves, then takes the events in their order,
// then moves on whatever can. It never changes cur; a refused event is an answer in the change, and changes nothing else.
func Reduce(cur *State, now Now, events []Event) Change {
	w := newWork(cur, now)
	w.countStart(events)
	if cur.Device.BootID == now.BootID {
		w.begin(now)
		w.trust()
		w.settleTemplates()
		w.due() // the instants of another boot mean nothing before Started has moved them into this one
	}
	for i, ev := range events {
		w.seq = now.Seq + int64(i)
		w.until(now, now.heard(i))
		w.touched = false
		w.answer = nil
		w.take(ev)
		w.ch.Answers = append(w.ch.Answers, w.answer)
		if !w.touched && w.answer == nil {
			w.ch.Ignored++
		}
	}
	w.until(now, now.Boot)
	w.advance()
	w.steerSessions()
	w.speak()
	return w.finish()
}

// work is one reduction under way: the state below, the copies on top.
type work struct {
	cur *State
	cat *catalog.Catalog
	now Now
	seq int64
	dev Device
	wfs map[WorkflowID]*Workflow // copies that this reduction may write
	ids []WorkflowID             // their keys in the order of the first touch
	ch  Change

	freed   bool // something others may wait for has changed: a resource, a service, a value
	touched bool // the present event changed or confirmed something
	answer  *Answer
	reads   map[catalog.ContextKey]bool
}

func newWork(cur *State, now Now) *work {
	return &work{cur: cur, cat: cur.cat, now: now, seq: now.Seq, dev: cur.Device}
}

// countStart gives the ids of this start to what time alone moves before Started is taken: the last start may have used the same numbers
// for calls that left before their commit.
func (w *work) countStart(events []Event) {
	for _, ev := range events {
		if s, ok := ev.(Started); ok {
			w.dev.StartNo = s.StartNo
		}
	}
}

func (w *work) finish() Change {
	if len(w.reads) > 0 {
		w.ch.Now = append(w.ch.Now, Read{Keys: slices.Sorted(maps.Keys(w.reads))})
	}
	w.dev.BootID, w.dev.Boot, w.dev.WallMS = w.now.BootID, w.now.Boot, 0
	if w.now.Trusted {
		w.dev.WallMS = w.now.WallMS
	}
	w.ch.device = w.dev
	for _, id := range w.ids {
		wf := w.wfs[id]
		wf.wake, wf.wall, wf.wants, wf.keeps = wf.nextWake(), wf.nextWall(), wf.hasWants(), wf.hasKeeps()
		w.ch.Workflows = append(w.ch.Workflows, wf)
	}
	if len(w.ch.Outputs) > 0 {
		w.withdrawResumes()
	}
	if len(w.ch.Outputs) > 0 || len(w.ch.Outbox) > 0 {
		w.ch.Must = true
	}
	for _, a := range w.ch.Answers {
		if a != nil {
			w.ch.Must = true
		}
	}
	return w.ch
}

// withdrawResumes takes back what would let a task go on that is held again, stopped or lost by the end of the batch.
func (w *work) withdrawResumes() {
	w.ch.Outputs = slices.DeleteFunc(w.ch.Outputs, func(o Output) bool {
		r, ok := o.(Resume)
		if !ok {
			return false
		}
		a := w.peekAttempt(r.Task)
		return a == nil || a.State != Live || a.Pausing != PauseResuming
	})
}

// peek reads a workflow: the copy, where there is one.
func (w *work) peek(id WorkflowID) *Workflow {
	if wf := w.wfs[id]; wf != nil {
		return wf
	}
	return w.cur.Workflows[id]
}

// wf gives a copy that may be written, or nil.
func (w *work) wf(id WorkflowID) *Workflow {
	if wf := w.wfs[id]; wf != nil {
		return wf
	}
	base := w.cur.Workflows[id]
	if base == nil {
		return nil
	}
	return w.add(base.clone())
}

func (w *work) add(wf *Workflow) *Workflow {
	if w.wfs == nil {
		w.wfs = make(map[WorkflowID]*Workflow, 2)
	}
	id := wf.Plan.Workflow
	w.wfs[id] = wf
	w.ids = append(w.ids, id)
	return wf
}

func (w *work) take(ev Event) {
	switch ev := ev.(type) {
	case PlanSubmitted:
		w.planSubmitted(ev)
	case ControlReceived:
		w.controlReceived(ev)
	case StepResult:
		w.stepResult(ev)
	case DecisionReceived:
		w.decisionReceived(ev)
	case AnswerReceived:
		w.answerReceived(ev)
	case ContentReceived:
		w.contentReceived(ev)
	case Receipted:
		w.receipted(ev)
	case Refused:
		w.refused(ev)
	case TaskAnswered:
		w.taskAnswered(ev)
	case TaskProgress:
		w.touched = w.peekAttempt(ev.Task) != nil || w.uttered(ev.Task) >= 0
	case TaskEnded:
		w.taskEnded(ev)
	case TaskStatus:
		w.taskStatus(ev)
	case StopAnswered:
		w.stopAnswered(ev)
	case Observed:
		w.observed(ev)
	case ContextRead:
		w.contextRead(ev)
	case ExecutorUp:
		w.executorUp(ev)
	case ExecutorDown:
		w.executorDown(ev)
	case Started:
		w.started(ev)
	case HelloAnswered:
		w.helloAnswered(ev)
	case SetAside:
		w.setAside(ev)
	case Audited:
		w.audited()
	case Occurred:
		w.occurred(ev)
	case ScheduleOver:
		w.scheduleOver(ev)
	case RestartAnnounced:
		w.restartAnnounced(ev)
	case Tick:
		w.touched = true
	default:
		panic(fmt.Sprintf("internal error: event %T is not known to the core", ev))
	}
}

// move changes the state of a step. It is the only place that does.
func (w *work) move(wf *Workflow, i int, to StepState, reason Reason) {
	st := &wf.Steps[i]
	if !slices.Contains(moves[st.State], to) {
		panic(fmt.Sprintf("internal error: step %s of %s cannot go from %s to %s", st.ID, wf.Plan.Workflow, st.State, to))
	}
	if st.State == Paused {
		w.thaw(st)
	}
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Workflow: wf.Plan.Workflow, Step: st.ID, From: string(st.State), To: string(to), Reason: reason, Task: st.Task})
	if to == Blocked || st.State == Verifying {
		w.freed = w.freed || len(wf.Plan.Steps[i].Resources) > 0 // it gives up its place in the queue, or what it was to be proven with
	}
	w.closeEscalation(wf, i, EscSuperseded, reason, "") // whoever moves it on over an open question has answered it
	w.leaveAsk(wf, i)
	st.State, st.Reason, st.Since, st.Due, st.recheck, st.Detail = to, reason, w.now.Boot, 0, 0, ""
	st.Fate, st.dirty, w.touched = nil, true, true
	if to.Terminal() {
		w.stepLeft(st, to, reason)
		st.Ended, w.ch.Must = w.now.Boot, true // whoever watches is told that it has ended, and that stays so
		if st.Done == 0 {
			st.Done = w.now.Boot
		}
		if to != Completed && to != Satisfied {
			w.expireEffects(wf, i)
		} else {
			w.keepFrom(wf, i)
		}
		if a := wf.attempt(st.Task); a != nil && a.State == Lost && a.next == 0 {
			a.next = w.now.Boot + idleMS // it was asked for on behalf of the step; nobody else would
		}
		w.freed = w.freed || len(wf.Plan.Steps[i].Resources) > 0
		w.keptUntil(wf, i)
	}
	w.progress(wf)
}

// note writes why a step stays where it is, where that changed.
func (w *work) note(wf *Workflow, i int, reason Reason, detail string) {
	st := &wf.Steps[i]
	if st.Reason != reason || st.Detail != detail {
		st.Reason, st.Detail, st.dirty, w.touched = reason, detail, true, true
	}
}

// expireEffects: what was dispatched and not proven is not to be expected any more. The effect of a step that was never dispatched
// stays bound: nobody tried to bring it about.
func (w *work) expireEffects(wf *Workflow, i int) {
	st := &wf.Steps[i]
	for e := range st.Effects {
		if st.Effects[e].State == EffectOpen {
			w.setEffect(wf, i, e, EffectExpired)
		}
	}
}

// name is what those who watch see: the proof of an operation without an effect has one too, or its moves would read as its step's.
func (e *Effect) name() string {
	if e.ID == "" {
		return "done_evidence"
	}
	return string(e.ID)
}

func (w *work) setEffect(wf *Workflow, i, e int, to EffectState) {
	st := &wf.Steps[i]
	st.Effects = slices.Clone(st.Effects)
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Workflow: wf.Plan.Workflow, Step: st.ID, Effect: st.Effects[e].name(), From: string(st.Effects[e].State), To: string(to), Task: st.Task})
	st.Effects[e].State = to
	st.dirty, w.touched = true, true
	w.traceClosure(wf, i, e)
	w.goalMoves(wf)
}

// attempt finds an attempt for writing, with its workflow; nil where the task is not known here.
func (w *work) attempt(task TaskID) (*Workflow, *Attempt) {
	id, ok := w.owner(task)
	if !ok {
		return nil, nil
	}
	wf := w.wf(id)
	return wf, wf.attempt(task)
}

func (w *work) peekAttempt(task TaskID) *Attempt {
	id, ok := w.owner(task)
	if !ok {
		return nil
	}
	return w.peek(id).attempt(task)
}

// owner says which workflow a task belongs to, also one that was dispatched in this very batch.
func (w *work) owner(task TaskID) (WorkflowID, bool) {
	if task == "" {
		return "", false
	}
	if id, ok := w.cur.active[task]; ok {
		return id, true
	}
	for _, id := range w.ids {
		if w.wfs[id].attempt(task) != nil {
			return id, true
		}
	}
	return "", false
}

// ref points at an attempt.
type ref struct {
	wf WorkflowID
	at int // index of the attempt
}

// listening lists the attempts that events may concern, in the order of their dispatch.
func (w *work) listening() []ref {
	var out []ref
	seen := func(id WorkflowID) {
		wf := w.peek(id)
		for i := range wf.Attempts {
			if wf.listens(&wf.Attempts[i]) {
				out = append(out, ref{id, i})
			}
		}
	}
	done := map[WorkflowID]bool{}
	for _, id := range w.cur.active {
		if !done[id] {
			done[id] = true
			seen(id)
		}
	}
	for _, id := range w.ids {
		if !done[id] {
			seen(id)
		}
	}
	slices.SortFunc(out, func(a, b ref) int {
		x, y := &w.peek(a.wf).Attempts[a.at], &w.peek(b.wf).Attempts[b.at]
		if x.Seq != y.Seq {
			return int(x.Seq - y.Seq)
		}
		return compareTask(x.Task, y.Task)
	})
	return out
}

func compareTask(a, b TaskID) int {
	switch {
	case len(a) != len(b):
		return len(a) - len(b)
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// newTask makes an id that no dispatch of this store ever had: a read_only task may leave before the commit, so the number of
// the start is part of it.
func (w *work) newTask() TaskID {
	w.dev.TaskNo++
	epoch := w.dev.Epoch
	if len(epoch) > 8 {
		epoch = epoch[:8]
	}
	return TaskID("t-" + epoch + "-" + strconv.FormatInt(w.dev.StartNo, 10) + "-" + strconv.FormatInt(w.dev.TaskNo, 10))
}

func (w *work) send(m Message) {
	w.dev.OutSeq++
	m.Seq = w.dev.OutSeq
	if wf := w.wfs[m.Workflow]; wf != nil && m.Type != MsgContent { // what is told is no report of the plan
		wf.Uplink++
		wf.dirty = true
		m.Plan, m.Turn = wf.Plan.ID, wf.Plan.TurnID
	}
	w.ch.Outbox = append(w.ch.Outbox, m)
}

// read asks for context values, each once a batch.
func (w *work) read(keys ...catalog.ContextKey) {
	if w.reads == nil {
		w.reads = map[catalog.ContextKey]bool{}
	}
	for _, k := range keys {
		w.reads[k] = true
	}
}
