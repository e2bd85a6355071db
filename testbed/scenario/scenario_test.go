package scenario_test

import (
	"testing"

	"deviceagent/testbed/scenario"
)

func runner(t *testing.T) *scenario.Runner {
	t.Helper()
	r, err := scenario.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every scenario holds, and each flip of an expectation, or of a fact, is noticed.
func TestScenarios(t *testing.T) {
	all, err := scenario.LoadDir("../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t)
	for _, s := range all {
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel() // each has its own house and its own time
			if res := holds(t, r, s); !t.Failed() {
				sameDispatches(t, s.ID, res.Seen.RobotLog())
			}
		})
	}
}

// holds plays a scenario and flips all of it.
func holds(t *testing.T, r *scenario.Runner, s *scenario.Scenario) *scenario.Result {
	t.Helper()
	res := r.Run(t, s)
	t.Log(res)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	for _, m := range res.Failures {
		t.Error(m.In(s.Path))
	}
	if t.Failed() {
		return res
	}
	for _, flip := range scenario.Mutate(s, res.Seen) {
		if !flip.Caught {
			t.Errorf("%s:%d: nobody noticed: %s", s.Path, flip.Line, flip.What)
		}
	}
	return res
}
