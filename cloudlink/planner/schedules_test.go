package planner

import (
	"net/http"
	"testing"
	"time"

	"deviceagent/bridge/wire"
)

func dailyPlan(at string) string {
	return `{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0,"schedule":{"days":["mon","tue","wed","thu","fri","sat","sun"],"at":"` + at + `","tz":"Asia/Seoul"}},
		"device_task_requests":[{"cloud_step_id":"s1","taskMethod":"setMoveTo","params":{"position":"거실"}}]}`
}

func oneOf(t *testing.T, v object) object {
	t.Helper()
	list, _ := v["schedules"].([]any)
	if len(list) != 1 {
		t.Fatalf("schedules %v, want one", v)
	}
	return list[0].(object)
}

// What a device keeps is told by its own answers, over a restart of the planner: a change counts when it was taken, and one that was
// refused leaves what was there.
func TestASchedulesStateIsTheDevicesAnswer(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", dailyPlan("18:30"))
	s := oneOf(t, r.get("/v1/schedules?device_id=rb-1"))
	want(t, s, "state", "queued")
	want(t, s, "next", "2026-11-30T18:30:00+09:00") // it is 18:00 there
	d.hello("1.1")
	plan := d.next(wire.TypePlan)
	want(t, oneOf(t, r.get("/v1/schedules")), "state", "sent")
	d.say(d.ack(plan, ""))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r.start()
	d.hello("1.1")
	want(t, oneOf(t, r.get("/v1/schedules")), "state", "accepted")

	v := r.must(http.StatusAccepted, "PUT", "/v1/schedules/wf_1", `{"days":["mon"],"at":"07:00","end_at":"08:00"}`)
	want(t, v, "schedule.at", "18:30")
	want(t, v, "pending.at", "07:00")
	change := d.next(wire.TypePlan)
	if w := change.Plan.Workflow; w.Revision != 1 || w.PlanID != "pl_1" || w.Schedule.At != "07:00" || w.Schedule.TZ != "Asia/Seoul" {
		t.Errorf("changed to %+v", w)
	}
	d.say(d.ack(change, "limit_reached"))
	s = oneOf(t, r.get("/v1/schedules"))
	want(t, s, "state", "accepted")
	want(t, s, "schedule.at", "18:30")
	want(t, s, "pending", nil)
	r.must(http.StatusAccepted, "PUT", "/v1/schedules/wf_1", `{"days":["tue"],"at":"06:00"}`)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	v = r.get("/v1/schedules/wf_1")
	want(t, v, "schedule.at", "06:00")
	want(t, v, "revision", 2)
	want(t, v, "next", "2026-12-01T06:00:00+09:00")

	r.must(http.StatusAccepted, "POST", "/v1/schedules/wf_1/cancel", `{}`)
	want(t, r.get("/v1/schedules/wf_1"), "state", "cancelling")
	d.say(d.ack(d.next(wire.TypeControl), ""))
	want(t, r.get("/v1/schedules/wf_1"), "state", "cancelled")
	want(t, r.must(http.StatusConflict, "PUT", "/v1/schedules/wf_1", `{"days":["tue"],"at":"06:00"}`), "code", "schedule_ended")
	r.must(http.StatusNotFound, "GET", "/v1/schedules/wf_2", "")
	r.must(http.StatusNotFound, "POST", "/v1/schedules/wf_2/cancel", "{}")
}

// One that was never sent is withdrawn, and one whose only time has passed is over.
func TestASchedulesEndWithoutTheDevice(t *testing.T) {
	r := newRig(t)
	r.start()
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", dailyPlan("18:30"))
	want(t, r.must(http.StatusAccepted, "POST", "/v1/schedules/wf_1/cancel", `{}`), "state", "withdrawn")
	want(t, r.get("/v1/schedules/wf_1"), "state", "expired")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-2/plans", `{"workflow":{"cloud_workflow_id":"wf_2","plan_id":"pl_2","revision":0,
		"schedule":{"on":"2026-11-30","at":"18:30","tz":"Asia/Seoul"}},"device_task_requests":[{"cloud_step_id":"s1","taskMethod":"setMoveTo","params":{"position":"거실"}}]}`)
	r.clock.advance(29 * time.Minute)
	want(t, r.get("/v1/schedules/wf_2"), "state", "queued")
	r.clock.advance(time.Minute)
	want(t, r.get("/v1/schedules/wf_2"), "state", "over")
}
