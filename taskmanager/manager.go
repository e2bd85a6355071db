package taskmanager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Options are the Manager's parts.
type Options struct {
	Store     Store
	Clock     Clock
	Executors Executors
	Codec     Codec
	Catalog   *catalog.Catalog
	Log       zerolog.Logger
	Hold      bool // load and show, dispatch nothing

	OutboxRows, OutboxBytes int64 // that may wait for the planner; 0: DefaultOutboxRows, DefaultOutboxBytes
}

// Manager is the one goroutine that owns the state, with its inbox.
type Manager struct {
	o     Options
	inbox chan request
	stops chan request // wishes to stop, beside the inbox: heard during a commit however much waits before them
	timer Timer
	jumps Notice

	calendar calendar

	cur      *core.State // Run's goroutine only, like all of the next lines
	seq      int64
	written  core.Instant // when the device's row, and with it the time, was last written
	soft     softRows
	recorder *Recorder
	held     []request               // taken in while a commit was under way
	hurried  map[core.TaskID]request // tasks that a wish has stopped before it left the inbox

	epoch      string
	startNo    int64
	setAside   []string
	quarantine quarantine
	storeAside string
	fresh      bool // the store is new

	outbox  outbox
	words   words
	crowded zerolog.Logger // for what a full outbox causes: so many lines, and then no more for a while
	watch   watchers
	turns   atomic.Int64
	alarms  atomic.Int64 // of the liveness audit
	auditAt int64        // boot ms of the next one; owner only
	armedAt int64        // boot ms at which the timer was set; owner only
	ready   chan struct{}
	stopped chan struct{}
	writes  chan write
	wg      sync.WaitGroup
	retry   bool // the last commit did not take place: its events wait in held
	refused bool // and until one does, what is decided again at each try is not said again
}

// request is one thing for the owner: an event, or a look at the state.
type request struct {
	event   core.Event
	inspect func(*core.State, core.Now)
	done    chan reply   // nil: nobody waits
	heard   core.Instant // when, where it had to wait for a disk; 0: just now
	taken   *bool        // of a wish to stop, for the owner only: one of its two copies was taken in, the other is old
}

type reply struct {
	answer core.Answer
	err    error
}

// inboxSize bounds what waits for the owner. A sender waits while it is full: executors and the link are slowed down, not lost.
const inboxSize = 1024

// batchSize bounds one commit, so that a flood cannot keep a stop waiting behind an endless batch.
const batchSize = 256

// New makes a Manager over a loaded store. It reads the image, and writes nothing before Run.
func New(ctx context.Context, o Options) (*Manager, error) {
	img, err := o.Store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot load the store: %w", err)
	}
	m := &Manager{
		o: o, inbox: make(chan request, inboxSize), stops: make(chan request, 64), hurried: map[core.TaskID]request{}, timer: o.Clock.NewTimer(), ready: make(chan struct{}), stopped: make(chan struct{}),
		writes: make(chan write), epoch: img.Epoch, startNo: img.StartNo + 1, seq: img.JournalSeq, storeAside: img.SetAside, fresh: img.Fresh,
	}
	img.Records = m.words.load(img.Records)
	d := DecodeRecords(img.Records)
	var seq int64
	m.cur, seq = d.State(o.Catalog, img.Epoch, img.OutboxSeq)
	m.cur.Hold = o.Hold
	m.seq = max(m.seq, seq)
	if err := m.quarantine.load(img.Meta, m.startNo, d, m.cur); err != nil {
		o.Log.Error().Err(err).Msg("note of failed starts unreadable, counted anew")
	}
	m.setAside = slices.Sorted(maps.Keys(m.quarantine.causes))
	m.recorder = NewRecorder(img.Epoch, o.Catalog.Etag, o.Hold, img.Records)
	m.crowded = o.Log.Sample(&zerolog.BurstSampler{Burst: 5, Period: time.Minute})
	m.outbox.init(img.Outbox, o.OutboxRows, o.OutboxBytes, img.Meta)
	m.soft.init()
	for _, id := range m.setAside {
		o.Log.Error().Str("workflow_id", id).Str("cause", m.quarantine.causes[id]).Msg("record set aside")
	}
	if img.SetAside != "" {
		o.Log.Error().Str("moved_to", img.SetAside).Str("cause", img.AsideWhy).Msg("store set aside, a new one begun")
	}
	return m, nil
}

// Run owns the state until ctx ends or the store breaks. Stopping changes no step's state: after it the device is as after a power
// cut. It returns the cause of ctx, or an error that wraps ErrStoreBroken.
func (m *Manager) Run(ctx context.Context) error {
	m.jumps = m.o.Clock.NewNotice()
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.wg.Go(func() { m.writer(work) })
	defer func() {
		cancel()
		m.timer.Stop()
		m.jumps.Stop()
		m.wg.Wait()
		close(m.stopped)
	}()
	if err := m.apply(ctx, m.first()); err != nil {
		return err
	}
	ready := m.ready
	for {
		if ready != nil && !m.retry {
			close(ready)
			ready = nil
		}
		m.turns.Add(1)
		var first []request
		if len(m.held) > 0 && !m.retry {
			first = m.held[:1:1]
			m.held = m.held[1:]
		} else {
			select {
			case req := <-m.inbox:
				if m.retry && req.canWait() { // the disk is tried at its own pace, however much is said meanwhile
					m.held = thin(m.take(m.held, m.stamped(req)))
					continue
				}
				first = m.take(nil, req)
			case <-m.timer.C():
				first = m.tick()
			case <-m.jumps.C(): // whatever waits for the wall clock is looked at, and the timer set anew
				first = m.tick()
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if err := m.apply(ctx, m.drain(first)); err != nil {
			return err
		}
	}
}

// first is what a start decides before anything else.
func (m *Manager) first() []request {
	batch := []request{{event: core.Started{StartNo: m.startNo, Fresh: m.fresh}}}
	for _, ev := range m.quarantine.news {
		batch = append(batch, request{event: ev})
	}
	return batch
}

// drain takes all that waits, up to one batch: what was held during the last commit first.
func (m *Manager) drain(first []request) []request {
	batch := make([]request, 0, 8)
	if m.retry {
		m.retry = false
		batch, m.held = append(batch, m.held...), nil
	}
	batch = append(batch, first...)
	for len(batch) < batchSize && len(m.held) > 0 {
		batch, m.held = append(batch, m.held[0]), m.held[1:]
	}
	for len(batch) < batchSize {
		select {
		case req := <-m.inbox:
			batch = m.take(batch, req)
		default:
			m.forgetStops()
			return batch
		}
	}
	return batch
}

// apply decides a batch, commits it once, and only then adopts, answers and acts.
func (m *Manager) apply(ctx context.Context, batch []request) (err error) {
	events := make([]core.Event, 0, len(batch))
	for _, req := range batch {
		if req.event != nil {
			events = append(events, req.event)
		}
	}
	if p := guarded(func() { err = m.applied(ctx, batch, events) }); p != nil {
		return m.crashed(ctx, batch, events, p)
	}
	return err
}

func (m *Manager) applied(ctx context.Context, batch []request, events []core.Event) error {
	if len(events) == 0 && !m.retry && m.missed() {
		if err := m.reduce(ctx, nil, []core.Event{core.Tick{}}); err != nil {
			return err
		}
	}
	if len(events) > 0 {
		if err := m.reduce(ctx, batch, events); err != nil {
			return err
		}
	}
	now := m.now()
	for _, req := range batch {
		if req.inspect != nil {
			req.done <- reply{err: m.inspected(req, now)}
		}
	}
	if err := m.audit(ctx, now); err != nil {
		return err
	}
	m.arm()
	return nil
}

func (m *Manager) reduce(ctx context.Context, batch []request, events []core.Event) error {
	now := m.now()
	now.Heard = heardOf(batch)
	events = m.unreported(m.screen(events))
	c := core.Reduce(m.cur, now, events)
	mark := m.mark(now.Trusted)
	soft := !c.Must && !m.soft.overdue(now) && m.recorder.Waiting() < maxSoftRows && (mark == 0 || now.Boot < mark)
	early, late := c.Now, []core.Output(nil)
	if m.refused && !soft {
		early, late = m.stopsOf(c.Now)
	}
	for _, out := range early {
		m.carry(out)
	}
	if soft {
		m.seq += int64(len(events))
		m.recorder.Soft(m.cur, now, events, c, m.soft.add(c, now))
		m.adopt(c, false)
		answer(batch, c, nil)
		return nil
	}
	rows := m.batch(c, now, events)
	dropped := m.makeRoom(&rows)
	switch err := m.commit(ctx, rows); {
	case err == nil:
	case errors.Is(err, ErrStoreClosed): // to try again would never end
		answer(batch, core.Change{}, err)
		return fmt.Errorf("cannot commit: %w", err)
	case errors.Is(err, ErrNotCommitted):
		m.cur.Device.TaskNo = c.DeviceRow().TaskNo // what need not wait for the disk has left: its ids are not used again
		m.notCommitted(batch, now.Boot, err)
		return nil
	default:
		m.stopBody()
		answer(batch, core.Change{}, err)
		return fmt.Errorf("cannot commit: %w", err)
	}
	m.words.kept(rows.Records)
	m.seq += int64(len(events))
	m.written = now.Boot
	m.soft.init()
	m.outbox.add(rows.Outbox, rows.OutboxDone, dropped)
	m.refused = false
	m.adopt(c, true)
	answer(batch, c, nil)
	m.carryAll(append(late, c.Outputs...))
	return nil
}

// adopt makes the change the state, and tells those who watch.
func (m *Manager) adopt(c core.Change, committed bool) {
	m.cur = m.cur.With(c)
	m.recorder.Adopted(m.cur, committed)
	m.outbox.drop(c.Receipted)
	m.watch.tell(c.Moves)
	for _, mv := range c.Moves {
		if mv.Step != "" && mv.Effect == "" {
			m.o.Log.Debug().Str("workflow_id", string(mv.Workflow)).Str("step_id", string(mv.Step)).Str("from", mv.From).Str("to", mv.To).
				Str("reason_code", string(mv.Reason)).Str("task_id", string(mv.Task)).Msg("step moved")
		}
	}
}

func (m *Manager) carry(out core.Output) {
	if _, call := out.(core.Dispatch); call && m.o.Hold {
		return
	}
	m.o.Executors.Carry(out)
}

// answer gives each waiting sender what its event was told.
func answer(batch []request, c core.Change, err error) {
	i := 0
	for _, req := range batch {
		if req.event == nil {
			continue
		}
		if req.done != nil {
			r := reply{err: err}
			if i < len(c.Answers) && c.Answers[i] != nil {
				r.answer = *c.Answers[i]
			}
			req.done <- r
		}
		i++
	}
}

// notCommitted: nothing of the batch is on disk. Those who wait are told so; what executors said is kept and tried again.
func (m *Manager) notCommitted(batch []request, at core.Instant, err error) {
	m.o.Log.Warn().Err(err).Int("events", len(batch)).Msg("batch not committed, will retry")
	var again []request
	for _, req := range batch {
		switch {
		case req.event == nil:
		case req.done != nil:
			req.done <- reply{err: err}
		default:
			if _, tick := req.event.(core.Tick); !tick {
				req.heard = cmp.Or(req.heard, at)
				again = append(again, req)
			}
		}
	}
	m.held = append(again, m.held...)
	m.retry, m.refused = true, true
}

// mark is when the time itself has to be written down; 0: the wall clock will tell how long the device was off, or nothing waits.
func (m *Manager) mark(trusted bool) core.Instant {
	if trusted {
		return 0
	}
	return m.cur.NextMark(m.written)
}

// stopBody: the store cannot be trusted any more; nothing may move without a record of it.
func (m *Manager) stopBody() {
	for _, out := range core.StopBody(m.cur) {
		m.carry(out)
	}
}

// now reads the clocks once per batch.
func (m *Manager) now() core.Now {
	wall, trusted := m.o.Clock.Wall()
	boot := max(1, m.o.Clock.Boot()) // 0 means "no moment" in the core
	return core.Now{Boot: core.Instant(boot), BootID: m.o.Clock.BootID(), WallMS: wall, Trusted: trusted, Seq: m.seq + 1}
}

// retryMS is the pause before a batch that could not be committed is tried again. Source: a full disk heals in seconds at best.
const retryMS = 1000

// arm sets the timer to the earliest moment at which time moves something.
func (m *Manager) arm() {
	m.armedAt = m.o.Clock.Boot()
	at := int64(m.cur.NextWake())
	if due := m.soft.due(); due != 0 && (at == 0 || due < at) {
		at = due
	}
	at = m.armWall(at)
	if look := m.nextAudit(); look != 0 && (at == 0 || look < at) {
		at = look
	}
	if m.retry {
		at = m.o.Clock.Boot() + retryMS
	}
	if at == 0 {
		m.timer.Stop()
		return
	}
	m.timer.Reset(at)
}
