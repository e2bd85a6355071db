package wire

import (
	"fmt"
	"reflect"
	"strings"
)

// kind is what an item has to be on the wire.
type kind string

const (
	kindText   kind = "text"
	kindInt    kind = "integer"
	kindBool   kind = "boolean"
	kindArray  kind = "array"
	kindStruct kind = "object"
	kindMap    kind = "map"   // names → text
	kindObject kind = "free"  // names → free values
	kindValue  kind = "value" // any value but null
	kindUnion  kind = "union" // one of several forms, told apart by their CBOR type
	kindBody   kind = "body"  // checked on its own, once the type is known
)

// shape is the form of one item. It is read from the Go type once, at start, so that types and checks cannot drift apart.
type shape struct {
	kind  kind
	rule  rule
	elem  *shape    // of an array or a map
	forms [8]*shape // of a union, by CBOR major type
	st    *object   // of a struct
}

// object is the members of a struct.
type object struct {
	name     string
	fields   []field
	byName   map[string]*field
	required uint64 // a bit per field
}

type field struct {
	name     string
	bit      uint64
	shape    *shape
	nullable bool // null means the same as leaving it out
}

// notYet names members that the contract has and this agent has not, by Go type. "*" stands for all that the type does not name.
// They are refused as unsupported, so that a planner can tell them from a typing error.
var notYet = map[string][]string{}

// shaper builds the shapes of types; it remembers structs, since a condition contains conditions.
type shaper struct{ structs map[reflect.Type]*object }

func (s *shaper) of(t reflect.Type, r rule) *shape {
	switch t {
	case reflect.TypeFor[Value]():
		return &shape{kind: kindValue}
	case reflect.TypeFor[Object]():
		return &shape{kind: kindObject}
	case reflect.TypeFor[Dependency]():
		return s.textOr(t, "Step")
	case reflect.TypeFor[RequiredEffect]():
		return s.textOr(t, "EffectID")
	case reflect.TypeFor[InputFrom]():
		return s.inputFrom()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem(), r)
	case reflect.String:
		return &shape{kind: kindText, rule: r}
	case reflect.Int64:
		return &shape{kind: kindInt, rule: r}
	case reflect.Bool:
		return &shape{kind: kindBool}
	case reflect.Slice:
		return &shape{kind: kindArray, rule: r, elem: s.of(t.Elem(), r)}
	case reflect.Struct:
		return &shape{kind: kindStruct, st: s.object(t)}
	case reflect.Map:
		return &shape{kind: kindMap, elem: s.of(t.Elem(), r)}
	}
	panic("internal error: no wire form for " + t.String())
}

// textOr is a union of the object with its bare id.
func (s *shaper) textOr(t reflect.Type, bare string) *shape {
	f, _ := t.FieldByName(bare)
	u := &shape{kind: kindUnion}
	u.forms[majorText] = s.of(f.Type, mustRule(t, f))
	u.forms[majorMap] = &shape{kind: kindStruct, st: s.object(t)}
	return u
}

func (s *shaper) inputFrom() *shape {
	id := &shape{kind: kindText, rule: rule{kind: "id"}}
	u := &shape{kind: kindUnion}
	u.forms[majorMap] = &shape{kind: kindMap, rule: rule{min: 1}, elem: id}
	u.forms[majorArray] = &shape{kind: kindArray, rule: rule{min: 1}, elem: id}
	return u
}

func (s *shaper) object(t reflect.Type) *object {
	if o := s.structs[t]; o != nil {
		return o
	}
	o := &object{name: t.Name(), byName: map[string]*field{}}
	s.structs[t] = o
	for i := range t.NumField() {
		sf := t.Field(i)
		name, opts, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		f := field{name: name, shape: s.of(sf.Type, mustRule(t, sf)), nullable: sf.Type.Kind() == reflect.Pointer}
		o.add(f, opts == "")
	}
	if t == reflect.TypeFor[Envelope]() {
		o.add(field{name: "body", shape: &shape{kind: kindBody}}, true)
	}
	for i := range o.fields {
		o.byName[o.fields[i].name] = &o.fields[i]
	}
	return o
}

func (o *object) add(f field, required bool) {
	if len(o.fields) == 64 {
		panic("internal error: more than 64 fields in " + o.name)
	}
	f.bit = 1 << len(o.fields)
	if required {
		o.required |= f.bit
	}
	o.fields = append(o.fields, f)
}

func mustRule(t reflect.Type, f reflect.StructField) rule {
	r, err := parseRule(f.Tag.Get("rule"))
	if err != nil {
		panic(fmt.Sprintf("internal error: %s.%s: %v", t.Name(), f.Name, err))
	}
	return r
}
