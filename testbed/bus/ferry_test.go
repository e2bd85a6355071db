package bus_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"go.uber.org/goleak"

	"deviceagent/testbed/bus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	name  = "com.example.Clock"
	path  = godbus.ObjectPath("/com/example/Clock")
	iface = "com.example.Clock1"
)

// inBubble plays in virtual time over a real bus.
func inBubble(t *testing.T, play func(t *testing.T, f *bus.Ferry)) {
	t.Helper()
	d, err := bus.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	f := bus.NewFerry(d)
	synctest.Test(t, func(t *testing.T) {
		defer f.Close()
		play(t, f)
	})
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

func join(t *testing.T, f *bus.Ferry, opts ...godbus.ConnOption) *godbus.Conn {
	t.Helper()
	line, err := f.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := godbus.NewConn(line, opts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Auth(nil), c.Hello()); err != nil {
		t.Fatal(err)
	}
	return c
}

// clock is a service that takes its time.
type clock struct{}

func (clock) Wait(seconds int32) (string, *godbus.Error) {
	time.Sleep(time.Duration(seconds) * time.Second)
	return time.Now().UTC().Format(time.TimeOnly), nil
}

func serve(t *testing.T, c *godbus.Conn) {
	t.Helper()
	if err := c.Export(clock{}, path, iface); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RequestName(name, godbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
}

// order keeps signals in the order of the connection.
type order struct{ ch chan *godbus.Signal }

func (o order) DeliverSignal(_, _ string, s *godbus.Signal) { o.ch <- s }

// TestVirtualTimeOverARealBus: hours pass between question and answer, to the second, and a limit counts in the same time.
func TestVirtualTimeOverARealBus(t *testing.T) {
	inBubble(t, func(t *testing.T, f *bus.Ferry) {
		serves, asks := join(t, f), join(t, f)
		defer serves.Close()
		defer asks.Close()
		serve(t, serves)
		began := time.Now()
		var said string
		if err := asks.Object(name, path).Call(iface+".Wait", 0, int32(7200)).Store(&said); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 2*time.Hour || said != "02:00:00" {
			t.Errorf("%q after %v", said, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began = time.Now()
		if err := asks.Object(name, path).CallWithContext(ctx, iface+".Wait", 0, int32(60)).Err; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call over its limit: %v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the limit of 3s came after %v", took)
		}
		time.Sleep(time.Minute)
	})
}

// TestAllThatFollowsIsHereAtOnce: no time passes between a word and its hearing, whatever way it goes, and the order of words is kept.
func TestAllThatFollowsIsHereAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, f *bus.Ferry) {
		heard := order{make(chan *godbus.Signal, 1000)}
		listens, speaks := join(t, f, godbus.WithSignalHandler(heard)), join(t, f)
		defer listens.Close()
		defer speaks.Close()
		if err := listens.AddMatchSignal(godbus.WithMatchInterface(iface)); err != nil {
			t.Fatal(err)
		}
		if err := listens.AddMatchSignal(godbus.WithMatchMember("NameOwnerChanged"), godbus.WithMatchArg(0, name)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for len(heard.ch) > 0 { // NameAcquired
			<-heard.ch
		}
		serve(t, speaks)
		for i := range 100 {
			if err := speaks.Emit(path, iface+".Tick", int32(i)); err != nil {
				t.Fatal(err)
			}
		}
		speaks.Close()
		synctest.Wait()
		if n := len(heard.ch); n != 102 {
			t.Fatalf("heard %d words at once, want a coming, 100 ticks and a going", n)
		}
		var names []string
		last := int32(-1)
		for range 102 {
			s := <-heard.ch
			names = append(names, s.Name)
			if s.Name == iface+".Tick" {
				if s.Body[0] != last+1 {
					t.Fatalf("after %d came %v", last, s.Body[0])
				}
				last++
			}
		}
		if names[0] != "org.freedesktop.DBus.NameOwnerChanged" || names[101] != names[0] {
			t.Errorf("order %q … %q", names[0], names[101])
		}
	})
}

// TestTheBusIsKilledAndBegunAgain: everybody is cut, nobody comes in meanwhile, and afterwards it is a bus again.
func TestTheBusIsKilledAndBegunAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, f *bus.Ferry) {
		c := join(t, f)
		f.Kill()
		<-c.Context().Done()
		if _, err := f.Dial(t.Context()); err == nil {
			t.Error("a bus that is dead was reached")
		}
		time.Sleep(time.Hour)
		if err := f.Begin(); err != nil {
			t.Fatal(err)
		}
		c = join(t, f)
		defer c.Close()
		serve(t, c)
	})
}

// TestWhoBreaksTheProtocolIsCut: the daemon closes the connection of such a program, and the others go on.
func TestWhoBreaksTheProtocolIsCut(t *testing.T) {
	inBubble(t, func(t *testing.T, f *bus.Ferry) {
		good := join(t, f)
		defer good.Close()
		bad, err := f.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() {
			_, err := io.ReadAll(bad)
			read <- err
		}()
		for _, text := range []string{"\x00AUTH\r\n", "AUTH EXTERNAL\r\n", "DATA\r\n", "BEGIN\r\n", "l\x07\x00\x09\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"} {
			_, _ = bad.Write([]byte(text))
		}
		if err := <-read; err != nil {
			t.Error(err)
		}
		if _, err := bad.Write([]byte("x")); err == nil {
			t.Error("a closed connection took words")
		}
		serve(t, good)
	})
}
