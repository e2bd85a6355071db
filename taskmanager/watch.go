package taskmanager

import (
	"sync"

	"deviceagent/taskmanager/core"
)

// watchers tells moves to those who look on. It never waits for them: one that is slow misses moves, and is told how many.
type watchers struct {
	mu   sync.Mutex
	list map[*Watch]bool
}

// Watch is one onlooker. Missed counts moves that it was too slow for since the last one that it got. Turned receives after the state
// has changed, also by what is no move: a hold, a service, a reading.
type Watch struct {
	C      chan core.Move
	Turned chan struct{}
	mu     sync.Mutex
	missed int
}

// Missed gives and clears the number of lost moves.
func (w *Watch) Missed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.missed
	w.missed = 0
	return n
}

func (w *watchers) tell(moves []core.Move) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for on := range w.list {
		for _, mv := range moves {
			select {
			case on.C <- mv:
			default:
				on.mu.Lock()
				on.missed++
				on.mu.Unlock()
			}
		}
		select {
		case on.Turned <- struct{}{}:
		default: // it will look anyway
		}
	}
}

// Watch begins to tell moves; call the returned function to end it.
func (m *Manager) Watch() (*Watch, func()) {
	on := &Watch{C: make(chan core.Move, 256), Turned: make(chan struct{}, 1)}
	m.watch.mu.Lock()
	defer m.watch.mu.Unlock()
	if m.watch.list == nil {
		m.watch.list = map[*Watch]bool{}
	}
	m.watch.list[on] = true
	return on, func() {
		m.watch.mu.Lock()
		defer m.watch.mu.Unlock()
		delete(m.watch.list, on)
	}
}
