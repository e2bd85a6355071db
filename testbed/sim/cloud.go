package sim

import (
	"fmt"
	"slices"

	"deviceagent/taskmanager/core"
)

// cloud is the planner with the broker between: it sends plans and wishes until they are answered, hears reports, and answers cloud
// steps. Messages are lost, late, doubled and altered on the way.
type cloud struct {
	m       *home
	down    bool       // the link
	waiting []delivery // the broker keeps them, in order
	busy    bool       // one is on its way into the agent
	letters map[core.MessageID]*letter
	plans   []core.PlanSubmitted
	rows    []core.Message // the agent's outbox, as this process knows it
	heard   map[int64]core.Message
	over    map[core.WorkflowID]bool             // its result was heard
	sent    map[int64]int                        // how often a row went up
	asked   map[stepRef]int                      // questions so far
	revised map[core.WorkflowID]int              // revisions so far
	dues    []string                             // stamps that schedules asked for
	wished  map[core.WorkflowID][]map[string]any // the steps of the latest revision
	goals   map[core.WorkflowID]*wanted
}

// letter is one message of the planner. It is sent again until an answer is heard.
type letter struct {
	id       core.MessageID
	ev       core.Event
	answered bool
}

// delivery is one arrival of a letter at the device.
type delivery struct {
	l  *letter
	ev core.Event
}

func newCloud(m *home) *cloud {
	return &cloud{m: m, letters: map[core.MessageID]*letter{}, heard: map[int64]core.Message{}, over: map[core.WorkflowID]bool{}, sent: map[int64]int{}, asked: map[stepRef]int{}, wished: map[core.WorkflowID][]map[string]any{}, goals: map[core.WorkflowID]*wanted{}, revised: map[core.WorkflowID]int{}}
}

func rowID(x core.Message) core.MessageID { return core.MessageID(fmt.Sprintf("u-%d", x.Seq)) }

// submit hands in plan number n of this play.
func (c *cloud) submit(n int, d dice) {
	wf := fmt.Sprintf("wf_%d", n)
	p := draft{wf: wf, requests: c.m.requests(wf, d), goal: c.wish(wf)}
	if p.goal != nil {
		own := c.m.stream("experience of " + wf)
		p.goal.fit(p.requests)
		p.exp = p.goal.write(own, p.requests)
		if code := c.spoil(p.exp, flaws, c.m.exp.Tier, own, wf); code != "" {
			c.postBad(p, code, d, core.MessageID("plan-"+wf))
			return
		}
	}
	ev := c.m.plan(p, d)
	c.wished[ev.Plan.Workflow], c.goals[ev.Plan.Workflow] = p.requests, p.goal
	ev.Hash = "plan of " + wf
	c.plans = append(c.plans, ev)
	c.m.tally.Plans++
	c.post(ev.Msg, ev)
}

// postBad sends a plan or a revision whose experience has a flaw.
func (c *cloud) postBad(p draft, code core.Reason, d dice, id core.MessageID) {
	ev := c.m.message(p, d)
	c.m.judge.expects(id, core.WorkflowID(p.wf), code)
	switch ev := ev.(type) {
	case core.Refused:
		ev.Msg, ev.Answer.Ref, ev.Hash = id, id, string(id)
		c.post(id, ev)
	case core.PlanSubmitted:
		ev.Msg, ev.Hash = id, string(id)
		c.post(id, ev)
	}
}

// resendMS is how long the planner waits for an answer before it sends a message again.
const resendMS = 30_000

// post sends a letter.
func (c *cloud) post(id core.MessageID, ev core.Event) {
	m, l := c.m, &letter{id: id, ev: ev}
	c.letters[id] = l
	name := "letter " + string(id)
	d := m.stream(name)
	lost, twice, late, altered := d.oneIn(8), d.oneIn(6), d.oneIn(8), d.oneIn(24)
	if (lost || twice || late || altered) && !m.happens(name) {
		lost, twice, late, altered = false, false, false, false
	}
	answered := func() bool { return l.answered }
	after := d.between(20, 800)
	switch {
	case lost:
		m.hit(MessageLost, m.T+1, answered)
	case late:
		after = d.between(5_000, 200_000)
		m.hit(MessageLate, m.T+after, nil)
		c.arrive(l, ev, after)
	default:
		c.arrive(l, ev, after)
	}
	if twice {
		again := after + d.between(0, 300_000)
		m.hit(MessageTwice, m.T+again, nil)
		c.arrive(l, ev, again)
	}
	if other, ok := alter(ev); ok && altered {
		m.hit(MessageAltered, m.T+after+10_000, nil)
		c.arrive(l, other, after+d.between(0, 10_000))
	}
	c.again(l, 40)
}

// again sends a letter once more as long as nobody has answered.
func (c *cloud) again(l *letter, left int) {
	c.m.at(resendMS, func() {
		if !l.answered && left > 0 {
			c.arrive(l, l.ev, 100)
			c.again(l, left-1)
		}
	})
}

// alter makes the same message with other content.
func alter(ev core.Event) (core.Event, bool) {
	switch e := ev.(type) {
	case core.PlanSubmitted:
		e.Hash = "other"
		return e, true
	case core.ControlReceived:
		e.Hash, e.Scope, e.Target = "other", "workflow", "wf_other"
		return e, true
	}
	return ev, false
}

func (c *cloud) arrive(l *letter, ev core.Event, after int64) {
	c.m.at(after, func() { c.deliver(delivery{l, ev}) })
}

func (c *cloud) deliver(x delivery) {
	c.waiting = append(c.waiting, x)
	c.pump()
}

// pump hands the next message over. The link takes one at a time, and the next when that is durable.
func (c *cloud) pump() {
	if c.busy || c.down || !c.m.open || len(c.waiting) == 0 {
		return
	}
	x := c.waiting[0]
	c.waiting, c.busy = c.waiting[1:], true
	c.m.put(item{c.m.dated(c.m.disk.recall(x.ev)), x.l})
}

// taken: a message is durable.
func (c *cloud) taken() {
	c.busy = false
	c.m.at(1, c.pump)
}

// notTaken: the device did not take a message, so the broker has it still, before all that came later.
func (c *cloud) notTaken(it item) {
	c.waiting = slices.Insert(c.waiting, 0, delivery{it.msg, it.ev})
	c.m.at(2_000, func() {
		c.busy = false
		c.pump()
	})
}

// reconnected: a new session brings what the broker kept, and all that has no receipt goes up again.
func (c *cloud) reconnected() {
	c.rows = slices.Clone(c.m.disk.outbox)
	c.busy = false
	c.flush()
}

func (c *cloud) flush() {
	if c.down || !c.m.open {
		return
	}
	c.m.at(50, c.pump)
	for _, x := range c.rows {
		c.send(x)
	}
}

// cutOff breaks the link for a while.
func (c *cloud) cutOff(d dice) {
	if c.down {
		return
	}
	c.down = true
	after := d.between(5_000, 300_000)
	c.m.hit(LinkDown, c.m.T+after, nil)
	c.m.at(after, func() {
		c.down = false
		c.flush()
	})
}

// outbox takes the reports of a change that is durable, and drops those that the planner has.
func (c *cloud) outbox(ch core.Change) {
	c.rows = slices.DeleteFunc(c.rows, func(x core.Message) bool {
		return slices.Contains(ch.Receipted, rowID(x)) || slices.Contains(ch.Withdrawn, x.Seq)
	})
	for _, x := range ch.Outbox {
		c.rows = append(c.rows, x)
		c.send(x)
	}
}

// send sends a report up, and again until it is receipted.
func (c *cloud) send(x core.Message) {
	m := c.m
	if c.down || !m.up {
		return
	}
	c.sent[x.Seq]++
	name := fmt.Sprintf("report %d.%d", x.Seq, c.sent[x.Seq])
	d := m.stream(name)
	lost, receipt := d.oneIn(30), d.oneIn(30)
	if (lost || receipt) && !m.happens(name) {
		lost, receipt = false, false
	}
	life := m.life
	pending := func() bool {
		return m.life == life && slices.ContainsFunc(c.rows, func(r core.Message) bool { return r.Seq == x.Seq })
	}
	if lost {
		m.hit(ReportLost, m.T+resendMS, nil)
	} else {
		m.at(d.between(20, 400), func() {
			c.hear(x)
			if receipt {
				m.hit(ReceiptLost, m.T+resendMS, nil)
				return
			}
			m.at(d.between(20, 400), func() {
				if !c.down {
					m.tell(core.Receipted{Refs: []core.MessageID{rowID(x)}})
				}
			})
		})
	}
	m.at(resendMS, func() {
		if pending() {
			c.send(x)
		}
	})
}

// hear takes a report at the planner: a sequence that came before is old, and must be the same.
func (c *cloud) hear(x core.Message) {
	text := func(x core.Message) string {
		t := fmt.Sprintf("%s %s %s %s", x.Type, x.Workflow, x.Step, x.Task)
		if x.Ack != nil {
			t += " " + string(x.Ack.Ref)
		}
		return t
	}
	if before, ok := c.heard[x.Seq]; ok {
		if text(before) != text(x) {
			c.m.failf("sequence %d went up with %q and with %q", x.Seq, text(before), text(x))
		}
		return
	}
	c.heard[x.Seq] = x
	c.m.note("    planner hears %s", text(x))
	c.m.judge.heard(x)
	switch x.Type {
	case core.MsgAck:
		if l := c.letters[x.Ack.Ref]; l != nil && !(x.Ack.Reason == core.ReasonStorageError) {
			l.answered = true
		}
	case core.MsgResult:
		c.over[x.Workflow] = true
	case core.MsgStepDue:
		c.carryOut(*x.StepDue)
	case core.MsgEscalation:
		c.decide(x)
	}
}

// carryOut answers a cloud step, some time, or never.
func (c *cloud) carryOut(due core.StepDue) {
	m := c.m
	at := m.judge.owner[due.Task]
	name := fmt.Sprintf("cloud %s/%s", at.wf, at.step)
	d := m.stream(name)
	lost, stale, fails := d.oneIn(3), d.oneIn(3), d.oneIn(6)
	if (lost || stale || fails) && !m.happens(name) {
		lost, stale, fails = false, false, false
	}
	ev := core.StepResult{Head: core.Head{Msg: core.MessageID("sr-" + due.Task), Hash: "h"}, Step: due.Step, Task: due.Task, Done: !fails}
	if stale {
		old := ev
		old.Msg, old.Task = "old-"+old.Msg, "t-gone"
		m.hit(ResultStale, m.T+20_000, nil)
		m.at(d.between(100, 20_000), func() { c.post(old.Msg, old) })
	}
	if lost {
		m.hit(ResultLost, m.T+1, func() bool { return m.judge.told[at].Terminal() })
		return
	}
	m.judge.cloudSays(due.Task, ev.Done)
	m.at(d.between(500, 30_000), func() { c.post(ev.Msg, ev) })
}

// cancel is a user's wish, about any workflow, known or not.
func (c *cloud) cancel(d dice, name string) {
	m := c.m
	ev := core.ControlReceived{Head: core.Head{Msg: core.MessageID("c-" + name), Hash: "h", SentMS: wallMS + m.T}, Verb: "cancel", Scope: "workflow", Target: fmt.Sprintf("wf_%d", d.IntN(6))}
	if len(c.plans) > 0 && !d.oneIn(8) {
		ev.Target = string(c.some(d))
	}
	known := slices.ContainsFunc(c.plans, func(p core.PlanSubmitted) bool { return string(p.Plan.Workflow) == ev.Target })
	target := ev.Target
	switch d.IntN(10) {
	case 0:
		ev.Scope, ev.Target = "all", ""
		var all []string
		for _, p := range c.plans {
			all = append(all, string(p.Plan.Workflow))
		}
		m.hit(CancelAll, m.T+60_000, m.endedWith(all...))
	case 1, 2:
		ev.Scope, ev.Target = "step", fmt.Sprintf("%s/s%d", target, d.IntN(3))
		m.hit(CancelStep, m.T+60_000, nil)
	case 3:
		ev.Target = fmt.Sprintf("wf_x%d", d.IntN(3))
		m.hit(CancelUnknown, m.T+60_000, nil)
	default:
		switch {
		case c.over[core.WorkflowID(target)]:
			m.hit(CancelLate, m.T+60_000, nil)
		case known:
			m.hit(CancelPlan, m.T+1, m.endedWith(target))
		default:
			m.hit(CancelUnknown, m.T+60_000, nil)
		}
	}
	if d.oneIn(4) {
		ev.Verb = "kill"
		m.hit(Killed, m.T+60_000, nil)
	}
	c.post(ev.Msg, ev)
}
