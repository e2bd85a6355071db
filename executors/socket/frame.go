package socket

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Protocol is the version that a program names when it registers.
const Protocol = 1

// The limits of the protocol, in bytes and time. They are enforced before anything is decoded or allocated for.
const (
	MaxFrame     = 256 << 10        // one frame, without its length
	MaxEvent     = 16 << 10         // event, progress and context: what a program sends unasked and often
	RegisterTime = 5 * time.Second  // from connect to a complete register frame
	WriteTime    = 10 * time.Second // one write; a peer that does not read that long is cut off
	maxPending   = 1 << 20          // frames that wait for one connection, each way
	lengthBytes  = 4
)

// Kind names a frame.
type Kind string

// What the agent sends.
const (
	KindRegistered Kind = "registered"
	KindDispatch   Kind = "dispatch"
	KindQuery      Kind = "query"
	KindCancel     Kind = "cancel"
	KindPause      Kind = "pause"
	KindResume     Kind = "resume"
	KindRead       Kind = "read"
	KindClose      Kind = "close" // the last frame: why the connection ends
)

// What a program sends. The first three answer a call and carry its number, the others carry 0.
const (
	KindAnswer   Kind = "answer"
	KindStatus   Kind = "status"
	KindValues   Kind = "values"
	KindRegister Kind = "register"
	KindProgress Kind = "progress"
	KindResult   Kind = "result"
	KindEvent    Kind = "event"
	KindContext  Kind = "context"
	KindPaused   Kind = "paused"  // a task rests, and can go on
	KindResumed  Kind = "resumed" // it goes on
)

// frame is one message as it lies in the reader's buffer: Body is CBOR, valid until the next frame is read.
type frame struct {
	Kind Kind
	Call uint64
	Body []byte
}

// errBadFrame marks what the peer got wrong, in contrast to a broken connection.
var errBadFrame = errors.New("bad frame")

func badFrame(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBadFrame, fmt.Sprintf(format, args...))
}

// frameReader reads frames off a connection through one buffer.
type frameReader struct {
	in  *bufio.Reader
	buf []byte
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next frame. io.EOF means that the peer closed between two frames.
func (r *frameReader) next() (frame, error) {
	var head [lengthBytes]byte
	if _, err := io.ReadFull(r.in, head[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > MaxFrame {
		return frame{}, badFrame("length %d is outside 1 to %d", n, MaxFrame)
	}
	if cap(r.buf) < int(n) {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
	if _, err := io.ReadFull(r.in, r.buf); err != nil {
		return frame{}, fmt.Errorf("cannot read a frame of %d bytes: %w", n, err)
	}
	return parseFrame(r.buf)
}

// parseFrame splits the array [kind, call, body] by hand, so that the body is decoded once and into the right struct.
func parseFrame(payload []byte) (frame, error) {
	if len(payload) < 4 || payload[0] != 0x83 {
		return frame{}, badFrame("not an array of three: kind, call, body")
	}
	n := int(payload[1]) - 0x60
	if n < 1 || n > 23 || len(payload) < 2+n+2 {
		return frame{}, badFrame("kind is not a text of 1 to 23 bytes")
	}
	kind := kindOf(payload[2 : 2+n])
	if kind == "" {
		return frame{}, badFrame("kind %q is not known", payload[2:2+n])
	}
	call, body, ok := parseUint(payload[2+n:])
	if !ok {
		return frame{}, badFrame("call of %s is not an unsigned integer", kind)
	}
	if isUnasked(kind) && len(payload) > MaxEvent {
		return frame{}, badFrame("%s of %d bytes is over %d", kind, len(payload), MaxEvent)
	}
	return frame{Kind: kind, Call: call, Body: body}, nil
}

var kinds = map[string]Kind{}

func init() {
	for _, k := range []Kind{KindRegistered, KindDispatch, KindQuery, KindCancel, KindPause, KindResume, KindRead, KindClose,
		KindAnswer, KindStatus, KindValues, KindRegister, KindProgress, KindResult, KindEvent, KindContext, KindPaused, KindResumed} {
		kinds[string(k)] = k
	}
}

func kindOf(text []byte) Kind { return kinds[string(text)] }

func isUnasked(k Kind) bool {
	return k == KindEvent || k == KindProgress || k == KindContext || k == KindPaused || k == KindResumed
}

// parseUint reads one CBOR unsigned integer and returns what follows.
func parseUint(b []byte) (uint64, []byte, bool) {
	if len(b) == 0 || b[0] > 0x1b {
		return 0, nil, false
	}
	if b[0] < 0x18 {
		return uint64(b[0]), b[1:], true
	}
	width := 1 << (b[0] - 0x18)
	if len(b) < 1+width {
		return 0, nil, false
	}
	var v uint64
	for _, c := range b[1 : 1+width] {
		v = v<<8 | uint64(c)
	}
	return v, b[1+width:], true
}

func appendUint(dst []byte, v uint64) []byte {
	switch {
	case v < 0x18:
		return append(dst, byte(v))
	case v <= 0xff:
		return append(dst, 0x18, byte(v))
	case v <= 0xffff:
		return binary.BigEndian.AppendUint16(append(dst, 0x19), uint16(v))
	case v <= 0xffffffff:
		return binary.BigEndian.AppendUint32(append(dst, 0x1a), uint32(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0x1b), v)
}

// scratch holds buffers in which frames are encoded before they join a connection's pending bytes.
var scratch = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// encodeFrame writes one frame with its length into buf. An error leaves buf unusable for sending.
func encodeFrame(buf *bytes.Buffer, kind Kind, call uint64, body any) error {
	var head [lengthBytes + 2 + 24 + 9]byte
	h := append(head[:lengthBytes], 0x83, 0x60|byte(len(kind)))
	h = append(h, kind...)
	buf.Write(appendUint(h, call))
	if err := encMode.MarshalToBuffer(body, buf); err != nil {
		return fmt.Errorf("cannot encode %s: %w", kind, err)
	}
	n, limit := buf.Len()-lengthBytes, MaxFrame
	if isUnasked(kind) {
		limit = MaxEvent
	}
	if n > limit {
		return fmt.Errorf("cannot send %s: %d bytes, at most %d", kind, n, limit)
	}
	binary.BigEndian.PutUint32(buf.Bytes(), uint32(n))
	return nil
}
