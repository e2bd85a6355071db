package netfault

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a proxy.
type Options struct {
	Raw   bool          // streams are passed as they come: TLS. Faults of a broker never strike
	Delay time.Duration // of a packet under Delay; 0: 200 ms
	Rate  int           // bytes a second under Throttle; 0: 2,000
}

// Proxy stands between clients and one broker.
type Proxy struct {
	opt    Options
	target string
	ln     net.Listener
	wg     sync.WaitGroup

	mu     sync.Mutex
	left   map[Fault]int // times that a fault has still to strike
	counts map[Fault]int
	lines  map[*line]bool
	old    [][]byte // messages down that were passed on, as packets; the newest last
	closed bool

	messages [2]atomic.Int64
}

// Messages counts the messages that came to the proxy from its clients and from the broker, repeats included. Within TLS none is seen.
func (p *Proxy) Messages() (up, down int64) { return p.messages[0].Load(), p.messages[1].Load() }

// keepOld bounds the messages that can be replayed.
const keepOld = 64

// Start listens on a free port and passes on to target, as in 127.0.0.1:1883.
func Start(target string, opt Options) (*Proxy, error) {
	if opt.Delay == 0 {
		opt.Delay = 200 * time.Millisecond
	}
	if opt.Rate == 0 {
		opt.Rate = 2000
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot start the proxy: %w", err)
	}
	p := &Proxy{opt: opt, target: target, ln: ln, left: map[Fault]int{}, counts: map[Fault]int{}, lines: map[*line]bool{}}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close ends everything and waits for it.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.ln.Close()
	p.each(func(l *line) { l.end() })
	p.wg.Wait()
}

// Strike lets a fault come true: at once for Cut and HalfOpen (n times no more than once), else at the next n chances, [Always] until
// [Proxy.End].
func (p *Proxy) Strike(f Fault, n int) {
	switch f {
	case Cut:
		p.each(func(l *line) {
			p.count(Cut)
			l.reset()
		})
		return
	case HalfOpen:
		p.each(func(l *line) {
			if l.frozen.CompareAndSwap(false, true) {
				p.count(HalfOpen)
			}
		})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[f] = n
}

// End takes a fault back. What is lost is lost.
func (p *Proxy) End(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.left, f)
}

// Heal takes every fault back.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.left)
}

// Pending says whether a fault has still to strike.
func (p *Proxy) Pending(f Fault) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left[f] != 0
}

// Counts says how often each fault has struck.
func (p *Proxy) Counts() map[Fault]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.counts)
}

func (p *Proxy) count(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[f]++
}

// take uses up one chance of a fault, if it is to strike.
func (p *Proxy) take(f Fault) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.left[f]
	if n == 0 {
		return false
	}
	if n > 0 {
		p.left[f] = n - 1
	}
	p.counts[f]++
	return true
}

// takeOld is take for what needs an old message.
func (p *Proxy) takeOld(f Fault) []byte {
	p.mu.Lock()
	n := len(p.old)
	p.mu.Unlock()
	if n == 0 || !p.take(f) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.old[(len(p.old)*7/16)%len(p.old)] // neither the newest nor always the oldest
}

func (p *Proxy) remember(packet []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.old = append(p.old, packet); len(p.old) > keepOld {
		p.old = p.old[1:]
	}
}

func (p *Proxy) each(visit func(*line)) {
	p.mu.Lock()
	all := maps.Clone(p.lines)
	p.mu.Unlock()
	for l := range all {
		visit(l)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p.wg.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	if p.take(Refuse) {
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	broker, err := net.DialTimeout("tcp", p.target, 10*time.Second)
	if err != nil {
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	l := &line{p: p, client: client, broker: broker.(*net.TCPConn), ours: map[uint16]bool{}, over: make(chan struct{})}
	l.muted.Store(p.take(Mute))
	p.mu.Lock()
	p.lines[l] = true
	closed := p.closed
	p.mu.Unlock()
	if closed {
		l.end()
	}
	p.wg.Go(func() { l.pump(l.client, up) })
	l.pump(l.broker, down)
	p.mu.Lock()
	delete(p.lines, l)
	p.mu.Unlock()
}
