package scenario_test

import (
	"testing"

	"deviceagent/testbed/home"
	"deviceagent/testbed/scenario"
)

// S21, in part: make crash cuts at every row of more scenarios.
func TestS21_PowerCutAtEachRow(t *testing.T) {
	r := runner(t)
	for _, name := range []string{"S02", "S04"} {
		s, err := scenario.Load("../scenarios/" + name + ".scn")
		if err != nil {
			t.Fatal(err)
		}
		base, cuts, err := r.Cuts(t, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(cuts) < 12 {
			t.Fatalf("%s has %d places to cut", name, len(cuts))
		}
		for i, at := range cuts {
			if testing.Short() && i%3 != 0 {
				continue
			}
			t.Run(name+" "+at.String(), func(t *testing.T) {
				res := r.RunCut(t, s, base, at)
				for _, f := range res.Faults {
					t.Error(f)
				}
				if !res.Same {
					t.Logf("ended otherwise: %s", res.Outcome)
				}
			})
		}
	}
}

// The judge of the cuts is not blind.
func TestTheJudgeOfCutsSeesWhatIsDoneTwice(t *testing.T) {
	r := runner(t)
	move := func(task string) home.Entry {
		return home.Entry{Kind: home.KindInvoke, Method: "setMoveTo", TaskID: task, Params: map[string]any{"position": "kitchen"}}
	}
	once := []home.Entry{move("a")}
	if _, faults := r.Repeated(once, []home.Entry{move("a"), move("b")}); len(faults) != 1 {
		t.Errorf("a move twice: %v", faults)
	}
	if again, faults := r.Repeated(once, []home.Entry{move("a"), {Kind: home.KindCancel, TaskID: "a"}, move("b")}); len(faults) != 0 || len(again) != 1 {
		t.Errorf("a move again after its stop: %v %v", again, faults)
	}
	if _, faults := r.Repeated(once, []home.Entry{move("a"), {Kind: home.KindRefused, TaskID: "a"}, move("b")}); len(faults) != 0 {
		t.Errorf("the first was refused: %v", faults)
	}
	if _, faults := r.Repeated(once, []home.Entry{move("a"), {Kind: home.KindResult, TaskID: "a", Reason: "done"}, move("b")}); len(faults) != 1 {
		t.Errorf("a move again that was done: %v", faults)
	}
	if _, faults := r.Repeated(once, []home.Entry{move("a"), {Kind: home.KindResult, TaskID: "a", Reason: "failed: executor_busy"}, move("b")}); len(faults) != 0 {
		t.Errorf("a move again that has failed: %v", faults)
	}
	vital := func(task string) home.Entry {
		return home.Entry{Kind: home.KindInvoke, Method: "startVitalSign", TaskID: task}
	}
	if _, faults := r.Repeated([]home.Entry{vital("a")}, []home.Entry{vital("a"), {Kind: home.KindCancel, TaskID: "a"}, vital("b")}); len(faults) != 1 {
		t.Errorf("a measurement is never sent again: %v", faults)
	}
}
