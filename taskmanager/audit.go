package taskmanager

import (
	"context"

	"deviceagent/taskmanager/core"
)

// auditMS is the pace of the liveness audit while work is open. Source: docs/taskmanager.md, liveness audit (five minutes): rare enough
// to cost nothing, often enough that what our own bug left standing goes on before a person gives up on it.
const auditMS = 5 * 60_000

// lateMS is how long a wake-up may be over before the timer counts as lost. Source: far above any pause of a process that gets its turn.
const lateMS = 10_000

// audit looks, at its pace, whether everything that has not ended can still be moved, and heals what cannot. A state without a fault
// costs no write, an idle agent not even the look.
func (m *Manager) audit(ctx context.Context, now core.Now) error {
	if m.retry { // the state on disk is older; it is tried again in a second
		return nil
	}
	if int64(now.Boot) < m.auditAt {
		return nil
	}
	m.auditAt = int64(now.Boot) + auditMS
	stuck := core.Audit(m.cur, now)
	for _, s := range stuck {
		m.alarms.Add(1)
		m.o.Log.Error().Str("workflow_id", string(s.Workflow)).Str("step_id", string(s.Step)).Str("task_id", string(s.Task)).
			Str("state", s.State).Str("lacks", s.Lacks).Msg("nothing could have moved it, healed")
	}
	if len(stuck) == 0 {
		return nil
	}
	return m.reduce(ctx, nil, []core.Event{core.Audited{}})
}

// missed says that a wake-up is over for long although the owner slept: its timer was lost, or the machine slept too. Whoever wakes the
// owner for another reason makes up for it. A commit that stalls is no sleep.
func (m *Manager) missed() bool {
	wake, now := int64(m.cur.NextWake()), m.o.Clock.Boot()
	if wake == 0 || now <= max(wake, m.armedAt)+lateMS {
		return false
	}
	m.o.Log.Warn().Int64("late_ms", now-wake).Msg("a wake-up was missed, made up for")
	return true
}

// nextAudit is when the audit wants to be woken; 0: nothing is open.
func (m *Manager) nextAudit() int64 {
	if len(m.cur.Open()) == 0 {
		return 0
	}
	return m.auditAt
}

// Alarms counts what the liveness audit had to heal since the start. Other than 0 means a bug of ours.
func (m *Manager) Alarms() int64 { return m.alarms.Load() }
