package condition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxDepth bounds the nesting of a condition that [Check] lets pass, so that Eval's recursion is bounded too.
const MaxDepth = 16

// Fault is one thing that is wrong with a condition. Path leads to it from the condition: "all[1].not.value", "" for the top.
type Fault struct {
	Path    string
	Message string
}

var ops = []Op{Eq, Ne, Lt, Le, Gt, Ge, In, Exists}

// Check finds every fault of c: a shape that is not exactly one of all, any, not and leaf, a nesting over [MaxDepth], an unknown
// operator or reference, a value that does not fit. typeOf gives the kind of what a reference names: string, number, integer,
// boolean, room (a string), or "" where the kind is not declared; ok false means that there is no such reference.
// The zero Condition has no fault at the top; as a part it has.
func Check(c Condition, typeOf func(ref string) (kind string, ok bool)) []Fault {
	if c.IsZero() {
		return nil
	}
	k := checker{typeOf: typeOf}
	k.condition(c, "", 1)
	return k.faults
}

type checker struct {
	typeOf func(string) (string, bool)
	faults []Fault
}

func (k *checker) add(path, format string, args ...any) {
	k.faults = append(k.faults, Fault{strings.TrimPrefix(path, "."), fmt.Sprintf(format, args...)})
}

func (k *checker) condition(c Condition, path string, depth int) {
	shapes := c.shapes()
	if depth > MaxDepth {
		k.add(path, "is nested deeper than %d", MaxDepth)
		return
	}
	if len(shapes) != 1 {
		found := "has none"
		if len(shapes) > 1 {
			found = "has " + strings.Join(shapes, " and ")
		}
		k.add(path, "must have exactly one of all, any, not, and ref with op; it %s", found)
		return
	}
	switch shapes[0] {
	case "all":
		k.list(c.All, path+".all", depth)
	case "any":
		k.list(c.Any, path+".any", depth)
	case "not":
		k.condition(*c.Not, path+".not", depth+1)
	default:
		k.leaf(c, path)
	}
}

func (k *checker) list(parts []Condition, path string, depth int) {
	if len(parts) == 0 {
		k.add(path, "is empty; give at least one condition")
	}
	for i, part := range parts {
		k.condition(part, path+"["+strconv.Itoa(i)+"]", depth+1)
	}
}

func (k *checker) leaf(c Condition, path string) {
	kind, known := "", false
	if c.Ref == "" {
		k.add(path+".ref", "is missing")
	} else if kind, known = k.typeOf(c.Ref); !known {
		k.add(path+".ref", "%q is not known", c.Ref)
	}
	if c.MaxAgeMS < 0 {
		k.add(path+".max_age_ms", "is %d; an age is not negative", c.MaxAgeMS)
	}
	if c.MaxAgeMS != 0 && !strings.HasPrefix(c.Ref, "ctx.") {
		k.add(path+".max_age_ms", "has a meaning for ctx references only; %q has no age", c.Ref)
	}
	if !slices.Contains(ops, c.Op) {
		k.add(path+".op", "%q is not one of eq, ne, lt, le, gt, ge, in, exists", c.Op)
		return
	}
	if known {
		k.value(c, kind, path+".value")
	} else {
		k.value(c, "", path+".value")
	}
}

func (k *checker) value(c Condition, kind, path string) {
	switch c.Op {
	case Exists:
		if c.Value != nil {
			k.add(path, "has no meaning with exists; to ask for the opposite, use not")
		}
	case Lt, Le, Gt, Ge:
		if kind != "" && kind != "number" && kind != "integer" {
			k.add(path, "%s compares numbers, and %q is %s", c.Op, c.Ref, article(kind))
		} else if kindOf(c.Value) != "number" {
			k.add(path, "is %s; %s needs a number", kindWord(c.Value), c.Op)
		}
	case In:
		list, ok := c.Value.([]any)
		if !ok || len(list) == 0 {
			k.add(path, "is %s; in needs a list with at least one element", kindWord(c.Value))
		}
		for i, element := range list {
			k.scalar(c, element, kind, path+"["+strconv.Itoa(i)+"]")
		}
	default:
		k.scalar(c, c.Value, kind, path)
	}
}

func (k *checker) scalar(c Condition, v Value, kind, path string) {
	if Fits(v, kind) {
		return
	}
	if kind == "" {
		k.add(path, "is %s; %s needs a string, a number or a boolean", kindWord(v), c.Op)
		return
	}
	k.add(path, "is %s, and %q is %s", kindWord(v), c.Ref, article(kind))
}

// Fits says whether v is a value of the named kind: string or room, number, integer, boolean; for "" any of these.
func Fits(v Value, kind string) bool {
	have := kindOf(v)
	switch kind {
	case "string", "room":
		return have == "string"
	case "integer":
		n, ok := v.(float64)
		return ok && have == "number" && n >= -MaxInteger && n <= MaxInteger && n == float64(int64(n))
	case "":
		return have == "string" || have == "number" || have == "boolean"
	}
	return have == kind
}

// MaxInteger is the largest integer that every float64 below it represents exactly, 2^53.
const MaxInteger = 1 << 53

func kindWord(v Value) string {
	switch kind := kindOf(v); kind {
	case "":
		return "not a value"
	case "null":
		return "missing"
	default:
		return article(kind)
	}
}

func article(kind string) string {
	if kind == "integer" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

// shapes names which of the four forms c has.
func (c Condition) shapes() []string {
	var shapes []string
	if c.All != nil {
		shapes = append(shapes, "all")
	}
	if c.Any != nil {
		shapes = append(shapes, "any")
	}
	if c.Not != nil {
		shapes = append(shapes, "not")
	}
	if c.Ref != "" || c.Op != "" || c.Value != nil || c.MaxAgeMS != 0 {
		shapes = append(shapes, "ref")
	}
	return shapes
}
