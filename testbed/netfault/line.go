package netfault

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// way is a direction.
type way int

const (
	up   way = iota // from the client to the broker
	down            // from the broker to the client
)

// line is one connection of a client.
type line struct {
	p              *Proxy
	client, broker *net.TCPConn
	frozen, muted  atomic.Bool // nothing is passed on any more
	once           sync.Once
	over           chan struct{}

	mu   sync.Mutex // of what is written to the client, and of the fields below
	held []byte     // a message down that waits for the one behind it
	ours map[uint16]bool
	next uint16 // of the ids of messages that we make

	toBroker sync.Mutex
}

func (l *line) end() {
	l.once.Do(func() {
		close(l.over)
		_ = l.client.Close()
		_ = l.broker.Close()
	})
}

// reset ends the line so that both sides see an error. The broker sends the last will.
func (l *line) reset() {
	_ = l.client.SetLinger(0)
	_ = l.broker.SetLinger(0)
	l.end()
}

// largest bounds a packet that is read. Bytes.
const largest = 8 << 20

func (l *line) pump(from net.Conn, w way) {
	defer l.lost(w)
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		chunk, err := l.read(in)
		if err != nil {
			return
		}
		if l.frozen.Load() || l.muted.Load() {
			continue
		}
		if l.p.opt.Raw {
			err = l.pass(chunk, w)
		} else {
			err = l.packet(chunk, w)
		}
		if err != nil {
			l.reset()
			return
		}
	}
}

// lost: one end of the line is gone. Who is frozen or mute does not say so.
func (l *line) lost(w way) {
	if w == down && (l.frozen.Load() || l.muted.Load()) {
		<-l.over
	}
	l.end()
}

// read takes what comes: a packet, or in a stream that is not ours to read, whatever is there.
func (l *line) read(in *bufio.Reader) ([]byte, error) {
	if l.p.opt.Raw {
		buf := make([]byte, 32<<10)
		n, err := in.Read(buf)
		return buf[:n], err
	}
	head := make([]byte, 0, 5)
	size, shift := 0, 0
	for {
		b, err := in.ReadByte()
		if err != nil {
			return nil, err
		}
		if head = append(head, b); len(head) == 1 {
			continue
		}
		size |= int(b&0x7f) << shift
		if shift += 7; b&0x80 == 0 {
			break
		}
		if shift > 21 {
			return nil, errors.New("no MQTT")
		}
	}
	if size > largest {
		return nil, errors.New("packet too large")
	}
	packet := make([]byte, len(head)+size)
	copy(packet, head)
	_, err := io.ReadFull(in, packet[len(head):])
	return packet, err
}

// pass writes to the other side, with the faults of the line.
func (l *line) pass(b []byte, w way) error {
	p := l.p
	if p.take(Delay) {
		l.wait(p.opt.Delay)
	}
	if p.take(Throttle) {
		l.wait(time.Duration(len(b)) * time.Second / time.Duration(p.opt.Rate))
	}
	if w == up && p.take(GarbleUp) || w == down && p.take(GarbleDn) {
		b = append([]byte{}, b...)
		b[len(b)/2] ^= 0x10
	}
	if len(b) > 1 && p.take(CutShort) {
		_ = l.write(b[:len(b)/2], w)
		return errors.New("cut short")
	}
	if p.take(Split) {
		for i := range b {
			if err := l.write(b[i:i+1], w); err != nil {
				return err
			}
		}
		return nil
	}
	return l.write(b, w)
}

func (l *line) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.over:
	}
}

func (l *line) write(b []byte, w way) error {
	to, mu := net.Conn(l.broker), &l.toBroker
	if w == down {
		to, mu = l.client, &l.mu
	}
	mu.Lock()
	defer mu.Unlock()
	_, err := to.Write(b)
	return err
}

// The packets that are looked at.
const (
	connect   = 1
	connack   = 2
	publish   = 3
	puback    = 4
	subscribe = 8
)

// packet passes one packet on, with the faults of a broker.
func (l *line) packet(b []byte, w way) error {
	kind := b[0] >> 4
	if kind == publish {
		l.p.messages[w].Add(1)
	}
	if w == up {
		switch kind {
		case connect:
			return l.connects(b)
		case publish:
			return l.says(b)
		case puback:
			if l.isOurs(idOf(b)) {
				return nil
			}
		case subscribe:
			if l.p.take(BadSuback) {
				return l.write(append([]byte{0x90, 3}, b[headLen(b)], b[headLen(b)+1], 0x80), down)
			}
		}
		return l.pass(b, up)
	}
	switch kind {
	case connack:
		if err := l.pass(b, down); err != nil || !l.p.take(Kick) {
			return err
		}
		return errors.New("kicked")
	case publish:
		return l.hears(b)
	case puback:
		if l.p.take(NoPuback) {
			return nil
		}
	}
	return l.pass(b, down)
}

func (l *line) connects(b []byte) error {
	if at := headLen(b) + 7; at < len(b) && b[at]&0x02 == 0 && l.p.take(LoseSession) {
		b[at] |= 0x02 // clean session
	}
	return l.pass(b, up)
}

// says passes a message of the client on.
func (l *line) says(b []byte) error {
	id := idOf(b)
	switch {
	case id != 0 && l.p.take(DropUp):
		return l.write(ack(id), down)
	case id != 0 && l.p.take(DoubleUp):
		if err := l.pass(b, up); err != nil {
			return err
		}
		again := append([]byte{}, b...)
		again[0] |= 0x08
		return l.pass(again, up)
	}
	return l.pass(b, up)
}

// hears passes a message for the client on.
func (l *line) hears(b []byte) error {
	id := idOf(b)
	if id != 0 && l.p.take(DropDown) {
		return l.write(ack(id), up)
	}
	if id != 0 && l.p.take(Reorder) {
		l.mu.Lock()
		first := l.held
		l.held = b
		l.mu.Unlock()
		if first != nil {
			return l.pass(first, down)
		}
		time.AfterFunc(300*time.Millisecond, func() { _ = l.letGo() }) // there may be none behind it
		return nil
	}
	if err := l.pass(b, down); err != nil {
		return err
	}
	if err := l.letGo(); err != nil {
		return err
	}
	return l.andMore(b, id)
}

// letGo passes on what was held back.
func (l *line) letGo() error {
	l.mu.Lock()
	b := l.held
	l.held = nil
	l.mu.Unlock()
	if b == nil {
		return nil
	}
	return l.pass(b, down)
}

// andMore says what nobody asked for after a message.
func (l *line) andMore(b []byte, id uint16) error {
	if id != 0 {
		l.p.remember(b)
	}
	if id != 0 && l.p.take(DoubleDown) {
		if err := l.inject(b, b[0]|0x08); err != nil {
			return err
		}
	}
	if old := l.p.takeOld(Replay); old != nil {
		if err := l.inject(old, old[0]&^0x09); err != nil {
			return err
		}
	}
	if old := l.p.takeOld(ReplayKept); old != nil {
		if err := l.inject(old, old[0]&^0x08|0x01); err != nil {
			return err
		}
	}
	if l.p.take(Oversize) {
		return l.write([]byte{publish<<4 | 0x02, 0x80, 0x84, 0xaf, 0x5f}, down)
	}
	return nil
}

// inject sends a message down under an id of ours, so that the broker does not hear of its acknowledgement.
func (l *line) inject(old []byte, first byte) error {
	b := append([]byte{}, old...)
	b[0] = first
	l.mu.Lock()
	l.next = l.next%200 + 1
	id := 65000 + l.next
	l.ours[id] = true
	l.mu.Unlock()
	at := headLen(b)
	topic := int(binary.BigEndian.Uint16(b[at:]))
	binary.BigEndian.PutUint16(b[at+2+topic:], id)
	return l.pass(b, down)
}

func (l *line) isOurs(id uint16) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.ours[id]
	delete(l.ours, id)
	return mine
}

// headLen is where the variable header begins.
func headLen(b []byte) int {
	n := 1
	for n < len(b) && b[n]&0x80 != 0 {
		n++
	}
	return n + 1
}

// idOf is the packet id of a PUBLISH at QoS 1 or a PUBACK; 0: it has none.
func idOf(b []byte) uint16 {
	at := headLen(b)
	if b[0]>>4 == publish {
		if b[0]&0x06 == 0 || at+2 > len(b) {
			return 0
		}
		at += 2 + int(binary.BigEndian.Uint16(b[at:]))
	}
	if at+2 > len(b) {
		return 0
	}
	return binary.BigEndian.Uint16(b[at:])
}

func ack(id uint16) []byte { return binary.BigEndian.AppendUint16([]byte{puback << 4, 2}, id) }
