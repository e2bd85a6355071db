package scenario

import (
	"context"
	"errors"
	"net"
	"sync"
)

// door is a listener in memory. Its address says that only this machine can come in.
type door struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var errRefused = errors.New("connection refused")

func newDoor() *door { return &door{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

func (d *door) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (d *door) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case d.conns <- far:
		return near, nil
	case <-d.closed:
		return nil, errRefused
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// wires are the connections that can be torn at once, as by a power cut.
type wires struct {
	mu   sync.Mutex
	all  []net.Conn
	torn bool
}

// add takes a new connection; after a tear it is refused.
func (w *wires) add(c net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.torn {
		c.Close()
		return nil, errRefused
	}
	w.all = append(w.all, c)
	return c, nil
}

// tear cuts every connection and refuses new ones until mend.
func (w *wires) tear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.torn = true
	for _, c := range w.all {
		c.Close()
	}
	w.all = nil
}

func (w *wires) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.torn = false
}
