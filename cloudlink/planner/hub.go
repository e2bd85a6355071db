package planner

import "sync"

// event is one change, as the stream tells it. It says what changed, not how it is now: the reader asks for that.
type event struct {
	Seq      uint64 `json:"seq"`
	Kind     string `json:"kind"` // workflow, experience, device, turn, link, monitor, gap
	ID       string `json:"id,omitempty"`
	DeviceID string `json:"device_id,omitempty"`
	What     string `json:"what,omitempty"`
}

// hub hands events to readers of the stream. A slow reader loses events and gets a gap mark; nobody waits for it.
type hub struct {
	mu   sync.Mutex
	seq  uint64
	subs map[*reader]struct{}
}

type reader struct {
	events chan event
	gap    bool // under hub.mu: events were lost since the last that was taken in
}

const (
	streamReaders = 32
	streamRing    = 256
)

func newHub() *hub { return &hub{subs: map[*reader]struct{}{}} }

func (h *hub) publish(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq++
	e.Seq = h.seq
	for r := range h.subs {
		if r.gap && len(r.events) < cap(r.events)-1 {
			r.events <- event{Seq: e.Seq, Kind: "gap"}
			r.gap = false
		}
		select {
		case r.events <- e:
		default:
			r.gap = true
		}
	}
}

// subscribe returns nil when there are too many readers.
func (h *hub) subscribe() *reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.subs) >= streamReaders {
		return nil
	}
	r := &reader{events: make(chan event, streamRing)}
	h.subs[r] = struct{}{}
	return r
}

func (h *hub) leave(r *reader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subs, r)
}
