// Package condition evaluates typed conditions with a third value: true, false or unknown. It is pure. A value that is missing,
// stale or unavailable makes a leaf unknown, and unknown is never treated as false: a stale sensor must not read as "no".
// It must not import anything of this project. Contract: docs/contract.md, typed conditions.
package condition

// Value is what JSON can say: nil, bool, float64, string, []any or map[string]any of such. All numbers are float64.
type Value = any

// Truth is the answer of a condition.
type Truth string

// The three answers. A bool would turn "not known" into "no".
const (
	True    Truth = "true"
	False   Truth = "false"
	Unknown Truth = "unknown"
)

// Op compares a referenced value with a constant.
type Op string

// The comparisons. Exists asks whether the value is there at all; In asks whether it is an element of a list.
const (
	Eq     Op = "eq"
	Ne     Op = "ne"
	Lt     Op = "lt"
	Le     Op = "le"
	Gt     Op = "gt"
	Ge     Op = "ge"
	In     Op = "in"
	Exists Op = "exists"
)

// Condition is exactly one of All, Any, Not, or a leaf (Ref and Op). The zero Condition is no condition: True.
type Condition struct {
	All      []Condition `json:"all,omitempty"`
	Any      []Condition `json:"any,omitempty"`
	Not      *Condition  `json:"not,omitempty"`
	Ref      string      `json:"ref,omitempty"` // "output_key.path" or "ctx.context.key"
	Op       Op          `json:"op,omitempty"`
	Value    Value       `json:"value,omitempty"`
	MaxAgeMS int64       `json:"max_age_ms,omitempty"` // for ctx refs; 0: the catalog's freshness limit
}

// Availability says whether a referenced value may be used now.
type Availability string

// What can be wrong with a value, in the words of the device context. Source: docs/catalog.md, device context.
const (
	Fresh       Availability = "fresh"
	Stale       Availability = "stale"
	Missing     Availability = "missing"
	Unavailable Availability = "unavailable"
	Conflict    Availability = "conflict"
)

// Lookup resolves a reference. maxAgeMS is the leaf's own freshness limit, 0 for the default.
type Lookup func(ref string, maxAgeMS int64) (Value, Availability)

// Answer is the truth of a condition with the references that made it unknown and their availability, in order of appearance.
type Answer struct {
	Truth   Truth
	Unknown []UnknownRef
}

// UnknownRef names one reference that could not be used.
type UnknownRef struct {
	Ref          string
	Availability Availability
}
