package sim

import (
	"maps"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// aim is a goal as the judge knows it: by what the plans said that were accepted, and what those who watch were told.
type aim struct {
	*core.Goal                   // of the latest revision
	budget     *core.GoalBudget  // of the first: no revision buys more
	since      int64             // its acceptance
	off        int64             // of the time off that the judge knew then
	boundAt    int64             // the latest revision
	told       core.GoalStatus   // "" where nobody was told anything since the start
	endedAt    int64             // when it was told to have ended
	settled    bool              // all that its plan had begun had ended then, as was told
	retries    int64             // automatic ones, of all its steps
	proof      []core.GoalEffect // what it was completed by
}

// bounds says whether the budget of the goal binds its plan. In shadow none does.
func (a *aim) bounds() bool { return a != nil && a.budget != nil && a.Tier != core.TierShadow }

// takes the goal of a plan, or of a revision, that was accepted, and what it stops.
func (j *judge) takes(p *core.Plan, at int64) {
	for _, s := range p.CancelSteps {
		j.dropped[stepRef{p.Workflow, s}] = true
	}
	j.aimsAt(p.Workflow, p.Goal, at)
}

func (j *judge) aimsAt(id core.WorkflowID, g *core.Goal, at int64) {
	if g == nil {
		return
	}
	a := j.aims[id]
	if a == nil {
		a = &aim{budget: g.Budget, since: at, off: j.m.offMS}
		j.aims[id] = a
		j.m.tally.Goals++
	}
	a.Goal, a.boundAt = g, at
}

// most is what a plan may ask for, and how often it may be changed by an answer.
func (j *judge) most(id core.WorkflowID) (questions, replans int64) {
	if a := j.aims[id]; a.bounds() {
		return a.budget.Decisions, a.budget.Replans
	}
	return mostQuestions, mostReplans
}

// goalMoved sees what those who watch are told of a goal, and says whether it has ended.
func (j *judge) goalMoved(mv core.Move, at int64) bool {
	m, a, to := j.m, j.aims[mv.Workflow], core.GoalStatus(mv.To)
	if a == nil {
		m.failf("wrong end: %s has the goal %s, and nobody handed it in", mv.Workflow, mv.Goal)
	}
	if a.told.Terminal() {
		m.failf("wrong end: the goal of %s was %s and goes to %s", mv.Workflow, a.told, to)
	}
	if a.told != "" && mv.From != string(a.told) {
		m.failf("wrong end: the goal of %s was told to be %s, and goes to %s from %s", mv.Workflow, a.told, to, mv.From)
	}
	if a.told = to; to.Terminal() {
		a.endedAt = at
	}
	return to.Terminal()
}

// goalEnds holds the end of a goal against the plan, the robot's log and who cancelled what.
func (j *judge) goalEnds(id core.WorkflowID, a *aim, at int64) {
	m := j.m
	j.m.tally.GoalTiers[a.Tier]++
	a.settled = !j.unsettled(id, at)
	switch a.told {
	case core.GoalCompleted:
		j.goalProven(id, a, at)
	case core.GoalSafeEnd:
		for res, job := range m.robot.motion {
			if o := j.owner[job.task]; job.task != "" && o.wf == id && !job.resting {
				m.failf("safe end: the goal of %s was ended safely, and %s still runs on %s", id, job.task, res)
			}
		}
	case core.GoalCancelled:
		if !j.cancelled[id] && !j.given(id, a, true) {
			m.failf("wrong end: the goal of %s is cancelled, and nobody cancelled it", id)
		}
	}
}

// given says whether a person gave up all that the goal requires.
func (j *judge) given(id core.WorkflowID, a *aim, may bool) bool {
	return !slices.ContainsFunc(a.Effects, func(e core.GoalEffect) bool { return e.Required && !j.waived(id, e, may) })
}

// waived: a person has cancelled the step of the effect, or what was to be kept. Where the robot refused that stop and the step ended so
// later, it may be by that wish or by another: may counts it.
func (j *judge) waived(id core.WorkflowID, e core.GoalEffect, may bool) bool {
	at := stepRef{id, e.Step}
	return j.oneGone[at] && j.told[at] == core.Cancelled && (may || !j.ranOn[at]) || j.effects[effectRef{at, e.Effect}] == core.EffectWaived
}

type effectRef struct {
	stepRef
	effect string
}

// goalProven: a goal is completed only by effects that the robot really brought about, for these very steps, and that held as long as
// they had to.
func (j *judge) goalProven(id core.WorkflowID, a *aim, now int64) {
	m := j.m
	proven := 0
	for _, e := range a.Effects {
		at := stepRef{id, e.Step}
		switch {
		case !e.Required:
		case !j.cancelled[id] && j.waived(id, e, true):
		case !j.cameTrue(at, e.Effect):
			m.failf("false goal: that of %s is completed, and %s of %s never came true (%s)", id, e.Effect, at, j.told[at])
		default:
			proven++
			a.proof = append(a.proof, e)
			j.stillKept(at, e.Effect, now)
		}
	}
	if proven == 0 {
		m.failf("false goal: that of %s is completed, and nothing of it was brought about", id)
	}
}

// cameTrue says by the robot's own log whether an effect came about for one of the tasks of a step. What the step itself was completed by
// was held against the log then.
func (j *judge) cameTrue(at stepRef, effect string) bool {
	if s := j.told[at]; s == core.Completed || s == core.Satisfied {
		return true
	}
	spec := j.spec(at)
	return slices.ContainsFunc(j.tries[at], func(task core.TaskID) bool {
		return j.unproven(at, task, spec, []catalog.EffectID{catalog.EffectID(effect)}) == ""
	})
}

// keptWindowMS is how far before the end of the time for which it was to be kept an effect may have been seen last: while nothing hangs on
// it the agent looks at it each ten seconds, and the robot may be blind or silent for forty.
const keptWindowMS = 60_000

// stillKept: what had to be kept until a step had ended was kept until then.
func (j *judge) stillKept(at stepRef, effect string, now int64) {
	m, spec := j.m, j.spec(at)
	for _, k := range spec.Keeps {
		if string(k.Effect) != effect || k.Step == 0 {
			continue
		}
		until := stepRef{at.wf, j.plans[at.wf].Steps[k.Step-1].ID}
		if !j.told[until].Terminal() {
			m.failf("false goal: that of %s is completed, and %s is to be kept until %s, which is %s", at.wf, effect, until, j.told[until])
		}
		if is := keptBy(k.Effect); j.cutAt < j.endedAt[at] && !m.robot.everTrue(j.endedAt[until]-keptWindowMS, now, is) {
			m.failf("false goal: that of %s is completed, and %s was not kept until %s", at.wf, effect, until)
		}
	}
}

// retried counts the retries of a goal that no person made: declared ones, and those that the cloud decided.
func (j *judge) retried(id core.WorkflowID) {
	if a := j.aims[id]; a != nil {
		if a.retries++; a.bounds() && a.retries > a.budget.Retries {
			j.m.failf("budget: the goal of %s was retried %d times, %d are allowed", id, a.retries, a.budget.Retries)
		}
	}
}

// goalAllows: nothing of a plan is dispatched after the end or the deadline of its goal.
func (j *judge) goalAllows(at stepRef, d core.Dispatch) {
	m, a := j.m, j.aims[at.wf]
	if a == nil {
		return
	}
	if a.told.Terminal() && a.told != core.GoalCompleted {
		m.failf("safe end: %s of %s is dispatched, and its goal is %s", d.Method, at, a.told)
	}
	if decided := j.decidedAt[d.Task]; a.bounds() && decided > a.since+a.budget.DeadlineMS+m.offMS-a.off {
		m.failf("budget: %s of %s is dispatched %d ms after the deadline of its goal", d.Method, at, decided-a.since-a.budget.DeadlineMS)
	}
}

// goalReported holds a result against what was told of its goal.
func (j *judge) goalReported(id core.WorkflowID, r *core.Result) {
	m, a, g := j.m, j.aims[id], r.Goal
	wrong := func(f string, args ...any) { m.failf("wrong end: "+f, args...) }
	switch {
	case a == nil && g == nil:
		return
	case a == nil || g == nil:
		wrong("%s is reported with the goal %+v, and was accepted with %+v", id, g, a)
	case g.ID != a.ID || g.Experience != a.Experience || len(g.Effects) != len(a.Effects):
		wrong("%s is reported with the goal %+v, and was accepted with %+v", id, g, a.Goal)
	case a.told.Terminal() && g.Status != a.told || !g.Status.Terminal():
		wrong("the goal of %s was told to be %s and is reported %s", id, a.told, g.Status)
	}
	if a.told == "" { // it ended in a commit that nobody lived to tell
		a.told, a.endedAt = g.Status, m.T
	}
	all, some := true, false
	for i, e := range g.Effects {
		at := stepRef{id, e.Step}
		if e.GoalEffect != a.Effects[i] {
			wrong("the goal of %s is reported with %+v, and was accepted with %+v", id, e, a.Effects[i])
		}
		told := j.effects[effectRef{at, e.Effect}]
		if e.State == core.EffectObserved && (told != core.EffectObserved || !j.cameTrue(at, e.Effect)) {
			m.failf("false goal: %s of %s is reported observed, it was told to be %q, and the robot's log says %v", e.Effect, at, told, j.cameTrue(at, e.Effect))
		}
		if told == core.EffectObserved && e.State != told {
			wrong("%s of %s was told to be observed and is reported %s", e.Effect, at, e.State)
		}
		if waived := j.waived(id, e.GoalEffect, false); e.Required && !(waived && !j.cancelled[id]) {
			all, some = all && told == core.EffectObserved, some || told == core.EffectObserved
		}
	}
	j.rightEnd(id, a, r, all && some)
	m.tally.GoalEnds[g.Status]++
	if g.Status == core.GoalSafeEnd {
		m.tally.Fallbacks[g.Reason]++
	}
}

// rightEnd says how a goal had to end, by what its steps came to and who did what.
func (j *judge) rightEnd(id core.WorkflowID, a *aim, r *core.Result, done bool) {
	wrong := func(f string, args ...any) {
		j.m.failf("wrong end: the goal of %s is %s (%s), "+f, append([]any{id, r.Goal.Status, r.Goal.Reason}, args...)...)
	}
	safe := slices.Contains([]core.Reason{core.ReasonDeadlineExceeded, core.ReasonNoDecision, core.ReasonBudgetExhausted}, r.Reason)
	switch r.Goal.Status {
	case core.GoalCompleted:
		if r.Goal.Reason != "" {
			wrong("and gives a reason")
		}
		return
	case core.GoalSafeEnd:
		asked, decisions := int64(len(j.questions[id])), int64(0)
		if decisions, _ = j.most(id); a.bounds() && r.Reason == core.ReasonBudgetExhausted && asked+j.unheard(id, r) < decisions {
			wrong("and of %d decisions %d were asked for", decisions, asked)
		}
		if !safe {
			wrong("and its plan ended with %s", r.Reason)
		}
	case core.GoalCancelled:
		if !j.cancelled[id] && !j.given(id, a, true) {
			wrong("and nobody cancelled it")
		}
	case core.GoalFailed:
		if j.given(id, a, false) {
			wrong("and a person gave up all that it required")
		}
		if !safe {
			j.hadToFallBack(id, a, r, wrong)
		} else if a.settled {
			wrong("and all that its plan had begun had ended, as was told")
		}
	}
	if done {
		wrong("and all that it required was observed")
	}
	if j.cancelled[id] && r.Goal.Status == core.GoalFailed && r.Status == core.WfCancelled {
		wrong("and it was cancelled")
	}
}

// hadToFallBack: a required effect was lost for good, nobody had decided that, and the rest of the plan went on to its end.
func (j *judge) hadToFallBack(id core.WorkflowID, a *aim, r *core.Result, wrong func(string, ...any)) {
	if !a.bounds() || r.Reason == core.ReasonExpired || j.aborted(id, r) {
		return
	}
	for _, e := range a.Effects {
		at := stepRef{id, e.Step}
		spec := j.spec(at)
		i := slices.IndexFunc(r.Steps, func(s core.StepReport) bool { return s.ID == e.Step })
		if !e.Required || spec == nil || i < 0 || j.decisionOn[at] || j.oneGone[at] || j.dropped[at] || j.endedAt[at] <= a.boundAt {
			continue
		}
		s, info := r.Steps[i], core.InfoOf(r.Steps[i].Reason)
		lost := spec.OnFailure == core.FailEscalate && (s.State == core.Failed || s.State == core.TimedOut)
		if s.Reason == core.ReasonWaitEventMissing { // what is decided about the event is decided for all that wait for it
			lost = s.State == core.Skipped && !j.decisionIn(id) && !slices.ContainsFunc(spec.Deps, func(d core.Dep) bool { return j.plans[id].Steps[d.Step].OnFailure != core.FailEscalate })
		}
		if lost && info.NeedsCloud && info.Recoverable {
			wrong("%s is %s (%s), nobody had decided that, and the plan went on without it", at, s.State, s.Reason)
		}
	}
}

// unsettled: of a task of the plan, also of one whose call never left, nobody was told before a moment that it has ended.
func (j *judge) unsettled(id core.WorkflowID, now int64) bool {
	for task, at := range j.owner {
		if at.wf == id && (!j.saysEnd[task] || j.saysEndAt[task] >= now) {
			return true
		}
	}
	return false
}

func (j *judge) decisionIn(id core.WorkflowID) bool {
	for at := range j.decisionOn {
		if at.wf == id {
			return true
		}
	}
	return false
}

// goalsEnded: every goal that was accepted has one end.
func (j *judge) goalsEnded() {
	for _, id := range slices.Sorted(maps.Keys(j.aims)) {
		switch a := j.aims[id]; {
		case !a.told.Terminal():
			j.m.failf("endless goal: that of %s is %q for ever", id, a.told)
		case j.results[id] == nil || j.results[id].Goal == nil:
			j.m.failf("endless goal: that of %s is %s, and nobody reported it", id, a.told)
		}
	}
}

// goalsThere: what was told of a goal's end is so after a cut.
func (j *judge) goalsThere(id core.WorkflowID, wf *core.Workflow) {
	a := j.aims[id]
	if a == nil || !a.told.Terminal() {
		return
	}
	if j.m.tally.Acknowledged++; wf.GoalStatus() != a.told {
		j.m.failf("lost record: the goal of %s was told to be %s and is %s", id, a.told, wf.GoalStatus())
	}
}

// aborted says whether a failed step took the rest of its plan with it, as it was told to. Nothing of the rest is decided about then, also
// not what could not be stopped and failed by itself.
func (j *judge) aborted(id core.WorkflowID, r *core.Result) bool {
	return slices.ContainsFunc(r.Steps, func(s core.StepReport) bool {
		spec := j.spec(stepRef{id, s.ID})
		return spec != nil && spec.OnFailure == core.FailAbort && (s.State == core.Failed || s.State == core.TimedOut)
	})
}

// unheard are the questions that nobody can have heard: of several steps that were lost at one moment the last finds nothing left to ask
// with, ends the plan, and takes back what the others had just asked.
func (j *judge) unheard(id core.WorkflowID, r *core.Result) (n int64) {
	last := int64(0)
	for _, s := range r.Steps {
		switch at := j.endedAt[stepRef{id, s.ID}]; {
		case at > last:
			last, n = at, 0
		case at == last && at != 0:
			n++
		}
	}
	return n
}
