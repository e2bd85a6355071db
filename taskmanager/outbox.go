package taskmanager

import (
	"strconv"
	"sync"

	"deviceagent/taskmanager/core"
)

// Bounds of the outbox that apply where Options name none. Source: docs/settings.md, limits.
const (
	DefaultOutboxRows  = 20_000
	DefaultOutboxBytes = 16 << 20
)

// spareAnswers are the newest answers that are never dropped: what the planner asked just now is answered, however full it is.
// Source: as many as the link has in flight.
const spareAnswers = 32

// metaDropped counts rows that were dropped in this epoch.
const metaDropped = "outbox_dropped"

// outbox mirrors the unreceipted rows of the store in memory, in order of sequence, with their bodies: its bounds bound the memory too.
//
// At a bound answers go first, the oldest before the newer: the planner sends again what it has no answer to, and is answered anew
// from the memory of ids; of an accepted plan it learns by the result as well. What says how work ended, what asks for a decision and
// what hands a step to the cloud exists nowhere else: these stay, beyond the bounds if need be, and new plans are refused instead.
type outbox struct {
	mu       sync.Mutex
	rows     []OutboxRow
	bytes    int64 // of all bodies
	kept     size  // of what may not be dropped
	maxRows  int64
	maxBytes int64
	dropped  int64 // in this epoch
	changed  chan struct{}
}

// size counts rows and the bytes of their bodies.
type size struct{ rows, bytes int64 }

// droppable says whether the planner can get the same from us again.
func droppable(r OutboxRow) bool { return r.Type == string(core.MsgAck) }

func (o *outbox) init(rows []OutboxRow, maxRows, maxBytes int64, meta map[string]string) {
	if maxRows <= 0 {
		maxRows = DefaultOutboxRows
	}
	if maxBytes <= 0 {
		maxBytes = DefaultOutboxBytes
	}
	o.maxRows, o.maxBytes, o.changed = maxRows, maxBytes, make(chan struct{}, 1)
	o.dropped, _ = strconv.ParseInt(meta[metaDropped], 10, 64) // unreadable: counted anew
	o.append(rows)
}

func (o *outbox) append(rows []OutboxRow) {
	o.rows = append(o.rows, rows...)
	for _, r := range rows {
		o.count(r, 1)
	}
}

func (o *outbox) count(r OutboxRow, n int64) {
	o.bytes += n * int64(len(r.Body))
	if !droppable(r) {
		o.kept.rows, o.kept.bytes = o.kept.rows+n, o.kept.bytes+n*int64(len(r.Body))
	}
}

// remove takes rows out. One pass, however many: after days offline a receipt names hundreds of thousands.
func (o *outbox) remove(ids map[string]bool) {
	if len(ids) == 0 {
		return
	}
	left := o.rows[:0]
	for _, r := range o.rows {
		if ids[r.ID] {
			o.count(r, -1)
			continue
		}
		left = append(left, r)
	}
	clear(o.rows[len(left):])
	o.rows = left
}

func setOf[T ~string](ids []T) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[string(id)] = true
	}
	return set
}

func (o *outbox) add(rows []OutboxRow, done []string, dropped int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(setOf(done))
	o.append(rows)
	o.dropped += dropped
	if len(rows) > 0 || dropped > 0 {
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
	o.remove(setOf(ids))
	o.tell() // a link that looked just before this would send a receipted row once more
}

// excess gives the ids of rows that have to go so that fresh ones find room, beside those that go anyway: answers, the oldest first,
// but for the newest few.
func (o *outbox) excess(fresh []OutboxRow, going []string) (ids []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	over := size{int64(len(o.rows)+len(fresh)) - o.maxRows, o.bytes - o.maxBytes}
	for _, r := range fresh {
		over.bytes += int64(len(r.Body))
	}
	if over.rows <= 0 && over.bytes <= 0 {
		return nil
	}
	gone := setOf(going)
	answers := -spareAnswers
	for _, r := range o.rows {
		switch {
		case gone[r.ID]:
			over.rows, over.bytes = over.rows-1, over.bytes-int64(len(r.Body))
		case droppable(r):
			answers++
		}
	}
	for _, r := range o.rows {
		if answers <= 0 || over.rows <= 0 && over.bytes <= 0 {
			break
		}
		if droppable(r) && !gone[r.ID] {
			ids = append(ids, r.ID)
			over.rows, over.bytes, answers = over.rows-1, over.bytes-int64(len(r.Body)), answers-1
		}
	}
	return ids
}

// full says that what may not be dropped has reached a bound: a new plan would bring more of it.
func (o *outbox) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept.rows >= o.maxRows || o.kept.bytes >= o.maxBytes
}

// floor is the lowest unreceipted sequence but for those that go with this very commit; next where there is none. A row that was
// taken back leaves a gap: it must lie below the floor, or the planner waits for it.
func (o *outbox) floor(next int64, going []string) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	gone := setOf(going)
	for _, r := range o.rows {
		if !gone[r.ID] {
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
	back := make(map[int64]bool, len(seqs))
	for _, seq := range seqs {
		back[seq] = true
	}
	for _, r := range o.rows {
		if back[r.Seq] {
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

// roomless refuses new plans while the outbox is full: each would end in one more report that nobody takes. What is under way goes on,
// revisions, controls and decisions about it are let in, and a plan that was answered before gets the same answer.
func (m *Manager) roomless(ev core.Event) (core.Event, bool) {
	p, ok := ev.(core.PlanSubmitted)
	if !ok || p.Plan == nil || p.Plan.Priority == core.PrioritySafety || p.Before != nil || p.Past != nil || m.cur.Workflows[p.Plan.Workflow] != nil ||
		!m.outbox.full() {
		return ev, false
	}
	return core.Refused{Head: p.Head, Answer: core.Answer{Ref: p.Msg, Reason: core.ReasonLimit, Workflow: p.Plan.Workflow, Faults: []core.Fault{{
		Reason: core.ReasonLimit, Message: "as many reports wait for the planner as may: nothing new is begun before it takes them"}}}}, true
}

// OutboxFacts say how the outbox stands.
type OutboxFacts struct {
	Rows, Bytes       int64
	MaxRows, MaxBytes int64
	Dropped           int64 // answers, in this epoch, since there was no room
	Full              bool  // new plans are refused
}

// OutboxFacts looks at the outbox.
func (m *Manager) OutboxFacts() OutboxFacts {
	full := m.outbox.full()
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	return OutboxFacts{Rows: int64(len(o.rows)), Bytes: o.bytes, MaxRows: o.maxRows, MaxBytes: o.maxBytes, Dropped: o.dropped, Full: full}
}

// Pending lists unreceipted rows, oldest first, at most n.
func (m *Manager) Pending(n int) []OutboxRow {
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	return append([]OutboxRow(nil), m.outbox.rows[:min(n, len(m.outbox.rows))]...)
}

// Waiting counts the unreceipted rows.
func (m *Manager) Waiting() int {
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	return len(m.outbox.rows)
}

// Changed receives after rows were added or removed.
func (m *Manager) Changed() <-chan struct{} { return m.outbox.changed }
