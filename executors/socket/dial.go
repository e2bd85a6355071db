package socket

import (
	"context"
	"math/rand/v2"
	"net"
	"time"
)

// The back-off of a dial loop: the first attempt after a lost session comes soon, since the agent restarts in a second or two.
const (
	retryFirst = 100 * time.Millisecond
	retryLow   = time.Second
	retryHigh  = 10 * time.Second
	settled    = 10 * time.Second // a session that lived that long starts the back-off anew
)

// Dialer keeps a program registered for ever.
type Dialer struct {
	Open func(ctx context.Context) (net.Conn, error)
	Reg  Registration
	// Lost hears why an attempt or a session ended and how long the pause is; nil: nobody listens.
	Lost func(err error, pause time.Duration)
}

// Dial keeps p registered at the agent's socket at path until ctx ends: it connects, serves, and connects again after 100 ms,
// then 1 s, doubling to 10 s, with jitter. A refused registration is tried again too: the catalog may change. It returns the
// cause of ctx, when no goroutine of it is left.
func Dial(ctx context.Context, path string, reg Registration, p Program) error {
	open := func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	return Dialer{Open: open, Reg: reg}.Run(ctx, p)
}

// Run is [Dial] with the parts of d.
func (d Dialer) Run(ctx context.Context, p Program) error {
	for failures := 0; ; failures++ {
		lived, err := d.session(ctx, p)
		if lived >= settled {
			failures = 0
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		pause := backOff(failures, rand.Float64())
		if d.Lost != nil {
			d.Lost(err, pause)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func (d Dialer) session(ctx context.Context, p Program) (time.Duration, error) {
	conn, err := d.Open(ctx)
	if err != nil {
		return 0, err
	}
	s, err := Serve(ctx, conn, d.Reg, p)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	<-s.Done()
	return time.Since(start), s.Err()
}

// backOff is the pause after this many failures in a row; unit is in [0,1).
func backOff(failures int, unit float64) time.Duration {
	if failures == 0 {
		return retryFirst
	}
	top := min(retryLow<<min(failures, 10), retryHigh)
	return retryLow + time.Duration(unit*float64(top-retryLow))
}
