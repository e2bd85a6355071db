package sim

import (
	"fmt"
	"maps"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// robot is the home of the simulation: wheels, a cleaner, a screen, and the service that answers for them. What it does is written in
// its own log, which knows nothing of the core; the judge believes that log alone.
type robot struct {
	m        *home
	instance int
	there    bool // connected to the agent
	line     int  // of the connection: what was sent on an earlier one never arrives
	known    map[core.TaskID]*job
	sealed   map[core.TaskID]bool
	log      map[core.TaskID]*job // of all time
	motion   map[catalog.ResourceID]*job
	values   map[catalog.ContextKey]any
	changed  map[catalog.ContextKey]int64 // when somebody else changed it
	asked    map[core.TaskID]int          // stops and queries so far
	shots    []shot

	hangs, blind, silent int64 // until when it answers nothing, has no readings, does not answer reads
}

// job is one task as the robot knows it.
type job struct {
	task   core.TaskID
	call   core.Dispatch
	fate   fate
	began  int64 // 0: never
	ended  int64 // of its motion
	effect int64 // when its effect came about, 0: never
	over   bool  // the service counts it as ended
	end    *core.TaskEnded
	event  *core.Observed // as a Query tells it
	room   any            // where it goes
	stops  bool

	due     int64 // when its motion ends, if nothing comes between
	left    int64 // of a task that rests
	run     int   // an end that was planned before a pause is none
	resting bool
	pausing bool // it said yes to a pause
}

// fate is what becomes of one call and its callbacks. All of it is drawn at once, so that the rest stays as it is where somebody
// leaves one part out.
type fate struct {
	dice
	name     string
	call     Fault // "": all is well
	long     int64 // how long it takes
	after    int64
	twice    bool // the answer comes twice
	fails    bool
	passing  bool // its failure would pass by itself
	hangs    bool
	mute     bool
	lost     bool
	again    bool
	late     bool
	afterEnd bool
	noRecord bool // a Query does not tell its event
	noEnd    bool
	endTwice bool
	opposite bool
}

// calls are what may become of a call, each as likely as the other.
var calls = []Fault{CallRefused, CallLost, CallLate, CallNotSent, CallUnclear, AnswerLost, AnswerLate, LiesDone, LiesRoom}

func (m *home) fateOf(o core.Dispatch) fate {
	name := m.judge.nameOf(o.Task)
	d := m.stream("call " + name)
	f := fate{dice: d, name: name, after: d.between(5, 100), long: d.between(0, 1_000)}
	if i := d.IntN(40); i < len(calls) {
		f.call = calls[i]
	} else if o.Method == "setMoveTo" && i < len(calls)+2 {
		f.call = LiesRoom
	}
	f.fails, f.hangs, f.passing, f.twice = d.oneIn(14), d.oneIn(20), d.coin(), d.oneIn(20)
	f.mute, f.lost, f.again, f.late, f.afterEnd = d.oneIn(12), d.oneIn(20), d.oneIn(16), d.oneIn(20), d.oneIn(24)
	f.noRecord, f.noEnd, f.endTwice, f.opposite = d.oneIn(4), d.oneIn(16), d.oneIn(20), d.oneIn(24)
	if (f.call != "" || f.fails || f.hangs || f.twice) && !m.happens("call "+name) {
		f.call, f.fails, f.hangs, f.twice = "", false, false, false
	}
	if (f.mute || f.lost || f.again || f.late || f.afterEnd || f.noEnd || f.endTwice || f.opposite) && !m.happens("callbacks "+name) {
		f.mute, f.lost, f.again, f.late, f.afterEnd, f.noEnd, f.endTwice, f.opposite = false, false, false, false, false, false, false, false
	}
	if f.mute { // who names no task must not repeat itself, nor be late: nobody could tell
		f.again, f.late = false, false
	}
	return f
}

func newRobot(m *home) *robot {
	return &robot{m: m, instance: 1, known: map[core.TaskID]*job{}, sealed: map[core.TaskID]bool{}, log: map[core.TaskID]*job{}, asked: map[core.TaskID]int{},
		motion: map[catalog.ResourceID]*job{}, changed: map[catalog.ContextKey]int64{}, values: map[catalog.ContextKey]any{
			"battery.level": 80.0, "battery.charging": false, "cleaning.is_running": false, "display.brightness": 80.0, "sound.volume": 50.0,
			"sound.muted": false, "mode.night": false, "mode.manner": false, "movement.location": "study", "movement.is_moving": false,
			"station.docked": false, "air.pm25": 12.0, "air.grade": "good", "safety.state": "normal"}}
}

// calm: from now on it answers, and what would go on for ever ends by itself.
func (r *robot) calm() {
	r.hangs, r.blind, r.silent = 0, 0, 0
	r.set("safety.state", "normal")
	r.m.at(60_000, func() {
		r.charge(90, true)
		r.charge(90, false)
		for _, ev := range []catalog.EventName{"safety.released", "robot.placed"} {
			r.m.tell(core.Observed{Event: ev, Source: "home"})
		}
	})
	for _, res := range slices.Sorted(maps.Keys(r.motion)) {
		if j := r.motion[res]; j.fate.hangs || r.known[j.task] != j {
			r.m.at(5_000, func() { r.finish(j, core.OutcomeFailed) })
		}
	}
}

func (r *robot) name() string { return fmt.Sprintf("run-%d", r.instance) }

// say tells the agent something after a while, unless the line breaks before.
func (r *robot) say(after int64, ev core.Event) {
	line := r.line
	r.m.at(after, func() {
		if r.line == line && r.there {
			r.m.tell(ev)
		}
	})
}

// carry takes an output of the core.
func (r *robot) carry(out core.Output) {
	m := r.m
	if !r.there {
		r.nobody(out)
		return
	}
	line := r.line
	alive := func(f func()) func() {
		return func() {
			if r.line == line && r.there {
				f()
			}
		}
	}
	hang := max(0, r.hangs-m.T)
	switch o := out.(type) {
	case core.Dispatch:
		r.dispatch(o, hang, alive)
	case core.Query:
		if d, lost := r.question(o.Task, "query", QueryLost, 8); !lost {
			m.at(hang+d.between(5, 100), alive(func() { r.query(o) }))
		}
	case core.Stop:
		if d, lost := r.question(o.Task, "stop", StopLost, 8); !lost {
			m.at(hang+d.between(5, 100), alive(func() { r.stop(o, d) }))
		}
	case core.Pause:
		m.at(hang+5+int64(m.whim(95, 12)), alive(func() { r.pause(o) }))
	case core.Resume:
		m.at(hang+5+int64(m.whim(95, 13)), alive(func() { r.resume(o) }))
	case core.Read:
		if m.T >= r.silent {
			m.at(hang+5+int64(m.whim(95, 11)), alive(func() { m.tell(r.read(o.Keys, m.T >= r.blind)) }))
		}
	}
}

// question draws what becomes of a stop or a query.
func (r *robot) question(task core.TaskID, what string, lost Fault, oneIn int) (dice, bool) {
	r.asked[task]++
	name := fmt.Sprintf("%s %s.%d", what, r.m.judge.nameOf(task), r.asked[task])
	d := r.m.stream(name)
	if d.oneIn(oneIn) && r.m.happens(name) {
		over := func() bool { return true }
		if j := r.log[task]; j != nil {
			over = r.m.settled(j)
		}
		r.m.hit(lost, r.m.T+10_000, over)
		return d, true
	}
	return d, false
}

// nobody answers a call whose service is not there.
func (r *robot) nobody(out core.Output) {
	m := r.m
	switch o := out.(type) {
	case core.Dispatch:
		m.at(1, func() { m.tell(core.TaskAnswered{Task: o.Task, NotSent: true, Reason: core.ReasonExecutorUnavail}) })
	case core.Query:
		m.at(1, func() { m.tell(core.TaskStatus{Task: o.Task, Known: core.KnownNoAnswer}) })
	case core.Stop:
		m.at(1, func() { m.tell(core.StopAnswered{Task: o.Task, Reason: core.ReasonExecutorUnavail}) })
	case core.Pause:
		m.at(1, func() { m.tell(core.StopAnswered{Task: o.Task, To: core.ToPause, Reason: core.ReasonExecutorUnavail}) })
	case core.Resume:
		m.at(1, func() { m.tell(core.StopAnswered{Task: o.Task, To: core.ToResume, Reason: core.ReasonExecutorUnavail}) })
	case core.Read:
		m.at(1, func() { m.tell(r.read(o.Keys, false)) })
	}
}

func (r *robot) read(keys []catalog.ContextKey, there bool) core.ContextRead {
	ev := core.ContextRead{Source: "home"}
	for _, k := range keys {
		v, ok := r.values[k]
		if !there || !ok {
			ev.Values = append(ev.Values, core.ContextValue{Key: k})
			continue
		}
		ev.Values = append(ev.Values, core.ContextValue{Key: k, Value: v, Available: true})
	}
	return ev
}

// dispatch: the call goes out, and its fate says what becomes of it.
func (r *robot) dispatch(o core.Dispatch, hang int64, alive func(func()) func()) {
	m := r.m
	f := m.fateOf(o)
	j := &job{task: o.Task, call: o, fate: f, room: o.Params["position"]}
	after := hang + f.after
	if f.call == LiesRoom && o.Method != "setMoveTo" {
		f.call = LiesDone
	}
	if f.call != "" {
		m.hit(f.call, m.T+1, m.settled(j))
	}
	if f.twice {
		m.hit(AnswerTwice, m.T+2_000, nil)
	}
	unknown := func() { r.say(30_000, core.TaskAnswered{Task: o.Task, Unknown: true}) }
	begin := func(answer bool) func() { return alive(func() { r.begin(j, answer) }) }
	switch f.call {
	case CallRefused:
		m.at(hang+f.between(5, 2_000), alive(func() {
			m.tell(core.TaskAnswered{Task: o.Task, Reason: []core.Reason{"executor_refused", "prerequisite_unmet"}[f.IntN(2)]})
		}))
	case CallLost:
		unknown()
	case AnswerLost: // it runs
		m.at(after, begin(false))
		unknown()
	case CallLate:
		m.at(f.between(1_000, 20_000), begin(true))
	case AnswerLate:
		m.at(after, begin(false))
		r.say(f.between(2_000, 20_000), core.TaskAnswered{Task: o.Task, Accepted: true, Instance: r.name()})
	case CallNotSent:
		m.at(hang+f.between(5, 2_500), alive(func() { m.tell(core.TaskAnswered{Task: o.Task, NotSent: true, Reason: core.ReasonExecutorBusy}) }))
	case CallUnclear:
		if f.coin() {
			m.at(after, begin(false))
		}
		r.say(hang+f.between(110, 2_000), core.TaskAnswered{Task: o.Task, Unknown: true})
	case LiesDone:
		j.over, j.end = true, &core.TaskEnded{Task: o.Task, Outcome: core.OutcomeDone}
		r.log[o.Task], r.known[o.Task] = j, j
		r.say(after, core.TaskAnswered{Task: o.Task, Accepted: true, Instance: r.name()})
		r.say(after+f.between(0, 5_000), *j.end)
	default:
		if f.call == LiesRoom {
			j.room = rooms[(slices.Index(rooms, fmt.Sprint(j.room))+1)%len(rooms)]
		}
		m.at(after, begin(true))
	}
}

func (r *robot) query(o core.Query) {
	j := r.known[o.Task]
	st := core.TaskStatus{Task: o.Task, Instance: r.name()}
	switch {
	case j == nil:
		r.sealed[o.Task] = true
		st.Known, st.Sealed = core.KnownNot, true
	case j.over:
		st.Known, st.Ended, st.Event = core.KnownEnded, j.end, j.event
	default:
		st.Known, st.Paused = core.KnownRunning, j.resting
	}
	r.m.tell(st)
}

func (r *robot) stop(o core.Stop, d dice) {
	m := r.m
	j := r.known[o.Task]
	if j == nil {
		m.tell(core.StopAnswered{Task: o.Task, Refused: true, Reason: "task_unknown"})
		return
	}
	bad := d.IntN(6)
	if j.resting || j.pausing {
		bad = 9 // who rests and says that it stops has nothing to ignore
	}
	if name := fmt.Sprintf("stopping %s.%d", j.fate.name, r.asked[o.Task]); bad < 2 && !m.happens(name) {
		bad = 9
	}
	switch bad {
	case 0:
		m.hit(StopRefused, m.T+1, m.settled(j))
		m.tell(core.StopAnswered{Task: o.Task, Refused: true, Reason: core.ReasonCancelRefused})
		return
	case 1:
		m.hit(StopIgnored, m.T+1, m.settled(j))
		m.tell(core.StopAnswered{Task: o.Task, Accepted: true})
		return
	}
	m.tell(core.StopAnswered{Task: o.Task, Accepted: true})
	if !j.over && j.ended == 0 {
		j.stops = true
		m.at(d.between(100, 3_000), func() { r.finish(j, core.OutcomeCancelled) })
	}
}

// restart is a new start of the robot's service: it knows no task of before. A motion under way stops, or goes on by itself; what no
// sensor can see ends with the service.
func (r *robot) restart(why string) {
	r.m.note("robot service restarts %s", why)
	r.hangUp()
	r.instance++
	for _, res := range slices.Sorted(maps.Keys(r.motion)) {
		if j := r.motion[res]; j != nil && (res == "vital" || j.resting || r.m.whim(2, r.instance) == 0) {
			j.stops = true
			r.finish(j, core.OutcomeCancelled)
		}
	}
	r.known, r.sealed = map[core.TaskID]*job{}, map[core.TaskID]bool{}
}

// forget loses a task that was accepted, without a restart.
func (r *robot) forget() bool {
	for _, id := range slices.Sorted(maps.Keys(r.known)) {
		j := r.known[id]
		// Who forgets what it has just said yes to breaks its word: "volatile" means that it knows its tasks as long as it lives. What
		// the agent has on disk about it must be enough all the same.
		if !j.over && j.began != 0 && r.m.disk.accepted(r.m.judge.owner[id], id) {
			r.m.hit(ServiceForgets, r.m.T+1, r.m.settled(j))
			r.m.note("robot forgets %s", id)
			delete(r.known, id)
			if len(r.uses(j.call)) == 0 || r.motion["vital"] == j || j.resting {
				j.stops = true
				r.finish(j, core.OutcomeCancelled) // what no sensor can see ends with being forgotten
			}
			return true
		}
	}
	return false
}

// hangUp breaks the line to the agent; callIn makes a new one.
func (r *robot) hangUp() {
	if r.there {
		r.there = false
		r.m.tell(core.ExecutorDown{Service: "home"})
	}
	r.line++
}

func (r *robot) callIn() {
	if r.there || !r.m.open {
		return
	}
	r.there = true
	r.line++
	r.m.tell(core.ExecutorUp{Service: "home", Instance: r.name(), Methods: r.m.methods})
}

// confused says once more something of a task that is not the truth of this moment, but does no harm to anybody who listens well: what
// is over or known cannot be undone. An executor that calls what runs refused or done breaks its word, and nobody could help.
func (r *robot) confused(d dice) {
	if task, ok := r.someTask(d); ok {
		r.confuse(task, d)
	}
}

func (r *robot) confuse(task core.TaskID, d dice) {
	m := r.m
	if !r.there {
		return
	}
	says := r.outOfPlace(task)
	m.hit(Confused, m.T+5_000, nil)
	ev := says[d.IntN(len(says))]
	if st, ok := ev.(core.TaskStatus); ok && st.Sealed {
		r.sealed[task] = true
	}
	m.tell(ev)
}

// outOfPlace lists what may be said of a task by a confused executor.
func (r *robot) outOfPlace(task core.TaskID) []core.Event {
	m := r.m
	j, heard := r.log[task], m.judge.saysEnd[task]
	says := []core.Event{core.TaskProgress{Task: task, Percent: 40}, core.TaskStatus{Task: task, Known: core.KnownNoAnswer}, core.TaskProgress{Task: task, Percent: 60},
		core.StopAnswered{Task: task, Refused: true, Reason: core.ReasonCancelRefused}}
	if j == nil || !j.resting { // of what rests nobody could see that it was not stopped
		says = append(says, core.StopAnswered{Task: task, Accepted: true})
	}
	paused, goesOn := core.TaskStatus{Task: task, Known: core.KnownRunning, Paused: true, Instance: r.name()}, core.TaskStatus{Task: task, Known: core.KnownRunning, Resumed: true, Instance: r.name()}
	never, runs := core.TaskStatus{Task: task, Known: core.KnownNot, Sealed: true, Instance: r.name()}, core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: r.name()}
	if j == nil {
		return append(says, never) // it has not come, and will be refused if it does
	}
	if j.began == 0 {
		return says
	}
	if state := m.judge.told[m.judge.owner[task]]; heard || state == core.Running || state == core.Paused {
		says = append(says, core.TaskAnswered{Task: task, Reason: core.ReasonExecutorRefused}, core.TaskAnswered{Task: task, Unknown: true},
			core.TaskAnswered{Task: task, NotSent: true, Reason: core.ReasonExecutorBusy}, core.TaskAnswered{Task: task, Accepted: true, Instance: r.name()})
	}
	if !j.over && j.resting {
		return append(says, paused)
	} else if !j.over {
		return append(says, runs, goesOn)
	}
	if heard {
		says = append(says, runs, never, paused, goesOn, core.TaskEnded{Task: task, Outcome: core.OutcomeDone}, core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: "robot_fault"},
			core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
		if j.event != nil {
			says = append(says, *j.event)
		}
		if j.call.Method == "startBasicAirClear" && j.effect != 0 {
			started := core.Observed{Event: "cleaning.started", Task: task, Source: "home"}
			says = append(says, started, started, started, started) // the one proof that a failed try can leave
		}
	}
	return says
}

// moved: now and then somebody is confused right after a step has gone on.
func (r *robot) moved(at stepRef, to core.StepState) {
	tries := r.m.judge.tries[at]
	if len(tries) == 0 || r.m.calm || to == core.Running || to == core.Completed {
		return
	}
	name := fmt.Sprintf("confused %s %s.%d", at, to, len(tries))
	times, oneIn := 1, 6
	if to == core.Satisfied || to == core.Skipped || to == core.RetryWait { // few of them had a task
		times, oneIn = 4, 2
	}
	if d := r.m.stream(name); d.oneIn(oneIn) && r.m.happens(name) {
		for range times {
			r.m.at(d.between(1, 400), func() { r.confuse(tries[len(tries)-1], d) })
		}
	}
}

// someTask picks a task of a plan that goes on. Each state of its step is as likely as the others, however rare it is.
func (r *robot) someTask(d dice) (core.TaskID, bool) {
	j := r.m.judge
	by := map[core.StepState][]core.TaskID{}
	for _, p := range r.m.cloud.plans {
		if id := p.Plan.Workflow; j.plans[id] != nil && r.m.s.Workflows[id] != nil {
			for _, s := range j.plans[id].Steps {
				at := stepRef{id, s.ID}
				if n := len(j.tries[at]); n > 0 {
					by[j.told[at]] = append(by[j.told[at]], j.tries[at][n-1])
				}
			}
		}
	}
	if len(by) == 0 {
		return "", false
	}
	states := slices.Sorted(maps.Keys(by))
	tasks := by[states[d.IntN(len(states))]]
	return tasks[d.IntN(len(tasks))], true
}

// foreign says something about tasks that nobody has, or in the name of a service that has nothing to do with a task.
func (r *robot) foreign(d dice, name string) {
	m := r.m
	if !r.there {
		return
	}
	m.hit(Foreign, m.T+1_000, nil)
	none := core.TaskID("t-foreign-" + name)
	var live core.TaskID
	for _, id := range slices.Sorted(maps.Keys(r.known)) {
		if !r.known[id].over {
			live = id
		}
	}
	switch d.IntN(8) {
	case 0:
		m.tell(core.TaskEnded{Task: none, Outcome: core.OutcomeDone})
	case 1:
		m.tell(core.TaskAnswered{Task: none, Accepted: true, Instance: r.name()})
	case 2:
		m.tell(core.Observed{Event: "movement.arrived", Task: none, Source: "home", Data: core.Values{"room_id": d.room()}})
	case 3:
		m.tell(core.StopAnswered{Task: none, Accepted: true})
	case 4:
		m.tell(core.TaskStatus{Task: none, Known: core.KnownRunning, Instance: r.name()})
	case 5:
		if live != "" {
			m.tell(core.TaskEnded{Task: live, Outcome: core.OutcomeDone, Source: "intruder"})
		}
	case 6:
		m.tell(core.TaskProgress{Task: none, Percent: 50})
	case 7:
		if live != "" {
			m.tell(core.TaskProgress{Task: live, Percent: 50})
		}
	}
}
