package taskmanager_test

import (
	"testing"
	"time"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/storetest"
)

// A question may leave before its commit. If that commit is lost, so is the number that the task was given: the next start must not give
// the same id to another task.
func TestATaskIDIsNotUsedAgainAfterACutBeforeTheCommit(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		const question = `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus"}]`
		r.store.Script(storetest.Broken)
		if err := r.offer(planJSON("wf-1", question)); err == nil {
			t.Fatal("the store did not break")
		}
		r.kill()
		r.open()
		r.receive(planJSON("wf-2", question))
		r.wait(time.Second)
		seen := map[core.TaskID]bool{}
		n := 0
		for _, c := range r.robot.Log() {
			if d, ok := c.Out.(core.Dispatch); ok && d.Method == "getBatteryStatus" {
				if n++; seen[d.Task] {
					t.Errorf("the id %s is of two tasks", d.Task)
				}
				seen[d.Task] = true
			}
		}
		if n != 2 {
			t.Errorf("%d questions, want the one before the cut and the one after it", n)
		}
		if st := r.state("wf-2", "step_1"); st != core.Completed && st != "" {
			t.Errorf("the second is %s", st)
		}
	})
}

// The planner orders by sequence, and has the message of one that is gone: it must not be given to another, whatever else was lost.
func TestASequenceIsNotUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		first := r.rows("ack")[0]
		r.kill()
		img, err := r.mem.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.foreign = true
		var b taskmanager.Batch
		b.OutboxDone = []string{first.ID}
		for _, rec := range img.Records { // the device's own row is lost as well
			if rec.Workflow == "" {
				b.Records = append(b.Records, taskmanager.Record{Item: rec.Item})
			}
		}
		if err := r.mem.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		r.mem = r.mem.Reopen()
		r.open()
		r.receive(planJSON("wf-2", toKitchen))
		for _, row := range r.rows("ack") {
			if row.Workflow == "wf-2" && row.Seq <= first.Seq {
				t.Errorf("sequence %d, and %d was sent before", row.Seq, first.Seq)
			}
		}
	})
}
