package cloudlink

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/testbed/broker"
)

// E6, F78: what the broker kept is not carried out because we subscribed, and does not come back for ever; live it is taken.
func TestE6_RetainedMessagesAreRefused(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		keep := func(kind string, payload []byte) {
			if err := l.broker.Publish(prefix+"down/"+kind, payload, true); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		keep("plan", []byte("live"))
		keep("control", []byte("live too"))
		want := []string{"live", "live too"}
		if got := l.device.taken(); !slices.Equal(got, want) {
			t.Fatalf("live: received %q, want %q", got, want)
		}
		for range 3 {
			l.broker.Cut(deviceID)
			time.Sleep(time.Minute)
			l.online()
		}
		l.down("plan", []byte("next"))
		synctest.Wait()
		if got := l.device.taken(); !slices.Equal(got, append(want, "next")) {
			t.Fatalf("after three subscriptions received %q", got)
		}
		if n := l.broker.Unacked(deviceID); n != 0 {
			t.Fatalf("%d refused messages are not acknowledged", n)
		}
	})
}

// A receipt that the broker kept is no answer either.
func TestE6_RetainedReceiptIsNoReceipt(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		body, err := wire.Encode(wire.Envelope{V: wire.Version, Type: wire.TypeReceipt, ID: uuid7(3, 1), DeviceID: deviceID,
			SentAt: "2026-11-30T09:00:00Z", StoreEpoch: epoch, Receipt: &wire.Receipt{Refs: []string{"later"}}}, wire.CBOR)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.broker.Publish(prefix+"down/receipt", body, true); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		l.device.add("later")
		l.broker.Cut(deviceID)
		time.Sleep(time.Minute)
		l.online()
		if l.device.open() != 1 {
			t.Fatal("a kept receipt took a row out")
		}
	})
}

// mute is a broker that takes connections and what they say, and never answers.
type mute struct{ dials atomic.Int64 }

func (m *mute) dial(context.Context) (net.Conn, error) {
	m.dials.Add(1)
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far); _ = far.Close() }()
	return near, nil
}

// F39: a peer that takes the CONNECT and never answers it costs 30 s, is named, and is tried again without a busy loop.
func TestF39_NoConnack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := &mute{}
		opt := Options{DeviceID: deviceID, Dial: silent.dial, Outbox: newDevice("a"), Receiver: newDevice(), Log: zerolog.Nop(),
			Rand: func() float64 { return 0.5 }, NewID: func() string { return uuid7(4, 1) }}
		l := &lab{t: t, link: New(opt), done: make(chan error, 1)}
		l.run()
		time.Sleep(connectTimeout - time.Millisecond)
		synctest.Wait()
		l.want(Connecting, ReasonStarting)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		l.want(Offline, ReasonHandshake)
		time.Sleep(10 * time.Minute)
		if n := silent.dials.Load(); n < 5 || n > 20 {
			t.Fatalf("%d dials in ten minutes", n)
		}
		l.end()
	})
}

// A connection that fails in the same way again and again is one line in the log, not one for each try.
func TestALoopOfFailuresIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lab{t: t, broker: broker.New(), device: newDevice(), done: make(chan error, 1)}
		defer l.broker.Close()
		l.witness = l.broker.Subscribe(prefix + "up/+")
		var log bytes.Buffer // written by the link's goroutine, read after its end
		opt := l.options()
		opt.Log = zerolog.New(&log).Level(zerolog.InfoLevel)
		l.broker.Deny(func(client, _ string) bool { return client == deviceID })
		l.link = New(opt)
		l.run()
		time.Sleep(time.Hour)
		l.broker.Deny(nil)
		time.Sleep(time.Minute)
		l.online()
		l.broker.Cut(deviceID)
		time.Sleep(time.Minute)
		l.online()
		l.broker.Cut(deviceID) // the loss of a link that was online is told each time
		time.Sleep(time.Minute)
		l.end()
		for text, want := range map[string]int{string(ReasonSubscribe): 1, string(ReasonClosed): 2} {
			if n := strings.Count(log.String(), text); n != want {
				t.Errorf("%s is told %d times, want %d, in:\n%.2000s", text, n, want, log.String())
			}
		}
	})
}

// A row or a hello that is due while the line takes nothing must not make the owner turn in circles.
func TestWhatIsDueOnAStalledLineDoesNotSpin(t *testing.T) {
	start := time.Now()
	made := func(online bool) *session {
		s := newSession(New(Options{DeviceID: deviceID}), "7.1", nil)
		s.online, s.hello.id, s.hello.next = online, "hello n", start
		return s
	}
	row := made(true)
	row.window.refresh([]Row{{ID: "a"}, {ID: "b"}})
	row.window.published("a", start)
	delete(row.window.flying, "a")
	row.window.published("b", start.Add(30*time.Second)) // its PUBACK is waited for
	for name, tt := range map[string]struct {
		s    *session
		now  time.Time
		want time.Duration
	}{
		"a row":   {row, start.Add(resendAfter), 30 * time.Second}, // until b's PUBACK is given up
		"a hello": {made(false), start.Add(time.Second), idle},
	} {
		_, pubs := tt.s.choose(tt.now)
		if pubs == nil {
			t.Fatalf("%s: nothing is due", name)
		}
		if got := tt.s.wait(tt.now, true); got != tt.want {
			t.Errorf("%s: the owner waits %v, want %v", name, got, tt.want)
		}
		if got := tt.s.wait(start, false); name == "a row" && got != resendAfter {
			t.Errorf("%s: with nothing to publish the owner waits %v, want %v", name, got, resendAfter)
		}
	}
}
