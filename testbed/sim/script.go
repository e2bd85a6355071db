package sim

import (
	"fmt"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// deeds are what people, the cloud and misfortune do in a home, each with how many of them there are at most. Each is a decision of its
// own: "kill#1" may be left out, and the others stay as they are.
var deeds = []struct {
	fault Fault
	most  int // in one home; the mean is half of it
	do    func(m *home, d dice, name string)
}{
	{CutBeforeCommit, 1, func(m *home, _ dice, _ string) { m.armed = append(m.armed, CutBeforeCommit) }},
	{CutAfterCommit, 1, func(m *home, _ dice, _ string) { m.armed = append(m.armed, CutAfterCommit) }},
	{CutAmongOutputs, 8, func(m *home, _ dice, _ string) { m.armed = append(m.armed, CutAmongOutputs) }},
	{DiskErrorWritten, 1, func(m *home, _ dice, _ string) { m.armed = append(m.armed, DiskErrorWritten) }},
	{DiskSlow, 3, func(m *home, _ dice, _ string) { m.armed = append(m.armed, DiskSlow) }},
	{CutAnytime, 2, func(m *home, _ dice, _ string) {
		if m.up {
			m.hit(CutAnytime, m.T+1, m.recovered)
			m.kill(nil)
		}
	}},
	{DiskFull, 1, func(m *home, d dice, _ string) {
		m.fullUntil = max(m.fullUntil, m.T+d.between(500, 60_000))
		m.hit(DiskFull, m.fullUntil, nil)
	}},
	{Suspend, 1, func(m *home, d dice, _ string) {
		if !m.up || m.asleep {
			return
		}
		m.asleep = true
		life, until := m.life, d.between(1_000, 300_000)
		m.hit(Suspend, m.T+until, nil)
		m.at(until, func() {
			if m.life == life {
				m.asleep = false
				m.drainSoon(0)
			}
		})
	}},
	{ClockJump, 1, func(m *home, d dice, _ string) { m.jump(d) }},
	{ServiceGone, 2, func(m *home, d dice, _ string) {
		m.hit(ServiceGone, m.T+1, m.recovered)
		m.robot.hangUp()
		m.at(d.between(10, 20_000), m.robot.callIn)
	}},
	{ServiceRestart, 2, func(m *home, d dice, _ string) {
		m.hit(ServiceRestart, m.T+1, m.recovered)
		m.robot.restart("")
		m.at(d.between(10, 20_000), m.robot.callIn)
	}},
	{ServiceHangs, 1, func(m *home, d dice, _ string) {
		m.robot.hangs = max(m.robot.hangs, m.T+d.between(1_000, 30_000))
		m.hit(ServiceHangs, m.robot.hangs, nil)
	}},
	{ServiceForgets, 2, func(m *home, _ dice, _ string) {
		m.when(func() bool { return m.robot.forget() }, 80, func() {})
	}},
	{ReadingGone, 1, func(m *home, d dice, _ string) {
		m.robot.blind = max(m.robot.blind, m.T+d.between(1_000, 40_000))
		m.hit(ReadingGone, m.robot.blind, nil)
	}},
	{ReadingSilent, 1, func(m *home, d dice, _ string) {
		m.robot.silent = max(m.robot.silent, m.T+d.between(1_000, 40_000))
		m.hit(ReadingSilent, m.robot.silent, nil)
	}},
	{External, 2, func(m *home, d dice, _ string) { m.robot.byItself(d) }},
	{Foreign, 3, func(m *home, d dice, name string) { m.robot.foreign(d, name) }},
	{Confused, 4, func(m *home, d dice, _ string) { m.robot.confused(d) }},
	{LinkDown, 1, func(m *home, d dice, _ string) { m.cloud.cutOff(d) }},
	{CancelPlan, 3, func(m *home, d dice, name string) { m.cloud.cancel(d, name) }},
	{Revision, 2, func(m *home, d dice, name string) { m.cloud.revise(d, name) }},
	{Held, 4, func(m *home, d dice, name string) { m.when(m.inMotion, 80, func() { m.cloud.pause(d, name) }) }},
	{HeldByButton, 2, func(m *home, d dice, _ string) { m.when(m.inMotion, 80, func() { m.robot.buttons(d) }) }},
	{PausedByItself, 2, func(m *home, d dice, _ string) { m.when(m.inMotion, 80, func() { m.robot.ownPause(d) }) }},
	{Alarm, 1, func(m *home, d dice, _ string) { m.when(m.inMotion, 80, func() { m.robot.alarm(d) }) }},
	{BatteryFalls, 1, func(m *home, d dice, _ string) { m.when(m.inMotion, 80, func() { m.robot.batteryFalls(d) }) }},
	{Button, 1, func(m *home, d dice, _ string) {
		if m.open && d.coin() {
			m.hit(Button, m.T+60_000, nil)
			m.tell(core.Observed{Event: "pui.cancelled", Source: "home"})
		}
	}},
}

// when does something as soon as a condition holds, within two minutes, or then all the same.
func (m *home) when(cond func() bool, left int, do func()) {
	if left == 0 || cond() {
		do()
		return
	}
	m.at(1_500, func() { m.when(cond, left-1, do) })
}

// inMotion says that a task of ours moves something that can be paused.
func (m *home) inMotion() bool { return m.moving() != nil }

func (m *home) moving() *job {
	for _, res := range []catalog.ResourceID{"base", "cleaner"} {
		if j := m.robot.motion[res]; m.open && j != nil && j.task != "" && !j.resting && m.T > j.began+300 {
			return j
		}
	}
	return nil
}

// script plans what is going to happen in a home.
func (m *home) script() {
	d := m.stream("script")
	for n := range 3 + d.IntN(4) {
		name := fmt.Sprintf("plan wf_%d", n)
		own := m.stream(name)
		m.at(own.between(0, playMS*3/4), func() {
			if m.happens(name) {
				m.cloud.submit(n, own)
			}
		})
	}
	m.schedules()
	for _, x := range deeds {
		for n := range d.IntN(x.most + 1) {
			name := fmt.Sprintf("%s#%d", x.fault, n)
			own := m.stream(name)
			m.at(own.between(0, playMS-100_000), func() {
				if m.happens(name) {
					x.do(m, own, name)
				}
			})
		}
	}
}

// jump moves the wall clock. A clock that is trusted is right; so it is one that nobody trusts which jumps, or one that comes to be
// trusted.
func (m *home) jump(d dice) {
	switch {
	case m.trusted && d.oneIn(3):
		m.trusted = false
		m.hit(ClockUntrusted, 0, nil)
		fallthrough
	case !m.trusted && d.coin():
		m.wallOff = d.between(-86_400_000, 86_400_000)
	case !m.trusted:
		m.trusted, m.wallOff = true, 0
	default:
		m.wallOff = d.between(-900, 900) // right to 1 s
	}
	m.hit(ClockJump, 0, nil)
	if m.up {
		m.tell(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: catalog.ContextKey("battery.level"), Value: m.robot.values["battery.level"], Available: true}}})
	}
}
