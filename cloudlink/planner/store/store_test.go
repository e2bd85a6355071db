package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func fresh(t *testing.T) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "with space", "..", "p%25.db")) // the path is no part of a URL's syntax
}

func update(t *testing.T, s *Store, do func(*Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, s *Store, do func(*Tx) error) {
	t.Helper()
	if err := s.View(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

func TestSettingsAreInForce(t *testing.T) {
	s := fresh(t)
	for _, db := range []*sql.DB{s.write, s.read} {
		if err := verify(t.Context(), db); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.read.ExecContext(t.Context(), "DELETE FROM devices"); err == nil {
		t.Error("the reader could write")
	}
	if _, err := s.write.ExecContext(t.Context(), `DELETE FROM devices WHERE device_id = "text"`); err == nil {
		t.Error("a typo in a column name was taken as text")
	}
}

func TestVerifyFindsAnotherSetting(t *testing.T) {
	db, err := sql.Open("sqlite", dsn(filepath.Join(t.TempDir(), "p.db"), false)+"&_synchronous=NORMAL&_sync=NORMAL")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := verify(t.Context(), db); err == nil || !strings.Contains(err.Error(), "synchronous") {
		t.Errorf("verify: %v", err)
	}
}

func TestFailedUpdateLeavesNothing(t *testing.T) {
	s := fresh(t)
	broken := errors.New("no")
	err := s.Update(t.Context(), func(tx *Tx) error {
		if err := tx.AddWorkflow(Workflow{ID: "w", DeviceID: "d"}); err != nil {
			t.Fatal(err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatalf("Update: %v", err)
	}
	view(t, s, func(tx *Tx) error {
		if _, err := tx.Workflow("w"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the workflow is there: %v", err)
		}
		return nil
	})
}

func TestUpdateIsNotCancelled(t *testing.T) {
	s := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Update(ctx, func(tx *Tx) error {
		cancel() // the client went away in the middle
		return tx.AddWorkflow(Workflow{ID: "w", DeviceID: "d"})
	})
	if err != nil {
		t.Fatalf("Update: %v", err)
	}
	view(t, s, func(tx *Tx) error { _, err := tx.Workflow("w"); return err })
}

func TestRowsSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := open(t, path)
	update(t, s, func(tx *Tx) error {
		if _, err := tx.NextSeq("d", 5); err != nil {
			return err
		}
		return tx.PutDevice(Device{ID: "d", Epoch: "e", ConnStart: 2, ConnNo: 3, Online: true, HelloAt: 4, SeenAt: 5, Status: []byte(`{}`)})
	})
	_ = s.Close()
	s = open(t, path)
	update(t, s, func(tx *Tx) error {
		d, err := tx.Device("d")
		if err != nil {
			return err
		}
		if d.Epoch != "e" || d.ConnStart != 2 || d.ConnNo != 3 || !d.Online || d.HelloAt != 4 || d.SeenAt != 5 || string(d.Status) != `{}` {
			t.Errorf("read back %+v", d)
		}
		seq, err := tx.NextSeq("d", 4)
		if err != nil {
			return err
		}
		if seq != 6 {
			t.Errorf("seq %d, want 6: it is never given twice", seq)
		}
		if seq, err = tx.NextSeq("d", 9); seq != 9 {
			t.Errorf("seq %d, want 9: after a backup it goes on above what was given since", seq)
		}
		return err
	})
}

func TestMessageIsKeptOncePerDevice(t *testing.T) {
	s := fresh(t)
	update(t, s, func(tx *Tx) error {
		for i, step := range []struct {
			m     Message
			fresh bool
		}{
			{Message{DeviceID: "a", ID: "1", WorkflowID: "w", Payload: []byte("first")}, true},
			{Message{DeviceID: "a", ID: "1", WorkflowID: "w", Payload: []byte("second")}, false},
			{Message{DeviceID: "b", ID: "1", WorkflowID: "w"}, true}, // another device's ids are its own
		} {
			got, err := tx.AddMessage(step.m)
			if err != nil || got != step.fresh {
				t.Errorf("message %d: fresh %v, %v", i, got, err)
			}
		}
		list, err := tx.MessagesOf("a", "w", 10)
		if len(list) != 1 || string(list[0].Payload) != "first" || list[0].Repeats != 1 {
			t.Errorf("kept %+v", list)
		}
		return err
	})
}

func TestFirstResultStands(t *testing.T) {
	s := fresh(t)
	update(t, s, func(tx *Tx) error {
		if err := tx.AddWorkflow(Workflow{ID: "w", DeviceID: "d"}); err != nil {
			return err
		}
		for _, step := range []struct {
			status string
			closed bool
		}{{"completed", true}, {"failed", false}} {
			if closed, err := tx.CloseWorkflow("w", step.status, []byte(`{}`), 1); err != nil || closed != step.closed {
				t.Errorf("%s: closed %v, %v", step.status, closed, err)
			}
		}
		w, err := tx.Workflow("w")
		if w.Status != "completed" {
			t.Errorf("status %q", w.Status)
		}
		return err
	})
}

func TestUniqueKeys(t *testing.T) {
	s := fresh(t)
	for name, do := range map[string]func(*Tx) error{
		"sequence of a device": func(tx *Tx) error {
			return errors.Join(tx.AddDown(Down{ID: "1", DeviceID: "d", Seq: 1, State: Queued, Envelope: []byte("{}")}),
				tx.AddDown(Down{ID: "2", DeviceID: "d", Seq: 1, State: Queued, Envelope: []byte("{}")}))
		},
		"key of a turn": func(tx *Tx) error {
			return errors.Join(tx.AddTurn(Turn{ID: "1", IdemKey: "k", Answer: []byte("{}")}), tx.AddTurn(Turn{ID: "2", IdemKey: "k", Answer: []byte("{}")}))
		},
	} {
		if err := s.Update(t.Context(), do); err == nil {
			t.Errorf("%s could be used twice", name)
		}
	}
	update(t, s, func(tx *Tx) error { // no key is no clash
		return errors.Join(tx.AddTurn(Turn{ID: "1", Answer: []byte("{}")}), tx.AddTurn(Turn{ID: "2", Answer: []byte("{}")}))
	})
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.db")
	s := open(t, newer)
	if _, err := s.write.ExecContext(t.Context(), "PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, wanted := range map[string]string{
		newer:                                 "later plannerd",
		garbage:                               "not a database",
		filepath.Join(dir, "nowhere", "p.db"): "unable to open",
	} {
		if s, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, wanted)
			if err == nil {
				_ = s.Close()
			}
		}
	}
	if data, err := os.ReadFile(garbage); err != nil || !strings.HasPrefix(string(data), "this is no database") {
		t.Error("the damaged file was changed")
	}
}

func TestHotQueriesUseAnIndex(t *testing.T) {
	s := fresh(t)
	for name, query := range map[string]string{
		"messages of a workflow": `SELECT * FROM messages WHERE workflow_id = 'w' AND workflow_id != '' AND device_id = 'd' ORDER BY row LIMIT 1`,
		"unreadable":             `SELECT count(*) FROM messages WHERE device_id = 'd' AND fault != ''`,
		"repeat":                 `UPDATE messages SET repeats = repeats + 1 WHERE device_id = 'd' AND id = 'i'`,
		"open of a device":       `SELECT * FROM down WHERE device_id = 'd' AND state IN ('queued', 'sent') ORDER BY seq`,
		"down of a workflow":     `SELECT * FROM down WHERE workflow_id = 'w' ORDER BY seq`,
		"lost workflows": `SELECT w.workflow_id FROM workflows w WHERE w.device_id = 'd' AND w.status = '' AND EXISTS (
			SELECT 1 FROM down d WHERE d.workflow_id = w.workflow_id AND d.type = 'plan') ORDER BY w.created_at LIMIT 1`,
		"turn by key":   `SELECT * FROM turns WHERE idem_key = 'k'`,
		"old turns":     `SELECT turn_id FROM turns WHERE created_at < 1 LIMIT 1`,
		"old workflows": `SELECT workflow_id FROM workflows WHERE created_at < 1 AND status != '' LIMIT 1`,
		"old controls":  `SELECT id FROM down WHERE workflow_id = '' AND created_at < 1 LIMIT 1`,
		"open work of a device": `SELECT * FROM workflows w WHERE device_id = 'd' AND status = '' AND EXISTS (
			SELECT 1 FROM down d WHERE d.workflow_id = w.workflow_id AND d.type = 'plan' AND d.state IN ('queued', 'sent', 'accepted'))
			AND NOT EXISTS (SELECT 1 FROM schedules s WHERE s.workflow_id = w.workflow_id) ORDER BY created_at DESC, workflow_id DESC LIMIT 1`,
		"ended work of a device": `SELECT * FROM workflows WHERE device_id = 'd' AND status != '' AND result_at >= 1 ORDER BY result_at DESC, workflow_id DESC LIMIT 1`,
		"last turns of a device": `SELECT * FROM turns WHERE device_id = 'd' AND created_at >= 1 ORDER BY created_at DESC, turn_id DESC LIMIT 1`,
		"schedules of a device":  `SELECT * FROM schedules WHERE device_id = 'd' ORDER BY created_at DESC, workflow_id DESC LIMIT 1`,
		"live schedules":         `SELECT * FROM schedules WHERE device_id = 'd' AND ended_at = 0 AND (over_at = 0 OR over_at > 1) ORDER BY created_at DESC, workflow_id DESC LIMIT 1`,
		"memos of a device":      `SELECT * FROM memos WHERE device_id = 'd' ORDER BY created_at, id LIMIT 1`,
		"controls of everything": `SELECT * FROM down WHERE device_id = 'd' AND workflow_id = '' AND type = 'control' ORDER BY seq DESC LIMIT 1`,
		"cloud steps due":        `SELECT * FROM cloud_steps WHERE state = 'due' ORDER BY due_at, task_id LIMIT 1`,
		"sessions that go on":    `SELECT * FROM cloud_steps WHERE wake_at > 0 AND wake_at <= 1 AND state = 'telling' ORDER BY wake_at LIMIT 1`,
		"sessions of a device":   `SELECT * FROM cloud_steps WHERE device_id = 'd' AND state = 'telling' ORDER BY due_at DESC, task_id LIMIT 1`,
		"presence of some":       `SELECT * FROM devices WHERE device_id > 'd' ORDER BY device_id LIMIT 1`,
	} {
		rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "USING") {
				t.Errorf("%s: %s", name, detail)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
