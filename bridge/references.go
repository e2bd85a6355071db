package bridge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// outputKey: a key has no dot, which ends it in references, and one giver, so that a reference means one value.
func (k *checker) outputKey(i int, key core.OutputKey) {
	if key == "" {
		return
	}
	if strings.Contains(string(key), ".") {
		k.here("output_key", wire.ReasonBadValue, "a dot separates the key from the path in references, so the key has none")
	}
	if key == "ctx" {
		k.here("output_key", wire.ReasonBadValue, "ctx is the device context in references")
	}
	if first, twice := k.output[key]; twice {
		k.here("output_key", wire.ReasonBadValue, "%s gives an output under this key already", k.plan.Steps[first].ID)
		return
	}
	k.output[key] = i
}

// references checks what a step takes from others: inputs and the references of its condition.
func (k *checker) references(i int, r *wire.Request) {
	s := &k.plan.Steps[i]
	k.keptUntil(i, r)
	if s.When == nil && r.InputFrom == nil {
		return
	}
	before := k.ancestors(i)
	if r.InputFrom != nil {
		for j, key := range r.InputFrom.Visible {
			if why := k.unready(before, key); why != "" {
				k.here(fmt.Sprintf("input_from[%d]", j), ReasonUnknownOutput, "%s", why)
			}
		}
		for _, param := range sorted(r.InputFrom.Params) {
			k.input(before, s, param, r.InputFrom.Params[param])
		}
	}
	if s.When != nil {
		k.when(before, s.When)
	}
}

func (k *checker) when(before []bool, c *condition.Condition) {
	k.outputs(before, c, "when")
	for _, f := range condition.Check(*c, k.typeOf) {
		path := "when"
		if f.Path != "" {
			path += "." + f.Path
		}
		k.here(path, ReasonBadCondition, "%s", f.Message)
	}
}

// outputs checks the references of a condition that are no context.
func (k *checker) outputs(before []bool, c *condition.Condition, path string) {
	key, _, _ := strings.Cut(c.Ref, ".")
	if key != "" && key != "ctx" {
		if why := k.unready(before, key); why != "" {
			k.here(path+".ref", ReasonUnknownOutput, "%s", why)
		}
	}
	for i := range c.All {
		k.outputs(before, &c.All[i], fmt.Sprintf("%s.all[%d]", path, i))
	}
	for i := range c.Any {
		k.outputs(before, &c.Any[i], fmt.Sprintf("%s.any[%d]", path, i))
	}
	if c.Not != nil {
		k.outputs(before, c.Not, path+".not")
	}
}

// input checks one parameter that an output fills: the output, its field, and the types as far as they are declared.
func (k *checker) input(before []bool, s *core.StepSpec, param, ref string) {
	key, path, _ := strings.Cut(ref, ".")
	if why := k.unready(before, key); why != "" {
		k.here("input_from."+param, ReasonUnknownOutput, "%s", why)
		return
	}
	kind, ok := k.field(k.output[core.OutputKey(key)], path)
	_, p, known := parameter(k.cat.Operations[s.Method], param)
	switch {
	case !ok:
		k.here("input_from."+param, ReasonUnknownOutput, "the output of %s has no %q", k.plan.Steps[k.output[core.OutputKey(key)]].ID, path)
	case s.Target == core.OnDevice && known && kind != "" && sort(kind) != sort(string(p.Type)):
		k.here("input_from."+param, catalog.ReasonBadParameter, "%s is a %s, the parameter a %s", ref, kind, p.Type)
	}
}

// sort is what a type looks like on the wire.
func sort(kind string) string {
	switch catalog.Type(kind) {
	case catalog.Integer:
		return string(catalog.Number)
	case catalog.RoomRef:
		return string(catalog.String)
	}
	return kind
}

// ancestors are the steps that i waits for, directly or not.
func (k *checker) ancestors(i int) []bool {
	out := make([]bool, len(k.plan.Steps))
	open := []int{i}
	for len(open) > 0 {
		j := open[len(open)-1]
		open = open[:len(open)-1]
		for _, d := range k.plan.Steps[j].Deps {
			if !out[d.Step] {
				out[d.Step] = true
				open = append(open, d.Step)
			}
		}
	}
	return out
}

// unready says why an output cannot be read: it must come from a step that this one waits for, and that waits for completed.
func (k *checker) unready(before []bool, key string) string {
	j, ok := k.output[core.OutputKey(key)]
	switch {
	case !ok:
		return fmt.Sprintf("no step has the output_key %q", key)
	case !before[j]:
		return fmt.Sprintf("%s comes from %s, which this step does not wait for", key, k.plan.Steps[j].ID)
	case k.plan.Steps[j].Wait != core.WaitCompleted:
		return fmt.Sprintf("%s comes from %s, whose wait_policy is %s: an output needs completed", key, k.plan.Steps[j].ID, k.plan.Steps[j].Wait)
	}
	return ""
}

// typeOf gives the type of a reference in a condition; "" where it is not declared. An output that does not exist is named by outputs.
func (k *checker) typeOf(ref string) (string, bool) {
	if key, ok := strings.CutPrefix(ref, "ctx."); ok {
		decl, known := k.cat.Context[catalog.ContextKey(key)]
		return string(decl.Type), known
	}
	key, path, _ := strings.Cut(ref, ".")
	if j, ok := k.output[core.OutputKey(key)]; ok {
		return k.field(j, path)
	}
	return "", key != "ctx"
}

// field gives the type of a field of a step's output. What a cloud step or an operation without a declared output gives is not known.
func (k *checker) field(step int, path string) (kind string, ok bool) {
	if path == "" {
		return "object", true
	}
	s := &k.plan.Steps[step]
	fields := k.cat.Operations[s.Method].Output
	if s.Target == core.OnCloud || len(fields) == 0 {
		return "", true
	}
	p, ok := fields[path]
	return string(p.Type), ok
}
