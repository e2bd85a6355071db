package core

import (
	"slices"
	"strconv"
)

// The trace tells how a goal was kept: what it was, what was seen, what was decided about it, what was done, and what proved it. It is
// made by the very step of the core that does it, so that it is on the disk with what it explains. What goes on as planned (queued,
// running, progress, a step that completes) leaves nothing. A plan without a goal has none. Source: docs/experience.md, trace.

// TraceStage is the part of the loop that an entry is of.
type TraceStage string

// The stages, in the order of the loop.
const (
	StageGoal     TraceStage = "GOAL"
	StageObserve  TraceStage = "OBSERVE"
	StageDecide   TraceStage = "DECIDE"
	StageAct      TraceStage = "ACT"
	StageEvidence TraceStage = "EVIDENCE"
)

// Stages lists them all.
var Stages = []TraceStage{StageGoal, StageObserve, StageDecide, StageAct, StageEvidence}

// TraceEntry is one record of the trace. A field that does not apply is empty; nothing is filled in from an earlier entry.
type TraceEntry struct {
	Seq    int64      `json:"seq"` // intake sequence of the event that it happened at: where to look in the journal
	AtMS   int64      `json:"at"`  // since the plan was accepted, on the boot clock
	Stage  TraceStage `json:"stage"`
	What   string     `json:"what"` // see TraceWords
	Step   StepID     `json:"step,omitempty"`
	Effect string     `json:"effect,omitempty"`
	Reason Reason     `json:"reason,omitempty"`
	Seen   string     `json:"seen,omitempty"`  // the event or the context key that it rests on
	Basis  string     `json:"basis,omitempty"` // the task, the question, the message or the intake sequence that it rests on

	Refused string       `json:"refused,omitempty"` // of a decision: the part of the gate that kept it closed
	Before  *TraceBudget `json:"before,omitempty"`  // with every decision, and wherever it has changed since the entry before
	After   *TraceBudget `json:"after,omitempty"`
	Diff    *PlanDiff    `json:"diff,omitempty"`  // of a revision
	Usage   *Usage       `json:"usage,omitempty"` // of a decision that a model has made

	Missing int64 `json:"missing,omitempty"` // it stands for so many entries that are not kept, the last of them Seq; then it has nothing else
}

// TraceBudget is what is left for a goal.
type TraceBudget struct {
	Decisions int64 `json:"decisions"`
	Replans   int64 `json:"replans"`
	Retries   int64 `json:"retries"` // of the goal's budget; without one those that the steps declare
	Questions int64 `json:"questions"`
}

// PlanDiff is what a revision did to a plan: the ids of its steps, at most maxDiff in each list.
type PlanDiff struct {
	From    int64    `json:"from"` // revisions
	To      int64    `json:"to"`
	Added   []StepID `json:"added,omitempty"`
	Removed []StepID `json:"removed,omitempty"` // taken out before they had begun
	Changed []StepID `json:"changed,omitempty"` // not begun, with other content
	Stopped []StepID `json:"stopped,omitempty"` // named by its cancel_steps
	More    int64    `json:"more,omitempty"`    // ids that are not listed
}

const (
	maxTrace  = 64 // entries of a workflow; a plan of ten steps that goes well has some thirty
	traceHead = 32 // of them that stay when it is full: how it began is wanted most, with how it ended
	maxDiff   = 16
)

// TraceWords says what an entry may say beside the observations and decisions of the table of supervision, and what it means.
var TraceWords = []struct {
	Stage TraceStage
	What  string
	Text  string
}{
	{StageGoal, "accepted", "the plan with this goal was accepted"},
	{StageGoal, "completed", "every required effect is observed"},
	{StageGoal, "failed", "the plan has ended without it"},
	{StageGoal, "cancelled", "a person has given it up"},
	{StageGoal, "safely_ended", "it was ended safely"},
	{StageObserve, "waived", "a person has given up an effect that was to be kept"},
	{StageObserve, "answered", "the user has answered a question"},
	{StageObserve, "silent", "the user did not answer in time"},
	{StageAct, "ask", "the user is asked"},
	{StageAct, "dispatch", "a task was sent to its executor, or a step to the cloud"},
	{StageAct, "retry", "a step waits for its next try, and is then dispatched again"},
	{StageAct, "escalate", "the cloud is asked"},
	{StageAct, "stop", "a task is being stopped"},
	{StageAct, "revise", "the plan was changed"},
	{StageAct, string(ActReturn), "the standing plan that takes the robot to its station was begun"},
	{StageAct, "fallback", "the goal is ended safely"},
	{StageEvidence, "observed", "an effect is proven by accepted evidence"},
}

// TraceKnows says whether an entry of this stage may say so.
func TraceKnows(stage TraceStage, what string) bool {
	for _, w := range TraceWords {
		if w.Stage == stage && w.What == what {
			return true
		}
	}
	for _, r := range Rulings {
		if stage == StageObserve && what == string(r.On) || stage == StageDecide && slices.Contains(slices.Concat(r.Plain, r.Live, r.Held, r.Over), Decision(what)) {
			return true
		}
	}
	return stage == StageDecide && (what == string(ActSubstitute) || what == string(ActReturn))
}

// trace writes an entry of a workflow that has a goal: its stage and what it says, with the fields that apply. Sequence, time and
// budgets are filled in here, the budgets as they stand now: call it after what the entry tells has been spent.
func (w *work) trace(wf *Workflow, e TraceEntry) {
	if wf.Plan.Goal == nil {
		return
	}
	e.Seq, e.AtMS = w.seq, max(0, int64(w.now.Boot-wf.Accepted))
	before, now := wf.traceBudget(), wf.left()
	if before == nil || *before != now || e.Stage == StageDecide {
		e.Before, e.After = before, &now
	}
	wf.Trace, wf.traced = appendTrace(wf.Trace, e), true
	w.touched = true
}

// appendTrace makes a longer list, or one whose middle has a wider gap. The old list stays as it is: it may be another version's.
func appendTrace(list []TraceEntry, e TraceEntry) []TraceEntry {
	if len(list) < maxTrace {
		return append(slices.Clip(slices.Clone(list)), e)
	}
	gap := TraceEntry{Seq: list[traceHead+1].Seq, Missing: 1 + max(1, list[traceHead].Missing)}
	out := append(make([]TraceEntry, 0, maxTrace), list[:traceHead]...)
	return append(append(append(out, gap), list[traceHead+2:]...), e)
}

// traceBudget is what was left by the last entry that says so; nil: none does.
func (wf *Workflow) traceBudget() *TraceBudget {
	for i := range slices.Backward(wf.Trace) {
		if wf.Trace[i].After != nil {
			return wf.Trace[i].After
		}
	}
	return nil
}

// left is what is left for the goal of a workflow.
func (wf *Workflow) left() TraceBudget {
	cloud := wf.Left()
	out := TraceBudget{Decisions: cloud.Decisions, Replans: cloud.Replans}
	if b := wf.Plan.Goal.Budget; b != nil && wf.supervised() {
		out.Retries, out.Questions = max(0, b.Retries-wf.retries()), wf.questionsLeft()
		return out
	}
	for i := range wf.Steps {
		out.Retries += max(0, wf.Plan.Steps[i].Retry.Attempts-1-wf.Steps[i].Tries)
	}
	return out
}

// TraceDiffers says whether the trace is not the stored one.
func (wf *Workflow) TraceDiffers() bool { return wf.traced }

// closedAs are the words for what became of an effect.
var closedAs = map[EffectState]string{EffectObserved: "observed", EffectContradicted: string(ObsContradicted), EffectExpired: string(ObsExpired), EffectWaived: "waived"}

// traceClosure tells what became of an effect of the goal, with the evidence that closed it.
func (w *work) traceClosure(wf *Workflow, i, e int) {
	g, eff := wf.Plan.Goal, &wf.Steps[i].Effects[e]
	if g == nil || !slices.ContainsFunc(g.Effects, func(ge GoalEffect) bool { return ge.Step == wf.Steps[i].ID && ge.Effect == string(eff.ID) }) {
		return
	}
	entry := TraceEntry{Stage: StageObserve, What: closedAs[eff.State], Step: wf.Steps[i].ID, Effect: string(eff.ID), Basis: string(wf.Steps[i].Task)}
	switch eff.State {
	case EffectObserved:
		entry.Stage = StageEvidence
		entry.seenIn(eff.Evidence, false)
	case EffectContradicted:
		entry.seenIn(eff.Evidence, true)
	}
	if entry.What == "" {
		return // it is open again
	}
	w.trace(wf, entry)
}

// traceRuling tells what was seen and what was decided about it, also in shadow, where it is what a plain plan would get. What goes on
// as planned leaves nothing.
func (w *work) traceRuling(wf *Workflow, s Supervision) {
	if s.Decision == DecideContinue {
		return
	}
	seen := TraceEntry{Stage: StageObserve, What: string(s.On), Step: s.Step, Reason: s.Reason}
	if i := wf.Plan.Lookup(s.Step); i >= 0 {
		seen.Basis = string(wf.Steps[i].Task)
	}
	if n := len(wf.Trace); n == 0 || wf.Trace[n-1].Seq != w.seq || wf.Trace[n-1].What != seen.What || wf.Trace[n-1].Step != seen.Step {
		w.trace(wf, seen) // unless it was just told, with the evidence that says so
	}
	w.trace(wf, TraceEntry{Stage: StageDecide, What: string(s.Decision), Step: s.Step, Reason: s.Reason, Refused: string(s.Refused)})
}

// traceEnd tells that a plan is ended by its goal's fallback, or since the next occurrence is due.
func (w *work) traceEnd(wf *Workflow, why Reason) {
	if safeEnd(why) {
		w.trace(wf, TraceEntry{Stage: StageAct, What: "fallback", Reason: why})
	} else {
		w.trace(wf, TraceEntry{Stage: StageObserve, What: string(ObsScheduleDue), Reason: why})
	}
}

// seenIn takes the last evidence of this kind as what the entry rests on.
func (e *TraceEntry) seenIn(list []Evidence, against bool) {
	for _, ev := range slices.Backward(list) {
		if ev.Against == against {
			e.Basis, e.Seen = strconv.FormatInt(ev.Seq, 10), string(ev.Event)
			if ev.Key != "" {
				e.Seen = string(ev.Key)
			}
			return
		}
	}
}

// diffOf compares the plan before a revision with the plan after it; stopped are the steps that the revision wants to end.
func diffOf(before, after *Plan, stopped []StepID) *PlanDiff {
	d := &PlanDiff{From: before.Revision, To: after.Revision}
	add := func(list *[]StepID, id StepID) {
		if len(*list) == maxDiff {
			d.More++
			return
		}
		*list = append(*list, id)
	}
	for i := range after.Steps {
		switch id := after.Steps[i].ID; {
		case slices.Contains(stopped, id):
			add(&d.Stopped, id)
		case before.Lookup(id) < 0:
			add(&d.Added, id)
		case contentOf(before, before.Lookup(id)) != contentOf(after, i):
			add(&d.Changed, id)
		}
	}
	for i := range before.Steps {
		if id := before.Steps[i].ID; after.Lookup(id) < 0 {
			add(&d.Removed, id)
		}
	}
	return d
}
