package sim

import (
	"slices"

	"deviceagent/taskmanager/core"
)

// commit writes one batch, and meets whatever is armed: a cut before it, a disk that refuses, lies or is slow.
func (m *home) commit(w *write) {
	switch {
	case m.meets(CutBeforeCommit):
		m.kill(w.batch)
		return
	case m.meets(DiskErrorWritten): // nobody can know that it is there: stop what moves, exit, verify
		m.disk.write(m, w)
		m.judge.durable(w)
		for _, out := range core.StopBody(m.s) {
			m.carry(out)
		}
		m.kill(w.batch)
		return
	case m.fullUntil > m.T:
		m.refuse(w)
		return
	}
	if m.meets(DiskSlow) {
		life := m.life
		m.writing = w
		m.at(m.stream("slow").between(50, 8_000)+int64(m.whim(4_000, 3)), func() {
			if m.life == life {
				m.writing = nil
				m.committed(w)
				m.drainSoon(0)
			}
		})
		return
	}
	m.committed(w)
}

// meets takes a fault of the disk or of a commit that is armed.
func (m *home) meets(f Fault) bool {
	i := slices.Index(m.armed, f)
	if i < 0 || m.calm {
		return false
	}
	m.armed = slices.Delete(m.armed, i, i+1)
	switch f {
	case CutBeforeCommit, CutAfterCommit, CutAmongOutputs, DiskErrorWritten:
		m.hit(f, m.T+1, m.recovered)
	case DiskSlow:
		m.hit(f, m.T+1, func() bool { return m.writing == nil })
	}
	return true
}

// refuse: nothing of the batch is on disk. Who handed in a message is told so; what executors said is kept and tried again.
func (m *home) refuse(w *write) {
	m.note("the disk refuses")
	m.s.Device.TaskNo = w.c.DeviceRow().TaskNo // ids that may have left are not used again
	var again []item
	for _, it := range w.batch {
		if it.msg != nil {
			m.cloud.notTaken(it)
			continue
		}
		if _, tick := it.ev.(core.Tick); !tick {
			again = append(again, it)
		}
	}
	m.held = again
	m.retryAt, m.refused = m.T+1_000, true
}

// committed: it is durable. Now the state is what was decided, the senders are told, and what had to wait leaves.
func (m *home) committed(w *write) {
	m.disk.write(m, w)
	m.seq += int64(len(w.batch))
	m.softSince, m.written, m.wrote, m.refused = 0, w.now.Boot, m.T, false
	urgent := map[core.TaskID]bool{}
	m.adopt(w)
	m.recorded(true)
	for _, it := range w.batch {
		if it.msg != nil {
			m.cloud.taken()
		}
	}
	if m.whim(4, 2) == 0 {
		m.disk.same(m)
	}
	for _, it := range m.inbox {
		for _, out := range core.UrgentStops(m.s, m.now(), it.ev) {
			if s, ok := out.(core.Stop); ok {
				urgent[s.Task] = true
			}
		}
	}
	if !m.open {
		m.takesWork()
	}
	outs := append(slices.Clone(w.late), w.c.Outputs...)
	if len(outs) > 0 && m.meets(CutAfterCommit) {
		m.kill(nil)
		return
	}
	cut := -1
	if len(outs) > 1 && m.meets(CutAmongOutputs) {
		cut = 1 + m.whim(len(outs)-1, 5)
	}
	for i, out := range outs {
		if i == cut {
			m.kill(nil)
			return
		}
		if d, ok := out.(core.Dispatch); ok && urgent[d.Task] { // a stop that was heard during the commit covers it
			m.tell(core.TaskAnswered{Task: d.Task, NotSent: true, Reason: core.ReasonExecutorBusy})
			continue
		}
		m.carry(out)
	}
}

// kill ends the agent's process as a power cut would, and starts it again some time later, maybe with the whole machine. lost is the
// batch that it was about to write.
func (m *home) kill(lost []item) {
	if !m.up {
		return
	}
	m.note("agent killed")
	d := m.stream("kill " + string(rune('0'+m.life%10)) + string(rune('0'+m.life/10)))
	if w := m.writing; w != nil { // in the middle of a commit: it is there, or not
		if d.coin() {
			m.note("  what was being written is there")
			m.disk.write(m, w)
			m.judge.durable(w)
		}
		lost = append(lost, w.batch...) // nobody was told
	}
	for _, it := range append(slices.Clone(lost), m.inbox...) {
		if it.msg != nil {
			m.cloud.notTaken(it)
		}
	}
	m.held, m.open = nil, false
	m.up, m.asleep, m.draining, m.writing, m.inbox, m.retryAt, m.softSince, m.refused = false, false, false, nil, nil, 0, 0, false
	m.life++
	m.judge.cut()
	m.robot.there = false
	m.robot.line++
	after := d.between(100, 90_000)
	if m.calm {
		after = 1_000
	} else if d.coin() {
		m.hit(Reboot, m.T+1, m.recovered)
		m.bootNo++
		m.boot = m.T + d.between(1, after) - d.between(0, 200_000)
		m.offMS += m.T + after - m.wrote + wallRightMS + m.setBackMS
		m.trusted, m.wallOff = true, 0
		if d.oneIn(4) {
			m.hit(ClockUntrusted, 0, nil)
			m.trusted, m.wallOff = false, d.between(-400*86_400_000, 400*86_400_000)
		}
		if d.coin() {
			m.robot.restart("of the whole machine")
		}
	}
	m.at(after, m.start)
}

// start begins a process on what the disk holds.
func (m *home) start() {
	if m.up {
		return
	}
	m.up = true
	m.s, m.seq, m.startNo = m.disk.load(m.cat, m.seed%journalEvery == 0)
	m.written = 0
	m.note("agent started, boot clock %d", m.T-m.boot)
	m.judge.restarted()
	m.do([]item{{ev: core.Started{StartNo: m.startNo}}})
}

// takesWork: the first batch is durable, and with it the number of the start, of which all new ids are made. Only now the doors open.
func (m *home) takesWork() {
	m.open = true
	m.cloud.reconnected()
	m.at(5+int64(m.whim(5_000, 4)), m.robot.callIn)
}
