package planner

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
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

// A robot that has lost its store while somebody took a schedule back has let go of it, and its result says so.
func TestAScheduleThatADeviceHasLost(t *testing.T) {
	r := newRig(t).real()
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "매일 오후 6시에 청정해줘")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	r.must(http.StatusAccepted, "POST", "/v1/schedules/"+id+"/cancel", `{}`)
	d.next(wire.TypeControl) // it never answers
	d.epoch = "e2"
	if got := d.hello("1.1"); !slices.Contains(got.Close, id) {
		t.Fatalf("close %v, want %s", got.Close, id)
	}
	want(t, r.get("/v1/schedules/"+id), "state", "cancelling")
	d.say(d.result(id, "failed", "store_lost"))
	s := r.get("/v1/schedules/" + id)
	want(t, s, "state", "cancelled")
	want(t, s, "reason_code", "store_lost")
	want(t, s, "next", nil)
	if said := r.turn("rb-1", "예약 뭐 있어?")["tts_response"]; said != "예약이 없어요." {
		t.Errorf("says %v", said)
	}
}

// A timer is not read any more once its time has passed, whoever has made it, and does not hide what is under way.
func TestTimersThatAreOver(t *testing.T) {
	r := newRig(t).real()
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	work := r.turn("rb-1", "청정해줘")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	for range openTold {
		r.turn("rb-1", "30분 뒤에 약 먹으라고 알려줘")
		d.say(d.ack(d.next(wire.TypePlan), ""))
	}
	live := func() (n int) {
		t.Helper()
		err := r.store.View(t.Context(), func(tx *store.Tx) error {
			rows, err := tx.LiveSchedules("rb-1", ms(r.clock.now()), 2*openTold)
			n = len(rows)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := live(); n != openTold {
		t.Errorf("%d are live, want %d", n, openTold)
	}
	a, err := r.server.around(t.Context(), turnRequest{DeviceID: "rb-1", RecognizedText: "안녕"})
	if err != nil || a.Foreground != work || len(a.Workflows) != 1 {
		t.Errorf("under way are %v, %v", a.Workflows, err)
	}
	r.clock.advance(31 * time.Minute)
	if n := live(); n != 0 {
		t.Errorf("%d are live after their time", n)
	}
}
