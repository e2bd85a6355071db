package monitor

import (
	"cmp"
	"fmt"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// Take takes one message as it came on down/monitor, readable or not, and gives its ack. It never waits for a disk.
func (r *Room) Take(payload []byte) (Message, error) {
	e, ack := r.o.Decode(payload)
	if ack == nil {
		ack = r.decide(e)
	}
	return r.message(wire.Envelope{Type: wire.TypeAck, Ack: ack})
}

// decide answers a lease that could be read, and begins it, puts another in its place, or ends it.
func (r *Room) decide(e wire.Envelope) *wire.Ack {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.said {
		if a.message == e.ID { // a repeat does not make it longer
			return &a.ack
		}
	}
	ack := &wire.Ack{RefID: e.ID, Accepted: true}
	switch {
	case e.StoreEpoch != "" && e.StoreEpoch != r.o.Agent.Epoch():
		ack.ReasonCode = string(core.ReasonWrongEpoch)
	case e.Seq < r.seq:
		ack.ReasonCode = string(core.ReasonSuperseded)
	case r.late(e):
		ack.ReasonCode = string(core.ReasonExpired)
	default:
		r.begin(e)
	}
	ack.Accepted = ack.ReasonCode == ""
	if r.said = append(r.said, answer{e.ID, *ack}); len(r.said) > rememberedIDs {
		r.said = r.said[1:]
	}
	return ack
}

// late: the lease was over before it came. It waited in a broker's queue, and nobody looks on any more. Without a clock to trust it is
// taken: it ends by itself.
func (r *Room) late(e wire.Envelope) bool {
	wall, trusted := r.o.Clock.Wall()
	sent, err := time.Parse(time.RFC3339, e.SentAt)
	return trusted && err == nil && e.Monitor.TTLS > 0 && wall >= sent.UnixMilli()+1000*e.Monitor.TTLS
}

// begin puts a lease in force; r.mu is held.
func (r *Room) begin(e wire.Envelope) {
	r.seq, r.next, r.lease = max(r.seq, e.Seq), nil, nil
	if m := e.Monitor; m.TTLS > 0 {
		r.lease = &lease{id: m.LeaseID, ends: r.o.Clock.Boot() + 1000*m.TTLS, interval: max(FloorMS, m.MinIntervalMS)}
	}
	r.o.Log.Info().Str("lease_id", e.Monitor.LeaseID).Int64("ttl_s", e.Monitor.TTLS).Msg("monitor lease")
	tell(r.asked)
}

// live is the lease in force, nil if there is none (any more); r.mu is held.
func (r *Room) live() *lease {
	if r.lease != nil && r.o.Clock.Boot() >= r.lease.ends {
		r.o.Log.Info().Str("lease_id", r.lease.id).Msg("monitor lease ended")
		r.lease, r.next = nil, nil
	}
	return r.lease
}

// message makes the bytes of a message up. It has no seq: it is no row of the outbox.
func (r *Room) message(e wire.Envelope) (Message, error) {
	wall, _ := r.o.Clock.Wall()
	e.V, e.ID, e.DeviceID, e.StoreEpoch = wire.Version, r.o.NewID(), r.o.DeviceID, r.o.Agent.Epoch()
	e.SentAt = time.UnixMilli(wall).UTC().Format("2006-01-02T15:04:05.000Z")
	body, err := wire.Encode(e, cmp.Or(r.o.Encoding, wire.CBOR))
	if err != nil {
		return Message{}, fmt.Errorf("cannot make a message of a monitor lease: %w", err)
	}
	return Message{ID: e.ID, Type: e.Type, Body: body}, nil
}

// Ready receives after telemetry was made.
func (r *Room) Ready() <-chan struct{} { return r.ready }

// Next is the telemetry to send now, if there is any: always the latest, and none once its lease has ended.
func (r *Room) Next() (Message, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live() == nil || r.next == nil {
		return Message{}, false
	}
	return *r.next, true
}

// Sent says that the message with this id was handed over: it is not given again.
func (r *Room) Sent(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil && r.next.ID == id {
		r.next = nil
	}
}
