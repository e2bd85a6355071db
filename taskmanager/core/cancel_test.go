package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
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
	if got := core.UrgentStops(r.s, cancel("wf_1")); len(got) != 1 || got[0].(core.Stop).Task != task {
		t.Fatalf("urgent stops %+v", got)
	}
	r.want("step_1", "dispatching") // deciding is left to the reduction
	if got := core.UrgentStops(r.s, cancel("wf_other")); len(got) != 0 {
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
