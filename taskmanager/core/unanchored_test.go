package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// A delay without an anchor counts from the acceptance of the plan, also where the step has to wait for its resource after that.
func TestDelayWithoutAnchorCountsFromAcceptance(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"on":false},"temporal_relation":"after_planned_step","delay_ms":30000}]`)
	accepted := r.now.Boot
	r.want("step_1", "waiting")
	if spec := r.wf("wf_1").Plan.Steps[0]; spec.Anchor != 0 || len(spec.Deps) != 0 {
		t.Fatalf("anchor %d, dependencies %v; want none", spec.Anchor, spec.Deps)
	}
	r.now.Boot = accepted + 29_999
	r.do(core.Tick{})
	r.want("step_1", "waiting")
	r.now.Boot = accepted + 30_000
	r.do(core.Tick{})
	r.read("display.brightness", 80.0)
	r.want("step_1", "dispatching")
	if m := r.last().Method; m != "setScreen" {
		t.Fatalf("dispatched %s", m)
	}
}

// With one dependency and no anchor, that dependency is the anchor.
func TestDelayCountsFromTheOneDependency(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus"},
	 {"cloud_step_id":"step_2","taskMethod":"setScreen","params":{"on":false},"depends_on":["step_1"],"temporal_relation":"after_planned_step","delay_ms":30000}]`)
	task := r.last().Task
	r.pass(5_000)
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.read("battery.level", 80.0)
	r.event("battery.changed", task, core.Values{"level": 80.0})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone, Output: core.Values{"level": 80.0, "charging": false}})
	r.want("step_1", "completed", "step_2", "waiting")
	done := r.step("step_1").Done
	if due := r.step("step_2").Due; due != done+30_000 {
		t.Fatalf("due %d, want %d: 30 s after the evidence of step_1", due, done+30_000)
	}
}
