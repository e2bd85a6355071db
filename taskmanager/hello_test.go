package taskmanager_test

import (
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/taskmanager/core"
)

// rowsOf counts the results of a workflow that wait in the outbox.
func (r *rig) rowsOf(wf string) (ids []core.MessageID) {
	for _, row := range r.m.Pending(1000) {
		if row.Type == string(core.MsgResult) && row.Workflow == wf {
			ids = append(ids, core.MessageID(row.ID))
		}
	}
	return ids
}

// However often the hello is answered, and over a restart, one report of what the store has lost waits for its receipt.
func TestS37_ALostWorkflowIsReportedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		hello := func() {
			t.Helper()
			if err := r.m.HelloAnswered(t.Context(), 0, []core.WorkflowID{"wf-old"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		hello()
		hello()
		if got := r.rowsOf("wf-old"); len(got) != 1 {
			t.Fatalf("%d reports wait", len(got))
		}
		r.kill()
		r.open()
		hello()
		rows := r.rowsOf("wf-old")
		if len(rows) != 1 {
			t.Fatalf("after a restart %d reports wait", len(rows))
		}
		if err := r.m.Receipted(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := r.rowsOf("wf-old"); len(got) != 0 {
			t.Fatalf("after the receipt %d reports wait", len(got))
		}
		r.up()
		if a := r.receive(planJSON("wf-old", toKitchen)); a.Reason != core.ReasonAlreadyTerminal {
			t.Errorf("its plan: %+v", a)
		}
		r.wait(30 * time.Second)
		if began := r.robot.Began(); len(began) != 0 {
			t.Errorf("the robot began %v", began)
		}
	})
}

// What ended in an earlier run is reported again from the store, where the planner, back from an old backup, asks for it.
func TestF71_AResultThatThePlannerLostIsSentAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		r.receive(cancelJSON("c-1", "wf-1"))
		r.wait(time.Minute)
		rows := r.rowsOf("wf-1")
		if len(rows) != 1 {
			t.Fatalf("%d reports", len(rows))
		}
		if err := r.m.Receipted(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		r.wait(2 * time.Minute)
		r.kill()
		r.open()
		if err := r.m.HelloAnswered(t.Context(), 0, []core.WorkflowID{"wf-1"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := r.rowsOf("wf-1"); len(got) != 1 {
			t.Fatalf("asked for again, %d reports wait", len(got))
		}
		_ = r.m.Inspect(t.Context(), func(s *core.State, _ core.Now) {
			if s.Tombs["wf-1"] == core.ReasonStoreLost {
				t.Error("a workflow that is known counts as lost")
			}
		})
	})
}
