package condition

import "slices"

// Eval gives the truth of c in Kleene's three-valued logic: one False makes `all` False and one True makes `any` True whatever
// else is unknown; what is left over is Unknown as soon as one part is. A leaf is Unknown where its value is stale, missing,
// unavailable or in conflict, or cannot be compared (see [Compare]; its availability is then given as Unavailable). The zero
// Condition is True. A malformed one, which [Check] refuses, is Unknown: it permits nothing.
// Answer.Unknown is empty unless the truth is Unknown.
func Eval(c Condition, look Lookup) Answer {
	if c.IsZero() {
		return Answer{Truth: True}
	}
	if len(c.shapes()) != 1 {
		return Answer{Truth: Unknown}
	}
	switch {
	case c.All != nil:
		return fold(c.All, look, False)
	case c.Any != nil:
		return fold(c.Any, look, True)
	case c.Not != nil:
		answer := Eval(*c.Not, look)
		answer.Truth = not(answer.Truth)
		return answer
	}
	return leaf(c, look)
}

// IsZero says whether c is no condition at all.
func (c Condition) IsZero() bool {
	return c.All == nil && c.Any == nil && c.Not == nil && c.Ref == "" && c.Op == "" && c.Value == nil && c.MaxAgeMS == 0
}

// Leaves gives the leaves of c, left to right: what a decision has to read.
func (c Condition) Leaves() []Condition {
	if c.Ref != "" {
		return []Condition{c}
	}
	var leaves []Condition
	for _, part := range slices.Concat(c.All, c.Any) {
		leaves = append(leaves, part.Leaves()...)
	}
	if c.Not != nil {
		leaves = append(leaves, c.Not.Leaves()...)
	}
	return leaves
}

// fold joins the parts: one that is decisive decides, else one that is unknown leaves the whole unknown.
func fold(parts []Condition, look Lookup, decisive Truth) Answer {
	if len(parts) == 0 {
		return Answer{Truth: Unknown} // an `all` of nothing must not be True: Check refuses it
	}
	joined := Answer{Truth: not(decisive)}
	for _, part := range parts {
		answer := Eval(part, look)
		if answer.Truth == decisive {
			return Answer{Truth: decisive}
		}
		if answer.Truth == Unknown {
			joined.Truth = Unknown
			joined.add(answer.Unknown)
		}
	}
	return joined
}

func (a *Answer) add(refs []UnknownRef) {
	for _, ref := range refs {
		if !slices.Contains(a.Unknown, ref) {
			a.Unknown = append(a.Unknown, ref)
		}
	}
}

func leaf(c Condition, look Lookup) Answer {
	have, availability := look(c.Ref, c.MaxAgeMS)
	if c.Op == Exists && availability == Missing {
		return Answer{Truth: False} // we know that it is not there; all else about a missing value is unknown
	}
	truth := Unknown
	if availability == Fresh {
		if truth = Compare(c.Op, have, c.Value); truth != Unknown {
			return Answer{Truth: truth}
		}
		availability = Unavailable // fresh, but not comparable
	}
	return Answer{Truth: truth, Unknown: []UnknownRef{{c.Ref, availability}}}
}

func not(t Truth) Truth {
	switch t {
	case True:
		return False
	case False:
		return True
	}
	return Unknown
}
