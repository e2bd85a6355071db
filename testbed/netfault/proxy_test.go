package netfault

import (
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/testbed/mosquitto"
)

// lab is a real broker, a proxy before it, and somebody beside it who sees and says what is so.
type lab struct {
	t      *testing.T
	p      *Proxy
	broker *mosquitto.Broker
	beside mqtt.Client

	mu   sync.Mutex
	seen []string // at the broker, on up
	got  []string // at the client, on down; "!" behind what was marked as kept
}

func newLab(t *testing.T) *lab {
	t.Helper()
	b, err := mosquitto.Start(t.TempDir(), func(port string) string {
		return "listener " + port + " 127.0.0.1\nallow_anonymous true\npersistence false\n"
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Kill)
	p, err := Start(b.Addr, Options{Delay: 300 * time.Millisecond, Rate: 200})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	l := &lab{t: t, p: p, broker: b}
	l.beside = l.connect(b.Addr, "beside", true)
	done(t, l.beside.Subscribe("up", 1, func(_ mqtt.Client, m mqtt.Message) { l.note(&l.seen, string(m.Payload())) }))
	return l
}

func (l *lab) note(list *[]string, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*list = append(*list, text)
}

func (l *lab) connect(addr, id string, clean bool) mqtt.Client {
	l.t.Helper()
	c := mqtt.NewClient(options(addr, id, clean))
	done(l.t, c.Connect())
	return c
}

func options(addr, id string, clean bool) *mqtt.ClientOptions {
	return mqtt.NewClientOptions().AddBroker("tcp://" + addr).SetClientID(id).SetCleanSession(clean).SetAutoReconnect(false).SetProtocolVersion(4).SetConnectTimeout(2 * time.Second)
}

// client is one behind the proxy, and a channel that is closed when it has lost its connection.
func (l *lab) client() (mqtt.Client, chan struct{}) {
	l.t.Helper()
	lost := make(chan struct{})
	c := mqtt.NewClient(options(l.p.Addr(), "c-"+rand.Text()[:6], true).SetConnectionLostHandler(func(mqtt.Client, error) { close(lost) }))
	done(l.t, c.Connect())
	done(l.t, c.Subscribe("down", 1, func(_ mqtt.Client, m mqtt.Message) {
		text := string(m.Payload())
		if m.Retained() {
			text += "!"
		}
		l.note(&l.got, text)
	}))
	return c, lost
}

func done(t *testing.T, token mqtt.Token) {
	t.Helper()
	if !token.WaitTimeout(20 * time.Second) {
		t.Fatal("no answer")
	}
	if err := token.Error(); err != nil {
		t.Fatal(err)
	}
}

// until waits for a list to be as wanted.
func (l *lab) until(list *[]string, want ...string) {
	l.t.Helper()
	var now []string
	for range 2000 {
		l.mu.Lock()
		now = slices.Clone(*list)
		l.mu.Unlock()
		if slices.Equal(now, want) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.t.Fatalf("got %v, want %v", now, want)
}

func (l *lab) struck(f Fault, n int) {
	l.t.Helper()
	for range 2000 {
		if l.p.Counts()[f] == n {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.t.Fatalf("%s has struck %d times, want %d", f, l.p.Counts()[f], n)
}

func ends(t *testing.T, lost chan struct{}) {
	t.Helper()
	select {
	case <-lost:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection goes on")
	}
}

// Each fault of the line strikes, is counted, and the line is good again behind it.
func TestFaultsOfTheLine(t *testing.T) {
	for _, f := range []Fault{Cut, CutShort, GarbleDn} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			c, lost := l.client()
			l.p.Strike(f, 1)
			if f != Cut {
				for range 40 { // a bit that is flipped in a text is seen by nobody here; one in a header ends the connection
					c.Publish("up", 1, false, "x")
				}
			}
			l.struck(f, 1)
			if f != GarbleDn {
				ends(t, lost)
			}
			again, _ := l.client()
			done(t, again.Publish("up", 1, false, "again"))
			again.Disconnect(0)
			c.Disconnect(0)
		})
	}
	t.Run("half open", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		c, lost := l.client()
		l.p.Strike(HalfOpen, 1)
		l.struck(HalfOpen, 1)
		if c.Publish("up", 1, false, "x").WaitTimeout(500 * time.Millisecond) {
			t.Error("acknowledged")
		}
		select {
		case <-lost:
			t.Error("the client was told")
		default:
		}
		other, _ := l.client()
		done(t, other.Publish("up", 1, false, "works"))
		l.until(&l.seen, "works")
		other.Disconnect(0)
		c.Disconnect(0)
	})
	t.Run("refused and mute", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		for _, f := range []Fault{Refuse, Mute} {
			l.p.Strike(f, 1)
			c := mqtt.NewClient(options(l.p.Addr(), "x", true).SetConnectTimeout(time.Second))
			token := c.Connect()
			if token.WaitTimeout(15*time.Second) && token.Error() == nil {
				t.Errorf("%s: connected", f)
			}
			l.struck(f, 1)
		}
		c, _ := l.client()
		c.Disconnect(0)
	})
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		c, _ := l.client()
		for _, f := range []Fault{Delay, Throttle} {
			before := l.p.Counts()[f]
			l.p.Strike(f, Always)
			began := time.Now()
			done(t, c.Publish("up", 1, false, strings.Repeat("x", 60)))
			if took := time.Since(began); took < 300*time.Millisecond {
				t.Errorf("%s: took %v", f, took)
			}
			l.p.End(f)
			if l.p.Counts()[f] == before {
				t.Errorf("%s was not counted", f)
			}
		}
		l.p.Strike(Split, Always)
		done(t, c.Publish("up", 1, false, "bytes"))
		c.Disconnect(0)
	})
}

// Each lie of a broker strikes once.
func TestLiesOfABroker(t *testing.T) {
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		c, _ := l.client()
		l.p.Strike(DropUp, 1)
		done(t, c.Publish("up", 1, false, "lost"))
		l.p.Strike(NoPuback, 1) // before the message that the broker acknowledges twice: one of the two would be held back instead
		if c.Publish("up", 1, false, "unheard").WaitTimeout(500 * time.Millisecond) {
			t.Error("acknowledged")
		}
		l.until(&l.seen, "unheard")
		l.p.Strike(DoubleUp, 1)
		done(t, c.Publish("up", 1, false, "twice"))
		l.until(&l.seen, "unheard", "twice", "twice")
		for f, n := range map[Fault]int{DropUp: 1, DoubleUp: 1, NoPuback: 1} {
			l.struck(f, n)
		}
		c.Disconnect(0)
	})
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		c, _ := l.client()
		say := func(text string) { done(t, l.beside.Publish("down", 1, false, text)) }
		l.p.Strike(DropDown, 1)
		say("a")
		say("b")
		l.until(&l.got, "b")
		l.p.Strike(DoubleDown, 1)
		say("c")
		l.until(&l.got, "b", "c", "c")
		l.p.Strike(Reorder, 1)
		say("d")
		say("e")
		l.until(&l.got, "b", "c", "c", "e", "d")
		l.p.Strike(Reorder, 1)
		say("f") // nothing is behind it
		l.until(&l.got, "b", "c", "c", "e", "d", "f")
		l.p.Strike(Replay, 1)
		l.p.Strike(ReplayKept, 1)
		say("g")
		l.struck(Replay, 1)
		l.struck(ReplayKept, 1)
		for range 2000 {
			l.mu.Lock()
			n := len(l.got)
			l.mu.Unlock()
			if n == 9 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		l.mu.Lock()
		got := fmt.Sprint(l.got[6:])
		l.mu.Unlock()
		if !strings.HasPrefix(got, "[g ") || !strings.HasSuffix(got, "!]") {
			t.Errorf("replayed %v", got)
		}
		say("h")
		c.Disconnect(0)
	})
	t.Run("sessions", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		keep := func() mqtt.Client { return l.connect(l.p.Addr(), "keeps", false) }
		c := keep()
		done(t, c.Subscribe("down", 1, nil))
		c.Disconnect(0)
		present := func() bool {
			o := options(l.p.Addr(), "keeps", false).SetDefaultPublishHandler(func(mqtt.Client, mqtt.Message) {})
			c := mqtt.NewClient(o)
			token := c.Connect().(*mqtt.ConnectToken)
			done(t, token)
			c.Disconnect(0)
			return token.SessionPresent()
		}
		if !present() {
			t.Fatal("the broker has no session")
		}
		l.p.Strike(LoseSession, 1)
		if present() {
			t.Error("the session was not lost")
		}
		l.p.Strike(BadSuback, 1)
		d := keep()
		token := d.Subscribe("down", 1, nil).(*mqtt.SubscribeToken)
		done(t, token)
		if token.Result()["down"] != 0x80 {
			t.Errorf("granted %v", token.Result())
		}
		d.Disconnect(0)
		l.struck(LoseSession, 1)
		l.struck(BadSuback, 1)
	})
	t.Run("ends", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.p.Strike(Kick, 1)
		lost := make(chan struct{})
		c := mqtt.NewClient(options(l.p.Addr(), "kicked", true).SetConnectionLostHandler(func(mqtt.Client, error) { close(lost) }))
		done(t, c.Connect())
		ends(t, lost)
		l.struck(Kick, 1)
		raw, err := net.Dial("tcp", l.p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.Close()
	})
}
