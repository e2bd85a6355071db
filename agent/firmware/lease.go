package firmware

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Bounds of leases. Source: docs/agent-dbus.md, leases. An update that takes longer than an hour says so again.
const (
	maxLeases    = 64
	perOwner     = 8
	maxLeaseTime = time.Hour
)

// lease says that its owner must not be interrupted. It has an end, and an owner without whom it is nothing.
type lease struct {
	id     string
	owner  string // unique name
	who    caller
	reason string
	until  time.Time // of the monotonic clock
}

// leases are those that stand. They are in memory only: an owner that is still there when the agent comes back takes them anew.
type leases struct {
	mu     sync.Mutex
	list   []lease
	no     int
	nonce  string
	change chan struct{} // receives after one came or went

	closed time.Time // until then none is given: a restart was announced
}

func newLeases() *leases {
	return &leases{nonce: strconv.FormatInt(time.Now().UnixMilli(), 36), change: make(chan struct{}, 1)}
}

var (
	errLeases   = errors.New("too many leases stand")
	errRestart  = errors.New("a restart was announced: what must not be cut off must not begin")
	errNotYours = errors.New("the caller has no lease of this id; it may have ended with its time")
)

// take gives a lease, or lengthens the one that the owner has for the same reason.
func (l *leases) take(c caller, reason string, d time.Duration, now time.Time) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	if now.Before(l.closed) {
		return "", errRestart
	}
	mine := 0
	for i := range l.list {
		if x := &l.list[i]; x.owner == c.name {
			if mine++; x.reason == reason {
				x.until = now.Add(d)
				l.tell()
				return x.id, nil
			}
		}
	}
	if len(l.list) >= maxLeases || mine >= perOwner {
		return "", errLeases
	}
	l.no++
	x := lease{id: fmt.Sprintf("lease-%s-%d", l.nonce, l.no), owner: c.name, who: c, reason: reason, until: now.Add(d)}
	l.list = append(l.list, x)
	l.tell()
	return x.id, nil
}

// shut gives no lease until a moment, where nobody but owner has one: who announces a restart may be busy with what it is for.
func (l *leases) shut(owner string, until, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	if slices.ContainsFunc(l.list, func(x lease) bool { return x.owner != owner }) {
		return false
	}
	l.closed = until
	return true
}

// reopen gives leases again.
func (l *leases) reopen() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = time.Time{}
}

// done ends a lease of an owner.
func (l *leases) done(owner, id string) error {
	if n := len(l.drop(func(x lease) bool { return x.owner == owner && x.id == id })); n == 0 {
		return errNotYours
	}
	return nil
}

// gone ends the leases of an owner who has left the bus.
func (l *leases) gone(owner string) []lease {
	return l.drop(func(x lease) bool { return x.owner == owner })
}

// clear ends all: the bus on which their owners were known is gone.
func (l *leases) clear() { l.drop(func(lease) bool { return true }) }

func (l *leases) drop(which func(lease) bool) (out []lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(x lease) bool {
		if which(x) {
			out = append(out, x)
			return true
		}
		return false
	})
	if len(out) > 0 {
		l.tell()
	}
	return out
}

// standing lists the leases that stand now, and when the first of them ends.
func (l *leases) standing(now time.Time) (out []lease, next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	for _, x := range l.list {
		if left := x.until.Sub(now); next == 0 || left < next {
			next = left
		}
	}
	return slices.Clone(l.list), next
}

func (l *leases) expire(now time.Time) {
	l.list = slices.DeleteFunc(l.list, func(x lease) bool { return !x.until.After(now) })
}

func (l *leases) tell() {
	select {
	case l.change <- struct{}{}:
	default:
	}
}
