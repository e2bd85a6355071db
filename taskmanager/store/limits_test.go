package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/taskmanager"
)

// TestSettingsAreReadBack: each setting that is not as it should be stops the start.
func TestSettingsAreReadBack(t *testing.T) {
	wrong := map[string]setting{
		"busy_timeout": {key: "_busy_timeout", value: "1"}, "foreign_keys": {key: "_foreign_keys", value: "0"},
		"cell_size_check": {key: "_pragma", value: "cell_size_check(0)"}, "trusted_schema": {key: "_pragma", value: "trusted_schema(1)"},
		"temp_store": {key: "_pragma", value: "temp_store(0)"}, "page_size": {key: "_pragma", value: "page_size(1024)"},
		"journal_mode": {key: "_journal_mode", value: "DELETE"}, "synchronous": {key: "_synchronous", value: "NORMAL"},
		"wal_autocheckpoint": {key: "_pragma", value: "wal_autocheckpoint(1000)"}, "journal_size_limit": {key: "_pragma", value: "journal_size_limit(0)"},
		"query_only": {key: "_query_only", value: "0"}, "_defensive": {key: "_defensive", value: "0"}, "_dqs": {key: "_dqs", value: "1"},
	}
	for role, settings := range map[string][]setting{"writer": append(common[:len(common):len(common)], writing(100)...),
		"reader": append(common[:len(common):len(common)], reading...)} {
		for i, s := range settings {
			name := s.read
			if name == "" {
				name = s.key
			}
			bad, ok := wrong[name]
			if !ok && s.read == "" {
				continue // nothing to read back: the driver rejects what it does not know
			}
			t.Run(role+" "+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "tasks.db")
				if role == "reader" {
					if err := mustOpen(t, path, small).Close(); err != nil {
						t.Fatal(err)
					}
				}
				asked := append([]setting{}, settings...)
				asked[i].key, asked[i].value = bad.key, bad.value
				c, err := dial(dsn(path, asked))
				if err != nil {
					t.Fatal(err)
				}
				defer c.close()
				if err := c.verify(settings); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(name, "_")) {
					t.Fatalf("error %v, want one that names %s", err, name)
				}
			})
		}
	}
}

func TestReadersCannotWrite(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
	r := <-s.readers
	defer func() { s.readers <- r }()
	if err := r.exec("DELETE FROM meta"); err == nil {
		t.Fatal("a reader deleted")
	}
}

// TestQueryPlans: no statement of a running store reads a table from end to end.
func TestQueryPlans(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
	for _, text := range []string{sqlJournalRow, sqlOutboxRow, sqlDropRecord, sqlDropDone, sqlCloseCopy, sqlCloseDrop, sqlDropOutbox,
		sqlRemembered, sqlClosedMark, sqlDone, sqlOpen, sqlJournal, sqlHasSeq, sqlMetaValue, sqlOldFinished, sqlPruneDone,
		sqlPruneFinished, sqlStampFinished, sqlOldJournal, sqlPruneJournal} {
		if plan := s.plan(t, text); strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "SEARCH") {
			t.Errorf("%s\n  %s", text, plan)
		}
	}
	for text, want := range map[string]string{ // bounded by LIMIT, in the order of an index
		sqlLast: "SCAN journal", sqlPruneMemory: "INDEX memory_by_expiry", sqlPruneNewest: "INDEX memory_by_expiry", sqlEvictNewest: "INDEX memory_by_expiry", sqlEvictMemory: "INDEX memory_by_expiry",
	} {
		if plan := s.plan(t, text); !strings.Contains(plan, want) || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\n  %s", text, plan)
		}
	}
	for _, text := range []string{sqlRecords, sqlOutboxAll, sqlMemoryAll, sqlMetaAll} { // a start reads them whole, in key order
		if plan := s.plan(t, text); strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "SCAN") {
			t.Errorf("%s\n  %s", text, plan)
		}
	}
}

func (s *Store) plan(t *testing.T, text string) string {
	t.Helper()
	c, err := dial(dsn(s.path, reading))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	p, err := c.prepare("EXPLAIN QUERY PLAN " + text)
	if err != nil {
		t.Fatal(err)
	}
	args := make([]driver.Value, 5)
	var lines []string
	err = p.each(uncancelled, func(v []driver.Value) error { lines = append(lines, asText(v[3])); return nil }, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "; ")
}

// bulky is a batch that fills pages.
func bulky(n int) taskmanager.Batch {
	return taskmanager.Batch{Records: []taskmanager.Record{{Workflow: fmt.Sprintf("w%d", n), Body: make([]byte, 3000)}}}
}

// fill commits until the quota refuses, and returns the number of batches that are there.
func fill(t *testing.T, s *Store) int {
	t.Helper()
	for n := range 10_000 {
		err := s.Commit(context.Background(), bulky(n))
		if errors.Is(err, taskmanager.ErrNotCommitted) && isFull(err) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the quota never refused")
	return 0
}

// TestF18DiskFull: a full disk refuses, changes nothing, still takes deletes, and heals without a restart.
func TestF18DiskFull(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), Options{MaxPages: 100, BallastBytes: -1})
	n := fill(t, s)
	if n < 20 {
		t.Fatalf("full after %d batches", n)
	}
	for range 3 {
		if err := s.Commit(context.Background(), bulky(n)); !errors.Is(err, taskmanager.ErrNotCommitted) {
			t.Fatalf("error %v, want not committed", err)
		}
	}
	if got := len(mustLoad(t, s).Records); got != n || s.Broken() != nil {
		t.Fatalf("%d records, want %d; broken %v", got, n, s.Broken())
	}
	mustCommit(t, s, taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "w0"}, {Workflow: "w1"}, {Workflow: "w2"}}})
	mustCommit(t, s, bulky(n))
}

// TestReserve: with the quota reached, new work is refused and what ends work still fits, on the room of the ballast.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), Options{MaxPages: 100, BallastBytes: 64 * pageSize})
		defer s.Close()
		if !s.ballast.there() {
			t.Fatal("no ballast")
		}
		n := fill(t, s)
		if !s.ballast.there() || s.Info().Reserve {
			t.Fatal("new work used the reserve")
		}
		terminal := bulky(n)
		terminal.Outbox = []taskmanager.OutboxRow{{Seq: 1, ID: "m1", Class: "terminal", Body: make([]byte, 9000)}}
		mustCommit(t, s, terminal)
		if s.ballast.there() || !s.Info().Reserve {
			t.Fatal("the terminal report did not use the reserve")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if !s.Info().Reserve {
			t.Fatal("the reserve came back though the disk is still full")
		}
		var drop taskmanager.Batch
		for i := range n {
			drop.Records = append(drop.Records, taskmanager.Record{Workflow: fmt.Sprintf("w%d", i)})
		}
		mustCommit(t, s, drop)
		time.Sleep(time.Second)
		synctest.Wait()
		if !s.ballast.there() || s.Info().Reserve {
			t.Fatal("the reserve did not come back")
		}
		fill(t, s)
	})
}

// TestLogKeepsItsSize: grown once, while idle, and then neither longer nor shorter, also over a close.
func TestLogKeepsItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := Options{BallastBytes: -1, WALPages: 200}
		s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), opt)
		want := int64(32 + 200*(24+pageSize))
		mustCommit(t, s, step(1))
		if got := logSize(t, s); got >= want {
			t.Fatalf("the log has %d bytes before the first pause", got)
		}
		for n := int64(2); n < 600; n++ {
			mustCommit(t, s, step(n))
			if n%50 == 0 {
				time.Sleep(time.Second)
				synctest.Wait()
				if got := logSize(t, s); got != want {
					t.Fatalf("the log has %d bytes after %d commits, want %d", got, n, want)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := logSize(t, s); got != want {
			t.Fatalf("the log has %d bytes after the close, want %d", got, want)
		}
		again := mustOpen(t, s.path, opt)
		defer again.Close()
		if got := chain(t, again); got != 599 {
			t.Fatalf("%d steps, want 599", got)
		}
	})
}

func logSize(t *testing.T, s *Store) int64 {
	t.Helper()
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestLongLogIsCopiedBackAtOnce: under load there is no pause to wait for.
func TestLongLogIsCopiedBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), Options{BallastBytes: -1, WALPages: 60, IdleAfter: time.Hour})
		defer s.Close()
		for n := range int64(300) {
			mustCommit(t, s, step(n+1))
			synctest.Wait()
			if got := s.Info().LogPages; got > 70 {
				t.Fatalf("%d pages in the log", got)
			}
		}
		if got := s.Info().Checkpoints; got < 5 {
			t.Fatalf("%d checkpoints", got)
		}
	})
}

// TestLogCap: another process that reads for ever stops the commits, not the disk; when it ends they go on.
func TestLogCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), Options{BallastBytes: -1, WALPages: 20, WALCapPages: 40})
		defer s.Close()
		mustCommit(t, s, step(1))
		shell, err := openReader(s.path)
		if err != nil {
			t.Fatal(err)
		}
		defer shell.close()
		if err := errors.Join(shell.exec("BEGIN"), shell.exec("SELECT key FROM meta")); err != nil {
			t.Fatal(err)
		}
		var n int64
		for n = 2; n < 200; n++ {
			if err = s.Commit(context.Background(), step(n)); err != nil {
				break
			}
		}
		if !errors.Is(err, taskmanager.ErrNotCommitted) || !errors.Is(err, errLogFull) {
			t.Fatalf("after %d commits: error %v, want not committed and log full", n, err)
		}
		if got := s.Info().LogPages; got > 50 {
			t.Fatalf("%d pages in the log, cap 40", got)
		}
		if err := shell.exec("COMMIT"); err != nil {
			t.Fatal(err)
		}
		mustCommit(t, s, step(n))
		if got := chain(t, s); got != n {
			t.Fatalf("%d steps, want %d", got, n)
		}
	})
}

func TestPrune(t *testing.T) {
	const day = int64(24 * time.Hour / time.Millisecond)
	const now = 1_700_000_000_000
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
	for i, age := range []int64{90, 40, 31, 29, 1, -1} {
		seq := int64(i + 1)
		wall := now - age*day
		if age < 0 {
			wall = 0 // closed while the clock was not known
		}
		mustCommit(t, s, taskmanager.Batch{
			Journal: []taskmanager.JournalRow{{Seq: seq, WallMS: wall}},
			Records: []taskmanager.Record{{Workflow: fmt.Sprintf("w%d", seq), Body: []byte("x"), Closed: true}},
			Memory:  []taskmanager.Memory{{Key: fmt.Sprintf("k%d", seq), ExpireMS: wall}},
		})
	}
	prune := func(o PruneOptions) Pruned {
		t.Helper()
		p, err := s.Prune(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if got := prune(PruneOptions{}); got != (Pruned{}) {
		t.Fatalf("without a clock %+v was removed", got)
	}
	if got, want := prune(PruneOptions{NowMS: now, Limit: 2}), (Pruned{Workflows: 2, Journal: 2, Memory: 2, More: true}); got != want {
		t.Fatalf("first call %+v, want %+v", got, want)
	}
	if got, want := prune(PruneOptions{NowMS: now}), (Pruned{Workflows: 1, Journal: 1, Memory: 3}); got != want {
		t.Fatalf("second call %+v, want %+v", got, want)
	}
	if rows, _ := s.Journal(context.Background(), 0, 10); len(rows) != 3 || rows[0].Seq != 4 {
		t.Fatalf("journal %+v, want rows 4 to 6", rows)
	}
	for workflow, want := range map[string]bool{"w3": false, "w4": true, "w5": true, "w6": true} {
		if _, ok, err := s.Finished(context.Background(), workflow); ok != want || err != nil {
			t.Fatalf("finished %s: %v (%v), want %v", workflow, ok, err, want)
		}
	}
	if _, ok, _ := s.Remembered(context.Background(), "k6"); !ok {
		t.Fatal("a key that never expires is gone")
	}
	forgotten := func(s *Store) int64 { m, _, _ := s.Remembered(context.Background(), "unknown"); return m.ExpireMS }
	if got := forgotten(s); got != now-day {
		t.Fatalf("newest expiry that was pruned %d, want %d", got, now-day)
	}
	if got := prune(PruneOptions{NowMS: now + 31*day}); got.Workflows != 3 { // w6 was dated by the first prune
		t.Fatalf("a month later %+v, want 3 workflows", got)
	}
	if got := mustLoad(t, s); got.JournalSeq != 6 {
		t.Fatalf("last journal row %d, want 6: it always stays", got.JournalSeq)
	}
}

func TestPruneByCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	var b taskmanager.Batch
	for i := range int64(60) {
		b.Journal = append(b.Journal, taskmanager.JournalRow{Seq: i + 1})
		b.Memory = append(b.Memory, taskmanager.Memory{Key: fmt.Sprintf("k%02d", i), ExpireMS: 1000 - i})
	}
	b.Memory[59].ExpireMS = 0
	mustCommit(t, s, b)
	got, err := s.Prune(context.Background(), PruneOptions{JournalRows: 20, MemoryRows: 10, Limit: 45})
	if want := (Pruned{Journal: 40, Memory: 45, More: true}); err != nil || got != want {
		t.Fatalf("removed %+v (%v), want %+v", got, err, want)
	}
	got, err = s.Prune(context.Background(), PruneOptions{JournalRows: 20, MemoryRows: 10, Limit: 45})
	if want := (Pruned{Memory: 5}); err != nil || got != want {
		t.Fatalf("removed %+v (%v), want %+v", got, err, want)
	}
	if m, _, _ := s.Remembered(context.Background(), "unknown"); m.ExpireMS != 991 { // k09; k00 to k08 and k59 stay
		t.Fatalf("newest expiry that was evicted %d, want 991", m.ExpireMS)
	}
	s.Close()
	s = mustOpen(t, path, small)
	if m, _, _ := s.Remembered(context.Background(), "unknown"); m.ExpireMS != 991 {
		t.Fatalf("after a restart %d, want 991", m.ExpireMS)
	}
	for key, want := range map[string]bool{"k00": true, "k59": true, "k58": false} {
		if _, ok, err := s.Remembered(context.Background(), key); ok != want || err != nil {
			t.Fatalf("key %s: %v (%v), want %v", key, ok, err, want)
		}
	}
}

// TestPruneKeepsRowsOfUnknownAge: a row that was written while the clock was not known goes with a later row that is old.
func TestPruneKeepsRowsOfUnknownAge(t *testing.T) {
	const day = int64(24 * time.Hour / time.Millisecond)
	const now = 1_700_000_000_000
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
	var b taskmanager.Batch
	for i, wall := range []int64{0, now - 40*day, 0, now - day, now - 40*day, now} {
		b.Journal = append(b.Journal, taskmanager.JournalRow{Seq: int64(i + 1), WallMS: wall})
	}
	mustCommit(t, s, b)
	if got, err := s.Prune(context.Background(), PruneOptions{NowMS: now}); err != nil || got.Journal != 2 {
		t.Fatalf("removed %+v (%v), want 2 journal rows", got, err)
	}
}
