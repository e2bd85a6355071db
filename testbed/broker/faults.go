package broker

import "time"

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
