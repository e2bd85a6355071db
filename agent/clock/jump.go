package clock

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// jumpNotice learns from the kernel that the wall clock was set: a timer on CLOCK_REALTIME that never fires is cancelled by it, and by
// a suspend. It costs nothing until then.
type jumpNotice struct {
	c    chan struct{}
	stop chan struct{} // ends the fallback
	file *os.File
	wg   sync.WaitGroup
}

func newJumpNotice() *jumpNotice {
	n := &jumpNotice{c: make(chan struct{}, 1), stop: make(chan struct{})}
	fd, err := openJump()
	if err != nil {
		n.wg.Go(n.look)
		return n
	}
	n.file = os.NewFile(uintptr(fd), "timerfd")
	n.wg.Go(n.watch)
	return n
}

// C receives after a jump.
func (n *jumpNotice) C() <-chan struct{} { return n.c }

// Stop frees the notice. When it has returned, nothing of it runs.
func (n *jumpNotice) Stop() {
	close(n.stop)
	if n.file != nil {
		_ = n.file.Close()
	}
	n.wg.Wait()
}

// openJump is replaced by a test that has no file descriptors left.
var openJump = func() (int, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return -1, err
	}
	if err := armJump(fd); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// armJump sets the timer a month ahead. It is there to be cancelled; where it fires, one wake-up was for nothing.
func armJump(fd int) error {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(time.Now().Add(30 * 24 * time.Hour).UnixNano())}
	return unix.TimerfdSettime(fd, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET, &spec, nil)
}

// watch turns cancellations into wake-ups until the file is closed. A read that fails for another reason than a jump ends it; the
// fallback goes on then.
func (n *jumpNotice) watch() {
	var count [8]byte
	for {
		_, err := n.file.Read(count[:])
		if err != nil && !errors.Is(err, unix.ECANCELED) {
			break
		}
		wake(n.c)
		conn, err := n.file.SyscallConn()
		if err != nil {
			break
		}
		var set error
		if err := conn.Control(func(fd uintptr) { set = armJump(int(fd)) }); err != nil || set != nil {
			break
		}
	}
	n.look()
}

// look compares the two clocks again and again, where the kernel does not tell.
func (n *jumpNotice) look() {
	offset := func() int64 { return time.Now().UnixMilli() - bootNow()/int64(time.Millisecond) }
	last := offset()
	for {
		select {
		case <-n.stop:
			return
		case <-time.After(recheck):
		}
		if now := offset(); now-last > jumpMS || last-now > jumpMS {
			last = now
			wake(n.c)
		}
	}
}
