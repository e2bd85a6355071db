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
		w.anchors()
		ids := w.candidates(freed || w.freed)
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
			w.endConsents(wf)
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
	w.claimForeign(out)
	w.claimFirstStop(out)
	return out
}

// claimFirstStop: the body is taken while the stop of a new store is under way. What moved it meanwhile would be stopped by that, or
// overtake it.
func (w *work) claimFirstStop(busy map[catalog.ResourceID]TaskID) {
	if w.dev.StopTask == "" {
		return
	}
	for id, res := range w.cat.Resources {
		if res.Body && res.Stop != "" {
			claim([]catalog.ResourceID{id}, busy, w.dev.StopTask)
		}
	}
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
			if held := w.holdsOn(wf, i); len(held) > 0 && st.Reason == ReasonHeld && st.Detail == held[0].ID() {
				continue
			}
			res, taken := firstBusy(wf.Plan.Steps[i].Resources, busy)
			if !taken || st.Detail != string(busy[res]) {
				return false
			}
			w.askRest(busy[res])
		}
	}
	for i := range wf.Plan.Steps { // the place in the queue is kept: what it waits for, later ones do not take
		if wf.Steps[i].State == Queued && len(w.holdsOn(wf, i)) == 0 {
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
	if w.awaits(wf, i) {
		return
	}
	if wf.idleEnd(i) {
		w.move(wf, i, Skipped, ReasonConditionFalse)
		w.ch.Must = true
		return
	}
	met, never := w.dependencies(wf, i)
	switch {
	case never == ReasonWaitEventMissing:
		w.missed(wf, i)
	case never != ReasonNone:
		w.move(wf, i, Skipped, never)
	case !met:
	case wf.Steps[i].State == Pending && wf.Plan.Steps[i].timed():
		w.wait(wf, i)
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

// ready: all that the step waited for has happened. Its condition, prerequisites, inputs, service and resources are looked at
// now, in the very step of the core that decides to dispatch.
func (w *work) ready(wf *Workflow, i int, busy map[catalog.ResourceID]TaskID) {
	spec := &wf.Plan.Steps[i]
	if a := wf.attempt(wf.Steps[i].Task); a != nil && a.Cloud && a.holds() {
		return // it is with the cloud, and waits for content: nobody asks for it twice
	}
	if w.cur.Hold || w.keepBack(wf, i) || !w.conditions(wf, i) || !w.consented(wf, i) {
		return
	}
	w.letGo(wf, i)
	if w.tierBlocks(wf, i) {
		return
	}
	args, call, err := w.inputs(wf, i)
	if err != "" {
		w.fail(wf, i, Failed, ReasonInputInvalid)
		wf.Steps[i].Detail = err
		return
	}
	if w.keepQuiet(wf, i) {
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
	if !w.vacant(wf, i, busy) {
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
		w.trace(wf, TraceEntry{Stage: StageObserve, What: string(ObsBlocked), Step: st.ID, Reason: reason, Seen: detail})
		st.Due = w.now.Boot + Instant(wf.Plan.Steps[i].HoldMS)
	}
	w.note(wf, i, reason, detail)
	if reason != ReasonExecutorUnavail && (st.recheck == 0 || st.recheck <= w.now.Boot) {
		st.recheck = w.now.Boot + rereadMS
	}
}

// vacant says whether the resources are free for the step, and keeps its place in the queue where they are not.
func (w *work) vacant(wf *Workflow, i int, busy map[catalog.ResourceID]TaskID) bool {
	spec, st := &wf.Plan.Steps[i], &wf.Steps[i]
	inUse := busy
	if wf.Plan.Standing != "" {
		inUse = w.heldOnly(busy)
	}
	res, taken := firstBusy(spec.Resources, inUse)
	if !taken {
		if st.Reason == ReasonResourceBusy {
			w.note(wf, i, ReasonNone, "")
		}
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
	if busy[res] == byOthers {
		w.awaitRest(st, res)
	}
	w.askRest(busy[res])
	claim(spec.Resources, busy, "")
	return false
}

// askRest: somebody needs what a task holds whose step has ended: ask, and look whether it rests by now. A step that has just ended
// by its proof is about to be told so by its executor: it is given that time.
func (w *work) askRest(task TaskID) {
	a := w.peekAttempt(task)
	if a == nil || w.wanted(task) || a.next > w.now.Boot { // however often it is asked for: what is paused has to go in its time
		return
	}
	id, _ := w.owner(task)
	st := &w.peek(id).Steps[a.Step]
	if st.Task == task && st.State.active() {
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
