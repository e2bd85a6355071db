package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// TestTheLedgerCountsWhoseWordWasNotBorneOut: an executor that says done against what was seen, or without anything that proves it. What
// fails, is stopped or is never claimed counts for nothing.
func TestTheLedgerCountsWhoseWordWasNotBorneOut(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(r *rig, task core.TaskID)
		want core.Disagreement
	}{
		{"done, and it is elsewhere", func(r *rig, task core.TaskID) {
			r.event("movement.arrived", task, core.Values{"room_id": "study"})
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
		}, core.Disagreement{Contradicted: 1}},
		{"done, and then it is elsewhere", func(r *rig, task core.TaskID) {
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
			r.event("movement.arrived", task, core.Values{"room_id": "study"})
			r.event("movement.arrived", task, core.Values{"room_id": "study"})
		}, core.Disagreement{Contradicted: 1}},
		{"done, and nothing shows it", func(r *rig, task core.TaskID) {
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
			r.pass(15_000)
		}, core.Disagreement{Unproven: 1}},
		{"it is elsewhere, and nobody says done", func(r *rig, task core.TaskID) {
			r.event("movement.arrived", task, core.Values{"room_id": "study"})
			r.pass(180_000)
		}, core.Disagreement{}},
		{"it says that it failed", func(r *rig, task core.TaskID) {
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: "blocked_path"})
		}, core.Disagreement{}},
		{"done, and proven", func(r *rig, task core.TaskID) { r.arrive(task, "kitchen") }, core.Disagreement{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			r.submit(toKitchen)
			before := r.s.Device
			r.accept(r.last().Task)
			tc.do(r, r.last().Task)
			if got := r.s.Device.Ledger["home"]; got != tc.want {
				t.Fatalf("%+v, want %+v", got, tc.want)
			}
			if len(before.Ledger) != 0 {
				t.Fatal("an earlier state was written into")
			}
		})
	}
}
