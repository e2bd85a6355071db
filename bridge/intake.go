package bridge

import (
	"math"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// plan turns a plan message into an event: handed in whole, or refused whole with every fault.
func (c *Codec) plan(h core.Head, w *wire.Plan) core.Event {
	p, faults, goal := c.check(w, h.Local)
	if len(faults) > 0 {
		faults = append(faults, goal...)
		ev := refusal(h, faults[0].Reason, faults)
		ev.Answer.Workflow, ev.Answer.Plan, ev.Answer.CatalogEtag = p.Workflow, p.ID, c.o.Catalog.Etag
		return ev
	}
	p.Local, p.SentMS = h.Local, h.SentMS
	h.ExpireMS = expiry(h, w)
	return core.PlanSubmitted{Head: h, Plan: p, GoalFaults: goal}
}

// expiry is the moment, on the wall clock, after which the plan is too late; 0: it does not expire. A plan that came from an
// utterance always does.
func expiry(h core.Head, w *wire.Plan) int64 {
	wf := &w.Workflow
	ttl := wf.TTLMS
	if ttl == 0 && wf.ExpiresAt == "" && wf.Schedule == nil && wf.Origin != nil && wf.Origin.TurnID != "" {
		ttl = defaultTTL.Milliseconds()
	}
	moment := int64(math.MaxInt64)
	if ttl > 0 {
		moment = h.SentMS + ttl
	}
	if wf.ExpiresAt != "" {
		moment = min(moment, millis(wf.ExpiresAt)) // both given: the earlier holds
	}
	if moment == math.MaxInt64 {
		return 0
	}
	return max(moment, 1) // a moment before 1970 has passed, and 0 says "never"
}
