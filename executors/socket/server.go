package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Registrar is where services are entered: [executors.Registry].
type Registrar interface {
	Add(id core.ServiceID, instance string, methods []catalog.Method, keys []catalog.ContextKey, b executors.Binding) bool
	Remove(id core.ServiceID, instance string, reason core.Reason)
}

// Options are the parts of a [Server].
type Options struct {
	Registry Registrar
	Sink     executors.Sink
	Log      zerolog.Logger
	// Allowed says whether the catalog binds a method to a service of that name. nil: every method is allowed.
	Allowed func(core.ServiceID, catalog.Method) bool
	// Permit says why this peer may not register that service, and what to do about it; "": it may. nil: whoever can open the socket may.
	Permit func(Peer, core.ServiceID) string
	// MaySpeak and MayReport say whether the catalog leaves a context key or an event to a service. nil: it leaves all to everybody.
	MaySpeak  func(core.ServiceID, catalog.ContextKey) bool
	MayReport func(core.ServiceID, catalog.EventName) bool
	// MaxConns bounds the connections; more wait in the kernel's queue. Default 64.
	MaxConns int
}

// Server is the agent's half: it accepts programs and enters them into the registry.
type Server struct {
	opt  Options
	mu   sync.Mutex
	live map[core.ServiceID]*link // the newest connection of each service
}

// drainTime is how long a connection that is being replaced may still deliver what its program sent before it was cut: a program
// that restarts is back before the end of its old connection has been read.
const drainTime = time.Second

// NewServer makes a server.
func NewServer(opt Options) *Server {
	if opt.MaxConns == 0 {
		opt.MaxConns = 64
	}
	if opt.Allowed == nil {
		opt.Allowed = func(core.ServiceID, catalog.Method) bool { return true }
	}
	if opt.Permit == nil {
		opt.Permit = func(Peer, core.ServiceID) string { return "" }
	}
	if opt.MaySpeak == nil {
		opt.MaySpeak = func(core.ServiceID, catalog.ContextKey) bool { return true }
	}
	if opt.MayReport == nil {
		opt.MayReport = func(core.ServiceID, catalog.EventName) bool { return true }
	}
	return &Server{opt: opt, live: map[core.ServiceID]*link{}}
}

// Serve accepts until ctx ends, which closes ln and all connections; it returns the cause when none of its goroutines is left.
// The end of ctx is a stop of the agent: the core is not told that its executors are gone. Any other end of ln is an error.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	conns, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(errStopped)
	stop := context.AfterFunc(ctx, func() {
		cancel(errStopped)
		ln.Close()
	})
	defer stop()
	slots := make(chan struct{}, s.opt.MaxConns)
	for {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		conn, err := accept(ctx, ln)
		if err != nil {
			return err
		}
		wg.Go(func() {
			defer func() { <-slots }()
			_ = s.ServeConn(conns, conn) // it was logged
		})
	}
}

// accept waits for a connection. When the process has no file descriptors left it waits a while and tries again.
func accept(ctx context.Context, ln net.Listener) (net.Conn, error) {
	for {
		conn, err := ln.Accept()
		var soft interface{ Temporary() bool }
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.As(err, &soft) || !soft.Temporary():
			return nil, fmt.Errorf("cannot accept on the executor socket: %w", err)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// ServeConn serves one connection, which it owns, until it ends or ctx does; either is the end of its service, and the core is
// told. The error says why it ended; it was logged.
func (s *Server) ServeConn(ctx context.Context, conn net.Conn) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errClosed)
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()

	in := newFrameReader(conn)
	reg, err := s.handshake(conn, in)
	if err != nil {
		s.opt.Log.Warn().Err(err).Str("service", string(reg.Service)).Msg("registration refused")
		return err
	}
	l := newLink(s, conn, reg, cancel)
	defer close(l.done)
	s.takeOver(ctx, l)
	err = l.run(ctx, in)
	s.mu.Lock()
	if s.live[reg.Service] == l {
		delete(s.live, reg.Service)
	}
	s.mu.Unlock()
	return err
}

// takeOver makes l the connection of its service and returns when the one before it has ended and the core knows.
func (s *Server) takeOver(ctx context.Context, l *link) {
	s.mu.Lock()
	old := s.live[l.reg.Service]
	s.live[l.reg.Service] = l
	s.mu.Unlock()
	if old == nil {
		return
	}
	drained := time.NewTimer(drainTime)
	defer drained.Stop()
	select {
	case <-old.done:
		return
	case <-drained.C:
	case <-ctx.Done():
	}
	old.replace()
	<-old.done
}
