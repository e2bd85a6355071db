package socket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Registration is what a program says of itself.
type Registration struct {
	Service  core.ServiceID // the name in the catalog's binding
	Instance string         // new with each start of the program: tells a restart from a reconnect
	Methods  []catalog.Method
	Keys     []catalog.ContextKey // context values that it can read
}

// Program serves operations. Its methods are called one after another, in the order in which the agent sent them, on the
// session's reading goroutine: they must return soon and may answer later, from any goroutine. An answer that comes after the
// connection is gone is dropped; the agent will Query.
type Program interface {
	// Connected is called once for each session, before anything else of it. From here on the program may send events.
	Connected(s *Session)
	// Dispatch starts a task: answer Accepted, or not with a Reason. A task id that was seen or sealed before is never run again.
	Dispatch(d core.Dispatch, answer func(core.TaskAnswered))
	// Query tells what is known of a task. One that is not known is sealed: a later Dispatch with its id is refused.
	Query(task core.TaskID, answer func(core.TaskStatus))
	Cancel(s core.Stop, answer func(core.StopAnswered))
	Pause(task core.TaskID, answer func(core.StopAnswered))
	Resume(task core.TaskID, answer func(core.StopAnswered))
	// Read answers with one value for each key; one that cannot be had has Available false.
	Read(keys []catalog.ContextKey, answer func([]core.ContextValue))
}

// RefusedError says that the agent refused the registration: another attempt with the same words will not help before a setting
// or the catalog changes.
type RefusedError struct {
	Reason string
	Faults []string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("registration refused: %s %q", e.Reason, e.Faults)
}

// Session is one registered connection of a program. Its methods may be called from any goroutine. They queue the frame and
// return; they wait only while 1 MiB of frames wait, and fail when the session has ended.
type Session struct {
	reg  Registration
	conn net.Conn
	out  *outbox
	done chan struct{}
	once sync.Once
	err  error // why it ended; written before done closes
}

// Serve registers over conn and then serves p until ctx ends, the connection breaks or [Session.Close]. It owns conn. It returns
// when the agent has accepted the registration; an error means that conn is closed. A *[RefusedError] names every fault.
func Serve(ctx context.Context, conn net.Conn, reg Registration, p Program) (*Session, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	in := newFrameReader(conn)
	if err := register(conn, in, reg); err != nil {
		stop()
		conn.Close()
		return nil, fmt.Errorf("cannot register %s: %w", reg.Service, err)
	}
	s := &Session{reg: reg, conn: conn, out: newOutbox(), done: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { s.end(s.out.writeTo(conn)) })
	p.Connected(s)
	wg.Go(func() { s.end(s.read(in, p)) })
	go func() { // the session's own end: waits for both halves, and whoever waits for Done waits for it
		wg.Wait()
		stop()
		close(s.done)
	}()
	return s, nil
}

func register(conn net.Conn, in *frameReader, reg Registration) error {
	if err := conn.SetDeadline(time.Now().Add(RegisterTime)); err != nil {
		return err
	}
	out := newOutbox()
	body := registerBody{Protocol: Protocol, Service: string(reg.Service), Instance: reg.Instance,
		Methods: texts(reg.Methods), Keys: texts(reg.Keys)}
	if _, err := out.send(KindRegister, 0, body, false); err != nil {
		return err
	}
	b, _ := out.take()
	if _, err := conn.Write(b); err != nil {
		return err
	}
	f, err := in.next()
	if err != nil {
		return err
	}
	if err := registered(f); err != nil {
		return err
	}
	return conn.SetDeadline(time.Time{})
}

func registered(f frame) error {
	var b registeredBody
	switch f.Kind {
	case KindClose:
		return closedBy(f)
	case KindRegistered:
		if err := decodeBody(f, &b); err != nil {
			return err
		}
	default:
		return badFrame("%s before registered", f.Kind)
	}
	if !b.OK {
		return &RefusedError{Reason: b.Reason, Faults: b.Faults}
	}
	return nil
}

func closedBy(f frame) error {
	var b closeBody
	if err := decodeBody(f, &b); err != nil {
		return err
	}
	return fmt.Errorf("closed by the agent: %s %s", b.Reason, b.Detail)
}

// Done is closed when the session has ended and none of its goroutines is left.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err says why the session ended; nil before [Session.Done] is closed.
func (s *Session) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close sends what waits, ends the session and returns when it has ended. A Program must not call it from its own methods.
func (s *Session) Close() {
	s.out.finish()
	<-s.done
}

// Cut ends the session at once, as a crash of the program would: what waits is lost.
func (s *Session) Cut() {
	s.end(errClosed)
	<-s.done
}

// end keeps the first cause and stops both halves.
func (s *Session) end(cause error) {
	s.once.Do(func() {
		s.err = cause
		s.out.fail(cause)
		s.conn.Close()
	})
}

// Event reports one event of the catalog. Source empty: the service.
func (s *Session) Event(ev core.Observed) error {
	return s.send(KindEvent, 0, eventOf(ev))
}

// Progress is a sign of life of a task.
func (s *Session) Progress(p core.TaskProgress) error {
	return s.send(KindProgress, 0, progressBody{Task: string(p.Task), Percent: p.Percent, Note: p.Note})
}

// Paused reports that a task rests and can go on: after a Pause, or by itself. Resumed reports that it goes on.
func (s *Session) Paused(task core.TaskID) error {
	return s.send(KindPaused, 0, taskBody{Task: string(task)})
}

// Resumed reports that a paused task goes on.
func (s *Session) Resumed(task core.TaskID) error {
	return s.send(KindResumed, 0, taskBody{Task: string(task)})
}

// Result reports how a task ended.
func (s *Session) Result(r core.TaskEnded) error {
	return s.send(KindResult, 0, resultBody{Task: string(r.Task), Outcome: string(r.Outcome), Reason: string(r.Reason),
		Output: wireValues(r.Output)})
}

// Context reports values that changed.
func (s *Session) Context(vs []core.ContextValue) error {
	return s.send(KindContext, 0, valuesOf(vs))
}

func (s *Session) send(kind Kind, call uint64, body any) error {
	if _, err := s.out.send(kind, call, body, true); err != nil {
		return fmt.Errorf("cannot send %s: %w", kind, err)
	}
	return nil
}

// read hands the agent's calls to the program until the connection ends.
func (s *Session) read(in *frameReader, p Program) error {
	for {
		f, err := in.next()
		if err != nil {
			return err
		}
		if f.Kind == KindClose {
			return closedBy(f)
		}
		if err := s.serve(f, p); err != nil {
			return err
		}
	}
}

func (s *Session) serve(f frame, p Program) error {
	switch f.Kind {
	case KindDispatch:
		var b dispatchBody
		if err := decodeBody(f, &b); err != nil {
			return err
		}
		params, err := coreValues(b.Params)
		if err != nil {
			return err
		}
		p.Dispatch(core.Dispatch{Task: core.TaskID(b.Task), Service: s.reg.Service, Method: catalog.Method(b.Method), Params: params},
			func(a core.TaskAnswered) {
				s.answer(KindAnswer, f.Call, answerBody{Accepted: a.Accepted, Reason: string(a.Reason)})
			})
	case KindCancel:
		var b cancelBody
		if err := decodeBody(f, &b); err != nil {
			return err
		}
		p.Cancel(core.Stop{Task: core.TaskID(b.Task), Service: s.reg.Service, Method: catalog.Method(b.Method)}, s.stopAnswer(f.Call))
	case KindRead:
		var b readBody
		if err := decodeBody(f, &b); err != nil {
			return err
		}
		p.Read(named[catalog.ContextKey](b.Keys), func(vs []core.ContextValue) { s.answer(KindValues, f.Call, valuesOf(vs)) })
	default:
		return s.serveTask(f, p)
	}
	return nil
}

// serveTask serves the calls whose body is a task id alone.
func (s *Session) serveTask(f frame, p Program) error {
	var b taskBody
	if err := decodeBody(f, &b); err != nil {
		return err
	}
	switch task := core.TaskID(b.Task); f.Kind {
	case KindQuery:
		p.Query(task, func(st core.TaskStatus) { s.answer(KindStatus, f.Call, statusOf(st)) })
	case KindPause:
		p.Pause(task, s.stopAnswer(f.Call))
	case KindResume:
		p.Resume(task, s.stopAnswer(f.Call))
	default:
		return badFrame("%s is no call of the agent", f.Kind)
	}
	return nil
}

func (s *Session) stopAnswer(call uint64) func(core.StopAnswered) {
	return func(a core.StopAnswered) {
		s.answer(KindAnswer, call, answerBody{Accepted: a.Accepted && !a.Refused, Reason: string(a.Reason)})
	}
}

// answer sends an answer. One that cannot be sent is an answer that was lost: the agent's deadline covers that. But one that is
// too big will be too big again: the session ends, so that the agent does not wait.
func (s *Session) answer(kind Kind, call uint64, body any) {
	if err := s.send(kind, call, body); err != nil && !errors.Is(err, errClosed) {
		s.end(err)
	}
}

func texts[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = string(v)
	}
	return out
}

func named[T ~string](in []string) []T {
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = T(v)
	}
	return slices.Clip(out)
}

func eventOf(ev core.Observed) eventBody {
	return eventBody{Event: string(ev.Event), Task: string(ev.Task), Resource: string(ev.Resource), Source: ev.Source,
		Class: string(ev.Class), OccurredAt: ev.OccurredAt, Seq: ev.Seq, Reason: string(ev.Reason), Data: wireValues(ev.Data)}
}

func valuesOf(vs []core.ContextValue) valuesBody {
	b := valuesBody{Values: make([]valueBody, len(vs))}
	for i, v := range vs {
		b.Values[i] = valueBody{Key: string(v.Key), Value: wireValue(v.Value), Class: string(v.Class), Available: v.Available}
	}
	return b
}

func statusOf(st core.TaskStatus) statusBody {
	b := statusBody{Known: string(st.Known), Sealed: st.Sealed, Paused: st.Paused}
	if e := st.Ended; e != nil {
		b.Ended = &endedBody{Outcome: string(e.Outcome), Reason: string(e.Reason), Output: wireValues(e.Output)}
	}
	if st.Event != nil {
		ev := eventOf(*st.Event)
		b.Event = &ev
	}
	return b
}
