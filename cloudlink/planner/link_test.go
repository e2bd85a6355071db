package planner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/eclipse/paho.mqtt.golang/packets"
	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
)

// peer scripts one broker connection. It ends when the connection does.
type peer func(net.Conn)

// accept answers CONNECT, and SUBSCRIBE with a code, and then reads what comes.
func accept(code byte, then func(net.Conn, packets.ControlPacket)) peer {
	return func(c net.Conn) {
		for {
			p, err := packets.ReadPacket(c)
			if err != nil {
				return
			}
			switch p := p.(type) {
			case *packets.ConnectPacket:
				err = packets.NewControlPacket(packets.Connack).Write(c)
			case *packets.SubscribePacket:
				ack := packets.NewControlPacket(packets.Suback).(*packets.SubackPacket)
				ack.MessageID, ack.ReturnCodes = p.MessageID, []byte{code}
				err = ack.Write(c)
			case *packets.PingreqPacket:
				err = packets.NewControlPacket(packets.Pingresp).Write(c)
			}
			if err == nil && then != nil {
				then(c, p)
			}
		}
	}
}

// linkRig runs one connection of a link inside a bubble, against a scripted peer, and gives how it ended and after how long.
func linkRig(t *testing.T, p peer, during func(*link)) (after time.Duration, err error) {
	t.Helper()
	opt := &Options{ClientID: "t", Log: zerolog.Nop()}
	peerDone := make(chan struct{})
	opt.Dial = func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer close(peerDone)
			defer func() { _ = theirs.Close() }()
			p(theirs)
		}()
		return ours, nil
	}
	l := newLink(opt)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	owner := make(chan struct{})
	go func() {
		defer close(owner)
		for {
			select {
			case up := <-l.states:
				if up && during != nil {
					during(l)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	began := time.Now()
	err = l.connection(ctx)
	after = time.Since(began)
	cancel()
	<-owner
	<-peerDone
	time.Sleep(time.Minute) // in the bubble: lets the library's own timers run out
	synctest.Wait()
	return after, err
}

func TestLinkEndings(t *testing.T) {
	silent := func(c net.Conn) {
		buf := make([]byte, 1024)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	}
	var acked peer = accept(1, func(c net.Conn, p packets.ControlPacket) {
		if _, ok := p.(*packets.SubscribePacket); ok {
			_ = c.Close()
		}
	})
	for _, tc := range []struct {
		name  string
		peer  peer
		least time.Duration
		most  time.Duration
	}{
		{"no CONNACK", silent, setupTimeout, setupTimeout + time.Second},
		{"subscription refused", accept(0x80, nil), 0, time.Second},
		{"lost after the subscription", acked, 0, time.Second},
		{"SUBACK without a code", func(c net.Conn) {
			for {
				p, err := packets.ReadPacket(c)
				if err != nil {
					return
				}
				switch p.(type) {
				case *packets.ConnectPacket:
					err = packets.NewControlPacket(packets.Connack).Write(c)
				case *packets.SubscribePacket:
					_, err = c.Write([]byte{0x90, 2, 0, 1})
				}
				if err != nil {
					return
				}
			}
		}, 0, time.Second},
		{"half open: pings are not answered", func(c net.Conn) {
			for {
				p, err := packets.ReadPacket(c)
				if err != nil {
					return
				}
				if _, ping := p.(*packets.PingreqPacket); ping {
					continue
				}
				switch p := p.(type) {
				case *packets.ConnectPacket:
					_ = packets.NewControlPacket(packets.Connack).Write(c)
				case *packets.SubscribePacket:
					ack := packets.NewControlPacket(packets.Suback).(*packets.SubackPacket)
					ack.MessageID, ack.ReturnCodes = p.MessageID, []byte{1}
					_ = ack.Write(c)
				}
			}
		}, keepAlive, 50 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				after, err := linkRig(t, tc.peer, nil)
				if err == nil || after < tc.least || after > tc.most {
					t.Errorf("ended after %s with %v, want %s to %s", after, err, tc.least, tc.most)
				}
			})
		})
	}
}

func TestLinkEndsWhenTheOwnerIsTooFarBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flood := accept(1, func(c net.Conn, p packets.ControlPacket) {
			if _, ok := p.(*packets.SubscribePacket); !ok {
				return
			}
			for i := range inboxSize + 1 {
				m := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
				m.Qos, m.MessageID, m.TopicName, m.Payload = 1, uint16(i+1), "deviceagent/v1/rb-1/up/ack", []byte("x")
				if m.Write(c) != nil {
					return
				}
			}
		})
		_, err := linkRig(t, flood, nil)
		if err == nil || err.Error() != "more messages came in than could be kept" {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestAtMostThirtyTwoPublishesInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unacked := 0
		count := accept(1, func(c net.Conn, p packets.ControlPacket) {
			if _, ok := p.(*packets.PublishPacket); ok {
				unacked++
			}
		})
		_, _ = linkRig(t, func(c net.Conn) {
			stop := time.AfterFunc(20*time.Second, func() { _ = c.Close() })
			defer stop.Stop()
			count(c)
		}, func(l *link) {
			for i := range 2 * inFlight {
				l.send("t", []byte(fmt.Sprint(i)))
			}
		})
		if unacked != inFlight {
			t.Errorf("%d publishes were in flight, want %d", unacked, inFlight)
		}
	})
}

func TestFullQueueIsNotWaitedFor(t *testing.T) {
	l := newLink(&Options{})
	for range outQueue {
		if !l.send("t", nil) {
			t.Fatal("the queue is full too early")
		}
	}
	if l.send("t", nil) {
		t.Error("a full queue took one more")
	}
}

func TestFrame(t *testing.T) {
	var long bytes.Buffer
	m := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	m.TopicName, m.Payload = "t", bytes.Repeat([]byte("x"), 70000)
	if err := m.Write(&long); err != nil {
		t.Fatal(err)
	}
	good := append(append([]byte{0xd0, 0}, long.Bytes()...), 0x90, 3, 0, 1, 1)
	for _, tc := range []struct {
		name string
		data []byte
		want error
	}{
		{"good packets", good, nil},
		{"claims 256 MiB", []byte{0x30, 0xff, 0xff, 0xff, 0x7f}, errPacketSize},
		{"length without end", []byte{0x30, 0x80, 0x80, 0x80, 0x80, 0x01}, errPacketSize},
		{"SUBACK without code", []byte{0x90, 2, 0, 1}, errSuback},
		{"SUBACK with two codes", []byte{0x90, 4, 0, 1, 1, 1}, errSuback},
		{"bad one after good ones", append(bytes.Clone(good), 0x90, 0), errSuback},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, size := range []int{1, 3, len(tc.data)} { // borders of reads are anywhere
				var f frame
				var err error
				for at := 0; at < len(tc.data) && err == nil; at += size {
					err = f.feed(tc.data[at:min(at+size, len(tc.data))])
				}
				if !errors.Is(err, tc.want) {
					t.Errorf("in reads of %d: %v, want %v", size, err, tc.want)
				}
			}
		})
	}
}

func TestParseUp(t *testing.T) {
	for _, tc := range []struct {
		topic, device, kind string
		ok                  bool
	}{
		{"deviceagent/v1/rb-1/up/ack", "rb-1", "ack", true},
		{"deviceagent/v1/rb-1/down/ack", "", "", false},
		{"deviceagent/v1//up/ack", "", "", false},
		{"deviceagent/v1/a/b/up/ack", "", "", false},
		{"deviceagent/v1/rb-1/up/ack/x", "", "", false},
		{"deviceagent/v1/rb-1/up/", "", "", false},
		{"other/v1/rb-1/up/ack", "", "", false},
	} {
		device, kind, ok := parseUp(tc.topic)
		if ok != tc.ok || ok && (device != tc.device || kind != tc.kind) {
			t.Errorf("%s is %q %q %v", tc.topic, device, kind, ok)
		}
	}
}

func TestHubMarksGaps(t *testing.T) {
	h := newHub()
	r := h.subscribe()
	for range streamRing + 10 {
		h.publish(event{Kind: "workflow"})
	}
	for range streamRing {
		<-r.events
	}
	h.publish(event{Kind: "device"})
	if e := <-r.events; e.Kind != "gap" {
		t.Errorf("after lost events came %s, want the gap", e.Kind)
	}
	if e := <-r.events; e.Kind != "device" {
		t.Errorf("after the gap came %s", e.Kind)
	}
	for range streamReaders - 1 {
		h.subscribe()
	}
	if h.subscribe() != nil {
		t.Error("one reader too many was taken")
	}
	h.leave(r)
	if h.subscribe() == nil {
		t.Error("a place that became free was not given")
	}
}

func TestBrokerComesBack(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.turn("rb-1", "go")
	plan := d.next(wire.TypePlan)
	r.cutBroker() // the planner's connection only
	if again := d.next(wire.TypePlan); again.ID != plan.ID {
		t.Errorf("after the reconnect came %s, want %s", again.ID, plan.ID)
	}
	d.say(d.ack(plan, ""))
}

// countedMessage counts its acks.
type countedMessage struct {
	mqtt.Message
	acks int
}

func (m *countedMessage) Ack() { m.acks++ }

func TestAckBelongsToItsConnection(t *testing.T) {
	l, now, before := newLink(&Options{}), &session{}, &session{}
	for _, tc := range []struct {
		of   *session
		acks int
	}{{now, 1}, {before, 0}} { // on another connection the packet id is another message's
		m := &countedMessage{}
		if err := l.write(t.Context(), now, outgoing{ack: &upMessage{raw: m, of: tc.of}}, nil); err != nil || m.acks != tc.acks {
			t.Errorf("%d acks (%v), want %d", m.acks, err, tc.acks)
		}
	}
}

// A broker that answers pings and acknowledges nothing would take 32 messages and then hold all others back for ever.
func TestF40_NoPubackEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after, err := linkRig(t, accept(1, nil), func(l *link) { l.send("deviceagent/v1/rb-1/down/plan", []byte("x")) })
		if after < pubackTimeout || after > pubackTimeout+time.Second || err == nil || !strings.Contains(err.Error(), "no acknowledgement") {
			t.Errorf("ended after %v: %v", after, err)
		}
	})
}
