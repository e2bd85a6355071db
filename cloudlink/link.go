package cloudlink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
)

// Row is one message for the cloud, as final bytes.
type Row struct {
	Seq  int64  // durable order
	ID   string // message id: what a receipt names
	Type string // wire type: the last part of the topic
	Body []byte // the whole encoded envelope; never changed by anybody
}

// Outbox is what the link drains.
type Outbox interface {
	// Pending returns the lowest unreceipted rows, at most max, in Seq order.
	Pending(max int) []Row
	// Changed returns a channel that becomes readable (by a value or by closing) after rows were added or removed. It is asked
	// for before each look at Pending, so a change in between is not missed.
	Changed() <-chan struct{}
}

// Receiver takes what comes from the cloud. Receive and Receipted are called one at a time, in the order of arrival; Status may be
// called at the same time.
type Receiver interface {
	// Receive takes one message as it came, readable or not. It returns nil when the answer is durable (also: a refusal); only
	// then the broker gets its acknowledgement. An error closes the connection, so that the broker delivers again.
	Receive(ctx context.Context, payload []byte) error
	// Receipted takes a receipt. Close and PlannerTime are set only if it answers the hello of this connection: a receipt that
	// waited in the broker's queue must not set the clock. An error closes the connection.
	Receipted(ctx context.Context, r wire.Receipt) error
	// Status is the body of the hello as of now. The link adds Online, ConnNo, Nonce and, where empty, StoreEpoch and LastReceipt.
	Status() wire.Status
}

// Bounds of the link. Source: docs/contract.md, section 1.
const (
	inFlightMax    = 32               // publishes without a PUBACK
	windowRows     = 256              // rows sent and not receipted: a broker's queue is not our store
	resendAfter    = time.Minute      // an unreceipted row, while online; also the longest wait for a PUBACK
	helloFirst     = 10 * time.Second // the first repeat of an unanswered hello
	helloMost      = 10 * time.Minute
	connectTimeout = 30 * time.Second // dial and CONNACK, each
	writeTimeout   = 10 * time.Second // each write, and SUBACK
	pingTimeout    = 9 * time.Second  // the library looks each 5 s: with 10 the second look could come a moment too early, and the third would count
	stableAfter    = time.Minute      // a connection that held so long resets the back-off
)

// Options are the fixed settings of a link.
type Options struct {
	DeviceID    string
	Broker      string                                  // tcp://, mqtt://, ssl://, tls:// or mqtts:// host:port; not used if Dial is set
	TLS         TLSFunc                                 // configuration for each new TLS connection; nil: system roots
	Dial        func(context.Context) (net.Conn, error) // replaces Broker
	Credentials func() (user, password string, err error)
	Keepalive   time.Duration // 0: 30 s; whole seconds
	Outbox      Outbox
	Receiver    Receiver
	Onlooker    Onlooker // takes monitor leases; nil: they are the receiver's, as all else
	StartNo     int64    // of this start: the first half of conn_no
	StoreEpoch  string   // of the store that this process opened
	Encoding    wire.Encoding
	AllowJSON   bool             // receipts in JSON are read
	Keys        func() wire.Keys // whose signatures are believed; nil: nobody's
	Signed      bool             // receipts have to be signed, too
	Log         zerolog.Logger
	Rand        func() float64  // jitter, 0 ≤ x < 1
	NewID       func() string   // UUIDv7, for messages and nonces
	NetworkUp   <-chan struct{} // a value ends the wait for the next dial; may be nil

	StatusChanged <-chan struct{} // a value has the status of this connection published again; may be nil

	Pace int // for labs: every time-out and wait of the link but Keepalive is so many times shorter; 0: 1
}

// paced is a time-out or a wait of this link.
func (o *Options) paced(d time.Duration) time.Duration { return d / time.Duration(max(o.Pace, 1)) }

// Link is the session. Create it with New, run it with Run.
type Link struct {
	opt   Options
	topic string // prefix with trailing slash

	strange zerolog.Logger // for what strangers can cause: so many lines, and then no more for a while

	mu          sync.Mutex
	state       State
	lastReceipt string // message id of the newest receipt
	changed     chan struct{}

	wg sync.WaitGroup

	// Run's goroutine only.
	connections int64
	pace        pace
	suspects    suspects
	back        backoff
	sizeCloses  int // connections in a row that ended for an oversize packet
	earlyCloses int // connections in a row that the broker closed soon
	lastEnd     Reason
}

// Bounds of the lines about messages that are not taken.
const (
	strangeLines  = 5
	strangePeriod = time.Minute
)

// New makes a link. Nothing happens before Run.
func New(opt Options) *Link {
	if opt.Keepalive <= 0 {
		opt.Keepalive = 30 * time.Second
	}
	if opt.Encoding == "" {
		opt.Encoding = wire.CBOR
	}
	if opt.Keys == nil {
		opt.Keys = func() wire.Keys { return nil }
	}
	return &Link{
		opt:      opt,
		suspects: newSuspects(),
		pace:     pace{every: opt.paced(drainEvery)},
		topic:    "deviceagent/v1/" + opt.DeviceID + "/",
		state:    State{Phase: Offline, Since: time.Now(), Reason: ReasonStarting},
		changed:  make(chan struct{}, 1),
		strange:  opt.Log.Sample(&zerolog.BurstSampler{Burst: strangeLines, Period: strangePeriod}),
	}
}

// check reports settings that no connection could work with.
func (o *Options) check() error {
	switch {
	case o.DeviceID == "" || strings.ContainsAny(o.DeviceID, "+#/\x00"):
		return fmt.Errorf("cannot start the link: device id %q cannot be part of a topic", o.DeviceID)
	case o.Dial == nil && o.Broker == "":
		return errors.New("cannot start the link: neither a broker nor a dialler is set")
	case o.Outbox == nil || o.Receiver == nil || o.Rand == nil || o.NewID == nil:
		return errors.New("cannot start the link: outbox, receiver, rand and new id must be set")
	}
	return nil
}

// Run keeps the session until ctx ends and returns its cause. It returns another error at once if the options cannot work. When
// it has returned, no goroutine of the link is left.
func (l *Link) Run(ctx context.Context) error {
	if err := l.opt.check(); err != nil {
		return err
	}
	dial := l.opt.Dial
	if dial == nil {
		var err error
		if dial, err = dialer(l.opt.Broker, l.opt.TLS); err != nil {
			return err
		}
	}
	defer l.wg.Wait()
	for {
		end := l.connectOnce(ctx, dial)
		if ctx.Err() != nil {
			l.set(func(s *State) { s.offline(ReasonStopped, "") })
			return context.Cause(ctx)
		}
		l.learn(end)
		if !l.pause(ctx, l.opt.paced(l.back.next(l.opt.Rand()))) {
			return context.Cause(ctx)
		}
	}
}

// connectOnce runs one connection from dial to loss.
func (l *Link) connectOnce(ctx context.Context, dial func(context.Context) (net.Conn, error)) ending {
	l.connections++
	s := newSession(l, strconv.FormatInt(l.opt.StartNo, 10)+"."+strconv.FormatInt(l.connections, 10), dial)
	l.set(func(st *State) {
		st.phase(Connecting)
		st.ConnNo, st.NextTry = s.connNo, time.Time{}
		st.Reconnects = l.connections - 1
	})
	end := s.run(ctx)
	l.suspect(s, end)
	return end
}

// learn draws the conclusions from an ended connection, before the next wait.
func (l *Link) learn(end ending) {
	if end.lasted >= l.opt.paced(stableAfter) {
		l.back.reset()
	}
	l.sizeCloses = countIf(l.sizeCloses, end.reason == ReasonOversize)
	l.earlyCloses = countIf(l.earlyCloses, end.reason == ReasonClosed && end.lasted < l.opt.paced(stableAfter))
	if l.earlyCloses >= twinAfter {
		end.reason = ReasonTwin
	}
	repeated := l.lastEnd == end.reason && !end.online
	l.lastEnd = end.reason
	l.set(func(s *State) { s.offline(end.reason, end.detail()) })
	event := l.opt.Log.Warn()
	if repeated { // log changes, not polls
		event = l.opt.Log.Debug()
	}
	event.Str("reason", string(end.reason)).Err(end.err).Dur("lasted_ms", end.lasted).Msg("link lost")
}

// twinAfter is how many early closes in a row make another client with our id the likely cause.
const twinAfter = 3

func countIf(n int, again bool) int {
	if again {
		return n + 1
	}
	return 0
}

// pause waits before the next dial. It returns false if ctx ended.
func (l *Link) pause(ctx context.Context, d time.Duration) bool {
	l.set(func(s *State) { s.NextTry = time.Now().Add(d) })
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.opt.NetworkUp:
	case <-ctx.Done():
		l.set(func(s *State) { s.offline(ReasonStopped, "") })
		return false
	}
	return true
}
