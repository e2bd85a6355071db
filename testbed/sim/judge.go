package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// judge holds what happened against the promises. Of the core it uses what goes in and comes out: events, dispatches, reports, and
// what those who watch are told of each step. What is true in the home it takes from the robot's own log. The state of the agent is
// read in three places only: after a cut, where it is held against what was acknowledged; for what could move a step; and for its
// answer to "why".
type judge struct {
	m     *home
	owner map[core.TaskID]stepRef
	tries map[stepRef][]core.TaskID
	plans map[core.WorkflowID]*core.Plan // those that were accepted

	accepted   map[core.WorkflowID]bool
	sentAt     map[core.TaskID]int64
	cancelled  map[core.WorkflowID]bool
	oneGone    map[stepRef]bool // cancelled on its own
	cancelAll  int64            // planner time of the last cancel of all
	told       map[stepRef]core.StepState
	endedAt    map[stepRef]int64
	endedIn    map[stepRef]int      // in which boot of the device
	saysFailed map[core.TaskID]bool // the first end that the agent was told
	saysEnd    map[core.TaskID]bool
	kept       map[core.TaskID]bool // of a commit: a stop may leave before one that is refused
	cloudDone  map[core.TaskID]bool
	results    map[core.WorkflowID]*core.Result
	heardAcks  map[core.WorkflowID]int // accepted ones
	heardEnds  map[core.WorkflowID]int
	bare       map[stepRef]int64 // since when nothing can move it
	readings   readings
	asked      map[stepRef]core.EscalationID // the open question about a step
	questions  map[core.WorkflowID]map[core.EscalationID]bool
	replans    map[core.WorkflowID]int
	again      map[stepRef]map[core.EscalationID]bool // tries that decisions added
	service    bool                                   // the agent was told that the robot's service is there
	foreign    bool                                   // something else was said to use the wheels
	seen       map[core.MessageID]bool                // what was accepted: it counts once
	restKnown  map[core.TaskID]bool                   // the agent was told that it rests, or will
	pauseAsked map[core.TaskID]bool
	stopAsked  map[core.TaskID]bool
	holds      map[holdKey]bool
	pausedOnce map[core.WorkflowID]bool // the robot paused a task of it by itself
	alarms     map[string]bool          // safety holds that stand; true: their cause has not passed
	low        bool                     // the battery fell, and is not charged yet
	guards     bool                     // some guard has held something in this home: the agent may have read what no event told
	planted    catalog.Method           // a promise that nobody keeps, to try the search for shorter stories: this is never dispatched
	schedules  map[core.WorkflowID]*standing
	begun      map[core.WorkflowID]bool // occurrences
	sawBegin   map[core.Occurred]*write // the change in which the judge saw it begin
	foreignAt  int64                    // when that was said last

	aims       map[core.WorkflowID]*aim
	effects    map[effectRef]core.EffectState // as they were told
	flawed     map[core.MessageID]flawed
	taken      map[core.WorkflowID]bool // a message of it was accepted
	decidedAt  map[core.TaskID]int64    // when its dispatch was decided
	decisionOn map[stepRef]bool         // an answer has given it up
	dropped    map[stepRef]bool         // a revision has stopped it
	ranOn      map[stepRef]bool         // its stop was refused
	saysEndAt  map[core.TaskID]int64
	cutAt      int64    // the last end of the process
	sent       []string // each dispatch, where two homes are compared
}

type stepRef struct {
	wf   core.WorkflowID
	step core.StepID
}

func (s stepRef) String() string { return fmt.Sprintf("%s/%s", s.wf, s.step) }

func newJudge(m *home) *judge {
	return &judge{m: m, aims: map[core.WorkflowID]*aim{}, saysEndAt: map[core.TaskID]int64{}, effects: map[effectRef]core.EffectState{}, flawed: map[core.MessageID]flawed{}, taken: map[core.WorkflowID]bool{}, decidedAt: map[core.TaskID]int64{}, decisionOn: map[stepRef]bool{}, dropped: map[stepRef]bool{}, ranOn: map[stepRef]bool{}, schedules: map[core.WorkflowID]*standing{}, begun: map[core.WorkflowID]bool{}, sawBegin: map[core.Occurred]*write{}, owner: map[core.TaskID]stepRef{}, tries: map[stepRef][]core.TaskID{}, plans: map[core.WorkflowID]*core.Plan{}, sentAt: map[core.TaskID]int64{},
		cancelled: map[core.WorkflowID]bool{}, oneGone: map[stepRef]bool{}, told: map[stepRef]core.StepState{}, endedAt: map[stepRef]int64{}, endedIn: map[stepRef]int{}, saysFailed: map[core.TaskID]bool{},
		saysEnd: map[core.TaskID]bool{}, kept: map[core.TaskID]bool{}, accepted: map[core.WorkflowID]bool{}, cloudDone: map[core.TaskID]bool{}, results: map[core.WorkflowID]*core.Result{}, heardAcks: map[core.WorkflowID]int{},
		heardEnds: map[core.WorkflowID]int{}, bare: map[stepRef]int64{}, readings: readings{},
		asked: map[stepRef]core.EscalationID{}, questions: map[core.WorkflowID]map[core.EscalationID]bool{}, again: map[stepRef]map[core.EscalationID]bool{}, replans: map[core.WorkflowID]int{},
		alarms: map[string]bool{}, seen: map[core.MessageID]bool{}, stopAsked: map[core.TaskID]bool{}, restKnown: map[core.TaskID]bool{}, pauseAsked: map[core.TaskID]bool{}, holds: map[holdKey]bool{}, pausedOnce: map[core.WorkflowID]bool{}}
}

// nameOf names a dispatch by its step and number: that stays the same where other decisions are left out.
func (j *judge) nameOf(task core.TaskID) string {
	at, ok := j.owner[task]
	if !ok {
		return string(task)
	}
	return fmt.Sprintf("%s#%d", at, slices.Index(j.tries[at], task))
}

func (j *judge) spec(at stepRef) *core.StepSpec {
	if p := j.plans[at.wf]; p != nil {
		if i := p.Lookup(at.step); i >= 0 {
			return &p.Steps[i]
		}
	}
	return nil
}

// decided sees a decision before anything of it leaves.
func (j *judge) decided(batch []item, c core.Change) {
	for i, it := range batch {
		if ev, ok := it.ev.(core.DecisionReceived); ok && c.Answers[i].Accepted && ev.Action == core.ActRetry {
			j.oneMore(ev.Escalation)
		}
	}
	for _, wf := range c.Workflows {
		j.plans[wf.Plan.Workflow] = wf.Plan // the latest revision
		for _, a := range wf.Attempts {
			if _, known := j.owner[a.Task]; !known {
				at := stepRef{wf.Plan.Workflow, wf.Steps[a.Step].ID}
				j.owner[a.Task], j.decidedAt[a.Task] = at, j.m.T
				j.tries[at] = append(j.tries[at], a.Task)
			}
		}
	}
}

// adopted sees it once it is durable and those who watch are told.
func (j *judge) adopted(w *write) {
	j.durable(w)
	j.movers()
	if j.m.whim(6, 9) == 0 {
		j.why()
	}
}

// durable sees what is on disk, whether its process lived to tell or not.
func (j *judge) durable(w *write) {
	batch, c := w.batch, w.c
	m := j.m
	j.answers(batch, c)
	for _, wf := range c.Workflows {
		for _, a := range wf.Attempts {
			j.kept[a.Task] = true
		}
	}
	for i, it := range batch {
		if it.msg != nil {
			j.refused(it.msg.id, c.Answers[i], c)
		}
		switch ev := it.ev.(type) {
		case core.ControlReceived:
			if !j.seen[ev.Msg] {
				j.wish(ev, c.Answers[i])
				j.letsGo(ev, c.Answers[i])
				j.heldNow(ev, c.Answers[i])
				j.seen[ev.Msg] = c.Answers[i].Accepted
			}
		case core.Occurred:
			j.occurs(ev, w)
		case core.ScheduleOver:
			j.isOver(ev, w)
		case core.PlanSubmitted:
			if ev.Plan.Schedule != nil {
				if c.Answers[i].Accepted && ev.Before == nil {
					j.keeps(ev, w)
				}
				continue
			}
			if c.Answers[i].Accepted && ev.Before == nil {
				j.superseded(ev.Plan.Workflow)
				j.takes(ev.Plan, w.at)
				if told := c.Answers[i].Reason == core.ReasonExperienceDisabled; told != ev.Plan.NoGoal {
					m.failf("told: %s is accepted with %q, and experiences are off: %v", ev.Plan.Workflow, c.Answers[i].Reason, ev.Plan.NoGoal)
				}
			}
			if id := ev.Plan.Workflow; c.Answers[i].Accepted && !j.accepted[id] {
				if j.accepted[id] = true; ev.Before == nil && ev.SentMS <= j.cancelAll {
					m.failf("dispatch after cancel: %s was sent before a cancel of all and is accepted after it", id)
				}
			}
		case core.TaskEnded:
			j.ends(ev, w.at)
		case core.StopAnswered:
			if ev.To == core.ToPause && ev.Accepted {
				j.restKnown[ev.Task] = true
			}
		case core.TaskStatus:
			if at, ok := j.owner[ev.Task]; ok && ev.Paused {
				j.pausedOnce[at.wf], j.restKnown[ev.Task] = true, true
			}
			if ev.Known == core.KnownEnded && ev.Ended != nil {
				j.ends(*ev.Ended, w.at)
			}
		case core.DecisionReceived:
			if !j.seen[core.MessageID(ev.Escalation)] {
				j.decision(ev, c.Answers[i], w.at)
				j.seen[core.MessageID(ev.Escalation)] = c.Answers[i].Accepted
			}
		case core.Observed:
			j.buttonHeld(ev)
			j.guarded(ev)
			if ev.Event == "external_start" || ev.Event == "external_stop" {
				if j.foreign = ev.Event == "external_start"; j.foreign {
					j.foreignAt = w.at
				}
			}
		case core.ExecutorUp:
			j.service = true
		case core.ExecutorDown:
			j.service = false
		case core.ContextRead:
			j.readings.learn(w.at, ev)
			if level, ok := j.readings["battery.level"].value.(float64); ok && level >= m.cat.Guards[catalog.GuardBattery].GoOnAt {
				j.low = false
			}
		}
	}
	for _, id := range c.Tombs {
		j.cancelled[id] = true
	}
	for _, out := range c.Now {
		if d, ok := out.(core.Dispatch); ok && j.cancelled[j.owner[d.Task].wf] && !stops(d) {
			m.failf("dispatch after cancel: %s of %s leaves with its own cancel", d.Method, j.nameOf(d.Task))
		}
	}
	var ends []core.WorkflowID
	for _, mv := range c.Moves {
		switch {
		case mv.Goal != "" && mv.Step != "": // a step of it is late: nothing has moved
		case mv.Goal != "":
			if j.goalMoved(mv, w.at) {
				ends = append(ends, mv.Workflow)
			}
		case mv.Effect != "":
			j.effects[effectRef{stepRef{mv.Workflow, mv.Step}, mv.Effect}] = core.EffectState(mv.To)
		case mv.Step != "":
			j.moved(mv, w.at)
		}
	}
	for _, id := range ends { // of a commit all moves are one
		j.goalEnds(id, j.aims[id], w.at)
	}
	j.questioned(c)
	for _, wf := range c.Workflows {
		if is := wf.GoalStatus(); is != wf.Goal {
			m.failf("told: the goal of %s is %s, and those who watch were told %q", wf.Plan.Workflow, is, wf.Goal)
		}
	}
}

// answers: each message that the agent took is answered exactly once.
func (j *judge) answers(batch []item, c core.Change) {
	want, got := map[core.MessageID]int{}, map[core.MessageID]int{}
	for _, it := range batch {
		if it.msg != nil {
			want[it.msg.id]++
		}
	}
	for _, x := range c.Outbox {
		if x.Type == core.MsgAck {
			got[x.Ack.Ref]++
		}
	}
	if !maps.Equal(want, got) {
		j.m.failf("answers: the agent took %v and answered %v", want, got)
	}
}

// wish notes what a person wants to have ended.
func (j *judge) wish(ev core.ControlReceived, a *core.Answer) {
	if ev.Verb != "cancel" && ev.Verb != "kill" || ev.Before != nil {
		return
	}
	switch {
	case ev.Scope == "all" && a.Accepted:
		j.cancelAll = max(j.cancelAll, ev.SentMS)
		for id := range j.accepted {
			if !j.over(id) {
				j.cancelled[id] = true
			}
		}
	case ev.Scope == "workflow" && (a.Accepted || a.Reason == core.ReasonUnknownTarget):
		j.cancelled[core.WorkflowID(ev.Target)] = true
	case ev.Scope == "step" && a.Accepted && a.State != string(core.Running): // a refused stop lets it run
		wf, step := cut(ev.Target)
		j.oneGone[stepRef{wf, step}] = true
	}
}

// over says whether every step of a plan was told to have ended.
func (j *judge) over(id core.WorkflowID) bool {
	for _, s := range j.plans[id].Steps {
		if !j.told[stepRef{id, s.ID}].Terminal() {
			return false
		}
	}
	return true
}

func (j *judge) ends(ev core.TaskEnded, now int64) {
	at, ok := j.owner[ev.Task]
	if !ok || !j.kept[ev.Task] || j.saysEnd[ev.Task] || ev.Source != "" && ev.Source != "home" {
		return
	}
	j.saysEnd[ev.Task], j.saysEndAt[ev.Task] = true, now
	j.saysFailed[ev.Task] = ev.Outcome == core.OutcomeFailed && !j.told[at].Terminal() && !j.stopAsked[ev.Task] // who was stopped has not failed
}

func (j *judge) cloudSays(task core.TaskID, done bool) { j.cloudDone[task] = done }

func (j *judge) moved(mv core.Move, decided int64) {
	m, at := j.m, stepRef{mv.Workflow, mv.Step}
	before, to := j.told[at], core.StepState(mv.To)
	if before.Terminal() {
		m.failf("terminal is terminal: %s went from %s to %s", at, before, to)
	}
	if before != "" && mv.From != string(before) {
		m.failf("%s was told to be %s, and goes to %s from %s", at, before, to, mv.From)
	}
	if before == core.Cancelling && to == core.Running {
		j.ranOn[at] = true
	}
	j.told[at] = to
	m.robot.moved(at, to)
	if to != core.Blocked {
		delete(j.asked, at)
	}
	if to == core.RetryWait {
		j.retried(at.wf)
	}
	if !to.Terminal() {
		return
	}
	j.endedAt[at], j.endedIn[at] = decided, m.bootNo
	spec := j.spec(at)
	if spec == nil {
		m.failf("%s ends %s, and nobody handed it in", at, to)
	}
	m.tally.Steps++
	switch {
	case to == core.Completed:
		j.proven(at, mv.Task, spec)
	case to == core.Satisfied:
		j.isTrue(at, spec, decided)
	}
}

// output sees what leaves.
func (j *judge) output(out core.Output) {
	m := j.m
	if s, ok := out.(core.Stop); ok {
		j.stopAsked[s.Task] = true
	}
	if p, ok := out.(core.Pause); ok {
		j.pauseAsked[p.Task] = true
	}
	if r, ok := out.(core.Resume); ok {
		if who := j.holder(j.owner[r.Task]); who != "" {
			m.failf("held: %s is told to go on, and %s holds it", j.nameOf(r.Task), who)
		}
	}
	d, ok := out.(core.Dispatch)
	if !ok {
		return
	}
	m.tally.Dispatches++
	if j.sentAt[d.Task] != 0 {
		m.failf("double operation: %s was dispatched twice", d.Task)
	}
	if j.sentAt[d.Task] = m.T; m.compared {
		j.sent = append(j.sent, fmt.Sprintf("%d %s %s %v %v", m.T, j.nameOf(d.Task), d.Task, d.Method, d.Params))
	}
	if d.Method == j.planted {
		m.failf("planted: %s is dispatched", d.Method)
	}
	at, ok := j.owner[d.Task]
	if !ok {
		return // the stop of the body at a new store
	}
	if !stops(d) && (j.cancelled[at.wf] || j.oneGone[at]) {
		m.failf("dispatch after cancel: %s of %s", d.Method, at)
	}
	if j.told[at].Terminal() {
		m.failf("terminal is terminal: %s of %s is dispatched, it is %s", d.Method, at, j.told[at])
	}
	j.goalAllows(at, d)
	spec := j.spec(at)
	if guard := j.unsafe(at, spec); guard != "" {
		m.failf("held: %s of %s is dispatched, and %s forbids it", d.Method, at, guard)
	}
	if early := spec.NotBeforeMS - (wallMS + m.T); spec.NotBeforeMS > 0 && early > 1_000 {
		m.failf("%s of %s is dispatched %d ms before its moment", d.Method, at, early)
	}
	if who := j.holder(at); who != "" && !stops(d) && !spec.Op.ReadOnly {
		m.failf("held: %s of %s is dispatched, and %s holds it", d.Method, at, who)
	}
	j.delayOver(at, spec)
	failed := int64(0)
	for _, task := range j.tries[at] {
		if j.saysFailed[task] {
			failed++
		}
	}
	if failed >= max(1, spec.Retry.Attempts)+int64(len(j.again[at])) {
		m.failf("budget: %s is dispatched after %d of %d tries failed, and decisions added %d", at, failed, spec.Retry.Attempts, len(j.again[at]))
	}
}

func stops(d core.Dispatch) bool { return d.Method == "stopMovement" || d.Method == "stopCleaning" }

// wallRightMS is how right a clock is that may be trusted. Over a reboot the time off is known no better. Source: docs/taskmanager.md, time.
const wallRightMS = 1000

func (j *judge) delayOver(at stepRef, spec *core.StepSpec) {
	if spec.DelayMS == 0 || spec.Anchor == 0 {
		return
	}
	anchor := &j.plans[at.wf].Steps[spec.Anchor-1]
	end := stepRef{at.wf, anchor.ID}
	gone := j.m.T - j.endedAt[end]
	if right := (wallRightMS + j.m.setBackMS) * int64(j.m.bootNo-j.endedIn[end]); anchor.Wait == core.WaitCompleted && gone < spec.DelayMS-right {
		j.m.failf("%s was dispatched %d ms after its anchor, its delay is %d ms", at, gone, spec.DelayMS)
	}
}

// began: what moves the body begins once for a step, unless the end of the earlier task is sure.
func (j *judge) began(now *job) {
	at, ok := j.owner[now.task]
	if !ok {
		return
	}
	op := j.m.cat.Operations[now.call.Method]
	for _, task := range j.tries[at] {
		other := j.m.robot.log[task]
		if task == now.task || other == nil || other.began == 0 {
			continue
		}
		switch {
		case op.Redo == "never" || op.Redo == "":
			j.m.failf("double operation: %s of %s began again as %s", now.call.Method, at, now.task)
		case op.Redo == "after_stop" && (other.ended == 0 || other.ended > j.sentAt[now.task]):
			j.m.failf("double operation: %s of %s was sent again as %s before %s had ended", now.call.Method, at, now.task, task)
		}
	}
}

// cut: the process is gone. What was told of steps that go on is worth nothing now; what has ended stays so.
func (j *judge) cut() {
	maps.DeleteFunc(j.told, func(_ stepRef, s core.StepState) bool { return !s.Terminal() })
	j.cutAt = j.m.T
	for _, a := range j.aims {
		if !a.told.Terminal() {
			a.told = ""
		}
	}
	clear(j.bare)
	clear(j.readings)
	clear(j.saysEnd) // an end that nobody waited for may be forgotten: it is asked for again
	j.service, j.foreign = false, false
}

// restarted: what was acknowledged before the cut is there after it.
func (j *judge) restarted() {
	m := j.m
	lost := func(f string, args ...any) { m.failf("lost record: "+f, args...) }
	for id := range j.plans {
		if j.heardAcks[id] == 0 && len(j.toldOf(id)) == 0 {
			continue // nobody was told that it is there
		}
		wf := m.s.Workflows[id]
		if wf == nil {
			wf = m.disk.finished(id)
		}
		if m.tally.Acknowledged++; wf == nil {
			lost("plan %s was accepted and is gone", id)
		}
		for i := range wf.Steps {
			m.tally.Acknowledged++
			if told := j.told[stepRef{id, wf.Steps[i].ID}]; told.Terminal() && told != wf.Steps[i].State {
				lost("%s/%s was told to be %s and is %s", id, wf.Steps[i].ID, told, wf.Steps[i].State)
			}
		}
		j.goalsThere(id, wf)
		if r := j.results[id]; r != nil && r.Status != wf.State {
			lost("%s was reported %s and is %s", id, r.Status, wf.State)
		}
	}
	j.schedulesThere()
	for id := range j.cancelled {
		if m.tally.Acknowledged++; m.s.Tombs[id] == "" && m.disk.finished(id) == nil && (m.s.Workflows[id] == nil || !m.s.Workflows[id].State.Terminal()) {
			lost("the cancel of %s is forgotten", id)
		}
	}
}

func (j *judge) toldOf(id core.WorkflowID) (out []core.StepState) {
	for _, s := range j.plans[id].Steps {
		if t := j.told[stepRef{id, s.ID}]; t.Terminal() {
			out = append(out, t)
		}
	}
	return out
}

// heard sees a report at the planner.
func (j *judge) heard(x core.Message) {
	m := j.m
	switch x.Type {
	case core.MsgAck:
		if x.Ack.Accepted && x.Ack.Plan != "" && !isTemplate(x.Workflow) {
			j.heardAcks[x.Workflow]++
		}
	case core.MsgResult:
		j.heardEnds[x.Workflow]++
		if before := j.results[x.Workflow]; before != nil {
			if text(before) != text(x.Result) {
				m.failf("results: %s was reported\n%s\nand now\n%s", x.Workflow, text(before), text(x.Result))
			}
			return
		}
		j.results[x.Workflow] = x.Result
		if x.Workflow != lastPlan && !isOccurrence(x.Workflow) && !strings.HasPrefix(string(x.Workflow), "local:") { // it is no part of what was played
			m.tally.Ends[x.Result.Status]++
		}
		for _, r := range x.Result.Steps {
			at := stepRef{x.Workflow, r.ID}
			if told := j.told[at]; told != "" && told != r.State {
				m.failf("results: %s was told to be %s and is reported %s", at, told, r.State)
			}
			if j.told[at] == "" && r.State == core.Completed && len(j.tries[at]) > 0 { // it ended in a commit that nobody lived to tell
				j.proven(at, j.tries[at][len(j.tries[at])-1], j.spec(at))
			}
			j.told[at] = r.State
		}
		j.goalReported(x.Workflow, x.Result)
	}
}

func text(r *core.Result) string {
	t := string(r.Status) + " " + string(r.Reason)
	if g := r.Goal; g != nil {
		t += fmt.Sprintf(" %s:%s:%s:%s:%v", g.Experience, g.ID, g.Status, g.Reason, g.Effects)
	}
	for _, s := range r.Steps {
		t += fmt.Sprintf(" %s:%s:%s:%d", s.ID, s.State, s.Reason, s.Attempts)
	}
	return t
}

// allEnded: hours after the last fault every plan has ended, holds nothing, and was reported once.
func (j *judge) allEnded() {
	m := j.m
	for _, id := range slices.Sorted(maps.Keys(m.s.Workflows)) {
		wf := m.s.Workflows[id]
		if !wf.State.Terminal() {
			for i := range wf.Steps {
				m.note("%s/%s is %s %s %s due %d: %+v", id, wf.Steps[i].ID, wf.Steps[i].State, wf.Steps[i].Reason, wf.Steps[i].Detail, wf.Steps[i].Due, core.Why(m.s, m.now(), wf, i))
			}
			m.failf("stuck step: %s is %s for ever", id, wf.State)
		}
		for _, a := range wf.Attempts {
			if a.State != core.Ended && wf.Steps[a.Step].State != core.Completed { // of a completed step it is asked when somebody needs what it holds
				m.failf("stuck step: %s of %s holds %v for ever: %s", a.Task, id, a.Resources, a.State)
			}
		}
	}
	for id := range j.heardAcks {
		if j.heardEnds[id] == 0 {
			m.failf("results: %s was accepted and never reported", id)
		}
	}
	for id, n := range j.heardEnds {
		if own := strings.HasPrefix(string(id), core.StandingPrefix) || isOccurrence(id); n > 1 && own || n > j.heardAcks[id] && !own { // the device's own plans are told once, and answered to nobody
			m.failf("results: %s was reported %d times, and accepted %d times", id, n, j.heardAcks[id])
		}
	}
	j.schedulesKept()
	j.goalsEnded()
	for _, l := range m.cloud.letters {
		if !l.answered {
			m.failf("answers: %s was never answered", l.id)
		}
	}
}
