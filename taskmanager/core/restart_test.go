package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// restart plays the end and the new start of the process; the service comes back with the given instance.
func (r *rig) restart(instance string) {
	r.do(core.Started{StartNo: r.s.Device.StartNo + 1})
	r.up(instance)
}

// reboot plays a restart of the machine after so long.
func (r *rig) reboot(boot string, offMS int64) {
	r.now.Boot, r.now.BootID, r.now.WallMS = 5_000, boot, r.now.WallMS+offMS
	r.do(core.Started{StartNo: r.s.Device.StartNo + 1})
}

func TestRestartAsksBeforeItRepeats(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status func(task core.TaskID) core.TaskStatus
		want   string
		calls  int
	}{
		{"it still runs", func(task core.TaskID) core.TaskStatus {
			return core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"}
		}, "running", 1},
		{"it arrived meanwhile", func(task core.TaskID) core.TaskStatus {
			return core.TaskStatus{Task: task, Known: core.KnownEnded, Instance: "run-1", Ended: &core.TaskEnded{Task: task, Outcome: core.OutcomeDone},
				Event: &core.Observed{Event: "movement.arrived", Task: task, Source: "home", Data: core.Values{"room_id": "kitchen"}}}
		}, "completed", 1},
		{"it failed meanwhile", func(task core.TaskID) core.TaskStatus {
			return core.TaskStatus{Task: task, Known: core.KnownEnded, Ended: &core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: "blocked_path"}}
		}, "blocked/blocked_path", 1},
		{"it never ran", func(task core.TaskID) core.TaskStatus {
			return core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-1"}
		}, "dispatching", 2},
		{"no answer", func(task core.TaskID) core.TaskStatus {
			return core.TaskStatus{Task: task, Known: core.KnownNoAnswer}
		}, "outcome_unknown", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			task := r.last().Task
			if tc.want != "dispatching" {
				r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			}
			r.restart("run-1")
			r.want("step_1", "outcome_unknown")
			if count[core.Query](r) == 0 {
				t.Fatal("nobody asked")
			}
			r.read("battery.level", 80.0)
			r.do(tc.status(task))
			switch tc.want {
			case "completed":
				r.settleAt("movement.location", "kitchen")
				if ev := r.step("step_1").Effects[0].Evidence; !ev[0].Recovered {
					t.Fatalf("evidence %+v is not marked recovered", ev)
				}
			case "dispatching":
				r.elsewhere()
			}
			r.want("step_1", tc.want)
			if n := len(r.dispatches()); n != tc.calls {
				t.Fatalf("%d dispatches, want %d", n, tc.calls)
			}
		})
	}
}

func TestRestartKeepsTheDelay(t *testing.T) {
	for _, tc := range []struct {
		name    string
		bootID  string
		offWall int64 // by the wall clock
		trusted bool
		left    int64
	}{
		{"the process alone", "boot-1", 5_000, true, 15_000},
		{"a reboot with a trusted clock", "boot-2", 5_000, true, 15_000},
		{"a reboot without one: late, never early", "boot-2", 5_000, false, 20_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"},
			 {"cloud_step_id":"step_2","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`)
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			r.event("air.measured", task, core.Values{"pm25": 3.0, "grade": "good"})
			r.want("step_2", "waiting")
			r.pass(10_000)
			r.do(core.Tick{}) // the last commit
			if tc.bootID == "boot-1" {
				r.now.Boot += core.Instant(tc.offWall)
			} else {
				r.now.Boot = 2_000
			}
			r.now.BootID, r.now.Trusted = tc.bootID, tc.trusted
			r.now.WallMS += tc.offWall
			r.restart("run-2")
			if left := int64(r.step("step_2").Due - r.now.Boot); left != tc.left {
				t.Fatalf("%d ms left, want %d", left, tc.left)
			}
		})
	}
}

func TestRestartStopsAgain(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.log = nil
	r.restart("run-1")
	r.want("step_1", "cancelling")
	if count[core.Stop](r) == 0 {
		t.Fatal("a stop that nobody confirmed has to be called again")
	}
	if len(r.dispatches()) != 0 {
		t.Fatal("dispatched after a cancel")
	}
}

func TestServiceGoneAndBack(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.ExecutorDown{Service: "home"})
	r.want("step_1", "outcome_unknown")
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"setVolume","params":{"level":5}}]`)
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Blocked || st.Reason != core.ReasonExecutorUnavail {
		t.Fatalf("without its service a step is %s/%s", st.State, st.Reason)
	}
	r.up("run-1")
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"})
	r.want("step_1", "running")
	r.read("sound.volume", 50.0)
	r.read("sound.muted", false)
	r.pass(3_000) // what else it would need is not read: it is dispatched
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Dispatching {
		t.Fatalf("with its service back it is %s/%s", st.State, st.Reason)
	}
}

func TestNothingIsAskedInALoop(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "battery.level"}}}) // not available
	r.submit(toKitchen)
	r.want("step_1", "blocked/context_missing")
	r.log = nil
	for range 50 { // each answer comes at once, and has nothing
		r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "battery.level"}}})
	}
	if n := count[core.Read](r); n != 0 {
		t.Fatalf("%d reads in one moment", n)
	}
	r.pass(2_000)
	if n := count[core.Read](r); n < 3 || n > 5 {
		t.Fatalf("%d reads in two seconds, want one each half second", n)
	}
}

func TestTurnedAwayIsTriedAtAPace(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	for range 20 {
		r.do(core.TaskAnswered{Task: r.last().Task, NotSent: true, Reason: core.ReasonExecutorBusy})
	}
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches in one moment", n)
	}
	r.want("step_1", "blocked/executor_busy")
	r.elsewhere()
	r.pass(600)
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches after a pause, want 2", n)
	}
	r.do(core.TaskAnswered{Task: r.last().Task, NotSent: true, Reason: core.ReasonExecutorUnavail})
	r.elsewhere()
	r.up("run-2")
	if n := len(r.dispatches()); n != 3 {
		t.Fatalf("%d dispatches after the service came anew, want 3", n)
	}
}

func TestAcceptedAndThenUnknownIsNotTakenForNotRun(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-1"})
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches: a task that was accepted may have moved", n)
	}
}

func TestInstantsOfAnotherBootFireNothing(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"},
	 {"cloud_step_id":"step_2","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("air.measured", task, core.Values{"pm25": 3.0, "grade": "good"})
	r.now.Boot, r.now.BootID, r.now.Trusted = r.now.Boot+500_000, "boot-2", false // it starts late in a boot without a clock
	r.restart("run-1")
	r.want("step_2", "waiting")
	r.pass(29_000)
	r.want("step_2", "waiting")
	r.pass(2_000)
	r.want("step_2", "dispatching")
}

func TestNoInstantBecomesNever(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"},
	 {"cloud_step_id":"step_2","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("air.measured", task, core.Values{"pm25": 3.0, "grade": "good"})
	r.now.WallMS += 31_000
	r.now.Boot, r.now.BootID = 1_000, "boot-2" // the delay ended in the very moment 0 of this boot
	r.restart("run-1")
	r.pass(10)
	r.want("step_2", "dispatching")
}

func TestHumanPacedIsBoundByNothing(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.restart("run-1")
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"})
	r.log = nil
	r.pass(600_000)
	r.want("step_1", "running") // the person takes their time
	if n := count[core.Query](r); n < 5 || n > 11 {
		t.Fatalf("%d questions in ten minutes: an end that was lost has to be found, at leisure", n)
	}
}

func TestLostTaskWithoutASensorIsGivenUpWithItsService(t *testing.T) {
	const screen = `[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"brightness":50},"timeout_ms":1000}]`
	r := newRig(t)
	r.submit(screen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.pass(20_000)
	r.want("step_1", "blocked")
	r.undecided()
	r.want("step_1", "timed_out")
	r.up("run-2")
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-2"})
	r.offer("wf_2", "pl_2", screen)
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches: the screen is taken for ever", n)
	}
}

func TestRestOfATaskThatWasOnlyLost(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	for range 8 { // it sets out slowly
		r.read("cleaning.is_running", false)
		r.pass(500)
	}
	r.event("cleaning.started", task, nil)
	r.read("cleaning.is_running", false)
	r.want("step_1", "completed")
	if a := r.wf("wf_1").Attempts[0]; a.State == core.Ended {
		t.Fatal("standing still before it began is not its end")
	}
}

func TestEndOfAnOwnStopOfTheUnknown(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.up("run-2")
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-2"}) // it may still move: stop it first
	if count[core.Stop](r) != 1 {
		t.Fatal("not stopped")
	}
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.elsewhere()
	r.want("step_1", "dispatching")
}

func TestHoldsStandsInForALostEvent(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.restart("run-1")
	r.do(core.TaskStatus{Task: task, Known: core.KnownEnded, Ended: &core.TaskEnded{Outcome: core.OutcomeDone}})
	for range 4 {
		r.read("movement.location", "kitchen")
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.want("step_1", "completed")
	for _, ev := range r.step("step_1").Effects[0].Evidence {
		if !ev.Recovered {
			t.Fatalf("not marked: %+v", ev)
		}
	}
	r = newRig(t) // said while we listened: then the event is missing, and nothing stands in for it
	r.elsewhere()
	r.submit(toKitchen)
	task = r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	for range 4 {
		r.read("movement.location", "kitchen")
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.want("step_1", "verifying")
}

func TestLostEndIsFoundWhenSomebodyNeedsIt(t *testing.T) {
	r := newRig(t)
	const screen = `[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"brightness":50}}]`
	r.submit(screen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.offer("wf_2", "pl_2", screen)
	r.event("display.changed", task, core.Values{"brightness": 50.0})
	r.want("step_1", "completed") // and that the call has ended was not heard
	if n := count[core.Query](r); n != 0 {
		t.Fatalf("%d questions: the executor is about to say it by itself", n)
	}
	r.pass(600)
	if count[core.Query](r) == 0 {
		t.Fatal("nobody asks for the task that holds the screen")
	}
	r.do(core.TaskStatus{Task: task, Known: core.KnownEnded, Ended: &core.TaskEnded{Outcome: core.OutcomeDone}})
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches, want 2", n)
	}
}

func TestHoldDispatchesNothing(t *testing.T) {
	r := newRig(t)
	r.s.Hold = true
	r.elsewhere()
	r.submit(toKitchen)
	r.pass(600_000)
	if len(r.dispatches()) != 0 {
		t.Fatal("dispatched")
	}
	r.want("step_1", "queued")
	if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); why[0].Kind != "hold" {
		t.Fatalf("why: %+v", why)
	}
}

func TestNextMark(t *testing.T) {
	r := newRig(t)
	if at := r.s.NextMark(r.now.Boot); at != 0 {
		t.Fatalf("a mark at %d, and nothing waits", at)
	}
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startVitalSign","wait_policy":"submitted"},
	 {"cloud_step_id":"step_2","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":10000000}]`)
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	if at := r.s.NextMark(r.now.Boot) - r.now.Boot; at != 200_000 {
		t.Fatalf("the next mark after %d ms, want 2 %% of what is left", at)
	}
	due := r.step("step_2").Due
	if at := r.s.NextMark(due - 100_000); at != due-40_000 {
		t.Fatalf("the next mark %d ms before the end, want 40000", due-at)
	}
}

func TestWallClockThatJumpsOverARestart(t *testing.T) {
	for _, tc := range []struct {
		name   string
		bootID string
		jump   int64
		left   int64
	}{
		{"in one boot only the boot clock counts", "boot-1", 3_600_000, 19_000},
		{"a clock that went back makes nothing later", "boot-2", -3_600_000, 20_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"},
			 {"cloud_step_id":"step_2","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`)
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			r.event("air.measured", task, core.Values{"pm25": 3.0, "grade": "good"})
			r.pass(10_000)
			r.do(core.Tick{})
			r.now.Boot += 1_000
			r.now.WallMS += tc.jump
			r.now.BootID = tc.bootID
			r.restart("run-1")
			if left := int64(r.step("step_2").Due - r.now.Boot); left != tc.left {
				t.Fatalf("%d ms left, want %d", left, tc.left)
			}
		})
	}
}

func TestTimeoutGoesOnInTheNextBoot(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.pass(10_000)
	r.do(core.Tick{})
	r.now.Boot, r.now.BootID, r.now.WallMS = 2_000, "boot-2", r.now.WallMS+5_000
	r.restart("run-1")
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"})
	if left := r.step("step_1").Due - r.now.Boot; left != 165_000 {
		t.Fatalf("%d ms of the timeout left, want 165000", left)
	}
}

func TestWallClockOfTheLastCommitWasWrong(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"},
	 {"cloud_step_id":"step_2","taskMethod":"getBatteryStatus","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`)
	task := r.last().Task
	r.now.Trusted, r.now.WallMS = false, 1_000 // it boots in 1970
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("air.measured", task, core.Values{"pm25": 3.0, "grade": "good"})
	r.now.Boot, r.now.BootID, r.now.Trusted, r.now.WallMS = 2_000, "boot-2", true, 1_800_000_000_000
	r.restart("run-1")
	if left := r.step("step_2").Due - r.now.Boot; left != 30_000 {
		t.Fatalf("%d ms left: the time off is not known", left)
	}
}

func TestEffectIsLookedForBeforeItIsSentAgain(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.up("run-2")
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-2"})
	for range 14 { // it had arrived when it was forgotten
		r.read("movement.location", "kitchen")
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.want("step_1", "satisfied")
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
}

func TestARestartForgetsEveryReading(t *testing.T) {
	r := newRig(t)
	r.restart("run-1")
	r.elsewhere()
	r.submit(toKitchen)
	r.want("step_1", "blocked/context_missing") // the battery may have been read years ago
}

func TestANewStoreStopsTheBodyOnce(t *testing.T) {
	stops := func(r *rig) (out []core.Dispatch) {
		for _, d := range r.dispatches() {
			if d.Method == "stopMovement" {
				out = append(out, d)
			}
		}
		return out
	}
	r := newRig(t)
	r.do(core.Started{StartNo: 2, Fresh: true}) // what an earlier store had begun may still move
	r.up("run-1")
	if n := len(stops(r)); n != 1 {
		t.Fatalf("%d stops, want 1", n)
	}
	r.do(core.TaskAnswered{Task: stops(r)[0].Task, Unknown: true})
	r.restart("run-1") // it was not answered: neither a restart nor the loss of the call makes it forgotten
	if n := len(stops(r)); n != 2 {
		t.Fatalf("%d stops, want another", n)
	}
	r.do(core.TaskAnswered{Task: stops(r)[1].Task, Accepted: true})
	r.restart("run-2")
	if n := len(stops(r)); n != 2 {
		t.Fatalf("%d stops, want no more", n)
	}
}

// That stop and a plan that waits for the robot meet in the moment at which its service appears. What moves the body waits for the answer:
// it would be stopped by that stop, or overtake it.
func TestNothingMovesWhileANewStoreStopsTheBody(t *testing.T) {
	for name, answer := range map[string]func(*rig, core.TaskID){
		"taken":   func(r *rig, id core.TaskID) { r.do(core.TaskAnswered{Task: id, Accepted: true}) },
		"refused": func(r *rig, id core.TaskID) { r.do(core.TaskAnswered{Task: id, Reason: core.ReasonExecutorRefused}) },
		"lost":    func(r *rig, id core.TaskID) { r.do(core.TaskAnswered{Task: id, Unknown: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.do(core.ExecutorDown{Service: "home"})
			r.do(core.Started{StartNo: 2, Fresh: true})
			r.elsewhere()
			r.idle()
			r.submit(toKitchen)
			r.up("run-1")
			r.elsewhere()
			r.idle()
			if d := r.last(); d.Method != "stopMovement" {
				t.Fatalf("%s goes out beside the stop", d.Method)
			}
			r.want("step_1", "queued/resource_busy")
			answer(r, r.last().Task)
			if d := r.last(); d.Method != "setMoveTo" {
				t.Fatalf("after the answer comes %s, want setMoveTo", d.Method)
			}
		})
	}
}

// The stop has taken, the power goes before anybody hears of it, and a robot that is told to stop once more has nothing to stop: the step
// was cancelled by the user, and not stopped from outside.
func TestAStopThatTookBeforeTheRestartIsACancel(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.want("step_1", "cancelling")
	r.restart("run-1")
	r.do(core.StopAnswered{Task: task, Refused: true})
	r.do(core.TaskStatus{Task: task, Known: core.KnownEnded, Instance: "run-1", Ended: &core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled}})
	r.want("step_1", "cancelled/user_cancelled")
	if st := r.step("step_1"); st.Stop != "confirmed" {
		t.Errorf("the stop counts as %q", st.Stop)
	}
}

// Found by cutting the power at each row: after a reboot the age of a proof was counted from another boot's clock, and came out negative.
func TestAProofKeepsItsAgeOverAReboot(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"step_2","taskMethod":"startVitalSign","depends_on":["step_1"]}]`)
	r.arrive(r.last().Task, "kitchen")
	r.want("step_1", "completed")
	age := r.now.Boot - r.step("step_1").Effects[0].Evidence[0].At
	r.now.Boot, r.now.BootID = 30_000, "boot-2" // at once, by a clock that can be trusted
	r.do(core.Started{StartNo: 2})
	for _, e := range r.step("step_1").Effects[0].Evidence {
		if got := r.now.Boot - e.At; got < 0 || e.Leaf == r.step("step_1").Effects[0].Evidence[0].Leaf && got != age {
			t.Errorf("%s%s is %d ms old, was %d", e.Event, e.Key, got, age)
		}
	}
}
