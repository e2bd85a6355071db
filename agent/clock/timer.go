package clock

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// bootTimer is a timer on CLOCK_BOOTTIME. Its file and goroutine live from Reset to Stop.
type bootTimer struct {
	c  chan struct{}
	wg sync.WaitGroup

	mu       sync.Mutex
	file     *os.File
	at       int64      // ms
	fallback *softTimer // in use where there is no timerfd
}

func newBootTimer() *bootTimer { return &bootTimer{c: make(chan struct{}, 1)} }

// C is readable when the moment has come.
func (t *bootTimer) C() <-chan struct{} {
	return t.c
}

// Reset arms the timer for a moment of the boot clock, in ms, in place of an earlier one.
func (t *bootTimer) Reset(bootMS int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = bootMS
	drain(t.c)
	if t.file == nil && t.fallback == nil {
		t.open()
	}
	if t.fallback != nil {
		t.fallback.Reset(bootMS)
		return
	}
	if err := arm(t.file, bootMS); err != nil {
		panic("internal error: cannot arm the boot timer: " + err.Error()) // only bad arguments fail
	}
}

// open makes the timerfd, or the fallback.
func (t *bootTimer) open() {
	fd, err := openTimer()
	if err != nil {
		t.fallback = newSoftTimer(t.c, func() int64 { return bootNow() / int64(time.Millisecond) }, recheck)
		return
	}
	// Non-blocking, so that the runtime's poller waits and a Close ends the Read.
	t.file = os.NewFile(uintptr(fd), "timerfd")
	file := t.file
	t.wg.Go(func() { t.watch(file) })
}

// openTimer is replaced by a test that has no file descriptors left.
var openTimer = func() (int, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("%w: %w", errNoTimer, err)
	}
	return fd, nil
}

func arm(f *os.File, bootMS int64) error {
	at := max(1, bootMS*int64(time.Millisecond)) // 0 would disarm
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(at)}
	var set error
	if err := conn.Control(func(fd uintptr) { set = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &spec, nil) }); err != nil {
		return err
	}
	return set
}

// watch turns expirations into wake-ups until the file is closed.
func (t *bootTimer) watch(f *os.File) {
	var count [8]byte
	for {
		if _, err := f.Read(count[:]); err != nil {
			return
		}
		t.mu.Lock()
		if t.file == f {
			t.expired()
		}
		t.mu.Unlock()
	}
}

// expired handles one expiration; the lock is held. It may belong to an arming that Reset replaced while it was read, or be a hair
// early by our own reading of the clock: then the moment is still to come, and the timer is armed again for it. To pass over it
// would be to lose the only wake-up there is.
func (t *bootTimer) expired() {
	if bootNow() >= t.at*int64(time.Millisecond) {
		wake(t.c)
		return
	}
	if err := arm(t.file, t.at); err != nil {
		panic("internal error: cannot arm the boot timer: " + err.Error())
	}
}

// Stop disarms the timer. When it has returned, C is empty and nothing of the timer runs.
func (t *bootTimer) Stop() {
	t.mu.Lock()
	file, soft := t.file, t.fallback
	t.file, t.fallback = nil, nil
	t.mu.Unlock()
	if soft != nil {
		soft.Stop()
	}
	if file != nil {
		_ = file.Close()
	}
	t.wg.Wait()
	drain(t.c)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}
