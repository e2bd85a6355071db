package cloudlink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/bridge/wire"
)

// session is one connection: one client object, used once. A client that is used again reports messages as delivered that no
// broker has, and panics after a disconnect.
type session struct {
	link   *Link
	connNo string
	dial   func(context.Context) (net.Conn, error)
	client mqtt.Client
	in     *intake

	lost     chan error       // the library's report that the connection is gone
	pubs     chan publication // to the publisher; a publish may block for as long as a write may
	handed   chan handover    // from the watchers of publish tokens
	receipts chan bool        // from the worker: a receipt came; true: it answers our hello
	answers  chan Loose       // from the worker: acks of monitor leases
	over     chan struct{}    // closed when the session ends
	window   *window
	loose    loose
	hello    hello
	online   bool
	up       time.Time // of CONNACK

	mu    sync.Mutex
	guard *guard // set by the library's goroutine while dialling
	dead  *fault // fail was called
}

type publication struct {
	id, topic string
	retain    bool
	loose     bool // no row of the outbox
	body      []byte
}

type handover struct {
	id  string
	err error
}

func newSession(l *Link, connNo string, dial func(context.Context) (net.Conn, error)) *session {
	s := &session{
		link: l, connNo: connNo, dial: dial,
		lost:     make(chan error, 1),
		pubs:     make(chan publication),
		handed:   make(chan handover),
		receipts: make(chan bool),
		answers:  make(chan Loose),
		over:     make(chan struct{}),
		window:   newWindow(l.opt.paced(resendAfter), &l.pace, &l.suspects),
	}
	s.in = newIntake(s)
	return s
}

// run goes from dial to loss and says how it ended.
func (s *session) run(ctx context.Context) ending {
	if f := s.connect(ctx); f != nil {
		close(s.over)
		return ending{reason: f.reason, err: f.err}
	}
	s.up = time.Now()
	s.link.set(func(st *State) { st.Open, st.Reason, st.Detail = true, ReasonHello, "" })
	var worker sync.WaitGroup
	worker.Go(func() { s.in.work(ctx) })
	s.link.wg.Go(s.publisher)

	f := s.serve(ctx)
	s.fail(f)
	if first := s.guard.why(); first != nil { // a token's error is what followed, the connection knows what began it
		f = first
	}
	close(s.over)
	s.awaitLoss()
	worker.Wait() // the next connection's messages must not overtake this one's
	return ending{reason: f.reason, err: f.err, lasted: time.Since(s.up), online: s.online}
}

// connect dials and gets the CONNACK.
func (s *session) connect(ctx context.Context) *fault {
	o, f := s.options(ctx)
	if f != nil {
		return f
	}
	s.client = mqtt.NewClient(o)
	token := s.client.Connect().(*mqtt.ConnectToken)
	select {
	case <-token.Done():
	case <-ctx.Done():
		s.fail(&fault{ReasonStopped, context.Cause(ctx)})
		<-token.Done() // ends at once: the dial has our context, the handshake our connection
	}
	err := token.Error()
	if err == nil {
		return nil
	}
	s.fail(&fault{ReasonHandshake, err})
	return s.connectFault(token.ReturnCode(), err)
}

// connectFault names why there was no connection.
func (s *session) connectFault(code byte, err error) *fault {
	if code >= 1 && code <= 5 {
		if r, ok := connackReasons[code]; ok {
			return &fault{r, err}
		}
		return &fault{ReasonRefused, err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard == nil {
		return &fault{dialReason(err), err}
	}
	switch f := s.guard.why(); {
	case f == nil:
	case f.reason == ReasonOversize:
		return f
	case alerted(f.err):
		return &fault{ReasonOwn, f.err}
	}
	return &fault{ReasonHandshake, err}
}

// options make the client what the contract needs. Each line has its reason in the package's own sources or issues.
func (s *session) options(ctx context.Context) (*mqtt.ClientOptions, *fault) {
	l := s.link
	will, err := s.presence(false, "")
	if err != nil {
		return nil, &fault{ReasonEncode, err}
	}
	o := mqtt.NewClientOptions()
	o.AddBroker("tcp://broker") // a name only: openConnection dials
	o.SetClientID(l.opt.DeviceID)
	o.SetProtocolVersion(4)
	o.SetAutoReconnect(false)
	o.SetConnectRetry(false)
	// A broker that redelivers what is too large for us would do so for ever: one clean session throws it away, and the hello
	// makes the planner send again what it holds open.
	o.SetCleanSession(l.sizeCloses >= cleanAfter)
	o.SetStore(mqtt.NewMemoryStore())
	o.SetOrderMatters(true)
	o.SetAutoAckDisabled(true)
	o.SetKeepAlive(l.opt.Keepalive)
	o.SetPingTimeout(l.opt.paced(pingTimeout))
	o.SetConnectTimeout(l.opt.paced(connectTimeout))
	o.SetWriteTimeout(l.opt.paced(writeTimeout))
	o.SetBinaryWill(l.topic+"up/status", will, 1, true)
	o.SetDefaultPublishHandler(func(_ mqtt.Client, m mqtt.Message) { s.in.offer(m) })
	o.SetConnectionLostHandler(func(_ mqtt.Client, err error) { s.lost <- err })
	o.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) { return s.open(ctx) })
	if l.opt.Credentials != nil {
		user, password, err := l.opt.Credentials()
		if err != nil {
			return nil, &fault{ReasonCredentials, err}
		}
		o.SetUsername(user)
		o.SetPassword(password)
	}
	return o, nil
}

// cleanAfter is how many oversize ends in a row lead to one clean session.
const cleanAfter = 3

func (s *session) open(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.link.opt.paced(connectTimeout))
	defer cancel()
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	g := newGuard(conn, s.link.opt.paced(writeTimeout))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard = g
	if s.dead != nil {
		g.fail(s.dead)
	}
	return g, nil
}

// fail ends the connection for a reason of ours; the first one stays.
func (s *session) fail(f *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead == nil {
		s.dead = f
	}
	if s.guard != nil {
		s.guard.fail(f)
	}
}

// awaitLoss waits until the library has put its goroutines to rest. It is bounded: the library is known to keep a loss to itself.
func (s *session) awaitLoss() {
	timer := time.NewTimer(2 * s.link.opt.paced(writeTimeout))
	defer timer.Stop()
	select {
	case <-s.lost:
	case <-timer.C:
		s.link.opt.Log.Warn().Str("conn_no", s.connNo).Msg("client library did not report the end of a connection")
	}
}

// lossFault names a loss that the library reported and that the connection does not explain.
func (s *session) lossFault(err error) *fault {
	s.lost <- err // for awaitLoss
	if time.Since(s.up) < s.link.opt.Keepalive {
		return &fault{ReasonProtocol, err} // the library did not like what came, for instance a CONNACK code that does not exist
	}
	return &fault{ReasonNoPong, err}
}

// A broker that takes the numbers of both directions for one space (mochi does) answers our first subscription with this code where a
// message that it still owes us has the same number. It gives the number free when we acknowledge that message, which we do meanwhile.
const (
	codeInUse  = 0x91
	inUseTries = 20
	inUsePause = 100 * time.Millisecond
)

// subscribe asks for everything that comes down, and believes only a grant of QoS 1.
func (s *session) subscribe(ctx context.Context) *fault {
	filter := s.link.topic + "down/+"
	for try := 1; ; try++ {
		code, f := s.subscribeTo(ctx, filter)
		switch {
		case f != nil:
			return f
		case code == 1:
			return nil
		case code != codeInUse || try == inUseTries:
			return &fault{ReasonSubscribe, fmt.Errorf("the broker answered code %#x to %s", code, filter)}
		}
		if f := s.rest(ctx, inUsePause); f != nil {
			return f
		}
	}
}

// rest waits before the next try of something.
func (s *session) rest(ctx context.Context, d time.Duration) *fault {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-s.lost:
		return s.lossFault(err)
	case <-ctx.Done():
		return &fault{ReasonStopped, context.Cause(ctx)}
	}
}

// subscribeTo subscribes once and gives the broker's code.
func (s *session) subscribeTo(ctx context.Context, filter string) (code byte, _ *fault) {
	token := s.client.Subscribe(filter, 1, nil).(*mqtt.SubscribeToken)
	timer := time.NewTimer(s.link.opt.paced(writeTimeout))
	defer timer.Stop()
	select {
	case <-token.Done():
	case err := <-s.lost:
		return 0, s.lossFault(err)
	case <-timer.C:
		return 0, &fault{ReasonSubscribe, errors.New("no SUBACK")}
	case <-ctx.Done():
		return 0, &fault{ReasonStopped, context.Cause(ctx)}
	}
	if err := token.Error(); err != nil {
		return 0, &fault{ReasonSubscribe, err}
	}
	code, ok := token.Result()[filter]
	if !ok {
		code = 0x80
	}
	return code, nil
}

// serve is the session's owner from CONNACK to its end.
func (s *session) serve(ctx context.Context) *fault {
	if f := s.subscribe(ctx); f != nil {
		return f
	}
	if f := s.hello.prepare(s); f != nil {
		return f
	}
	for {
		changed := s.link.opt.Outbox.Changed() // before the look, so that no change is missed
		if s.online {
			s.window.refresh(s.link.opt.Outbox.Pending(windowRows))
		}
		if again, f := s.drain(ctx, changed); !again {
			return f
		}
	}
}

// drain publishes what is due until the picture of the outbox is old (true) or the session ends (false).
func (s *session) drain(ctx context.Context, changed <-chan struct{}) (bool, *fault) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		now := time.Now()
		if s.window.stuck(now) {
			return false, &fault{ReasonNoPuback, fmt.Errorf("no PUBACK for %v", s.window.again)}
		}
		pub, pubs := s.choose(now)
		timer.Reset(s.wait(now, pubs != nil))
		select {
		case pubs <- pub:
			s.published(pub, time.Now())
		case h := <-s.handed:
			if h.err != nil {
				return false, &fault{ReasonWrite, h.err}
			}
			delete(s.window.flying, h.id)
			s.loose.handed(h.id)
			s.link.suspects.handed(h.id)
			s.link.set(func(st *State) { st.LastUp, st.InFlight = time.Now(), len(s.window.flying) })
		case ours := <-s.receipts:
			s.receipted(ours)
			return true, nil
		case ack := <-s.room():
			s.loose.acks = append(s.loose.acks, ack)
		case <-s.looked():
		case <-changed:
			return true, nil
		case <-s.link.opt.StatusChanged:
			if f := s.hello.again(s); f != nil {
				return false, f
			}
		case f := <-s.in.failed:
			return false, f
		case err := <-s.lost:
			return false, s.lossFault(err)
		case <-timer.C:
		case <-ctx.Done():
			return false, &fault{ReasonStopped, context.Cause(ctx)}
		}
	}
}

// choose returns the publish that is due and the channel for it; a nil channel if nothing is.
func (s *session) choose(now time.Time) (publication, chan publication) {
	if p, ok := s.hello.pick(s, now); ok {
		return p, s.pubs
	}
	r, ok := s.window.pick(now) // which is empty before we are online
	if !ok {
		if p, ok := s.loose.pick(s); ok {
			return p, s.pubs
		}
		return publication{}, nil
	}
	return publication{id: r.ID, topic: s.link.topic + "up/" + r.Type, body: r.Body}, s.pubs
}

// idle is a wait that nothing but an event ends.
const idle = 365 * 24 * time.Hour

// wait is how long nothing becomes due by time alone. While a publish is chosen, only the end of the patience with the broker can:
// what is due already would end the wait at once, again and again, for as long as the line takes nothing.
func (s *session) wait(now time.Time, chosen bool) time.Duration {
	at := s.window.due(chosen)
	if !chosen && !s.online && (at.IsZero() || s.hello.next.Before(at)) && !s.window.inFlight(s.hello.id) {
		at = s.hello.next
	}
	if at.IsZero() {
		return idle
	}
	return max(0, at.Sub(now))
}

func (s *session) published(p publication, now time.Time) {
	if p.id == s.hello.id {
		s.hello.sent(now)
		s.window.flying[p.id] = now
		return
	}
	if p.loose {
		s.window.flying[p.id] = now
		s.loose.published(s, p.id)
	} else {
		s.window.published(p.id, now)
	}
	s.link.set(func(st *State) { st.InFlight = len(s.window.flying) })
}

func (s *session) receipted(ours bool) {
	if !ours || s.online {
		return
	}
	s.online = true
	s.link.set(func(st *State) {
		st.phase(Online)
		st.Reason, st.Detail = "", ""
	})
	s.link.opt.Log.Info().Str("conn_no", s.connNo).Msg("link online")
}

// publisher calls the library, which may block for as long as a write may, so that the owner never does. It is joined by the
// link, not by the session: a publish that began as the connection went returns only after the library's time-out.
func (s *session) publisher() {
	for {
		select {
		case p := <-s.pubs:
			token := s.client.Publish(p.topic, 1, p.retain, p.body)
			s.link.wg.Go(func() { s.watch(p.id, token) })
		case <-s.over:
			return
		}
	}
}

// watch waits for the PUBACK. The token of a lost connection never ends, so the session's end ends it.
func (s *session) watch(id string, token mqtt.Token) {
	select {
	case <-token.Done():
	case <-s.over:
		return
	}
	select {
	case s.handed <- handover{id, token.Error()}:
	case <-s.over:
	}
}

// presence encodes up/status: the hello (online, with the nonce) or the last will.
func (s *session) presence(online bool, nonce string) ([]byte, error) {
	opt := &s.link.opt
	st := wire.Status{}
	if online {
		st = opt.Receiver.Status()
		if st.LastReceipt == "" {
			st.LastReceipt = s.link.receiptID()
		}
	}
	st.Online, st.ConnNo, st.Nonce = online, s.connNo, nonce
	if st.StoreEpoch == "" {
		st.StoreEpoch = opt.StoreEpoch
	}
	e := wire.Envelope{
		V: wire.Version, Type: wire.TypeStatus, ID: opt.NewID(), DeviceID: opt.DeviceID,
		SentAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), StoreEpoch: st.StoreEpoch, Status: &st,
	}
	if online {
		if rows := opt.Outbox.Pending(1); len(rows) > 0 {
			e.FloorSeq = rows[0].Seq
		}
	}
	return wire.Encode(e, opt.Encoding)
}
