package scenario

import (
	"strings"
	"testing"
)

func lines(texts ...string) (out []Line) {
	for i, text := range texts {
		kind, rest, _ := strings.Cut(text, " ")
		out = append(out, Line{i + 1, kind, rest})
	}
	return out
}

func facts(texts ...string) (out []Fact) {
	for _, l := range lines(texts...) {
		out = append(out, Fact{l.Kind, l.Text})
	}
	return out
}

func TestCompareIsAClosedWorld(t *testing.T) {
	seen := []string{"dispatch setMoveTo +0s", "arrived in kitchen", "dispatch setVolume +0s", "up ack 1", "up result 1"}
	without := func(i int) []string { return append(append([]string{}, seen[:i]...), seen[i+1:]...) }
	for _, tc := range []struct {
		name string
		want []string
		got  []string
		diff []Mismatch
	}{
		{"the same", seen, seen, nil},
		{"counts in another order", []string{"up result 1", "up ack 1"}, []string{"up ack 1", "up result 1"}, nil},
		{"unlisted dispatch", without(2), seen, []Mismatch{{Got: seen[2]}}},
		{"unlisted publish", without(4), seen, []Mismatch{{Got: seen[4]}}},
		{"unlisted spoken line", seen, append([]string{`spoken "hello"`}, seen...), []Mismatch{{Got: `spoken "hello"`}}},
		{"what must never be", seen, append([]string{"wrong thing"}, seen...), []Mismatch{{Got: "wrong thing"}}},
		{"never came", seen, without(1), []Mismatch{{Line: 2, Want: seen[1]}}},
		{"another value", seen, append(without(4), "up result 2"), []Mismatch{{5, "up result 2", "up result 1"}}},
		{"another order", []string{"dispatch a +0s", "dispatch b +0s"}, []string{"dispatch b +0s", "dispatch a +0s"},
			[]Mismatch{{Line: 1, Want: "dispatch a +0s"}, {Got: "dispatch a +0s"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Compare(lines(tc.want...), facts(tc.got...))
			if len(got) != len(tc.diff) {
				t.Fatalf("%d mismatches %+v, want %+v", len(got), got, tc.diff)
			}
			for i := range got {
				if got[i] != tc.diff[i] {
					t.Errorf("mismatch %+v, want %+v", got[i], tc.diff[i])
				}
			}
		})
	}
}

// Every kind of fact belongs to exactly one channel: one that belonged to none would be compared by nobody.
func TestEveryKindIsCompared(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range kinds {
		if seen[kind] || channelOf(kind) == nil {
			t.Errorf("kind %s is in no channel or in two", kind)
		}
		seen[kind] = true
	}
	for kind, tell := range told {
		f := tell(entryOf(kind))
		if !seen[f.Kind] {
			t.Errorf("the robot's %s becomes %q, which no channel has", kind, f.Kind)
		}
	}
}

func TestMutateFindsWhatNobodyCompares(t *testing.T) {
	s := &Scenario{Expect: lines("dispatch a +0s", "dispatch b +1s", "up ack 1")}
	o := &Observation{Facts: facts("dispatch a +0s", "dispatch b +1s", "up ack 1")}
	for _, f := range Mutate(s, o) {
		if !f.Caught {
			t.Errorf("not noticed: %s", f.What)
		}
	}
	s.Expect = append(s.Expect, Line{4, "ghost", "1"}) // a kind that no channel has
	missed := 0
	for _, f := range Mutate(s, o) {
		if !f.Caught {
			missed++
		}
	}
	if missed != 3 { // dropped, doubled, changed
		t.Errorf("%d flips of a line that nobody compares went unnoticed, want 3", missed)
	}
}
