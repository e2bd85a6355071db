package scenario

import (
	"maps"
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// Coverage is what a set of runs exercised of a catalog, and what it did not.
type Coverage struct {
	Methods, Effects                  int // that were exercised
	UntouchedMethods, UnprovedEffects []string
}

// Cover goes through the catalog: an operation is exercised when the robot was asked for it, an effect when it was observed.
func Cover(cat *catalog.Catalog, seen []*Observation) (c Coverage) {
	methods, effects := map[string]bool{}, map[string]bool{}
	for _, o := range seen {
		for m := range o.Methods {
			methods[m] = true
		}
		for e, yes := range o.Effects {
			effects[e] = effects[e] || yes
		}
	}
	for _, m := range slices.Sorted(maps.Keys(cat.Operations)) {
		if methods[string(m)] {
			c.Methods++
		} else {
			c.UntouchedMethods = append(c.UntouchedMethods, string(m))
		}
	}
	for _, e := range slices.Sorted(maps.Keys(cat.Effects)) {
		if effects[string(e)] {
			c.Effects++
		} else {
			c.UnprovedEffects = append(c.UnprovedEffects, string(e))
		}
	}
	return c
}
