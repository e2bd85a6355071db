package bridge

import (
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
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

// existingEvent takes the event of other work that a step waits for. One that no operation gives would be waited for in vain.
func (k *checker) existingEvent(s *core.StepSpec, r *wire.Request) {
	s.AnchorEvent, s.AnchorTimeoutMS = catalog.EventName(r.AnchorEvent), r.AnchorTimeoutMS
	if r.AnchorSeenAt != "" {
		s.AnchorSeenMS = max(1, millis(r.AnchorSeenAt))
	}
	switch _, known := k.cat.Events[s.AnchorEvent]; {
	case r.AnchorEvent == "":
		k.here("anchor_event", wire.ReasonMissingField, "after_existing_event needs the event")
	case !known:
		k.here("anchor_event", ReasonUnknownEvent, "%q is no event of this catalog", r.AnchorEvent)
	case !k.cat.Given(s.AnchorEvent):
		k.here("anchor_event", wire.ReasonBadValue, "%s proves no effect and releases nothing, so no run can be bound to it", r.AnchorEvent)
	}
	if r.TemporalAnchorID != "" {
		k.here("temporal_anchor_id", wire.ReasonBadValue, "the anchor is an event of other work: anchor_event")
	}
	if r.DelayMS < 0 || r.DelayMS > maxDelayMS {
		k.here("delay_ms", wire.ReasonBadValue, "must be 0 to %d ms (30 days)", int64(maxDelayMS))
	}
}
