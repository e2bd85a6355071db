package cloudlink

import "time"

// hello is the announcement of one connection. It is sent again, the same bytes with the same nonce, until the planner's receipt
// names the nonce: 10 s after the first, then doubling to 10 min.
type hello struct {
	id    string // how the window knows it; no outbox row has such an id
	nonce string
	body  []byte
	next  time.Time // when it is due
	gap   time.Duration
}

func (h *hello) prepare(s *session) *fault {
	h.nonce = s.link.opt.NewID()
	h.id = "hello " + h.nonce
	h.gap, h.next = helloFirst, time.Now()
	var err error
	if h.body, err = s.presence(true, h.nonce); err != nil {
		return &fault{ReasonEncode, err}
	}
	s.in.await(h.nonce)
	return nil
}

// pick returns the hello if it is due. Nothing else is sent before it was answered.
func (h *hello) pick(s *session, now time.Time) (publication, bool) {
	if s.online || now.Before(h.next) || s.window.inFlight(h.id) {
		return publication{}, false
	}
	return publication{id: h.id, topic: s.link.topic + "up/status", retain: true, body: h.body}, true
}

func (h *hello) sent(now time.Time) {
	h.next = now.Add(h.gap)
	h.gap = min(2*h.gap, helloMost)
}
