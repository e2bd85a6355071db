package clock

import (
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
}

// Package returns a clock that boots now. Its wall clock is trusted until SetTrusted says otherwise.
func Package(bootID string) *Virtual {
	return &Virtual{bootID: bootID, start: time.Now(), trusted: true}
}

// Boot is the time since Package was called, in ms.
func (v *Virtual) Boot() int64 { return time.Since(v.start).Milliseconds() }

// BootID names this boot.
func (v *Virtual) BootID() string { return v.bootID }

// Wall is the Unix time in ms as this device believes it, and whether it is trusted.
func (v *Virtual) Wall() (ms int64, trusted bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Now().Add(v.shift).UnixMilli(), v.trusted
}

// NewTimer returns a disarmed timer on package time.
func (v *Virtual) NewTimer() Timer { return newSoftTimer(make(chan struct{}, 1), v.Boot, forever) }

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
}
