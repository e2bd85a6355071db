package sim

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// TestASeedTellsOneStory: what a failure prints repeats it.
func TestASeedTellsOneStory(t *testing.T) {
	cat, err := LoadCatalog()
	if err != nil {
		t.Fatal(err)
	}
	for seed := uint64(1); seed <= 5; seed++ {
		s := &shrinker{cat: cat, seed: seed}
		a, b := s.play(nil), s.play(nil)
		if !slices.Equal(a.story, b.story) {
			i := 0
			for i < min(len(a.story), len(b.story)) && a.story[i] == b.story[i] {
				i++
			}
			t.Fatalf("seed %d parts at line %d:\n%s\n%s", seed, i, a.story[i], b.story[i])
		}
	}
}

// TestShrinkFindsAShortStory: a planted promise (no volume is ever set) is broken by one plan with one step, whatever else happens in a home.
func TestShrinkFindsAShortStory(t *testing.T) {
	cat, err := LoadCatalog()
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for seed := uint64(1); seed <= 60 && tried < 3; seed++ {
		s := &shrinker{cat: cat, seed: seed, planted: "setVolume"}
		if first := s.play(nil); first.broken == nil || len(first.names()) < 20 || strings.Contains(first.broken.Error(), "panic") {
			continue // also the last plan of each home sets a volume; a story with much in it is wanted
		}
		tried++
		var out strings.Builder
		if !s.shrink(&out) {
			t.Fatalf("seed %d broke the planted promise and does not any more", seed)
		}
		m := regexp.MustCompile(`(\d+) of (\d+) decisions are left`).FindStringSubmatch(out.String())
		if m == nil {
			t.Fatalf("no count of decisions in\n%s", out.String())
		}
		if left, _ := strconv.Atoi(m[1]); left > 4 {
			t.Errorf("seed %d: %s decisions are left, four are enough for one step and its call", seed, m[0])
		}
		if !strings.Contains(out.String(), "planted: setVolume is dispatched") {
			t.Errorf("seed %d: the shorter story breaks another promise", seed)
		}
	}
	if tried == 0 {
		t.Fatal("no home sets a volume")
	}
}

// TestTheListsNameRealThings: what coverage calls unreachable and unmade is in the tables of the core, or the run would demand too little.
func TestTheListsNameRealThings(t *testing.T) {
	for s, x := range unreachable {
		for _, on := range x.on {
			if !slices.Contains(core.Stimuli, on) {
				t.Errorf("%s / %s: there is no such stimulus", s, on)
			}
			if core.Next(s, on) != s {
				t.Errorf("%s / %s is called unreachable, and the table of cells says that it leads to %s", s, on, core.Next(s, on))
			}
		}
	}
	for mv := range unmade {
		if !slices.Contains(core.Moves(mv[0]), mv[1]) {
			t.Errorf("%s → %s is no move of the table", mv[0], mv[1])
		}
	}
}
