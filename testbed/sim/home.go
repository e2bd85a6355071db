package sim

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	"deviceagent/bridge"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// sim is one home with its agent and all that happens to them. Time is real time in ms; the agent sees its boot clock.
type sim struct {
	seed  int
	rnd   *rand.Rand
	cat   *catalog.Catalog
	codec *bridge.Codec
	robot *robot
	judge *judge

	T       int64
	queue   deeds
	order   int
	steps   int
	faults  bool
	story   []string
	methods []catalog.Method

	up      bool
	life    int // of the agent's process
	boot    int64
	bootNo  int
	trusted bool
	s       *core.State
	seq     int64
	inbox   []core.Event
	again   []core.Event // of a batch that could not be committed
	disk    disk
	startNo int64
	atOnce  int   // reductions since time last moved
	commits int   // batches that had to be written
	wrote   int64 // when the last one was
}

// failure ends one play.
type failure string

func (f failure) Error() string { return string(f) }

func newSim(cat *catalog.Catalog, seed int) *sim {
	m := &sim{seed: seed, rnd: rand.New(rand.NewPCG(uint64(seed), 7)), cat: cat, faults: true, T: 1_000_000, trusted: true}
	m.codec = bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: cat, AllowJSON: true, NewID: func() string { return "m" }})
	m.robot, m.judge, m.disk = newRobot(m), newJudge(m), newDisk()
	m.methods = slices.Sorted(maps.Keys(cat.Operations))
	m.trusted = m.dice(4) != 0
	return m
}

func (m *sim) dice(n int) int {
	if !m.faults {
		return n - 1 // the last face is always the good one
	}
	return m.rnd.IntN(n)
}
func (m *sim) fault(oneIn int) bool       { return m.faults && m.rnd.IntN(oneIn) == 0 }
func (m *sim) coin() bool                 { return m.rnd.IntN(2) == 0 }
func (m *sim) between(lo, hi int64) int64 { return lo + m.rnd.Int64N(hi-lo+1) }
func (m *sim) note(f string, args ...any) {
	m.story = append(m.story, fmt.Sprintf("%10d ", m.T)+fmt.Sprintf(f, args...))
}
func (m *sim) failf(f string, args ...any) { panic(failure(fmt.Sprintf(f, args...))) }

// play runs one home from the first start to the last proof. It returns what a promise was broken by, or nil.
func (m *sim) play() (broken error) {
	defer func() {
		if p := recover(); p != nil {
			f, ours := p.(failure)
			if !ours {
				f = failure(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()))
			}
			broken = f
		}
	}()
	m.start()
	m.script()
	m.until(1_000_000 + 20*60_000)
	m.faults = false
	if !m.up {
		m.start()
	}
	m.robot.callIn()
	m.until(m.T + 3*3_600_000)
	m.judge.allEnded()
	m.epilogue()
	return nil
}

// script is what people, cloud and misfortune do in the first twenty minutes.
func (m *sim) script() {
	for i := range 1 + m.rnd.IntN(5) {
		m.at(m.between(0, 600_000), func() { m.submit(i) })
	}
	for range m.rnd.IntN(4) {
		m.at(m.between(0, 1_200_000), m.cancel)
	}
	for range m.rnd.IntN(4) {
		m.at(m.between(0, 1_100_000), m.kill)
	}
	for range m.rnd.IntN(3) {
		m.at(m.between(0, 1_200_000), func() {
			m.robot.reboot()
			m.at(m.between(10, 20_000), m.robot.callIn)
		})
	}
	for range m.rnd.IntN(3) {
		m.at(m.between(0, 1_200_000), func() {
			m.robot.hangUp()
			m.at(m.between(10, 20_000), m.robot.callIn)
		})
	}
	for range m.rnd.IntN(3) {
		m.at(m.between(0, 1_200_000), m.robot.byItself)
	}
	if m.dice(5) == 0 {
		m.at(m.between(0, 1_200_000), func() { m.tell(core.Observed{Event: "pui.cancelled", Source: "home"}) })
	}
}

// deeds is the queue of what is going to happen.
type deeds []coming
type coming struct {
	at    int64
	order int
	do    func()
}

func (q deeds) Len() int { return len(q) }
func (q deeds) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q deeds) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *deeds) Push(x any)   { *q = append(*q, x.(coming)) }
func (q *deeds) Pop() any {
	x := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return x
}

func (m *sim) at(after int64, do func()) {
	m.order++
	heap.Push(&m.queue, coming{m.T + after, m.order, do})
}

// until lets everything happen up to a moment.
func (m *sim) until(end int64) {
	for {
		next, tick := end+1, false
		if len(m.queue) > 0 {
			next = m.queue[0].at
		}
		if m.up {
			if wake := m.s.NextWake(); wake != 0 && max(m.T, int64(wake)+m.boot) < next {
				next, tick = max(m.T, int64(wake)+m.boot), true
			}
		}
		if next > end {
			m.T = end
			return
		}
		if next > m.T {
			m.T, m.atOnce = next, 0
		}
		if m.atOnce++; m.atOnce > 400 {
			m.failf("four hundred reductions in one moment")
		}
		if tick {
			m.do(core.Tick{})
			continue
		}
		heap.Pop(&m.queue).(coming).do()
		if len(m.inbox) > 0 && (len(m.inbox) > 3 || m.rnd.IntN(4) > 0 || len(m.queue) == 0 || m.queue[0].at > m.T) {
			m.drain()
		}
	}
}

// tell puts an event into the agent's inbox; nobody hears it while the agent is down.
func (m *sim) tell(ev core.Event) {
	if m.up {
		m.inbox = append(m.inbox, ev)
		life := m.life
		m.at(0, func() {
			if m.life == life {
				m.drain()
			}
		})
	}
}

func (m *sim) drain() {
	if evs := m.inbox; m.up && len(evs) > 0 {
		m.inbox = nil
		m.do(evs...)
	}
}

func (m *sim) now() core.Now {
	return core.Now{Boot: core.Instant(m.T - m.boot), BootID: fmt.Sprintf("boot-%d", m.bootNo), WallMS: 1_800_000_000_000 + m.T, Trusted: m.trusted, Seq: m.seq + 1}
}

// do reduces one batch as the Manager does: what need not wait, commit, adopt, what had to wait. The process may die between any
// two of them, and the disk may refuse.
func (m *sim) do(evs ...core.Event) {
	evs = append(m.again, evs...)
	m.again = nil
	for _, ev := range evs {
		if _, tick := ev.(core.Tick); !tick {
			text, _ := json.Marshal(ev)
			m.note("%s %s", core.KindOf(ev), text[:min(len(text), 220)])
		}
	}
	m.steps++
	now := m.now()
	c := m.reduce(now, evs)
	m.judge.change(c)
	for _, out := range c.Now {
		m.carry(out)
	}
	if c.Must && m.fault(150) {
		m.note("killed before the commit")
		m.kill()
		return
	}
	if c.Must && m.fault(100) {
		m.note("the disk refuses")
		m.s.Device.TaskNo = c.DeviceRow().TaskNo // ids that may have left are not used again
		m.again = evs
		m.at(1_000, func() { m.inbox = append(m.inbox, core.Tick{}); m.drain() })
		return
	}
	m.disk.write(c, m.s)
	m.seq += int64(len(evs))
	for _, mv := range c.Moves {
		m.note("  %s/%s%s %s → %s %s %s", mv.Workflow, mv.Step, mv.Effect, mv.From, mv.To, mv.Reason, mv.Task)
	}
	m.s = m.s.With(c)
	if c.Must {
		m.commits, m.wrote = m.commits+1, m.T
		m.disk.same(m)
	}
	m.judge.adopted(c)
	for _, s := range core.Audit(m.s, now) {
		m.failf("nothing can move it: %s", s)
	}
	if len(c.Outputs) > 0 && m.fault(150) {
		m.note("killed after the commit")
		m.kill()
		return
	}
	for _, out := range c.Outputs {
		m.carry(out)
	}
	for _, msg := range c.Outbox {
		if msg.StepDue != nil {
			m.cloud(*msg.StepDue)
		}
	}
}

func (m *sim) carry(out core.Output) {
	m.note("    > %T %+v", out, out)
	m.judge.output(out)
	m.robot.carry(out)
}

// reduce decides twice, and looks whether the state that was handed in is still the same.
func (m *sim) reduce(now core.Now, evs []core.Event) core.Change {
	look := m.rnd.IntN(6) == 0
	if !look {
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
	for _, wf := range m.s.Workflows {
		for i := range wf.Steps {
			if why := core.Why(m.s, now, wf, i); len(why) == 0 || why[0].Text == "" {
				m.failf("no answer why %s is %s", wf.Steps[i].ID, wf.Steps[i].State)
			}
		}
	}
	return c
}

// picture shows the whole state, private fields too.
func (m *sim) picture() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v %+v %v %v %v", m.s.Device, m.s.Known, m.s.Services, m.s.Tombs, m.s.Open())
	for _, id := range slices.Sorted(maps.Keys(m.s.Workflows)) {
		fmt.Fprintf(&b, "\n%+v", *m.s.Workflows[id])
	}
	return b.String()
}

// kill ends the agent's process as a power cut would, and starts it again some time later, maybe with the whole machine.
func (m *sim) kill() {
	if !m.up {
		return
	}
	m.note("agent killed")
	m.up = false
	m.life++
	m.inbox, m.again = nil, nil
	m.robot.there = false
	m.robot.line++
	after := m.between(100, 90_000)
	if m.coin() {
		m.bootNo++
		m.boot = m.T + m.between(1, after) - m.between(0, 200_000)
		m.trusted = m.dice(4) != 0
	}
	m.at(after, m.start)
}

// start begins a process on what the disk holds.
func (m *sim) start() {
	if m.up {
		return
	}
	m.up = true
	m.startNo++
	m.s = m.disk.load(m.cat)
	m.note("agent started, boot clock %d", m.T-m.boot)
	m.do(core.Started{StartNo: m.startNo})
	m.at(m.between(5, 5_000), m.robot.callIn)
}
