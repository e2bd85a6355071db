package broker

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// SetDown makes the broker refuse new connections; true also cuts those that are open. Sessions and retained messages
// stay, and so do recorders: they count what happens around the outage.
func (b *Broker) SetDown(down bool) {
	b.mu.Lock()
	b.down = down
	b.mu.Unlock()
	if down {
		b.cutAll(false)
	}
}

// Cut ends the latest connection of a client at once; its session stays and its last will is sent.
func (b *Broker) Cut(client string) { b.withRelay(client, (*relay).cut) }

// StallUp holds back what the client says (true) or lets it flow again. The broker does not see the end of the connection either.
func (b *Broker) StallUp(client string, on bool) {
	b.withRelay(client, func(r *relay) { r.up.set(func(l *line) { l.stalled = on }) })
}

// StallDown holds back what the client would hear. With StallUp it makes a half-open connection.
func (b *Broker) StallDown(client string, on bool) {
	b.withRelay(client, func(r *relay) { r.down.set(func(l *line) { l.stalled = on }) })
}

// Slow delays each piece in both directions.
func (b *Broker) Slow(client string, latency time.Duration) {
	b.withRelay(client, func(r *relay) {
		r.up.set(func(l *line) { l.latency = latency })
		r.down.set(func(l *line) { l.latency = latency })
	})
}

// Inject writes bytes to the client as if the broker had sent them.
func (b *Broker) Inject(client string, data []byte) {
	b.withRelay(client, func(r *relay) { r.down.set(func(l *line) { l.held = append(l.held, data...) }) })
}

func (b *Broker) withRelay(client string, do func(*relay)) {
	b.mu.Lock()
	r := b.names[client]
	b.mu.Unlock()
	if r != nil {
		do(r)
	}
}

// Drop makes the broker acknowledge and then throw away every publish for which the rule says true; nil ends it.
func (b *Broker) Drop(rule func(client, topic string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop = rule
}

// Swallow makes the broker take every publish for which the rule says true and neither pass it on nor acknowledge it; nil ends it.
func (b *Broker) Swallow(rule func(client, topic string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.swallow = rule
}

// Deny makes the broker refuse subscriptions (return code 0x80) and deliveries for which the rule says true; nil ends it.
func (b *Broker) Deny(rule func(client, filter string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deny = rule
}

// Forget throws away a client's session as a broker does that lost its store: connection, subscriptions and queued messages.
func (b *Broker) Forget(client string) {
	b.Cut(client)
	if cl, ok := b.server.Clients.Get(client); ok {
		b.server.UnsubscribeClient(cl)
		cl.ClearInflights()
		b.server.Clients.Delete(client)
	}
}

// keptMessage is a publish that has not reached its subscribers yet.
type keptMessage struct {
	topic   string
	payload []byte
}

// Keep makes the broker acknowledge every publish for which the rule says true and pass it on only when [Broker.Deliver] says so. What
// is the same byte for byte is kept once.
func (b *Broker) Keep(rule func(client, topic string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keep = rule
}

// Deliver passes on what was kept, in its order, and keeps nothing any more.
func (b *Broker) Deliver() error {
	b.mu.Lock()
	kept := b.kept
	b.keep, b.kept = nil, nil
	b.mu.Unlock()
	var errs []error
	for _, m := range kept {
		errs = append(errs, b.Publish(m.topic, m.payload, false))
	}
	return errors.Join(errs...)
}

// keeps takes a publish out of the way, if the rule says so.
func (b *Broker) keeps(client string, pk packets.Packet) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.keep == nil || !b.keep(client, pk.TopicName) {
		return false
	}
	same := func(m keptMessage) bool { return m.topic == pk.TopicName && bytes.Equal(m.payload, pk.Payload) }
	if !slices.ContainsFunc(b.kept, same) {
		b.kept = append(b.kept, keptMessage{pk.TopicName, bytes.Clone(pk.Payload)})
	}
	return true
}
