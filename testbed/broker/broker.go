package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// ErrDown is what Dial returns while the broker is down (see SetDown) or closed.
var ErrDown = errors.New("broker is down")

// Broker is one broker. All methods may be called from any goroutine.
type Broker struct {
	server *mochi.Server
	wg     sync.WaitGroup // relays, sessions and listeners

	mu        sync.Mutex
	down      bool
	closed    bool
	relays    map[net.Conn]*relay // by the broker's end of the connection
	names     map[string]*relay   // by client id: the latest connection
	listeners []net.Listener
	recorders []*Recorder
	drop      func(client, topic string) bool
	swallow   func(client, topic string) bool
	deny      func(client, filter string) bool
	keep      func(client, topic string) bool
	kept      []keptMessage
	counts    map[string]int // publishes taken from clients, by client id
}

// New starts a broker without any socket.
func New() *Broker {
	b := &Broker{relays: map[net.Conn]*relay{}, names: map[string]*relay{}, counts: map[string]int{}}
	b.server = mochi.New(&mochi.Options{
		Logger: slog.New(slog.DiscardHandler),
		// The library's own statistics stop the world to count memory; once is enough. (Seconds: one year.)
		SysTopicResendInterval: 365 * 24 * 3600,
		InlineClient:           true,
		Capabilities:           capabilities(),
	})
	silence(b.server)
	if err := b.server.AddHook(&hook{broker: b}, nil); err != nil {
		panic("internal error: cannot add the hook: " + err.Error())
	}
	if err := b.server.Serve(); err != nil { // without listeners and storage nothing can fail
		panic("internal error: cannot start the broker: " + err.Error())
	}
	return b
}

// capabilities lifts the bounds that would drop messages silently or by the wall clock.
func capabilities() *mochi.Capabilities {
	c := mochi.NewDefaultServerCapabilities()
	c.MaximumMessageExpiryInterval = 0 // sessions outlive days of virtual time
	c.MaximumInflight = math.MaxUint16
	c.MaximumClientWritesPending = 1 << 16
	return c
}

// Dial opens a connection in memory, as [net.Pipe] gives it. It fails with [ErrDown] while the broker is down.
func (b *Broker) Dial(ctx context.Context) (net.Conn, error) {
	return b.dial(ctx, false)
}

func (b *Broker) dial(ctx context.Context, witness bool) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	if err := b.attach(far, witness); err != nil {
		_ = near.Close()
		_ = far.Close()
		return nil, err
	}
	return near, nil
}

// Listen serves TCP too and returns the address in use ("127.0.0.1:0" picks a free port). Not for bubbles.
func (b *Broker) Listen(addr string) (string, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		_ = l.Close()
		return "", ErrDown
	}
	b.listeners = append(b.listeners, l)
	b.wg.Go(func() { b.accept(l) })
	return l.Addr().String(), nil
}

func (b *Broker) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if b.attach(conn, false) != nil {
			_ = conn.Close()
		}
	}
}

// attach puts a relay before the connection and hands it to the broker. A witness is not touched by SetDown.
func (b *Broker) attach(client net.Conn, witness bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || (b.down && !witness) {
		return ErrDown
	}
	inner, outer := net.Pipe()
	r := newRelay(client, outer)
	r.witness = witness
	b.relays[inner] = r
	b.wg.Go(func() {
		_ = b.server.EstablishConnection("memory", inner) // returns when the session's connection has ended
		_ = inner.Close()
		r.wg.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.relays, inner)
	})
	return nil
}

// Close cuts every connection, stops the broker and waits until every goroutine of it has ended.
func (b *Broker) Close() {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return
	}
	b.closed = true
	recorders := b.recorders
	for _, l := range b.listeners {
		_ = l.Close()
	}
	b.mu.Unlock()
	for _, r := range recorders {
		r.Close()
	}
	b.cutAll(true)
	b.wg.Wait()
	_ = b.server.Close()
}

func (b *Broker) cutAll(witnesses bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.relays {
		if witnesses || !r.witness {
			r.cut()
		}
	}
}

// Publish sends a message from outside any client, with QoS 1.
func (b *Broker) Publish(topic string, payload []byte, retain bool) error {
	if err := b.server.Publish(topic, payload, retain, 1); err != nil {
		return fmt.Errorf("cannot publish on %s: %w", topic, err)
	}
	return nil
}

// Retained returns the retained message of a topic, or nil.
func (b *Broker) Retained(topic string) []byte {
	if pk, ok := b.server.Topics.Retained.Get(topic); ok {
		return pk.Payload
	}
	return nil
}

// Published is how many publishes the broker has taken from a client since its start, dropped ones included.
func (b *Broker) Published(client string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts[client]
}

// Unacked is how many messages the broker holds for a client without its PUBACK.
func (b *Broker) Unacked(client string) int {
	if cl, ok := b.server.Clients.Get(client); ok {
		return cl.State.Inflight.Len()
	}
	return 0
}

// hook watches and disturbs the broker from inside.
type hook struct {
	mochi.HookBase
	broker *Broker
}

func (h *hook) ID() string { return "testbed" }

func (h *hook) Provides(b byte) bool {
	switch b {
	case mochi.OnConnectAuthenticate, mochi.OnACLCheck, mochi.OnSessionEstablish, mochi.OnPublish:
		return true
	}
	return false
}

func (h *hook) OnConnectAuthenticate(*mochi.Client, packets.Packet) bool { return true }

func (h *hook) OnACLCheck(cl *mochi.Client, topic string, write bool) bool {
	h.broker.mu.Lock()
	deny := h.broker.deny
	h.broker.mu.Unlock()
	return write || deny == nil || !deny(cl.ID, topic)
}

func (h *hook) OnSessionEstablish(cl *mochi.Client, _ packets.Packet) {
	h.broker.mu.Lock()
	defer h.broker.mu.Unlock()
	if r := h.broker.relays[cl.Net.Conn]; r != nil {
		h.broker.names[cl.ID] = r
	}
}

func (h *hook) OnPublish(cl *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	h.broker.mu.Lock()
	h.broker.counts[cl.ID]++
	drop, swallow := h.broker.drop, h.broker.swallow
	h.broker.mu.Unlock()
	if !cl.Net.Inline && h.broker.keeps(cl.ID, pk) {
		return pk, packets.CodeSuccessIgnore
	}
	if !cl.Net.Inline && swallow != nil && swallow(cl.ID, pk.TopicName) {
		return pk, packets.ErrRejectPacket
	}
	if !cl.Net.Inline && drop != nil && drop(cl.ID, pk.TopicName) {
		return pk, packets.CodeSuccessIgnore
	}
	return pk, nil
}

// timeout bounds the recorder's own handshakes.
const timeout = 30 * time.Second
