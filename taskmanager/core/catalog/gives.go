package catalog

import "slices"

// Gives says whether a run of an operation can give an event: as proof of one of its effects, in any variant, or to release others.
func (c *Catalog) Gives(m Method, event EventName) bool {
	op, ok := c.Operations[m]
	if !ok || event == "" {
		return false
	}
	proves := func(id EffectID) bool { return c.Effects[id].Terminal.has(event) }
	return op.ReleaseEvent == event || op.DoneEvidence != nil && op.DoneEvidence.has(event) ||
		slices.ContainsFunc(op.Effects, proves) || slices.ContainsFunc(op.MoreEffects, proves) ||
		slices.ContainsFunc(op.Variants, func(v Variant) bool { return slices.ContainsFunc(v.Effects, proves) })
}

// Given says whether a run of any operation can give an event.
func (c *Catalog) Given(event EventName) bool {
	for m := range c.Operations {
		if c.Gives(m, event) {
			return true
		}
	}
	return false
}

// has says whether an event is a leaf of an expression.
func (x Expr) has(event EventName) bool {
	return x.Leaf != nil && x.Leaf.Event == event || slices.ContainsFunc(x.All, func(sub Expr) bool { return sub.has(event) }) ||
		slices.ContainsFunc(x.Any, func(sub Expr) bool { return sub.has(event) })
}
