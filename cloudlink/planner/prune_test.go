package planner

import (
	"net/http"
	"testing"
	"time"

	"deviceagent/bridge/wire"
)

// TestOldRecordsArePruned: what ended is shown for recordDays, and then no longer kept; what a device still holds stays.
func TestOldRecordsArePruned(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	turn := r.turn("rb-1", "go")
	ended, held := turn["workflow_id"].(string), "wf_held"
	d.say(d.ack(d.next(wire.TypePlan), ""))
	d.say(d.result(ended, "completed", ""))
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan(held, 0))
	d.say(d.ack(d.next(wire.TypePlan), ""))
	r.clock.advance((recordDays - 1) * 24 * time.Hour)
	r.tick()
	want(t, r.workflow(ended), "status", "completed")
	r.clock.advance(48 * time.Hour)
	r.tick()
	r.must(http.StatusNotFound, "GET", "/v1/workflows/"+ended, "")
	r.must(http.StatusNotFound, "GET", "/v1/turns/"+turn["turn_id"].(string), "")
	want(t, r.workflow(held), "submission", "accepted")
}
