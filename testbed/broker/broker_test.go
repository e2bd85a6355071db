package broker

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is a plain paho client over the broker's own dialler.
func client(b *Broker, id string, change func(*mqtt.ClientOptions)) mqtt.Client {
	o := recorderOptions(b, id)
	o.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) { return b.Dial(context.Background()) })
	o.SetKeepAlive(30 * time.Second)
	o.SetPingTimeout(10 * time.Second)
	o.SetWriteTimeout(10 * time.Second)
	o.SetCleanSession(false)
	if change != nil {
		change(o)
	}
	return mqtt.NewClient(o)
}

func TestMessagesFlowInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		defer b.Close()
		witness := b.Subscribe("a/#")
		c := client(b, "one", nil)
		must("connect", c.Connect())
		start := time.Now()
		for i := range 100 {
			must("publish", c.Publish("a/b", 1, false, fmt.Sprint(i)))
		}
		synctest.Wait()
		if n := witness.Len(); n != 100 {
			t.Fatalf("the witness got %d messages, want 100", n)
		}
		if d := time.Since(start); d != 0 {
			t.Fatalf("the traffic took %v of virtual time, want none", d)
		}
		time.Sleep(24 * time.Hour) // keepalive works for a day
		if !c.IsConnectionOpen() {
			t.Fatal("the idle connection was lost")
		}
		if n := b.Published("one"); n != 100 {
			t.Fatalf("the broker counted %d publishes, want 100", n)
		}
		c.Disconnect(100)
	})
}

// Sixty days of an idle broker must cost nothing: long outages are ordinary scenarios.
func TestIdleTimeIsFree(t *testing.T) {
	began := time.Now()
	synctest.Test(t, func(*testing.T) {
		b := New()
		defer b.Close()
		time.Sleep(60 * 24 * time.Hour)
	})
	if d := time.Since(began); d > 5*time.Second {
		t.Fatalf("sixty idle days took %v of real time", d)
	}
}

func TestHalfOpenLosesTheConnectionOnBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		defer b.Close()
		witness := b.Subscribe("will")
		lost := make(chan time.Time, 1)
		c := client(b, "one", func(o *mqtt.ClientOptions) {
			o.SetWill("will", "gone", 1, false)
			o.SetConnectionLostHandler(func(mqtt.Client, error) { lost <- time.Now() })
		})
		must("connect", c.Connect())
		start := time.Now()
		b.StallUp("one", true)
		b.StallDown("one", true)
		if d := (<-lost).Sub(start); d > 50*time.Second {
			t.Fatalf("the client noticed after %v, want at most 50s", d)
		}
		if !witness.Wait(1, time.Minute) {
			t.Fatal("the broker never sent the will")
		}
	})
}

func TestSessionKeepsMessagesWhileTheClientIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		defer b.Close()
		got := make(chan string, 10)
		take := func(_ mqtt.Client, m mqtt.Message) { got <- string(m.Payload()) }
		first := client(b, "one", nil)
		must("connect", first.Connect())
		must("subscribe", first.Subscribe("d", 1, take))
		b.Cut("one")
		synctest.Wait()
		if err := b.Publish("d", []byte("later"), false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * 24 * time.Hour)
		second := client(b, "one", func(o *mqtt.ClientOptions) { o.SetDefaultPublishHandler(take) })
		must("connect", second.Connect())
		if text := <-got; text != "later" {
			t.Fatalf("got %q after a week, want %q", text, "later")
		}
		second.Disconnect(100)
	})
}

func TestFaults(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func(t *testing.T, b *Broker, c mqtt.Client, witness *Recorder)
	}{
		{"dropped publishes are acknowledged", func(t *testing.T, b *Broker, c mqtt.Client, witness *Recorder) {
			b.Drop(func(_, topic string) bool { return topic == "x" })
			must("publish", c.Publish("x", 1, false, "1"))
			must("publish", c.Publish("y", 1, false, "2"))
			synctest.Wait()
			if n := witness.Len(); n != 1 {
				t.Fatalf("%d messages arrived, want 1", n)
			}
		}},
		{"swallowed publishes are not acknowledged", func(t *testing.T, b *Broker, c mqtt.Client, witness *Recorder) {
			b.Swallow(func(_, topic string) bool { return topic == "x" })
			if c.Publish("x", 1, false, "1").WaitTimeout(time.Hour) {
				t.Fatal("a swallowed publish was acknowledged")
			}
			must("publish", c.Publish("y", 1, false, "2"))
			synctest.Wait()
			if n := witness.Len(); n != 1 {
				t.Fatalf("%d messages arrived, want 1", n)
			}
		}},
		{"a stalled answer leaves the publish unacknowledged", func(t *testing.T, b *Broker, c mqtt.Client, witness *Recorder) {
			b.StallDown("one", true)
			token := c.Publish("x", 1, false, "1")
			if token.WaitTimeout(5 * time.Second) {
				t.Fatal("the PUBACK came through a stalled line")
			}
			if n := witness.Len(); n != 1 {
				t.Fatalf("%d messages arrived, want 1", n)
			}
			b.StallDown("one", false)
			must("publish", token)
		}},
		{"a slow line delays", func(t *testing.T, b *Broker, c mqtt.Client, _ *Recorder) {
			b.Slow("one", 2*time.Second)
			start := time.Now()
			must("publish", c.Publish("x", 1, false, "1"))
			if d := time.Since(start); d != 4*time.Second {
				t.Fatalf("the publish took %v, want 4s", d)
			}
		}},
		{"a denied filter is refused", func(t *testing.T, b *Broker, c mqtt.Client, _ *Recorder) {
			b.Deny(func(id, _ string) bool { return id == "one" })
			token := c.Subscribe("z", 1, nil)
			must("subscribe", token)
			if code := token.(*mqtt.SubscribeToken).Result()["z"]; code != 0x80 {
				t.Fatalf("code %#x, want 0x80", code)
			}
		}},
		{"down refuses and cuts", func(t *testing.T, b *Broker, c mqtt.Client, witness *Recorder) {
			b.SetDown(true)
			synctest.Wait()
			if c.IsConnectionOpen() {
				t.Fatal("the connection survived")
			}
			if _, err := b.Dial(t.Context()); err != ErrDown {
				t.Fatalf("dial gave %v, want ErrDown", err)
			}
			if err := b.Publish("x", []byte("1"), false); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); witness.Len() != 1 {
				t.Fatal("the witness was cut too")
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New()
				defer b.Close()
				witness := b.Subscribe("#")
				c := client(b, "one", nil)
				must("connect", c.Connect())
				tc.run(t, b, c, witness)
				c.Disconnect(100)
			})
		})
	}
}

func TestListenServesRealSockets(t *testing.T) {
	b := New()
	defer b.Close()
	addr, err := b.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	witness := b.Subscribe("x")
	c := client(b, "one", func(o *mqtt.ClientOptions) {
		o.SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(context.Background(), "tcp", addr)
		})
	})
	must("connect", c.Connect())
	must("publish", c.Publish("x", 1, false, "1"))
	if !witness.Wait(1, 10*time.Second) {
		t.Fatal("the message did not arrive")
	}
	c.Disconnect(100)
}
