package cloudlink

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
)

// Bounds of what waits for the receiver.
const (
	intakeMessages = 256
	intakeBytes    = 8 << 20 // one message is always taken
)

// intake stands between the library's handler, which must never block, and the receiver, which waits for the disk. When it is
// full, everything that follows on this connection is left unacknowledged and the connection ends once the queue is worked off:
// the broker delivers again from there, so a flood makes progress and costs no memory.
type intake struct {
	s      *session
	queue  chan mqtt.Message
	bytes  atomic.Int64
	full   chan struct{} // closed at the first message that found no room
	once   sync.Once
	failed chan *fault  // from the worker to the owner
	nonce  atomic.Value // string, of this connection's hello
}

func newIntake(s *session) *intake {
	return &intake{s: s, queue: make(chan mqtt.Message, intakeMessages), full: make(chan struct{}), failed: make(chan *fault, 1)}
}

// offer takes a message from the library's handler. The library does not use the payload again, so it is not copied.
func (in *intake) offer(m mqtt.Message) {
	select {
	case <-in.full:
		return
	default:
	}
	size := int64(len(m.Payload()))
	if held := in.bytes.Add(size); held > intakeBytes && held != size {
		in.once.Do(func() { close(in.full) })
		return
	}
	select {
	case in.queue <- m:
	default:
		in.once.Do(func() { close(in.full) })
	}
}

// await sets the nonce by which the answer to our hello is known.
func (in *intake) await(nonce string) { in.nonce.Store(nonce) }

// work hands messages over in order until the session ends or one fails.
func (in *intake) work(ctx context.Context) {
	for {
		select {
		case <-in.s.over:
			return
		default:
		}
		m, ok := in.take()
		if !ok {
			return
		}
		in.bytes.Add(-int64(len(m.Payload())))
		if err := in.handle(ctx, m); err != nil {
			in.failed <- &fault{ReasonReceive, err}
			return
		}
		m.Ack()
	}
}

// take waits for the next message; false: the session is over, or the queue was full and is now worked off.
func (in *intake) take() (mqtt.Message, bool) {
	select {
	case m := <-in.queue:
		return m, true
	default:
	}
	select {
	case m := <-in.queue:
		return m, true
	case <-in.full:
	case <-in.s.over:
		return nil, false
	}
	select {
	case m := <-in.queue:
		return m, true
	default:
		in.failed <- &fault{ReasonOverrun, errors.New("more messages than the queue holds")}
		return nil, false
	}
}

// handle passes one message on. An empty payload is how somebody clears a retained message: it means nothing to us. Nor does a
// message that the broker kept and repeats because we subscribed: it is of no known age, and the planner, which retains nothing, is
// asked for what it holds open anyway. What is retained and comes live has no such mark: there the memory of ids is the guard.
func (in *intake) handle(ctx context.Context, m mqtt.Message) error {
	l := in.s.link
	kind, ok := strings.CutPrefix(m.Topic(), l.topic+"down/")
	if len(m.Payload()) == 0 || !ok {
		return nil
	}
	if m.Retained() {
		l.drop().Str("topic", m.Topic()).Int("bytes", len(m.Payload())).
			Msg("retained message refused; clear it at the broker, and publish without the retain flag")
		return nil
	}
	l.set(func(st *State) { st.LastDown = time.Now() })
	if kind == string(wire.TypeMonitor) && l.opt.Onlooker != nil {
		in.lease(m.Payload())
		return nil
	}
	if kind != string(wire.TypeReceipt) {
		return l.opt.Receiver.Receive(ctx, m.Payload())
	}
	e, err := wire.Decode(m.Payload(), wire.Options{AllowJSON: l.opt.AllowJSON, Direction: wire.Down, Keys: l.opt.Keys(), Signed: l.opt.Signed})
	if err != nil || e.Receipt == nil {
		l.drop().Err(err).Msg("unreadable receipt dropped") // a receipt is never answered
		return nil
	}
	return in.receipt(ctx, e)
}

// drop counts a message that is not taken, and begins its line of the log. Who may publish can send as many as he likes: they do not fill
// the log.
func (l *Link) drop() *zerolog.Event {
	l.set(func(st *State) { st.Dropped++ })
	return l.strange.Warn().Int64("dropped", l.State().Dropped)
}

// receipt judges a receipt and passes it on.
func (in *intake) receipt(ctx context.Context, e wire.Envelope) error {
	l := in.s.link
	if e.DeviceID != l.opt.DeviceID || (e.StoreEpoch != "" && l.opt.StoreEpoch != "" && e.StoreEpoch != l.opt.StoreEpoch) {
		l.drop().Str("id", e.ID).Str("receipt_device_id", e.DeviceID).Msg("receipt of another device or store dropped")
		return nil
	}
	r := *e.Receipt
	ours := r.Nonce != "" && r.Nonce == in.nonce.Load()
	if !ours {
		r.Close, r.PlannerTime, r.Nonce = nil, "", ""
	}
	if err := l.opt.Receiver.Receipted(ctx, r); err != nil {
		return err
	}
	l.set(func(st *State) { l.lastReceipt, st.LastReceipt = e.ID, time.Now() })
	select {
	case in.s.receipts <- ours:
	case <-in.s.over:
	}
	return nil
}
