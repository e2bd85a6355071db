package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// Ferry carries what the programs of one bubble say over a bus. All of them must use it: what another says is fetched only when one of
// them writes. It may be made outside the bubble; its methods may be called from any goroutine.
type Ferry struct {
	d *Daemon

	mu    sync.Mutex // held while something is under way
	seats []*seat    // open ones, in the order of their coming
	usher *line      // our own connection, for questions; nil: none yet
	err   error      // the first thing that went wrong and was not asked for
}

// NewFerry makes a way to a daemon that runs.
func NewFerry(d *Daemon) *Ferry { return &Ferry{d: d} }

// Err is what went wrong, if anything did.
func (f *Ferry) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Dial opens a connection. It fails while the daemon does not run.
func (f *Ferry) Dial(context.Context) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, err := dial(f.d.socket)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", f.d.Address(), err)
	}
	s := &seat{ferry: f, line: l, shaking: true}
	s.news.L = &s.mu
	f.seats = append(f.seats, s)
	return s, nil
}

// Kill ends the daemon at once: every connection is cut.
func (f *Ferry) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.d.Kill()
	f.cutAll()
}

// Begin runs the daemon again.
func (f *Ferry) Begin() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.d.Begin()
}

// Close cuts what is left. The daemon goes on.
func (f *Ferry) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cutAll()
}

func (f *Ferry) cutAll() {
	for _, s := range f.seats {
		s.cut()
	}
	f.seats = nil
	if f.usher != nil {
		f.usher.close()
		f.usher = nil
	}
}

// fail ends the journey: the daemon did not do what a bus does.
func (f *Ferry) fail(err error) {
	if f.err == nil {
		f.err = err
	}
	f.cutAll()
}

// carry takes what a connection has written to the daemon, and brings everybody what follows from it.
func (f *Ferry) carry(s *seat, frames []byte) {
	if err := s.line.write(frames); err != nil {
		f.drop(s, err)
		return
	}
	f.fetch(s)
}

// fetch waits until the daemon has gone through all that first has written, and then until everybody has what came of it: what was put
// into a queue of a connection before our question comes before the answer.
func (f *Ferry) fetch(first *seat) {
	if first != nil {
		f.visit(first)
	}
	for _, s := range slices.Clone(f.seats) {
		if s != first && s.member {
			f.visit(s)
		}
	}
}

func (f *Ferry) visit(s *seat) {
	if _, err := s.line.ask("GetId", s.deliver); err != nil {
		f.drop(s, err)
	}
}

// drop is the end of a connection that the daemon has closed, as it does with one that breaks the protocol.
func (f *Ferry) drop(s *seat, err error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		f.fail(err)
		return
	}
	f.leave(s)
}

// leave closes a connection, waits until the daemon has noticed, and brings the others the word of it.
func (f *Ferry) leave(s *seat) {
	i := slices.Index(f.seats, s)
	if i < 0 {
		return
	}
	f.seats = slices.Delete(f.seats, i, i+1)
	s.cut()
	if s.name == "" {
		return
	}
	if err := f.awaitGone(s.name); err != nil {
		f.fail(err)
		return
	}
	f.fetch(nil)
}

func (f *Ferry) awaitGone(name string) error {
	if f.usher == nil {
		l, err := dial(f.d.socket)
		if err != nil {
			return err
		}
		f.usher = l
		if err := l.enter(); err != nil {
			return err
		}
	}
	for {
		m, err := f.usher.ask("NameHasOwner", nil, name)
		if err != nil {
			return err
		}
		if len(m.Body) == 1 && m.Body[0] == false {
			return nil
		}
	}
}

// seat is one connection as its owner sees it.
type seat struct {
	ferry   *Ferry
	line    *line
	shaking bool   // in the handshake, which is lines of text
	member  bool   // has said hello, so it may be asked
	name    string // its unique name
	out     []byte // written, and not yet a whole message

	mu     sync.Mutex
	news   sync.Cond
	in     bytes.Buffer
	closed bool
}

// deliver puts a message before the owner.
func (s *seat) deliver(raw []byte, m *godbus.Message) {
	if to, ok := m.Headers[godbus.FieldDestination]; ok && s.name == "" {
		s.name, _ = to.Value().(string) // the answer to the hello is the first
	}
	s.put(raw)
}

func (s *seat) put(raw []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.Write(raw)
	s.news.Broadcast()
}

// cut ends the connection for both sides. What has come can still be read.
func (s *seat) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.line.close()
		s.news.Broadcast()
	}
}

// Read waits for what the daemon sends.
func (s *seat) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.in.Len() == 0 {
		if s.closed {
			return 0, io.EOF
		}
		s.news.Wait()
	}
	return s.in.Read(p)
}

// Write returns when everything is where it belongs that followed from the messages that p completes.
func (s *seat) Write(p []byte) (int, error) {
	f := s.ferry
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.seats, s) {
		return 0, net.ErrClosed
	}
	s.out = append(s.out, p...)
	for s.shaking {
		n := textLine(s.out)
		if n == 0 {
			return len(p), nil
		}
		text := s.out[:n]
		s.out = s.out[n:]
		if err := s.shake(text); err != nil {
			f.drop(s, err)
			return 0, net.ErrClosed
		}
	}
	whole := 0
	for {
		n := frame(s.out[whole:])
		if n == 0 || whole+n > len(s.out) {
			break
		}
		whole += n
	}
	if whole > 0 {
		s.member = true
		frames := bytes.Clone(s.out[:whole])
		s.out = s.out[whole:]
		f.carry(s, frames)
	}
	return len(p), nil
}

// shake carries one line of the handshake, and the one that answers it.
func (s *seat) shake(text []byte) error {
	if err := s.line.write(text); err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimLeft(text, "\x00"), []byte("BEGIN")) {
		s.shaking = false
		return nil
	}
	got, err := s.line.need(textLine)
	if err == nil {
		s.put(got)
	}
	return err
}

// Close ends the connection; everybody who is to hear of it has heard when it returns.
func (s *seat) Close() error {
	s.ferry.mu.Lock()
	defer s.ferry.mu.Unlock()
	s.ferry.leave(s)
	return nil
}

func (s *seat) LocalAddr() net.Addr              { return &net.UnixAddr{Net: "unix"} }
func (s *seat) RemoteAddr() net.Addr             { return &net.UnixAddr{Net: "unix", Name: s.ferry.d.socket} }
func (s *seat) SetDeadline(time.Time) error      { return nil }
func (s *seat) SetReadDeadline(time.Time) error  { return nil }
func (s *seat) SetWriteDeadline(time.Time) error { return nil }
