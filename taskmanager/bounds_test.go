package taskmanager_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// bad is a message that is refused with a row of its own.
func bad(i int) string {
	return planJSON(fmt.Sprintf("bad-%d", i), `[{"cloud_step_id":"s","taskMethod":"flyToMoon"}]`)
}

// narrow begins anew with a small outbox.
func (r *rig) narrow(rows int64) {
	r.kill()
	r.outbox = rows
	r.open()
}

// endedPlan hands in a plan and cancels it: an ack each, and a result.
func (r *rig) endedPlan(wf string) {
	r.t.Helper()
	if a := r.receive(planJSON(wf, toKitchen)); !a.Accepted {
		r.t.Fatalf("plan %s: %+v", wf, a)
	}
	r.receive(cancelJSON("c-"+wf, wf))
	r.arrived("study")
	r.wait(30 * time.Second)
}

func (r *rig) receiptAll(of string) {
	r.t.Helper()
	var ids []core.MessageID
	for _, row := range r.rows(of) {
		ids = append(ids, core.MessageID(row.ID))
	}
	if err := r.m.Receipted(r.t.Context(), ids); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// A full outbox drops the oldest answers, and nothing else; what was dropped is counted, on the disk too, and lies below the floor once
// what stands before it is receipted.
func TestAFullOutboxDropsTheOldestAnswersAndCountsThem(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.narrow(64)
		for i := range 5 {
			r.endedPlan(fmt.Sprintf("wf-%d", i))
		}
		for i := range 200 {
			r.receive(bad(i))
		}
		f := r.m.OutboxFacts()
		if f.Rows > 64 || f.Rows < 60 {
			t.Errorf("%d rows wait, at most 64 may", f.Rows)
		}
		if n := len(r.rows("result")); n != 5 {
			t.Errorf("%d results wait, want all 5", n)
		}
		if want := int64(5*3+200) - f.Rows; f.Dropped != want {
			t.Errorf("%d rows are said to be dropped, %d are missing", f.Dropped, want)
		}
		rows := r.m.Pending(1000)
		if !slices.IsSortedFunc(rows, func(a, b taskmanager.OutboxRow) int { return int(a.Seq - b.Seq) }) {
			t.Error("rows are out of order")
		}
		if last := rows[len(rows)-1]; last.Type != "ack" || !strings.Contains(string(last.Body), idOf("bad-199")) {
			t.Error("the newest answer is not there")
		}
		r.kill()
		r.open()
		if again := r.m.OutboxFacts(); again.Dropped != f.Dropped || again.Rows != f.Rows {
			t.Errorf("after a start %+v, before %+v", again, f)
		}
		r.receiptAll("result")
		first := r.m.Pending(1)[0].Seq
		r.receive(bad(1000))
		synctest.Wait()
		rows = r.m.Pending(1000)
		env, err := wire.Decode(rows[len(rows)-1].Body, wire.Options{Direction: wire.Up})
		if err != nil {
			t.Fatal(err)
		}
		if env.FloorSeq < first {
			t.Errorf("the floor is %d: what was dropped before %d seems to come still", env.FloorSeq, first)
		}
	})
}

// Full of what may not be dropped, new plans are refused for now. What is under way can be stopped, and reports its end.
func TestFullOfReportsNewPlansAreRefusedAndTheRobotGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.narrow(8)
		ended := 0
		for ; r.m.OutboxFacts().Rows < 7 || len(r.rows("result")) < 7; ended++ {
			r.endedPlan(fmt.Sprintf("wf-%d", ended))
		}
		r.receive(planJSON("open", toKitchen))
		r.receive(planJSON("behind", toKitchen)) // waits for the wheels, so its cancel ends it at once
		r.receive(cancelJSON("c-behind", "behind"))
		ended++
		synctest.Wait()
		late := planJSON("late", toKitchen)
		if a := r.receive(late); a.Accepted || a.Reason != core.ReasonLimit {
			t.Fatalf("a plan that there is no room for: %+v", a)
		}
		if a := r.receive(planJSON("wf-1", toKitchen)); !a.Accepted {
			t.Errorf("a plan that was answered before: %+v", a)
		}
		if a := r.receive(cancelJSON("c-open", "open")); !a.Accepted {
			t.Errorf("a cancel: %+v", a)
		}
		r.arrived("study")
		r.wait(30 * time.Second)
		results := map[string]bool{}
		for _, row := range r.rows("result") {
			results[row.Workflow] = true
		}
		if len(results) != ended+1 || !results["open"] {
			t.Errorf("results of %v, %d plans were cancelled before", results, ended)
		}
		r.receiptAll("result")
		if a := r.receive(late); !a.Accepted {
			t.Errorf("the same plan, when there is room again: %+v", a)
		}
	})
}
