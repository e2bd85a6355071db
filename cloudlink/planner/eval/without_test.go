package eval

import (
	"context"
	"math"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/turn"
)

// told decides as it is told.
type told func(text string) turn.Decision

func (f told) Plan(_ context.Context, in turn.Input) (turn.Decision, error) { return f(in.Text), nil }

func TestWhatAPartChanges(t *testing.T) {
	whole := told(func(text string) turn.Decision {
		d := turn.Decision{OwnerSelection: turn.DEF, SelectedFlowID: "a", Trace: &turn.Trace{}}
		if text == "held" {
			d.Trace.Second = &turn.SecondPass{}
		}
		return d
	})
	less := told(func(text string) turn.Decision {
		d := turn.Decision{OwnerSelection: turn.DEF, SelectedFlowID: "a", Trace: &turn.Trace{}}
		switch text {
		case "family":
			d.OwnerSelection, d.SelectedFlowID = turn.FRG, "b"
		case "flow":
			d.SelectedFlowID = "b"
		case "runner":
			d.RunnerUpFamily = turn.SCH
		case "goal":
			d.Experience = &turn.ExperienceRequest{Admission: turn.Activated}
		case "steps":
			d.Steps = []turn.Step{{ID: "step_1"}}
		}
		return d
	})
	var rows []Row
	for text := range strings.FieldsSeq("same family flow runner goal steps held") {
		rows = append(rows, Row{Text: text})
	}
	d, err := Compare(t.Context(), whole, less, rows, []string{"x"})
	if want := (Difference{Rows: 7, Family: 1, Flow: 1, RunnerUp: 1, SecondPass: 1, Experience: 1, Steps: 1}); err != nil || d.Without[0] != "x" || d.Rows != want.Rows || d.Family != want.Family || d.Flow != want.Flow ||
		d.RunnerUp != want.RunnerUp || d.SecondPass != want.SecondPass || d.Experience != want.Experience || d.Steps != want.Steps {
		t.Errorf("%+v (%v), want %+v", d, err, want)
	}
}

func TestSecondPassesAreCounted(t *testing.T) {
	pass := func(first, then turn.Family) *turn.Trace {
		return &turn.Trace{Ranked: turn.RankedFlows{Owner: turn.FRG}, Main: &turn.MainPass{Family: first}, Second: &turn.SecondPass{Family: then, Changed: first != then}}
	}
	var rep FamilyReport
	for _, tc := range []struct {
		label string
		t     *turn.Trace
	}{{"FRG", pass(turn.DEF, turn.FRG)}, {"FRG", pass(turn.FRG, turn.DEF)}, {"DEF", pass(turn.DEF, turn.DEF)}, {"SCH", pass(turn.DEF, turn.FRG)}, {"DEF", &turn.Trace{}}} {
		rep.trace(Row{Family: tc.label}, tc.t)
	}
	if want := (SecondPasses{Opened: 4, Changed: 3, Mended: 1, Spoilt: 1}); rep.Second != want || rep.Prior != (Ratio{2, 5}) {
		t.Errorf("%+v, prior %v, want %+v", rep.Second, rep.Prior, want)
	}
}

// TestIntervals: of Wilson's own formula, with its known values.
func TestIntervals(t *testing.T) {
	for _, tc := range []struct {
		r         Ratio
		low, high float64
	}{{Ratio{10, 10}, 0.7225, 1}, {Ratio{0, 10}, 0, 0.2775}, {Ratio{50, 100}, 0.4038, 0.5962}, {Ratio{394, 399}, 0.9710, 0.9946}} {
		low, high, ok := tc.r.Interval()
		if !ok || math.Abs(low-tc.low) > 2e-4 || math.Abs(high-tc.high) > 2e-4 {
			t.Errorf("%v: %.4f to %.4f, want %.4f to %.4f", tc.r, low, high, tc.low, tc.high)
		}
	}
	if _, _, ok := (Ratio{}).Interval(); ok || (Ratio{}).within() != nil || (Ratio{}).Between() != "n/a" {
		t.Error("nothing has an interval")
	}
}
