package scenario

import (
	"slices"
	"sync"
	"time"

	"deviceagent/testbed/home"
)

// robotLog keeps the robot's own log.
type robotLog struct {
	mu      sync.Mutex
	entries []home.Entry
	news    chan struct{}
}

func (l *robotLog) add(e home.Entry) {
	l.mu.Lock()
	l.entries = append(l.entries, e)
	l.mu.Unlock()
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *robotLog) all() []home.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

func (l *robotLog) len() int { return len(l.all()) }

// await waits until the log, from an entry on, tells of an event, or of an invoke of the method of that name.
func (l *robotLog) await(from int, name string, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		if slices.ContainsFunc(l.all()[from:], func(e home.Entry) bool {
			return e.Event == name && e.Kind == home.KindEvent || e.Method == name && e.Kind == home.KindInvoke
		}) {
			return true
		}
		select {
		case <-l.news:
		case <-timer.C:
			return false
		}
	}
}
