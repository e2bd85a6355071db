package cloudlink

import "time"

// hello is the announcement of one connection. It is sent again, with the same nonce, where what it says has changed, and until the planner's receipt
// names the nonce: 10 s after the first, then doubling to 10 min.
type hello struct {
	id    string // how the window knows it; no outbox row has such an id
	nonce string
	body  []byte
	next  time.Time // when it is due
	gap   time.Duration
	most  time.Duration // of gap
	fresh bool          // what it says has changed since it was sent: said again, also to a planner that has answered
}

func (h *hello) prepare(s *session) *fault {
	h.nonce = s.link.opt.NewID()
	h.id = "hello " + h.nonce
	h.gap, h.most, h.next = s.link.opt.paced(helloFirst), s.link.opt.paced(helloMost), time.Now()
	if f := h.say(s); f != nil {
		return f
	}
	s.in.await(h.nonce)
	return nil
}

func (h *hello) say(s *session) *fault {
	var err error
	if h.body, err = s.presence(true, h.nonce); err != nil {
		return &fault{ReasonEncode, err}
	}
	return nil
}

// again says the same hello with what is so now.
func (h *hello) again(s *session) *fault {
	h.fresh, h.next = true, time.Now()
	return h.say(s)
}

// pick returns the hello if it is due. Nothing else is sent before it was answered.
func (h *hello) pick(s *session, now time.Time) (publication, bool) {
	if s.online && !h.fresh || now.Before(h.next) || s.window.inFlight(h.id) {
		return publication{}, false
	}
	return publication{id: h.id, topic: s.link.topic + "up/status", retain: true, body: h.body}, true
}

func (h *hello) sent(now time.Time) {
	h.fresh = false
	h.next = now.Add(h.gap)
	h.gap = min(2*h.gap, h.most)
}
