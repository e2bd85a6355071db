package scenario

import (
	"slices"
	"testing"
	"time"

	"deviceagent/testbed/home"
)

// TestOneInstantHasNoOrderOnABus: lines of one millisecond come in the order of the file, lines of two keep the robot's, and one question
// twice in it is one; without a bus all is as it came.
func TestOneInstantHasNoOrderOnABus(t *testing.T) {
	log := []home.Entry{
		{TMS: 1000, Kind: home.KindInvoke, Method: "setMoveTo", TaskID: "t1"},
		{TMS: 3000, Kind: home.KindInvoke, Method: "stopMovement", TaskID: "t2"},
		{TMS: 3000, Kind: home.KindCancel, TaskID: "t1"},
		{TMS: 3001, Kind: home.KindQuery, TaskID: "t1"},
		{TMS: 3001, Kind: home.KindQuery, TaskID: "t1"},
	}
	file := []Line{{Kind: "dispatch", Text: "setMoveTo +1s"}, {Kind: "queries", Text: "setMoveTo"}, {Kind: "stops", Text: "setMoveTo +2s"}, {Kind: "dispatch", Text: "stopMovement +0s"}}
	for _, tc := range []struct {
		name string
		side []Line
		want []string
	}{
		{"on a bus", file, []string{"dispatch setMoveTo +1s", "stops setMoveTo +2s", "dispatch stopMovement +0s", "queries setMoveTo"}},
		{"on the socket", nil, []string{"dispatch setMoveTo +1s", "dispatch stopMovement +2s", "stops setMoveTo +0s", "queries setMoveTo", "queries setMoveTo"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for _, f := range robotFacts(log, 0, []time.Duration{time.Minute}, tc.side) {
				got = append(got, f.String())
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
