package clock

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Timer wakes its owner at a moment of the boot clock. It is an alias, so that a user who declares the same methods gets the same
// type. C carries at most one wake-up; a wake-up is never early, but may be of an arming that Reset has replaced if its moment
// has passed too. A moment in the past fires at once. Stop disarms and frees; Reset arms again. One owner uses Reset and Stop.
type Timer = interface {
	C() <-chan struct{}
	Reset(bootMS int64)
	Stop()
}

// Notice tells its owner that the wall clock was set, or that the machine slept. It may be told without cause. Stop frees it.
type Notice = interface {
	C() <-chan struct{}
	Stop()
}

// Options are the settings of the system's clock.
type Options struct {
	// BootID names this boot: 32 hex digits, dashes allowed. Empty: read from the kernel (not possible under ProcSubset=pid).
	BootID string
	// AssumeSynced trusts the wall clock without asking. For labs and robots whose clock has its own guarantee.
	AssumeSynced bool
	// NotBefore is a floor: a wall clock before it is wrong for certain, whatever else is said of it. Zero: [BuildTime].
	NotBefore time.Time
}

// System is the machine's clock.
type System struct {
	bootID string
	opt    Options
	sync   func() bool // says whether somebody keeps the wall clock right

	mu     sync.Mutex
	synced int64 // boot ms when somebody was last seen to keep it right; 0: never in this process
	offset int64 // of the wall clock to the boot clock then, ms
}

const bootIDPath = "/proc/sys/kernel/random/boot_id"

// New returns the machine's clock. Its error says that no boot id is to be had.
func New(opt Options) (*System, error) {
	text := opt.BootID
	if text == "" {
		raw, err := os.ReadFile(bootIDPath)
		if err != nil {
			return nil, fmt.Errorf("cannot read the boot id (set DEVICEAGENT_BOOT_ID where /proc is hidden): %w", err)
		}
		text = string(raw)
	}
	id, err := parseBootID(text)
	if err != nil {
		return nil, err
	}
	if opt.NotBefore.IsZero() {
		opt.NotBefore = BuildTime()
	}
	return &System{bootID: id, opt: opt, sync: synchronised}, nil
}

// parseBootID brings the two spellings (the kernel's with dashes, systemd's %b without) to one.
func parseBootID(text string) (string, error) {
	id := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), "-", ""))
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return "", fmt.Errorf("cannot use boot id %q: it must have 32 hex digits", text)
	}
	return id, nil
}

// Boot is the time since the machine booted, suspend included, in ms. It never goes back within a boot id.
func (s *System) Boot() int64 { return bootNow() / int64(time.Millisecond) }

// BootID names this boot. Times of two boots have no order.
func (s *System) BootID() string { return s.bootID }

// Wall is the Unix time in ms, and whether it is trusted: kept right by somebody (or assumed to be) and not before the floor.
func (s *System) Wall() (ms int64, trusted bool) {
	now := time.Now()
	if now.Before(s.opt.NotBefore) {
		return now.UnixMilli(), false
	}
	return now.UnixMilli(), s.opt.AssumeSynced || s.kept(now.UnixMilli(), s.Boot())
}

// jumpMS is a step of the wall clock that is no correction of its pace. Source: docs/taskmanager.md, time (5 s).
const jumpMS = 5000

// holdoverMS is how long a wall clock that somebody kept right is still believed when nobody does any more: a robot without a network
// keeps its schedules. Source: the kernel gives up after some 9 h (its error grows by 500 ppm by assumption), a quartz is wrong by at
// most 100 ppm, which is 9 s a day.
const holdoverMS = 7 * 24 * 3600 * 1000

// kept says whether the wall clock is kept right, or was and has only gone on since: it was not set by another hand.
func (s *System) kept(wall, boot int64) bool {
	now := s.sync()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now {
		s.synced, s.offset = boot, wall-boot
		return true
	}
	drift := wall - boot - s.offset
	return s.synced != 0 && boot-s.synced <= holdoverMS && drift <= jumpMS && drift >= -jumpMS
}

// NewTimer returns a disarmed timer.
func (s *System) NewTimer() Timer { return newBootTimer() }

// NewNotice begins to watch the wall clock.
func (s *System) NewNotice() Notice { return newJumpNotice() }

// bootNow is CLOCK_BOOTTIME in ns.
func bootNow() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("internal error: the kernel has no boot clock: " + err.Error()) // Linux has had it since 2.6.39
	}
	return ts.Nano()
}

// timesyncMark is what systemd-timesyncd (and chrony with its wait unit) leave once they have set the clock in this boot.
const timesyncMark = "/run/systemd/timesync/synchronized"

// synchronised asks the kernel, and the time service's mark where a sandbox forbids the question. Beware: systemd's ProtectClock
// and system call filters forbid adjtimex also for reading; a filter without SystemCallErrorNumber kills the process for it.
func synchronised() bool {
	if _, err := os.Stat(timesyncMark); err == nil {
		return true
	}
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return err == nil && state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0
}

// buildTime may be set by the linker (-X deviceagent/agent/clock.buildTime=2026-11-30T09:00:00Z).
var buildTime string

// BuildTime is when this program was built, or when the source that it was built from was committed; zero if neither is known.
func BuildTime() time.Time {
	text := buildTime
	if info, ok := debug.ReadBuildInfo(); ok && text == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.time" {
				text = s.Value
			}
		}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// errNoTimer says that the kernel gave no timerfd.
var errNoTimer = errors.New("no boot timer")
