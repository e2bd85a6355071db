package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// holdKey is a holder as the judge knows it: who, of what.
type holdKey struct {
	kind  string // cloud, app, voice, pui
	scope string // all, workflow, step
	what  string // its target; of pui its cause
}

// pause is a wish to hold something, and later one to let it go.
func (c *cloud) pause(d dice, name string) {
	m := c.m
	if len(c.plans) == 0 {
		return
	}
	k := holdKey{[]string{"cloud", "app", "voice"}[d.IntN(3)], "workflow", string(c.some(d))}
	if j := m.moving(); j != nil && !d.oneIn(4) {
		k.what = string(m.judge.owner[j.task].wf)
	}
	switch d.IntN(6) {
	case 0:
		k.scope, k.what = "all", ""
	case 1:
		k.scope, k.what = "step", fmt.Sprintf("%s/s%d", k.what, d.IntN(3))
	}
	after := d.between(500, 150_000)
	if d.coin() {
		after = d.between(3_000, 25_000)
	}
	m.hit(Held, m.T+after, nil)
	c.control("pause", k, name)
	m.at(after, func() {
		if !m.happens(name + " let go") {
			return // somebody forgets it: in the end all is let go
		}
		c.control("resume", k, name+" let go")
	})
}

func (c *cloud) control(verb string, k holdKey, name string) {
	ev := core.ControlReceived{Head: core.Head{Msg: core.MessageID(verb + "-" + name), Hash: "h", SentMS: wallMS + c.m.T}, Verb: verb, Scope: k.scope, Target: k.what}
	if k.kind != "cloud" {
		ev.By = k.kind + ":somebody"
	}
	c.post(ev.Msg, ev)
}

// buttons are what a person does at the robot.
func (r *robot) buttons(d dice) {
	press, release := "pui.paused", "pui.resumed"
	if d.oneIn(3) {
		press, release = "pui.takeover", "pui.released"
	}
	after := d.between(500, 90_000)
	r.m.hit(HeldByButton, r.m.T+after, nil)
	r.press(press)
	r.m.at(after, func() { r.press(release) })
}

// press is a button: it is heard only while somebody listens.
func (r *robot) press(what string) {
	r.m.tell(core.Observed{Event: catalog.EventName(what), Source: "home"})
}

// letAllGo ends every hold that stands, as people would in the end: twice, for a wish may still be on its way.
func (m *home) letAllGo() {
	round := func(n int) {
		m.robot.press("pui.resumed")
		m.robot.press("pui.released")
		all := maps.Clone(m.judge.holds)
		all[holdKey{"app", "all", ""}] = true // and of an alarm that has passed
		for _, id := range m.s.Open() {       // what the robot paused by itself goes on by anybody's word
			all[holdKey{"cloud", "workflow", string(id)}] = true
		}
		for i, k := range slices.SortedFunc(maps.Keys(all), func(a, b holdKey) int { return cmp.Compare(a.kind+a.scope+a.what, b.kind+b.scope+b.what) }) {
			if k.kind != "pui" {
				m.cloud.control("resume", k, fmt.Sprintf("at the end %d.%d", n, i))
			}
		}
	}
	round(0)
	m.at(120_000, func() { round(1) })
	m.at(600_000, func() { round(2) })
}

// heldNow takes what a control did to the holders.
func (j *judge) heldNow(ev core.ControlReceived, a *core.Answer) {
	if !a.Accepted || ev.Before != nil || ev.Verb != "pause" && ev.Verb != "resume" {
		return
	}
	kind := "cloud"
	if len(ev.By) > 4 {
		kind = ev.By[:len(ev.By)-len(":somebody")]
	}
	k := holdKey{kind, ev.Scope, ev.Target}
	if ev.Verb == "pause" {
		j.holds[k] = true
	} else {
		if ev.Scope == "all" {
			j.letGoOn()
		}
		delete(j.holds, k)
	}
}

func (j *judge) buttonHeld(ev core.Observed) {
	switch ev.Event {
	case "pui.paused":
		j.holds[holdKey{"pui", "all", ""}] = true
	case "pui.takeover":
		j.holds[holdKey{"pui", "all", "takeover"}] = true
	case "pui.resumed":
		delete(j.holds, holdKey{"pui", "all", ""})
	case "pui.released":
		delete(j.holds, holdKey{"pui", "all", "takeover"})
	}
}

// holder names somebody who holds a step, "" where nobody does.
func (j *judge) holder(at stepRef) string {
	for k := range j.holds {
		if k.scope == "all" || k.scope == "workflow" && k.what == string(at.wf) || k.scope == "step" && k.what == at.String() {
			return k.kind + " of " + k.scope + " " + k.what
		}
	}
	return ""
}

// pause asks a task to rest.
func (r *robot) pause(o core.Pause) {
	m := r.m
	j := r.known[o.Task]
	no := func() {
		m.tell(core.StopAnswered{Task: o.Task, To: core.ToPause, Refused: true, Reason: "cannot_pause"})
	}
	if j == nil || j.over {
		no()
		return
	}
	r.asked[o.Task]++
	name := fmt.Sprintf("pause %s.%d", j.fate.name, r.asked[o.Task])
	d := m.stream(name)
	bad := d.IntN(6)
	if bad < 3 && !m.happens(name) {
		bad = 11
	}
	switch bad {
	case 0:
		m.hit(PauseLost, m.T+10_000, m.settled(j))
		return
	case 1:
		m.hit(PauseRefused, m.T+10_000, m.settled(j))
		no()
		return
	case 2: // says yes, and goes on
		m.hit(PauseIgnored, m.T+10_000, m.settled(j))
		m.tell(core.StopAnswered{Task: o.Task, To: core.ToPause, Accepted: true})
		return
	}
	j.pausing = true
	m.tell(core.StopAnswered{Task: o.Task, To: core.ToPause, Accepted: true})
	m.at(d.between(50, 2_500), func() {
		r.rest(j, d.coin())
		if d.oneIn(8) { // somebody brings it to its end by hand
			m.at(d.between(200, 8_000), func() { r.endAtRest(j, d.coin()) })
		}
	})
}

// rest stops the motion of a task that is to go on.
func (r *robot) rest(j *job, tells bool) {
	m := r.m
	if j.ended != 0 || j.resting || r.known[j.task] != j || j.stops {
		return
	}
	j.resting = true
	j.left, j.run = max(1, j.due-m.T), j.run+1 // its end comes later
	m.note("robot pauses %s", j.task)
	r.moving(j, false)
	if tells {
		r.say(0, core.TaskStatus{Task: j.task, Known: core.KnownRunning, Paused: true, Instance: r.name()})
	}
}

// endAtRest: a task ends while it is paused.
func (r *robot) endAtRest(j *job, well bool) {
	if !j.resting || j.ended != 0 || j.stops {
		return
	}
	how := core.OutcomeFailed
	if well {
		how = core.OutcomeDone
	}
	j.resting = false
	j.fate.fails = !well
	r.finish(j, how)
}

// resume lets it go on.
func (r *robot) resume(o core.Resume) {
	m := r.m
	j := r.known[o.Task]
	if j == nil || j.over {
		m.tell(core.StopAnswered{Task: o.Task, To: core.ToResume, Refused: true, Reason: "task_unknown"})
		return
	}
	r.asked[o.Task]++
	name := fmt.Sprintf("resume %s.%d", j.fate.name, r.asked[o.Task])
	d := m.stream(name)
	bad := d.IntN(3)
	if bad < 2 && !m.happens(name) {
		bad = 9
	}
	switch bad {
	case 0:
		m.hit(ResumeLost, m.T+10_000, m.settled(j))
		return
	case 1:
		m.hit(ResumeRefused, m.T+10_000, m.settled(j))
		m.tell(core.StopAnswered{Task: o.Task, To: core.ToResume, Refused: true, Reason: "cannot_resume"})
		return
	}
	m.tell(core.StopAnswered{Task: o.Task, To: core.ToResume, Accepted: true})
	m.at(d.between(20, 1_000), func() { r.goOn(j, d.coin()) })
}

func (r *robot) goOn(j *job, tells bool) {
	if j.ended != 0 || !j.resting || r.known[j.task] != j || j.stops {
		return
	}
	j.resting, j.pausing = false, false
	r.m.note("robot goes on with %s", j.task)
	r.moving(j, true)
	r.endIn(j, j.left)
	if tells {
		r.say(0, core.TaskStatus{Task: j.task, Known: core.KnownRunning, Resumed: true, Instance: r.name()})
	}
}

// moving sets what the sensors see of a task's motion.
func (r *robot) moving(j *job, on bool) {
	for _, res := range r.uses(j.call) {
		switch res {
		case "base":
			r.set("movement.is_moving", on)
		case "cleaner":
			r.set("cleaning.is_running", on)
		}
	}
}

// ownPause: the robot, or a person at it, pauses a task without being asked.
func (r *robot) ownPause(d dice) {
	m := r.m
	for _, res := range slices.Sorted(maps.Keys(r.motion)) {
		j := r.motion[res]
		if j == nil || j.task == "" || res == "vital" || j.resting || r.known[j.task] != j {
			continue
		}
		after := d.between(1_000, 60_000)
		m.hit(PausedByItself, m.T+after, nil)
		r.rest(j, true)
		m.at(after, func() { r.goOn(j, true) })
		return
	}
}
