package sim_test

import (
	"flag"
	"strings"
	"testing"

	"deviceagent/testbed/sim"
)

var (
	seeds = flag.Int("sim.seeds", 300, "how many random homes TestHomes plays")
	from  = flag.Int("sim.from", 1, "the first of them")
)

// TestHomes plays random homes under faults: nothing that docs/taskmanager.md promises breaks.
func TestHomes(t *testing.T) {
	var out strings.Builder
	sum, err := sim.Run(t.Context(), sim.Options{From: *from, Seeds: *seeds, Out: &out})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d homes, %d events", sum.Homes, sum.Events)
	if len(sum.Broken) > 0 {
		t.Errorf("a promise is broken:\n%s", out.String())
	}
}
