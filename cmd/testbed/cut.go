package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"deviceagent/testbed/scenario"
)

// cutEach plays each scenario once for every place at which the power can go, and prints what became of each; false: something is not
// as it should be.
func (opt runOptions) cutEach(ctx context.Context, t *testing.T, r *scenario.Runner, all []*scenario.Scenario, out *bufio.Writer) bool {
	good := true
	for _, s := range all {
		began := time.Now()
		base, cuts, err := r.Cuts(t, s)
		if err != nil {
			fmt.Fprintf(out, "%s: without a cut: %v\n", s.ID, err)
			return false
		}
		same, faults, others := 0, 0, map[string]int{}
		for _, at := range cuts {
			if ctx.Err() != nil {
				fmt.Fprintln(out, "interrupted")
				return false
			}
			res := r.RunCut(t, s, base, at)
			fmt.Fprintf(out, "%-12s %-60s %s%s\n", s.ID, res.Cut, res.Outcome, more(" [again: ", res.Again))
			for _, f := range res.Faults {
				fmt.Fprintf(out, "    FAULT %s\n", f)
			}
			switch {
			case len(res.Faults) > 0:
				faults++
			case res.Same:
				same++
			default:
				others[res.Outcome]++
			}
			out.Flush()
		}
		n := len(cuts) - same - faults
		fmt.Fprintf(out, "%s: %d cuts at %d commits: %d ended as without the cut, %d otherwise and say so, %d wrong [%v]\n", s.ID, len(cuts), len(cuts)/2, same, n, faults,
			time.Since(began).Round(time.Second))
		good = good && faults == 0 && len(cuts) > 0
	}
	return good
}

func more(open string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return open + strings.Join(list, ", ") + "]"
}
