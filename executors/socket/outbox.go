package socket

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"time"
)

var (
	errFull   = errors.New("the peer does not read: its queue is full")
	errClosed = errors.New("connection closed")
)

// outbox gathers the frames that wait for one connection; its writer sends all of them in one write. A number counts the bytes
// that were ever put, so that a call knows whether its frame was handed to a write when the connection broke.
type outbox struct {
	mu         sync.Mutex
	work, room sync.Cond
	buf, spare []byte
	put        uint64
	handed     uint64
	closing    bool // send what waits, then end
	err        error
}

func newOutbox() *outbox {
	o := &outbox{}
	o.work.L, o.room.L = &o.mu, &o.mu
	return o
}

// send queues one frame and returns its first byte's number. When the queue is full it waits for room, or answers [errFull].
func (o *outbox) send(kind Kind, call uint64, body any, wait bool) (uint64, error) {
	buf := scratch.Get().(*bytes.Buffer)
	defer scratch.Put(buf)
	buf.Reset()
	if err := encodeFrame(buf, kind, call, body); err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for wait && len(o.buf) >= maxPending && o.err == nil && !o.closing {
		o.room.Wait()
	}
	switch {
	case o.err != nil:
		return 0, o.err
	case o.closing:
		return 0, errClosed
	case len(o.buf) >= maxPending:
		return 0, errFull
	}
	at := o.put
	o.buf = append(o.buf, buf.Bytes()...)
	o.put += uint64(buf.Len())
	o.work.Signal()
	return at, nil
}

// wasHanded reports whether the frame that began at this number was part of a write, whole or in part.
func (o *outbox) wasHanded(at uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return at < o.handed
}

// finish lets the writer send what waits and end.
func (o *outbox) finish() { o.end(func() { o.closing = true }) }

// fail ends the writer and wakes everybody who waits for room.
func (o *outbox) fail(err error) {
	o.end(func() {
		if o.err == nil {
			o.err = err
		}
	})
}

func (o *outbox) end(set func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	set()
	o.work.Broadcast()
	o.room.Broadcast()
}

// take waits for frames and hands them all over. ok is false when nothing will follow.
func (o *outbox) take() (b []byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) == 0 && !o.closing && o.err == nil {
		o.work.Wait()
	}
	if o.err != nil || len(o.buf) == 0 {
		return nil, false
	}
	b, o.buf, o.spare = o.buf, o.spare, nil
	o.handed = o.put
	o.room.Broadcast()
	return b, true
}

func (o *outbox) giveBack(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spare = b[:0]
}

// writeTo sends until the outbox ends; its error is why.
func (o *outbox) writeTo(conn net.Conn) error {
	for {
		b, ok := o.take()
		if !ok {
			return errClosed
		}
		if err := conn.SetWriteDeadline(time.Now().Add(WriteTime)); err != nil {
			return err
		}
		if _, err := conn.Write(b); err != nil {
			return err
		}
		o.giveBack(b)
	}
}
