package store

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
)

func TestPruneKeepsOpenWork(t *testing.T) {
	s := fresh(t)
	update(t, s, func(tx *Tx) error {
		err := errors.Join(tx.AddWorkflow(Workflow{ID: "open", DeviceID: "d"}), tx.AddWorkflow(Workflow{ID: "closed", DeviceID: "d", Status: "completed"}))
		for i, m := range []Message{{WorkflowID: "open", ReceivedAt: 1}, {WorkflowID: "closed", ReceivedAt: 1}, {ReceivedAt: 1}, {WorkflowID: "closed", ReceivedAt: 9}} {
			m.DeviceID, m.ID = "d", string(rune('a'+i))
			_, errAdd := tx.AddMessage(m)
			err = errors.Join(err, errAdd)
		}
		n, errPrune := tx.PruneMessages(5, 10)
		if n != 2 {
			t.Errorf("%d messages pruned, want 2", n)
		}
		return errors.Join(err, errPrune)
	})
}

func TestPruneRecords(t *testing.T) {
	s := fresh(t)
	update(t, s, func(tx *Tx) error {
		var err error
		for i, w := range []struct {
			id, status string
			made, end  int64
			states     []State
		}{
			{"ended", "completed", 1, 2, []State{Accepted, Refused}},
			{"ended late", "completed", 1, 9, []State{Accepted}},
			{"runs", "", 1, 0, []State{Expired, Accepted}},
			{"waits", "", 1, 0, []State{Queued}},
			{"refused", "", 1, 0, []State{Refused, Expired}},
			{"new", "", 9, 0, []State{Refused}},
		} {
			err = errors.Join(err, tx.AddWorkflow(Workflow{ID: w.id, DeviceID: "d", Status: w.status, CreatedAt: w.made, ResultAt: w.end}))
			for n, state := range w.states {
				err = errors.Join(err, tx.AddDown(Down{ID: w.id + string(rune('0'+n)), DeviceID: "d", Seq: int64(10*i + n), Type: "plan", WorkflowID: w.id,
					State: state, CreatedAt: w.made, Envelope: []byte{}}))
			}
		}
		for i, d := range []Down{{ID: "old control", State: Accepted, CreatedAt: 1}, {ID: "open control", State: Sent, CreatedAt: 1}, {ID: "new control", State: Expired, CreatedAt: 9}} {
			d.DeviceID, d.Seq, d.Type, d.Envelope = "d", int64(100+i), "control", []byte{}
			err = errors.Join(err, tx.AddDown(d))
		}
		for _, u := range []Turn{{ID: "old", CreatedAt: 1}, {ID: "new", CreatedAt: 9}} {
			u.DeviceID, u.Answer = "d", []byte{}
			err = errors.Join(err, tx.AddTurn(u))
		}
		n, errPrune := tx.PruneRecords(5, 10)
		if n != 8 { // two workflows, their four messages, a control, a turn
			t.Errorf("%d rows pruned, want 8", n)
		}
		return errors.Join(err, errPrune)
	})
	view(t, s, func(tx *Tx) error {
		for id, kept := range map[string]bool{"ended": false, "ended late": true, "runs": true, "waits": true, "refused": false, "new": true} {
			if _, err := tx.Workflow(id); errors.Is(err, ErrNotFound) == kept {
				t.Errorf("workflow %s: %v, kept should be %v", id, err, kept)
			}
			if rows, err := tx.DownOf(id); err != nil || len(rows) > 0 != kept {
				t.Errorf("messages of workflow %s: %d, %v, kept should be %v", id, len(rows), err, kept)
			}
		}
		for id, kept := range map[string]bool{"old control": false, "open control": true, "new control": true} {
			if _, err := tx.Down(id); errors.Is(err, ErrNotFound) == kept {
				t.Errorf("%s: %v, kept should be %v", id, err, kept)
			}
		}
		if _, err := tx.Turn("new"); err != nil {
			t.Error(err)
		}
		return nil
	})
}

// TestMigrationFromTheFirstForm: a file of the first version gets its indexes and keeps its rows; what it had sent for set times stands among
// the schedules, and words that only look like one do not.
func TestMigrationFromTheFirstForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	db, err := sql.Open("sqlite", dsn(path, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{migrations[0], "PRAGMA user_version = 1", "INSERT INTO workflows (workflow_id, device_id, plan_id, created_at) VALUES ('w', 'd', 'p', 1), ('s', 'd', 'p', 2)",
		`INSERT INTO down (id, device_id, seq, type, workflow_id, state, created_at, envelope) VALUES
			('1', 'd', 1, 'plan', 'w', 'accepted', 1, CAST('{"body":{"workflow":{"origin":{"utterance":"\\"schedule\\":{"}}}}' AS BLOB)),
			('2', 'd', 2, 'plan', 's', 'accepted', 2, CAST('{"body":{"workflow":{"schedule":{"at":"18:00"}}}}' AS BLOB))`} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	view(t, open(t, path), func(tx *Tx) error {
		if _, err := tx.Workflow("w"); err != nil {
			t.Error(err)
		}
		n, err := one(tx, scanInt, `SELECT count(*) FROM sqlite_schema WHERE name IN ('workflows_open', 'workflows_age', 'turns_age', 'down_age')`)
		if n != 4 {
			t.Errorf("%d of 4 indexes", n)
		}
		kept, errKept := tx.LiveSchedules("d", 1, 9)
		if len(kept) != 1 || kept[0].WorkflowID != "s" || kept[0].CreatedAt != 2 {
			t.Errorf("schedules %+v", kept)
		}
		return errors.Join(err, errKept)
	})
}
