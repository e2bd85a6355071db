package planner

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge"
	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/pipeline"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
)

// real joins planner, compiler and check as the program does.
func (r *rig) real() *rig {
	t := r.t
	t.Helper()
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	r.plans = pipeline.New(rules.New(cat, words), cat, words)
	r.build = func(in turn.Input, d turn.Decision, ids IDs) (*wire.Plan, error) {
		plan, err := compile.Plan(cat, in, d, compile.IDs(ids))
		return &plan, err
	}
	r.check = func(p wire.Plan, _ []wire.Room) (out []wire.Fault) {
		_, faults := bridge.CheckPlan(cat, &p)
		for _, f := range faults {
			out = append(out, wire.Fault{Path: f.Path, ReasonCode: string(f.Reason), Message: f.Message})
		}
		return out
	}
	return r
}

// A schedule that is said over two turns is a plan for set times that never expires by itself; it counts when the device has taken it. A
// restart of the planner between the turns loses nothing.
func TestAScheduleIsSaidOverTwoTurns(t *testing.T) {
	r := newRig(t).real()
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	v := r.turn("rb-1", "고정청정 예약해줘")
	want(t, v, "dispatched", false)
	want(t, v, "decision.slots.missing_slots", []string{"start_time"})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.clock.advance(5 * time.Minute) // the last moment
	v = r.turn("rb-1", "매일 오후 6시부터 7시까지")
	want(t, v, "decision.owner_selection", "SCH")
	want(t, v, "dispatched", true)
	plan := d.next(wire.TypePlan)
	w := plan.Plan.Workflow
	if s := w.Schedule; s == nil || len(s.Days) != 7 || s.At != "18:00" || s.EndAt != "19:00" || s.TZ != "Asia/Seoul" || w.TTLMS != 0 || w.ExpiresAt != "" || w.DeadlineMS < 3_600_000 {
		t.Errorf("the plan is %+v for %+v", w, w.Schedule)
	}
	s := oneOf(t, r.get("/v1/schedules"))
	want(t, s, "state", "sent")
	want(t, s, "what", "청정")
	want(t, s, "utterance", "매일 오후 6시부터 7시까지")
	d.say(d.ack(plan, ""))
	want(t, oneOf(t, r.get("/v1/schedules")), "state", "accepted")

	v = r.turn("rb-1", "7시로 바꿔줘") // of what was spoken of last
	want(t, v, "decision.schedule.verb", "change")
	change := d.next(wire.TypePlan)
	if c := change.Plan.Workflow; c.Revision != 1 || c.Schedule.At != "19:00" || c.Schedule.EndAt != "20:00" || c.CloudWorkflowID != w.CloudWorkflowID {
		t.Errorf("moved to %+v for %+v", c, c.Schedule)
	}
	d.say(d.ack(change, ""))
	want(t, oneOf(t, r.get("/v1/schedules")), "schedule.at", "19:00")

	r.turn("rb-1", "청정 예약 취소해줘")
	c := d.next(wire.TypeControl)
	if c.Control.Verb != "cancel" || c.Control.Target != w.CloudWorkflowID {
		t.Errorf("cancelled by %+v", c.Control)
	}
	want(t, oneOf(t, r.get("/v1/schedules")), "state", "cancelling")
	d.say(d.ack(c, ""))
	want(t, oneOf(t, r.get("/v1/schedules")), "state", "cancelled")
	if said := r.turn("rb-1", "예약 뭐 있어?")["tts_response"]; said != "예약이 없어요." {
		t.Errorf("says %v", said)
	}
}

// A schedule that the device has not taken is none, and who asks is told so for a day.
func TestARefusedScheduleIsTold(t *testing.T) {
	r := newRig(t).real()
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.turn("rb-1", "매일 오후 6시에 청정 예약해줘")
	d.say(d.ack(d.next(wire.TypePlan), "limit_reached"))
	want(t, oneOf(t, r.get("/v1/schedules")), "reason_code", "limit_reached")
	if said := r.turn("rb-1", "예약 뭐 있어?")["tts_response"]; said != "예약이 없어요. '매일 오후 6시 청정' 예약은 로봇이 받아들이지 않았어요." {
		t.Errorf("says %v", said)
	}
	want(t, r.turn("rb-1", "청정 예약 취소해줘"), "tts_response", "예약이 없어요.")
	r.clock.advance(24 * time.Hour)
	want(t, r.turn("rb-1", "예약 뭐 있어?"), "tts_response", "예약이 없어요.")
}

// What was left open is forgotten after five minutes, is not another device's, and is not kept where nothing is to be done.
func TestWhatIsLeftOpenHasAnEnd(t *testing.T) {
	for _, tc := range []struct {
		name   string
		ask    string
		device string
		wait   time.Duration
	}{
		{"too late", `{"device_id":"rb-1","recognized_text":"고정청정 예약해줘"}`, "rb-1", 5*time.Minute + time.Second},
		{"another device", `{"device_id":"rb-1","recognized_text":"고정청정 예약해줘"}`, "rb-2", 0},
		{"only planned", `{"device_id":"rb-1","recognized_text":"고정청정 예약해줘","dispatch":false}`, "rb-1", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t).real()
			r.start()
			r.must(http.StatusOK, "POST", "/v1/turns", tc.ask)
			r.clock.advance(tc.wait)
			v := r.turn(tc.device, "매일 오후 6시부터 7시까지")
			want(t, v, "dispatched", false)
			if list := r.get("/v1/schedules")["schedules"].([]any); len(list) != 0 {
				t.Errorf("made %v", list)
			}
		})
	}
}

// A change over HTTP is held to what the device takes: times that there are not, and a schedule that never comes, are refused here with their place.
func TestAChangeIsChecked(t *testing.T) {
	r := newRig(t).real()
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "매일 오후 6시부터 7시까지 청정 예약해줘")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	for body, path := range map[string]string{
		`{"days":["mon"],"at":"25:00"}`:                                    "workflow.schedule.at",
		`{"days":["someday"],"at":"18:00"}`:                                "workflow.schedule.days",
		`{"days":["mon"],"on":"2026-12-24","at":"18:00"}`:                  "workflow.schedule.on",
		`{"days":["mon"],"at":"18:00","tz":"Mars/Olympus"}`:                "workflow.schedule.tz",
		`{"days":["mon"],"at":"18:00","end_at":"18:00","tz":"Asia/Seoul"}`: "workflow.schedule.end_at",
	} {
		p := r.must(http.StatusUnprocessableEntity, "PUT", "/v1/schedules/"+id, body)
		if got := faultPaths(p); len(got) == 0 || !strings.HasPrefix(got[0], path) {
			t.Errorf("%s: faults at %v, want %s", body, got, path)
		}
	}
	r.must(http.StatusBadRequest, "PUT", "/v1/schedules/"+id, `{"at":`)
	want(t, r.get("/v1/schedules/"+id), "revision", 0)
}

// Times are those of the home: the turn's zone, else the endpoint's.
func TestTheZoneOfATurn(t *testing.T) {
	r := newRig(t).real()
	r.start() // it is 09:00 in UTC, 18:00 in Seoul, 04:00 in New York
	r.must(http.StatusOK, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"오후 5시에 청정해줘"}`)
	want(t, oneOf(t, r.get("/v1/schedules?device_id=rb-1")), "next", "2026-12-01T17:00:00+09:00")
	r.must(http.StatusOK, "POST", "/v1/turns", `{"device_id":"rb-2","recognized_text":"오후 5시에 청정해줘","timezone":"America/New_York"}`)
	want(t, oneOf(t, r.get("/v1/schedules?device_id=rb-2")), "next", "2026-11-30T17:00:00-05:00")
	for _, zone := range []string{"Mars/Olympus", "Local", "../etc/passwd"} {
		p := r.must(http.StatusUnprocessableEntity, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"청정해줘","timezone":"`+zone+`"}`)
		if got := strings.Join(faultPaths(p), " "); got != "timezone" {
			t.Errorf("%s: faults at %s", zone, got)
		}
	}
}
