package cloudlink

// Loose is a message up that no store has: it is published once, and lost with the connection.
type Loose struct {
	ID, Type string
	Body     []byte
}

// Onlooker takes monitor leases and makes telemetry. None of its methods waits for a disk.
type Onlooker interface {
	// Take takes a message of down/monitor as it came, and gives its ack.
	Take(payload []byte) (Loose, error)
	// Ready receives after telemetry was made.
	Ready() <-chan struct{}
	// Next is the telemetry to send now, if there is any: the latest.
	Next() (Loose, bool)
	// Sent says that this telemetry was handed over.
	Sent(id string)
}

// maxLoose bounds the acks of leases that wait for the line; while there is no room the intake waits.
const maxLoose = 16

// loose is what one connection has to send beside the outbox. Only its owner uses it.
type loose struct {
	acks []Loose
	line string // id of the telemetry that has no PUBACK yet: on a slow line the next one waits, and is a later picture then
}

// pick returns what to send now, if there is anything and room in flight. It goes behind all rows.
func (l *loose) pick(s *session) (publication, bool) {
	if !s.online || s.link.opt.Onlooker == nil || len(s.window.flying) >= s.window.most() {
		return publication{}, false
	}
	if len(l.acks) > 0 {
		return s.loosePublication(l.acks[0]), true
	}
	if l.line != "" {
		return publication{}, false
	}
	m, ok := s.link.opt.Onlooker.Next()
	return s.loosePublication(m), ok
}

func (s *session) loosePublication(m Loose) publication {
	return publication{id: m.ID, topic: s.link.topic + "up/" + m.Type, body: m.Body, loose: true}
}

// published notes that a message was given to the broker.
func (l *loose) published(s *session, id string) {
	if len(l.acks) > 0 && l.acks[0].ID == id {
		l.acks = l.acks[1:]
		return
	}
	l.line = id
	s.link.opt.Onlooker.Sent(id)
}

// handed notes a PUBACK.
func (l *loose) handed(id string) {
	if l.line == id {
		l.line = ""
	}
}

// looked receives when there may be telemetry.
func (s *session) looked() <-chan struct{} {
	if s.link.opt.Onlooker == nil || !s.online {
		return nil
	}
	return s.link.opt.Onlooker.Ready()
}

// room is the channel for acks of leases; nil while no more can wait.
func (s *session) room() <-chan Loose {
	if len(s.loose.acks) >= maxLoose {
		return nil
	}
	return s.answers
}

// lease passes a monitor lease on. An ack that cannot be made is logged: the lease is asked for again, or nobody looks on.
func (in *intake) lease(payload []byte) {
	ack, err := in.s.link.opt.Onlooker.Take(payload)
	if err != nil {
		in.s.link.strange.Warn().Err(err).Msg("monitor lease not answered")
		return
	}
	select {
	case in.s.answers <- ack:
	case <-in.s.over:
	}
}
