package planner

import (
	"net/http"
	"testing"
	"time"

	"deviceagent/bridge/wire"
)

// Only the device ends a plan: whoever does not hear of it says so, and what it reports days later counts.
func TestE12_ALostLinkEndsNoPlan(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_1", 0))["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	d.status(false, "1.1", "")
	d.sync("1.1")
	r.clock.advance(3 * 24 * time.Hour)
	r.tick()
	v := r.workflow(id)
	want(t, v, "submission", "accepted")
	want(t, v, "status", "")
	want(t, v, "link", "link_lost")
	d.hello("1.2")
	d.say(d.result(id, "completed", ""))
	want(t, r.workflow(id), "status", "completed")
}
