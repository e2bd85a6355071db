package scenario_test

import (
	"slices"
	"strings"
	"testing"

	"deviceagent/testbed/scenario"
)

// overTheBus are the scenarios that are played on a real bus too, each with all its variants. Source: docs/scenarios.md, over a bus.
var overTheBus = []string{"S01", "S02", "S04", "S18", "S27", "S31", "S35"}

// chosen loads the files of the families.
func chosen(t *testing.T, way scenario.Way, families []string) (out []*scenario.Scenario) {
	t.Helper()
	all, err := scenario.LoadDirOver("../scenarios", way)
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		n := len(out)
		for _, s := range all {
			if id, _, _ := strings.Cut(s.ID, "-"); id == family {
				out = append(out, s)
			}
		}
		if len(out) == n {
			t.Fatalf("no scenario %s", family)
		}
	}
	return out
}

// TestScenariosOverTheBus: the same files, the same expectations, and the robot as services on a real dbus-daemon. Each flip of an
// expectation, or of a fact, is noticed there too.
func TestScenariosOverTheBus(t *testing.T) { playOver(t, scenario.DBus) }

// TestScenariosOverAVendorsBus: the robot is one of another maker, and the catalog maps its services. Where its interface cannot tell what
// ours can, a file of its own says what comes instead, and why.
func TestScenariosOverAVendorsBus(t *testing.T) { playOver(t, scenario.Vendor) }

func playOver(t *testing.T, way scenario.Way) {
	r, err := scenario.NewRunnerOver(way)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range chosen(t, way, overTheBus) {
		t.Run(s.ID, func(t *testing.T) { holds(t, r, s) })
	}
}

// TestFaultsOverTheBus: what goes wrong between a robot and its agent on a bus, each in a file, over both.
func TestFaultsOverTheBus(t *testing.T) {
	for _, way := range []scenario.Way{scenario.DBus, scenario.Vendor} {
		r, err := scenario.NewRunnerOver(way)
		if err != nil {
			t.Fatal(err)
		}
		all, err := scenario.LoadDirOver("../scenarios/bus", way)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			t.Run(string(way)+"/"+s.ID, func(t *testing.T) { holds(t, r, s) })
		}
	}
}

// TestTheBusNeedsABus: what is done to a bus cannot be done on the socket.
func TestTheBusNeedsABus(t *testing.T) {
	s, err := scenario.Load("../scenarios/bus/F54.scn")
	if err != nil {
		t.Fatal(err)
	}
	if res := runner(t).Run(t, s); res.Err == nil || !strings.Contains(res.Err.Error(), "there is no bus") {
		t.Errorf("error %v", res.Err)
	}
}

// TestARobotThatLiesIsFoundOutOverTheBus: the same scenario with a robot that breaks its word does not hold, whatever way its words take.
func TestARobotThatLiesIsFoundOutOverTheBus(t *testing.T) {
	for _, way := range []scenario.Way{scenario.DBus, scenario.Vendor} {
		r, err := scenario.NewRunnerOver(way)
		if err != nil {
			t.Fatal(err)
		}
		for id, fault := range map[string]string{
			"S01": "setMoveTo:lie_done", "S02": "startBasicAirClear:drop_event=cleaning.completed", "S04": "startVitalSign:hang", "S18": "setMoveTo:ignore_cancel",
			"S27-restart": "setMoveTo:fail_after=1s", "S35": "drop_event=pui.cancelled",
		} {
			t.Run(string(way)+"/"+id, func(t *testing.T) {
				family, _, _ := strings.Cut(id, "-")
				all := chosen(t, way, []string{family})
				s := all[slices.IndexFunc(all, func(s *scenario.Scenario) bool { return s.ID == id })]
				if err := s.Home.Add(fault); err != nil {
					t.Fatal(err)
				}
				if res := r.Run(t, s); res.Passed() {
					t.Errorf("it holds with %s", fault)
				}
			})
		}
	}
}
