package core_test

import (
	"fmt"
	"testing"

	"deviceagent/taskmanager/core"
)

func TestB1_EventBeforeTheAnswerIsNotMissed(t *testing.T) {
	t.Run("proof", func(t *testing.T) {
		r := newRig(t)
		r.elsewhere()
		r.submit(toKitchen)
		task := r.last().Task
		r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
		r.want("step_1", "dispatching")
		r.accept(task)
		r.settleAt("movement.location", "kitchen")
		r.want("step_1", "completed")
	})
	t.Run("wait_event", func(t *testing.T) {
		r := newRig(t)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"event","required_effects":["air_cleaning_completed"]},
		 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":["step_1"]}]`)
		task := r.last().Task
		r.event("cleaning.started", task, nil)
		r.accept(task)
		r.want("step_1", "running", "step_2", "dispatching")
	})
}

func TestB2_ARepeatedTriggerSatisfiesNoWait(t *testing.T) {
	const clean = `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"event","required_effects":["air_cleaning_completed"]},
	 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":["step_1"]}]`
	r := newRig(t)
	r.offer("wf_0", "pl_0", `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]}]`)
	before := r.last().Task
	r.accept(before)
	r.event("cleaning.started", before, nil)
	r.event("cleaning.completed", before, nil)
	r.do(core.TaskEnded{Task: before, Outcome: core.OutcomeDone})
	r.submit(clean)
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", before, nil) // of the task before, once more
	r.submit(clean)                          // and the plan, once more
	r.want("step_1", "running", "step_2", "pending")
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches, want one of each plan", n)
	}
	r.event("cleaning.started", task, nil)
	r.want("step_2", "dispatching")
}

func TestB3_ResultBeforeTheAnswerIsNotLost(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.want("step_1", "verifying")
	r.accept(task) // late, and of a task that has ended
	r.want("step_1", "verifying")
	if a := r.wf("wf_1").Attempts[0]; a.State != core.Ended {
		t.Fatalf("the task is %s again", a.State)
	}
	r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
	r.settleAt("movement.location", "kitchen")
	r.want("step_1", "completed")
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
}

func TestB6_EachOfTwoPlansAtOnceIsAnsweredOnce(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	c := r.do(r.planEvent("wf_1", "pl_1", toKitchen), r.planEvent("wf_2", "pl_2", toKitchen))
	for i, a := range c.Answers {
		if a == nil || !a.Accepted || string(a.Workflow) != fmt.Sprintf("wf_%d", i+1) {
			t.Fatalf("answer %d: %+v", i, a)
		}
	}
	if n := len(r.sent(core.MsgAck)); n != 2 {
		t.Fatalf("%d acks, want one a plan", n)
	}
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Queued || st.Reason != core.ReasonResourceBusy {
		t.Fatalf("the second is %s/%s", st.State, st.Reason)
	}
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d moves at once", n)
	}
}

func TestF25_ShuffledRevisionsChangeNothingUnderWay(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	for _, tc := range []struct {
		revision int64
		want     core.Reason
	}{{1, core.ReasonNone}, {0, core.ReasonOutdatedRevision}, {3, core.ReasonNone}, {2, core.ReasonOutdatedRevision}, {3, core.ReasonNone}, {1, core.ReasonOutdatedRevision}} {
		if a := r.revise(tc.revision, "", toKitchen); a.Reason != tc.want || a.Accepted != (tc.want == core.ReasonNone) {
			t.Fatalf("revision %d: %+v, want %q", tc.revision, a, tc.want)
		}
	}
	if wf := r.wf("wf_1"); wf.Plan.Revision != 3 || len(r.dispatches()) != 1 {
		t.Fatalf("revision %d, %d dispatches, want the highest and one", wf.Plan.Revision, len(r.dispatches()))
	}
}

func TestF27_CancelAgainstCompletion(t *testing.T) {
	proof := func(r *rig, task core.TaskID) []core.Event {
		return []core.Event{core.TaskEnded{Task: task, Outcome: core.OutcomeDone}, core.Observed{Event: "cleaning.completed", Task: task, Source: "home"}}
	}
	for _, tc := range []struct {
		name        string
		cancelFirst bool
		accepted    bool
		end         core.WorkflowState
	}{
		{"the proof comes first", false, false, core.WfCompleted},
		{"the cancel comes first", true, true, core.WfCancelled},
	} {
		for _, batch := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in one batch: %v", tc.name, batch), func(t *testing.T) {
				r := newRig(t)
				r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]}]`)
				task := r.last().Task
				r.accept(task)
				evs := append(proof(r, task), cancel("wf_1"))
				if tc.cancelFirst {
					evs = append([]core.Event{cancel("wf_1")}, proof(r, task)...)
				}
				var answer *core.Answer
				note := func(c core.Change) {
					for _, a := range c.Answers {
						if a != nil {
							answer = a
						}
					}
				}
				if batch {
					note(r.do(evs...))
				} else {
					for _, ev := range evs {
						note(r.do(ev))
					}
				}
				if answer.Accepted != tc.accepted || !tc.accepted && (answer.Reason != core.ReasonAlreadyTerminal || answer.State != string(tc.end)) {
					t.Errorf("answer %+v", answer)
				}
				r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled}) // whatever is said afterwards
				r.wantWorkflow(tc.end)
				if res := r.sent(core.MsgResult); len(res) != 1 || res[0].Result.Status != tc.end {
					t.Errorf("results %+v", res)
				}
			})
		}
	}
}

func TestF36_MorePlansThanTheDeviceHolds(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	for i := range 256 {
		if a := r.offer(fmt.Sprintf("wf_%d", i), fmt.Sprintf("pl_%d", i), toKitchen); !a.Accepted {
			t.Fatalf("plan %d: %+v", i, a)
		}
	}
	one := r.planEvent("wf_more", "pl_more", toKitchen)
	c := r.do(one)
	if a := c.Answers[0]; a.Accepted || a.Reason != core.ReasonLimit {
		t.Fatalf("answer %+v", a)
	}
	if len(c.Remember) != 0 {
		t.Fatal("what may be accepted later is remembered as refused")
	}
	r.do(cancel("wf_7"))
	if a := r.do(one).Answers[0]; !a.Accepted {
		t.Fatalf("with room again: %+v", a)
	}
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
}

func TestF57_RepeatedResultsAndProgressAfterTheEnd(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.arrive(task, "kitchen")
	r.want("step_1", "completed")
	sent := len(r.out)
	for _, ev := range []core.Event{core.TaskEnded{Task: task, Outcome: core.OutcomeDone}, core.TaskEnded{Task: task, Outcome: core.OutcomeFailed},
		core.TaskProgress{Task: task}, core.TaskAnswered{Task: task}} {
		if c := r.do(ev); c.Ignored != 1 || c.Must || len(c.Moves) != 0 {
			t.Errorf("%T: %d ignored, %d moves, commit %v", ev, c.Ignored, len(c.Moves), c.Must)
		}
	}
	r.want("step_1", "completed")
	r.wantWorkflow(core.WfCompleted)
	if len(r.out) != sent {
		t.Errorf("%d messages up, want %d", len(r.out), sent)
	}
}

func TestF59_WordsOfForeignTasksMoveNothing(t *testing.T) {
	for _, ev := range []core.Event{core.TaskAnswered{Task: "t-foreign"}, core.TaskEnded{Task: "t-foreign", Outcome: core.OutcomeFailed}, core.StopAnswered{Task: "t-foreign", Accepted: true},
		core.TaskStatus{Task: "t-foreign", Known: core.KnownNot, Sealed: true}, core.Observed{Event: "movement.failed", Task: "t-foreign", Source: "home"},
		core.Observed{Event: "no.such.event", Source: "home"}} {
		r := newRig(t)
		r.elsewhere()
		r.submit(toKitchen)
		r.accept(r.last().Task)
		c := r.do(ev)
		if c.Ignored != 1 || len(c.Moves) != 0 || len(c.Now)+len(c.Outputs) != 0 {
			t.Errorf("%T: %d ignored, moves %+v", ev, c.Ignored, c.Moves)
		}
		r.want("step_1", "running")
	}
}
