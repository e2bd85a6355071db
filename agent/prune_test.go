package agent

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/store"
)

// wallClock says what time it is, and whether to believe it.
type wallClock struct {
	Clock
	ms      int64
	trusted bool
}

func (c wallClock) Wall() (int64, bool) { return c.ms, c.trusted }

func TestWhatIsTooOldIsPrunedAndAYoungStoreIsNotWritten(t *testing.T) {
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(t.TempDir(), "agent.db"), store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	day := (24 * time.Hour).Milliseconds()
	for n := range int64(3) {
		row := taskmanager.JournalRow{Seq: n + 1, WallMS: 1_800_000_000_000 + n*20*day, Kind: "tick"}
		if err := s.Commit(ctx, taskmanager.Batch{Journal: []taskmanager.JournalRow{row}}); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (n int) {
		rows, err := s.Journal(ctx, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	for _, tc := range []struct {
		name    string
		clock   wallClock
		want    int
		written bool
	}{
		{"young", wallClock{ms: 1_800_000_000_000 + 29*day, trusted: true}, 3, false},
		{"a clock that is not trusted", wallClock{ms: 1_800_000_000_000 + 900*day}, 3, false},
		{"a month later", wallClock{ms: 1_800_000_000_000 + 31*day, trusted: true}, 2, true},
		{"and again", wallClock{ms: 1_800_000_000_000 + 31*day, trusted: true}, 2, false},
		{"years later the last row stays", wallClock{ms: 1_800_000_000_000 + 900*day, trusted: true}, 1, true},
	} {
		before := s.Info().Commits
		a := &Agent{o: Options{Clock: tc.clock, Log: zerolog.Nop()}, store: s}
		a.prune(ctx)
		if n := left(); n != tc.want {
			t.Errorf("%s: %d rows, want %d", tc.name, n, tc.want)
		}
		if wrote := s.Info().Commits != before; wrote != tc.written {
			t.Errorf("%s: written %v, want %v", tc.name, wrote, tc.written)
		}
	}
}
