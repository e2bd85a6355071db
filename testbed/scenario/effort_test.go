package scenario_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"deviceagent/testbed/scenario"
)

// TestOneGoalAgainstSingleCommands: S30. Both come to the same in the home; said once it takes one turn and nobody has to be there.
func TestOneGoalAgainstSingleCommands(t *testing.T) {
	r, err := scenario.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	c := scenario.Compared(t, r, loaded(t, "S30"), loaded(t, "S30-commands"))
	if !c.Same() || len(c.Goal.Expected) < 5 {
		t.Errorf("not the same: %+v", c)
	}
	if g, s := c.Goal, c.Commands; g.Turns != 1 || s.Turns != 3 || g.Corrections+s.Corrections+g.Cancels+s.Cancels+g.Consents+s.Consents != 0 {
		t.Errorf("a goal took %+v, commands %+v", g, s)
	}
	if c.Goal.PresentMS != 0 || time.Duration(c.Commands.PresentMS)*time.Millisecond < 5*time.Minute {
		t.Errorf("somebody was there for %d ms and %d ms", c.Goal.PresentMS, c.Commands.PresentMS)
	}
	var text bytes.Buffer
	c.Print(&text)
	for _, want := range []string{"turns                               1              3", "expected = actual", "not measured"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("not printed: %s in\n%s", want, text.String())
		}
	}
	c.Commands.Missing = c.Commands.Expected[:1]
	if c.Same() {
		t.Error("a result that is missing is not noticed")
	}
}

// TestEffortIsCounted: corrections, cancels, and what the robot asked, where there are some; and what did not come of it.
func TestEffortIsCounted(t *testing.T) {
	r, err := scenario.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		id                                    string
		turns, corrections, cancels, consents int
	}{
		{"S31", 7, 1, 1, 0},
		{"S07-asks", 2, 0, 0, 1},
	} {
		e := scenario.EffortOf(r.Run(t, loaded(t, tc.id)), []string{"arrived in the_moon"})
		if e.Turns != tc.turns || e.Corrections != tc.corrections || e.Cancels != tc.cancels || e.Consents != tc.consents {
			t.Errorf("%s: %+v, want %+v", tc.id, e, tc)
		}
		if len(e.Missing) != 1 {
			t.Errorf("%s: missing %v", tc.id, e.Missing)
		}
	}
}

func loaded(t *testing.T, id string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load("../scenarios/" + id + ".scn")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
