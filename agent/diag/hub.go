package diag

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"deviceagent/taskmanager/core"
)

// entry is one element of the ring: a move or a hole.
type entry struct {
	id  position
	mv  core.Move
	at  time.Time
	gap *Gap
}

// position orders entries: several moves of one event have the same sequence number.
type position struct {
	seq int64
	n   int64
}

func (p position) after(q position) bool { return p.seq > q.seq || p.seq == q.seq && p.n > q.n }

// String is the id of an event in a stream: the journal sequence, and .n behind it for the second and later moves of one event.
func (p position) String() string {
	if p.n == 0 {
		return strconv.FormatInt(p.seq, 10)
	}
	return fmt.Sprintf("%d.%d", p.seq, p.n)
}

// parsePosition reads such an id.
func parsePosition(text string) (position, error) {
	seq, n, dot := strings.Cut(text, ".")
	s, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || s < 0 {
		return position{}, fmt.Errorf("cannot read %q as the id of an event", text)
	}
	p := position{seq: s}
	if dot {
		if p.n, err = strconv.ParseInt(n, 10, 64); err != nil {
			return position{}, fmt.Errorf("cannot read %q as the id of an event", text)
		}
	}
	return p, nil
}

// hub keeps the latest moves once, for all readers. A reader has a cursor and no queue: who is slow finds a gap, and costs nothing.
type hub struct {
	mu    sync.Mutex
	ring  []entry
	base  int64 // number of the ring's first entry since the start
	size  int
	floor position // everything after it is in the ring or was a gap in it
	wake  chan struct{}
}

func newHub(size int) *hub { return &hub{size: size, wake: make(chan struct{})} }

// run fills the ring until ctx ends.
func (h *hub) run(ctx context.Context, a Agent, wall func() time.Time) {
	feed, stop := a.Watch()
	defer stop()
	first := int64(0)
	_ = a.Inspect(ctx, func(_ *core.State, now core.Now) { first = now.Seq - 1 })
	h.mu.Lock()
	h.floor = position{seq: first, n: maxPerEvent}
	h.mu.Unlock()
	quiet := first // everything up to here was told
	for {
		select {
		case mv := <-feed.C:
			h.add(mv, wall())
			if len(feed.C) > 0 {
				continue
			}
			if feed.Missed != nil && feed.Missed() > 0 {
				h.lost(quiet+1, present(ctx, a, mv.Seq))
			}
			quiet = mv.Seq
		case <-ctx.Done():
			return
		}
	}
}

// maxPerEvent is more than one event can move.
const maxPerEvent = 1 << 30

func (h *hub) add(mv core.Move, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.push(entry{id: h.after(mv.Seq), mv: mv, at: at})
}

// present is the sequence number of now, or at least what is known to have been.
func present(ctx context.Context, a Agent, known int64) int64 {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	_ = a.Inspect(ctx, func(_ *core.State, now core.Now) { known = max(known, now.Seq-1) })
	return known
}

// lost marks a hole: the agent told more than was taken. Where in it is not known, so it reaches from the last moment at which
// nothing was waiting up to now.
func (h *hub) lost(from, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.push(entry{id: h.after(to), gap: &Gap{From: from, To: max(from, to), Reason: "lost"}})
}

// after gives the next id for a sequence number. Ids only grow, also where a move is told behind a hole that it stands in.
func (h *hub) after(seq int64) position {
	id, head := position{seq: seq}, h.head()
	if !id.after(head) {
		id = position{seq: head.seq, n: head.n + 1}
	}
	return id
}

func (h *hub) push(e entry) {
	h.ring = append(h.ring, e)
	if over := len(h.ring) - h.size; over > 0 {
		h.floor = h.ring[over-1].id
		h.ring = append(h.ring[:0:0], h.ring[over:]...)
		h.base += int64(over)
	}
	close(h.wake)
	h.wake = make(chan struct{})
}

func (h *hub) head() position {
	if n := len(h.ring); n > 0 {
		return h.ring[n-1].id
	}
	return h.floor
}

// cursor is where a reader is: the number of its next entry, and the position behind which it has seen everything.
type cursor struct {
	next int64
	seen position
}

// open begins to read behind a position; from nil: from now on. What the ring does not have any more is a gap.
func (h *hub) open(from *position) (cursor, *Gap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if from == nil {
		return cursor{next: h.base + int64(len(h.ring)), seen: h.head()}, nil
	}
	c := cursor{next: h.base, seen: *from}
	for c.next < h.base+int64(len(h.ring)) && !h.ring[c.next-h.base].id.after(*from) {
		c.next++
	}
	head := h.head()
	switch {
	case from.after(head) && from.seq > head.seq:
		// The numbers went back: another store. Nothing that the reader saw can be joined to this.
		return cursor{next: h.base, seen: head}, &Gap{From: 0, To: head.seq, Reason: "not_kept"}
	case h.floor.after(*from) && h.floor.seq > from.seq:
		return c, &Gap{From: from.seq + 1, To: h.floor.seq, Reason: "not_kept"}
	}
	return c, nil
}

// take gives what there is behind the cursor, a gap where the ring has gone past it, and a channel that tells of more.
func (h *hub) take(c *cursor) ([]entry, *Gap, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var gap *Gap
	if c.next < h.base {
		gap = &Gap{From: c.seen.seq + 1, To: h.floor.seq, Reason: "slow_reader"}
		c.next, c.seen = h.base, h.floor
	}
	out := append([]entry(nil), h.ring[c.next-h.base:]...)
	if n := len(out); n > 0 {
		c.next, c.seen = c.next+int64(n), out[n-1].id
	}
	return out, gap, h.wake
}
