package store

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"deviceagent/agent/clock"
	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/executors"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"

	"github.com/fxamacker/cbor/v2"
	"github.com/rs/zerolog"
)

// What a tape tells between the operations.
type (
	began     struct{}                        // a transaction begins
	confirmed struct{ content, epoch string } // and is acknowledged; what the store holds from now on
	asked     struct{ message }               // a message was handed in
	answered  struct {                        // and its answer is out
		message
		answer core.Answer
	}
	sent      struct{ row taskmanager.OutboxRow } // a message that the link took
	receipted struct{ ids []core.MessageID }
	called    struct{ out core.Output } // a call reached the robot
	owned     struct {                  // a task is of a workflow
		task core.TaskID
		wf   core.WorkflowID
	}
	robotRun string // instance of the robot's program
	clockAt  struct {
		boot   int64
		bootID string
	}
)

// message is one that the planner sends.
type message struct {
	payload string
	wf      core.WorkflowID
	kind    string // plan, revision, bad, cancel, pause, resume, decision
}

// life is one process: the store on real files, a Manager over it, a robot, and a link to a planner that receipts.
type life struct {
	*Store
	note  func(any)
	m     *taskmanager.Manager
	reg   *executors.Registry
	robot *body
	ids   atomic.Int64
	no    int
	clk   shiftedClock
	stop  context.CancelFunc
	wg    sync.WaitGroup
	err   atomic.Pointer[error]
	one   sync.Mutex // a transaction and its marks
	blind bool       // nobody asks what the store holds from now on
	lazy  *rand.Rand // of the planner's receipts; nil: it receipts all, at once
}

// shiftedClock is a virtual clock that began earlier.
type shiftedClock struct {
	*clock.Virtual
	by int64
}

func (c shiftedClock) Boot() int64                 { return c.Virtual.Boot() + c.by }
func (c shiftedClock) NewTimer() taskmanager.Timer { return shiftedTimer{c.Virtual.NewTimer(), c.by} }

type shiftedTimer struct {
	taskmanager.Timer
	by int64
}

func (t shiftedTimer) Reset(at int64) { t.Timer.Reset(at - t.by) }

type lifeCodec struct{ *bridge.Codec }

func (c lifeCodec) Decode(b []byte, from taskmanager.Source) core.Event {
	return c.Codec.Decode(b, from == taskmanager.FromLocal)
}
func (c lifeCodec) Encode(m core.Message, e taskmanager.Envelope) (string, []byte, error) {
	return c.Codec.Encode(m, bridge.About(e))
}

var defaultCatalog = sync.OnceValue(func() *catalog.Catalog {
	cat, _, err := catalogfile.Load(defaults.Files)
	if err != nil {
		panic(err)
	}
	return cat
})

// lifeOptions make everything that a store does happen often: a short log that is copied back, grown and begun anew.
var lifeOptions = Options{BallastBytes: 8192, WALPages: 30, WALCapPages: 40}.withDefaults()

// begin starts a process on what lies in dir.
func begin(dir string, no int, clk shiftedClock, steps []migration, note func(any), weaken bool, lazy *rand.Rand) (*life, error) {
	l := &life{note: note, no: no, clk: clk, lazy: lazy}
	note(began{})
	note(clockAt{clk.Boot(), clk.BootID()})
	s, err := open(context.Background(), filepath.Join(dir, "tasks.db"), lifeOptions, steps)
	if err != nil {
		return nil, err
	}
	l.Store = s
	if weaken {
		if err := s.w.exec("PRAGMA synchronous=NORMAL"); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	if err := l.acknowledge(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return l, nil
}

// run starts the Manager and what is around it.
func (l *life) run(mem memory, instance string) error {
	cat := defaultCatalog()
	sink := func(ctx context.Context, ev core.Event) error { return l.m.Send(ctx, ev) }
	l.reg = executors.New(executors.Options{Log: zerolog.Nop(), Sink: sink, Urgent: func(m catalog.Method) bool { return len(cat.Operations[m].Stops) > 0 }})
	m, err := taskmanager.New(context.Background(), taskmanager.Options{Store: l, Clock: l.clk, Executors: l.reg, Catalog: cat, Log: zerolog.Nop(),
		Codec: lifeCodec{bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: cat, AllowJSON: true, NewID: l.newID})}})
	if err != nil {
		return err
	}
	l.m = m
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	keep := func(err error) {
		if err != nil && !errors.Is(err, context.Canceled) {
			l.err.CompareAndSwap(nil, &err)
		}
	}
	l.wg.Go(func() { keep(m.Run(ctx)) })
	l.wg.Go(func() { keep(l.reg.Run(ctx)) })
	l.wg.Go(func() { l.link(ctx) })
	l.note(robotRun(instance))
	l.robot = newBody(mem, sink, l.note)
	var methods []catalog.Method
	for m := range cat.Operations {
		methods = append(methods, m)
	}
	var keys []catalog.ContextKey
	for k := range cat.Context {
		keys = append(keys, k)
	}
	l.reg.Add("home", instance, methods, keys, l.robot)
	return nil
}

// end ends the process: orderly, or as a kill does, which copies no log back.
func (l *life) end(orderly bool) error {
	if l.m != nil {
		l.stop()
		l.robot.close()
		l.reg.Close()
		l.wg.Wait()
	}
	if !orderly {
		_ = l.fail(errors.New("killed"))
	}
	return l.Close()
}

func (l *life) newID() string {
	return fmt.Sprintf("0190b000-0000-7000-%04x-%012x", 0x8000+l.no, l.ids.Add(1))
}

// link is the planner's side: it takes each row, and says later that it has it.
func (l *life) link(ctx context.Context) {
	taken := map[string]bool{}
	for {
		var ids []core.MessageID
		for _, row := range l.m.Pending(100) {
			if !taken[row.ID] {
				taken[row.ID] = true
				l.note(sent{row})
				if l.lazy == nil || l.lazy.IntN(4) > 0 {
					ids = append(ids, core.MessageID(row.ID))
				}
			}
		}
		if len(ids) > 0 {
			if l.lazy != nil {
				wait(ctx, time.Duration(l.lazy.IntN(500))*time.Millisecond)
			}
			if l.m.Receipted(ctx, ids) != nil {
				return
			}
			l.note(receipted{ids})
		}
		select {
		case <-l.m.Changed():
		case <-ctx.Done():
			return
		}
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// hand hands a message in.
func (l *life) hand(msg message) (core.Answer, error) {
	l.note(asked{msg})
	ans, err := l.m.Receive(context.Background(), []byte(msg.payload), taskmanager.FromCloud)
	if err == nil {
		l.note(answered{msg, ans})
	}
	return ans, err
}

// Commit puts the marks around the store's own.
func (l *life) Commit(ctx context.Context, b taskmanager.Batch) error {
	l.one.Lock()
	defer l.one.Unlock()
	l.note(began{})
	if err := l.Store.Commit(ctx, b); err != nil {
		return err
	}
	for _, r := range b.Records {
		var a core.Attempt
		if len(r.Item) > 2 && r.Item[:2] == "a:" && cbor.Unmarshal(r.Body, &a) == nil {
			l.note(owned{a.Task, core.WorkflowID(r.Workflow)})
		}
	}
	return l.acknowledge()
}

func (l *life) prune(o PruneOptions) error {
	l.one.Lock()
	defer l.one.Unlock()
	l.note(began{})
	if _, err := l.Store.Prune(context.Background(), o); err != nil {
		return err
	}
	return l.acknowledge()
}

func (l *life) acknowledge() error {
	if l.blind {
		return nil
	}
	content, err := l.content()
	l.note(confirmed{content, l.epoch})
	return err
}

// content is a digest of every row of every table.
func (s *Store) content() (string, error) {
	r, err := s.lend(context.Background())
	if err != nil {
		return "", err
	}
	defer func() { s.readers <- r }()
	sum := sha256.New()
	var counts []int
	for _, name := range []string{"meta", "record", "done", "finished", "journal", "outbox", "memory"} {
		q, err := r.raw.PrepareContext(uncancelled, "SELECT * FROM "+name+" ORDER BY 1, 2")
		if err != nil {
			return "", err
		}
		n := 0
		err = (&stmt{s: q.(preparedStmt)}).each(uncancelled, func(row []driver.Value) error {
			n++
			_, err := fmt.Fprintf(sum, "%s %q\n", name, row)
			return err
		})
		if err := errors.Join(err, q.Close()); err != nil {
			return "", err
		}
		counts = append(counts, n)
	}
	return fmt.Sprintf("%v %x", counts, sum.Sum(nil)[:8]), nil
}

// idOf makes a message id of a short name: the same name, the same message.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("00dc6acf-ac00-7000-8000-%x", sum[:6]) // made at the first moment of a bubble
}
