package taskmanager_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/agent/clock"
	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/executors"
	"deviceagent/executors/fake"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/storetest"
)

type codec struct{ *bridge.Codec }

func (c codec) Decode(b []byte, from taskmanager.Source) core.Event {
	return c.Codec.Decode(b, from == taskmanager.FromLocal)
}
func (c codec) Encode(m core.Message, e taskmanager.Envelope) (string, []byte, error) {
	return c.Codec.Encode(m, bridge.About(e))
}

type clockOf struct{ *clock.Virtual }

func (c clockOf) NewTimer() taskmanager.Timer { return c.Virtual.NewTimer() }

// rig runs a real Manager over a store in memory and a scripted executor, in virtual time.
type rig struct {
	t       *testing.T
	cat     *catalog.Catalog
	mem     *storetest.Memory
	store   *storetest.Failing
	fault   []storetest.Outcome // of the first commits of the next process
	m       *taskmanager.Manager
	robot   *fake.Executor
	reg     *executors.Registry
	stop    context.CancelFunc
	ended   chan error
	ids     *atomic.Int64
	clk     *clock.Virtual
	clock   taskmanager.Clock                   // nil: clk
	outbox  int64                               // rows that may wait; 0: as shipped
	foreign bool                                // the test wrote into the store itself: what is on disk does not follow from the journal
	live    atomic.Pointer[taskmanager.Manager] // m for the robot's goroutines, which outlive a process
}

var theCatalog = func() *catalog.Catalog {
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		panic(err)
	}
	return cat
}()

// bubble runs a test in virtual time with a fresh rig.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, cat: theCatalog, mem: storetest.NewMemory().Reopen(), ids: new(atomic.Int64), clk: clock.Package("boot-1")}
		r.open()
		defer r.close()
		f(t, r)
	})
}

// open starts the process on what the store holds.
func (r *rig) open() {
	r.t.Helper()
	r.store = storetest.NewFailing(r.mem)
	r.store.Script(r.fault...)
	r.fault = nil
	r.reg = executors.New(executors.Options{Log: zerolog.Nop(), Sink: r.sink})
	m, err := taskmanager.New(r.t.Context(), taskmanager.Options{
		Store: r.store, Clock: cmp.Or[taskmanager.Clock](r.clock, clockOf{r.clk}), Executors: r.reg, Catalog: r.cat, Log: zerolog.Nop(), OutboxRows: r.outbox,
		Codec: codec{bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: r.cat, AllowJSON: true, NewID: r.newID})},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.m = m
	r.live.Store(m)
	ctx, stop := context.WithCancel(context.Background())
	r.stop, r.ended = stop, make(chan error, 2)
	go func() { r.ended <- m.Run(ctx) }()
	go func() { r.ended <- r.reg.Run(ctx) }()
	synctest.Wait()
	if r.robot == nil {
		r.robot = fake.New("home", r.sink)
		for k, v := range map[string]any{"battery.level": 80.0, "movement.location": "study", "movement.is_moving": false, "cleaning.is_running": false} {
			r.robot.Set(core.ContextValue{Key: catalog.ContextKey(k), Value: v, Class: catalog.Independent, Available: true})
		}
		r.robot.On("setMoveTo", moves("kitchen"))
	}
	r.up()
}

func (r *rig) sink(ctx context.Context, ev core.Event) error { return r.live.Load().Send(ctx, ev) }

// up registers the robot with this process.
func (r *rig) up() {
	var methods []catalog.Method
	for m := range r.cat.Operations {
		methods = append(methods, m)
	}
	var keys []catalog.ContextKey
	for k := range r.cat.Context {
		keys = append(keys, k)
	}
	r.reg.Add("home", "run-1", methods, keys, r.robot)
	synctest.Wait()
}

// moves is an honest move: it takes ten seconds, then the robot is there and says so.
func moves(room string) fake.Script {
	return fake.Script{RunFor: 10 * time.Second, Effects: []core.Event{
		core.Observed{Event: "movement.arrived", Source: "home", Class: catalog.Independent, Data: core.Values{"room_id": room}},
	}}
}

func (r *rig) newID() string {
	return fmt.Sprintf("0190b000-0000-7000-8000-%012d", r.ids.Add(1))
}

// idOf makes a message id of a short name: the same name, the same message.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("00dc6acf-ac00-7000-8000-%x", sum[:6]) // made at the first moment of a bubble
}

// kill ends the process as kill -9 does: nothing is told to anybody, the store is what it was.
func (r *rig) kill() {
	r.stop()
	<-r.ended
	<-r.ended
	r.reg.Close()
	r.mem = r.mem.Reopen()
}

func (r *rig) close() {
	r.stop()
	for range 2 {
		if err := <-r.ended; err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, taskmanager.ErrStoreBroken) {
			r.t.Errorf("a part ended with %v", err)
		}
	}
	r.robot.Close()
	r.reg.Close()
	r.replay()
}

// replay runs the journal of all processes of this store once more: every record has to come out the same.
func (r *rig) replay() {
	r.t.Helper()
	if r.foreign || r.t.Failed() {
		return
	}
	mem := r.mem.Reopen()
	img, err := mem.Load(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	rows, err := mem.Journal(context.Background(), 0, 1_000_000)
	if err != nil {
		r.t.Fatal(err)
	}
	done, err := taskmanager.Replay(taskmanager.Recording{Rows: taskmanager.RowsOf(rows), Catalog: r.cat, Final: img.Records})
	if err != nil {
		r.t.Errorf("replay of %+v: %v", done, err)
	}
}

func planJSON(wf, requests string) string {
	return `{"v":"` + wire.Version + `","type":"plan","id":"` + idOf(wf) + `","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":{"workflow":{"cloud_workflow_id":"` +
		wf + `","plan_id":"pl-` + wf + `","revision":0},"device_task_requests":` + requests + `}}`
}

const toKitchen = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]`

func cancelJSON(id, wf string) string {
	return `{"v":"` + wire.Version + `","type":"control","id":"` + idOf(id) + `","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":{"verb":"cancel","scope":"workflow","target":"` + wf + `"}}`
}

func (r *rig) receive(payload string) core.Answer {
	r.t.Helper()
	ans, err := r.m.Receive(r.t.Context(), []byte(payload), taskmanager.FromCloud)
	if err != nil {
		r.t.Fatalf("receive: %v", err)
	}
	return ans
}

// state reads a step from the Manager, "" where there is none.
func (r *rig) state(wf, step string) (out core.StepState) {
	r.t.Helper()
	if err := r.m.Inspect(r.t.Context(), func(s *core.State, _ core.Now) {
		if w := s.Workflows[core.WorkflowID(wf)]; w != nil {
			out = w.Steps[w.Plan.Lookup(core.StepID(step))].State
		}
	}); err != nil {
		r.t.Fatalf("inspect: %v", err)
	}
	return out
}

// wait lets virtual time pass.
func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// arrived makes the location read what the move says.
func (r *rig) arrived(room string) {
	r.robot.Set(core.ContextValue{Key: "movement.location", Value: room, Class: catalog.Independent, Available: true})
}

func (r *rig) calls(m catalog.Method) (n int) {
	for _, c := range r.robot.Log() {
		if d, ok := c.Out.(core.Dispatch); ok && d.Method == m {
			n++
		}
	}
	return n
}

func (r *rig) stops() (n int) {
	for _, c := range r.robot.Log() {
		if _, ok := c.Out.(core.Stop); ok {
			n++
		}
	}
	return n
}

func (c clockOf) NewNotice() taskmanager.Notice { return c.Virtual.NewNotice() }
