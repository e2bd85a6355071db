package admission

import (
	"slices"
	"unicode/utf8"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// The budget of a goal. Source: docs/experience.md, and the figures of the first supervisor.
const (
	maxDecisions = 3
	maxReplans   = 1
	retries      = 1
	questions    = 1
	fallback     = "ask_or_stop"
)

// goal makes the goal of a decision out of its steps: their effects, what they wait for, what a person has to agree to. Where there is
// nothing to make it of, the reason says so, and the goal names no effect.
func (j *Judge) goal(in turn.Input, d turn.Decision, f found) (g wire.Experience, reason string) {
	g = wire.Experience{ContractVersion: experienceContract, GoalID: f.goal, Summary: short(in.Text, maxSummary),
		Constraints: []string{"safety_policy_first", "user_can_cancel_anytime"}}
	if len(d.Steps) == 0 {
		return g, ReasonNoStep
	}
	plan, err := compile.Plan(j.cat, in, d, compile.IDs{WorkflowID: "wf", PlanID: "pl"})
	if err != nil {
		return g, ReasonBadPlan
	}
	g.Budget = &wire.GoalBudget{MaxDecisions: maxDecisions, MaxReplans: maxReplans, DeadlineMS: plan.Workflow.DeadlineMS, Fallback: fallback,
		AutomaticRetries: retries, UserQuestions: questions}
	cat := compile.Home(j.cat, in.Rooms)
	for i := range plan.Requests {
		r := &plan.Requests[i]
		op, effects, ok := brought(cat, r)
		if !ok {
			g.Effects, g.Temporal, g.Consent = nil, nil, nil
			return g, ReasonBadPlan
		}
		for _, e := range effects {
			// What is done on a condition may rightly not be done; what is ended first is a means, and may be declined.
			certain := r.When == nil && !(len(op.Stops) > 0 && op.Consent != "")
			g.Effects = append(g.Effects, wire.GoalEffect{EffectID: e, StepID: r.CloudStepID, Required: certain})
		}
		if r.TemporalRelation != "" {
			g.Temporal = append(g.Temporal, wire.GoalTemporal{TemporalRelation: r.TemporalRelation, AnchorEvent: r.AnchorEvent, StepID: r.CloudStepID})
		}
		if op.Consent != "" {
			if g.Consent == nil {
				g.Consent = map[string]string{}
			}
			g.Consent[op.Consent] = "ask"
		}
	}
	if len(g.Effects) == 0 {
		return g, ReasonNoEffect
	}
	for _, e := range g.Effects {
		if e.Required && f.goal == "" {
			g.GoalID = e.EffectID // the last one is what all the others are for
		}
	}
	if !slices.ContainsFunc(g.Effects, func(e wire.GoalEffect) bool { return e.Required }) {
		return g, ReasonNothingSure
	}
	return g, ""
}

// kept is the goal of the plan that a decision revises: the effects of the steps that are still there. Other words for the way do not
// make it another goal.
func (j *Judge) kept(in turn.Input, d turn.Decision) *turn.ExperienceRequest {
	if whole := d.Revises.Plan; len(whole.Requests) > 0 { // the revision is made already, with what is left of its goal
		if whole.Experience == nil {
			return refused(ReasonRevision)
		}
		return &turn.ExperienceRequest{Admission: turn.Activated, ReasonCode: ReasonKept, Goal: whole.Experience}
	}
	i := slices.IndexFunc(in.Around.Workflows, func(w turn.Workflow) bool { return w.WorkflowID == d.Revises.WorkflowID })
	if i < 0 || in.Around.Workflows[i].Plan.Experience == nil {
		return refused(ReasonRevision)
	}
	was := in.Around.Workflows[i].Plan.Experience
	now, reason := j.goal(in, d, found{goal: was.GoalID})
	x := &turn.ExperienceRequest{Admission: turn.Candidate, ReasonCode: reason, Goal: &now}
	if reason != "" {
		return x
	}
	goal := *was
	goal.Effects, goal.Temporal, goal.Consent = now.Effects, now.Temporal, now.Consent
	for k, e := range goal.Effects {
		if old := slices.IndexFunc(was.Effects, func(o wire.GoalEffect) bool { return o.EffectID == e.EffectID && o.StepID == e.StepID }); old >= 0 {
			goal.Effects[k].Required = was.Effects[old].Required
		}
	}
	x.Admission, x.ReasonCode, x.Goal = turn.Activated, ReasonKept, &goal
	return x
}

// brought lists the effects that a request is held to: those that it names, else the operation's or the skill's own. ok is false where it
// names one that its operation or skill does not bring about: whoever invents an effect gets no goal for it.
func brought(cat *catalog.Catalog, r *wire.Request) (op catalog.Operation, effects []string, ok bool) {
	var own, may []catalog.EffectID
	if r.Skill != "" {
		own = cat.Skills[catalog.SkillID(r.Skill)].Effects
	} else {
		resolved, faults := cat.Resolve(catalog.Method(r.TaskMethod), r.Params.Map())
		if len(faults) > 0 {
			return op, nil, false
		}
		op = resolved.Operation
		own, may = op.Effects, op.MoreEffects
	}
	for _, e := range r.RequiredEffects {
		if id := catalog.EffectID(e.EffectID); !slices.Contains(own, id) && !slices.Contains(may, id) {
			return op, nil, false
		}
		effects = append(effects, e.EffectID)
	}
	looksUp := r.Skill != "" && r.OutputKey != "" // it tells nobody, and the device asks no effect of it
	if len(effects) == 0 && !looksUp {
		for _, e := range own {
			effects = append(effects, string(e))
		}
	}
	return op, effects, true
}

// short cuts a text at a whole letter.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
