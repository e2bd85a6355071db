package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// view evaluates an expression at one moment.
type view struct {
	w       *work
	args    Values
	after   int64           // samples must be younger; 0: any
	since   Instant         // and not taken before
	foreign bool            // something else used the resource, and no event names the task: a value may be its doing
	hasty   bool            // one reading is enough, however long it should be stable
	accept  []catalog.Class // nil: any but echo
	kept    []Evidence
	n       int

	need  []catalog.ContextKey // values that must be read (again)
	proof []Evidence           // context values that were accepted
	half  bool                 // an event leaf already holds: the rest is worth reading for
}

func (v *view) eval(x catalog.Expr) condition.Truth {
	switch {
	case x.Leaf != nil:
		leaf := v.n
		v.n++
		return v.leaf(leaf, *x.Leaf)
	case len(x.All) > 0:
		out := condition.True
		for _, sub := range x.All {
			out = and(out, v.eval(sub))
		}
		return out
	case len(x.Any) > 0:
		out := condition.False
		for _, sub := range x.Any {
			out = or(out, v.eval(sub))
		}
		return out
	}
	return condition.Unknown
}

func and(a, b condition.Truth) condition.Truth {
	switch {
	case a == condition.False || b == condition.False:
		return condition.False
	case a == condition.Unknown || b == condition.Unknown:
		return condition.Unknown
	}
	return condition.True
}

func or(a, b condition.Truth) condition.Truth {
	switch {
	case a == condition.True || b == condition.True:
		return condition.True
	case a == condition.Unknown || b == condition.Unknown:
		return condition.Unknown
	}
	return condition.False
}

func (v *view) leaf(n int, l catalog.Leaf) condition.Truth {
	if l.Event != "" {
		if hasLeaf(v.kept, n) {
			v.half = true
			return condition.True
		}
		return condition.Unknown
	}
	return v.context(n, l)
}

// context evaluates one context leaf: fresh, younger than after, from an accepted class, compared, stable.
func (v *view) context(n int, l catalog.Leaf) condition.Truth {
	k, known := v.w.known(l.Context)
	decl := v.w.cat.Context[l.Context]
	maxAge := Instant(l.MaxAgeMS)
	if maxAge == 0 {
		maxAge = Instant(decl.MaxAgeMS)
	}
	v.need = append(v.need, l.Context)
	if v.foreign || !known || !k.Available || len(k.Samples) == 0 || v.w.conflict(l.Context, k) {
		return condition.Unknown
	}
	now, last := v.w.now.Boot, k.Samples[len(k.Samples)-1]
	if now-last.At > maxAge || last.Seq <= v.after || last.At < v.since || !v.accepts(k.Class) {
		return condition.Unknown
	}
	want, ok := catalog.Ref(l.Value, v.args)
	if !ok {
		return condition.Unknown
	}
	if t := condition.Compare(l.Op, k.Value, want); t != condition.True {
		return t
	}
	if !v.hasty && !stable(k.Samples, max(now-maxAge, v.since), v.after, Instant(l.StableForMS)) {
		return condition.Unknown
	}
	v.need = v.need[:len(v.need)-1]
	v.proof = append(v.proof, Evidence{Leaf: n, Key: l.Context, Value: k.Value, Source: k.Source, Class: k.Class, Seq: last.Seq, At: last.At, AgeMS: int64(now - last.At), By: byWindow})
	return condition.True
}

func (v *view) accepts(c catalog.Class) bool {
	if v.accept == nil {
		return c != catalog.Echo
	}
	return slices.Contains(v.accept, c)
}

// stable: the first and the last sample are at least that far apart, none older than the oldest that counts.
func stable(samples []Sample, oldest Instant, after int64, stableFor Instant) bool {
	last := samples[len(samples)-1]
	for _, s := range samples {
		if s.At >= oldest && s.Seq > after {
			return last.At-s.At >= stableFor
		}
	}
	return false
}
