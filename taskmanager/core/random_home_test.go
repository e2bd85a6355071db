package core_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// What random homes (testbed sim) have found, each as the shortest story that shows it.

// TestWhoIsQueuedBehindAnotherIsTold: nobody uses the wheels yet, a step that is queued earlier keeps its place.
func TestWhoIsQueuedBehindAnotherIsTold(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"step_2","taskMethod":"returnToStation"}]`)
	if st := r.step("step_1"); st.State != core.Queued {
		t.Fatalf("the first is %s, it should be read where the robot is", st.State)
	}
	facts := core.Why(r.s, r.now, r.s.Workflows["wf_1"], 1)
	if facts[0].Kind != "resource" || !strings.Contains(facts[0].Text, "wf_1/step_1") {
		t.Fatalf("the second waits for the first, and is told %+v", facts)
	}
}

// TestWhoForgetsATaskLosesIt: an executor that does not know any more what it accepted will never tell its end, and a task that a
// person paces has no other bound.
func TestWhoForgetsATaskLosesIt(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-1"})
	if st := r.step("step_1"); st.State != core.OutcomeUnknown || st.Due == 0 {
		t.Fatalf("it is %s, due %d", st.State, st.Due)
	}
}

// TestWhatHasBegunIsNotRefusedAnyMore: a refusal that comes when the task had been accepted, and then its service was lost, does not say
// that it never ran. Who believed it would measure a person twice.
func TestWhatHasBegunIsNotRefusedAnyMore(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: "run-1"})
	r.do(core.TaskAnswered{Task: task, Reason: core.ReasonExecutorRefused})
	if st := r.step("step_1"); st.State != core.OutcomeUnknown {
		t.Fatalf("it is %s (%s) after a refusal of what had begun", st.State, st.Reason)
	}
}

// TestAFailedProofFreesItsResource: a step that says it is done keeps its wheels until it is decided. Where it then fails and asks, whoever
// waits for them goes on.
func TestAFailedProofFreesItsResource(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"returnToStation","params":{}}]`)
	r.event("movement.arrived", task, core.Values{"room_id": "study"})
	if st := r.step("step_1"); st.State != core.Blocked {
		t.Fatalf("the first is %s, the opposite of its effect was seen", st.State)
	}
	if d := core.Audit(r.s, r.now); len(d) > 0 {
		t.Fatalf("nothing can move %v", d)
	}
	if st := r.s.Workflows["wf_2"].Steps[0]; st.State == core.Queued && st.Reason == core.ReasonResourceBusy {
		t.Fatalf("the second still waits for the wheels: %+v", st)
	}
}

// TestAStopIsNotProvenByAnOlderEnd: "movement stopped" of a task that was over before the stop says nothing of what moves now.
func TestAStopIsNotProvenByAnOlderEnd(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	old := r.last().Task
	r.do(core.TaskAnswered{Task: old, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.do(core.TaskEnded{Task: old, Outcome: core.OutcomeCancelled})
	r.elsewhere()
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`)
	moving := r.last().Task
	r.do(core.TaskAnswered{Task: moving, Accepted: true, Instance: "run-1"})
	r.offer("wf_3", "pl_3", `[{"cloud_step_id":"step_1","taskMethod":"stopMovement"}]`)
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	r.event("movement.stopped", old, nil) // again
	if st := r.s.Workflows["wf_3"].Steps[0]; st.State != core.Running {
		t.Fatalf("the stop is %s, and %s may still move", st.State, moving)
	}
	r.event("movement.stopped", moving, nil)
	if st := r.s.Workflows["wf_3"].Steps[0]; st.State != core.Completed {
		t.Fatalf("the stop is %s, what it stopped says so", st.State)
	}
}

// TestARestingTaskIsNotOver: a task whose step is proven goes on, and its robot pauses it by itself. Its cleaner stands still, and may go on
// at any moment: nobody else gets it before the task was stopped.
func TestARestingTaskIsNotOver(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"mode":"fixed","duration_min":5}}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("cleaning.started", task, nil)
	if st := r.step("step_1"); st.State != core.Completed {
		t.Fatalf("it is %s", st.State)
	}
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1"})
	r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"mode":"fixed","duration_min":1}}]`)
	stopped := false
	for range 140 {
		r.pass(500)
		r.read("cleaning.is_running", false)
		if st := r.s.Workflows["wf_2"].Steps[0]; !stopped && st.State != core.Queued {
			t.Fatalf("the second is %s while the first may go on", st.State)
		}
		for _, out := range r.log {
			if s, ok := out.(core.Stop); ok && s.Task == task && !stopped {
				stopped = true
				r.pass(3_500)
				r.read("cleaning.is_running", false)
				if st := r.s.Workflows["wf_2"].Steps[0]; st.State != core.Queued {
					t.Fatalf("the second is %s, and nothing has said that the first was stopped", st.State)
				}
				r.do(core.StopAnswered{Task: task, Accepted: true})
			}
		}
	}
	if st := r.s.Workflows["wf_2"].Steps[0]; !stopped || st.State != core.Dispatching && st.State != core.OutcomeUnknown {
		t.Fatalf("a paused task keeps what it uses for a minute, then it is stopped (%v) and others have it; the second is %s", stopped, st.State)
	}
}

// TestAHoldRequeuesNothingThatWasCancelled: a cancelled step whose stop was refused runs on; the end of its task ends it, whoever else
// stopped it meanwhile. Queued again it would stay so for ever.
func TestAHoldRequeuesNothingThatWasCancelled(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"mode":"fixed","duration_min":5},"required_effects":["air_cleaning_completed"]}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(cancel("wf_1"))
	r.do(core.StopAnswered{Task: task, Refused: true, Reason: core.ReasonCancelRefused})
	if st := r.step("step_1"); st.State != core.Running {
		t.Fatalf("it is %s after its stop was refused", st.State)
	}
	r.do(core.Observed{Event: "pui.paused", Source: "home"})
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Refused: true})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	if st := r.step("step_1"); st.State != core.Cancelled {
		t.Fatalf("it is %s (%s)", st.State, st.Reason)
	}
	if stuck := core.Audit(r.s, r.now); len(stuck) > 0 {
		t.Fatalf("nothing can move %v", stuck)
	}
}

// TestALateYesToAPauseCounts: the time of a pause is over and the task is being stopped when its executor says yes to the pause. From now on
// the wheels stand still for a pause, so standing still is no sign that the stop was heard.
func TestALateYesToAPauseCounts(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.Observed{Event: "pui.paused", Source: "home"})
	r.read("movement.is_moving", true)
	r.pass(4_100)
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
	ended := func() bool { return r.s.Workflows["wf_1"].Attempts[0].State == core.Ended }
	for range 8 {
		r.pass(500)
		r.read("movement.is_moving", false)
	}
	if ended() {
		t.Fatal("it rests, and may go on at any moment")
	}
	r.do(core.StopAnswered{Task: task, Accepted: true})
	for range 7 {
		r.pass(500)
		r.read("movement.is_moving", false)
	}
	if ended() { // random home 21430
		t.Fatal("it stood still before it was stopped, and has time to stop: it may not have heard of it yet")
	}
	for range 7 {
		r.pass(500)
		r.read("movement.is_moving", false)
	}
	if !ended() {
		t.Fatal("it said yes to the stop, had its time, and rests")
	}
}

// TestWhoRefusesToStopIsNotPaused: a task that was to be stopped for a guard and refuses runs on, and "why" must not call it paused.
func TestWhoRefusesToStopIsNotPaused(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.Observed{Event: "pui.paused", Source: "home"})
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Refused: true})
	r.do(core.StopAnswered{Task: task, Refused: true, Reason: core.ReasonCancelRefused})
	r.do(core.Observed{Event: "pui.resumed", Source: "home"})
	for _, f := range core.Why(r.s, r.now, r.s.Workflows["wf_1"], 0) {
		if f.Kind == "hold" {
			t.Fatalf("it is %s: %+v", r.step("step_1").State, f)
		}
	}
}

// TestNoResumeLeavesForWhatIsHeldAgain: the last holder lets go, the service is lost and somebody holds again, all in one batch: the word
// to go on must not leave behind it.
func TestNoResumeLeavesForWhatIsHeldAgain(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.Observed{Event: "pui.paused", Source: "home"})
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: "run-1"})
	if st := r.step("step_1"); st.State != core.Paused {
		t.Fatalf("it is %s", st.State)
	}
	r.read("battery.level", 80.0)
	c := r.do(core.Observed{Event: "pui.resumed", Source: "home"}, core.ExecutorDown{Service: "home"}, core.Observed{Event: "pui.paused", Source: "home"})
	for _, out := range c.Outputs {
		if _, ok := out.(core.Resume); ok {
			t.Fatalf("it is told to go on, and it is held: %+v", c.Outputs)
		}
	}
}
