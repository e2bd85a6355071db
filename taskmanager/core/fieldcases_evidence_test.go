package core_test

import (
	"maps"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Field cases are what went wrong for others who run robots and devices. A test bears the id of its case; docs/tests.md lists them.

// readAs reads a value from a source that says of itself which class it is.
func (r *rig) readAs(key string, v any, class catalog.Class) {
	r.do(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: catalog.ContextKey(key), Value: v, Class: class, Available: true}}})
}

// accept answers for the executor that it takes the task.
func (r *rig) accept(task core.TaskID) {
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
}

func TestA1_NothingCompletesWithoutItsEvidence(t *testing.T) {
	for _, method := range []string{
		`"taskMethod":"setMoveTo","params":{"position":"주방"}`, `"taskMethod":"returnToStation"`, `"taskMethod":"startBasicAirClear"`,
		`"taskMethod":"setScreen","params":{"brightness":50}`, `"taskMethod":"setVolume","params":{"level":60}`,
	} {
		for _, policy := range []string{"submitted", "event", "completed"} {
			t.Run(method+" "+policy, func(t *testing.T) {
				r := newRig(t)
				step := `[{"cloud_step_id":"step_1",` + method + `,"wait_policy":"` + policy + `"`
				if policy == "event" {
					step += `,"wait_event":{"event":"movement.started"}`
				}
				r.submit(step + `}]`)
				r.pass(3_100)
				task := r.last().Task
				r.accept(task)
				r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone}) // it says so, and nothing shows it
				r.pass(3_600_000)
				r.want("step_1", "timed_out/evidence_timeout")
				results := r.sent(core.MsgResult)
				if len(results) != 1 || results[0].Result.Status != core.WfFailed {
					t.Fatalf("results %+v", results)
				}
			})
		}
	}
}

func TestA2_UnavailableExecutorNeverSucceeds(t *testing.T) {
	r := newRig(t)
	r.do(core.ExecutorDown{Service: "home"})
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setVolume","params":{"level":60}}]`)
	r.want("step_1", "blocked/executor_unavailable")
	r.pass(61_000)
	r.want("step_1", "blocked/executor_unavailable")
	r.undecided()
	r.want("step_1", "failed/executor_unavailable")
	r.wantWorkflow(core.WfFailed)
	if n := len(r.dispatches()); n != 0 {
		t.Fatalf("%d dispatches to nobody", n)
	}
}

func TestA5_OldMatchingEventClosesNothing(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	first := r.last().Task
	r.arrive(first, "kitchen")
	r.want("step_1", "completed")
	r.pass(5_000)
	r.elsewhere() // it went away again
	r.read("battery.level", 80.0)
	r.offer("wf_2", "pl_2", toKitchen)
	second := r.last().Task
	if second == first {
		t.Fatal("the same goal was taken for reached")
	}
	r.accept(second)
	r.event("movement.arrived", first, core.Values{"room_id": "kitchen"}) // said once more
	r.do(core.TaskEnded{Task: second, Outcome: core.OutcomeDone})
	r.settleAt("movement.location", "kitchen")
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Verifying {
		t.Fatalf("step is %s by the event of the task before", st.State)
	}
	r.event("movement.arrived", second, core.Values{"room_id": "kitchen"})
	r.settleAt("movement.location", "kitchen")
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Completed {
		t.Fatalf("step is %s by its own event", st.State)
	}
}

func TestA6_AnEchoOfTheCommandIsNoReading(t *testing.T) {
	for class, want := range map[catalog.Class]string{catalog.Echo: "blocked/evidence_timeout", catalog.SamePath: "blocked/evidence_timeout", catalog.Independent: "completed"} {
		t.Run(string(class), func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			task := r.last().Task
			r.accept(task)
			r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
			for range 40 {
				r.readAs("movement.location", "kitchen", class)
				r.pass(500)
			}
			r.want("step_1", want)
		})
	}
}

func TestA7_ARecoveryStepNeedsItsOwnEffect(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"on_failure":"continue"},
	 {"cloud_step_id":"step_2","taskMethod":"setScreen","params":{"brightness":50},"depends_on":[{"step":"step_1","on":"failure"}]},
	 {"cloud_step_id":"step_3","taskMethod":"setVolume","params":{"level":60},"depends_on":["step_2"]}]`)
	r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
	r.want("step_1", "failed", "step_2", "dispatching")
	recovery := r.last().Task
	r.accept(recovery)
	r.do(core.TaskEnded{Task: recovery, Outcome: core.OutcomeDone}) // it ran, and the screen is as it was
	r.want("step_2", "verifying", "step_3", "pending")
	r.pass(60_000)
	r.undecided()
	r.want("step_2", "timed_out/evidence_timeout", "step_3", "skipped/dependency_failed")
	if st := r.wf("wf_1").State; st == core.WfCompleted || !st.Terminal() {
		t.Fatalf("workflow is %s", st)
	}
}

func TestA9_NotBusyIsNotDone(t *testing.T) {
	for gap := int64(0); gap <= 500; gap += 100 {
		r := newRig(t)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]}]`)
		task := r.last().Task
		r.accept(task)
		r.pass(gap)
		for range 10 { // it has not begun yet, and stands still for five seconds
			r.read("cleaning.is_running", false)
			r.want("step_1", "running")
			r.pass(500)
		}
		if a := r.wf("wf_1").Attempts[0]; a.State != core.Live {
			t.Fatalf("%d ms after the answer the task counts as %s", gap, a.State)
		}
		r.event("cleaning.started", task, nil)
		r.read("cleaning.is_running", true)
		r.want("step_1", "running")
		r.event("cleaning.completed", task, nil)
		r.want("step_1", "completed")
	}
}

func TestA10_SubmittedIsNotDone(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"submitted"},
	 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":["step_1"]}]`)
	clean := r.last().Task
	r.accept(clean)
	air := r.last().Task
	r.accept(air)
	r.event("air.measured", air, core.Values{"pm25": 3.0, "grade": "good"})
	r.want("step_1", "running", "step_2", "completed")
	r.wantWorkflow(core.WfActive)
	if n := len(r.sent(core.MsgResult)); n != 0 {
		t.Fatal("a result, and the cleaning has not been seen")
	}
	r.do(core.TaskEnded{Task: clean, Outcome: core.OutcomeDone})
	r.pass(60_000)
	r.undecided()
	r.want("step_1", "timed_out/evidence_timeout")
	if res := r.sent(core.MsgResult); len(res) != 1 || res[0].Result.Status != core.WfFailed || res[0].Result.Steps[0].State != core.TimedOut {
		t.Fatalf("results %+v", res)
	}
}

func TestA13_TheDeclaredSourceIsHeard(t *testing.T) {
	cat := *defaultCatalog(t)
	cat.Context = maps.Clone(cat.Context)
	decl := cat.Context["movement.location"]
	decl.Source = "lidar"
	cat.Context["movement.location"] = decl
	r := newRig(t)
	r.cat, r.s = &cat, core.NewState(&cat, core.Device{Epoch: "epoch-1"})
	r.do(core.Started{StartNo: 1})
	r.up("run-1")
	r.idle()
	says := func(source, room string) {
		for range 4 {
			r.do(core.ContextRead{Source: source, Values: []core.ContextValue{{Key: "movement.location", Value: room, Available: true}}})
			r.pass(500)
		}
	}
	says("lidar", "study")
	r.read("movement.is_moving", false)
	r.submit(toKitchen)
	task := r.last().Task
	r.accept(task)
	r.event("movement.arrived", task, core.Values{"room_id": "kitchen"})
	says("screen", "kitchen") // the screen still shows where it should have gone
	r.want("step_1", "running")
	says("lidar", "kitchen")
	r.want("step_1", "completed")
}

// TestA13_TwoSourcesDisagree: where nobody is declared, neither is believed: the step says so, and goes on when they agree.
func TestA13_TwoSourcesDisagree(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	says := func(source string, level float64) {
		r.do(core.ContextRead{Source: source, Values: []core.ContextValue{{Key: "battery.level", Value: level, Available: true}}})
	}
	says("home", 80)
	says("gauge", 15)
	r.submit(toKitchen)
	r.want("step_1", "blocked/context_conflict")
	if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); len(why) == 0 || why[0].Ref != "ctx.battery.level" || !strings.Contains(why[0].Text, "conflict") {
		t.Errorf("why: %+v", why)
	}
	if n := len(r.dispatches()); n != 0 {
		t.Fatalf("%d dispatches on a value that two sources dispute", n)
	}
	says("gauge", 80)
	if r.want("step_1", "dispatching"); len(r.dispatches()) != 1 {
		t.Fatal("they agree, and nothing goes on")
	}
}

// TestA13_ARivalThatFellSilent: what the other said counts no longer than it would itself.
func TestA13_ARivalThatFellSilent(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.do(core.ContextRead{Source: "gauge", Values: []core.ContextValue{{Key: "battery.level", Value: 15.0, Available: true}}})
	r.pass(r.cat.Context["battery.level"].MaxAgeMS + 1)
	r.idle()
	r.elsewhere()
	r.submit(toKitchen)
	r.want("step_1", "dispatching")
}

func TestA15_NothingIsDispatchedAfterAPlanFailed(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"on_failure":"abort"},
	 {"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"안방"}},
	 {"cloud_step_id":"step_3","taskMethod":"setVolume","params":{"level":60},"depends_on":["step_1"]}]`)
	task := r.last().Task
	r.accept(task)
	r.want("step_2", "queued") // for the base, which the failure frees
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: "blocked_path"})
	r.want("step_1", "failed/blocked_path", "step_2", "cancelled/plan_aborted")
	r.idle()
	r.elsewhere()
	r.pass(600_000)
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches, want the one that failed", n)
	}
	r.wantWorkflow(core.WfFailed)
}

func TestA18_TheWordOfTheCloudCompletesNoDeviceStep(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	task := r.last().Task
	r.accept(task)
	r.do(core.StepResult{Head: core.Head{Msg: "m1"}, Step: "step_1", Task: task, Done: true, Output: core.Values{"text": "it has arrived"}})
	if a := r.ch.Answers[0]; a.Accepted || a.Reason != core.ReasonStale {
		t.Fatalf("answer %+v", a)
	}
	r.want("step_1", "running")
	if n := len(r.step("step_1").Output); n != 0 {
		t.Fatal("the text became the step's output")
	}
}
