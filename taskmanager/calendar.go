package taskmanager

import (
	"fmt"
	"maps"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/schedule"
)

// calendar says which schedules are due. It stores nothing: what it needs is in the templates, so that the next time that is shown is the
// very one that the timer is set to. What was found is kept until it is due, since it is looked at after each batch.
type calendar struct {
	zones map[string]*time.Location
	known map[core.WorkflowID]found
}

// found is what was reckoned of a template at a moment.
type found struct {
	of   *core.Template
	dues Dues // it holds for an earlier moment too: of what lies between, all is settled, or the template would be another one by now
}

// Dues is what a schedule asks for at a moment of the wall clock.
type Dues struct {
	Due  *core.Occurred // to be begun now, or left out because it is too late; nil: nothing
	Next *core.Occurred // the next one after that moment; nil: there is none any more
}

// dues reckons what a template asks for. Of what was missed only the latest counts; what was begun before is not begun again, and what
// was due before the template came is none of it.
func (c *calendar) dues(t *core.Template, wallMS int64) (Dues, error) {
	id := t.Plan.Workflow
	if k, ok := c.known[id]; ok && k.of == t && k.dues.Due == nil && (k.dues.Next == nil || wallMS < k.dues.Next.AtMS) {
		return k.dues, nil
	}
	rule, zone, err := c.rule(t.Plan.Schedule)
	if err != nil {
		return Dues{}, err
	}
	var d Dues
	wanted := func(o schedule.Occurrence) bool { return o.Start.UnixMilli() > t.FromMS && !t.HasFired(o.Stamp) }
	now := time.UnixMilli(wallMS)
	if o, ok := rule.Last(now, zone); ok && t.FromMS != 0 && wanted(o) {
		d.Due = occurred(t, o)
	}
	o, ok := rule.Next(now, zone)
	for ok && !wanted(o) {
		o, ok = rule.Next(o.Start, zone)
	}
	if ok {
		d.Next = occurred(t, o)
	}
	if c.known == nil {
		c.known = map[core.WorkflowID]found{}
	}
	c.known[id] = found{t, d}
	return d, nil
}

func occurred(t *core.Template, o schedule.Occurrence) *core.Occurred {
	ev := &core.Occurred{Template: t.Plan.Workflow, Revision: t.Plan.Revision, Stamp: o.Stamp, AtMS: o.Start.UnixMilli()}
	if !o.End.IsZero() {
		ev.EndMS = o.End.UnixMilli()
	}
	return ev
}

// rule reads a schedule that was checked when it came.
func (c *calendar) rule(s *core.Schedule) (schedule.Rule, *time.Location, error) {
	rule, faults := schedule.Parse(schedule.Spec{Days: s.Days, On: s.On, At: s.At, EndAt: s.EndAt, TZ: s.TZ, Until: s.Until})
	if len(faults) > 0 {
		return rule, nil, fmt.Errorf("cannot read schedule: %s: %s", faults[0].Field, faults[0].Message)
	}
	zone, ok := c.zones[s.TZ]
	if !ok {
		var err error
		if zone, err = time.LoadLocation(s.TZ); err != nil {
			return rule, nil, fmt.Errorf("cannot load zone %s: %w", s.TZ, err)
		}
		if c.zones == nil {
			c.zones = map[string]*time.Location{}
		}
		c.zones[s.TZ] = zone
	}
	return rule, zone, nil
}

// ReckonDues reckons what a template asks for at a moment of the wall clock: for whoever shows schedules, or plays the Manager.
func ReckonDues(t *core.Template, wallMS int64) (Dues, error) { return new(calendar).dues(t, wallMS) }

// tick is what time itself says: that it has passed, and which schedules are due. A clock that cannot be trusted says nothing of these.
func (m *Manager) tick() []request {
	out := []request{{event: core.Tick{}}}
	wall, trusted := m.o.Clock.Wall()
	if !trusted || m.o.Hold {
		return out
	}
	maps.DeleteFunc(m.calendar.known, func(id core.WorkflowID, _ found) bool { return m.cur.Templates[id] == nil })
	for _, t := range m.cur.TemplatesByRank() {
		d, err := m.calendar.dues(t, wall)
		switch {
		case err != nil:
			m.o.Log.Error().Err(err).Str("workflow_id", string(t.Plan.Workflow)).Msg("schedule cannot be kept")
		case d.Due != nil:
			out = append(out, request{event: *d.Due})
		case d.Next == nil && t.FromMS != 0:
			out = append(out, request{event: core.ScheduleOver{Template: t.Plan.Workflow, Revision: t.Plan.Revision}})
		}
	}
	return out
}

// nextOccurrence is the earliest moment of the wall clock at which a schedule wants something, Unix ms; 0: none.
func (m *Manager) nextOccurrence(wall int64) (at int64) {
	for _, t := range m.cur.Templates {
		d, err := m.calendar.dues(t, wall)
		switch {
		case err != nil:
		case d.Due != nil, t.FromMS == 0, d.Next == nil:
			return wall
		default:
			at = sooner(at, d.Next.AtMS)
		}
	}
	return at
}

// dated puts beside a plan with a schedule whether that has a next time, so that one that never comes is refused at once.
func (m *Manager) dated(ev core.Event) core.Event {
	p, ok := ev.(core.PlanSubmitted)
	if !ok || p.Plan.Schedule == nil {
		return ev
	}
	wall, trusted := m.o.Clock.Wall()
	if !trusted {
		return ev
	}
	d, err := ReckonDues(&core.Template{Plan: p.Plan, FromMS: wall}, wall)
	p.NoNext = err == nil && d.Next == nil
	return p
}
