package planner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/bridge/wire"
)

// upMessage is one publish of a device, with the connection that brought it.
type upMessage struct {
	topic   string
	payload []byte
	raw     mqtt.Message
	of      *session
}

// link keeps the MQTT connection: one paho client per connection, since a reused one reports deliveries that never were.
type link struct {
	opt    *Options
	inbox  chan upMessage // to the owner
	states chan bool      // to the owner: true when subscribed, false when lost
	out    chan outgoing  // from the owner
}

// outgoing is a publish, or the ack of an up message that is on disk.
type outgoing struct {
	topic string
	data  []byte
	ack   *upMessage
}

// Bounds of one connection.
const (
	keepAlive     = 30 * time.Second
	pingTimeout   = 9 * time.Second // the library looks each 5 s: with 10 the second look could come a moment too early, and the third would count
	writeTimeout  = 10 * time.Second
	setupTimeout  = 30 * time.Second // dial, CONNACK and SUBACK
	pubackTimeout = 60 * time.Second
	disconnectMS  = 100
	inFlight      = 32
	stableAfter   = time.Minute
	backoffMin    = time.Second
	backoffMax    = time.Minute
	outQueue      = 2048
)

func newLink(opt *Options) *link {
	return &link{opt: opt, inbox: make(chan upMessage, inboxSize), states: make(chan bool), out: make(chan outgoing, outQueue)}
}

// send takes a publish for the present connection. False: it could not, and the caller's own record of it goes on.
func (l *link) send(topic string, data []byte) bool { return l.put(outgoing{topic: topic, data: data}) }

// ack tells the broker that a message is kept. If the queue is full it is left out: the broker brings it again.
func (l *link) ack(m upMessage) { l.put(outgoing{ack: &m}) }

func (l *link) put(o outgoing) bool {
	select {
	case l.out <- o:
		return true
	default:
		return false
	}
}

// run connects again and again until ctx ends: 1 s to 60 s with full jitter, from the start again after a stable minute.
func (l *link) run(ctx context.Context) {
	wait := backoffMin
	for ctx.Err() == nil {
		began := time.Now()
		err := l.connection(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= l.opt.paced(stableAfter) {
			wait = backoffMin
		}
		pause := l.opt.paced(time.Duration(rand.Int64N(int64(wait)))) + 10*time.Millisecond
		l.opt.Log.Warn().Err(err).Int64(keyWaitMS, pause.Milliseconds()).Msg("broker connection ended, will dial again")
		wait = min(2*wait, backoffMax)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// session is one connection.
type session struct {
	client mqtt.Client
	conn   net.Conn       // of the dial, once it succeeded
	lost   chan error     // capacity 1: the first cause
	ended  chan struct{}  // closed when the connection is given up: tokens of it may never end
	tokens sync.WaitGroup // goroutines that wait for one
}

// end closes the connection and waits for all that was started for it. The broker is told (Disconnect), as far as it listens.
func (s *session) end() {
	close(s.ended)
	s.client.Disconnect(disconnectMS)
	if s.conn != nil {
		_ = s.conn.Close()
	}
	s.tokens.Wait()
}

func (s *session) fail(err error) {
	select {
	case s.lost <- err:
	default:
	}
}

// connection dials, subscribes and serves until the connection is lost.
func (l *link) connection(ctx context.Context) error {
	s := &session{lost: make(chan error, 1), ended: make(chan struct{})}
	s.client = mqtt.NewClient(l.options(ctx, s))
	defer s.end()
	if err := s.await(ctx, s.client.Connect(), l.opt.paced(setupTimeout)); err != nil {
		return fmt.Errorf("cannot connect to broker: %w", err)
	}
	l.drop() // before the subscription: retained hellos come with it, and their answers must not be dropped
	sub := s.client.Subscribe(upFilter, 1, l.handler(s))
	if err := s.await(ctx, sub, l.opt.paced(setupTimeout)); err != nil {
		return fmt.Errorf("cannot subscribe to %s: %w", upFilter, err)
	}
	if t, ok := sub.(*mqtt.SubscribeToken); ok {
		for filter, code := range t.Result() { // a refusal (0x80) has no error
			if code > 2 {
				return fmt.Errorf("cannot subscribe to %s: refused by the broker", filter)
			}
		}
	}
	if !l.tell(ctx, true) {
		return context.Cause(ctx)
	}
	l.opt.Log.Info().Msg("broker connection is up")
	err := l.serve(ctx, s)
	l.tell(ctx, false)
	return err
}

// drop empties the queue: what is in it belongs to the last connection, and the owner sends all that is open again.
func (l *link) drop() {
	for {
		select {
		case <-l.out:
		default:
			return
		}
	}
}

func (l *link) tell(ctx context.Context, up bool) bool {
	select {
	case l.states <- up:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *link) options(ctx context.Context, s *session) *mqtt.ClientOptions {
	o := mqtt.NewClientOptions().AddBroker("tcp://broker") // the name is not used: the connection comes from Dial
	o.SetClientID(l.opt.ClientID).SetUsername(l.opt.Username).SetPassword(string(l.opt.Password))
	o.SetProtocolVersion(4)
	o.SetAutoReconnect(false).SetConnectRetry(false)
	o.SetCleanSession(true) // devices send again what has no receipt; a kept session only brings the same late
	o.SetStore(mqtt.NewMemoryStore())
	o.SetKeepAlive(max(time.Second, l.opt.paced(keepAlive))).SetPingTimeout(l.opt.paced(pingTimeout)).SetWriteTimeout(l.opt.paced(writeTimeout)).SetConnectTimeout(l.opt.paced(setupTimeout))
	o.SetAutoAckDisabled(true).SetOrderMatters(true)
	o.SetConnectionLostHandler(func(_ mqtt.Client, err error) { s.fail(err) })
	o.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, l.opt.paced(setupTimeout))
		defer cancel()
		c, err := l.opt.Dial(ctx)
		if err != nil {
			return nil, fmt.Errorf("cannot dial broker: %w", err)
		}
		s.conn = guard(c)
		return s.conn, nil
	})
	return o
}

// handler only hands over. When the owner is that far behind, the connection ends: paho must not be blocked, and what was not
// acked comes again.
func (l *link) handler(s *session) mqtt.MessageHandler {
	return func(_ mqtt.Client, m mqtt.Message) {
		select {
		case l.inbox <- upMessage{topic: m.Topic(), payload: m.Payload(), raw: m, of: s}:
		default:
			s.fail(errors.New("more messages came in than could be kept"))
		}
	}
}

// serve writes what the owner sends, with at most inFlight publishes that the broker has not acked.
func (l *link) serve(ctx context.Context, s *session) error {
	slots := make(chan struct{}, inFlight)
	for {
		select {
		case o := <-l.out:
			if err := l.write(ctx, s, o, slots); err != nil {
				return err
			}
		case err := <-s.lost:
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *link) write(ctx context.Context, s *session, o outgoing, slots chan struct{}) error {
	if o.ack != nil {
		if o.ack.of == s { // an ack on another connection would name another message
			o.ack.raw.Ack()
		}
		return nil
	}
	select {
	case slots <- struct{}{}:
	case err := <-s.lost:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	data, err := l.signed(o.data)
	if err != nil {
		return err
	}
	t := s.client.Publish(o.topic, 1, false, data)
	select {
	case <-t.Done(): // refused at once: the connection is not open
		if err := t.Error(); err != nil {
			return fmt.Errorf("cannot publish: %w", err)
		}
		<-slots
	default:
		s.tokens.Go(func() { s.release(t, slots, l.opt.paced(pubackTimeout)) })
	}
	return nil
}

// signed is a message as it leaves. What is kept is not signed: a key that was replaced must not be needed for what is sent again.
func (l *link) signed(data []byte) ([]byte, error) {
	if l.opt.Signing == nil {
		return data, nil
	}
	return wire.Sign(data, l.opt.Signing)
}

// release frees a slot when the broker has acked, and fails the connection if it does not in time: 32 that never come would stop all
// that is sent, and the connection would look well.
func (s *session) release(t mqtt.Token, slots chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-timer.C:
		s.fail(fmt.Errorf("no acknowledgement of a message from the broker within %v", limit))
	case <-t.Done():
		if err := t.Error(); err != nil {
			s.fail(err)
		}
	case <-s.ended:
	}
	<-slots
}

// await waits for a token; a lost connection's token never ends, so the loss and a timer are waited for as well.
func (s *session) await(ctx context.Context, t mqtt.Token, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.Done():
		return t.Error()
	case err := <-s.lost:
		return err
	case <-timer.C:
		return errors.New("no answer in time")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
