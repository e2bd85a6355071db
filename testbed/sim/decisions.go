package sim

import (
	"fmt"
	"slices"

	"deviceagent/taskmanager/core"
)

// decide answers a question of the device: rightly, late, twice, with what is not allowed, about an old plan, or never.
func (c *cloud) decide(x core.Message) {
	m, q := c.m, x.Escalation
	at := stepRef{x.Workflow, x.Step}
	c.asked[at]++
	name := fmt.Sprintf("decision %s.%d", at, c.asked[at])
	d := m.stream(name)
	ev := core.DecisionReceived{Head: core.Head{Msg: core.MessageID("d-" + name), Hash: name, SentMS: wallMS + m.T}, Escalation: q.ID, PlanRevision: q.Revision}
	offered := slices.DeleteFunc(slices.Clone(q.Allowed), func(a core.Action) bool { return a == core.ActAsk }) // nobody is at home to answer
	ev.Action = offered[d.IntN(len(offered))]
	if d.coin() && slices.Contains(q.Allowed, core.ActRetry) {
		ev.Action = core.ActRetry
	}
	after := d.between(300, 30_000)
	fault := d.IntN(7)
	if fault < 5 && !m.happens(name) {
		fault = 7
	}
	decided := func() bool { return m.judge.asked[at] != q.ID }
	switch fault {
	case 0:
		m.hit(Unanswered, m.T+1, decided)
		return
	case 1:
		after = d.between(100_000, 200_000)
		m.hit(DecisionLate, m.T+after, decided)
	case 2:
		again := after + d.between(100, 60_000)
		m.hit(DecisionTwice, m.T+again, decided)
		m.at(again, func() {
			twice := ev
			twice.Msg += "-again"
			if d.coin() {
				twice.Hash += " other"
			}
			c.post(twice.Msg, twice)
		})
	case 3:
		m.hit(DecisionNotAllowed, m.T+after+1_000, decided)
		bad := ev
		bad.Msg += "-bad"
		bad.Action = c.notOffered(q, d)
		m.at(d.between(100, 5_000), func() { c.post(bad.Msg, bad) })
	case 4:
		m.hit(DecisionStale, m.T+after+1_000, decided)
		old := ev
		old.Msg += "-old"
		old.PlanRevision += 7
		m.at(d.between(100, 5_000), func() { c.post(old.Msg, old) })
	}
	m.at(after, func() {
		switch ev.Action {
		case core.ActReplan, core.ActSubstitute:
			next, code := c.next(at.wf, d, []string{string(at.step)}, name)
			switch next := next.(type) {
			case core.PlanSubmitted:
				ev.Plan, ev.GoalFaults = next.Plan, next.GoalFaults
			case core.Refused:
				ev.Faults = next.Answer.Faults
			}
			if code != "" {
				m.judge.expects(ev.Msg, at.wf, code)
			}
		}
		c.post(ev.Msg, ev)
	})
}

// notOffered is an action that the question does not offer: one that nobody offers, or one that is not left.
func (c *cloud) notOffered(q *core.Question, d dice) core.Action {
	all := []core.Action{"complete", "skip", "pause", "continue"}
	for _, a := range []core.Action{core.ActRetry, core.ActReplan, core.ActSubstitute, core.ActReturn} {
		if !slices.Contains(q.Allowed, a) {
			all = append(all, a)
		}
	}
	return all[d.IntN(len(all))]
}

// next makes the next revision of a plan: new steps after what has begun, and some of the old ones again. It keeps the goal, or has a
// flaw with this code.
func (c *cloud) next(wf core.WorkflowID, d dice, cancel []string, name string) (core.Event, core.Reason) {
	m := c.m
	rev := int64(1)
	if p := m.judge.plans[wf]; p != nil {
		rev = p.Revision + 1
	}
	c.revised[wf]++
	n := c.revised[wf]
	steps := []map[string]any{}
	for _, s := range c.wished[wf] {
		if id := s["cloud_step_id"].(string); !slices.Contains(cancel, id) && d.coin() && alone(s) {
			steps = append(steps, s)
		}
	}
	for k := range 1 + d.IntN(2) {
		s := map[string]any{"cloud_step_id": fmt.Sprintf("r%d_%d", n, k)}
		d.work(s, nil)
		if s["execution_target"] == nil && d.coin() {
			s["on_failure"] = "continue"
		}
		if k > 0 {
			s["depends_on"] = []any{map[string]any{"step": fmt.Sprintf("r%d_0", n), "on": "done"}}
		}
		steps = append(steps, s)
	}
	p := draft{wf: string(wf), rev: rev, requests: steps, cancel: cancel, goal: c.goals[wf]}
	var code core.Reason
	if p.goal != nil {
		own := m.stream("experience of " + name)
		p.goal.fit(steps)
		p.exp = p.goal.write(own, steps)
		c.vary(p, own)
		most := p.goal.tier
		if p.goal.lowered {
			most = core.TierFull
		}
		if code = c.spoil(p.exp, revisedFlaws, most, own, name); code != "" {
			return m.message(p, d), code
		}
	}
	c.wished[wf] = steps
	return m.plan(p, d), ""
}

// vary writes a revision that would buy more, or that lowers the tier.
func (c *cloud) vary(p draft, d dice) {
	if b, ok := p.exp["budget"].(map[string]any); ok && d.coin() {
		b["max_decisions"], b["max_replans"], b["automatic_retries"] = 20, 20, 20
	}
	if d.oneIn(8) && !c.m.pure() {
		p.exp["tier"], p.goal.lowered = "shadow", true
	}
}

// alone says that a step refers to no other one, which the revision may leave out.
func alone(s map[string]any) bool {
	deps, _ := s["depends_on"].([]any)
	_, kept := s["required_effects"].([]any)
	return !kept && len(deps) == 0 && s["input_from"] == nil && s["temporal_anchor_id"] == nil
}

// some picks a plan, more often than not one that goes on.
func (c *cloud) some(d dice) core.WorkflowID {
	var open []core.WorkflowID
	for _, p := range c.plans {
		if !c.over[p.Plan.Workflow] {
			open = append(open, p.Plan.Workflow)
		}
	}
	if len(open) > 0 && !d.oneIn(6) {
		return open[d.IntN(len(open))]
	}
	return c.plans[d.IntN(len(c.plans))].Plan.Workflow
}

// revise sends another revision of a plan that goes on, or of one that does not.
func (c *cloud) revise(d dice, name string) {
	m := c.m
	if len(c.plans) == 0 {
		return
	}
	wf := c.some(d)
	var cancel []string
	for _, s := range c.wished[wf] {
		if d.oneIn(3) {
			cancel = append(cancel, s["cloud_step_id"].(string))
		}
	}
	id := core.MessageID("rev-" + name)
	got, code := c.next(wf, d, cancel, name)
	if code != "" {
		m.judge.expects(id, wf, code)
	}
	ev, whole := got.(core.PlanSubmitted)
	if !whole {
		bad := got.(core.Refused)
		bad.Msg, bad.Answer.Ref, bad.Hash = id, id, "revision "+name
		m.hit(Revision, m.T+10_000, nil)
		c.post(id, bad)
		return
	}
	f := Revision
	switch {
	case c.over[wf] || m.judge.cancelled[wf]:
		f = RevisionLate
	case d.oneIn(2):
		f = RevisionOutdated
		ev.Plan.Revision = max(0, ev.Plan.Revision-2)
	}
	m.hit(f, m.T+10_000, nil)
	ev.Msg = id
	ev.Hash = "revision " + name
	c.post(ev.Msg, ev)
}
