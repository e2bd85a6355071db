package bridge

import (
	"fmt"
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// effects are those that the plan names, else the operation's own.
func (k *checker) effects(s *core.StepSpec, r *wire.Request, op catalog.Operation, standIns map[string]any) {
	if s.Effects = core.EffectsOf(op); len(s.Effects) == 0 && op.MovesBody {
		k.here("taskMethod", ReasonEffectNoProvider, "%s moves the body and nothing would prove that it is done", s.Method)
	}
	if s.Named = len(r.RequiredEffects) > 0; !s.Named {
		k.onlyKept(s.Effects)
		return
	}
	s.Effects = nil
	provided := k.provided(op, standIns)
	for i, e := range r.RequiredEffects {
		path := fmt.Sprintf("required_effects[%d]", i)
		id := catalog.EffectID(e.EffectID)
		switch _, known := k.cat.Effects[id]; {
		case !known:
			k.here(path, ReasonUnknownEffect, "%q is no effect of this catalog", e.EffectID)
		case !slices.Contains(provided, id):
			k.here(path, ReasonEffectNoProvider, "%s does not bring about %s with these arguments", s.Method, e.EffectID)
		case slices.Contains(s.Effects, id):
			if e.Kind == kindMaintain {
				k.here(path, wire.ReasonBadValue, "%s is named twice", id)
			}
		default:
			s.Effects = append(s.Effects, id)
			k.keep(s, path, id, e)
		}
	}
}

// provided are the effects that the call can have. Where a variant depends on an input that is not there yet, those of all variants
// count: the step that is dispatched is checked again.
func (k *checker) provided(op catalog.Operation, standIns map[string]any) []catalog.EffectID {
	whole := k.cat.Operations[op.Method]
	for _, v := range whole.Variants {
		for _, leaf := range v.When.Leaves() {
			if _, open := standIns[strings.TrimPrefix(leaf.Ref, "params.")]; open {
				return whole.AllEffects()
			}
		}
	}
	return op.AllEffects()
}

// waitEvent is the event that releases dependants under wait_policy event: the plan's, else the operation's own.
func (k *checker) waitEvent(s *core.StepSpec, r *wire.Request, op catalog.Operation) {
	switch {
	case r.WaitEvent != nil && s.Wait != core.WaitForEvent:
		k.here("wait_event", wire.ReasonBadValue, "it goes with wait_policy event")
	case r.WaitEvent != nil:
		s.WaitEvent = &core.EventMatch{Event: catalog.EventName(r.WaitEvent.Event), Match: r.WaitEvent.Match.Map()}
		k.match(s.WaitEvent)
	case s.Wait == core.WaitForEvent && op.ReleaseEvent != "":
		s.WaitEvent = &core.EventMatch{Event: op.ReleaseEvent}
	case s.Wait == core.WaitForEvent:
		k.here("wait_event", wire.ReasonMissingField, "%s has no release event of its own, so wait_policy event has to name one", s.Method)
	}
}

// match: a field that the event never has, or never with such a value, would be waited for in vain.
func (k *checker) match(m *core.EventMatch) {
	ev, ok := k.cat.Events[m.Event]
	if !ok {
		k.here("wait_event.event", ReasonUnknownEvent, "%q is no event of this catalog", m.Event)
		return
	}
	for _, name := range sorted(m.Match) {
		switch p, ok := ev.Data[name]; {
		case !ok:
			k.here("wait_event.match."+name, wire.ReasonBadValue, "%s has no field %q", m.Event, name)
		case !condition.Fits(m.Match[name], string(p.Type)):
			k.here("wait_event.match."+name, wire.ReasonBadValue, "the field is a %s", p.Type)
		}
	}
}
