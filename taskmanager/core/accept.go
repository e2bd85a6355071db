package core

import (
	"strconv"
	"strings"
)

// maxOpen bounds the open workflows: a device that is handed more says so, and keeps those that it has.
const maxOpen = 256

// planSubmitted takes a plan whole, or refuses it whole.
func (w *work) planSubmitted(ev PlanSubmitted) {
	p := ev.Plan
	key := "plan:" + string(p.ID) + ":" + strconv.FormatInt(p.Revision, 10)
	ans := Answer{Ref: ev.Msg, Workflow: p.Workflow, Plan: p.ID, CatalogEtag: w.cat.Etag}
	if before, other := w.earlier(ev, key); before != nil {
		w.again(ev, *before)
		return
	} else if other != ReasonNone {
		ans.Reason = other
		w.reply(ev.Head, ans, "")
		return
	}
	if ans.Reason = w.admit(ev); ans.Reason == ReasonNone {
		if ev.Plan, ans.Faults = w.goalOf(ev.Plan, ev.GoalFaults); len(ans.Faults) > 0 {
			ans.Reason, key = ans.Faults[0].Reason, "" // like all that is wrong with a plan it is judged anew each time: the tier may be another then
		} else {
			w.takeIn(ev, &ans)
		}
	}
	if ans.Accepted = ans.Reason == ReasonNone; ans.Accepted {
		ans.Reason = ev.Plan.acceptedWith()
	}
	w.reply(ev.Head, ans, key)
}

// acceptedWith is what an accepted plan is told beside that.
func (p *Plan) acceptedWith() Reason {
	if p.NoGoal {
		return ReasonExperienceDisabled
	}
	return ReasonNone
}

// earlier: the same key with the same content gets the same answer; with other content it is refused.
func (w *work) earlier(ev PlanSubmitted, _ string) (*Answer, Reason) {
	p := ev.Plan
	if ev.Before != nil {
		if ev.HashThen == ev.Hash {
			return ev.Before, ReasonNone
		}
		return nil, ReasonSameRevision
	}
	if before, other := w.earlierTemplate(ev); before != nil || other != ReasonNone {
		return before, other
	}
	wf := w.peek(p.Workflow)
	switch {
	case wf == nil && ev.Past != nil:
		return nil, ReasonAlreadyTerminal
	case wf == nil:
		return nil, ReasonNone
	case wf.Plan.ID != p.ID:
		return nil, ReasonIDReused
	case p.Revision < wf.Plan.Revision:
		return nil, ReasonOutdatedRevision
	case p.Revision > wf.Plan.Revision:
		return nil, w.closed(wf)
	case wf.Hash != ev.Hash:
		return nil, ReasonSameRevision
	}
	return &Answer{Ref: ev.Msg, Workflow: p.Workflow, Plan: p.ID, Accepted: true, Reason: wf.Plan.acceptedWith(), CatalogEtag: w.cat.Etag}, ReasonNone
}

// closed says why a workflow takes no revision any more.
func (w *work) closed(wf *Workflow) Reason {
	switch {
	case wf.Cancel != ReasonNone || w.tombOf(wf.Plan.Workflow) != ReasonNone:
		return ReasonAfterCancel
	case wf.State.Terminal():
		return ReasonAlreadyTerminal
	}
	return ReasonNone
}

// takeIn makes a workflow of a plan, or revises the one that is there.
func (w *work) takeIn(ev PlanSubmitted, ans *Answer) {
	if ev.Plan.Schedule != nil {
		w.keepTemplate(ev)
		return
	}
	wf := w.wf(ev.Plan.Workflow)
	if wf == nil {
		w.accept(ev)
		return
	}
	ans.Reason, ans.Faults = w.revise(wf, ev.Plan, ev.Hash, func() {
		w.trace(wf, TraceEntry{Stage: StageObserve, What: string(ObsUserChange), Basis: string(ev.Msg)})
	})
	ans.State, ans.Stopping = string(wf.State), held(wf)
}

// again gives the earlier answer; where the workflow has ended, its result goes up again too: it may be that which was lost.
func (w *work) again(ev PlanSubmitted, before Answer) {
	before.Ref = ev.Msg
	w.reply(ev.Head, before, "")
	if !before.Accepted || ev.Local {
		return
	}
	base := w.cur.Workflows[ev.Plan.Workflow]
	if wf := w.wf(ev.Plan.Workflow); base != nil && base.State.Terminal() { // one that ends in this very batch is reported with it
		w.report(wf)
	} else if wf == nil && ev.Past != nil {
		w.send(Message{Type: MsgResult, Workflow: ev.Plan.Workflow, Plan: ev.Plan.ID, Turn: ev.Plan.TurnID, Result: ev.Past.Result})
	}
}

func (w *work) admit(ev PlanSubmitted) Reason {
	p := ev.Plan
	switch {
	case w.tombOf(p.Workflow) == ReasonQuarantined:
		return ReasonQuarantined
	case w.tombOf(p.Workflow) == ReasonStoreLost:
		return ReasonAlreadyTerminal
	case w.tombOf(p.Workflow) == ReasonAlreadyTerminal: // its records were erased
		return ReasonAlreadyTerminal
	case w.tombOf(p.Workflow) != ReasonNone:
		return ReasonAfterCancel
	case modeOf(w.dev.Holds).closed() && !p.stopsOnly():
		return ReasonNotAutomatic
	case w.otherStore(ev.Head):
		return ReasonWrongEpoch
	case w.stopsBefore(ev.Head) != ReasonNone:
		return w.stopsBefore(ev.Head)
	case w.age(ev.Head) != ReasonNone:
		return w.age(ev.Head)
	case w.tooLate(ev.Head) != ReasonNone:
		return w.tooLate(ev.Head)
	case p.Schedule != nil:
		return w.admitTemplate(ev)
	case w.peek(p.Workflow) == nil && len(w.cur.order)+len(w.ids) >= maxOpen:
		return ReasonLimit
	}
	return ReasonNone
}

// otherStore: it was meant for a store that this device has lost. What that one knew of it, that it was answered before, is lost too.
func (w *work) otherStore(h Head) bool { return !h.Local && h.Epoch != "" && h.Epoch != w.dev.Epoch }

// halts says whether a control only stops or holds. That is taken also where it was meant for an earlier store: a wish to stop must not
// wait until both sides agree which store it is, and one that is played again makes nothing move.
func halts(verb string) bool { return verb == "cancel" || verb == "kill" || verb == "pause" }

// skewMS is how far ahead of the time an id may be. Source: docs/contract.md, envelope (24 h).
const skewMS = 24 * 3600 * 1000

// age refuses what may have been answered long ago: an id from before the newest that was forgotten; and one from the future, which
// would never grow that old. What is handed in on the robot comes at once, and its clock may be wrong.
func (w *work) age(h Head) Reason {
	switch {
	case h.Local || h.IDMS == 0:
		return ReasonNone
	case h.IDMS <= h.ForgottenMS:
		return ReasonExpired
	case w.judging(false) != 0 && h.IDMS > w.judging(false)+skewMS:
		return ReasonClockSkew
	}
	return ReasonNone
}

// accept makes the workflow. From the commit on it survives a power cut.
func (w *work) accept(ev PlanSubmitted) {
	p := ev.Plan
	w.dev.AcceptNo++
	wf := &Workflow{Plan: p, State: WfQueued, Rank: w.dev.AcceptNo, Hash: ev.Hash, Accepted: w.now.Boot, Steps: make([]Step, len(p.Steps)), isNew: true, dirty: true}
	if w.now.Trusted {
		wf.AcceptMS = w.now.WallMS
	}
	if ms := p.EffectiveDeadlineMS(); ms > 0 {
		wf.Deadline = w.now.Boot + Instant(ms)
	}
	for i := range p.Steps {
		wf.Steps[i] = newStep(&p.Steps[i], w.now.Boot)
	}
	w.add(wf)
	w.trace(wf, TraceEntry{Stage: StageGoal, What: "accepted"})
	w.bindAll(wf)
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Workflow: p.Workflow, To: string(WfQueued)})
	w.progress(wf)
	w.touched, w.freed = true, true
}

// newStep is a step before anything has happened to it.
func newStep(spec *StepSpec, now Instant) Step {
	st := Step{ID: spec.ID, State: Pending, Since: now}
	for _, id := range spec.Effects {
		st.Effects = append(st.Effects, Effect{ID: id, State: EffectBound})
	}
	return st
}

// reply answers a message once: on the wire by up/ack, on the robot by the caller's return. Accepted messages and final refusals
// are remembered under their natural key; a transient refusal binds nothing. Nor does that of a message for a lost store: who plays one
// again would have the planner refused when it sends the same plan for this one.
func (w *work) reply(h Head, ans Answer, key string) {
	ans.Ref = h.Msg
	w.answer = &ans
	if !h.Local {
		w.send(Message{Type: MsgAck, Workflow: ans.Workflow, Plan: ans.Plan, Ack: &ans})
	}
	if key != "" && (ans.Accepted || InfoOf(ans.Reason).Class != Transient && ans.Reason != ReasonWrongEpoch) {
		w.ch.Remember = append(w.ch.Remember, Remembered{Key: key, Hash: h.Hash, Answer: ans})
	}
}

func (w *work) refused(ev Refused) {
	w.reply(ev.Head, ev.Answer, "")
}

// recall gives a message what this very batch has answered to its key: the id memory could not know that when it came in.
func (w *work) recall(h *Head, key string) {
	for i := range w.ch.Remember {
		if r := &w.ch.Remember[i]; h.Before == nil && r.Key == key {
			h.Before, h.HashThen = &r.Answer, r.Hash
		}
	}
}

// answeredBefore gives a message whose key is remembered the answer of then; with other content it is refused.
func (w *work) answeredBefore(h *Head, key string) bool {
	w.recall(h, key)
	if h.Before == nil {
		return false
	}
	ans := Answer{Ref: h.Msg, Reason: ReasonIDReused}
	if h.HashThen == h.Hash {
		ans = *h.Before
	}
	w.reply(*h, ans, "")
	return true
}

// controlReceived takes a wish: cancel, kill, pause or resume, of a step, of a workflow or of all.
func (w *work) controlReceived(ev ControlReceived) {
	key := "control:" + string(ev.Msg)
	if w.answeredBefore(&ev.Head, key) {
		return
	}
	ans := Answer{Ref: ev.Msg}
	slot := ev.Scope + ":" + ev.Target
	switch {
	case w.otherStore(ev.Head) && !halts(ev.Verb):
		ans.Reason = ReasonWrongEpoch
	case w.age(ev.Head) != ReasonNone:
		ans.Reason = w.age(ev.Head)
	case ev.Seq != 0 && ev.Seq < w.dev.Controls[slot]:
		ans.Reason = ReasonSuperseded
	case ev.Scope == string(HoldSession):
		w.noteControl(slot, ev.Seq)
		w.controlSession(ev, &ans)
	case ev.Verb == "pause" || ev.Verb == "resume":
		w.noteControl(slot, ev.Seq)
		w.pauseOrResume(ev, &ans)
	case ev.Verb == "set_mode":
		w.setMode(ev, &ans)
	case ev.Verb == "set_tier":
		w.setTier(ev, &ans)
	case ev.Verb == "disable_experience":
		w.disable(ev, &ans)
	case ev.Verb == "kill":
		w.noteControl(slot, ev.Seq)
		w.kill(ev, &ans)
	case ev.Verb != "cancel":
		ans.Reason = ReasonUnsupported
	default:
		w.noteControl(slot, ev.Seq)
		w.cancel(ev, &ans)
	}
	w.reply(ev.Head, ans, key)
}

// maxControls bounds the remembered targets; the smallest sequence goes first, which a later re-send cannot undercut unnoticed:
// its own id is in the id memory.
const maxControls = 512

func (w *work) noteControl(slot string, seq int64) {
	if seq == 0 {
		return
	}
	next := make(map[string]int64, len(w.dev.Controls)+1)
	oldest, low := "", seq
	for k, v := range w.dev.Controls {
		next[k] = v
		if v < low || v == low && k < oldest {
			oldest, low = k, v
		}
	}
	next[slot] = seq
	if len(next) > maxControls {
		delete(next, oldest)
	}
	w.dev.Controls = next
}

func (w *work) cancel(ev ControlReceived, ans *Answer) {
	switch ev.Scope {
	case "all":
		w.noteCancelAll(ev.Head)
		w.cancelSessions("", ReasonUserCancelled)
		for _, id := range w.everyone() { // also what a plan that has ended left running
			if !w.peek(id).State.Terminal() {
				w.cancelWorkflow(id, ReasonUserCancelled)
			}
			ans.Stopping = append(ans.Stopping, w.stopLive(w.wf(id))...)
		}
		ans.Accepted = true
	case "step":
		wfID, stepID, _ := strings.Cut(ev.Target, "/")
		w.cancelOne(WorkflowID(wfID), StepID(stepID), ans)
	case "schedule":
		w.cancelSchedule(WorkflowID(ev.Target), ans)
	case "experience":
		w.cancelExperience(ev.Target, ans)
	default:
		w.cancelWhole(WorkflowID(ev.Target), ev.Past, ans)
	}
}

func (w *work) cancelWhole(id WorkflowID, past *Past, ans *Answer) {
	ans.Workflow = id
	wf := w.wf(id)
	if wf == nil && w.template(id) != nil {
		w.cancelSchedule(id, ans)
		return
	}
	if wf == nil && past != nil {
		ans.Reason, ans.State = ReasonAlreadyTerminal, string(past.State)
		return
	}
	if wf == nil && w.tombOf(id) == ReasonQuarantined {
		ans.Reason, ans.State = ReasonQuarantined, string(WfFailed)
		return
	}
	if wf == nil {
		w.tomb(id, ReasonUserCancelled)
		ans.Reason = ReasonUnknownTarget
		return
	}
	if wf.State.Terminal() {
		ans.Reason, ans.State, ans.Stopping = ReasonAlreadyTerminal, string(wf.State), w.stopLive(wf)
		return
	}
	w.cancelWorkflow(id, ReasonUserCancelled)
	ans.Accepted, ans.State, ans.Stopping = true, string(wf.State), held(wf)
}

// held names what tasks of a workflow still hold.
func held(wf *Workflow) (out []string) {
	for i := range wf.Attempts {
		if a := &wf.Attempts[i]; a.State == Stopping {
			for _, res := range a.Resources {
				out = append(out, string(res))
			}
		}
	}
	return out
}

func (w *work) cancelOne(id WorkflowID, step StepID, ans *Answer) {
	ans.Workflow = id
	wf := w.wf(id)
	i := -1
	if wf != nil {
		i = wf.Plan.Lookup(step)
	}
	switch {
	case i < 0:
		ans.Reason = ReasonUnknownTarget
	case wf.Steps[i].Keeping():
		w.endKeeps(wf, i, ReasonUserCancelled)
		w.progress(wf)
		ans.Accepted, ans.State = true, string(wf.Steps[i].State)
	case wf.Steps[i].State.Terminal():
		ans.Reason, ans.State = ReasonAlreadyTerminal, string(wf.Steps[i].State)
	default:
		w.trace(wf, TraceEntry{Stage: StageObserve, What: string(ObsUserCancel), Step: step, Reason: ReasonUserCancelled})
		w.cancelStep(wf, i, ReasonUserCancelled)
		ans.Accepted, ans.State, ans.Stopping = true, string(wf.Steps[i].State), held(wf)
	}
}

// stepResult takes the outcome of a cloud step.
func (w *work) stepResult(ev StepResult) {
	if w.answeredBefore(&ev.Head, "step_result:"+string(ev.Task)) {
		return
	}
	ans := Answer{Ref: ev.Msg}
	if w.otherStore(ev.Head) {
		ans.Reason = ReasonWrongEpoch
		w.reply(ev.Head, ans, "")
		return
	}
	wf, a := w.attempt(ev.Task)
	if a == nil || !a.Cloud || !a.holds() || wf.Steps[a.Step].ID != ev.Step {
		ans.Reason = ReasonStale
		w.reply(ev.Head, ans, "")
		return
	}
	ans.Accepted, ans.Workflow = true, wf.Plan.Workflow
	i := a.Step
	if !ev.Done {
		w.end(wf, a, OutcomeFailed, ev.Reason)
		w.fail(wf, i, Failed, orReason(ev.Reason, ReasonExecutorFailed))
	} else {
		w.end(wf, a, OutcomeDone, ReasonNone)
		if wf.Steps[i].State == Blocked { // it waited for content, and the planner says that it was told
			w.run(wf, i)
		}
		w.claimsDone(wf, i, TaskEnded{Task: ev.Task, Outcome: OutcomeDone, Output: ev.Output})
	}
	w.reply(ev.Head, ans, "step_result:"+string(ev.Task))
}

// receipted: the planner has stored these rows. Deleting them is soft: a row that comes back is sent again.
func (w *work) receipted(ev Receipted) {
	w.ch.Receipted = append(w.ch.Receipted, ev.Refs...)
	w.touched = true
}
