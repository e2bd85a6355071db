package core

import (
	"reflect"
	"testing"

	"deviceagent/taskmanager/core/condition"
)

// fromCatalog are the parts of a spec that the catalog adds to what a plan says, or that follow from the rest.
var fromCatalog = map[string]bool{"Args": true, "Op": true, "Resources": true, "Stops": true, "MovesBody": true, "GraceMS": true, "Ends": true} // the last two are the device's own

// other gives another value than the present one to whatever a plan can say.
func other(v reflect.Value) {
	switch v.Interface().(type) {
	case []Dep:
		v.Set(reflect.ValueOf([]Dep{{Step: 1, On: OnDone}}))
	case []Keep:
		v.Set(reflect.ValueOf([]Keep{{Effect: "e", Step: 2}}))
	case *condition.Condition:
		v.Set(reflect.ValueOf(&condition.Condition{Ref: "ctx.x", Op: condition.Exists}))
	case Overdue:
		v.Set(reflect.ValueOf(OverdueSkip))
	default:
		set(v)
	}
}

func set(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		x := reflect.New(v.Type().Elem()).Elem()
		if x.Kind() == reflect.Interface {
			x.Set(reflect.ValueOf("x"))
		}
		v.SetMapIndex(reflect.ValueOf("k"), x)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.New(v.Type().Elem()).Elem()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(v.Elem())
	case reflect.Struct:
		set(v.Field(0))
	}
}

// Every part of a spec is content, or is named as one that is not: a new one cannot be forgotten.
func TestContentSaysAllThatAPlanSays(t *testing.T) {
	plan := func() *Plan {
		return &Plan{Steps: []StepSpec{{ID: "a", Named: true}, {ID: "b"}, {ID: "c"}}}
	}
	was := contentOf(plan(), 0)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[StepSpec]()) {
		if f.Name == "Named" {
			continue // says whether Effects are what the plan says
		}
		p := plan()
		other(reflect.ValueOf(&p.Steps[0]).Elem().FieldByIndex(f.Index))
		if changed := contentOf(p, 0) != was; changed == fromCatalog[f.Name] {
			t.Errorf("%s: part of the content: %v, from the catalog: %v", f.Name, changed, fromCatalog[f.Name])
		}
	}
}

// Nested parts of a spec.
func TestContentReadsAllTheWayDown(t *testing.T) {
	one := func(change func(s *StepSpec)) string {
		p := &Plan{Steps: []StepSpec{{ID: "a"}, {ID: "b"}, {ID: "c"}}}
		change(&p.Steps[0])
		return contentOf(p, 0)
	}
	seen := map[string]int{}
	for i, change := range []func(s *StepSpec){
		func(s *StepSpec) {},
		func(s *StepSpec) { s.Call = Values{"a": "1"} },
		func(s *StepSpec) { s.Call = Values{"a": 1.0} },
		func(s *StepSpec) { s.Call = Values{"a": true} },
		func(s *StepSpec) { s.Call = Values{"a": []any{"1"}} },
		func(s *StepSpec) { s.Call = Values{"a": []any{[]any{"1"}}} },
		func(s *StepSpec) { s.Call = Values{"a": map[string]any{"b": nil}} },
		func(s *StepSpec) { s.Call = Values{"a": "1", "b": "2"} },
		func(s *StepSpec) { s.Deps = []Dep{{1, OnSuccess}} },
		func(s *StepSpec) { s.Deps = []Dep{{1, OnDone}} },
		func(s *StepSpec) { s.Deps = []Dep{{2, OnSuccess}} },
		func(s *StepSpec) { s.WaitEvent = &EventMatch{Event: "x"} },
		func(s *StepSpec) { s.WaitEvent = &EventMatch{Event: "x", Match: Values{"a": "1"}} },
		func(s *StepSpec) { s.When = &condition.Condition{Ref: "a", Op: condition.Eq, Value: 1.0} },
		func(s *StepSpec) { s.When = &condition.Condition{Ref: "a", Op: condition.Eq, Value: 2.0} },
		func(s *StepSpec) { s.When = &condition.Condition{Ref: "a", Op: condition.Eq, Value: 2.0, MaxAgeMS: 5} },
		func(s *StepSpec) {
			s.When = &condition.Condition{All: []condition.Condition{{Ref: "a", Op: condition.Exists}}}
		},
		func(s *StepSpec) {
			s.When = &condition.Condition{Any: []condition.Condition{{Ref: "a", Op: condition.Exists}}}
		},
		func(s *StepSpec) {
			s.When = &condition.Condition{Not: &condition.Condition{Ref: "a", Op: condition.Exists}}
		},
		func(s *StepSpec) { s.Retry = Retry{Attempts: 2} },
		func(s *StepSpec) { s.Retry = Retry{Attempts: 2, BackoffMS: 1} },
		func(s *StepSpec) { s.Keeps = []Keep{{Effect: "e", Step: 2}} },
		func(s *StepSpec) { s.Keeps = []Keep{{Effect: "e", Step: 3}} },
		func(s *StepSpec) { s.Keeps = []Keep{{Effect: "e", Event: "b"}} },
	} {
		c := one(change)
		if before, twice := seen[c]; twice {
			t.Errorf("contents %d and %d are one", before, i)
		}
		seen[c] = i
	}
	same := func(a, b func(s *StepSpec)) bool { return one(a) == one(b) }
	if !same(func(s *StepSpec) { s.Deps = []Dep{{1, OnDone}, {2, OnSuccess}} }, func(s *StepSpec) { s.Deps = []Dep{{2, OnSuccess}, {1, OnDone}} }) {
		t.Error("the order of dependencies is no content")
	}
	if !same(func(s *StepSpec) {}, func(s *StepSpec) { s.Call, s.OnOverdue = Values{}, OverdueRun }) {
		t.Error("what is left out and what is given as its default are one content")
	}
}
