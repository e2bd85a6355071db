package clock

import (
	"math"
	"sync"
	"time"
)

// recheck bounds one wait of the fallback timer: after a suspend it is late by at most this.
const recheck = 30 * time.Second

// softTimer is a Go timer that looks at a clock of its own when it fires, and waits on if the moment has not come.
type softTimer struct {
	c    chan struct{}
	now  func() int64  // ms
	most time.Duration // the longest wait between two looks

	mu    sync.Mutex
	timer *time.Timer // of the present arming
	at    int64
}

func newSoftTimer(c chan struct{}, now func() int64, most time.Duration) *softTimer {
	return &softTimer{c: c, now: now, most: most}
}

// C is readable when the moment has come.
func (t *softTimer) C() <-chan struct{} { return t.c }

// Reset arms the timer for a moment of its clock, in ms.
func (t *softTimer) Reset(at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disarm()
	t.at = at
	t.wait()
}

// wait is called with the lock held.
func (t *softTimer) wait() {
	left := t.at - t.now()
	if left <= 0 {
		wake(t.c)
		return
	}
	d := t.most
	if left <= d.Milliseconds() {
		d = time.Duration(left) * time.Millisecond
	}
	var mine *time.Timer
	mine = time.AfterFunc(d, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.timer == mine {
			t.wait()
		}
	})
	t.timer = mine
}

// look finds out that the clock has jumped.
func (t *softTimer) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
		t.wait()
	}
}

// Stop disarms the timer; C is empty then.
func (t *softTimer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disarm()
}

func (t *softTimer) disarm() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	drain(t.c)
}

// forever is a wait that needs no second look: package time is the clock itself.
const forever = time.Duration(math.MaxInt64)
