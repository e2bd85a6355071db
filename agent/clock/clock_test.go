package clock

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func system(t *testing.T, opt Options) *System {
	t.Helper()
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBootIDHasOneSpelling(t *testing.T) {
	raw, err := os.ReadFile(bootIDPath)
	if err != nil {
		t.Fatal(err)
	}
	kernel := system(t, Options{}).BootID()
	if want := strings.ReplaceAll(strings.TrimSpace(string(raw)), "-", ""); kernel != want {
		t.Errorf("boot id %q, want the kernel's %q", kernel, want)
	}
	if given := system(t, Options{BootID: strings.ToUpper(string(raw))}).BootID(); given != kernel {
		t.Errorf("the same boot id given is %q, want %q", given, kernel)
	}
	for _, bad := range []string{"x", strings.Repeat("g", 32), strings.Repeat("a", 33)} {
		if _, err := New(Options{BootID: bad}); err == nil {
			t.Errorf("boot id %q was taken", bad)
		}
	}
}

func TestBootTimeRuns(t *testing.T) {
	s := system(t, Options{})
	a := s.Boot()
	tick := s.NewTimer()
	defer tick.Stop()
	tick.Reset(a + 3)
	<-tick.C()
	if b := s.Boot(); b < a+3 || a <= 0 {
		t.Fatalf("boot time went from %d to %d", a, b)
	}
}

func TestWallIsTrustedOnlyIfSyncedAndAfterTheFloor(t *testing.T) {
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, tc := range []struct {
		name   string
		floor  time.Time
		assume bool
		synced bool
		want   bool
	}{
		{"synced", past, false, true, true},
		{"not synced", past, false, false, false},
		{"assumed", past, true, false, true},
		{"before the floor, whatever is said", future, true, true, false},
	} {
		s := system(t, Options{NotBefore: tc.floor, AssumeSynced: tc.assume})
		s.sync = func() bool { return tc.synced }
		ms, got := s.Wall()
		if got != tc.want {
			t.Errorf("%s: trusted %v, want %v", tc.name, got, tc.want)
		}
		if d := time.Since(time.UnixMilli(ms)); d < 0 || d > time.Minute {
			t.Errorf("%s: wall time is off by %v", tc.name, d)
		}
	}
}

func TestBuildTimeOfTheLinker(t *testing.T) {
	defer func(old string) { buildTime = old }(buildTime)
	buildTime = "2026-11-30T09:00:00Z"
	if got := BuildTime(); got.UnixMilli() != 1796029200000 {
		t.Errorf("build time %v", got)
	}
	if s := system(t, Options{}); !s.opt.NotBefore.Equal(BuildTime()) {
		t.Error("the build time is not the floor")
	}
}

// timers are the three kinds, on the machine's real boot clock; one suite covers all.
func timers(t *testing.T) map[string]Timer {
	t.Helper()
	now := system(t, Options{}).Boot
	broken := newBootTimer()
	return map[string]Timer{
		"timerfd":  newBootTimer(),
		"soft":     newSoftTimer(make(chan struct{}, 1), now, 2*time.Millisecond),
		"fallback": broken,
	}
}

func TestTimers(t *testing.T) {
	now := system(t, Options{}).Boot
	for name, timer := range timers(t) {
		t.Run(name, func(t *testing.T) {
			if name == "fallback" {
				defer func(old func() (int, error)) { openTimer = old }(openTimer)
				openTimer = func() (int, error) { return -1, errNoTimer }
			}
			defer timer.Stop()
			for _, after := range []int64{-1000, 0, 1, 20} {
				at := now() + after
				timer.Reset(at)
				select {
				case <-timer.C():
				case <-time.After(time.Minute):
					t.Fatalf("a timer %d ms ahead never fired", after)
				}
				if early := at - now(); early > 0 {
					t.Fatalf("fired %d ms early", early)
				}
			}
			timer.Reset(0) // the beginning of time, not "never"
			<-timer.C()

			timer.Reset(now() + 5)
			timer.Reset(now() + 3600_000)
			select {
			case <-timer.C():
				t.Fatal("a replaced moment fired")
			case <-time.After(20 * time.Millisecond):
			}

			timer.Reset(now() - 1)
			timer.Stop()
			select {
			case <-timer.C():
				t.Fatal("a stopped timer fired")
			case <-time.After(5 * time.Millisecond):
			}
			timer.Reset(now() - 1) // may be used again
			<-timer.C()
		})
	}
}

// The boot clock goes on while Go's timers stand still: the look at the clock finds it, within one recheck.
func TestFallbackFindsOutAboutASuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var slept atomic.Int64 // ms
		boot := func() int64 { return time.Since(start).Milliseconds() + slept.Load() }
		timer := newSoftTimer(make(chan struct{}, 1), boot, recheck)
		defer timer.Stop()
		timer.Reset(time.Hour.Milliseconds())
		time.Sleep(10 * time.Second)
		slept.Store((8 * time.Hour).Milliseconds())
		<-timer.C()
		if d := time.Since(start); d > recheck {
			t.Fatalf("fired after %v of running time, want at most %v", d, recheck)
		}
	})
}

func TestPackageClockRunsOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour)
		c := Package("boot-1")
		if c.Boot() != 0 || c.BootID() != "boot-1" {
			t.Fatalf("a new boot begins at %d as %q", c.Boot(), c.BootID())
		}
		timer := c.NewTimer()
		defer timer.Stop()
		month := (30 * 24 * time.Hour).Milliseconds()
		timer.Reset(month)
		<-timer.C()
		if c.Boot() != month {
			t.Fatalf("fired at %d, want %d", c.Boot(), month)
		}
		before, trusted := c.Wall()
		if !trusted || before != time.Now().UnixMilli() {
			t.Fatalf("wall time %d, trusted %v", before, trusted)
		}
		c.ShiftWall(-2 * time.Hour)
		c.SetTrusted(false)
		after, trusted := c.Wall()
		if trusted || after != before-7200_000 || c.Boot() != month {
			t.Fatalf("after the jump: wall %d, trusted %v, boot %d", after, trusted, c.Boot())
		}
	})
}

// An expiration that comes before its moment (of a replaced arming, or a hair early) is no wake-up, and the moment is not lost.
func TestEarlyExpirationIsArmedAgain(t *testing.T) {
	now := system(t, Options{}).Boot
	timer := newBootTimer()
	defer timer.Stop()
	at := now() + 30
	timer.Reset(at)
	timer.mu.Lock()
	if err := arm(timer.file, at-30); err != nil { // the kernel fires now, the moment is later
		t.Fatal(err)
	}
	timer.mu.Unlock()
	select {
	case <-timer.C():
	case <-time.After(time.Minute):
		t.Fatal("the wake-up was lost")
	}
	if early := at - now(); early > 0 {
		t.Fatalf("fired %d ms early", early)
	}
}

// The kernel says which clock a timer runs on: a suspend cannot be had in a test.
func TestTimerRunsOnTheBootClock(t *testing.T) {
	timer := newBootTimer()
	defer timer.Stop()
	timer.Reset(1 << 40)
	conn, err := timer.file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info []byte
	var readErr error
	if err := conn.Control(func(fd uintptr) { info, readErr = os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd)) }); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("clockid: %d\n", unix.CLOCK_BOOTTIME); readErr != nil || !strings.Contains(string(info), want) {
		t.Fatalf("the kernel describes the timer as %q (%v), want %q", info, readErr, want)
	}
}

func TestTimerfdErrorIsNamed(t *testing.T) {
	defer func(old func() (int, error)) { openTimer = old }(openTimer)
	openTimer = func() (int, error) { return -1, errNoTimer }
	timer := newBootTimer()
	timer.Reset(1 << 50)
	if timer.fallback == nil {
		t.Fatal("no fallback is in use")
	}
	timer.Stop()
	if _, err := openTimer(); !errors.Is(err, errNoTimer) {
		t.Fatalf("got %v", err)
	}
}
