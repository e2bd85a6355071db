package taskmanager

import (
	"slices"
	"sync"

	"deviceagent/taskmanager/core"
)

// outbox mirrors the unreceipted rows of the store in memory, in order of sequence.
type outbox struct {
	mu      sync.Mutex
	rows    []OutboxRow
	changed chan struct{}
}

func (o *outbox) init(rows []OutboxRow) {
	o.rows, o.changed = slices.Clone(rows), make(chan struct{}, 1)
}

func (o *outbox) add(rows []OutboxRow, done []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows = slices.DeleteFunc(o.rows, func(r OutboxRow) bool { return slices.Contains(done, r.ID) })
	o.rows = append(o.rows, rows...)
	if len(rows) > 0 {
		o.tell()
	}
}

func (o *outbox) tell() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func (o *outbox) drop(ids []core.MessageID) {
	if len(ids) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.rows = slices.DeleteFunc(o.rows, func(r OutboxRow) bool { return slices.Contains(ids, core.MessageID(r.ID)) })
	o.tell() // a link that looked just before this would send a receipted row once more
}

// floor is the lowest unreceipted sequence but for those that go with this very commit; next where there is none. A row that was
// taken back leaves a gap: it must lie below the floor, or the planner waits for it.
func (o *outbox) floor(next int64, going []string) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.rows {
		if !slices.Contains(going, r.ID) {
			return r.Seq
		}
	}
	return next
}

// withdrawn gives the ids of rows that are taken back, as far as they are still there: a receipt may have been faster.
func (o *outbox) withdrawn(seqs []int64) (ids []string) {
	if len(seqs) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.rows {
		if slices.Contains(seqs, r.Seq) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// results are the workflows whose result is not receipted yet.
func (o *outbox) results() map[string]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := map[string]bool{}
	for _, r := range o.rows {
		if r.Type == string(core.MsgResult) {
			out[r.Workflow] = true
		}
	}
	return out
}

// Pending lists unreceipted rows, oldest first, at most n.
func (m *Manager) Pending(n int) []OutboxRow {
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	return slices.Clone(m.outbox.rows[:min(n, len(m.outbox.rows))])
}

// Waiting counts the unreceipted rows.
func (m *Manager) Waiting() int {
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	return len(m.outbox.rows)
}

// Changed receives after rows were added or removed.
func (m *Manager) Changed() <-chan struct{} { return m.outbox.changed }

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
