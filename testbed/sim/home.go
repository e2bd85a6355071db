package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"deviceagent/bridge"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// journalEvery is how many homes there are to one that keeps a journal and replays it in the end, which costs as much as the play.
const journalEvery = 8

// home is one home with its agent and all that happens to them. Time is real time in ms; the agent sees its boot clock.
type home struct {
	seed    uint64
	cat     *catalog.Catalog
	codec   *bridge.Codec
	methods []catalog.Method
	robot   *robot
	cloud   *cloud
	judge   *judge
	cover   *coverage
	tally   Tally

	without  map[string]bool // decisions that are left out
	named    []string        // decisions that were made, where somebody wants to leave some out
	calm     bool            // nothing goes wrong any more
	exp      bridge.Experiences
	plain    bool // no plan brings its experience
	compared bool // with the same home, see rollback
	keep     bool // the story is wanted
	story    []string

	T        int64
	queue    queue
	order    int
	troubles []trouble
	atOnce   int // reductions since time last moved

	known     reckoned // of the schedule
	setBackMS int64    // how far a trusted clock ever went back
	offMS     int64    // how long the device was off so far, as far as it may not know

	agent
}

// agent is the process under test, as the Manager plays it around the core.
type agent struct {
	up      bool
	open    bool // it takes events
	life    int  // of the process
	boot    int64
	bootNo  int
	trusted bool
	wallOff int64 // how wrong the wall clock is
	s       *core.State
	seq     int64
	startNo int64
	inbox   []item
	held    []item // of a batch that the disk did not take
	draining,
	asleep bool
	retryAt   int64 // the disk is tried again then; 0: it does not refuse
	refused   bool  // the last commit was not taken
	writing   *write
	softSince int64 // since when a change waits for company
	written   core.Instant
	wrote     int64 // when the last commit was

	disk      disk
	armed     []Fault // what the next commits meet
	fullUntil int64
}

// item is one event for the agent, and the message that it came with.
type item struct {
	ev  core.Event
	msg *letter
}

// write is a commit under way.
type write struct {
	batch []item
	c     core.Change
	now   core.Now
	at    int64 // when it was decided
	late  []core.Output
}

// failure ends one play: a promise is broken.
type failure string

func (f failure) Error() string { return string(f) }

func newHome(cat *catalog.Catalog, seed uint64, without map[string]bool) *home {
	m := &home{seed: seed, cat: cat, without: without, T: 1_000_000, tally: newTally()}
	m.exp = experiencesOf(m.stream("experiences"))
	m.codec = bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: cat, AllowJSON: true, Experiences: m.exp, NewID: func() string { return "m" }})
	m.robot, m.cloud, m.judge, m.cover, m.disk = newRobot(m), newCloud(m), newJudge(m), newCoverage(), newDisk()
	m.methods = slices.Sorted(maps.Keys(cat.Operations))
	m.trusted = true
	return m
}

func (m *home) note(f string, args ...any) {
	if m.keep {
		m.story = append(m.story, fmt.Sprintf("%10d ", m.T)+fmt.Sprintf(f, args...))
	}
}

func (m *home) failf(f string, args ...any) { panic(failure(fmt.Sprintf(f, args...))) }

// play runs one home from the first start to the last proof. It returns by what a promise is broken, or nil.
func (m *home) play() (broken error) {
	defer func() {
		if p := recover(); p != nil {
			f, ours := p.(failure)
			if !ours {
				f = failure(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			}
			m.note("broken: %s", f)
			broken = f
		}
	}()
	m.start()
	m.script()
	m.until(m.T + playMS)
	m.calm = true
	m.armed, m.fullUntil = nil, 0
	m.asleep = false
	m.cloud.down, m.trusted, m.wallOff = false, true, 0
	m.robot.calm()
	if !m.up {
		m.start()
	}
	m.drainSoon(0)
	m.robot.callIn()
	m.letAllGo()
	m.until(m.T + 3*3_600_000)
	m.judge.allEnded()
	m.epilogue()
	m.disk.replay(m)
	m.disk.integrity(m)
	return nil
}

// playMS is how long things go wrong in a home.
const playMS = 20 * 60_000

// until lets everything happen up to a moment.
func (m *home) until(end int64) {
	for {
		next, tick := end+1, false
		if len(m.queue) > 0 {
			next = m.queue[0].at
		}
		if wake := m.wake(); wake != 0 && max(m.T, wake) < next {
			next, tick = max(m.T, wake), true
		}
		if next > end {
			m.T = end
			m.judge.pass()
			return
		}
		if next > m.T {
			m.T, m.atOnce = next, 0
			m.judge.pass()
		}
		if m.atOnce++; m.atOnce > 600 {
			m.failf("six hundred things in one moment")
		}
		if tick {
			m.do(m.ticked())
			continue
		}
		m.queue.next().do()
	}
}

// wake is the moment at which the agent's timer fires; 0: it is not set, or nobody hears it.
func (m *home) wake() int64 {
	if !m.up || m.asleep || m.writing != nil {
		return 0
	}
	if m.retryAt != 0 {
		return m.retryAt
	}
	var at int64
	early := func(t int64) {
		if t != 0 && (at == 0 || t < at) {
			at = t
		}
	}
	if w := int64(m.s.NextWake()); w != 0 {
		early(w + m.boot)
	}
	if m.softSince != 0 {
		early(m.softSince + softMS)
	}
	if wall := m.s.NextWall(); wall != 0 && m.trusted {
		early(max(m.T, wall-wallMS-m.wallOff))
	}
	early(m.nextOccurrence())
	if !m.trusted {
		if mark := int64(m.s.NextMark(m.written)); mark != 0 {
			early(mark + m.boot)
		}
	}
	return at
}

// softMS is how long a change that nobody needs on disk may wait for company. Source: docs/taskmanager.md, shape (60 s).
const softMS = 60_000

// tell puts an event into the agent's inbox; nobody hears it while the agent is down.
func (m *home) tell(ev core.Event) { m.put(item{ev: ev}) }

func (m *home) put(it item) {
	if !m.open {
		return
	}
	m.inbox = append(m.inbox, it)
	if m.writing != nil && !m.asleep {
		for _, out := range core.UrgentStops(m.s, m.now(), it.ev) {
			m.note("  beside the commit")
			m.carry(out)
		}
	}
	after := int64(0)
	if m.whim(4, len(m.inbox)) == 0 {
		after = 1 + int64(m.whim(30, 7)) // what comes in the meantime is one batch with it
	}
	m.drainSoon(after)
}

func (m *home) drainSoon(after int64) {
	if m.draining {
		return
	}
	m.draining = true
	life := m.life
	m.at(after, func() {
		if m.life == life {
			m.draining = false
			m.drain()
		}
	})
}

// drain takes all that waits. While the disk refuses it is tried at its own pace, but for what cannot wait.
func (m *home) drain() {
	if !m.up || m.asleep || m.writing != nil || len(m.inbox) == 0 {
		return
	}
	if m.retryAt > m.T && !slices.ContainsFunc(m.inbox, func(it item) bool { return it.msg != nil || core.StopsSomething(it.ev) }) {
		return
	}
	n := min(len(m.inbox), 256)
	batch := slices.Clone(m.inbox[:n])
	m.inbox = m.inbox[n:]
	m.do(batch)
	if len(m.inbox) > 0 {
		m.drainSoon(0)
	}
}

func (m *home) now() core.Now {
	return core.Now{Boot: core.Instant(m.T - m.boot), BootID: fmt.Sprintf("boot-%d", m.bootNo), WallMS: wallMS + m.T + m.wallOff, Trusted: m.trusted, Seq: m.seq + 1}
}

// wallMS is the wall clock at the beginning of time.
const wallMS = 1_800_000_000_000

// do reduces one batch as the Manager does: what need not wait, commit, adopt, what had to wait.
func (m *home) do(batch []item) {
	if m.retryAt != 0 {
		m.retryAt = 0
		batch = slices.Concat(m.held, batch, m.inbox) // what waited for the disk goes along
		m.held, m.inbox = nil, nil
	}
	evs := make([]core.Event, len(batch))
	for i, it := range batch {
		evs[i] = it.ev
		if m.keep {
			if _, tick := it.ev.(core.Tick); !tick {
				text, _ := json.Marshal(it.ev)
				m.note("%s %s", core.KindOf(it.ev), text[:min(len(text), 220)])
			}
		}
	}
	m.tally.count(m, len(evs))
	now := m.now()
	m.cover.events(m, now, evs)
	c := m.reduce(now, evs)
	m.judge.decided(batch, c)
	soft := !c.Must && (m.softSince == 0 || m.T < m.softSince+softMS)
	if mark := m.s.NextMark(m.written); !m.trusted && mark != 0 && now.Boot >= mark {
		soft = false
	}
	w := &write{batch: batch, c: c, now: now, at: m.T}
	early := c.Now
	if m.refused && !soft {
		early, w.late = m.stopsOf(c.Now)
	}
	for _, out := range early {
		m.carry(out)
	}
	if soft {
		m.seq += int64(len(evs))
		waits := m.disk.soft(c)
		if waits && m.softSince == 0 {
			m.softSince = m.T
		}
		if r := m.disk.recorder; r != nil {
			r.Soft(m.s, now, evs, c, waits)
		}
		m.adopt(w)
		m.recorded(false)
		return
	}
	m.commit(w)
}

// recorded tells the journal that a batch has become the state.
func (m *home) recorded(committed bool) {
	if r := m.disk.recorder; r != nil {
		r.Adopted(m.s, committed)
	}
}

func (m *home) stopsOf(outs []core.Output) (stops, others []core.Output) {
	for _, out := range outs {
		d, call := out.(core.Dispatch)
		_, pause := out.(core.Pause)
		if _, stop := out.(core.Stop); stop || pause || call && len(m.cat.Operations[d.Method].Stops) > 0 {
			stops = append(stops, out)
		} else {
			others = append(others, out)
		}
	}
	return stops, others
}

// adopt makes a change the state.
func (m *home) adopt(w *write) {
	for _, mv := range w.c.Moves {
		m.note("  %s/%s%s %s → %s %s %s", mv.Workflow, mv.Step, mv.Effect, mv.From, mv.To, mv.Reason, mv.Task)
	}
	m.s = m.s.With(w.c)
	m.cover.moves(w.c)
	m.judge.adopted(w)
	m.cloud.outbox(w.c)
	for _, s := range core.Audit(m.s, w.now) {
		m.failf("stuck step: the agent's own audit finds %s", s)
	}
}

func (m *home) carry(out core.Output) {
	m.note("    > %T %+v", out, out)
	m.judge.output(out)
	m.robot.carry(out)
}

// reduce decides, now and then twice, and looks whether the state that was handed in is still the same.
func (m *home) reduce(now core.Now, evs []core.Event) core.Change {
	if m.whim(24, 1) != 0 {
		return core.Reduce(m.s, now, evs)
	}
	before := m.picture()
	c := core.Reduce(m.s, now, evs)
	if again := core.Reduce(m.s, now, evs); !reflect.DeepEqual(c, again) {
		m.failf("two reductions of the same differ:\n%+v\n%+v", c, again)
	}
	if after := m.picture(); before != after {
		m.failf("the reduction changed what it was given:\n%s\n%s", before, after)
	}
	return c
}

// picture shows the whole state, private fields too.
func (m *home) picture() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v %+v %v %v %v", m.s.Device, m.s.Known, m.s.Services, m.s.Tombs, m.s.Open())
	for _, id := range slices.Sorted(maps.Keys(m.s.Workflows)) {
		fmt.Fprintf(&b, "\n%+v", *m.s.Workflows[id])
	}
	return b.String()
}
