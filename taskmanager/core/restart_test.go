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
		}, "failed/blocked_path", 1},
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
