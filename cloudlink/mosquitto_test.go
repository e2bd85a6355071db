package cloudlink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/bridge/wire"
	broker "deviceagent/testbed/mosquitto"
)

// The embedded broker is a good enemy but not the one in the field: this runs the link against a real mosquitto over TCP, once
// through everything: hello, rows, messages, kill -9 of the broker, and back.
func TestAgainstMosquitto(t *testing.T) {
	m := startMosquitto(t)
	d := newDevice("a", "b")
	l := &lab{t: t, device: d, done: make(chan error, 1)}
	opt := Options{DeviceID: deviceID, Broker: "tcp://" + m.addr, Outbox: d, Receiver: d, StoreEpoch: epoch, StartNo: 3,
		Rand: func() float64 { return 0.2 }, NewID: newIDs()}
	l.link = New(opt)
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.done <- l.link.Run(ctx) }()
	defer l.end()

	p := m.planner(t)
	m.waitFor(t, "rows receipted", func() bool { return d.open() == 0 })
	if s := l.link.State(); s.Phase != Online || s.ConnNo != "3.1" {
		t.Fatalf("state is %+v", s)
	}
	for i := range 50 {
		waitToken(t, p.Publish(prefix+"down/plan", 1, false, fmt.Sprintf("m%02d", i)))
	}
	m.waitFor(t, "50 messages", func() bool { return len(d.taken()) == 50 })
	if got := d.taken(); !slices.IsSorted(got) {
		t.Fatalf("out of order: %v", got)
	}

	p.Disconnect(0)
	m.Kill()
	m.waitFor(t, "loss noticed", func() bool { return l.link.State().Phase != Online })
	d.add("c")
	if err := m.Again(); err != nil {
		t.Fatal(err)
	}
	m.planner(t)
	m.waitFor(t, "the row of the outage", func() bool { return d.open() == 0 })
	if s := l.link.State(); s.Phase != Online {
		t.Fatalf("state is %+v", s)
	}
}

func newIDs() func() string {
	n := make(chan int, 1)
	n <- 0
	return func() string { i := <-n + 1; n <- i; return uuid7(0, i) }
}

// mosquitto is a real broker on a free loopback port, with clients of its own.
type mosquitto struct {
	*broker.Broker
	addr string
	tls  *tls.Config // of clients; nil: plain TCP
}

func startMosquitto(t *testing.T) *mosquitto {
	t.Helper()
	return startMosquittoWith(t, func(port string) string {
		return "listener " + port + " 127.0.0.1\nallow_anonymous true\npersistence false\n"
	})
}

// startMosquittoWith starts one with a configuration for its port.
func startMosquittoWith(t *testing.T, conf func(port string) string) *mosquitto {
	t.Helper()
	b, err := broker.Start(t.TempDir(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Kill)
	return &mosquitto{Broker: b, addr: b.Addr}
}

// waitFor polls in real time: there is another process at work.
func (m *mosquitto) waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// client connects one more client, by TLS if there is a configuration for it.
func (m *mosquitto) client(t *testing.T, id string, conf *tls.Config) mqtt.Client {
	t.Helper()
	scheme := "tcp://"
	if conf != nil {
		scheme = "ssl://"
	}
	c := mqtt.NewClient(mqtt.NewClientOptions().AddBroker(scheme + m.addr).SetClientID(id).SetTLSConfig(conf).SetAutoReconnect(false).SetProtocolVersion(4))
	waitToken(t, c.Connect())
	return c
}

// planner receipts everything that comes up.
func (m *mosquitto) planner(t *testing.T) mqtt.Client {
	t.Helper()
	receipts := make(chan wire.Receipt, 100)
	c := m.client(t, "planner", m.tls)
	waitToken(t, c.Subscribe(prefix+"up/+", 1, func(_ mqtt.Client, msg mqtt.Message) {
		r := wire.Receipt{Refs: []string{string(msg.Payload())}}
		if strings.HasSuffix(msg.Topic(), "/status") {
			e, err := wire.Decode(msg.Payload(), wire.Options{Direction: wire.Up})
			if err != nil || !e.Status.Online {
				return
			}
			r = wire.Receipt{Nonce: e.Status.Nonce}
		}
		receipts <- r
	}))
	ctx, stop := context.WithCancel(context.Background())
	ended, ids := make(chan struct{}), newIDs()
	go func() {
		defer close(ended)
		for {
			select {
			case r := <-receipts:
				e := wire.Envelope{V: wire.Version, Type: wire.TypeReceipt, ID: ids(), DeviceID: deviceID,
					SentAt: time.Now().UTC().Format(time.RFC3339), StoreEpoch: epoch, Receipt: &r}
				body, err := wire.Encode(e, wire.CBOR)
				if err != nil {
					panic(err)
				}
				c.Publish(prefix+"down/receipt", 1, false, body)
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() { stop(); <-ended; c.Disconnect(0) })
	return c
}

func waitToken(t *testing.T, token mqtt.Token) {
	t.Helper()
	err := errors.New("no answer within a minute")
	if token.WaitTimeout(time.Minute) {
		err = token.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
}
