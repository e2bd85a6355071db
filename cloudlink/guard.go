package cloudlink

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// packetCap is the largest MQTT packet that is read. The client library allocates what the header of a packet claims: without
// this bound five bytes cost 256 MiB. It leaves room above the contract's message limit so that a message that is too large can
// be answered with a refusal. Bytes.
const packetCap = 4 << 20

// fault is an end of the connection that has a name.
type fault struct {
	reason Reason
	err    error
}

func (f *fault) Error() string { return string(f.reason) + ": " + f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// guard is the connection as the client library sees it. It checks what comes in before the library trusts it, bounds each write,
// and remembers why the connection ended.
type guard struct {
	net.Conn
	patience time.Duration // of a write

	in     *bufio.Reader // the library reads headers byte by byte
	scan   packetScan
	writer chan struct{} // one writer at a time; a channel, so that a waiting writer does not stop virtual time
	ended  chan struct{}
	once   sync.Once
	mu     sync.Mutex
	cause  *fault      // why it ended, if not by the library's own Close
	reads  atomic.Bool // the library has begun to read
}

func newGuard(conn net.Conn, patience time.Duration) *guard {
	return &guard{Conn: conn, patience: patience, in: bufio.NewReader(conn), writer: make(chan struct{}, 1), ended: make(chan struct{})}
}

// errEnded replaces the standard library's text for a closed connection: the client library looks for that text and then keeps
// the loss to itself.
var errEnded = errors.New("connection ended")

// Read passes on what the peer sent, up to the first byte that would do harm.
func (g *guard) Read(p []byte) (int, error) {
	g.reads.Store(true)
	n, err := g.in.Read(p)
	if n > 0 {
		if f := g.scan.feed(p[:n]); f != nil {
			g.fail(f)
			return 0, f
		}
		return n, nil
	}
	if err == nil {
		return 0, nil
	}
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
		return 0, errEnded
	}
	g.fail(&fault{ReasonClosed, err})
	return 0, err
}

// Write writes one packet within the write time-out. A write that failed ends the connection: half a packet may be out.
func (g *guard) Write(p []byte) (int, error) {
	select {
	case g.writer <- struct{}{}:
		defer func() { <-g.writer }()
	case <-g.ended:
		return 0, errEnded
	}
	_ = g.Conn.SetWriteDeadline(time.Now().Add(g.patience))
	n, err := g.Conn.Write(p)
	if err == nil {
		_ = g.Conn.SetWriteDeadline(time.Time{})
		return n, nil
	}
	if errors.Is(err, net.ErrClosed) {
		err = errEnded
	} else if !g.reads.Load() && !errors.Is(err, os.ErrDeadlineExceeded) { // who hangs says nothing either
		err = g.lastWords(err)
	}
	g.fail(&fault{ReasonWrite, err})
	return n, err
}

// lastWords is what the peer had said when the first write failed, if it says more than the write's own error: in TLS 1.3 a broker
// that does not like our certificate says so after the handshake and closes, and our CONNECT may come upon that. Nobody reads yet.
func (g *guard) lastWords(err error) error {
	_ = g.Conn.SetReadDeadline(time.Now().Add(time.Second))
	if _, said := g.Conn.Read(make([]byte, 1)); alerted(said) {
		return said
	}
	return err
}

// SetDeadline bounds reading only: writes have a bound of their own, which the library would take away.
func (g *guard) SetDeadline(t time.Time) error { return g.SetReadDeadline(t) }

// SetWriteDeadline does nothing, see SetDeadline.
func (g *guard) SetWriteDeadline(time.Time) error { return nil }

// Close ends the connection without a reason of our own.
func (g *guard) Close() error {
	var err error
	g.once.Do(func() {
		close(g.ended)
		err = g.Conn.Close()
	})
	return err
}

// fail ends the connection and keeps the first reason.
func (g *guard) fail(f *fault) {
	g.mu.Lock()
	if g.cause == nil {
		select {
		case <-g.ended: // the library closed it first
		default:
			g.cause = f
		}
	}
	g.mu.Unlock()
	_ = g.Close()
}

// why is the reason of the end, or nil if the library ended the connection itself: that it does for a missing pong only.
func (g *guard) why() *fault {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

// packetScan follows the packets in a byte stream.
type packetScan struct {
	kind   byte // packet type of the packet under way
	shift  uint // of the next length byte
	length int  // remaining length, as far as it is read
	inBody bool
	left   int // bytes of the body to come
}

// fixedLength holds the packets that a 3.1.1 broker sends with one length only. A SUBACK answers our one filter: the library
// indexes by the broker's count and panics on more.
var fixedLength = map[byte]int{2: 2, 4: 2, 5: 2, 6: 2, 7: 2, 9: 3, 11: 2, 13: 0}

// feed looks at the next bytes and returns a fault for the first one that must not reach the library.
func (s *packetScan) feed(p []byte) *fault {
	for len(p) > 0 {
		if s.inBody {
			n := min(s.left, len(p))
			s.left -= n
			p = p[n:]
			if s.left == 0 {
				*s = packetScan{}
			}
			continue
		}
		if f := s.header(p[0]); f != nil {
			return f
		}
		p = p[1:]
	}
	return nil
}

func (s *packetScan) header(b byte) *fault {
	if s.kind == 0 {
		s.kind = b >> 4
		if s.kind == 0 || s.kind == 15 {
			return &fault{ReasonProtocol, fmt.Errorf("packet type %d does not exist", s.kind)}
		}
		return nil
	}
	s.length |= int(b&0x7f) << s.shift
	s.shift += 7
	if s.length > packetCap {
		return &fault{ReasonOversize, fmt.Errorf("a packet of at least %d bytes, at most %d are read", s.length, packetCap)}
	}
	if b&0x80 != 0 {
		if s.shift > 21 {
			return &fault{ReasonProtocol, errors.New("the length of a packet has more than 4 bytes")}
		}
		return nil
	}
	if want, ok := fixedLength[s.kind]; ok && s.length != want {
		return &fault{ReasonProtocol, fmt.Errorf("packet type %d with %d bytes, must be %d", s.kind, s.length, want)}
	}
	s.inBody, s.left = true, s.length
	if s.left == 0 {
		*s = packetScan{}
	}
	return nil
}
