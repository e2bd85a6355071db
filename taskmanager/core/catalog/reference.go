package catalog

import (
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/condition"
)

// Ref resolves a value that begins with "$" against the arguments of a call ([Resolved].Args): "$level" is an argument,
// "$position.room_id" a field of one. Other values are given back as they are. ok is false where the argument was not given: what
// compares with it is then unknown, and neither proves nor contradicts anything.
func Ref(v condition.Value, args map[string]condition.Value) (resolved condition.Value, ok bool) {
	path, is := reference(v)
	if !is {
		return v, true
	}
	name, field, nested := strings.Cut(path, ".")
	arg, ok := args[name]
	if !ok || !nested {
		return arg, ok
	}
	object, _ := arg.(map[string]any)
	resolved, ok = object[field]
	return resolved, ok
}

// reference gives the path of a "$" value.
func reference(v condition.Value) (path string, ok bool) {
	text, _ := v.(string)
	return strings.CutPrefix(text, "$")
}

// For gives the duration in milliseconds for these arguments. 0 means that there is no bound, or none declared. An argument that
// is absent or no number counts as 0 units.
func (d Duration) For(args map[string]condition.Value) int64 {
	units, _ := args[d.Per].(float64)
	return int64(units*float64(d.PerMS)) + d.PlusMS
}

// Providers gives the operations that can bring an effect about, by default, where a plan names it or in a variant, in order of
// their names. Skills are not among them.
func (c *Catalog) Providers(e EffectID) []Method {
	var methods []Method
	for _, m := range slices.Sorted(maps.Keys(c.Operations)) {
		if slices.Contains(c.Operations[m].AllEffects(), e) {
			methods = append(methods, m)
		}
	}
	return methods
}

// AllEffects gives every effect that the operation can have, each once: the default, those of variants, the optional ones.
func (op Operation) AllEffects() []EffectID {
	var all []EffectID
	add := func(ids []EffectID) {
		for _, id := range ids {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	add(op.Effects)
	for _, v := range op.Variants {
		add(v.Effects)
	}
	add(op.MoreEffects)
	return all
}

// Leaves gives the leaves of e, left to right. Of a nil Expr there are none.
func (e *Expr) Leaves() []Leaf {
	if e == nil {
		return nil
	}
	var leaves []Leaf
	for _, part := range slices.Concat(e.All, e.Any) {
		leaves = append(leaves, part.Leaves()...)
	}
	if e.Leaf != nil {
		leaves = append(leaves, *e.Leaf)
	}
	return leaves
}
