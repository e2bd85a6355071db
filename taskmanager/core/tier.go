package core

import (
	"slices"
	"strconv"
	"strings"
)

// Lower is the lower of two tiers; an empty one bounds nothing.
func (t Tier) Lower(other Tier) Tier {
	if t == "" || other != "" && t.Above(other) {
		return other
	}
	return t
}

// KnownTier says whether there is such a tier.
func KnownTier(t Tier) bool { return slices.Contains(tiers, t) }

// setTier takes a lower tier: for the whole device, durably, and then for whatever is open too, or for one experience. From afar it only
// ever goes down; a person at the robot sets it as they like, up to the setting, and lets experiences be evaluated again.
func (w *work) setTier(ev ControlReceived, ans *Answer) {
	if ev.Scope != string(HoldExperience) {
		tier := Tier(ev.Target)
		if !ev.Local && w.dev.TierCap != "" && tier.Above(w.dev.TierCap) {
			ans.Reason, ans.State = ReasonTierBlocked, string(w.dev.TierCap)
			return
		}
		w.capTier(tier, ev.Local && w.dev.NoGoals)
		ans.Accepted, ans.State = true, string(tier)
		w.touched, w.ch.Must = true, true
		return
	}
	id, tier, _ := strings.Cut(ev.Target, "/")
	open := w.ofExperience(id, ans)
	for _, wf := range open {
		if Tier(tier).Above(wf.Plan.Goal.Tier) {
			ans.Reason, ans.State = ReasonTierBlocked, string(wf.Plan.Goal.Tier)
			return
		}
	}
	for _, wf := range open {
		w.lowerGoal(w.wf(wf.Plan.Workflow), Tier(tier))
		ans.Accepted, ans.State = true, tier
	}
}

// capTier bounds what comes from now on, and what is open. on: experiences are evaluated again. It is told once: what is published of it
// must not depend on who is quicker.
func (w *work) capTier(tier Tier, on bool) {
	switch {
	case on:
		w.dev.NoGoals = false
		w.tellTier("off", string(tier))
	case w.dev.TierCap != tier:
		w.tellTier(string(w.dev.TierCap), string(tier))
	}
	w.dev.TierCap = tier
	for _, id := range w.everyone() {
		if wf := w.peek(id); wf.Plan.Goal != nil && !wf.State.Terminal() && wf.Plan.Goal.Tier.Above(tier) {
			w.lowerGoal(w.wf(id), tier)
		}
	}
}

// tellTier tells those who watch, and so the cloud, which tier this device has now.
func (w *work) tellTier(from, to string) {
	w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Effect: "tier", From: from, To: to})
}

// regoal changes how the goal of an open plan is kept; the plan's row is written anew.
func (w *work) regoal(wf *Workflow, change func(*Goal)) {
	plan, g := *wf.Plan, *wf.Plan.Goal
	change(&g)
	plan.Goal = &g
	wf.Plan, wf.newer, wf.dirty = &plan, true, true
	w.touched, w.freed, w.ch.Must = true, true, true
}

// lowerGoal: what has begun goes on; what has not is held against the lower tier when it is about to be dispatched.
func (w *work) lowerGoal(wf *Workflow, tier Tier) {
	w.regoal(wf, func(g *Goal) { g.Tier = g.Tier.Lower(tier) })
	w.progress(wf)
}

// tierBlocks says whether the tier of a goal does not allow a step any more, and then ends it: its goal falls back where it is lost.
func (w *work) tierBlocks(wf *Workflow, i int) bool {
	if !wf.supervised() || wf.Plan.Goal.Tier.Allows(&wf.Plan.Steps[i]) {
		return false
	}
	w.fail(wf, i, Failed, ReasonTierBlocked)
	wf.Steps[i].Detail = string(wf.Plan.Goal.Tier)
	return true
}

// disable ends the evaluation of goals: of all, now and from now on, or of one. Its steps go on as those of a plain plan.
func (w *work) disable(ev ControlReceived, ans *Answer) {
	var open []*Workflow
	switch ev.Scope {
	case string(HoldAll):
		if !w.dev.NoGoals {
			w.dev.NoGoals = true
			w.tellTier(string(w.dev.TierCap), "off")
		}
		for _, id := range w.everyone() {
			if wf := w.peek(id); wf.Plan.Goal != nil && !wf.State.Terminal() {
				open = append(open, wf)
			}
		}
		ans.Accepted = true
	default:
		open = w.ofExperience(ev.Target, ans)
		ans.Accepted = len(open) > 0
	}
	for _, wf := range open {
		w.dropGoal(w.wf(wf.Plan.Workflow))
	}
	if ans.Accepted {
		ans.State = string(ReasonExperienceDisabled)
		w.touched, w.ch.Must = true, true
	}
}

// dropGoal: the goal is evaluated no more. Budget, deadline and fallback are those of a plain plan; one that was reached stays reached.
func (w *work) dropGoal(wf *Workflow) {
	if wf.Plan.Goal.Off || wf.GoalStatus().Terminal() {
		return
	}
	w.regoal(wf, func(g *Goal) { g.Off = true })
	wf.Deadline = 0
	if ms := wf.Plan.EffectiveDeadlineMS(); ms > 0 {
		wf.Deadline = wf.Accepted + Instant(ms)
	}
	w.progress(wf)
}

// ofExperience lists the open plans of an experience; none: the answer says why.
func (w *work) ofExperience(id string, ans *Answer) (open []*Workflow) {
	of := func(wf *Workflow) bool { return wf.Plan.Goal != nil && wf.Plan.Goal.Experience == id }
	for _, wfID := range w.everyone() {
		if wf := w.peek(wfID); of(wf) && !wf.State.Terminal() {
			open = append(open, wf)
		}
	}
	if len(open) > 0 {
		return open
	}
	ans.Reason = ReasonUnknownTarget
	for _, wf := range w.cur.Workflows {
		if of(wf) {
			ans.Reason = ReasonAlreadyTerminal // in whatever state: there may be several
		}
	}
	return nil
}

// goalOf makes the plan that this device takes of one that has a goal: without it where none is evaluated, and in no higher tier than
// the device has now. wrong is what the bridge found in the goal; with faults the plan is not taken.
func (w *work) goalOf(p *Plan, wrong []Fault) (*Plan, []Fault) {
	if was := w.peek(p.Workflow); w.dev.NoGoals && (was == nil || was.Plan.Goal == nil) || was != nil && was.Plan.NoGoal {
		if p.Goal != nil {
			plain := *p
			plain.Goal, plain.NoGoal = nil, true
			p = &plain
		}
		return p, nil
	}
	if len(wrong) > 0 || p.Goal == nil {
		return p, wrong
	}
	most := w.dev.TierCap
	if was := w.peek(p.Workflow); was != nil && was.Plan.Goal != nil {
		most = most.Lower(was.Plan.Goal.Tier)
	}
	if most == "" || !p.Goal.Tier.Above(most) {
		return p, nil
	}
	if p.Goal.Named {
		return p, []Fault{{Path: "experience.tier", Reason: ReasonTierBlocked, Message: "the tier was set to " + string(most)}}
	}
	capped, g := *p, *p.Goal
	g.Tier, capped.Goal = most, &g
	return &capped, tierFaults(&capped)
}

// tierFaults names the steps that the tier of a plan does not allow.
func tierFaults(p *Plan) (faults []Fault) {
	for i := range p.Steps {
		if s := &p.Steps[i]; !p.Goal.Tier.Allows(s) {
			faults = append(faults, Fault{Path: "device_task_requests[" + strconv.Itoa(i) + "].taskMethod", Reason: ReasonTierBlocked, Message: string(s.Method) + " does not run in the tier " + string(p.Goal.Tier)})
		}
	}
	return faults
}

// cancelExperience cancels the plans of an experience, and with them its goal.
func (w *work) cancelExperience(id string, ans *Answer) {
	w.cancelSessions(id, ReasonUserCancelled) // also what has outlived its step
	for _, wf := range w.ofExperience(id, ans) {
		one := Answer{}
		w.cancelWhole(wf.Plan.Workflow, nil, &one)
		ans.Accepted, ans.Workflow, ans.State = true, wf.Plan.Workflow, one.State
		ans.Stopping = append(ans.Stopping, one.Stopping...)
	}
}

// letGoOfExperience drops the holds of an experience whose last plan has ended: they would stand for ever, and nobody has to release them.
func (w *work) letGoOfExperience(wf *Workflow) {
	if wf.Plan.Goal == nil || len(w.dev.Holds) == 0 {
		return
	}
	over := func(h Hold) bool { return h.Scope == HoldExperience && h.Target == wf.Plan.Goal.Experience }
	if !slices.ContainsFunc(w.dev.Holds, over) || slices.ContainsFunc(w.everyone(), func(id WorkflowID) bool {
		o := w.peek(id)
		return !o.State.Terminal() && o.Plan.Goal != nil && o.Plan.Goal.Experience == wf.Plan.Goal.Experience
	}) {
		return
	}
	w.dev.Holds = slices.DeleteFunc(slices.Clone(w.dev.Holds), over)
}
