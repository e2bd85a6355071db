package storetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/storetest"
)

func TestMemoryConforms(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() taskmanager.Store {
		var m *storetest.Memory
		return func() taskmanager.Store {
			if m == nil {
				m = storetest.NewMemory()
			} else {
				m = m.Reopen()
			}
			return m
		}
	})
}

func TestFailingConforms(t *testing.T) {
	storetest.Run(t, func(*testing.T) func() taskmanager.Store {
		var m *storetest.Memory
		return func() taskmanager.Store {
			if m == nil {
				m = storetest.NewMemory()
			} else {
				m = m.Reopen()
			}
			return storetest.NewFailing(m)
		}
	})
}

func TestPowerCutKillsTheOldHandle(t *testing.T) {
	old := storetest.NewMemory()
	next := old.Reopen() // without Close
	batch := taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "w", Body: []byte("x")}}}
	if err := old.Commit(context.Background(), batch); !errors.Is(err, taskmanager.ErrNotCommitted) {
		t.Fatalf("the process before the cut committed: %v", err)
	}
	if err := next.Commit(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
}

func TestFailingFollowsItsScript(t *testing.T) {
	for _, tc := range []struct {
		outcome storetest.Outcome
		want    error
		there   bool
		usable  bool
	}{
		{storetest.OK, nil, true, true},
		{storetest.NotCommitted, taskmanager.ErrNotCommitted, false, true},
		{storetest.Written, nil, true, true},
		{storetest.WrittenBroken, taskmanager.ErrStoreBroken, true, false},
		{storetest.Broken, taskmanager.ErrStoreBroken, false, false},
	} {
		t.Run(string(tc.outcome), func(t *testing.T) {
			m := storetest.NewMemory()
			f := storetest.NewFailing(m)
			f.Script(tc.outcome)
			err := f.Commit(context.Background(), taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "w", Body: []byte("x")}}})
			if !errors.Is(err, tc.want) {
				t.Fatalf("error %v, want %v", err, tc.want)
			}
			if err := f.Commit(context.Background(), taskmanager.Batch{}); (err == nil) != tc.usable {
				t.Fatalf("next commit: %v, want usable %v", err, tc.usable)
			}
			if _, err := f.Load(context.Background()); (err == nil) != tc.usable {
				t.Fatalf("load: %v, want usable %v", err, tc.usable)
			}
			img, err := m.Reopen().Load(context.Background())
			if err != nil || (len(img.Records) == 1) != tc.there {
				t.Fatalf("records %v (%v), want there %v", img.Records, err, tc.there)
			}
			if f.Commits() != 2 {
				t.Fatalf("%d commits, want 2", f.Commits())
			}
		})
	}
}

func TestStallWaitsForRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		f := storetest.NewFailing(m)
		f.Script(storetest.Stall)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			done <- f.Commit(ctx, taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "w", Body: []byte("x")}}})
		}()
		<-f.Stalled()
		cancel()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("the commit ended during the stall")
		}
		f.Release()
		if err := <-done; err != nil {
			t.Fatalf("commit after the stall: %v", err)
		}
	})
}
