package broker

import (
	"net"
	"sync"
	"time"
)

// maxHeld bounds what one direction of a connection holds while it is stalled; beyond it the connection is cut.
const maxHeld = 64 << 20

// line carries bytes in one direction. It always takes what is written to it, so a writer never blocks on a reader that hangs:
// only so do the broker's own locks stay free, and only so can time go on in a synctest bubble.
type line struct {
	src, dst net.Conn
	cut      func()

	mu      sync.Mutex
	wake    *sync.Cond
	held    []byte
	stalled bool
	lossy   bool
	ended   bool
	latency time.Duration
}

func newLine(src, dst net.Conn, cut func()) *line {
	l := &line{src: src, dst: dst, cut: cut}
	l.wake = sync.NewCond(&l.mu)
	return l
}

// set changes the faults of the line.
func (l *line) set(change func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
	l.wake.Broadcast()
}

// take reads from src until it ends.
func (l *line) take() {
	chunk := make([]byte, 4096)
	for {
		n, err := l.src.Read(chunk)
		tooMuch := false
		l.set(func(l *line) {
			if !l.lossy {
				l.held = append(l.held, chunk[:n]...)
			}
			tooMuch = len(l.held) > maxHeld
			l.ended = l.ended || err != nil
		})
		if tooMuch {
			l.cut()
		}
		if err != nil {
			return
		}
	}
}

// give writes to dst what was taken, and closes dst when src has ended. A stalled line does not tell of the end either: that is
// what a half-open connection is.
func (l *line) give() {
	defer func() { _ = l.dst.Close() }()
	for {
		out, pause := l.next()
		if out == nil {
			return
		}
		if pause > 0 {
			time.Sleep(pause)
		}
		if _, err := l.dst.Write(out); err != nil {
			_ = l.src.Close()
			return
		}
	}
}

// next waits for something to write; nil means that the line has ended.
func (l *line) next() ([]byte, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.stalled || (len(l.held) == 0 && !l.ended) {
		l.wake.Wait()
	}
	if len(l.held) == 0 {
		return nil, 0
	}
	out := l.held
	l.held = nil
	return out, l.latency
}

// relay stands between one client and the broker.
type relay struct {
	client, server net.Conn // the relay's ends
	up, down       *line
	witness        bool // belongs to a recorder
	wg             sync.WaitGroup
}

func newRelay(client, server net.Conn) *relay {
	r := &relay{client: client, server: server}
	r.up = newLine(client, server, r.cut)
	r.down = newLine(server, client, r.cut)
	for _, l := range []*line{r.up, r.down} {
		r.wg.Go(l.take)
		r.wg.Go(l.give)
	}
	return r
}

// cut ends the connection for both sides at once and throws away what is under way.
func (r *relay) cut() {
	for _, l := range []*line{r.up, r.down} {
		l.set(func(l *line) { l.held, l.stalled, l.ended = nil, false, true })
	}
	_ = r.client.Close()
	_ = r.server.Close()
}
