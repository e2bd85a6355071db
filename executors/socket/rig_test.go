package socket

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const move catalog.Method = "setMoveTo"

// inbox is the core's door in tests.
type inbox struct {
	mu   sync.Mutex
	evs  []core.Event
	hear func(core.Event)
}

func (b *inbox) sink(_ context.Context, ev core.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hear != nil {
		b.hear(ev)
		return nil
	}
	b.evs = append(b.evs, ev)
	return nil
}

func (b *inbox) take() []core.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	evs := b.evs
	b.evs = nil
	return evs
}

// program is a Program whose answers are functions; nil: it never answers.
type program struct {
	mu       sync.Mutex
	got      []core.Output
	session  chan *Session
	dispatch func(core.Dispatch, func(core.TaskAnswered))
}

func newProgram() *program {
	return &program{session: make(chan *Session, 64),
		dispatch: func(_ core.Dispatch, answer func(core.TaskAnswered)) { answer(core.TaskAnswered{Accepted: true}) }}
}

func (p *program) note(out core.Output) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, out)
}

func (p *program) calls() []core.Output {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]core.Output(nil), p.got...)
}

func (p *program) Connected(s *Session) { p.session <- s }
func (p *program) Dispatch(d core.Dispatch, answer func(core.TaskAnswered)) {
	p.note(d)
	if p.dispatch != nil {
		p.dispatch(d, answer)
	}
}

func (p *program) Query(task core.TaskID, answer func(core.TaskStatus)) {
	p.note(core.Query{Task: task})
	answer(core.TaskStatus{Known: core.KnownEnded, Ended: &core.TaskEnded{Outcome: core.OutcomeDone, Output: core.Values{"n": 1.0}},
		Event: &core.Observed{Event: "movement.arrived", Task: task, Class: catalog.Independent, Data: core.Values{"room_id": "kitchen"}}})
}

func (p *program) Cancel(s core.Stop, answer func(core.StopAnswered)) {
	p.note(s)
	answer(core.StopAnswered{Accepted: true})
}

func (p *program) Pause(task core.TaskID, answer func(core.StopAnswered)) {
	p.note(core.Pause{Task: task})
	answer(core.StopAnswered{Refused: true, Reason: "cannot hold now"})
}

func (p *program) Resume(task core.TaskID, answer func(core.StopAnswered)) {
	p.note(core.Resume{Task: task})
	answer(core.StopAnswered{Accepted: true})
}

func (p *program) Read(keys []catalog.ContextKey, answer func([]core.ContextValue)) {
	p.note(core.Read{Keys: keys})
	answer([]core.ContextValue{{Key: keys[0], Value: false, Class: catalog.Independent, Available: true}})
}

// rig is a server with its registry in a bubble; programs connect over pipes.
type rig struct {
	t    *testing.T
	ctx  context.Context
	in   *inbox
	reg  *executors.Registry
	srv  *Server
	wg   sync.WaitGroup
	stop context.CancelFunc
}

func inRig(t *testing.T, opt Options, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, opt)
		defer r.close()
		test(r)
	})
}

func newRig(t testing.TB, opt Options) *rig {
	r := &rig{in: &inbox{}}
	if tt, ok := t.(*testing.T); ok {
		r.t = tt
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	r.reg = executors.New(executors.Options{Sink: r.in.sink, Log: zerolog.Nop()})
	opt.Registry, opt.Sink, opt.Log = r.reg, r.in.sink, zerolog.Nop()
	r.srv = NewServer(opt)
	r.wg.Go(func() { _ = r.reg.Run(r.ctx) })
	return r
}

func (r *rig) close() {
	r.stop()
	r.reg.Close()
	r.wg.Wait()
}

// pipe connects to the server; raw is the program's end.
func (r *rig) pipe() net.Conn {
	raw, served := net.Pipe()
	r.wg.Go(func() { _ = r.srv.ServeConn(r.ctx, served) })
	return raw
}

func (r *rig) join(service core.ServiceID, instance string, p Program) *Session {
	r.t.Helper()
	s := r.register(service, instance, p)
	synctest.Wait()
	return s
}

// register is join for a goroutine beside the test's own.
func (r *rig) register(service core.ServiceID, instance string, p Program) *Session {
	s, err := Serve(r.ctx, r.pipe(), Registration{Service: service, Instance: instance, Methods: []catalog.Method{move},
		Keys: []catalog.ContextKey{"movement.is_moving"}}, p)
	if err != nil {
		r.t.Errorf("join: %v", err)
	}
	return s
}

func (r *rig) carry(outs ...core.Output) []core.Event {
	for _, out := range outs {
		r.reg.Carry(out)
	}
	synctest.Wait()
	return r.in.take()
}

func (r *rig) after(d time.Duration) []core.Event {
	time.Sleep(d)
	synctest.Wait()
	return r.in.take()
}

func dispatch(n int) core.Dispatch {
	return core.Dispatch{Task: core.TaskID(fmt.Sprintf("t%d", n)), Service: "motion", Method: move,
		Params: core.Values{"position": map[string]any{"room_id": "kitchen"}, "speed": 0.5, "level": 20.0}}
}

// listen serves on a real unix socket outside of bubbles.
func (r *rig) listen(t testing.TB) string {
	path := filepath.Join(t.TempDir(), "executor.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	r.wg.Go(func() { _ = r.srv.Serve(r.ctx, ln) })
	return path
}

// opener opens pipes to the server, after as many failures as down says from the next but one on.
func (r *rig) opener(down *int) func(context.Context) (net.Conn, error) {
	opened := 0
	return func(context.Context) (net.Conn, error) {
		opened++
		if opened > 2 && *down > 0 {
			*down--
			return nil, errClosed
		}
		return r.pipe(), nil
	}
}
