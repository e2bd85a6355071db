package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

const retried = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"retry":{"max_attempts":3,"backoff_ms":5000}},
 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":["step_1"]}]`

// busy lets the latest try fail by something that passes.
func (r *rig) busy() {
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: core.ReasonExecutorBusy})
}

func TestRetryOfWhatPasses(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(retried)
	r.busy()
	r.want("step_1", "retry_wait/executor_busy", "step_2", "pending")
	r.pass(4_999)
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches before the back-off is over", n)
	}
	r.elsewhere()
	r.pass(1)
	r.want("step_1", "dispatching")
	if d := r.dispatches(); len(d) != 2 || d[0].Task == d[1].Task {
		t.Fatalf("dispatches %+v", d)
	}
	r.arrive(r.last().Task, "kitchen")
	r.want("step_1", "completed")
	if st := r.step("step_1"); st.Attempts != 2 || st.Tries != 1 {
		t.Fatalf("%d attempts, %d tries", st.Attempts, st.Tries)
	}
}

func TestRetryEnds(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(retried)
	for range 2 {
		r.busy()
		r.want("step_1", "retry_wait/executor_busy")
		r.pass(4_999)
		r.elsewhere()
		r.pass(1)
		r.want("step_1", "dispatching")
	}
	r.busy()
	r.undecided()
	r.want("step_1", "failed/executor_busy", "step_2", "skipped/dependency_failed")
	r.pass(600_000)
	if n := len(r.dispatches()); n != 3 {
		t.Fatalf("%d dispatches, want max_attempts", n)
	}
}

func TestWhatIsNotRetried(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  core.TaskEnded
		want string
	}{
		{"a permanent reason", core.TaskEnded{Outcome: core.OutcomeFailed, Reason: "robot_fault"}, "blocked/robot_fault"},
		{"it was stopped from outside", core.TaskEnded{Outcome: core.OutcomeCancelled}, "blocked/external_stop"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(retried)
			tc.end.Task = r.last().Task
			r.do(core.TaskAnswered{Task: tc.end.Task, Accepted: true, Instance: "run-1"})
			r.do(tc.end)
			r.want("step_1", tc.want)
		})
	}
	r := newRig(t)
	refused := r.planEvent("wf_1", "pl_1", `[{"cloud_step_id":"step_1","taskMethod":"startVitalSign","retry":{"max_attempts":2}}]`).(core.Refused)
	if f := refused.Answer.Faults[0]; f.Path != "device_task_requests[0].retry" || f.Reason != "bad_value" {
		t.Fatalf("a retry of what is never sent again: %+v", f)
	}
}

// TestRetryFindsTheEffect: the try that failed had moved the robot after all.
func TestRetryFindsTheEffect(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(retried)
	r.busy()
	for range 14 {
		r.read("movement.location", "kitchen")
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.want("step_1", "satisfied")
	moves := 0
	for _, d := range r.dispatches() {
		if d.Method == "setMoveTo" {
			moves++
		}
	}
	if moves != 1 {
		t.Fatalf("%d moves", moves)
	}
}

func TestRestartKeepsTheBackOff(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(retried)
	r.busy()
	r.pass(2_000)
	r.restart("run-1")
	r.want("step_1", "retry_wait/executor_busy")
	if left := r.step("step_1").Due - r.now.Boot; left != 3_000 {
		t.Fatalf("%d ms left, want 3000", left)
	}
	if why := core.Why(r.s, r.now, r.wf("wf_1"), 0); why[0].Kind != "delay" || why[1].LeftMS != 3_000 {
		t.Fatalf("why: %+v", why)
	}
}
