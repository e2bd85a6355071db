package cloudlink

import "time"

// Bounds of how fast rows leave. A robot at work sends a few a minute, and a burst leaves at once; what days without a broker have
// left leaves at a pace that a fleet which comes back together can keep without drowning the broker: 20,000 rows in some seven
// minutes. Source: docs/contract.md, section 1.
const (
	drainBurst = 64
	drainEvery = 20 * time.Millisecond // 50 a second
)

// pace bounds how fast rows leave. It belongs to the link, not to a connection: one that flaps does not begin each time with a burst.
type pace struct {
	every time.Duration // 0: unbounded
	paid  time.Time     // up to where the rows sent so far have used their time
}

// free is the moment from which one more row may leave.
func (p *pace) free() time.Time { return p.paid.Add(-(drainBurst - 1) * p.every) }

func (p *pace) spend(now time.Time) {
	if p.paid.Before(now) {
		p.paid = now
	}
	p.paid = p.paid.Add(p.every)
}

// window decides which outbox row is published next on one connection. It has no clock and no goroutine.
type window struct {
	pace   *pace
	odd    *suspects
	again  time.Duration // after which a row without a receipt is published again
	rows   []Row         // the last picture of the outbox, lowest first, at most windowRows
	next   int           // rows before it were sent on this connection
	sent   map[string]time.Time
	order  []string             // ids in the order of their last publish; what has left the outbox is passed over
	flying map[string]time.Time // published, without PUBACK: rows and hello
}

func newWindow(again time.Duration, p *pace, odd *suspects) *window {
	return &window{pace: p, odd: odd, again: again, sent: map[string]time.Time{}, flying: map[string]time.Time{}}
}

// refresh takes a new picture of the outbox.
func (w *window) refresh(rows []Row) {
	w.rows, w.next = rows, 0
	here := make(map[string]bool, len(rows))
	for _, r := range rows {
		here[r.ID] = true
	}
	for id := range w.sent {
		if !here[id] {
			delete(w.sent, id)
		}
	}
}

// pick returns the row to publish now, the oldest first, if one is due and there is room in flight.
func (w *window) pick(now time.Time) (Row, bool) {
	if len(w.flying) >= w.most() || now.Before(w.pace.free()) {
		return Row{}, false
	}
	if id, at, ok := w.oldest(); ok && !now.Before(at.Add(w.again)) {
		return w.row(id)
	}
	for ; w.next < len(w.rows); w.next++ {
		r := w.rows[w.next]
		if _, sent := w.sent[r.ID]; !sent && !w.inFlight(r.ID) && !w.odd.waits(r.ID, now) {
			return r, true
		}
	}
	return Row{}, false
}

// oldest is the row that waits longest for its receipt after it was handed over.
func (w *window) oldest() (string, time.Time, bool) {
	for len(w.order) > 0 {
		id := w.order[0]
		at, ok := w.sent[id]
		if ok && !w.inFlight(id) {
			return id, at, true
		}
		if ok { // in flight: the PUBACK is waited for first
			return "", time.Time{}, false
		}
		w.order = w.order[1:]
	}
	return "", time.Time{}, false
}

func (w *window) row(id string) (Row, bool) {
	for _, r := range w.rows {
		if r.ID == id {
			return r, true
		}
	}
	return Row{}, false
}

func (w *window) inFlight(id string) bool { _, ok := w.flying[id]; return ok }

// published notes that a row was given to the broker.
func (w *window) published(id string, now time.Time) {
	if _, again := w.sent[id]; again && len(w.order) > 0 && w.order[0] == id {
		w.order = w.order[1:]
	}
	w.pace.spend(now)
	w.sent[id], w.flying[id] = now, now
	w.order = append(w.order, id)
}

// due is the next moment at which time alone changes what pick or stuck say; zero: never. chosen: pick has a row already.
func (w *window) due(chosen bool) time.Time {
	var first time.Time
	earlier := func(t time.Time) {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	for _, at := range w.flying {
		earlier(at.Add(w.again))
	}
	if free := w.pace.free(); !chosen && w.unsent() && len(w.flying) < w.most() {
		earlier(free)
	}
	if _, at, ok := w.oldest(); ok && !chosen && len(w.flying) < w.most() {
		earlier(later(at.Add(w.again), w.pace.free()))
	}
	return first
}

// most is how many publishes may be without a PUBACK.
func (w *window) most() int {
	if w.odd.careful() {
		return 1
	}
	return inFlightMax
}

// unsent says whether a row of the picture was not sent on this connection. Only what keeps pick from it by its pace is left then.
func (w *window) unsent() bool {
	for _, r := range w.rows[w.next:] {
		if _, sent := w.sent[r.ID]; !sent && !w.inFlight(r.ID) {
			return true
		}
	}
	return false
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// stuck says that the broker has not acknowledged a publish for longer than a receipt may take.
func (w *window) stuck(now time.Time) bool {
	for _, at := range w.flying {
		if !now.Before(at.Add(w.again)) {
			return true
		}
	}
	return false
}
