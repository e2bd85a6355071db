package bridge

import (
	"fmt"
	"maps"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Experiences says what a device does with a plan that has an experience.
type Experiences struct {
	Off  bool      // it is not evaluated: the steps run as those of a plain plan
	Tier core.Tier // the highest that a plan may have, and what one has that names none; "": full
}

// experience checks the goal of the plan against its steps: each effect has a step that brings it about, and each step is allowed in the
// tier. It comes after the steps.
func (k *checker) experience() {
	e := k.w.Experience
	if e == nil {
		return
	}
	if k.plan.NoGoal = k.experiences.Off; k.plan.NoGoal {
		return
	}
	g := &core.Goal{Experience: e.ExperienceID, ID: e.GoalID, Summary: e.Summary, Constraints: e.Constraints, Tier: core.Tier(or(e.Tier, string(k.tier()))), Named: e.Tier != ""}
	if b := e.Budget; b != nil {
		g.Budget = &core.GoalBudget{Decisions: b.MaxDecisions, Replans: b.MaxReplans, Retries: b.AutomaticRetries, Questions: b.UserQuestions, DeadlineMS: b.DeadlineMS}
		if b.MaxReplans > b.MaxDecisions {
			k.fault("experience.budget.max_replans", wire.ReasonBadValue, "replans are decisions, too: at most max_decisions, which is %d", b.MaxDecisions)
		}
	}
	if _, told := k.cat.Context[core.KeyQuiet]; k.hushed() && !told {
		k.fault("experience.constraints", core.ReasonUnsupported, "this catalog has no %s: nobody could tell when it is quiet", core.KeyQuiet)
	}
	k.plan.Goal = g
	k.goalConsent()
	whole := len(k.faults) == 0 // a step with a fault has no effects yet
	k.goalEffects(g, whole)
	k.goalTemporal()
	k.goalTier(g.Tier)
}

// hushed says whether the goal keeps what makes noise back in quiet hours.
func (k *checker) hushed() bool {
	e := k.w.Experience
	return e != nil && !k.experiences.Off && slices.Contains(e.Constraints, core.RespectQuiet)
}

// tier is the highest that this device allows.
func (k *checker) tier() core.Tier {
	if k.experiences.Tier == "" {
		return core.TierFull
	}
	return k.experiences.Tier
}

func (k *checker) goalEffects(g *core.Goal, whole bool) {
	required := false
	for i, w := range k.w.Experience.Effects {
		path := fmt.Sprintf("experience.effects[%d]", i)
		effect := core.GoalEffect{Effect: w.EffectID, Step: core.StepID(w.StepID), Required: w.Required}
		at, here := k.index[w.StepID]
		switch _, known := k.cat.Effects[catalog.EffectID(w.EffectID)]; {
		case !known:
			k.fault(path+".effect_id", ReasonUnknownEffect, "%q is no effect of this catalog", w.EffectID)
		case !here:
			k.fault(path+".step_id", ReasonUnknownStep, "the plan has no step %q", w.StepID)
		case whole && !slices.Contains(k.plan.Steps[at].Effects, catalog.EffectID(w.EffectID)):
			k.fault(path, ReasonEffectNoProvider, "%s is not asked to bring about %s: a goal closes by the required_effects of its steps alone", w.StepID, w.EffectID)
		case slices.ContainsFunc(g.Effects, func(o core.GoalEffect) bool { return o.Effect == effect.Effect && o.Step == effect.Step }):
			k.fault(path, wire.ReasonBadValue, "%s of %s is named twice", w.EffectID, w.StepID)
		}
		required = required || w.Required
		g.Effects = append(g.Effects, effect)
	}
	if !required {
		k.fault("experience.effects", wire.ReasonBadValue, "at least one effect has to be required: else the goal would never be reached, or always")
	}
}

// goalConsent: a consent that no operation needs would never be asked for, and whoever wrote it relies on it.
func (k *checker) goalConsent() {
	for _, key := range slices.Sorted(maps.Keys(k.w.Experience.Consent)) {
		path := "experience.consent." + key
		needed := slices.ContainsFunc(slices.Collect(maps.Values(k.cat.Operations)), func(op catalog.Operation) bool { return op.Consent == key })
		switch {
		case len(key) > core.MaxConsentKey:
			k.fault(path, wire.ReasonBadValue, "the name of a consent has at most %d bytes", core.MaxConsentKey)
		case !needed:
			k.fault(path, wire.ReasonBadValue, "no operation of this catalog needs the consent %q", key)
		}
	}
}

// goalTemporal: what the goal repeats of its steps has to be what they say.
func (k *checker) goalTemporal() {
	for i, t := range k.w.Experience.Temporal {
		path := fmt.Sprintf("experience.temporal[%d]", i)
		at, here := k.index[t.StepID]
		if !here {
			k.fault(path+".step_id", ReasonUnknownStep, "the plan has no step %q", t.StepID)
			continue
		}
		if r := &k.w.Requests[at]; r.TemporalRelation != t.TemporalRelation || r.AnchorEvent != t.AnchorEvent {
			k.fault(path, wire.ReasonBadValue, "the step %s says %q %q", t.StepID, r.TemporalRelation, r.AnchorEvent)
		}
	}
}

func (k *checker) goalTier(tier core.Tier) {
	if tier.Above(k.tier()) {
		k.fault("experience.tier", core.ReasonTierBlocked, "this device allows at most %s", k.tier())
		return
	}
	for i := range k.plan.Steps {
		if s := &k.plan.Steps[i]; !tier.Allows(s) {
			k.fault(fmt.Sprintf("device_task_requests[%d].taskMethod", i), core.ReasonTierBlocked, "%s does not run in the tier %s", s.Method, tier)
		}
	}
}
