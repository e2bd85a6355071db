package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/storetest"

	"go.uber.org/goleak"
)

// onDisk is where benchmarks measure; tests work in memory where there is some, since hundreds of starts sync some ten times each.
var onDisk = os.TempDir()

func TestMain(m *testing.M) {
	if dir, err := os.MkdirTemp("/dev/shm", "taskstore"); err == nil {
		_ = os.Setenv("TMPDIR", dir)
		goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { _ = os.RemoveAll(dir); os.Exit(code) }))
		return
	}
	goleak.VerifyTestMain(m)
}

// small keeps tests quick: no ballast, a short log.
var small = Options{BallastBytes: -1, WALPages: 50}

func mustOpen(t testing.TB, path string, opt Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func mustCommit(t testing.TB, s *Store, b taskmanager.Batch) {
	t.Helper()
	if err := s.Commit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t testing.TB, s *Store) taskmanager.Image {
	t.Helper()
	img, err := s.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// step is a batch of a running chain: one journal row, two records.
func step(n int64) taskmanager.Batch {
	body := fmt.Appendf(nil, `{"n":%d,"state":"running","task_id":"0197a0b0-0000-7000-8000-%012d","pad":"%s"}`, n, n, strings.Repeat("x", 90))
	return taskmanager.Batch{
		Journal: []taskmanager.JournalRow{{Seq: n, BootMS: n, WallMS: 1_700_000_000_000 + n, BootID: "b3f1", Kind: "task_ended", Workflow: "w1", Body: body}},
		Records: []taskmanager.Record{{Workflow: "w1", Item: fmt.Sprintf("s:step_%d", n%7), Body: body},
			{Workflow: "w1", Item: fmt.Sprintf("s:step_%d", (n+1)%7), Body: body}},
	}
}

func TestStoreConforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T) func() taskmanager.Store {
		path := filepath.Join(t.TempDir(), "dir with ? # % signs", "tasks.db")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		return func() taskmanager.Store { return mustOpen(t, path, small) }
	})
}

// TestInABubble: the store's goroutine and locks let virtual time pass, and Close joins everything.
func TestInABubble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, path, small)
		for n := range int64(5) {
			mustCommit(t, s, step(n+1))
		}
		synctest.Wait()
		if got := s.Info().Checkpoints; got != 0 {
			t.Fatalf("%d checkpoints before the pause", got)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if got := s.Info(); got.Checkpoints != 1 || got.LogPages != 0 {
			t.Fatalf("after the pause: %d checkpoints, %d pages in the log", got.Checkpoints, got.LogPages)
		}
		time.Sleep(24 * time.Hour) // idle is zero ticks
		synctest.Wait()
		if got := s.Info().Checkpoints; got != 1 {
			t.Fatalf("%d checkpoints after a day without commits, want 1", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWriterDoesNotWaitForACancelledCaller(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
	if err := s.acquire(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Commit(ctx, step(1)) }()
	cancel()
	if err := <-done; !errors.Is(err, taskmanager.ErrNotCommitted) {
		t.Fatalf("error %v, want not committed", err)
	}
	s.release()
	mustCommit(t, s, step(1))
}

func TestCloseEndsAWaitingCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
		if err := s.acquire(context.Background()); err != nil {
			t.Fatal(err)
		}
		waits, closed := make(chan error, 1), make(chan error, 1)
		go func() { waits <- s.Commit(context.Background(), step(1)) }()
		synctest.Wait()
		go func() { closed <- s.Close() }()
		if err := <-waits; !errors.Is(err, taskmanager.ErrNotCommitted) {
			t.Fatalf("error %v, want not committed", err)
		}
		s.release()
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	})
}

func TestFilesArePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	mustCommit(t, mustOpen(t, path, Options{BallastBytes: 8192}), step(1))
	for _, end := range append([]string{ballastSuffix}, siblings...) {
		info, err := os.Stat(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("mode of %q is %v, want 0600", end, info.Mode().Perm())
		}
	}
}
