package taskmanager_test

import (
	"strings"
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

// What a record says must fit together: a step whose task is nowhere would end the process at the first look.
func TestARecordWithoutItsAttemptIsSetAside(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.receive(planJSON("wf-2", `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","delay_ms":60000}]`))
		r.wait(2 * time.Second)
		r.kill()
		r.foreign = true
		img, err := r.mem.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var b taskmanager.Batch
		for _, rec := range img.Records {
			if rec.Workflow == "wf-1" && strings.HasPrefix(rec.Item, "a:") {
				b.Records = append(b.Records, taskmanager.Record{Workflow: rec.Workflow, Item: rec.Item})
			}
		}
		if err := r.mem.Commit(t.Context(), b); err != nil || len(b.Records) != 1 {
			t.Fatalf("%d attempts, %v", len(b.Records), err)
		}
		r.mem = r.mem.Reopen()
		r.open()
		if got := r.m.SetAside(); len(got) != 1 || got[0] != "wf-1" {
			t.Errorf("set aside %v", got)
		}
		if st := r.state("wf-2", "step_1"); st != core.Waiting {
			t.Errorf("the other is %s", st)
		}
	})
}
