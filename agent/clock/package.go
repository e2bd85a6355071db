package clock

import (
	"slices"
	"sync"
	"time"
)

// Virtual is a clock on the time of package time. Made inside a testing/synctest bubble, it runs on the bubble's virtual time. A
// reboot is a new Virtual with another boot id; its boot time begins at 0 again.
type Virtual struct {
	bootID string
	start  time.Time

	mu      sync.Mutex
	trusted bool
	shift   time.Duration // of the wall clock
	slept   time.Duration // in suspends, which package time knows nothing of
	timers  []*softTimer
	notices []*virtualNotice
}

// Package returns a clock that boots now. Its wall clock is trusted until SetTrusted says otherwise.
func Package(bootID string) *Virtual {
	return &Virtual{bootID: bootID, start: time.Now(), trusted: true}
}

// Boot is the time since Package was called, suspends included, in ms.
func (v *Virtual) Boot() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return (time.Since(v.start) + v.slept).Milliseconds()
}

// BootID names this boot.
func (v *Virtual) BootID() string { return v.bootID }

// Wall is the Unix time in ms as this device believes it, and whether it is trusted.
func (v *Virtual) Wall() (ms int64, trusted bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Now().Add(v.shift + v.slept).UnixMilli(), v.trusted
}

// NewTimer returns a disarmed timer on package time.
func (v *Virtual) NewTimer() Timer {
	t := newSoftTimer(make(chan struct{}, 1), v.Boot, forever)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.timers = append(v.timers, t)
	return t
}

// NewNotice returns a notice of what ShiftWall and Suspend do.
func (v *Virtual) NewNotice() Notice {
	n := &virtualNotice{v: v, c: make(chan struct{}, 1)}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notices = append(v.notices, n)
	return n
}

type virtualNotice struct {
	v *Virtual
	c chan struct{}
}

func (n *virtualNotice) C() <-chan struct{} { return n.c }

func (n *virtualNotice) Stop() {
	n.v.mu.Lock()
	defer n.v.mu.Unlock()
	n.v.notices = slices.DeleteFunc(n.v.notices, func(x *virtualNotice) bool { return x == n })
}

// tell is called with the lock held.
func (v *Virtual) tell() {
	for _, n := range v.notices {
		wake(n.c)
	}
}

// Suspend lets the machine sleep for d: both clocks have gone on when it returns, and nothing that runs on package time has.
func (v *Virtual) Suspend(d time.Duration) {
	v.mu.Lock()
	v.slept += d
	v.tell()
	timers := slices.Clone(v.timers)
	v.mu.Unlock()
	for _, t := range timers {
		t.look()
	}
}

// SetTrusted says whether the wall clock is believed.
func (v *Virtual) SetTrusted(trusted bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.trusted = trusted
}

// ShiftWall makes the wall clock jump by d against what it showed before. Boot time does not move.
func (v *Virtual) ShiftWall(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shift += d
	v.tell()
}
