package clock

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel says what the notice waits for: the clock of the machine cannot be set in a test.
func TestANoticeIsCancelledByAJump(t *testing.T) {
	n := newJumpNotice()
	defer n.Stop()
	conn, err := n.file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info []byte
	var readErr error
	if err := conn.Control(func(fd uintptr) { info, readErr = os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd)) }); err != nil {
		t.Fatal(err)
	}
	flags := fmt.Sprintf("settime flags: 0%o\n", unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET)
	if readErr != nil || !strings.Contains(string(info), fmt.Sprintf("clockid: %d\n", unix.CLOCK_REALTIME)) || !strings.Contains(string(info), flags) {
		t.Fatalf("the kernel describes the timer as %q (%v), want the wall clock and %q", info, readErr, flags)
	}
	select {
	case <-n.C():
		t.Fatal("told without a jump")
	case <-time.After(20 * time.Millisecond):
	}
}

// A notice that fires is set anew: it tells of the next jump too.
func TestANoticeIsSetAnew(t *testing.T) {
	n := newJumpNotice()
	defer n.Stop()
	conn, err := n.file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var set error
		err := conn.Control(func(fd uintptr) {
			spec := unix.ItimerSpec{Value: unix.NsecToTimespec(1)} // a moment that has passed: it fires at once
			set = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &spec, nil)
		})
		if err != nil || set != nil {
			t.Fatal(err, set)
		}
		select {
		case <-n.C():
		case <-time.After(time.Minute):
			t.Fatal("nobody was told")
		}
	}
}

func TestANoticeWithoutATimerLooksForItself(t *testing.T) {
	defer func(old func() (int, error)) { openJump = old }(openJump)
	openJump = func() (int, error) { return -1, errNoTimer }
	synctest.Test(t, func(t *testing.T) { // package time runs away from the machine's boot clock: the two differ more and more
		n := newJumpNotice()
		defer n.Stop()
		start := time.Now()
		<-n.C()
		if d := time.Since(start); d > 2*recheck {
			t.Fatalf("told after %v, want within two looks", d)
		}
	})
}

// TestG1_AClockThatWasKeptRightIsBelievedForAWhile: a robot that has lost its network keeps its schedules; one whose clock was set by
// another hand does not believe it.
func TestG1_AClockThatWasKeptRightIsBelievedForAWhile(t *testing.T) {
	const day = 24 * 3600 * 1000
	for _, tc := range []struct {
		name       string
		wall, boot int64 // since it was kept right
		want       bool
	}{
		{"an hour later", 3600_000, 3600_000, true},
		{"a week later", 7 * day, 7 * day, true},
		{"more than a week later", 7*day + 1, 7*day + 1, false},
		{"its pace was corrected", 3600_000 + 5000, 3600_000, true},
		{"it was set forth", 3600_000 + 5001, 3600_000, false},
		{"it was set back", 3600_000 - 5001, 3600_000, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kept := true
			s := &System{sync: func() bool { return kept }}
			const wall, boot = 1_800_000_000_000, 1_000_000
			if !s.kept(wall, boot) {
				t.Fatal("a clock that is kept right is not believed")
			}
			kept = false
			if got := s.kept(wall+tc.wall, boot+tc.boot); got != tc.want {
				t.Errorf("believed: %v, want %v", got, tc.want)
			}
		})
	}
	t.Run("never kept right", func(t *testing.T) {
		s := &System{sync: func() bool { return false }}
		if s.kept(1_800_000_000_000, 1_000_000) {
			t.Error("believed")
		}
	})
}

func TestF51_AVirtualSuspendIsOverAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Package("boot-1")
		n, timer := c.NewNotice(), c.NewTimer()
		defer timer.Stop()
		defer n.Stop()
		timer.Reset(time.Hour.Milliseconds())
		wall, _ := c.Wall()
		start := time.Now()
		c.Suspend(8 * time.Hour)
		<-timer.C()
		<-n.C()
		if d := time.Since(start); d != 0 {
			t.Fatalf("the timer was due after %v", d)
		}
		if after, _ := c.Wall(); c.Boot() != 8*time.Hour.Milliseconds() || after-wall != 8*time.Hour.Milliseconds() {
			t.Fatalf("boot time %d, the wall clock went on by %d", c.Boot(), after-wall)
		}
		timer.Reset(9 * time.Hour.Milliseconds())
		<-timer.C()
		if d := time.Since(start); d != time.Hour {
			t.Fatalf("an hour after the suspend came after %v", d)
		}
	})
}
