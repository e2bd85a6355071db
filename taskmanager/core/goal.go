package core

import "slices"

// Goal is what a plan is for: its experience. It never changes after intake; a revision brings its own. It dispatches nothing: each of
// its effects is that of a step, and is closed by that step's evidence alone. Source: docs/experience.md.
type Goal struct {
	Experience  string       `json:"experience"`
	ID          string       `json:"id"`
	Summary     string       `json:"summary,omitempty"`
	Effects     []GoalEffect `json:"effects"`
	Constraints []string     `json:"constraints,omitempty"`
	Budget      *GoalBudget  `json:"budget,omitempty"` // nil: that of a plan without an experience
	Tier        Tier         `json:"tier"`
	Named       bool         `json:"named,omitempty"` // the plan itself named the tier
	Off         bool         `json:"off,omitempty"`   // it is evaluated no more: experiences were disabled while it was open
}

// kept says whether more than writing it down is done for a goal.
func (g *Goal) kept() bool { return g != nil && g.Tier != TierShadow && !g.Off }

// GoalEffect is one effect of a goal, and the step behind it.
type GoalEffect struct {
	Effect   string `json:"effect"`
	Step     StepID `json:"step"`
	Required bool   `json:"required,omitempty"`
}

// GoalBudget bounds what is done for a goal without a person.
type GoalBudget struct {
	Decisions  int64 `json:"decisions"`
	Replans    int64 `json:"replans"`
	Retries    int64 `json:"retries"`
	Questions  int64 `json:"questions"`
	DeadlineMS int64 `json:"deadline_ms"`
}

// Tier bounds what a plan with an experience may do. A plan without one is not affected by any.
type Tier string

// The tiers, lowest first.
const (
	TierShadow     Tier = "shadow"       // the goal is recorded, the steps run as they would without it
	TierContent    Tier = "content_only" // no operation of the device
	TierRestricted Tier = "restricted"   // nothing that moves the body, nor what the catalog keeps for full
	TierFull       Tier = "full"
)

var tiers = []Tier{TierShadow, TierContent, TierRestricted, TierFull}

// Above says whether t allows more than other.
func (t Tier) Above(other Tier) bool { return slices.Index(tiers, t) > slices.Index(tiers, other) }

// Allows says whether a plan of this tier may have the step.
func (t Tier) Allows(s *StepSpec) bool {
	switch {
	case s.Target == OnCloud || t == TierShadow || t == TierFull:
		return true
	case t == TierContent:
		return false
	}
	return !s.Op.NeedsFull
}

// GoalStatus says how far a goal is.
type GoalStatus string

// The states of a goal. Candidates that were not admitted never reach the device.
const (
	GoalActivated GoalStatus = "activated" // accepted, nothing has begun
	GoalActive    GoalStatus = "active"
	GoalWaiting   GoalStatus = "waiting"   // as planned
	GoalSuspended GoalStatus = "suspended" // somebody holds it
	GoalBlocked   GoalStatus = "blocked"
	GoalCompleted GoalStatus = "completed"
	GoalFailed    GoalStatus = "failed"
	GoalCancelled GoalStatus = "cancelled"
	GoalSafeEnd   GoalStatus = "safely_ended"
)

// Terminal says whether nothing can follow.
func (g GoalStatus) Terminal() bool {
	return g == GoalCompleted || g == GoalFailed || g == GoalCancelled || g == GoalSafeEnd
}

// EffectUnbound is an effect of a goal that no step of the plan stands behind any more.
const EffectUnbound EffectState = "unbound"

// Closure is how far an effect of a goal is.
type Closure struct {
	GoalEffect
	State EffectState
}

// Closures are the effects of the goal with their states, in the order of the goal. They are read off the steps: nothing else closes one.
func (wf *Workflow) Closures() []Closure {
	var out []Closure
	for _, g := range wf.Plan.Goal.Effects {
		out = append(out, Closure{g, wf.closure(g)})
	}
	return out
}

func (wf *Workflow) closure(g GoalEffect) EffectState {
	i := wf.Plan.Lookup(g.Step)
	if i < 0 {
		return EffectUnbound
	}
	st := &wf.Steps[i]
	e := slices.IndexFunc(st.Effects, func(e Effect) bool { return string(e.ID) == g.Effect })
	switch {
	case e < 0:
		return EffectUnbound
	case st.Effects[e].State != EffectObserved && st.State == Cancelled && slices.ContainsFunc([]Reason{wf.Cancel, st.Reason, st.Wish}, Reason.ofUser):
		return EffectWaived // a person wants it no more
	}
	return st.Effects[e].State
}

// goalDone: every required effect is observed, and was kept where it has to be. One that a person has given up is waived, and the goal
// closes on the rest; who cancels the whole plan has given up the goal.
func (wf *Workflow) goalDone() bool {
	observed := 0
	for _, c := range wf.Closures() {
		switch {
		case !c.Required || c.State == EffectWaived && wf.Cancel == ReasonNone:
		case c.State != EffectObserved || wf.keeping(c.GoalEffect):
			return false
		default:
			observed++
		}
	}
	return observed > 0
}

// keeping: the effect has to hold on. So it has where it was seen and its step has not ended yet.
func (wf *Workflow) keeping(g GoalEffect) bool {
	i := wf.Plan.Lookup(g.Step)
	over := func(e Effect) bool { return string(e.ID) == g.Effect && e.Kept != nil && e.Kept.Over }
	return slices.ContainsFunc(wf.Plan.Steps[i].Keeps, func(k Keep) bool { return string(k.Effect) == g.Effect }) && !slices.ContainsFunc(wf.Steps[i].Effects, over)
}

func (wf *Workflow) allWaived() bool {
	return !slices.ContainsFunc(wf.Closures(), func(c Closure) bool { return c.Required && c.State != EffectWaived })
}

// GoalDerivations is the table by which the state of a goal follows from its plan: the first line that fits.
var GoalDerivations = []struct {
	State GoalStatus
	When  string
	fits  func(*Workflow) bool
}{
	{GoalCancelled, "experiences were disabled before it was reached: it is evaluated no more, and its plan goes on as a plain one", func(wf *Workflow) bool { return wf.Plan.Goal.Off }},
	{GoalCompleted, "every required effect is observed by accepted evidence and holds where it has to be kept, or was waived by a person; one at least is observed", (*Workflow).goalDone},
	{GoalSafeEnd, "its deadline passed, or no decision came or was left, and it was ended safely; all its tasks are at rest", func(wf *Workflow) bool { return ended(wf) && safeEnd(wf.Cancel) && !wf.HoldsAny() }},
	{GoalCancelled, "a person cancelled the plan, or all that was required", func(wf *Workflow) bool { return ended(wf) && (InfoOf(wf.Cancel).Class == User || wf.allWaived()) }},
	{GoalFailed, "the plan has ended", ended},
	{GoalSuspended, "somebody holds the plan", func(wf *Workflow) bool { return wf.held }},
	{GoalActive, "a task is under way", func(wf *Workflow) bool {
		return slices.ContainsFunc(wf.Steps, func(s Step) bool { return s.State.active() && s.State != OutcomeUnknown })
	}},
	{GoalBlocked, "a step needs a change or a decision, or nobody knows how it stands", func(wf *Workflow) bool { return anyIn(wf, Blocked, OutcomeUnknown) }},
	{GoalActivated, "nothing was dispatched yet", func(wf *Workflow) bool { return !started(wf) }},
	{GoalWaiting, "it waits as planned", func(*Workflow) bool { return true }},
}

// GoalStatus is the state of the goal; "" where the plan has none. What has ended stays so: neither a cancel of what the goal did not
// require nor a revision undoes it.
func (wf *Workflow) GoalStatus() GoalStatus {
	switch {
	case wf.Plan.Goal == nil:
		return ""
	case wf.Goal.Terminal():
		return wf.Goal
	}
	for _, d := range GoalDerivations {
		if d.fits(wf) {
			return d.State
		}
	}
	panic("internal error: the table of goals has no last line")
}

// goalMoves tells those who watch that the goal has moved on. That it has ended is durable before it is told.
func (w *work) goalMoves(wf *Workflow) {
	if now := wf.GoalStatus(); now != wf.Goal {
		if on := goalObserved(wf.Goal, now); on != "" {
			w.supervise(&gateQuery{wf: wf, i: -1, on: on, goal: wf.Goal})
		}
		w.ch.Moves = append(w.ch.Moves, Move{Seq: w.seq, Workflow: wf.Plan.Workflow, Goal: wf.Plan.Goal.ID, From: string(wf.Goal), To: string(now), Reason: wf.Cancel})
		wf.Goal, wf.dirty = now, true
		if now.Terminal() {
			w.trace(wf, TraceEntry{Stage: StageGoal, What: string(now), Reason: wf.Cancel})
		}
		w.ch.Must = w.ch.Must || now.Terminal()
	}
}

// goalObserved is what a change of a goal was seen by; "": by something that is told of its step.
func goalObserved(was, now GoalStatus) Observation {
	switch {
	case now == GoalCompleted:
		return ObsAllObserved
	case now == GoalSuspended:
		return ObsPaused
	case was == GoalSuspended && !now.Terminal():
		return ObsResumed
	}
	return ""
}

// safeEnd says whether a plan was ended by the fallback of its goal.
func safeEnd(why Reason) bool {
	return why == ReasonDeadlineExceeded || why == ReasonNoDecision || why == ReasonBudgetExhausted || why == ReasonTierBlocked
}

// bounded says whether the budget of a goal binds the plan. In shadow, or once it is evaluated no more, nothing is done for a goal.
func (p *Plan) bounded() bool { return p.Goal.kept() && p.Goal.Budget != nil }

// fallBack ends the goal safely where nobody decides any more what becomes of a step, and without it the goal cannot be reached: whatever
// the plan has under way is stopped, and nothing of it begins. It comes before the step takes its end: else a plan of which nothing else is
// left would be told to have failed, and then to have been ended.
func (w *work) fallBack(wf *Workflow, i int, end StepState, reason Reason) {
	st := &wf.Steps[i]
	is := st.State
	st.State = end
	lost := wf.Plan.bounded() && wf.Cancel == ReasonNone && !wf.Goal.Terminal() && wf.goalLost()
	if st.State = is; !lost {
		return
	}
	w.expireEffects(wf, i)
	if sup := w.supervise(&gateQuery{wf: wf, i: -1, on: ObsMissed, reason: reason}); sup.Decision == DecideCancel {
		w.endRest(wf, i, reason)
	}
}

// comesToRest: a goal is ended safely when what its plan has left running stands still, or has not done so in spite of every stop.
func (wf *Workflow) comesToRest() bool {
	return wf.Plan.bounded() && safeEnd(wf.Cancel) && slices.ContainsFunc(wf.Attempts, func(a Attempt) bool { return a.State == Stopping && a.StopCalls < maxStops })
}

// goalLost: a required effect has no step any more that could still bring it about.
func (wf *Workflow) goalLost() bool {
	return slices.ContainsFunc(wf.Closures(), func(c Closure) bool {
		return c.Required && c.State != EffectObserved && c.State != EffectWaived && (c.State == EffectUnbound || wf.hopeless(wf.Plan.Lookup(c.Step)))
	})
}

// hopeless: the step has ended, or waits for the success of one that has failed.
func (wf *Workflow) hopeless(i int) bool {
	if wf.Steps[i].State.Terminal() {
		return true
	}
	return slices.ContainsFunc(wf.Plan.Steps[i].Deps, func(d Dep) bool {
		if wf.goesAhead(i, d.Step) {
			return false
		}
		_, never := dependency(&wf.Plan.Steps[d.Step], &wf.Steps[d.Step], d.On)
		return never != ReasonNone || !wf.Steps[d.Step].State.Terminal() && wf.hopeless(d.Step)
	})
}

// budget is what the plan may ask of the cloud in all.
func (wf *Workflow) budget() Budget {
	if wf.Plan.bounded() {
		b := wf.Plan.Goal.Budget
		return Budget{Decisions: b.Decisions, Replans: b.Replans}
	}
	return Budget{Decisions: maxDecisions, Replans: maxReplans}
}

// retriesLeft says whether the budget of the goal allows one more try without a person: a declared retry, or one that was decided.
func (wf *Workflow) retriesLeft() bool {
	if !wf.Plan.bounded() {
		return true
	}
	return wf.retries() < wf.Plan.Goal.Budget.Retries
}

// retries are those of all steps so far: declared ones, and those that were decided.
func (wf *Workflow) retries() (used int64) {
	for _, e := range wf.Escalations {
		if e.State == EscDecided && e.Action == ActRetry {
			used++
		}
	}
	for i := range wf.Steps {
		used += wf.Steps[i].Tries
	}
	return used
}

// EffectiveDeadlineMS is the shorter of the plan's deadline and its goal's; 0: none.
func (p *Plan) EffectiveDeadlineMS() int64 {
	ms := p.DeadlineMS
	if p.bounded() && (ms == 0 || p.Goal.Budget.DeadlineMS < ms) {
		ms = p.Goal.Budget.DeadlineMS
	}
	return ms
}

// GoalReport is how a goal ended.
type GoalReport struct {
	Experience, ID string
	Status         GoalStatus
	Reason         Reason
	Effects        []Closure
	Trace          []TraceEntry
}

func (wf *Workflow) goalReport() *GoalReport {
	g := wf.Plan.Goal
	if g == nil {
		return nil
	}
	r := &GoalReport{Experience: g.Experience, ID: g.ID, Status: wf.GoalStatus(), Effects: wf.Closures(), Trace: wf.Trace}
	switch {
	case g.Off:
		r.Reason = ReasonExperienceDisabled
	case r.Status != GoalCompleted:
		r.Reason = wf.Reason
	}
	return r
}
