package taskmanager

// trustMS is how often the wall clock is looked at while it cannot be trusted and something waits for it: that somebody has begun to
// keep it right makes no noise. Source: a wall time may be late by this after a boot without a clock; nobody waits for it otherwise.
const trustMS = 10_000

// armWall gives the boot time of the next wake-up, where at is that which boot time alone asks for (0: none): earlier where a moment of
// the wall clock, as it stands now, comes first, or where a clock that cannot be trusted asks for a mark or another look.
func (m *Manager) armWall(at int64) int64 {
	wall, trusted := m.o.Clock.Wall()
	boot := m.o.Clock.Boot()
	next := m.cur.NextWall()
	if trusted && !m.o.Hold {
		next = sooner(next, m.nextOccurrence(wall))
	}
	switch {
	case next != 0 && trusted:
		at = sooner(at, boot+max(0, next-wall))
	case next != 0 || m.cur.Device.OffMS != 0 || len(m.cur.Templates) > 0 && !trusted:
		at = sooner(at, boot+trustMS)
	}
	if !trusted {
		at = sooner(at, int64(m.mark(false)))
	}
	return at
}

// sooner is the earlier of two moments; 0 is none.
func sooner(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
