package core_test

import (
	"fmt"
	"testing"

	"deviceagent/taskmanager/core"
)

func TestC2_NothingElseUsesWhatIsStillBeingStopped(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.accept(task)
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`)
	r.do(cancel("wf_1"))
	r.do(core.StopAnswered{Task: task, Accepted: true}) // it brakes
	r.read("movement.is_moving", true)
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches while the base is being stopped", n)
	}
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.elsewhere()
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches once it has stopped, want 2", n)
	}
}

func TestC3_WhatWasNeverAnsweredCanBeCancelled(t *testing.T) {
	for _, sealed := range []bool{true, false} {
		t.Run(fmt.Sprintf("its executor is asked and says so: %v", sealed), func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			task := r.last().Task
			r.pass(3_100)
			r.want("step_1", "outcome_unknown/ack_timeout")
			r.log = nil
			if a := r.do(cancel("wf_1")).Answers[0]; !a.Accepted {
				t.Fatalf("answer %+v", a)
			}
			r.want("step_1", "cancelling")
			if count[core.Stop](r) == 0 || count[core.Query](r) == 0 {
				t.Fatal("neither stopped nor asked, and the call may still be on its way")
			}
			if !sealed {
				r.pass(13_000)
				r.want("step_1", "cancelled/cancel_unconfirmed")
				r.wantWorkflow(core.WfCancelled)
				return
			}
			r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-1"})
			r.want("step_1", "cancelled/user_cancelled")
			r.elsewhere()
			r.offer("wf_2", "pl_2", toKitchen)
			r.elsewhere()
			if n := len(r.dispatches()); n != 1 {
				t.Fatalf("%d dispatches: what was lost blocks all that comes later", n)
			}
		})
	}
}

func TestC7_CancelAfterTheEndChangesNothing(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	r.arrive(r.last().Task, "kitchen")
	r.wantWorkflow(core.WfCompleted)
	for _, c := range []core.ControlReceived{cancel("wf_1"), {Head: core.Head{Msg: "c-2", Hash: "h"}, Verb: "cancel", Scope: "step", Target: "wf_1/step_1"}} {
		if a := r.do(c).Answers[0]; a.Accepted || a.Reason != core.ReasonAlreadyTerminal || a.State != "completed" {
			t.Errorf("%s: %+v", c.Scope, a)
		}
	}
	r.want("step_1", "completed")
	r.wantWorkflow(core.WfCompleted)
	if n := count[core.Stop](r); n != 0 {
		t.Errorf("%d stops of what has ended", n)
	}
	if n := len(r.sent(core.MsgResult)); n != 1 {
		t.Errorf("%d results", n)
	}
}

func TestC9_UnknownTargetsAreAnsweredAlways(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	before := len(r.sent(core.MsgAck))
	for i, target := range []string{"wf_none", "wf_none", "wf_none/step_1", "wf_1/step_none", "wf_none"} {
		c := core.ControlReceived{Head: core.Head{Msg: core.MessageID(fmt.Sprint("c-", i)), Hash: "h"}, Verb: "cancel", Scope: "workflow", Target: target}
		if i == 2 || i == 3 {
			c.Scope = "step"
		}
		if a := r.do(c).Answers[0]; a.Accepted || a.Reason != core.ReasonUnknownTarget {
			t.Errorf("%s: %+v", target, a)
		}
	}
	if n := len(r.sent(core.MsgAck)) - before; n != 5 {
		t.Errorf("%d answers to five cancels", n)
	}
	r.want("step_1", "dispatching")
}

func TestC10_WhatAnEndedPlanLeftRefusesNoNewOne(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","on_failure":"continue"},
	 {"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"주방"}}]`)
	clean, move := r.dispatches()[0].Task, r.dispatches()[1].Task
	r.do(core.TaskAnswered{Task: clean, Reason: core.ReasonExecutorRefused})
	r.accept(move)
	r.do(cancel("wf_1"))
	r.do(core.TaskEnded{Task: move, Outcome: core.OutcomeFailed, Reason: "blocked_path"})
	r.want("step_1", "failed", "step_2", "cancelled")
	r.wantWorkflow(core.WfCancelled)
	r.elsewhere()
	if a := r.offer("wf_2", "pl_2", toKitchen); !a.Accepted {
		t.Fatalf("answer %+v", a)
	}
	r.elsewhere()
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Dispatching {
		t.Fatalf("step is %s/%s: no task is active", st.State, st.Reason)
	}
}

func TestC12_AcceptedIsNotCancelled(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.accept(task)
	c := r.do(cancel("wf_1"))
	if a := c.Answers[0]; !a.Accepted || a.State != "cancelling" || len(a.Stopping) == 0 {
		t.Fatalf("answer %+v: the wish is taken, the base still moves", a)
	}
	if n := len(r.sent(core.MsgResult)); n != 0 {
		t.Fatal("a result before the end")
	}
	r.do(core.StopAnswered{Task: task, Accepted: true})
	r.want("step_1", "cancelling") // that it will stop is no stop either
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	if res := r.sent(core.MsgResult); len(res) != 1 || res[0].Result.Status != core.WfCancelled {
		t.Fatalf("results %+v", res)
	}
}

func TestC25_CancelBetweenTwoTriesEndsAtOnce(t *testing.T) {
	for _, tc := range []struct {
		name string
		fail func(r *rig)
		want string
	}{
		{"a declared retry waits its back-off", func(r *rig) { r.submit(retried); r.busy() }, "retry_wait/executor_busy"},
		{"a call that could not be sent waits its pace", func(r *rig) {
			r.submit(toKitchen)
			r.do(core.TaskAnswered{Task: r.last().Task, NotSent: true, Reason: core.ReasonExecutorBusy})
		}, "blocked/executor_busy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			tc.fail(r)
			r.want("step_1", tc.want)
			r.do(cancel("wf_1"))
			r.want("step_1", "cancelled/user_cancelled")
			r.wantWorkflow(core.WfCancelled)
			r.up("run-2")
			r.idle()
			r.elsewhere()
			r.pass(60_000)
			if n := len(r.dispatches()); n != 1 {
				t.Fatalf("%d dispatches: it was tried again after its cancel", n)
			}
		})
	}
}
