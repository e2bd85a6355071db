package cloudlink

import (
	"testing"
	"time"
)

func TestBackoffDoublesToAMinute(t *testing.T) {
	var b backoff
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		if d := b.next(1); d != want*time.Second {
			t.Errorf("wait %d is %v, want %vs", i, d, want)
		}
	}
	for range 100 {
		if d := b.next(0); d != backoffLeast {
			t.Fatalf("the least wait is %v, want %v", d, backoffLeast)
		}
	}
	b.reset()
	if d := b.next(0.5); d != 500*time.Millisecond {
		t.Errorf("after a reset the wait is %v, want half a second", d)
	}
}

func TestAStableMinuteResetsTheBackoff(t *testing.T) {
	for _, tc := range []struct {
		lasted time.Duration
		want   int
	}{{stableAfter - 1, 5}, {stableAfter, 0}} {
		l := New(Options{})
		l.back.tries = 5
		l.learn(ending{reason: ReasonClosed, lasted: tc.lasted})
		if l.back.tries != tc.want {
			t.Errorf("after %v: %d tries remembered, want %d", tc.lasted, l.back.tries, tc.want)
		}
	}
}
