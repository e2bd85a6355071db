package cloudlink

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"
)

// replay is a connection that says what it is given and then ends.
type replay struct {
	net.Conn
	in io.Reader
}

func (r replay) Read(p []byte) (int, error) { return r.in.Read(p) }
func (r replay) Close() error               { return nil }

// Whatever a peer sends, the library's reader behind the guard neither panics nor allocates more than the cap, and the codes of a
// SUBACK fit the one filter that is ever asked for.
func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"\x20\x02\x00\x00", "\x30\xff\xff\xff\x7f", "\x90\x05\x00\x01\x01\x01\x01", "\x90\x03\x00\x01\x01",
		"\x32\x09\x00\x03a/b\x00\x01hi", "\xd0\x00", "\x40\x02\x00\x01", "\x30\x80\x80\x80\x80\x01", "\xe0\x00", "\x32\x02\x00\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g := newGuard(replay{in: bytes.NewReader(data)}, writeTimeout)
		for {
			p, err := packets.ReadPacket(g)
			if err != nil {
				return
			}
			if s, ok := p.(*packets.SubackPacket); ok && len(s.ReturnCodes) != 1 {
				t.Fatalf("a SUBACK with %d codes came through", len(s.ReturnCodes))
			}
		}
	})
}

func TestGuardCapsBeforeTheLibraryAllocates(t *testing.T) {
	just := []byte{0x30, 0x80, 0x80, 0x80, 0x02} // exactly 4 MiB
	over := []byte{0x30, 0x81, 0x80, 0x80, 0x02} // one byte more
	for _, tc := range []struct {
		name string
		data []byte
		want bool
	}{{"the cap itself", just, true}, {"one byte over it", over, false}} {
		t.Run(tc.name, func(t *testing.T) {
			var s packetScan
			if f := s.feed(tc.data); (f == nil) != tc.want {
				t.Fatalf("fault %v, want accepted=%v", f, tc.want)
			}
		})
	}
}

func TestEachWriteHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer func() { _ = far.Close() }()
		g := newGuard(near, writeTimeout)
		second := make(chan error, 1)
		start := time.Now()
		go func() { // waits for its turn, then learns that the connection has ended
			time.Sleep(time.Second)
			_, err := g.Write([]byte("ping"))
			second <- err
		}()
		_ = g.SetWriteDeadline(time.Time{}) // as the library does between packets
		if _, err := g.Write([]byte("packet")); err == nil {
			t.Fatal("a write to a peer that hangs returned")
		}
		if err := <-second; err == nil {
			t.Fatal("a write after the end returned without error")
		}
		if d := time.Since(start); d != writeTimeout {
			t.Fatalf("the writes took %v, want %v", d, writeTimeout)
		}
		if f := g.why(); f == nil || f.reason != ReasonWrite {
			t.Fatalf("the end is %v, want %s", f, ReasonWrite)
		}
	})
}

// The client library keeps a loss to itself if its error has the standard text for a closed connection.
func TestEndHasNoTextThatTheLibrarySwallows(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(conn, writeTimeout)
	g.fail(&fault{ReasonReceive, io.EOF})
	for name, err := range map[string]error{
		"read":  func() error { _, err := g.Read(make([]byte, 1)); return err }(),
		"write": func() error { _, err := g.Write([]byte{1}); return err }(),
	} {
		if err != errEnded {
			t.Errorf("%s after the end gave %v", name, err)
		}
	}
}
