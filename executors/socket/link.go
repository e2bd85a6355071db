package socket

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
)

// maxUnanswered bounds the calls that a link remembers. The registry ends each at its hard limit; here they stay so that a later
// answer is still read. Beyond the bound the oldest are forgotten.
const maxUnanswered = 1024

// farewellTime bounds how long a close frame may take to leave.
const farewellTime = time.Second

// link is the agent's end of one registered connection.
type link struct {
	srv    *Server
	reg    Registration
	conn   net.Conn
	out    *outbox
	cancel context.CancelCauseFunc // of the connection's context
	done   chan struct{}           // closed when the core has heard of the end
	log    zerolog.Logger

	mu     sync.Mutex
	calls  map[uint64]pending
	last   uint64 // call number, from 1
	oldest uint64
	ended  bool
	silent bool  // ended by a stop of the agent
	strays int64 // answers to no open call: late, repeated or invented
}

// pending is a call without an answer yet.
type pending struct {
	out  core.Output
	at   uint64 // the number of its frame's first byte
	done func(core.Event, error)
}

// Why a link ended that neither side broke.
var (
	errReplaced = errors.New("another connection of this service took its place")
	errStopped  = errors.New("the agent stops")
)

func newLink(s *Server, conn net.Conn, reg Registration, cancel context.CancelCauseFunc) *link {
	return &link{srv: s, reg: reg, conn: conn, out: newOutbox(), cancel: cancel, done: make(chan struct{}), oldest: 1,
		calls: map[uint64]pending{},
		log:   s.opt.Log.With().Str("service", string(reg.Service)).Str("instance", reg.Instance).Logger()}
}

// replace ends the link in favour of another.
func (l *link) replace() { l.cancel(errReplaced) }

// run enters the service into the registry, reads until the connection ends and takes it out again. When it returns, every call
// has ended and the core knows that the service is down. But if the agent stops, nothing is said: a stop must look like a power
// cut, after which the tasks are asked for, and not like the loss of every executor.
func (l *link) run(ctx context.Context, in *frameReader) error {
	if _, err := l.out.send(KindRegistered, 0, registeredBody{OK: true}, false); err != nil {
		return err
	}
	writer := make(chan error, 1)
	go func() {
		err := l.out.writeTo(l.conn)
		l.conn.Close() // the reader must hear of it
		writer <- err
	}()
	var err error
	if ctx.Err() == nil && l.srv.opt.Registry.Add(l.reg.Service, l.reg.Instance, l.reg.Methods, l.reg.Keys, l.binding()) {
		err = l.read(ctx, in)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	stopped := errors.Is(err, errStopped)
	if stopped {
		l.silence() // before the outbox refuses: a call that is begun meanwhile must hang, not be answered "not sent"
	}
	l.farewell(err, writer)
	if stopped {
		return err
	}
	l.endCalls()
	l.srv.opt.Registry.Remove(l.reg.Service, l.reg.Instance, downReason(err))
	l.log.Info().Err(err).Int64("stray_answers", l.strays).Msg("executor connection ended")
	return err
}

// farewell tells a program that sent a bad frame what was wrong with it, and ends the writer in any case.
func (l *link) farewell(err error, writer <-chan error) {
	if errors.Is(err, errBadFrame) {
		_, _ = l.out.send(KindClose, 0, closeBody{Reason: reasonBadFrame, Detail: err.Error()}, false)
		l.out.finish()
		timer := time.AfterFunc(farewellTime, func() { l.conn.Close() })
		defer timer.Stop()
	} else {
		l.conn.Close()
		l.out.fail(errClosed)
	}
	<-writer
}

func downReason(err error) core.Reason {
	switch {
	case errors.Is(err, errBadFrame):
		return reasonBadFrame
	case errors.Is(err, errReplaced):
		return reasonReplaced
	}
	return reasonLost
}

func (l *link) binding() executors.Binding { return executors.Waiting{Beginner: l} }

// Begin implements [executors.Beginner]: the frame joins those that wait for the connection.
func (l *link) Begin(out core.Output, done func(core.Event, error)) error {
	kind, body := callOf(out)
	if kind == "" {
		return fmt.Errorf("cannot carry %T over the socket", out)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent {
		return nil // never answered
	}
	if l.ended {
		return errClosed
	}
	at, err := l.out.send(kind, l.last+1, body, false)
	if err != nil {
		return err
	}
	l.last++
	l.calls[l.last] = pending{out: out, at: at, done: done}
	for len(l.calls) > maxUnanswered {
		delete(l.calls, l.oldest)
		l.oldest++
	}
	return nil
}

// callOf is the frame of an output.
func callOf(out core.Output) (Kind, any) {
	switch o := out.(type) {
	case core.Dispatch:
		return KindDispatch, dispatchBody{Task: string(o.Task), Method: string(o.Method), Params: wireValues(o.Params)}
	case core.Query:
		return KindQuery, taskBody{Task: string(o.Task)}
	case core.Stop:
		return KindCancel, cancelBody{Task: string(o.Task), Method: string(o.Method)}
	case core.Pause:
		return KindPause, taskBody{Task: string(o.Task)}
	case core.Resume:
		return KindResume, taskBody{Task: string(o.Task)}
	case core.Read:
		return KindRead, readBody{Keys: texts(o.Keys)}
	}
	return "", nil
}

// callFor looks an open call up. ok false: a stray, which is counted and ignored.
func (l *link) callFor(call uint64) (pending, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, ok := l.calls[call]
	if !ok {
		l.strays++
	}
	return p, ok
}

func (l *link) forget(call uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, call)
}

// silence lets all calls, also those to come, hang: the registry's end is near.
func (l *link) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent, l.calls = true, nil
}

// endCalls answers what is still open, in order: unknown if its frame was handed to a write, else surely not sent.
func (l *link) endCalls() {
	l.mu.Lock()
	l.ended = true
	calls := l.calls
	l.calls = nil
	l.mu.Unlock()
	for _, no := range slices.Sorted(maps.Keys(calls)) {
		p, err := calls[no], errClosed
		if !l.out.wasHanded(p.at) {
			err = executors.ErrNotSent
		}
		p.done(nil, err)
	}
}
