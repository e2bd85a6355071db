package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// A home in six has a plan with a schedule, whose moment falls into the time in which things go wrong or soon after it.
const scheduleEvery = 6

// templatePrefix begins the id of a plan with a schedule.
const templatePrefix = "tpl_"

func isTemplate(id core.WorkflowID) bool {
	return strings.HasPrefix(string(id), templatePrefix) && !isOccurrence(id)
}
func isOccurrence(id core.WorkflowID) bool { return strings.Contains(string(id), "@") }

// stampForm is how an occurrence is named after its moment, in the zone of its schedule. Source: docs/contract.md, schedule.
const stampForm = "20060102T1504"

var zones = []string{"UTC", "Asia/Seoul", "America/New_York"}

// schedules plans what people do with schedules: hand one in, revise it, cancel it or an occurrence; and how the clock goes back.
func (m *home) schedules() {
	own := m.stream("schedules")
	if !own.oneIn(scheduleEvery) {
		return
	}
	const id = templatePrefix + "0"
	zone := zones[own.IntN(len(zones))]
	begin := own.between(0, playMS*3/4)
	m.at(begin, func() {
		if m.happens("schedule " + id) {
			m.cloud.schedule(id, zone, 0, own)
		}
	})
	later := func(name string, n int, after int64, do func(d dice)) {
		d := m.stream(name)
		if d.oneIn(n) {
			m.at(begin+d.between(1_000, after), func() {
				if m.happens(name) && len(m.cloud.dues) > 0 {
					do(d)
				}
			})
		}
	}
	for rev := range int64(2) {
		later(fmt.Sprintf("schedule %s revised %d", id, rev+1), 3, 900_000, func(d dice) {
			m.hit(Revision, m.T+10_000, nil)
			m.cloud.schedule(id, zone, rev+1, d)
		})
	}
	cancel := func(scope, target, name string) {
		m.hit(CancelPlan, m.T+60_000, nil)
		m.cloud.control("cancel", holdKey{"cloud", scope, target}, name)
	}
	later("schedule cancelled", 4, 1_200_000, func(d dice) { cancel([]string{"schedule", "workflow"}[d.IntN(2)], id, "schedule cancelled") })
	later("occurrence cancelled", 3, 1_200_000, func(d dice) {
		cancel("workflow", id+"@"+m.cloud.dues[d.IntN(len(m.cloud.dues))], "occurrence cancelled")
	})
	for n := range 2 {
		later(fmt.Sprintf("clock set back %d", n), 2, 1_200_000, m.setBack)
	}
}

// setBack: a clock that is trusted goes back, over what has begun maybe, and some time later is right again.
func (m *home) setBack(d dice) {
	if !m.trusted {
		return
	}
	m.wallOff = -d.between(2_000, 1_200_000)
	m.setBackMS = max(m.setBackMS, -m.wallOff)
	m.hit(ClockJump, 0, nil)
	m.clockTold()
	m.at(d.between(1_000, 900_000), func() {
		if m.trusted {
			m.wallOff = 0
			m.clockTold()
		}
	})
}

// clockTold: the device hears of each jump of its clock.
func (m *home) clockTold() {
	if m.up && m.open && !m.asleep && m.writing == nil {
		m.do(m.ticked())
	}
}

// schedule hands in a plan with a schedule, or a revision of it.
func (c *cloud) schedule(id, zone string, rev int64, d dice) {
	m := c.m
	loc, err := time.LoadLocation(zone)
	if err != nil {
		m.failf("the simulation has no zone %s: %v", zone, err)
	}
	due := time.UnixMilli(wallMS + m.T).Add(time.Duration(1+d.IntN(12)) * time.Minute).In(loc)
	sched := map[string]any{"at": due.Format("15:04"), "tz": zone}
	if d.oneIn(3) {
		sched["on"] = due.Format("2006-01-02")
	} else {
		sched["days"] = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
	}
	steps := []map[string]any{{"cloud_step_id": "s0", "taskMethod": "startBasicAirClear", "params": map[string]any{"duration_min": 1 + d.IntN(3), "mode": "fixed"}}}
	if d.coin() {
		steps = append(steps, map[string]any{"cloud_step_id": "s1", "taskMethod": "setVolume", "params": map[string]any{"level": 10 * d.IntN(11)}})
	}
	if d.coin() {
		steps = append(steps, map[string]any{"cloud_step_id": "s2", "taskMethod": "setMoveTo", "params": map[string]any{"position": d.room()}, "depends_on": []any{"s0"}, "on_failure": "continue"})
	}
	if policy := []string{"", "run", "skip", "fail"}[d.IntN(4)]; policy != "" {
		steps[0]["on_overdue"] = policy
	}
	if d.coin() {
		sched["end_at"] = due.Add(time.Duration(1+d.IntN(10)) * time.Minute).Format("15:04")
	}
	p := draft{wf: id, rev: rev, schedule: sched, requests: steps, goal: c.wish(id)}
	if p.goal != nil {
		p.goal.fit(steps)
		p.exp = p.goal.write(m.stream(fmt.Sprintf("experience of %s.%d", id, rev)), steps)
	}
	ev := m.plan(p, d)
	ev.Msg, ev.Hash = core.MessageID(fmt.Sprintf("plan-%s.%d", id, rev)), fmt.Sprintf("plan of %s, revision %d", id, rev)
	c.dues = append(c.dues, due.Format(stampForm))
	c.post(ev.Msg, ev)
}

// dated puts beside a plan with a schedule whether it has a next time, as the Manager does.
func (m *home) dated(ev core.Event) core.Event {
	p, ok := ev.(core.PlanSubmitted)
	if !ok || p.Plan.Schedule == nil || !m.trusted {
		return ev
	}
	wall := m.now().WallMS
	p.NoNext = m.reckoned(&core.Template{Plan: p.Plan, FromMS: wall}, wall).Next == nil
	return p
}

func (m *home) reckoned(t *core.Template, wall int64) taskmanager.Dues {
	d, err := taskmanager.ReckonDues(t, wall)
	if err != nil {
		m.failf("the schedule of %s cannot be kept: %v", t.Plan.Workflow, err)
	}
	return d
}

// dues is what a template asks for now; what was reckoned is kept until it is due.
func (m *home) dues(t *core.Template) taskmanager.Dues {
	wall := m.now().WallMS
	if k := m.known; k.of == t && k.dues.Due == nil && wall >= k.at && (k.dues.Next == nil || wall < k.dues.Next.AtMS) {
		return k.dues
	}
	m.known = reckoned{t, wall, m.reckoned(t, wall)}
	return m.known.dues
}

// reckoned is what was found of a template at a moment.
type reckoned struct {
	of   *core.Template
	at   int64
	dues taskmanager.Dues
}

// ticked is what time itself says, as the Manager puts it.
func (m *home) ticked() []item {
	out := []item{{ev: core.Tick{}}}
	if !m.trusted {
		return out
	}
	for _, t := range m.s.TemplatesByRank() {
		switch d := m.dues(t); {
		case d.Due != nil:
			out = append(out, item{ev: *d.Due})
		case d.Next == nil && t.FromMS != 0:
			out = append(out, item{ev: core.ScheduleOver{Template: t.Plan.Workflow, Revision: t.Plan.Revision}})
		}
	}
	return out
}

// nextOccurrence is the moment at which a schedule wants something; 0: none.
func (m *home) nextOccurrence() (at int64) {
	if !m.trusted {
		return 0
	}
	for _, t := range m.s.Templates {
		next := m.T
		if d := m.dues(t); d.Due == nil && t.FromMS != 0 && d.Next != nil {
			next = max(m.T, d.Next.AtMS-wallMS-m.wallOff)
		}
		if at == 0 || next < at {
			at = next
		}
	}
	return at
}

// standing is a schedule as the judge knows it: by what was handed in and is durable.
type standing struct {
	plan      *core.Plan
	acceptMS  int64 // true wall time
	trusted   bool  // the clock when it was accepted
	cancelled bool
	over      bool
}

// due is the moment of its time of day on the day of the play, and its stamp.
func (s *standing) due() (ms int64, stamp string) {
	loc, _ := time.LoadLocation(s.plan.Schedule.TZ)
	day := time.UnixMilli(s.acceptMS).In(loc)
	at, _ := time.Parse("15:04", s.plan.Schedule.At)
	due := time.Date(day.Year(), day.Month(), day.Day(), at.Hour(), at.Minute(), 0, 0, loc)
	return due.UnixMilli(), due.Format(stampForm)
}

// keeps takes a schedule that was accepted.
func (j *judge) keeps(ev core.PlanSubmitted, w *write) {
	s := j.schedules[ev.Plan.Workflow]
	if s != nil && s.cancelled {
		j.m.failf("dispatch after cancel: the schedule %s was cancelled and is accepted", ev.Plan.Workflow)
	}
	if s != nil && !s.over && ev.Plan.Revision <= s.plan.Revision {
		return // the same again
	}
	j.schedules[ev.Plan.Workflow] = &standing{plan: ev.Plan, acceptMS: wallMS + w.at, trusted: w.now.Trusted}
	j.m.tally.Schedules++
}

// letsGo takes a cancel of a schedule.
func (j *judge) letsGo(ev core.ControlReceived, a *core.Answer) {
	id := core.WorkflowID(ev.Target)
	if ev.Verb != "cancel" || ev.Before != nil || !isTemplate(id) || !a.Accepted && a.Reason != core.ReasonUnknownTarget {
		return
	}
	if j.schedules[id] == nil {
		j.schedules[id] = &standing{}
	}
	j.schedules[id].cancelled = true
}

// occurs sees an event of the calendar: what of it begins, begins at its moment, once, and of a schedule that stands.
func (j *judge) occurs(ev core.Occurred, w *write) {
	m, id := j.m, core.WorkflowID(string(ev.Template)+"@"+ev.Stamp)
	begins := func(mv core.Move) bool {
		return mv.Workflow == id && mv.Step == "" && mv.From == "" && mv.To == string(core.WfQueued)
	}
	if !slices.ContainsFunc(w.c.Moves, begins) || j.sawBegin[ev] == w {
		return
	}
	j.sawBegin[ev] = w
	s := j.schedules[ev.Template]
	switch {
	case j.begun[id]:
		m.failf("double operation: the occurrence %s begins twice", id)
	case s == nil:
		m.failf("%s begins, and nobody handed in its schedule", id)
	case s.cancelled || j.cancelled[id]:
		m.failf("dispatch after cancel: %s begins after its cancel", id)
	case !w.now.Trusted:
		m.failf("%s begins by a clock that nobody trusts", id)
	}
	loc, _ := time.LoadLocation(s.plan.Schedule.TZ)
	at, err := time.ParseInLocation(stampForm, ev.Stamp, loc)
	if err != nil || at.Format("15:04") != s.plan.Schedule.At || s.plan.Schedule.On != "" && at.Format("2006-01-02") != s.plan.Schedule.On {
		m.failf("%s begins, and its schedule asks for %s", id, s.plan.Schedule)
	}
	if w.now.WallMS < at.UnixMilli() {
		m.failf("%s begins %d ms before its moment", id, at.UnixMilli()-w.now.WallMS)
	}
	j.begun[id], j.accepted[id] = true, true
	if g := s.plan.Goal; g != nil {
		own := *g
		own.Experience += "@" + ev.Stamp
		j.aimsAt(id, &own, w.at)
	}
	m.tally.Occurrences++
}

// isOver: a schedule is let go of only when its one moment has passed.
func (j *judge) isOver(ev core.ScheduleOver, w *write) {
	s := j.schedules[ev.Template]
	if s == nil || s.plan == nil || s.cancelled || s.over || s.plan.Revision != ev.Revision {
		return
	}
	due, stamp := s.due()
	if s.plan.Schedule.On == "" || w.now.WallMS < due && !j.begun[core.WorkflowID(string(ev.Template)+"@"+stamp)] {
		j.m.failf("lost record: the schedule %s is said to be over: %s", ev.Template, s.plan.Schedule)
	}
	s.over = true
}

// schedulesThere: what was accepted and neither cancelled nor over is there, with all that it has begun.
func (j *judge) schedulesThere() {
	m := j.m
	for _, id := range slices.Sorted(maps.Keys(j.schedules)) {
		s, t := j.schedules[id], m.s.Templates[id]
		m.tally.Acknowledged++
		switch gone := s.cancelled || s.over; {
		case !gone && (t == nil || t.Plan.Revision != s.plan.Revision):
			m.failf("lost record: the schedule %s was accepted and is not there as it was", id)
		case gone && t != nil:
			m.failf("lost record: the schedule %s has gone and is there again", id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(j.begun)) {
		if m.tally.Acknowledged++; m.s.Workflows[id] == nil && m.disk.finished(id) == nil {
			m.failf("lost record: the occurrence %s began and is gone", id)
		}
	}
}

// schedulesKept: in the end each moment of a schedule that stands has brought its occurrence, and each occurrence one result.
func (j *judge) schedulesKept() {
	m := j.m
	j.schedulesThere()
	for id, s := range j.schedules {
		if s.plan == nil || s.cancelled || !s.trusted {
			continue
		}
		due, stamp := s.due()
		if at := core.WorkflowID(string(id) + "@" + stamp); due > s.acceptMS+2*wallRightMS && !j.begun[at] && !j.cancelled[at] {
			m.failf("stuck step: the occurrence %s never began", at)
		}
	}
	for id := range j.begun {
		if n := j.heardEnds[id]; n != 1 {
			m.failf("results: the occurrence %s was reported %d times", id, n)
		}
	}
}
