package core

import (
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// advance moves on whatever can, in the order of priority and submission, until nothing moves any more.
func (w *work) advance() {
	for {
		before := len(w.ch.Moves)
		freed := w.freed
		w.freed = false
		ids := w.candidates(freed)
		if len(ids) == 0 {
			break
		}
		busy := w.busy()
		for _, id := range ids {
			w.advanceIn(id, busy)
		}
		if len(w.ch.Moves) == before {
			break
		}
	}
	for _, id := range w.ids {
		wf := w.wfs[id]
		if base := w.cur.Workflows[id]; wf.State.Terminal() && (base == nil || !base.State.Terminal()) {
			w.report(wf)
		}
	}
}

// candidates lists the workflows that may move: those that this batch touched, and where something became free, all that wait.
func (w *work) candidates(freed bool) []WorkflowID {
	var ids []WorkflowID
	for _, id := range w.ids {
		if !w.wfs[id].State.Terminal() {
			ids = append(ids, id)
		}
	}
	if freed {
		for _, id := range w.cur.order {
			if w.wfs[id] == nil && w.cur.Workflows[id].wants {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) > 1 {
		slices.SortFunc(ids, func(a, b WorkflowID) int { return byRank(w.peek(a), w.peek(b)) })
	}
	return ids
}

// occupies says whether others have to wait for what the attempt uses. A task that says it is done keeps it until its step is
// decided: who moved the robot on at once would take away what is to be proven.
func (wf *Workflow) occupies(a *Attempt) bool {
	st := &wf.Steps[a.Step]
	return a.holds() || st.Task == a.Task && st.State == Verifying
}

// busy maps each resource to the task that others have to wait for.
func (w *work) busy() map[catalog.ResourceID]TaskID {
	out := make(map[catalog.ResourceID]TaskID, 4)
	for _, r := range w.listening() {
		wf := w.peek(r.wf)
		a := &wf.Attempts[r.at]
		if wf.occupies(a) {
			for _, res := range a.Resources {
				out[res] = a.Task
			}
		}
	}
	return out
}

func (w *work) advanceIn(id WorkflowID, busy map[catalog.ResourceID]TaskID) {
	if w.stuck(w.peek(id), busy) {
		return
	}
	wf := w.wf(id)
	if wf.Cancel != ReasonNone {
		return
	}
	for i := range wf.Steps {
		switch wf.Steps[i].State {
		case Pending, Waiting, Queued, Blocked:
			w.advanceStep(wf, i, busy)
		}
	}
}

// stuck says that a workflow of this state only waits for resources that are still taken, so that nobody has to copy it.
func (w *work) stuck(wf *Workflow, busy map[catalog.ResourceID]TaskID) bool {
	if w.wfs[wf.Plan.Workflow] != nil {
		return false
	}
	for i := range wf.Steps {
		switch st := &wf.Steps[i]; st.State {
		case Blocked:
			return false
		case Queued:
			res, taken := firstBusy(wf.Plan.Steps[i].Resources, busy)
			if !taken || st.Detail != string(busy[res]) {
				return false
			}
			w.askRest(busy[res])
		}
	}
	for i := range wf.Plan.Steps { // the place in the queue is kept: what it waits for, later ones do not take
		if wf.Steps[i].State == Queued {
			claim(wf.Plan.Steps[i].Resources, busy, "")
		}
	}
	return true
}

func firstBusy(resources []catalog.ResourceID, busy map[catalog.ResourceID]TaskID) (catalog.ResourceID, bool) {
	for _, res := range resources {
		if _, taken := busy[res]; taken {
			return res, true
		}
	}
	return "", false
}

func claim(resources []catalog.ResourceID, busy map[catalog.ResourceID]TaskID, by TaskID) {
	for _, res := range resources {
		if _, taken := busy[res]; !taken {
			busy[res] = by
		}
	}
}

func (w *work) advanceStep(wf *Workflow, i int, busy map[catalog.ResourceID]TaskID) {
	met, never := w.dependencies(wf, i)
	switch {
	case never != ReasonNone:
		w.move(wf, i, Skipped, never)
	case !met:
	case wf.Steps[i].State == Pending && wf.Plan.Steps[i].DelayMS > 0:
		w.delay(wf, i)
		if wf.Steps[i].State == Queued {
			w.ready(wf, i, busy)
		}
	case wf.Steps[i].State == Pending:
		w.move(wf, i, Queued, ReasonNone)
		w.ready(wf, i, busy)
	case wf.Steps[i].State != Waiting:
		w.ready(wf, i, busy)
	}
}

// delay counts from the anchor's evidence, with submitted from its acceptance, with a skipped anchor from its end.
func (w *work) delay(wf *Workflow, i int) {
	spec := &wf.Plan.Steps[i]
	from := wf.Accepted
	if spec.Anchor > 0 {
		from = released(&wf.Plan.Steps[spec.Anchor-1], &wf.Steps[spec.Anchor-1])
	}
	due := from + Instant(spec.DelayMS)
	if due <= w.now.Boot {
		w.move(wf, i, Queued, ReasonNone)
		return
	}
	w.move(wf, i, Waiting, ReasonNone)
	wf.Steps[i].Due = due
	w.ch.Must = true
}

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
		ok, no := dependency(&wf.Plan.Steps[d.Step], &wf.Steps[d.Step], d.On)
		if no != ReasonNone {
			return false, no
		}
		met = met && ok
	}
	return met, ReasonNone
}

func dependency(spec *StepSpec, st *Step, on On) (met bool, never Reason) {
	success := st.State == Completed || st.State == Satisfied || st.State == Skipped && st.Reason == ReasonConditionFalse
	failure := st.State == Failed || st.State == TimedOut
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
		return success || st.Released != 0, ReasonNone
	case spec.Wait == WaitSubmitted:
		return success || st.Accepted != 0, ReasonNone
	}
	return success, ReasonNone
}

// ready: all that the step waited for has happened. Its condition, prerequisites, inputs, service and resources are looked at
// now, in the very step of the core that decides to dispatch.
func (w *work) ready(wf *Workflow, i int, busy map[catalog.ResourceID]TaskID) {
	spec := &wf.Plan.Steps[i]
	if w.cur.Hold || !w.conditions(wf, i) {
		return
	}
	args, call, err := w.inputs(wf, i)
	if err != "" {
		w.fail(wf, i, Failed, ReasonInputInvalid)
		wf.Steps[i].Detail = err
		return
	}
	if spec.Target == OnCloud {
		w.dispatchCloud(wf, i, call)
		return
	}
	svc := spec.Op.Service
	if !slices.Contains(w.serviceOf(svc).Methods, spec.Method) {
		w.block(wf, i, ReasonExecutorUnavail, string(svc))
		return
	}
	if w.turnedAway(&wf.Steps[i], svc) {
		return
	}
	if !w.take1(wf, i, busy) {
		return
	}
	if w.holdsAlready(wf, i, args) {
		if !wf.Steps[i].State.Terminal() {
			claim(spec.Resources, busy, "") // it keeps its place while that is read: a later plan must not overtake it
		}
		return
	}
	w.dispatch(wf, i, args, call, busy)
}

// turnedAway: the service is there, yet the last call could not be sent. It is tried again at the pace of the looks, or at once
// when the service comes anew.
func (w *work) turnedAway(st *Step, svc ServiceID) bool {
	_, anew := w.ch.services[svc]
	return !anew && st.State == Blocked && st.recheck > w.now.Boot && st.TriedSince != 0
}

// conditions evaluates when and the operation's prerequisites. False: the step goes no further now. Unknown is never taken for
// false: the step is blocked, for at most its hold_ms, while the values are read.
func (w *work) conditions(wf *Workflow, i int) bool {
	spec := &wf.Plan.Steps[i]
	switch ans := w.check(wf, spec.When); ans.Truth {
	case condition.False:
		w.move(wf, i, Skipped, ReasonConditionFalse)
		w.ch.Must = true
		return false
	case condition.Unknown:
		w.blockUnknown(wf, i, ans)
		return false
	}
	if spec.Target == OnCloud {
		return true
	}
	pre := spec.Op.Prerequisites
	switch ans := w.check(wf, pre); ans.Truth {
	case condition.False:
		reason := ReasonPrerequisite
		if pre.Ref == "ctx.battery.level" {
			reason = ReasonBatteryLow
		}
		w.block(wf, i, reason, pre.Ref)
		return false
	case condition.Unknown:
		w.blockUnknown(wf, i, ans)
		return false
	}
	return true
}

// blockUnknown holds a step back while the values that its condition lacks are read: at once, and then at the pace of the looks,
// however often something else asks.
func (w *work) blockUnknown(wf *Workflow, i int, ans condition.Answer) {
	reason, key := reasonOf(ans)
	look := wf.Steps[i].State != Blocked || wf.Steps[i].recheck <= w.now.Boot
	w.block(wf, i, reason, key)
	for _, u := range ans.Unknown {
		if k, ok := strings.CutPrefix(u.Ref, "ctx."); ok && look {
			w.read(catalog.ContextKey(k))
		}
	}
}

// block holds a step back for at most hold_ms. What it waits for is read again meanwhile.
func (w *work) block(wf *Workflow, i int, reason Reason, detail string) {
	st := &wf.Steps[i]
	if st.State != Blocked {
		w.move(wf, i, Blocked, reason)
		st.Due = w.now.Boot + Instant(wf.Plan.Steps[i].HoldMS)
	}
	w.note(wf, i, reason, detail)
	if reason != ReasonExecutorUnavail && (st.recheck == 0 || st.recheck <= w.now.Boot) {
		st.recheck = w.now.Boot + rereadMS
	}
}

// sendable says whether a value fits the limits of a message. An executor's output has only those of its socket.
// Source: docs/contract.md, limits (strings 8 KiB, 1,024 elements, 256 members, nesting 16 with the envelope).
func sendable(v condition.Value, depth int) bool {
	switch v := v.(type) {
	case string:
		return len(v) <= 8<<10
	case []any:
		return depth <= 10 && len(v) <= 1024 && !slices.ContainsFunc(v, func(x any) bool { return !sendable(x, depth+1) })
	case map[string]any:
		if depth > 10 || len(v) > 256 {
			return false
		}
		for _, x := range v {
			if !sendable(x, depth+1) {
				return false
			}
		}
	}
	return true
}

// take1 says whether the resources are free for the step, and keeps its place in the queue where they are not.
func (w *work) take1(wf *Workflow, i int, busy map[catalog.ResourceID]TaskID) bool {
	spec, st := &wf.Plan.Steps[i], &wf.Steps[i]
	res, taken := firstBusy(spec.Resources, busy)
	if !taken {
		return true
	}
	if spec.Immediate {
		w.fail(wf, i, Failed, ReasonResourceBusy)
		return false
	}
	if st.State != Queued {
		w.move(wf, i, Queued, ReasonNone)
	}
	w.note(wf, i, ReasonResourceBusy, string(busy[res]))
	w.askRest(busy[res])
	claim(spec.Resources, busy, "")
	return false
}

// askRest: somebody needs what a task holds whose step has ended: ask, and look whether it rests by now. A step that has just ended
// by its proof is about to be told so by its executor: it is given that time.
func (w *work) askRest(task TaskID) {
	a := w.peekAttempt(task)
	if a == nil || a.next > w.now.Boot {
		return
	}
	id, _ := w.owner(task)
	st := &w.peek(id).Steps[a.Step]
	if st.Task == task && !st.State.Terminal() {
		return
	}
	wf, a := w.attempt(task)
	if soon := st.Ended + rereadMS; a.next == 0 && w.now.Boot < soon {
		a.next = soon
		return
	}
	w.probe(wf, a) // its end may have been told while nobody listened
	w.readRest(wf, a)
}

// dispatch commits the intent to call. The call itself follows the commit; that of a read or a stop need not wait for it.
func (w *work) dispatch(wf *Workflow, i int, args, call Values, busy map[catalog.ResourceID]TaskID) {
	spec := &wf.Plan.Steps[i]
	a := w.newAttempt(wf, i)
	a.Service, a.Args, a.Resources, a.Disturbed = spec.Op.Service, args, spec.Resources, w.inUse(spec.Resources)
	a.Instance = w.serviceOf(a.Service).Instance
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
	if len(spec.Stops) > 0 {
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
	return &wf.Attempts[len(wf.Attempts)-1]
}

// dispatchCloud asks the cloud to carry out a step. Its attempt is its outbox row: re-sending is its probe.
func (w *work) dispatchCloud(wf *Workflow, i int, inputs Values) {
	a := w.newAttempt(wf, i)
	a.Cloud, a.State = true, Live
	w.run(wf, i)
	spec := &wf.Plan.Steps[i]
	var seen []Effect
	for _, d := range spec.Deps {
		seen = append(seen, wf.Steps[d.Step].Effects...)
	}
	w.send(Message{Type: MsgStepDue, Workflow: wf.Plan.Workflow, Step: spec.ID, Task: a.Task,
		StepDue: &StepDue{Step: spec.ID, Task: a.Task, Skill: spec.Skill, Inputs: inputs, Proof: seen}})
}
