package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

func cancel(id string) core.ControlReceived {
	return core.ControlReceived{Head: core.Head{Msg: core.MessageID("c-" + id), Hash: "h"}, Verb: "cancel", Scope: "workflow", Target: id}
}

func TestCancelIsNeverFollowedByADispatch(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(chain)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	c := r.do(cancel("wf_1"))
	if a := c.Answers[0]; !a.Accepted || a.State != "cancelling" || len(a.Stopping) != 1 || a.Stopping[0] != "base" {
		t.Fatalf("answer %+v", a)
	}
	if len(c.Now) == 0 || c.Now[0] != (core.Stop{Task: task, Service: "home", Method: "setMoveTo"}) {
		t.Fatalf("the stop has to go at once, not after the commit: %+v", c.Now)
	}
	r.want("step_1", "cancelling", "step_2", "cancelled/user_cancelled", "step_3", "cancelled/user_cancelled")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.want("step_1", "cancelled/user_cancelled")
	r.wantWorkflow(core.WfCancelled)
	r.pass(3_600_000)
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches, want the one before the cancel", n)
	}
	if ans := r.offer("wf_1", "pl_1", chain); !ans.Accepted || len(r.dispatches()) != 1 {
		t.Fatalf("the same plan again gets the same answer and no work: %+v", ans)
	}
	if n := len(r.sent(core.MsgResult)); n != 2 {
		t.Fatalf("%d results, want the second for the repeated plan", n)
	}
	c = r.do(cancel("wf_1"))
	if a := c.Answers[0]; a.Accepted || a.Reason != core.ReasonAlreadyTerminal {
		t.Fatalf("a second cancel of an ended workflow: %+v", a)
	}
}

func TestCancelBeforeItsPlanLeavesATombstone(t *testing.T) {
	r := newRig(t)
	if a := r.do(cancel("wf_1")).Answers[0]; a.Accepted || a.Reason != core.ReasonUnknownTarget {
		t.Fatalf("answer %+v", a)
	}
	if ans := r.offer("wf_1", "pl_1", toKitchen); ans.Accepted || ans.Reason != core.ReasonAfterCancel {
		t.Fatalf("a plan after its cancel: %+v", ans)
	}
}

func TestUnconfirmedStop(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.do(core.StopAnswered{Task: task, Accepted: true}) // it will, it says
	r.want("step_1", "cancelling")
	for range 30 {
		r.read("movement.is_moving", true)
		r.pass(500)
	}
	r.want("step_1", "cancelled/cancel_unconfirmed")
	if n := count[core.Stop](r); n != 3 {
		t.Fatalf("%d stops, want 3", n)
	}
	if st := r.step("step_1"); st.Stop != "unconfirmed" {
		t.Fatalf("stop is %q", st.Stop)
	}
	r.offer("wf_2", "pl_2", toKitchen)
	if st := r.stepOf("wf_2", "step_1"); st.Reason != core.ReasonResourceBusy {
		t.Fatalf("the base is not free: %s/%s", st.State, st.Reason)
	}
}

func TestAtRestConfirmsAStop(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	for range 5 {
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.want("step_1", "cancelling") // not yet three seconds
	for range 3 {
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.want("step_1", "cancelled/user_cancelled")
}

func TestRefusedCancel(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.do(core.StopAnswered{Task: task, Refused: true})
	r.want("step_1", "running/cancel_refused")
	r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.settleAt("movement.location", "kitchen")
	r.want("step_1", "completed") // its final result wins
}

// After a power cut the stop is called once more, and refused: the task has ended. By that very cancel, or before it came?
func TestAnEndThatWasAskedForProvesNothing(t *testing.T) {
	for _, tc := range []struct {
		event   catalog.EventName
		outcome core.Outcome
		want    string
	}{
		{"vital.cancelled", core.OutcomeCancelled, "cancelled/user_cancelled"},
		{"vital.cancelled", core.OutcomeDone, "completed"}, // a person broke it off before
		{"vital.completed", core.OutcomeDone, "completed"},
	} {
		r := newRig(t)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`)
		task := r.last().Task
		r.accept(task)
		r.do(cancel("wf_1"))
		r.do(core.Started{StartNo: 2})
		r.up("run-1")
		r.do(core.StopAnswered{Task: task, Refused: true, Reason: "already_ended"})
		r.do(core.TaskStatus{Task: task, Known: core.KnownEnded, Instance: "run-1", Ended: &core.TaskEnded{Task: task, Outcome: tc.outcome},
			Event: &core.Observed{Event: tc.event, Task: task, Class: catalog.Independent}})
		r.want("step_1", tc.want)
	}
}

func TestStopWaitsForNobody(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	move := r.last().Task // the executor hangs: no answer at all
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"stopMovement"}]`)
	d := r.last()
	if d.Method != "stopMovement" {
		t.Fatalf("dispatched %s", d.Method)
	}
	if _, ok := r.ch.Now[0].(core.Dispatch); !ok {
		t.Fatalf("a stop need not wait for the disk: %+v", r.ch.Now)
	}
	r.want("step_1", "cancelling/user_cancelled") // a person's stop cancels what it stops
	if r.stepOf("wf_2", "step_1").State != core.Dispatching {
		t.Fatal("the stop itself goes on")
	}
	r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: move, Outcome: core.OutcomeCancelled})
	r.do(core.Observed{Event: "movement.stopped", Task: move, Source: "home"})
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Completed {
		t.Fatalf("stop is %s/%s", st.State, st.Reason)
	}
	r.wantWorkflow(core.WfCancelled)
}

func TestButtonOnTheRobotCancels(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(chain)
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.do(core.Observed{Event: "pui.cancelled", Source: "home"})
	r.want("step_1", "cancelling/pui_cancelled", "step_2", "cancelled/pui_cancelled")
	if count[core.Stop](r) != 1 {
		t.Fatal("no stop")
	}
}

func TestUrgentStops(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	if got := core.UrgentStops(r.s, r.now, cancel("wf_1")); len(got) != 1 || got[0].(core.Stop).Task != task {
		t.Fatalf("urgent stops %+v", got)
	}
	r.want("step_1", "dispatching") // deciding is left to the reduction
	if got := core.UrgentStops(r.s, r.now, cancel("wf_other")); len(got) != 0 {
		t.Fatalf("urgent stops of another workflow: %+v", got)
	}
}

func TestCancelAll(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	sent := r.now.WallMS
	r.do(core.ControlReceived{Head: core.Head{Msg: "c1", SentMS: sent}, Verb: "cancel", Scope: "all"})
	r.want("step_1", "cancelling")
	ev := r.planEvent("wf_2", "pl_2", toKitchen).(core.PlanSubmitted)
	ev.SentMS = sent - 1
	if a := r.do(ev).Answers[0]; a.Reason != core.ReasonCancelledBefore {
		t.Fatalf("a plan sent before: %+v", a)
	}
	ev.SentMS = sent + 1
	if a := r.do(ev).Answers[0]; !a.Accepted {
		t.Fatalf("a plan sent later: %+v", a)
	}
}

// S38: the button stops what was said before it, though it had not arrived, and nothing that is said after it.
func TestTheCancelButtonRefusesWhatWasSentBeforeIt(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	pressed := r.now.WallMS
	if c := r.do(core.Observed{Event: "pui.cancelled", Source: "home"}); !c.Must {
		t.Error("a cut could forget the button, and the plan would move the robot")
	}
	r.pass(1000)
	ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
	ev.SentMS = pressed - 1
	if a := r.do(ev).Answers[0]; a.Reason != core.ReasonCancelledBefore {
		t.Fatalf("a plan sent before: %+v", a)
	}
	ev.SentMS = pressed + 1
	if a := r.do(ev).Answers[0]; !a.Accepted {
		t.Fatalf("a plan sent later: %+v", a)
	}
}

func TestSupersededControl(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	c := cancel("wf_1")
	c.Seq = 7
	r.do(c)
	c.Msg, c.Seq = "c-2", 6
	if a := r.do(c).Answers[0]; a.Reason != core.ReasonSuperseded {
		t.Fatalf("an older control: %+v", a)
	}
}

func TestAnswerToATaskThatIsBeingStopped(t *testing.T) {
	const screen = `[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"brightness":50}}]`
	for _, tc := range []struct {
		name string
		ev   core.TaskAnswered
	}{
		{"it refuses", core.TaskAnswered{Reason: core.ReasonExecutorRefused}},
		{"it was never sent", core.TaskAnswered{NotSent: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.submit(screen)
			task := r.last().Task
			r.do(cancel("wf_1"))
			r.want("step_1", "cancelling")
			tc.ev.Task = task
			r.do(tc.ev)
			r.want("step_1", "cancelled/user_cancelled")
			r.offer("wf_2", "pl_2", screen)
			if n := len(r.dispatches()); n != 2 {
				t.Fatalf("%d dispatches: the screen is not free", n)
			}
		})
	}
}

func TestAStopIsRefusedForATaskThatNeverBegan(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(cancel("wf_1"))
	if count[core.Query](r) == 0 {
		t.Fatal("a call that may be on its way has to be sealed")
	}
	r.do(core.StopAnswered{Task: task, Refused: true, Reason: "task_unknown"})
	r.want("step_1", "cancelling") // it was never accepted: there is nothing to go on
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-1"})
	r.want("step_1", "cancelled/user_cancelled")
}

func TestARefusedStopIsNoRest(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.do(core.StopAnswered{Task: task, Refused: true})
	for range 10 { // it waits at a door
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	if a := r.wf("wf_1").Attempts[0]; a.State != core.Live {
		t.Fatalf("the task is %s: it goes on, and will move", a.State)
	}
}

func TestForgottenAfterARefusedStopIsNeverSentAgain(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setVolume","params":{"level":60}},{"cloud_step_id":"step_2","taskMethod":"startVitalSign"}]`)
	task := r.dispatches()[0].Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.ControlReceived{Head: core.Head{Msg: "c", Hash: "h"}, Verb: "cancel", Scope: "step", Target: "wf_1/step_1"})
	r.do(core.StopAnswered{Task: task, Refused: true})
	r.want("step_1", "running/cancel_refused")
	r.up("run-2")
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-2"})
	r.want("step_1", "cancelled")
	r.pass(600_000)
	for _, d := range r.dispatches()[2:] {
		if d.Method == "setVolume" {
			t.Fatal("dispatched after its cancel")
		}
	}
}

func TestACallOnItsWayIsNotAtRest(t *testing.T) {
	rest := func(r *rig) {
		for range 8 {
			r.read("movement.is_moving", false)
			r.pass(500)
		}
	}
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(cancel("wf_1"))
	rest(r)
	r.want("step_1", "cancelling") // the call may still arrive, and the wheels begin to turn
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true})
	rest(r)
	r.want("step_1", "cancelled/user_cancelled")
}

func TestStopAndDispatchInOneDecision(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.do(core.ExecutorDown{Service: "home"})
	r.offer("wf_1", "pl_1", toKitchen)
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"stopMovement"}]`)
	r.log = nil
	r.up("run-1") // both may go now, and the second is a stop of what the first would begin
	for _, d := range r.dispatches() {
		if d.Method == "setMoveTo" {
			t.Fatal("dispatched what the same decision stops")
		}
	}
	r.want("step_1", "cancelled/user_cancelled")
}

func TestCancelAllStopsWhatAnEndedPlanLeftRunning(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("cleaning.started", task, nil)
	r.wantWorkflow(core.WfCompleted) // and the air is cleaned for an hour
	all := core.ControlReceived{Head: core.Head{Msg: "c1", Hash: "h"}, Verb: "cancel", Scope: "all"}
	if got := core.UrgentStops(r.s, r.now, all); len(got) != 1 {
		t.Fatalf("urgent stops %+v", got)
	}
	if a := r.do(all).Answers[0]; len(a.Stopping) != 1 || count[core.Stop](r) != 1 {
		t.Fatalf("answer %+v, %d stops", a, count[core.Stop](r))
	}
	if r.s.Tombs["wf_1"] != core.ReasonNone {
		t.Fatal("a tombstone for a plan that had ended")
	}
}

func TestUrgentStopsOfASpokenStop(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	ev := r.planEvent("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"stopMovement"}]`)
	if got := core.UrgentStops(r.s, r.now, ev); len(got) != 1 || got[0].(core.Stop).Task != task {
		t.Fatalf("urgent stops %+v", got)
	}
	later := r.planEvent("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"},{"cloud_step_id":"step_2","taskMethod":"stopMovement","depends_on":["step_1"]}]`)
	if core.StopsSomething(later) || len(core.UrgentStops(r.s, r.now, later)) != 0 {
		t.Fatal("a stop that waits for something is not urgent")
	}
	r.do(cancel("wf_2"))
	if got := core.UrgentStops(r.s, r.now, ev); len(got) != 0 {
		t.Fatalf("a plan that is refused stops %+v", got)
	}
}

func TestAStopThatIsNeverConfirmedIsNotForgotten(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`) // nothing shows that it rests
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.do(core.ExecutorDown{Service: "home"})
	r.up("run-1")
	r.pass(60_000)
	r.want("step_1", "cancelled/cancel_unconfirmed")
	r.log = nil
	r.pass(120_000)
	if n := count[core.Query](r); n < 5 || n > 20 {
		t.Fatalf("%d questions in two minutes, want some six a minute", n)
	}
	if r.ch.Must {
		t.Fatal("asking again writes to the disk")
	}
	r.do(core.TaskStatus{Task: task, Known: core.KnownEnded, Ended: &core.TaskEnded{Outcome: core.OutcomeCancelled}})
	if at := r.s.NextWake(); at != 0 {
		t.Fatalf("it wakes at %d for nothing", at)
	}
}

func TestWhatIsNoRest(t *testing.T) {
	read := func(r *rig, class catalog.Class, times int) {
		for range times {
			r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "movement.is_moving", Value: false, Class: class, Available: true}}})
			r.pass(500)
		}
	}
	for _, tc := range []struct {
		name string
		do   func(r *rig)
		want string
	}{
		{"it stood still before the stop", func(r *rig) {
			read(r, catalog.Independent, 8)
			r.do(cancel("wf_1"))
			read(r, catalog.Independent, 2)
		}, "cancelling"},
		{"its own executor says that it rests", func(r *rig) { r.do(cancel("wf_1")); read(r, catalog.SamePath, 8) }, "cancelling"},
		{"a sensor sees it rest", func(r *rig) { r.do(cancel("wf_1")); read(r, catalog.Independent, 8) }, "cancelled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
			tc.do(r)
			r.want("step_1", tc.want)
		})
	}
}

func TestOwnStopContradictsNothing(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.event("movement.failed", task, nil) // of course it did not get there
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	if e := r.step("step_1").Effects[0]; e.State == core.EffectContradicted {
		t.Fatalf("effect %+v", e)
	}
}

func TestEndIsFoundAfterARefusedStop(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.do(core.StopAnswered{Task: task, Refused: true})
	r.log = nil
	r.pass(130_000)
	if count[core.Query](r) == 0 {
		t.Fatal("nothing bounds it, and nobody asks whether it has ended")
	}
}

func TestOneResultOfAPlanThatIsRepeatedAsItEnds(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Reason: core.ReasonExecutorRefused})
	r.now.Boot += 120_000 // nobody has decided: it ends in the batch that brings the plan again
	r.do(r.planEvent("wf_1", "pl_1", toKitchen))
	if n := len(r.sent(core.MsgResult)); n != 1 {
		t.Fatalf("%d results", n)
	}
}

// The stop may pass the call on its way: the executor takes the task, refuses the stop, and never says anything again. The step has its
// timeout all the same.
func TestRefusedStopOfATaskThatWasNotAnsweredYet(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.ControlReceived{Head: core.Head{Msg: "c-1", Hash: "h"}, Verb: "cancel", Scope: "step", Target: "wf_1/step_1"})
	r.want("step_1", "cancelling")
	r.accept(task)
	r.do(core.StopAnswered{Task: task, Refused: true})
	r.want("step_1", "running/cancel_refused")
	r.pass(179_000)
	r.want("step_1", "running/cancel_refused")
	r.pass(2_000)
	r.want("step_1", "timed_out/step_timeout")
}
