package bridge

import (
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// wallTime takes the moment of the wall clock before which a step is not dispatched, and what becomes of one whose moment passed while
// the device could not see it. A plan that comes by the wire has been held to the same by its decoder.
func (k *checker) wallTime(s *core.StepSpec, r *wire.Request) {
	s.OnOverdue = core.Overdue(r.OnOverdue)
	if r.NotBefore != "" {
		s.NotBeforeMS = max(1, millis(r.NotBefore)) // 0 says that there is none, and a moment before 1970 has passed anyway
	}
	if r.TemporalRelation != "at_time" {
		return
	}
	if r.NotBefore == "" {
		k.here("not_before", wire.ReasonMissingField, "at_time needs the moment")
	}
	if r.TemporalAnchorID != "" {
		k.here("temporal_anchor_id", wire.ReasonBadValue, "a wall time has no anchor: name it in depends_on")
	}
	if r.DelayMS != 0 {
		k.here("delay_ms", wire.ReasonBadValue, "a wall time has no delay: not_before is the moment")
	}
}
