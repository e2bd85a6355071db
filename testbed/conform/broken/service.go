package broken

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"

	"deviceagent/executors/dbus"
)

const (
	iface   = "org.deviceagent.Executor1"
	busName = "org.freedesktop.DBus"

	// Method is the operation: {"turns": 1 to 100}. It takes [Work].
	Method = "spin"
	// Work is how long a task takes: long enough to be cancelled on a slow machine.
	Work = 3 * time.Second
	tick = 150 * time.Millisecond
)

// Service is one such service on a bus. Its exported methods with the names of the interface are called by the bus.
type Service struct {
	address, name string
	path          godbus.ObjectPath
	f             faults

	mu       sync.Mutex
	conn     *godbus.Conn
	life     int // of the service; a restart begins the next
	tasks    map[string]*job
	order    []string
	turns    float64
	spinning bool
	seq      int64
	dull     bool // takes no task any more
	wg       sync.WaitGroup
}

// job is one task id.
type job struct {
	id        string
	turns     float64
	state     string // running, ended, sealed
	outcome   string
	did       time.Duration
	paused    bool
	cancelled bool
	odd       bool // refused, and runs all the same
}

// Serve puts a service on the bus at address, under name; its object is the name with slashes.
func Serve(address, name string, b Behaviour) (*Service, error) {
	s := &Service{address: address, name: name, path: godbus.ObjectPath("/" + strings.ReplaceAll(name, ".", "/")), tasks: map[string]*job{}}
	b.set(&s.f)
	return s, s.open()
}

func (s *Service) open() error {
	conn, err := godbus.Connect(s.address)
	if err != nil {
		return fmt.Errorf("cannot connect to the bus: %w", err)
	}
	table := map[string]any{"Invoke": s.Invoke, "Query": s.Query, "Cancel": s.Cancel, "Pause": s.Pause, "Resume": s.Resume, "Read": s.Read}
	for method, other := range s.f.replies {
		table[method] = other.(func(*Service) any)(s)
	}
	xml := dbus.Introspection
	if s.f.xml != nil {
		xml = s.f.xml(xml)
	}
	err = errors.Join(conn.ExportMethodTable(table, s.path, iface), conn.Export(introspect.Introspectable(xml), s.path, busName+".Introspectable"),
		conn.ExportMethodTable(map[string]any{"Get": s.get}, s.path, busName+".Properties"))
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	if reply, err := conn.RequestName(s.name, godbus.NameFlagDoNotQueue); err != nil || reply != godbus.RequestNameReplyPrimaryOwner {
		return errors.Join(fmt.Errorf("cannot take the name %s: %w", s.name, err), conn.Close())
	}
	return nil
}

// Close ends the service.
func (s *Service) Close() {
	s.mu.Lock()
	s.life++
	s.conn.Close()
	s.mu.Unlock()
	s.wg.Wait()
}

// Restart is what a crash and a new start leave: the tasks that ran are cut off, what was on disk is known.
func (s *Service) Restart() error {
	s.mu.Lock()
	s.life++
	s.conn.Close()
	s.spinning = s.f.restartSpins
	s.dull = s.f.restartRefuses
	var goesOn []*job
	for _, id := range s.order {
		j := s.tasks[id]
		switch {
		case j == nil:
		case s.f.restartForgets:
			delete(s.tasks, id)
		case j.state == "running" && !s.f.restartRuns:
			j.state, j.outcome = "ended", "failed"
			if s.f.restartGoesOn {
				goesOn = append(goesOn, j)
			}
		case j.state == "ended" && s.f.restartAlters:
			j.outcome = "failed"
		case j.state == "sealed" && s.f.restartUnseals:
			delete(s.tasks, id)
		}
	}
	s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range goesOn {
		j.odd = true
		s.begin(j)
	}
	return nil
}

func (s *Service) get(_, name string) (godbus.Variant, *godbus.Error) {
	if name != "Health" {
		return godbus.Variant{}, godbus.NewError(busName+".Error.UnknownProperty", nil)
	}
	if s.f.health != nil {
		return godbus.MakeVariant(s.f.health), nil
	}
	return godbus.MakeVariant("ok"), nil
}

// deaf blocks a call that is not answered, or not yet. It holds no lock.
func (s *Service) deaf(call string) {
	if slices.Contains(s.f.silent, call) {
		s.mu.Lock()
		gone := s.conn.Context().Done()
		s.mu.Unlock()
		<-gone
	}
	if s.f.blocks && s.busy() {
		time.Sleep(3 * Work)
	}
}

func (s *Service) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(slices.Collect(maps.Values(s.tasks)), func(j *job) bool { return j.state == "running" })
}

// emit says a signal. The lock is held, so that signals keep their order.
func (s *Service) emit(member string, body ...any) {
	if s.f.alter != nil {
		body = s.f.alter(member, body)
	}
	path := s.path
	if member == "Feedback" {
		path += godbus.ObjectPath(s.f.feedbackPath)
	}
	_ = s.conn.Emit(path, iface+"."+member, body...) // a service that was cut off is not heard
}

// Invoke starts a task.
func (s *Service) Invoke(id, method string, params map[string]godbus.Variant) (bool, string, *godbus.Error) {
	s.deaf("Invoke")
	time.Sleep(s.late(id, method, params))
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.tasks[id]; j != nil {
		return s.again(j)
	}
	turns, fault := readTurns(method, params)
	j := &job{id: id, turns: turns, state: "running"}
	switch {
	case fault != "" && s.f.errorInstead != "":
		return false, "", godbus.NewError(s.f.errorInstead, []any{fault})
	case fault != "" && s.f.runRefused:
		j.odd = true
		s.begin(j)
		return false, fault, nil
	case fault != "" && !s.f.takeAll:
		if s.f.sentence != "" {
			fault = s.f.sentence
		}
		return false, fault, nil
	case s.f.refuseAll || s.dull:
		return false, "robot_fault", nil
	}
	s.keep(j)
	if s.f.atOnce {
		s.finish(j, "done")
		return !s.f.earlyNo, "", nil
	}
	s.begin(j)
	return true, "", nil
}

// late is how long the answer to the first good task waits; the others are answered at once, or a run would take minutes.
func (s *Service) late(id, method string, params map[string]godbus.Variant) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, fault := readTurns(method, params); fault == "" && s.tasks[id] == nil {
		wait, s.f.answerLate = s.f.answerLate, 0
	}
	return wait
}

func (s *Service) keep(j *job) {
	s.tasks[j.id] = j
	s.order = append(s.order, j.id)
}

// again answers for an id that is known.
func (s *Service) again(j *job) (bool, string, *godbus.Error) {
	switch {
	case j.state == "sealed" && s.f.sealForgotten:
		j.state = "running"
		s.begin(j)
		return true, "", nil
	case j.state == "sealed":
	case s.f.twiceRuns && j.state == "ended":
		j.state, j.did = "running", 0
		s.begin(j)
		return true, "", nil
	case s.life > 0 && (s.f.restartTakes && j.outcome == "failed" || s.f.restartRepeats && j.outcome == "done"):
		return true, "", nil
	case s.f.twiceYes, s.f.endedYes && j.state == "ended":
		return true, "", nil
	}
	return false, "task_known", nil
}

func readTurns(method string, params map[string]godbus.Variant) (turns float64, fault string) {
	if method != Method {
		return 0, "unknown_method"
	}
	n, ok := params["turns"].Value().(int64)
	if !ok || n < 1 || n > 100 {
		return 0, "input_invalid"
	}
	return float64(n), ""
}

// begin lets a task run. The lock is held.
func (s *Service) begin(j *job) {
	s.spinning = true
	life := s.life
	if s.f.crashes {
		s.f.crashes = false
		s.wg.Go(func() {
			time.Sleep(4 * tick)
			if s.lives(life) {
				_ = s.Restart() // a bus that is gone ends the test by itself
			}
		})
	}
	s.wg.Go(func() {
		for s.work(j, life) {
			time.Sleep(tick)
		}
	})
}

func (s *Service) lives(life int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life == life
}

// work does a tick's worth of a task; false: there is nothing left to do.
func (s *Service) work(j *job, life int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.life != life || j.state != "running" && !j.odd:
		return false
	case j.cancelled && j.did >= Work:
		s.cancelled(j)
		return false
	case j.paused && !s.f.pauseGoesOn:
		return true
	case s.f.lies || j.did >= Work:
		s.finish(j, "done")
		return false
	}
	j.did += tick
	percent := max(0, min(100, 100*j.did.Seconds()/Work.Seconds()))
	if s.f.percent != 0 {
		percent = s.f.percent
	}
	for range max(s.f.flood, 1) {
		s.emit("Feedback", j.id, percent, "")
	}
	return true
}

// cancelled ends a task that was cancelled. The lock is held.
func (s *Service) cancelled(j *job) {
	outcome := "cancelled"
	if s.f.cancelDone {
		outcome = "done"
	}
	j.state, j.outcome = "ended", outcome
	s.spinning = s.f.cancelSpins
	s.emit("Result", j.id, outcome, "", map[string]godbus.Variant{})
	if s.f.cancelGoesOn {
		s.emit("Feedback", j.id, 50.0, "")
	}
}

// finish ends a task. The lock is held.
func (s *Service) finish(j *job, outcome string) {
	if j.odd {
		j.odd, s.spinning = false, false
		s.emit("Result", j.id, outcome, "", map[string]godbus.Variant{})
		return
	}
	s.spinning = false
	j.state, j.outcome = "ended", outcome
	if outcome == "done" && !s.f.lies {
		s.saw(j)
	}
	if s.f.noResult {
		return
	}
	s.emit("Result", j.id, outcome, "", map[string]godbus.Variant{})
	if s.f.afterEnd {
		s.emit("Feedback", j.id, 100.0, "")
	}
	if s.f.again != "" {
		s.wg.Go(func() {
			time.Sleep(tick)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.emit("Result", j.id, s.f.again, "", map[string]godbus.Variant{})
		})
	}
}

// saw is what the sensor says of a task that was done.
func (s *Service) saw(j *job) {
	if !s.f.noContext {
		s.turns = j.turns
	}
	if s.f.noEvent {
		return
	}
	if !s.f.seqBack || s.seq == 0 {
		s.seq++
	}
	task, class, turns := j.id, "independent", j.turns
	if s.f.eventTask != nil {
		task = s.f.eventTask(j.id)
	}
	if s.f.class != "" {
		class = s.f.class
	}
	if s.f.otherTurns {
		turns++
	}
	fields := map[string]godbus.Variant{"resource": godbus.MakeVariant("wheel"), "source": godbus.MakeVariant("wheel_sensor"), "source_class": godbus.MakeVariant(class),
		"seq": godbus.MakeVariant(s.seq), "data": godbus.MakeVariant(map[string]godbus.Variant{"turns": godbus.MakeVariant(turns)})}
	if task != "" {
		fields["task_id"] = godbus.MakeVariant(task)
	}
	s.emit("Event", "wheel.spun", fields)
	if s.f.beside != nil {
		s.f.beside(s)
	}
}

// Query tells what became of a task.
func (s *Service) Query(id string) (string, map[string]godbus.Variant, *godbus.Error) {
	s.deaf("Query")
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.tasks[id]
	if j == nil && s.f.queryOpen {
		return "unknown", map[string]godbus.Variant{}, nil
	}
	if j == nil {
		j = &job{id: id, state: "sealed", turns: 1}
		s.keep(j)
	}
	switch {
	case j.state == "sealed" || j.state == "running" && (s.f.queryUnknown || s.f.pausedUnknown && j.paused):
		return "unknown", map[string]godbus.Variant{"sealed": godbus.MakeVariant(true)}, nil
	case j.state == "running":
		return "running", map[string]godbus.Variant{"paused": godbus.MakeVariant(j.paused && !s.f.pauseUntold)}, nil
	}
	outcome := j.outcome
	if s.f.queryOther {
		outcome = "failed"
	}
	return "ended", map[string]godbus.Variant{"outcome": godbus.MakeVariant(outcome), "reason": godbus.MakeVariant("")}, nil
}

// Cancel asks for the end of a task.
func (s *Service) Cancel(id, _ string) (bool, string, *godbus.Error) {
	s.deaf("Cancel")
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.tasks[id]
	if j == nil || j.state != "running" {
		return false, "not_running", nil
	}
	switch {
	case s.f.bare:
		return false, "not_supported", nil
	case s.f.cancelRefused:
		return false, "robot_fault", nil
	case s.f.cancelIgnored:
	default:
		j.cancelled, j.paused, j.did = true, false, Work-s.f.cancelSlow
	}
	return true, "", nil
}

// Pause holds a task.
func (s *Service) Pause(id string) (bool, string, *godbus.Error) {
	s.deaf("Pause")
	return s.hold(id, true)
}

// Resume lets it go on.
func (s *Service) Resume(id string) (bool, string, *godbus.Error) {
	s.deaf("Resume")
	return s.hold(id, false)
}

func (s *Service) hold(id string, paused bool) (bool, string, *godbus.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.tasks[id]
	if j == nil || j.state != "running" || j.paused == paused {
		return false, "not_running", nil
	}
	if s.f.bare || paused && s.f.pauseRefused {
		return false, "not_supported", nil
	}
	if !paused && s.f.resumeRefused {
		return false, "robot_fault", nil
	}
	j.paused, s.spinning = paused, !paused || s.f.pauseSpins
	if !(paused && s.f.pauseMute || !paused && s.f.resumeMute) {
		s.emit("Held", id, paused)
	}
	if !paused && s.f.resumeFails {
		s.finish(j, "failed")
	}
	return true, "", nil
}

// Read reads context values.
func (s *Service) Read(keys []string) (map[string]godbus.Variant, *godbus.Error) {
	s.deaf("Read")
	s.mu.Lock()
	defer s.mu.Unlock()
	have := map[string]godbus.Variant{"wheel.turns": godbus.MakeVariant(s.turns), "wheel.spinning": godbus.MakeVariant(s.spinning), "wheel.grip": godbus.MakeVariant(0.5)}
	maps.Copy(have, s.f.values)
	out := map[string]godbus.Variant{}
	for _, k := range keys {
		v, there := have[k]
		if !there && s.f.readError {
			return nil, godbus.NewError("com.example.Error.NoSuchKey", []any{k})
		}
		if there {
			out[k] = v
		}
	}
	if s.f.readMore {
		out["wheel.colour"] = godbus.MakeVariant("red")
	}
	return out, nil
}

func cutFrom(from, to string) func(string) string {
	return func(text string) string {
		i, j := strings.Index(text, from), strings.Index(text, to)
		if i < 0 || j < i {
			panic("internal error: " + from + " is not in the introspection")
		}
		return text[:i] + text[j:]
	}
}

func replaced(was, is string) func(string) string {
	return func(text string) string {
		if !strings.Contains(text, was) {
			panic("internal error: " + was + " is not in the introspection")
		}
		return strings.Replace(text, was, is, 1)
	}
}
