package bridge

import (
	"fmt"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const kindMaintain = "maintain"

// keep takes an effect that has to hold on, where the plan says so. A step of the plan comes before an event of the same name.
func (k *checker) keep(s *core.StepSpec, path string, id catalog.EffectID, e wire.RequiredEffect) {
	effect := k.cat.Effects[id]
	if e.Kind != kindMaintain {
		if effect.Kind == kindMaintain {
			k.here(path, wire.ReasonMissingField, "%s makes sense only while it holds: say kind maintain, and until when", id)
		}
		return
	}
	keep := core.Keep{Effect: id}
	until := path + ".until"
	at, step := k.index[e.Until]
	_, event := k.cat.Events[catalog.EventName(e.Until)]
	switch {
	case effect.Holds == nil:
		k.here(path+".kind", wire.ReasonBadValue, "nothing says whether %s still holds, so it can be brought about and not be kept", id)
	case e.Until == "":
		k.here(until, wire.ReasonMissingField, "say until when: a step of the plan or an event of the catalog")
	case step && core.StepID(e.Until) == s.ID:
		k.here(until, wire.ReasonBadValue, "a step has ended when its effect begins to be kept: name another step")
	case step:
		keep.Step = at + 1
	case !event:
		k.here(until, ReasonUnknownStep, "%q is neither a step of the plan nor an event of this catalog", e.Until)
	case opposite(effect, catalog.EventName(e.Until)):
		k.here(until, wire.ReasonBadValue, "%s is the opposite of %s: it cannot be kept until then", e.Until, id)
	default:
		keep.Event = catalog.EventName(e.Until)
		if k.plan.DeadlineMS == 0 && (k.w.Experience == nil || k.w.Experience.Budget == nil) {
			k.fault("workflow.deadline_ms", wire.ReasonMissingField, "%s is to be kept until %s, which may never come: the plan needs a deadline", id, e.Until)
		}
	}
	s.Keeps = append(s.Keeps, keep)
}

func opposite(e catalog.Effect, event catalog.EventName) bool {
	for _, l := range e.Contradicted {
		if l.Event == event && len(l.Match)+len(l.MatchNot) == 0 {
			return true
		}
	}
	return false
}

// onlyKept: the operation's own effects are named by nobody, so nobody says until when one has to hold that makes sense only so.
func (k *checker) onlyKept(effects []catalog.EffectID) {
	for _, id := range effects {
		if k.cat.Effects[id].Kind == kindMaintain {
			k.here("required_effects", wire.ReasonMissingField, "%s makes sense only while it holds: name it with kind maintain, and until when", id)
		}
	}
}

// keptUntil: a step that has ended before this one begins is no end of what this one brings about.
func (k *checker) keptUntil(i int, r *wire.Request) {
	s := &k.plan.Steps[i]
	if len(s.Keeps) == 0 {
		return
	}
	before := k.ancestors(i)
	for _, keep := range s.Keeps {
		if keep.Step > 0 && before[keep.Step-1] {
			n := slices.IndexFunc(r.RequiredEffects, func(e wire.RequiredEffect) bool { return e.Kind == kindMaintain && e.EffectID == string(keep.Effect) })
			k.here(fmt.Sprintf("required_effects[%d].until", n), wire.ReasonBadValue, "%s comes before this step, so what this step brings about cannot last until then",
				k.plan.Steps[keep.Step-1].ID)
		}
	}
}
