package planner

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

func TestJudge(t *testing.T) {
	online := store.Device{Epoch: "e1", ConnStart: 3, ConnNo: 2, Online: true, HelloAt: 1}
	offline := online
	offline.Online = false
	for _, tc := range []struct {
		name   string
		known  store.Device
		on     bool
		conn   string
		epoch  string
		seen   bool
		wanted standing
	}{
		{"first hello of all", store.Device{}, true, "1.1", "e1", false, newEpoch},
		{"first word is a will", store.Device{}, false, "1.1", "e1", false, offlineIn},
		{"same connection again", online, true, "3.2", "e1", true, same},
		{"next connection", online, true, "3.3", "e1", true, connected},
		{"next start counts more than connections", online, true, "4.1", "e1", true, connected},
		{"numbers, not text", online, true, "10.1", "e1", true, connected},
		{"its own will", online, false, "3.2", "e1", true, gone},
		{"old will after new online", online, false, "3.1", "e1", true, stale},
		{"will of an older start", online, false, "2.9", "e1", true, stale},
		{"late hello after its will", offline, true, "3.2", "e1", true, stale},
		{"back again", offline, true, "3.3", "e1", true, connected},
		{"new store, numbers from the start", online, true, "1.1", "e2", false, newEpoch},
		{"will of a new store that never said hello", online, false, "1.1", "e2", false, offlineIn},
		{"a store that was given up", online, true, "9.9", "e0", true, stale},
		{"no number", online, true, "", "e1", true, stale},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := judge(tc.known, wire.Status{Online: tc.on, ConnNo: tc.conn}, tc.epoch, tc.seen)
			if got != tc.wanted {
				t.Errorf("judged %q, want %q", got, tc.wanted)
			}
		})
	}
}

func TestParseConn(t *testing.T) {
	for text, wanted := range map[string]conn{"3.12": {3, 12}, "": {}, "3": {}, "a.1": {}, "-1.2": {}, "1.2.3": {}, "99999999999999999999.1": {}} {
		if got := parseConn(text); got != wanted {
			t.Errorf("%q is %v, want %v", text, got, wanted)
		}
	}
}

func TestHelloIsAnsweredAndKept(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	got := d.hello("1.1")
	if got.PlannerTime != "2026-11-30T09:00:00.000Z" || len(got.Close) > 0 {
		t.Errorf("receipt has time %q and close %v", got.PlannerTime, got.Close)
	}
	v := r.must(http.StatusOK, "GET", "/v1/devices/rb-1", "")
	want(t, v, "link", "online")
	want(t, v, "store_epoch", "e1")
	want(t, v, "conn_no", "1.1")
	want(t, v, "catalog_etag", "etag-1")
	want(t, v["rooms"].([]any)[0].(object), "name", "거실")
	if n := len(r.get("/v1/devices")["devices"].([]any)); n != 1 {
		t.Errorf("%d devices, want 1", n)
	}
}

func TestOldWillAfterNewOnlineIsIgnored(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	d.hello("1.2")
	d.status(false, "1.1", "") // the broker noticed late that 1.1 had gone
	d.hello("1.2")
	want(t, r.get("/v1/devices/rb-1"), "link", "online")

	d.status(false, "1.2", "")
	d.sync("1.2") // stale, since 1.2 has gone; but answered, so it marks the order
	v := r.workflow(id)
	want(t, v, "link", "link_lost")
	want(t, v, "submission", "accepted") // presence is an overlay
	want(t, v, "status", "")
}

func TestNothingIsSentToAnAbsentDevice(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	id := r.turn("rb-1", "go")["workflow_id"].(string) // before its first hello
	want(t, r.workflow(id), "submission", "queued")
	want(t, r.workflow(id), "link", "unknown")
	d.hello("1.1")
	plan := d.next(wire.TypePlan)
	if plan.StoreEpoch != "e1" || plan.Corr.WorkflowID != id {
		t.Errorf("got plan of %s for epoch %q", plan.Corr.WorkflowID, plan.StoreEpoch)
	}
	d.say(d.ack(plan, ""))
	d.status(false, "1.1", "")
	d.sync("1.1")
	gone := r.turn("rb-1", "go again")["workflow_id"].(string)
	want(t, r.workflow(gone), "submission", "queued")
	d.hello("1.2")
	if got := d.next(wire.TypePlan); got.Corr.WorkflowID != gone {
		t.Errorf("got plan of %s, want %s", got.Corr.WorkflowID, gone)
	}
}

func TestNewEpochClosesWhatTheStoreLost(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	var ids []string
	for range 3 {
		ids = append(ids, r.turn("rb-1", "go")["workflow_id"].(string))
	}
	d.say(d.ack(d.next(wire.TypePlan), ""))
	d.next(wire.TypePlan) // never answered
	d.say(d.ack(d.next(wire.TypePlan), ""))
	d.say(d.result(ids[2], "completed", ""))

	d.epoch = "e2"
	got := d.hello("1.1") // a new store counts from the start
	slices.Sort(got.Close)
	if lost := slices.Sorted(slices.Values(ids[:2])); !slices.Equal(got.Close, lost) {
		t.Errorf("close %v, want %v", got.Close, lost)
	}
	r.clock.advance(2 * resendAfter)
	r.tick()
	if came, _ := d.sync("1.1"); len(came) > 0 {
		t.Errorf("%s of the old epoch was sent again", came[0].Type)
	}
	for _, id := range ids[:2] {
		want(t, r.workflow(id), "status", "") // only the device closes it
		d.say(d.result(id, "failed", "store_lost"))
		want(t, r.workflow(id), "status", "failed")
	}
	want(t, r.workflow(ids[0]), "submission", "accepted")
	want(t, r.workflow(ids[1]), "submission", "expired")
	want(t, r.workflow(ids[1]), "reason_code", "store_lost")
	if again := d.hello("1.2"); len(again.Close) > 0 {
		t.Errorf("close %v, want none any more", again.Close)
	}

	d.epoch = "e1"
	if late := d.hello("9.9"); len(late.Close) > 0 { // a restored disk must not close the work of the present one
		t.Errorf("a given-up epoch was told to close %v", late.Close)
	}
	want(t, r.get("/v1/devices/rb-1"), "store_epoch", "e2")
}

// A schedule comes anew after the loss of a store: its plan goes to the new one, and is neither closed nor sent twice. One that was
// cancelled stays away.
func TestAScheduleComesAnew(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	for _, id := range []string{"wf_kept", "wf_cancelled"} {
		r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans?check=false", strings.Replace(rawPlan(id, 0), `"revision":0`,
			`"revision":0,"schedule":{"days":["mon"],"at":"18:00","tz":"Asia/Seoul"}`, 1))
		d.say(d.ack(d.next(wire.TypePlan), ""))
	}
	r.must(http.StatusAccepted, "POST", "/v1/workflows/wf_cancelled/cancel", `{"reason":"no"}`)
	d.say(d.ack(d.next(wire.TypeControl), ""))

	d.epoch = "e2"
	if got := d.hello("1.1"); !slices.Equal(got.Close, []string{"wf_cancelled"}) {
		t.Errorf("close %v", got.Close)
	}
	anew := d.next(wire.TypePlan)
	if anew.Corr.WorkflowID != "wf_kept" || anew.StoreEpoch != "e2" {
		t.Errorf("anew came %s for epoch %q", anew.Corr.WorkflowID, anew.StoreEpoch)
	}
	if got := d.hello("1.2"); slices.Contains(got.Close, "wf_kept") {
		t.Errorf("before its answer it is closed: %v", got.Close)
	}
	d.next(wire.TypePlan) // unanswered: after a hello it is sent again
	d.say(d.ack(anew, ""))
	if got := d.hello("1.3"); slices.Contains(got.Close, "wf_kept") {
		t.Errorf("it is closed after all: %v", got.Close)
	}
	if came, _ := d.sync("1.3"); len(came) > 0 {
		t.Errorf("%s was sent again", came[0].Type)
	}
}

// A planner that was restored from a backup holds open what the device has ended and reported: it asks for the result once more.
func TestF71_ARestoredPlannerAsksForALostResult(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	if got := d.hello("1.2"); len(got.Close) > 0 {
		t.Errorf("nobody has accepted it, and it is asked for: %v", got.Close)
	}
	plan := d.next(wire.TypePlan)
	d.next(wire.TypePlan) // the same, after the hello
	d.say(d.ack(plan, ""))
	d.open = []string{id}
	if got := d.hello("1.3"); len(got.Close) > 0 {
		t.Errorf("it is open there, and asked for: %v", got.Close)
	}
	d.open = nil
	if got := d.hello("1.3"); !slices.Equal(got.Close, []string{id}) {
		t.Errorf("asked for %v", got.Close)
	}
	d.say(d.result(id, "completed", ""))
	if got := d.hello("1.4"); len(got.Close) > 0 {
		t.Errorf("after the result asked for %v", got.Close)
	}
	if came, _ := d.sync("1.4"); len(came) > 0 && came[0].Type == wire.TypePlan {
		t.Error("the plan was sent again")
	}
}

// A planner that was restored from a backup of long ago goes on above what the device has seen: its cancel is not taken for an old one.
func TestF71_ARestoredPlannerGoesOnAboveItsOldNumbers(t *testing.T) {
	said := func(later time.Duration, turns int) (last int64) {
		r := newRig(t)
		r.start()
		r.clock.advance(later)
		d := r.device("rb-1", "e1")
		d.hello("1.1")
		for range turns {
			r.turn("rb-1", "stop all")
			last = d.next(wire.TypeControl).Seq
		}
		return last
	}
	if before, after := said(0, 9), said(time.Second, 1); after <= before {
		t.Errorf("after the backup seq %d, before %d", after, before)
	}
}

func TestTwentyUnansweredPlans(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	for i := range unackedPlans + 5 {
		r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan(fmt.Sprintf("wf_%d", i), 0))
	}
	came, _ := d.sync("1.1")
	if len(came) != unackedPlans {
		t.Fatalf("%d plans came, want %d", len(came), unackedPlans)
	}
	for i, env := range came {
		if env.Seq != came[0].Seq+int64(i) {
			t.Errorf("plan %d has seq %d", i, env.Seq)
		}
	}
	r.must(http.StatusAccepted, "POST", "/v1/workflows/wf_3/cancel", `{"reason":"no"}`)
	if c := d.next(wire.TypeControl); c.Control.Target != "wf_3" || c.Seq != came[0].Seq+unackedPlans+5 { // a cancel does not wait behind plans
		t.Errorf("cancel of %s has seq %d", c.Control.Target, c.Seq)
	}
	want(t, r.workflow("wf_20"), "submission", "queued")
	for i := range 2 {
		d.say(d.ack(came[i], ""))
		if next := d.next(wire.TypePlan); next.Seq != came[0].Seq+int64(unackedPlans+i) {
			t.Errorf("after an answer came seq %d", next.Seq)
		}
	}
	if more, _ := d.sync("1.1"); len(more) != 0 {
		t.Errorf("%d more messages came", len(more))
	}
}

func TestResendAfterTimeAndHello(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.turn("rb-1", "go")
	first := d.next(wire.TypePlan)
	r.clock.advance(resendAfter - time.Millisecond)
	r.tick()
	if came, _ := d.sync("1.1"); len(came) != 0 {
		t.Fatalf("sent again after %s", resendAfter-time.Millisecond)
	}
	r.clock.advance(time.Millisecond)
	r.tick()
	if again := d.next(wire.TypePlan); again.ID != first.ID || again.Seq != first.Seq || again.SentAt != first.SentAt {
		t.Errorf("sent again as another message: %v, want %v", again, first)
	}
	d.hello("1.2")
	if again := d.next(wire.TypePlan); again.ID != first.ID {
		t.Errorf("after the hello came %s, want %s", again.ID, first.ID)
	}
	d.say(d.ack(first, ""))
	r.clock.advance(resendAfter)
	r.tick()
	if came, _ := d.sync("1.2"); len(came) != 0 {
		t.Error("an answered plan was sent again")
	}
}

func TestRestartSendsAgain(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	first := d.next(wire.TypePlan)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r.start()
	if again := d.next(wire.TypePlan); again.ID != first.ID || again.StoreEpoch != "e1" {
		t.Errorf("sent again as %s for epoch %q, want %s for e1", again.ID, again.StoreEpoch, first.ID)
	}
	d.say(d.ack(first, ""))
	want(t, r.workflow(id), "submission", "accepted")
	r.turn("rb-1", "go")
	if next := d.next(wire.TypePlan); next.Seq != first.Seq+1 {
		t.Errorf("after the restart seq %d, want %d", next.Seq, first.Seq+1)
	}
}

func TestExpiry(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	plan := d.next(wire.TypePlan)
	d.status(false, "1.1", "")
	d.sync("1.1")
	unsent := r.turn("rb-1", "go")["workflow_id"].(string)
	r.clock.advance(defaultTTL)
	r.tick()
	want(t, r.workflow(unsent), "submission", "expired") // surely never sent
	want(t, r.workflow(id), "submission", "sent")        // its answer may be on the way
	r.clock.advance(expiryGrace)
	r.tick()
	want(t, r.workflow(id), "submission", "expired")
	d.hello("1.2")
	if came, _ := d.sync("1.2"); len(came) != 0 {
		t.Error("an expired plan was sent: the robot would move long after the words")
	}
	d.say(d.ack(plan, "")) // it had been accepted all the same
	want(t, r.workflow(id), "submission", "accepted")
}

func TestCancel(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	unsent := r.turn("rb-1", "go")["workflow_id"].(string)
	a := r.must(http.StatusAccepted, "POST", "/v1/workflows/"+unsent+"/cancel", `{"reason":"changed my mind"}`)
	want(t, a, "state", "withdrawn")
	want(t, r.workflow(unsent), "reason_code", "cancelled_before_sent")
	d.hello("1.1")
	if came, _ := d.sync("1.1"); len(came) != 0 {
		t.Errorf("%s was sent for a withdrawn plan", came[0].Type)
	}

	id := r.turn("rb-1", "go")["workflow_id"].(string)
	d.say(d.ack(d.next(wire.TypePlan), ""))
	a = r.must(http.StatusAccepted, "POST", "/v1/workflows/"+id+"/cancel", `{"reason":"stop"}`)
	c := d.next(wire.TypeControl)
	if c.Control.Verb != "cancel" || c.Control.Scope != "workflow" || c.Control.Target != id || c.Control.Reason != "stop" || c.StoreEpoch != "e1" {
		t.Errorf("control is %+v for epoch %q", *c.Control, c.StoreEpoch)
	}
	again := r.must(http.StatusAccepted, "POST", "/v1/workflows/"+id+"/cancel", `{}`)
	want(t, again, "control_id", a["control_id"])
	d.say(d.ack(c, ""))
	v := r.workflow(id)
	want(t, v["controls"].([]any)[0].(object), "state", "accepted")
	want(t, v, "status", "") // accepted never means done
	d.say(d.result(id, "cancelled", "cancelled"))
	p := r.must(http.StatusConflict, "POST", "/v1/workflows/"+id+"/cancel", `{}`)
	want(t, p, "code", "already_terminal")
}

func TestTurnThatCancelsEverything(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	unsent := r.turn("rb-1", "go")["workflow_id"].(string)
	a := r.turn("rb-1", "stop all")
	want(t, a, "dispatched", true)
	want(t, r.workflow(unsent), "reason_code", "cancelled_before_sent")
	d.hello("1.1")
	c := d.next(wire.TypeControl)
	if c.Control.Scope != "all" || c.ID != a["correlation"].(object)["control_id"] || c.Corr.TurnID != a["turn_id"] {
		t.Errorf("control is %+v, id %s", *c.Control, c.ID)
	}
	d.say(d.ack(c, ""))

	r.turn("rb-1", "go now")
	c, plan := d.next(wire.TypeControl), d.next(wire.TypePlan)
	if plan.Seq != c.Seq+1 || plan.SentAt <= c.SentAt {
		t.Errorf("the plan (seq %d, %s) does not follow its cancel (seq %d, %s)", plan.Seq, plan.SentAt, c.Seq, c.SentAt)
	}
	d.status(false, "1.1", "")
	d.sync("1.1")
	r.clock.advance(defaultTTL + expiryGrace)
	r.tick()
	d.hello("1.2")
	if came, _ := d.sync("1.2"); len(came) != 0 {
		t.Errorf("%s was sent long after the words", came[0].Type)
	}
}

func TestHelloWithoutEpochGetsNoPlan(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "")
	d.hello("1.1")
	r.turn("rb-1", "go")
	if came, _ := d.sync("1.1"); len(came) != 0 {
		t.Errorf("%s was sent for no epoch: a lost store could not be told apart", came[0].Type)
	}
}
