package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/store"
)

// secretly is what a person said; it must be nowhere when it is erased.
const secretly = "엄마한테는 비밀인데 거실로 가"

// files reads everything that lies beside the database.
func files(t *testing.T, path string) []byte {
	t.Helper()
	all, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, f := range all {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

func said(id, item, text string, closed bool) taskmanager.Record {
	return taskmanager.Record{Workflow: id, Item: item, Body: []byte(text), Closed: closed}
}

// erasable is a store with one workflow that has ended, one that is open, and a journal.
func erasable(t *testing.T) (*store.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.db")
	s, err := store.Open(t.Context(), path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, b := range []taskmanager.Batch{
		{Records: []taskmanager.Record{said("wf-1", "", "head", false), said("wf-1", "u", secretly, false), said("wf-2", "", "head", false), said("wf-2", "u", "열린 일", false)},
			Journal: []taskmanager.JournalRow{{Seq: 1, WallMS: 1000, Kind: "x", Body: []byte("맥박 77")}}},
		{Records: []taskmanager.Record{said("wf-1", "", "head", true)}, Journal: []taskmanager.JournalRow{{Seq: 2, WallMS: 2000, Kind: "x", Body: []byte("last")}}},
	} {
		if err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	return s, path
}

func TestWordsGoWhenTheirTimeIsOver(t *testing.T) {
	s, path := erasable(t)
	if !bytes.Contains(files(t, path), []byte(secretly)) {
		t.Fatal("the words were never there: this test could not fail")
	}
	now := int64(3000) // a second after it was closed
	if ids, err := s.EraseWords(t.Context(), now, time.Hour); err != nil || len(ids) != 0 {
		t.Fatalf("gone too early: %v %v", ids, err)
	}
	if ids, err := s.EraseWords(t.Context(), now+time.Hour.Milliseconds(), time.Hour); err != nil || len(ids) != 1 || ids[0] != "wf-1" {
		t.Fatalf("erased %v, %v", ids, err)
	}
	if bytes.Contains(files(t, path), []byte(secretly)) {
		t.Error("the words are still on the disk")
	}
	if rows, ok, err := s.Finished(t.Context(), "wf-1"); err != nil || !ok || len(rows) != 1 {
		t.Errorf("the work itself: %v %v %v", rows, ok, err)
	}
	img, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(img.Records) != 2 {
		t.Errorf("open work has %d records, want 2", len(img.Records))
	}
	before := s.Info().Commits
	if ids, err := s.EraseWords(t.Context(), now+2*time.Hour.Milliseconds(), time.Hour); err != nil || len(ids) != 0 || s.Info().Commits != before {
		t.Errorf("nothing is left to erase: %v %v, %d commits", ids, err, s.Info().Commits-before)
	}
}

func TestWhatHasEndedIsErasedAndWhatIsOpenStays(t *testing.T) {
	s, path := erasable(t)
	copied := path + ".damaged-1"
	if err := os.WriteFile(copied, []byte(secretly), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := s.EraseEnded(t.Context(), taskmanager.Stone)
	if err != nil || got.Workflows != 1 || got.Journal != 1 || len(got.Copies) != 1 {
		t.Fatalf("%+v %v", got, err)
	}
	disk := files(t, path)
	if !bytes.Contains(disk, []byte("tomb:wf-1")) || len(got.Names) != 1 {
		t.Errorf("nothing says that the work has ended: %v", got.Names)
	}
	for _, gone := range []string{secretly, "맥박 77"} {
		if bytes.Contains(disk, []byte(gone)) {
			t.Errorf("%q is still on the disk", gone)
		}
	}
	if !bytes.Contains(disk, []byte("열린 일")) {
		t.Error("the words of open work are gone")
	}
	if _, ok, err := s.Finished(t.Context(), "wf-1"); err != nil || ok {
		t.Errorf("finished work: %v %v", ok, err)
	}
	if err := s.Commit(t.Context(), taskmanager.Batch{Journal: []taskmanager.JournalRow{{Seq: 3, WallMS: 3000, Kind: "x"}}}); err != nil {
		t.Errorf("the store goes on: %v", err)
	}
}
