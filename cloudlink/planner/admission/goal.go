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
	cat := j.cat
	if len(in.Rooms) > 0 {
		cat = withRooms(cat, in.Rooms)
	}
	for i := range plan.Requests {
		r := &plan.Requests[i]
		op, effects, ok := brought(cat, r)
		if !ok {
			return g, ReasonBadPlan
		}
		for _, e := range effects {
			if _, known := cat.Effects[catalog.EffectID(e)]; !known {
				g.Effects = nil
				return g, ReasonBadPlan
			}
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

// brought lists the effects that a request is held to: those that it names, else the operation's or the skill's own.
func brought(cat *catalog.Catalog, r *wire.Request) (op catalog.Operation, effects []string, ok bool) {
	for _, e := range r.RequiredEffects {
		effects = append(effects, e.EffectID)
	}
	if r.Skill != "" {
		skill, known := cat.Skills[catalog.SkillID(r.Skill)]
		if len(effects) == 0 {
			for _, e := range skill.Effects {
				effects = append(effects, string(e))
			}
		}
		return op, effects, known
	}
	resolved, faults := cat.Resolve(catalog.Method(r.TaskMethod), r.Params.Map())
	if len(faults) > 0 {
		return op, nil, false
	}
	if op = resolved.Operation; len(effects) == 0 {
		for _, e := range op.Effects {
			effects = append(effects, string(e))
		}
	}
	return op, effects, true
}

func withRooms(cat *catalog.Catalog, rooms []wire.Room) *catalog.Catalog {
	var own []catalog.Room
	for _, r := range rooms {
		own = append(own, catalog.Room{ID: catalog.RoomID(r.ID), Name: r.Name, Aliases: r.Aliases, Reachable: r.Reachable})
	}
	return cat.WithRooms(own, cat.RoomsEtag)
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
