package cloudlink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/bridge/wire"
)

func TestOnlineOnlyByThePlannersAnswer(t *testing.T) {
	bubble(t, func(l *lab) {
		l.want(Connecting, ReasonHello)
		if !l.link.State().Open {
			t.Fatal("the connection is up but not shown")
		}
		l.wantRows() // nothing leaves before the planner is known to listen
		h := l.hellos()
		if len(h) != 1 || !h[0].Online || h[0].ConnNo != "7.1" || h[0].StoreEpoch != epoch || h[0].Nonce == "" {
			t.Fatalf("hello is %+v", h)
		}
		if l.broker.Retained(prefix+"up/status") == nil {
			t.Fatal("the hello is not retained")
		}
		l.online()
		l.wantRows("a", "b", "c")
		l.receipt(wire.Receipt{Refs: []string{"a", "b", "c"}})
		synctest.Wait()
		if n := l.device.open(); n != 0 {
			t.Fatalf("%d rows are left", n)
		}
		time.Sleep(time.Hour)
		l.wantRows("a", "b", "c")
	}, "a", "b", "c")
}

func TestWrongNonceIsNoAnswer(t *testing.T) {
	bubble(t, func(l *lab) {
		l.receipt(wire.Receipt{Nonce: "another", Refs: []string{"a"}, PlannerTime: "2020-01-01T00:00:00Z", Close: []string{"wf"}})
		synctest.Wait()
		l.want(Connecting, ReasonHello)
		got := l.device.receipts
		if len(got) != 1 || got[0].PlannerTime != "" || got[0].Close != nil || got[0].Nonce != "" {
			t.Fatalf("a stale receipt was passed on as %+v", got)
		}
		if l.device.open() != 0 {
			t.Fatal("its refs were not taken")
		}
		l.online()
		if r := l.device.receipts[1]; r.PlannerTime == "" || r.Nonce == "" {
			t.Fatalf("the answer was passed on as %+v", r)
		}
	}, "a")
}

func TestReceiptOfAnotherStoreIsDropped(t *testing.T) {
	bubble(t, func(l *lab) {
		nonce := l.hellos()[0].Nonce
		for _, e := range []wire.Envelope{{DeviceID: deviceID, StoreEpoch: "ep-0"}, {DeviceID: "rb-0002", StoreEpoch: epoch}} {
			e.V, e.Type, e.ID, e.SentAt = wire.Version, wire.TypeReceipt, uuid7(2, 1), "2026-11-30T09:00:00Z"
			e.Receipt = &wire.Receipt{Nonce: nonce, Refs: []string{"a"}}
			body, err := wire.Encode(e, wire.CBOR)
			if err != nil {
				t.Fatal(err)
			}
			l.down("receipt", body)
		}
		l.down("receipt", []byte("rubbish"))
		synctest.Wait()
		l.want(Connecting, ReasonHello)
		if l.device.open() != 1 {
			t.Fatal("a foreign receipt took a row out")
		}
	}, "a")
}

func TestHelloIsRepeatedWithTheSameNonce(t *testing.T) {
	bubble(t, func(l *lab) {
		start := l.witness.Messages()[0].At
		time.Sleep(time.Hour)
		var at []time.Duration
		for _, m := range l.witness.Messages() {
			at = append(at, m.At.Sub(start))
		}
		want := []time.Duration{0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(at, want) {
			t.Fatalf("hellos came at %v, want %v", at, want)
		}
		for _, h := range l.hellos() {
			if h.Nonce != l.hellos()[0].Nonce || h.ConnNo != "7.1" {
				t.Fatalf("a repeat is another hello: %+v", h)
			}
		}
		l.online()
		n := len(l.hellos())
		time.Sleep(time.Hour)
		if len(l.hellos()) != n {
			t.Fatal("an answered hello was sent again")
		}
	})
}

// What is kept at the broker says what is so: a status that changes is published again, once, with the nonce of its connection.
func TestAStatusThatChangesIsPublishedAgain(t *testing.T) {
	change := func(l *lab, mode string) {
		l.device.mu.Lock()
		l.device.mode = mode
		l.device.mu.Unlock()
		l.news <- struct{}{}
		synctest.Wait()
	}
	bubble(t, func(l *lab) {
		change(l, "manual") // not answered yet
		l.online()
		change(l, "service")
		change(l, "automatic")
		time.Sleep(time.Hour)
		var modes []string
		for _, h := range l.hellos() {
			modes = append(modes, h.Mode)
			if h.Nonce != l.hellos()[0].Nonce || h.ConnNo != "7.1" || !h.Online {
				t.Errorf("another hello: %+v", h)
			}
		}
		if !slices.Equal(modes, []string{"", "manual", "service", "automatic"}) {
			t.Errorf("published %q", modes)
		}
		l.want(Online, "")
		l.device.add("row-1")
		synctest.Wait()
		l.wantRows("row-1")
	})
}

func TestUnreceiptedRowIsSentAgain(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		time.Sleep(time.Minute - time.Millisecond)
		l.wantRows("a", "b")
		l.receipt(wire.Receipt{Refs: []string{"b"}}) // out of order
		time.Sleep(time.Millisecond)
		l.wantRows("a", "b", "a")
		time.Sleep(time.Minute)
		l.wantRows("a", "b", "a", "a")
	}, "a", "b")
}

// The broker acknowledges and throws away: only the missing receipt can tell.
func TestBrokerThatAcksAndDrops(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.broker.Drop(func(client, _ string) bool { return client == deviceID })
		l.device.add("a")
		synctest.Wait()
		if s := l.link.State(); s.InFlight != 0 || s.LastUp.IsZero() {
			t.Fatalf("the broker should have taken the row: %+v", s)
		}
		l.wantRows()
		l.broker.Drop(nil)
		time.Sleep(time.Minute)
		l.wantRows("a")
		if l.device.open() != 1 {
			t.Fatal("a PUBACK took the row out")
		}
	})
}

func TestConnectionLostBetweenPublishAndPuback(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.broker.StallDown(deviceID, true)
		l.device.add("a")
		l.wantRows("a")
		if n := l.link.State().InFlight; n != 1 {
			t.Fatalf("%d in flight, want 1", n)
		}
		l.broker.Cut(deviceID)
		time.Sleep(2 * time.Second)
		l.wantRows("a") // connected again, not answered yet
		if h := l.hellos(); h[len(h)-1].ConnNo != "7.2" {
			t.Fatalf("second connection is %+v", h[len(h)-1])
		}
		l.online()
		l.wantRows("a", "a")
	})
}

func TestTheWillNamesItsConnection(t *testing.T) {
	bubble(t, func(l *lab) {
		l.broker.Cut(deviceID)
		synctest.Wait()
		h := l.hellos()
		if len(h) != 2 || h[1].Online || h[1].ConnNo != "7.1" || h[1].Nonce != "" {
			t.Fatalf("after the cut the witness saw %+v", h)
		}
	})
}

// Stopping is a power cut: the broker sends the will, nobody says goodbye.
func TestStopLeavesTheWill(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.end()
		synctest.Wait()
		if h := l.hellos(); h[len(h)-1].Online {
			t.Fatal("the broker still believes us online")
		}
		l.start(8)
		if h := l.hellos(); h[len(h)-1].ConnNo != "8.1" {
			t.Fatalf("after the restart the hello is %+v", h[len(h)-1])
		}
	})
}

func TestMessagesComeInOrderAndAgainAfterALoss(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		gate := make(chan struct{})
		l.device.gate = gate
		for i := range 5 {
			l.down("plan", []byte(fmt.Sprint(i)))
		}
		synctest.Wait()
		if n := l.broker.Unacked(deviceID); n != 5 {
			t.Fatalf("the broker holds %d unacknowledged, want 5: nothing is durable yet", n)
		}
		gate <- struct{}{} // the first answer is durable
		synctest.Wait()
		if n := l.broker.Unacked(deviceID); n != 4 {
			t.Fatalf("the broker holds %d unacknowledged, want 4", n)
		}
		l.broker.Cut(deviceID)
		close(gate)
		time.Sleep(5 * time.Second)
		got := l.device.taken()
		if len(got) < 6 || got[0] != "0" || got[1] != "1" { // "1" was being received while the line went: a duplicate
			t.Fatalf("received %v", got)
		}
		tail := slices.Sorted(slices.Values(got[len(got)-4:])) // this broker redelivers in any order
		if !slices.Equal(tail, []string{"1", "2", "3", "4"}) {
			t.Fatalf("received %v, want 1 to 4 again", got)
		}
		if n := l.broker.Unacked(deviceID); n != 0 {
			t.Fatalf("%d messages were never acknowledged", n)
		}
	})
}

func TestReceiveErrorClosesWithoutAck(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.device.mu.Lock()
		l.device.fail = errors.New("disk full")
		l.device.mu.Unlock()
		l.down("plan", []byte("p"))
		l.down("plan", []byte("q"))
		synctest.Wait()
		l.want(Offline, ReasonReceive)
		if n := l.broker.Unacked(deviceID); n != 2 {
			t.Fatalf("the broker holds %d unacknowledged, want 2", n)
		}
		l.device.mu.Lock()
		l.device.fail = nil
		l.device.mu.Unlock()
		time.Sleep(2 * time.Second)
		if got := slices.Sorted(slices.Values(l.device.taken())); !slices.Equal(got, []string{"p", "q"}) {
			t.Fatalf("received %v after the disk healed", got)
		}
	})
}

func TestEmptyPayloadIsDroppedQuietly(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.down("plan", nil)
		synctest.Wait()
		if got := l.device.taken(); len(got) != 0 {
			t.Fatalf("received %q", got)
		}
		if n := l.broker.Unacked(deviceID); n != 0 {
			t.Fatal("it was not acknowledged and would come back for ever")
		}
	})
}

func TestHalfOpenIsNoticed(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.broker.StallUp(deviceID, true)
		l.broker.StallDown(deviceID, true)
		start := time.Now()
		for range l.link.Changed() {
			if l.link.State().Phase == Offline {
				break
			}
		}
		if d := time.Since(start); d > 50*time.Second {
			t.Fatalf("noticed after %v, want at most 50s", d)
		}
		l.want(Offline, ReasonNoPong)
	})
}

func TestAtMost32InFlight(t *testing.T) {
	var ids []string
	for i := range 300 {
		ids = append(ids, fmt.Sprintf("r%03d", i))
	}
	bubble(t, func(l *lab) {
		synctest.Wait()
		h := l.hellos()
		l.receipt(wire.Receipt{Nonce: h[0].Nonce})
		l.broker.Slow(deviceID, time.Second)
		time.Sleep(3500 * time.Millisecond)
		if s := l.link.State(); s.InFlight != 32 {
			t.Fatalf("%d in flight on a slow line, want 32", s.InFlight)
		}
		l.broker.Slow(deviceID, 0)
		time.Sleep(10 * time.Second)
		if got := l.rowsSeen(); !slices.Equal(got, ids[:windowRows]) {
			t.Fatalf("%d rows came, want the first %d in order", len(got), windowRows)
		}
		l.receipt(wire.Receipt{Refs: ids[:100]})
		time.Sleep(time.Second)
		if got := l.rowsSeen(); !slices.Equal(got, ids) {
			t.Fatalf("%d rows came after receipts, want all 300 in order", len(got))
		}
	}, ids...)
}

func TestNoPubackEndsTheConnection(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.broker.Swallow(func(client, _ string) bool { return client == deviceID })
		l.device.add("a")
		time.Sleep(resendAfter - time.Nanosecond)
		synctest.Wait()
		l.want(Online, "") // pings are answered all the while
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		l.want(Offline, ReasonNoPuback)
		l.broker.Swallow(nil)
		time.Sleep(2 * time.Second)
		l.online()
		l.wantRows("a")
	})
}

func TestTwinIsReportedAndBackedOffFrom(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		dials := 0
		for range 6 {
			twin := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://twin").SetClientID(deviceID).SetAutoReconnect(false).
				SetCleanSession(false).SetProtocolVersion(4).SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) {
				return l.broker.Dial(t.Context())
			}))
			token := twin.Connect()
			<-token.Done()
			synctest.Wait()
			for l.link.State().Phase == Offline || !l.link.State().Open {
				<-l.link.Changed()
				synctest.Wait()
			}
			dials++
			twin.Disconnect(0)
		}
		s := l.link.State()
		if s.Reconnects != int64(dials) {
			t.Fatalf("%d connections for %d kicks: a busy loop", s.Reconnects, dials)
		}
		l.broker.Cut(deviceID)
		synctest.Wait()
		l.want(Offline, ReasonTwin)
	})
}

func TestRefusedSubscriptionIsNotOnline(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.broker.Deny(func(client, _ string) bool { return client == deviceID })
		l.broker.Cut(deviceID)
		time.Sleep(5 * time.Minute)
		l.want(Offline, ReasonSubscribe)
		if n := l.link.State().Reconnects; n > 40 {
			t.Fatalf("%d connections in five minutes: a busy loop", n)
		}
		l.broker.Deny(nil)
		time.Sleep(time.Minute)
		l.online()
	})
}

func TestBrokerDownForADay(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.broker.SetDown(true)
		time.Sleep(time.Minute)
		l.want(Offline, ReasonDial)
		time.Sleep(24 * time.Hour)
		l.device.add("a")
		l.broker.SetDown(false)
		time.Sleep(time.Minute)
		l.online()
		l.wantRows("a")
	})
}

func TestNetworkUpEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up := make(chan struct{})
		dials := 0
		opt := Options{DeviceID: deviceID, NetworkUp: up, Outbox: newDevice(), Receiver: newDevice(),
			Rand: func() float64 { return 0.999 }, NewID: func() string { return "x" },
			Dial: func(context.Context) (net.Conn, error) { dials++; return nil, errors.New("no route") }}
		l := New(opt)
		lab := &lab{t: t, link: l, done: make(chan error, 1)}
		lab.run()
		synctest.Wait()
		up <- struct{}{}
		synctest.Wait()
		if dials != 2 {
			t.Fatalf("%d dials, want 2", dials)
		}
		lab.end()
	})
}

func TestOverrunMakesProgress(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		gate := make(chan struct{})
		l.device.mu.Lock()
		l.device.gate = gate
		l.device.mu.Unlock()
		var want []string
		for i := range 1000 {
			want = append(want, fmt.Sprintf("m%04d", i))
			l.down("plan", []byte(want[i]))
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		l.want(Offline, ReasonOverrun)
		if n := len(l.device.taken()); n < intakeMessages || n > intakeMessages+1 {
			t.Fatalf("%d messages were worked off before the end, want the queue's %d", n, intakeMessages)
		}
		time.Sleep(10 * time.Minute)
		seen := l.device.taken()
		slices.Sort(seen)
		if got := slices.Compact(seen); !slices.Equal(got, want) {
			t.Fatalf("%d of %d messages came", len(got), len(want))
		}
		if n := l.broker.Unacked(deviceID); n != 0 {
			t.Fatalf("%d messages were never acknowledged", n)
		}
	})
}

// Few but large messages are bounded by their bytes.
func TestOverrunByBytes(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		gate := make(chan struct{})
		l.device.mu.Lock()
		l.device.gate = gate
		l.device.mu.Unlock()
		const size = 3 << 20
		for range 6 {
			l.down("plan", make([]byte, size))
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		l.want(Offline, ReasonOverrun)
		if n := len(l.device.taken()); n > 1+intakeBytes/size {
			t.Fatalf("%d messages of %d bytes were held", n, size)
		}
		time.Sleep(5 * time.Minute)
		if n := l.broker.Unacked(deviceID); n != 0 {
			t.Fatalf("%d messages were never acknowledged", n)
		}
	})
}

func TestHostilePacketsEndTheConnection(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bytes []byte
		want  Reason
	}{
		{"a header that claims 256 MiB", []byte{0x30, 0xff, 0xff, 0xff, 0x7f}, ReasonOversize},
		{"a SUBACK with more codes than filters", []byte{0x90, 5, 0, 1, 1, 1, 1}, ReasonProtocol},
		{"a SUBACK without a code", []byte{0x90, 2, 0, 1}, ReasonProtocol},
		{"a length of five bytes", []byte{0x30, 0x80, 0x80, 0x80, 0x80, 1}, ReasonProtocol},
		{"packet type 0", []byte{0, 0}, ReasonProtocol},
		{"packet type 15", []byte{0xf0, 0}, ReasonProtocol},
		{"a topic longer than its packet", []byte{0x32, 3, 0, 200, 'x'}, ReasonProtocol},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(l *lab) {
				l.online()
				l.broker.Inject(deviceID, tc.bytes)
				synctest.Wait()
				l.want(Offline, tc.want)
				time.Sleep(2 * time.Second)
				l.online()
			})
		})
	}
}

// After three ends for size the session at the broker is thrown away, or its oversize message would come back for ever.
func TestOversizeMessageDoesNotComeBackForEver(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.down("plan", make([]byte, packetCap+1))
		l.down("plan", []byte("behind it"))
		synctest.Wait()
		l.want(Offline, ReasonOversize)
		time.Sleep(time.Minute)
		if n := l.broker.Unacked(deviceID); n != 0 {
			t.Fatalf("the broker still holds %d messages", n)
		}
		l.online()
		l.down("plan", []byte("new"))
		synctest.Wait()
		if got := l.device.taken(); !slices.Contains(got, "new") {
			t.Fatalf("received %q", got)
		}
	})
}

func TestOptionsThatCannotWork(t *testing.T) {
	d := newDevice()
	good := Options{DeviceID: "a", Broker: "tcp://localhost", Outbox: d, Receiver: d, Rand: func() float64 { return 0 }, NewID: func() string { return "x" }}
	for name, change := range map[string]func(*Options){
		"no device id":         func(o *Options) { o.DeviceID = "" },
		"a wildcard in the id": func(o *Options) { o.DeviceID = "a/+" },
		"no broker":            func(o *Options) { o.Broker = "" },
		"an unknown scheme":    func(o *Options) { o.Broker = "http://localhost" },
		"no host":              func(o *Options) { o.Broker = "tcp://:1883" },
		"no outbox":            func(o *Options) { o.Outbox = nil },
	} {
		o := good
		change(&o)
		if err := New(o).Run(t.Context()); err == nil {
			t.Errorf("%s: Run did not refuse", name)
		}
	}
}

// A broker that owes us messages may refuse our subscription for the number that it has in common with one of them. It takes the next try.
func TestASubscriptionWhoseNumberIsInUseIsTriedAgain(t *testing.T) {
	bubble(t, func(l *lab) {
		l.online()
		l.broker.Cut(deviceID) // from then on the broker counts anew
		time.Sleep(10 * time.Second)
		gate := make(chan struct{})
		l.device.mu.Lock()
		l.device.gate = gate
		l.device.mu.Unlock()
		for i := range 5 { // not acknowledged when the line goes: the broker has them, with numbers from 1 on
			l.down("plan", fmt.Appendf(nil, "m%d", i))
		}
		synctest.Wait()
		l.broker.Cut(deviceID)
		close(gate)
		before := l.link.State().Reconnects
		time.Sleep(10 * time.Second)
		l.online()
		if s := l.link.State(); s.Phase != Online || s.Reconnects > before+2 {
			t.Errorf("%+v", s)
		}
	})
}
