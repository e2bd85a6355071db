package condition

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ref(name string, op Op, v Value) Condition { return Condition{Ref: name, Op: op, Value: v} }

// home answers for "t" (1, fresh) and for one reference of each availability.
func home(name string, _ int64) (Value, Availability) {
	switch name {
	case "t":
		return 1.0, Fresh
	case "word":
		return "1", Fresh
	case "null":
		return nil, Fresh
	case "stale", "unavailable", "conflict":
		return 1.0, Availability(name)
	}
	return nil, Missing
}

func TestEval(t *testing.T) {
	yes, no := ref("t", Eq, 1.0), ref("t", Eq, 2.0)
	stale, missing := ref("stale", Eq, 1.0), ref("gone", Eq, 1.0)
	for _, tc := range []struct {
		name    string
		c       Condition
		want    Truth
		unknown []UnknownRef
	}{
		{"no condition", Condition{}, True, nil},
		{"true leaf", yes, True, nil},
		{"false leaf", no, False, nil},
		{"stale is not false", stale, Unknown, []UnknownRef{{"stale", Stale}}},
		{"missing is not false", missing, Unknown, []UnknownRef{{"gone", Missing}}},
		{"unavailable is not false", ref("unavailable", Eq, 1.0), Unknown, []UnknownRef{{"unavailable", Unavailable}}},
		{"conflict is not false", ref("conflict", Eq, 1.0), Unknown, []UnknownRef{{"conflict", Conflict}}},
		{"another kind is unavailable", ref("word", Ge, 1.0), Unknown, []UnknownRef{{"word", Unavailable}}},
		{"exists, fresh", ref("t", Exists, nil), True, nil},
		{"exists, null", ref("null", Exists, nil), False, nil},
		{"exists, missing", ref("gone", Exists, nil), False, nil},
		{"exists, stale", ref("stale", Exists, nil), Unknown, []UnknownRef{{"stale", Stale}}},
		{"all: false beats unknown", Condition{All: []Condition{stale, no}}, False, nil},
		{"all: unknown beats true", Condition{All: []Condition{yes, stale, missing, stale}}, Unknown, []UnknownRef{{"stale", Stale}, {"gone", Missing}}},
		{"any: true beats unknown", Condition{Any: []Condition{stale, yes}}, True, nil},
		{"any: unknown beats false", Condition{Any: []Condition{no, missing}}, Unknown, []UnknownRef{{"gone", Missing}}},
		{"not of unknown", Condition{Not: &stale}, Unknown, []UnknownRef{{"stale", Stale}}},
		{"not of false", Condition{Not: &no}, True, nil},
		{"two shapes permit nothing", Condition{All: []Condition{yes}, Any: []Condition{yes}}, Unknown, nil},
		{"all of nothing permits nothing", Condition{All: []Condition{}}, Unknown, nil},
		{"unknown operator permits nothing", ref("t", "like", 1.0), Unknown, []UnknownRef{{"t", Unavailable}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Eval(tc.c, home)
			if got.Truth != tc.want || !slices.Equal(got.Unknown, tc.unknown) {
				t.Fatalf("got %v, want %s %v", got, tc.want, tc.unknown)
			}
		})
	}
}

func TestEvalPassesTheAge(t *testing.T) {
	var seen int64
	Eval(Condition{Ref: "ctx.battery.level", Op: Ge, Value: 20.0, MaxAgeMS: 60000}, func(_ string, maxAgeMS int64) (Value, Availability) {
		seen = maxAgeMS
		return 50.0, Fresh
	})
	if seen != 60000 {
		t.Fatalf("the lookup saw the age %d, want 60000", seen)
	}
}

func TestCompare(t *testing.T) {
	for _, tc := range []struct {
		op         Op
		have, want Value
		truth      Truth
	}{
		{Eq, "a", "a", True}, {Eq, "a", "b", False}, {Ne, "a", "b", True}, {Ne, true, true, False},
		{Eq, "1", 1.0, Unknown}, {Ne, "1", 1.0, Unknown}, {Eq, nil, 1.0, Unknown}, {Ne, nil, 1.0, Unknown},
		{Eq, math.NaN(), 1.0, Unknown}, {Eq, []any{1.0}, []any{1.0}, True},
		{Lt, 1.0, 2.0, True}, {Lt, 2.0, 2.0, False}, {Le, 2.0, 2.0, True}, {Le, 3.0, 2.0, False},
		{Gt, 2.0, 1.0, True}, {Gt, 2.0, 2.0, False}, {Ge, 2.0, 2.0, True}, {Ge, 1.0, 2.0, False},
		{Ge, "b", "a", Unknown}, {Ge, true, false, Unknown}, {Ge, math.NaN(), 1.0, Unknown}, {Le, 1.0, math.Inf(1), Unknown},
		{In, "bad", []any{"bad", "very_bad"}, True}, {In, "good", []any{"bad"}, False}, {In, "bad", []any{}, False},
		{In, "bad", []any{1.0, "bad"}, True}, {In, "bad", []any{1.0}, Unknown}, {In, "bad", "bad", Unknown},
		{Exists, 0.0, nil, True}, {Exists, nil, nil, False}, {"like", 1.0, 1.0, Unknown},
	} {
		if got := Compare(tc.op, tc.have, tc.want); got != tc.truth {
			t.Errorf("Compare(%s, %v, %v) = %s, want %s", tc.op, tc.have, tc.want, got, tc.truth)
		}
	}
}

func TestEqual(t *testing.T) {
	deep := func(last Value) Value { return map[string]any{"a": []any{1.0, map[string]any{"b": last}}} }
	for _, tc := range []struct {
		a, b Value
		want bool
	}{
		{nil, nil, true}, {nil, false, false}, {1.0, 1.0, true}, {1.0, "1", false}, {deep("x"), deep("x"), true}, {deep("x"), deep("y"), false},
		{[]any{1.0}, []any{1.0, 2.0}, false}, {[]any{}, map[string]any{}, false}, {1.0, []any{}, false}, {math.NaN(), math.NaN(), false}, {struct{}{}, struct{}{}, false},
	} {
		if got := Equal(tc.a, tc.b); got != tc.want {
			t.Errorf("Equal(%v, %v) = %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestCheck(t *testing.T) {
	kinds := map[string]string{"ctx.level": "number", "count": "integer", "grade": "string", "ctx.on": "boolean", "free": "", "place": "room"}
	typeOf := func(name string) (string, bool) { kind, ok := kinds[name]; return kind, ok }
	deep := ref("grade", Eq, "bad")
	for range MaxDepth {
		deep = Condition{Not: &Condition{All: deep.All, Any: deep.Any, Not: deep.Not, Ref: deep.Ref, Op: deep.Op, Value: deep.Value}}
	}
	for _, tc := range []struct {
		name string
		c    Condition
		want []string // "path: part of the message"
	}{
		{"none", Condition{}, nil},
		{"sound", Condition{All: []Condition{ref("grade", In, []any{"bad"}), {Ref: "ctx.level", Op: Ge, Value: 20.0, MaxAgeMS: 5}, {Not: &Condition{Ref: "count", Op: Exists}}, ref("place", Eq, "x"), ref("free", Eq, true)}}, nil},
		{"two shapes", Condition{All: []Condition{ref("grade", Eq, "x")}, Ref: "grade", Op: Eq}, []string{": it has all and ref"}},
		{"empty part", Condition{Any: []Condition{{}}}, []string{"any[0]: it has none"}},
		{"empty list", Condition{All: []Condition{}}, []string{"all: is empty"}},
		{"too deep", deep, []string{strings.TrimPrefix(strings.Repeat(".not", MaxDepth), ".") + ": nested deeper"}},
		{"every fault at once", Condition{All: []Condition{ref("nobody", Eq, 1.0), {Not: &Condition{Ref: "grade", Op: "like"}}, {Op: Eq, Value: 1.0}}},
			[]string{"all[0].ref: \"nobody\" is not known", "all[1].not.op: \"like\"", "all[2].ref: is missing"}},
		{"a word for a number", ref("ctx.level", Eq, "20"), []string{"value: is a string, and \"ctx.level\" is a number"}},
		{"a fraction for an integer", ref("count", Eq, 1.5), []string{"value: is a number, and \"count\" is an integer"}},
		{"order of words", ref("grade", Lt, "bad"), []string{"value: lt compares numbers"}},
		{"order without a number", ref("ctx.level", Lt, nil), []string{"value: is missing; lt needs a number"}},
		{"in without a list", ref("grade", In, "bad"), []string{"value: is a string; in needs a list"}},
		{"in with an empty list", ref("grade", In, []any{}), []string{"value: in needs a list with at least one"}},
		{"in with a wrong element", ref("grade", In, []any{"bad", 1.0}), []string{"value[1]: is a number"}},
		{"exists with a value", ref("grade", Exists, true), []string{"value: has no meaning with exists"}},
		{"no value", ref("grade", Eq, nil), []string{"value: is missing"}},
		{"an object as a value", ref("free", Eq, map[string]any{}), []string{"value: is an object"}},
		{"a negative age", Condition{Ref: "ctx.on", Op: Eq, Value: true, MaxAgeMS: -1}, []string{"max_age_ms: is -1"}},
		{"an age of an output", Condition{Ref: "grade", Op: Eq, Value: "bad", MaxAgeMS: 5}, []string{"max_age_ms: for ctx references only"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Check(tc.c, typeOf)
			if len(got) != len(tc.want) {
				t.Fatalf("faults %q, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				path, message, _ := strings.Cut(want, ": ")
				if got[i].Path != path || !strings.Contains(got[i].Message, message) {
					t.Errorf("fault %q, want %q at %q", got[i], message, path)
				}
			}
		})
	}
}

func TestLeaves(t *testing.T) {
	c := Condition{All: []Condition{ref("a", Exists, nil), {Not: &Condition{Any: []Condition{ref("b", Exists, nil), ref("c", Exists, nil)}}}}}
	var names []string
	for _, leaf := range c.Leaves() {
		names = append(names, leaf.Ref)
	}
	if want := []string{"a", "b", "c"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("leaves %v, want %v", names, want)
	}
}

// conditions draws a condition over the references "0" to "5".
func conditions() *rapid.Generator[Condition] {
	leaves := rapid.Custom(func(t *rapid.T) Condition {
		return ref(strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "ref")), Eq, true)
	})
	var at func(depth int) *rapid.Generator[Condition]
	at = func(depth int) *rapid.Generator[Condition] {
		if depth == 0 {
			return leaves
		}
		parts := rapid.SliceOfN(at(depth-1), 1, 3)
		return rapid.OneOf(leaves,
			rapid.Map(parts, func(p []Condition) Condition { return Condition{All: p} }),
			rapid.Map(parts, func(p []Condition) Condition { return Condition{Any: p} }),
			rapid.Map(at(depth-1), func(c Condition) Condition { return Condition{Not: &c} }))
	}
	return at(4)
}

// What is known stays so when more becomes known: an answer that rests on an unknown value would flip.
func TestMonotoneInUnknown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := conditions().Draw(t, "condition")
		values := rapid.SliceOfN(rapid.SampledFrom([]Truth{True, False, Unknown}), 6, 6).Draw(t, "values")
		before := Eval(c, lookIn(values))
		for i, v := range values {
			if v == Unknown {
				values[i] = rapid.SampledFrom([]Truth{True, False}).Draw(t, "learned")
			}
		}
		after := Eval(c, lookIn(values))
		if after.Truth == Unknown {
			t.Fatalf("unknown although every value is known")
		}
		if before.Truth != Unknown && before.Truth != after.Truth {
			t.Fatalf("%s became %s", before.Truth, after.Truth)
		}
		if (before.Truth == Unknown) != (len(before.Unknown) > 0) {
			t.Fatalf("truth %s with the unknown references %v", before.Truth, before.Unknown)
		}
	})
}

func lookIn(values []Truth) Lookup {
	return func(name string, _ int64) (Value, Availability) {
		i, _ := strconv.Atoi(name)
		if values[i] == Unknown {
			return nil, Stale
		}
		return values[i] == True, Fresh
	}
}
