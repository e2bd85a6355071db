package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// inputs fills parameters from outputs of earlier steps. The result is checked like any argument, and chooses its variant anew.
func (w *work) inputs(wf *Workflow, i int) (args, call Values, fault string) {
	spec := &wf.Plan.Steps[i]
	if len(spec.InputFrom) == 0 {
		return nil, spec.Call, ""
	}
	given := make(Values, len(spec.Call)+len(spec.InputFrom))
	maps.Copy(given, spec.Call)
	for _, param := range slices.Sorted(maps.Keys(spec.InputFrom)) {
		v, av := wf.output(spec.InputFrom[param])
		if av != condition.Fresh {
			return nil, nil, fmt.Sprintf("%s: %s is %s", param, spec.InputFrom[param], av)
		}
		given[param] = v
	}
	if spec.Target == OnCloud {
		if !sendable(given, 1) {
			return nil, nil, "the inputs are larger than a message may be"
		}
		return nil, given, ""
	}
	cat := w.cat
	if wf.Plan.Rooms != nil {
		cat = cat.WithRooms(wf.Plan.Rooms, "")
	}
	res, faults := cat.Resolve(spec.Method, given)
	if len(faults) > 0 {
		parts := make([]string, len(faults))
		for k, f := range faults {
			parts[k] = f.Path + ": " + f.Message
		}
		return nil, nil, strings.Join(parts, "; ")
	}
	return res.Args, res.Call, w.reground(wf, i, res.Operation)
}

// reground takes over the variant that the inputs chose. What the plan was accepted for has to stay true: its resources, and the
// effects that it named.
func (w *work) reground(wf *Workflow, i int, op catalog.Operation) (fault string) {
	spec, st := &wf.Plan.Steps[i], &wf.Steps[i]
	if !slices.Equal(op.Resources, spec.Resources) {
		return "the inputs change which resources the operation needs"
	}
	facts := FactsOf(op)
	facts.NeedsFull, facts.ExpectedMS, facts.Noisy = spec.Op.NeedsFull, spec.Op.ExpectedMS, op.Loud && wf.Plan.Goal.respects(RespectQuiet)
	st.Op, st.dirty = &facts, true
	if spec.Named {
		for _, id := range spec.Effects {
			if !slices.Contains(op.AllEffects(), id) {
				return "with these inputs the operation does not bring about " + string(id)
			}
		}
		return ""
	}
	st.Effects = nil
	for _, id := range EffectsOf(op) {
		st.Effects = append(st.Effects, Effect{ID: id, State: EffectBound})
	}
	return ""
}

// sendable says whether a value fits the limits of a message. An executor's output has only those of its socket.
// Source: docs/contract.md, limits (strings 8 KiB, 1,024 elements, 256 members, nesting 16 with the envelope).
func sendable(v condition.Value, depth int) bool {
	switch v := v.(type) {
	case string:
		return len(v) <= 8<<10
	case []any:
		return depth <= 10 && len(v) <= 1024 && !slices.ContainsFunc(v, func(x any) bool { return !sendable(x, depth+1) })
	case map[string]any:
		if depth > 10 || len(v) > 256 {
			return false
		}
		for _, x := range v {
			if !sendable(x, depth+1) {
				return false
			}
		}
	}
	return true
}
