package dbus

import (
	"slices"
	"sync"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// A service with an interface of its own does not know our ids, nor keep what it said. So what is known of its tasks is kept here, for as
// long as the agent runs, and beyond the life of a connection.

// maxTasks bounds the tasks that are remembered of one service. The oldest that have ended are forgotten first.
const maxTasks = 256

type taskState int

const (
	calling taskState = iota // the call is not answered
	live                     // accepted; its end was not heard
	lost                     // whether it runs is not known: no answer, or signals may have been missed
	ended
	never // refused, or nobody got it: its id is sealed
)

// job is what is known of one task.
type job struct {
	id        core.TaskID
	method    catalog.Method
	spec      *catalog.DBusMap
	state     taskState
	instance  string
	handle    any    // the service's own id as it gave it; nil: not known
	key       string // its text
	paused    bool
	cancelled bool // a cancel was called
	end       *core.TaskEnded
	event     *core.Observed // the last event of the catalog that was about it
	seen      map[int]bool   // results by a property: it had another value since the call
	verdict   chan verdict   // where a signal accepts it
	sent      chan struct{}  // closed when its call is on its way
	answered  chan struct{}  // closed when its call is answered, or is not to be
	early     []core.Event   // what was said of it before that
}

type verdict struct {
	accepted bool
	reason   core.Reason
}

// memory is what is known of the tasks of one service.
type memory struct {
	mu    sync.Mutex
	jobs  map[core.TaskID]*job
	order []core.TaskID // as they came
	slots map[string]*job
	hung  map[catalog.ContextKey]time.Time // when the reading of a key got no answer
}

func newMemory() *memory {
	return &memory{jobs: map[core.TaskID]*job{}, slots: map[string]*job{}, hung: map[catalog.ContextKey]time.Time{}}
}

// slowTime is how long a key is left alone whose reading got no answer: the bus keeps a slot for each such call, and when they are too many
// the connection is made anew, which all services feel.
const slowTime = time.Minute

func (m *memory) slow(key catalog.ContextKey) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.hung[key]
	return ok && time.Since(at) < slowTime
}

func (m *memory) isSlow(key catalog.ContextKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hung[key] = time.Now()
}

// connect is called when an owner is there. It may be the one of before: then what it had in hand goes on, but its end may have been
// missed; and another owner has none of it.
func (m *memory) connect(instance string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.jobs {
		if j.state == calling || j.state == live {
			j.state = lost
		}
	}
	for _, j := range m.jobs {
		if j.instance != instance {
			j.handle, j.key = nil, "" // another owner may use the same id for something else
			m.leave(j)
		}
	}
}

// add notes a task that is to be called, or one of before that is found again. The lock is held, here and in all below.
func (m *memory) add(j *job) {
	j.verdict, j.sent, j.answered = make(chan verdict, 1), make(chan struct{}), make(chan struct{})
	j.seen = map[int]bool{}
	if j.state != calling {
		close(j.answered)
	}
	m.jobs[j.id] = j
	m.order = append(m.order, j.id)
	for i := 0; i < len(m.order) && len(m.order) > maxTasks; {
		if old := m.jobs[m.order[i]]; old.state < ended {
			i++
			continue
		}
		delete(m.jobs, m.order[i])
		m.order = slices.Delete(m.order, i, i+1)
	}
}

// byOf says by what a task is known after its call; "" where nothing is said of it then.
func byOf(m *catalog.DBusMap) string {
	if m.Task == nil {
		return ""
	}
	return m.Task.By
}

// slot names what a task excludes others from; ok is false where it excludes nobody.
func (j *job) slot() (name string, ok bool) {
	if byOf(j.spec) != catalog.DBusBySingle {
		return "", false
	}
	return j.spec.Task.Slot, true
}

// has says whether a task has its slot.
func (m *memory) has(j *job) bool {
	slot, ok := j.slot()
	return ok && m.slots[slot] == j
}

// finish notes the end of a task, and frees its slot.
func (m *memory) finish(j *job, how taskState) {
	j.state = how
	m.leave(j)
}

func (m *memory) leave(j *job) {
	if slot, _ := j.slot(); m.has(j) {
		delete(m.slots, slot)
	}
}

// byHandle finds the task that the service knows by an id; the last one, where the service uses an id twice. open: of those that have
// not ended.
func (m *memory) byHandle(key string, open bool) *job {
	for _, id := range slices.Backward(m.order) {
		if j := m.jobs[id]; j.handle != nil && j.key == key && (!open || j.state < ended) {
			return j
		}
	}
	return nil
}

// waits says whether a call is open whose reply will bring a handle.
func (m *memory) waits() bool {
	for _, j := range m.jobs {
		if j.state == calling && j.handle == nil && byOf(j.spec) == catalog.DBusByHandle {
			return true
		}
	}
	return false
}
