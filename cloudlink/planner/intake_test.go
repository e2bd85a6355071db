package planner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

func TestTurnToResult(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	a := r.turn("rb-1", "go to the living room")
	want(t, a, "dispatched", true)
	want(t, a, "tts_response", "on my way")
	id := a["workflow_id"].(string)

	plan := d.next(wire.TypePlan)
	if plan.StoreEpoch != "e1" || plan.Seq != ms(r.clock.now()) || plan.Plan.Workflow.TTLMS != 300000 || plan.Corr.TurnID != a["turn_id"] {
		t.Errorf("plan has epoch %q, seq %d, ttl %d, turn %q", plan.StoreEpoch, plan.Seq, plan.Plan.Workflow.TTLMS, plan.Corr.TurnID)
	}
	want(t, r.workflow(id), "submission", "sent")
	d.say(d.ack(plan, ""))
	want(t, r.workflow(id), "submission", "accepted")
	want(t, r.workflow(id), "status", "")
	d.say(d.result(id, "completed", ""))
	v := r.workflow(id)
	want(t, v, "status", "completed")
	want(t, v, "uplink", object{"messages": 2, "by_type": object{"ack": 1, "result": 1}, "repeats": 0})
	want(t, v, "model_calls", 1)
	steps := v["result"].(object)["steps"].([]any)
	want(t, steps[0].(object)["evidence"].([]any)[0].(object), "event", "movement.arrived")
	want(t, r.must(http.StatusOK, "GET", "/v1/turns/"+a["turn_id"].(string), ""), "workflow_id", id)
}

func TestNoDeviceStepSendsNothing(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	for _, text := range []string{"hello there", "where"} {
		a := r.turn("rb-1", text)
		want(t, a, "dispatched", false)
		want(t, a, "device_task_requests", []any{})
		want(t, a, "tts_response", "hello")
	}
	a := r.must(http.StatusOK, "POST", "/v1/turns", `{"device_id":"rb-1","recognized_text":"go","dispatch":false}`)
	want(t, a, "dispatched", false)
	if n := len(a["device_task_requests"].([]any)); n != 1 {
		t.Errorf("%d requests were planned, want 1", n)
	}
	if came, _ := d.sync("1.1"); len(came) > 0 {
		t.Errorf("the device got %s", came[0].Type)
	}
}

func TestRepeatsChangeNothing(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	ack := d.ack(d.next(wire.TypePlan), "")
	first, second := d.result(id, "completed", ""), d.result(id, "failed", "late")
	for range 3 {
		d.say(ack) // each repeat is receipted: the first receipt may have been lost
	}
	d.say(first)
	d.say(first)
	d.say(second) // another message about a closed workflow: the first result stands
	late := d.ack(wire.Envelope{ID: ack.Ack.RefID, Corr: ack.Corr}, "other")
	d.say(late) // the first answer stands
	v := r.workflow(id)
	want(t, v, "submission", "accepted")
	want(t, v, "status", "completed")
	want(t, v, "uplink", object{"messages": 4, "by_type": object{"ack": 2, "result": 2}, "repeats": 3})
}

func TestResultBeforeAck(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	plan := d.next(wire.TypePlan)
	d.say(d.result(id, "completed", ""))
	want(t, r.workflow(id), "submission", "accepted")
	want(t, r.workflow(id), "status", "completed")
	d.say(d.ack(plan, ""))
	v := r.workflow(id)
	want(t, v, "submission", "accepted")
	want(t, v, "status", "completed")
	if v["submissions"].([]any)[0].(object)["answered_at"] == nil {
		t.Error("the late ack was not kept")
	}
}

func TestRefusalIsShownWithItsFaults(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans?check=false", rawPlan("wf_1", 0))
	d.say(d.ack(d.next(wire.TypePlan), "unknown_room", wire.Fault{Path: "device_task_requests[0].params.position",
		ReasonCode: "unknown_room", Message: "no such room"}))
	v := r.workflow("wf_1")
	want(t, v, "submission", "refused")
	want(t, v, "reason_code", "unknown_room")
	ack := v["submissions"].([]any)[0].(object)["ack"].(object)
	want(t, ack["errors"].([]any)[0].(object), "path", "device_task_requests[0].params.position")
	want(t, v, "status", "") // only the device closes a workflow, and a refused plan has none
}

func TestTransientRefusalIsSentAgain(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	plan := d.next(wire.TypePlan)
	d.say(d.ack(plan, "not_synced"))
	want(t, r.workflow(id), "submission", "sent")
	want(t, r.workflow(id), "reason_code", "not_synced")
	r.clock.advance(resendAfter)
	r.tick()
	again := d.next(wire.TypePlan)
	if again.ID != plan.ID {
		t.Errorf("sent again as %s, want %s", again.ID, plan.ID)
	}
	d.say(d.ack(again, "mode_not_automatic")) // this one is final
	want(t, r.workflow(id), "submission", "refused")
}

func TestForeignDeviceChangesNothing(t *testing.T) {
	r := newRig(t)
	r.start()
	d, other := r.device("rb-1", "e1"), r.device("rb-2", "e9")
	d.hello("1.1")
	other.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	plan := d.next(wire.TypePlan)
	other.say(other.ack(plan, "spite"))
	other.say(other.result(id, "completed", ""))
	v := r.workflow(id)
	want(t, v, "submission", "sent")
	want(t, v, "status", "")
	want(t, v, "uplink.messages", 0)

	mask := d.ack(plan, "spite") // the other device under this one's name
	data, err := wire.Encode(mask, wire.CBOR)
	if err != nil {
		t.Fatal(err)
	}
	other.publishBytes("ack", data, false)
	other.receipted(mask.ID)
	want(t, r.workflow(id), "submission", "sent")
	if n := len(r.get("/v1/devices/rb-2")["unreadable"].([]any)); n != 1 {
		t.Errorf("%d messages in quarantine, want 1", n)
	}
	d.say(d.ack(plan, "")) // and its id is not spent
	want(t, r.workflow(id), "submission", "accepted")
}

func TestUnreadableIsKeptAndReceiptedById(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	later := newUUID()
	d.publishBytes("escalation", []byte(`{"v":"a2a-task-orchestration-v1","type":"escalation","id":"`+later+`","device_id":"rb-1","sent_at":"2026-11-30T09:00:00Z","body":{}}`), false)
	d.receipted(later)
	d.publishBytes("ack", []byte("\xff\x00garbage"), false)
	d.sync("1.1")
	list := r.get("/v1/devices/rb-1")["unreadable"].([]any)
	if len(list) != 2 {
		t.Fatalf("%d messages in quarantine, want 2", len(list))
	}
	want(t, list[1].(object), "message_id", "unreadable:"+later)
	if !strings.HasPrefix(list[0].(object)["message_id"].(string), "sha256:") {
		t.Errorf("garbage is kept as %v", list[0])
	}
}

func TestStepDueStaysPending(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	id := r.turn("rb-1", "go")["workflow_id"].(string)
	plan := d.next(wire.TypePlan)
	d.say(d.ack(plan, ""))
	due := d.envelope(wire.TypeStepDue)
	due.Corr.WorkflowID = id
	due.StepDue = &wire.StepDue{CloudStepID: "news", TaskID: "t1"}
	told := r.server.hub.subscribe()
	d.say(due)
	d.say(due)
	if n := len(told.events); n != 1 {
		t.Errorf("%d changes were told, want 1: a repeat is none", n)
	}
	want(t, r.workflow(id)["cloud_steps"].([]any)[0].(object), "state", "pending")
}

var errCut = errors.New("power cut")

// cutStore breaks at the update that do marks, before or after its commit.
type cutStore struct {
	Store
	after bool
	armed func() bool
}

func (c *cutStore) Update(ctx context.Context, do func(*store.Tx) error) error {
	if !c.armed() {
		return c.Store.Update(ctx, do)
	}
	if c.after {
		if err := c.Store.Update(ctx, do); err != nil {
			return err
		}
	}
	return errCut
}

func TestReceiptOnlyAfterCommit(t *testing.T) {
	for _, tc := range []struct {
		name  string
		after bool
		kept  float64
	}{{"cut before the commit", false, 0}, {"cut between commit and receipt", true, 1}} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			armed := make(chan struct{})
			r.wrap = func(s Store) Store {
				return &cutStore{Store: s, after: tc.after, armed: func() bool {
					select {
					case <-armed:
						return true
					default:
						return false
					}
				}}
			}
			r.start()
			d := r.device("rb-1", "e1")
			d.hello("1.1")
			id := r.turn("rb-1", "go")["workflow_id"].(string)
			ack := d.ack(d.next(wire.TypePlan), "")
			close(armed)
			d.publish(ack)
			if err := r.waitEnd(); !errors.Is(err, errCut) {
				t.Fatalf("Run returned %v, want the cut", err)
			}
			r.wrap = nil
			r.start()
			if _, refs := d.sync("1.2"); slices.Contains(refs, ack.ID) {
				t.Errorf("receipt of %v, which nobody sent again", refs)
			}
			v := r.workflow(id)
			want(t, v, "uplink.messages", tc.kept)
			d.publish(ack) // not receipted, so it comes again
			d.receipted(ack.ID)
			v = r.workflow(id)
			want(t, v, "uplink.messages", 1)
			want(t, v, "uplink.repeats", tc.kept)
			want(t, v, "submission", "accepted")
		})
	}
}

func TestUnreadableMessagesAreKeptTwentyADayAndThenCounted(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	const more = 5
	spoil := func(day string) {
		for i := range quarantineADay + more {
			d.publishBytes("ack", fmt.Appendf(nil, "garbage %s %d", day, i), false)
		}
		d.sync("1.1")
	}
	kept := func() (n int64) {
		t.Helper()
		if err := r.store.View(t.Context(), func(tx *store.Tx) (err error) {
			n, err = tx.CountUnreadable("rb-1", 0)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	spoil("one")
	if n := kept(); n != quarantineADay {
		t.Errorf("%d unreadable messages are kept, want %d", n, quarantineADay)
	}
	want(t, r.get("/v1/devices/rb-1"), "unreadable_counted", more)
	r.clock.advance(25 * time.Hour)
	spoil("two")
	if n := kept(); n != 2*quarantineADay {
		t.Errorf("%d unreadable messages are kept after another day, want %d", n, 2*quarantineADay)
	}
	want(t, r.get("/v1/devices/rb-1"), "unreadable_counted", 2*more)
}
