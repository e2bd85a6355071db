package store

import (
	"errors"
	"testing"
)

// A schedule is told to turns until its device lets go of it or its only time has passed, and what is over for long is pruned with all
// that was sent of it; one that comes again stays however old it is.
func TestSchedulesLiveAndGo(t *testing.T) {
	s := fresh(t)
	update(t, s, func(tx *Tx) error {
		for i, sc := range []Schedule{{WorkflowID: "daily"}, {WorkflowID: "once", OverAt: 500}, {WorkflowID: "cancelled"}, {WorkflowID: "moved", OverAt: 500}} {
			sc.DeviceID, sc.CreatedAt = "d", int64(i+1)
			if err := errors.Join(tx.AddWorkflow(Workflow{ID: sc.WorkflowID, DeviceID: "d", PlanID: "p", CreatedAt: 1}), tx.AddSchedule(sc),
				tx.AddDown(Down{ID: sc.WorkflowID, DeviceID: "d", Seq: int64(i + 1), Type: "plan", WorkflowID: sc.WorkflowID, State: Accepted, CreatedAt: 1, Envelope: []byte("{}")})); err != nil {
				return err
			}
		}
		return errors.Join(tx.AddSchedule(Schedule{WorkflowID: "moved", DeviceID: "d", Note: []byte("n"), OverAt: 900}), // a later date
			tx.EndSchedule("cancelled", 300), tx.EndSchedule("cancelled", 400), tx.EndSchedule("none", 300))
	})
	live := func(now int64) (ids string) {
		t.Helper()
		view(t, s, func(tx *Tx) error {
			list, err := tx.LiveSchedules("d", now, 10)
			for _, x := range list {
				ids += x.WorkflowID + " "
			}
			return err
		})
		return ids
	}
	for now, want := range map[int64]string{100: "moved once daily ", 500: "moved daily ", 900: "daily "} {
		if got := live(now); got != want {
			t.Errorf("at %d live are %q, want %q", now, got, want)
		}
	}
	update(t, s, func(tx *Tx) error {
		_, err := tx.PruneRecords(301, 10)
		return err
	})
	view(t, s, func(tx *Tx) error {
		for id, want := range map[string]error{"daily": nil, "once": nil, "cancelled": ErrNotFound} {
			_, err := tx.Schedule(id)
			_, wfErr := tx.Workflow(id)
			if !errors.Is(err, want) || !errors.Is(wfErr, want) {
				t.Errorf("%s: %v, %v", id, err, wfErr)
			}
		}
		return nil
	})
	update(t, s, func(tx *Tx) error {
		_, err := tx.PruneRecords(10_000, 10)
		return err
	})
	if got := live(0); got != "daily " {
		t.Errorf("after years live are %q", got)
	}
}
