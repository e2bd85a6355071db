package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

func (r *rig) announce(ms int64) {
	r.do(core.RestartAnnounced{By: "bus uid 0", Why: "update", ForMS: ms})
}

// Between the announcement of a restart and the restart nothing begins, whoever wants it.
func TestNothingBeginsAfterARestartWasAnnounced(t *testing.T) {
	r := newRig(t)
	r.announce(60_000)
	r.wantHolders("policy:all:restart")
	r.submit(toKitchen)
	r.elsewhere()
	if len(r.dispatches()) != 0 {
		t.Fatal("dispatched all the same")
	}
	r.control("resume", "", "all", "") // whoever lets their own go on does not mean this
	r.button("pui.resumed")
	r.wantHolders("policy:all:restart")
	r.announce(0)
	r.wantHolders()
	r.elsewhere()
	if len(r.dispatches()) != 1 {
		t.Fatalf("%d dispatches after it was called off", len(r.dispatches()))
	}
}

// Not even what the robot does for its own safety starts to drive then: nobody could stop it while the robot restarts.
func TestNotEvenTheReturnOfALowBatteryBeginsBeforeARestart(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.announce(60_000)
	r.battery(12, false)
	stop := r.last().Task
	r.do(core.TaskAnswered{Task: stop, Accepted: true}, core.TaskEnded{Task: stop, Outcome: core.OutcomeDone})
	r.read("station.docked", false)
	r.wantMethods("stopCleaning") // to stop is never held back
	r.announce(0)
	r.read("station.docked", false)
	r.wantMethods("stopCleaning", "returnToStation")
}

// What is in hand is finished first: then the announcement changes nothing.
func TestARestartIsNotAnnouncedOverWhatIsInHand(t *testing.T) {
	r := newRig(t)
	r.submit(toKitchen)
	r.elsewhere()
	task := r.dispatches()[0].Task
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"called, not answered", func() {}},
		{"running", func() { r.do(core.TaskAnswered{Task: task, Accepted: true}) }},
		{"done by its word, not proven", func() { r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone}) }},
	} {
		step.do()
		r.announce(60_000)
		if n := len(r.s.Holders()); n != 0 {
			t.Fatalf("%s: %d holders", step.name, n)
		}
	}
}

// The hold of a restart ends with its time, for a restart that never comes, and with the start after it.
func TestTheHoldOfARestartEnds(t *testing.T) {
	r := newRig(t)
	r.announce(60_000)
	r.pass(59_000)
	r.wantHolders("policy:all:restart")
	r.pass(2_000)
	r.wantHolders()

	r.announce(600_000)
	r.button("pui.paused")
	r.restart("run-2")
	r.wantHolders("pui:all")
}

// What the cloud does goes on without the robot.
func TestAStepOfTheCloudDoesNotHinderARestart(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief"}]`)
	r.want("step_1", "running")
	r.announce(60_000)
	r.wantHolders("policy:all:restart")
}
