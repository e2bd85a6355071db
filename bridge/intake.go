package bridge

import (
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
)

// plan turns a plan message into an event: handed in whole, or refused whole with every fault.
func (c *Codec) plan(h core.Head, w *wire.Plan) core.Event {
	p, faults := CheckPlan(c.o.Catalog, w)
	if len(faults) > 0 {
		ev := refusal(h, faults[0].Reason, faults)
		ev.Answer.Workflow, ev.Answer.Plan, ev.Answer.CatalogEtag = p.Workflow, p.ID, c.o.Catalog.Etag
		return ev
	}
	p.Local = h.Local
	h.ExpireMS = expiry(h, w)
	return core.PlanSubmitted{Head: h, Plan: p}
}

// expiry is the moment, on the wall clock, after which the plan is too late; 0: it does not expire. A plan that came from an
// utterance always does.
func expiry(h core.Head, w *wire.Plan) int64 {
	wf := &w.Workflow
	ttl := h.SentMS + wf.TTLMS
	switch {
	case wf.ExpiresAt != "" && wf.TTLMS > 0:
		return min(millis(wf.ExpiresAt), ttl) // both given: the earlier holds
	case wf.ExpiresAt != "":
		return millis(wf.ExpiresAt)
	case wf.TTLMS > 0:
		return ttl
	case wf.Origin != nil && wf.Origin.TurnID != "" && h.SentMS > 0:
		return h.SentMS + defaultTTL.Milliseconds()
	}
	return 0
}
