package planner

import (
	"net/http"
	"testing"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// numbered is a result with its place in the order: the first result that is applied stands, so it shows which was.
func (d *robotRig) numbered(workflow, status string, seq, floor int64) wire.Envelope {
	env := d.result(workflow, status, "")
	env.Seq, env.FloorSeq = seq, floor
	return env
}

// ordered is a planner that waits for the results of two plans, and the device that has them.
func ordered(t *testing.T) (*rig, *robotRig) {
	t.Helper()
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	for _, wf := range []string{"wf_1", "wf_2"} {
		r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans?check=false", rawPlan(wf, 0))
		ack := d.ack(d.next(wire.TypePlan), "")
		d.say(ack)
	}
	return r, d
}

func TestF28_MessagesAreAppliedInTheOrderOfTheirNumbers(t *testing.T) {
	r, d := ordered(t)
	first, second, third := d.numbered("wf_1", "completed", 5, 5), d.numbered("wf_1", "failed", 6, 5), d.numbered("wf_2", "partial", 7, 5)
	d.say(third) // receipted: it is kept
	d.say(second)
	d.say(second)
	want(t, r.workflow("wf_1"), "status", "")
	want(t, r.workflow("wf_2"), "status", "")
	d.say(first)
	want(t, r.workflow("wf_1"), "status", "completed") // not that of the one that came first
	want(t, r.workflow("wf_2"), "status", "partial")
}

func TestF28_AGapBelowTheFloorIsFinal(t *testing.T) {
	r, d := ordered(t)
	d.say(d.numbered("wf_1", "completed", 6, 4))
	want(t, r.workflow("wf_1"), "status", "")
	d.say(d.numbered("wf_2", "partial", 8, 7)) // 7 is still to come, 4 and 5 are not
	want(t, r.workflow("wf_1"), "status", "completed")
	want(t, r.workflow("wf_2"), "status", "")
	d.say(d.numbered("wf_2", "failed", 9, 9)) // nor is 7: what has waited comes before this one
	want(t, r.workflow("wf_2"), "status", "partial")
}

func TestF28_WhatWaitsSurvivesARestart(t *testing.T) {
	r, d := ordered(t)
	d.say(d.numbered("wf_1", "failed", 6, 5))
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r.start()
	want(t, r.workflow("wf_1"), "status", "")
	d.say(d.numbered("wf_1", "completed", 5, 5))
	want(t, r.workflow("wf_1"), "status", "completed")
}

func TestF28_AHelloClosesGaps(t *testing.T) {
	for _, tc := range []struct {
		name, connNo string
		floor        int64
		status       string
	}{
		{"its floor is above the gap", "1.2", 6, "completed"},
		{"its floor is the gap", "1.2", 5, ""},
		{"a new connection with nothing to send", "1.2", 0, "completed"},
		{"the same connection, said again", "1.1", 0, ""},
		{"an older connection", "1.0", 6, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, d := ordered(t)
			d.say(d.numbered("wf_1", "completed", 6, 5))
			env := d.envelope(wire.TypeStatus)
			env.FloorSeq = tc.floor
			env.Status = &wire.Status{Online: true, ConnNo: tc.connNo, StoreEpoch: d.epoch, Nonce: newUUID()}
			d.publish(env)
			for d.receipt().Nonce != env.Status.Nonce {
			}
			want(t, r.workflow("wf_1"), "status", tc.status)
		})
	}
}

func TestF28_ANewStoreEndsTheWaitForTheOld(t *testing.T) {
	r, d := ordered(t)
	d.say(d.numbered("wf_1", "completed", 6, 3))
	d.say(d.numbered("wf_2", "partial", 9, 3))
	d.epoch = "e2"
	d.hello("1.1")
	want(t, r.workflow("wf_1"), "status", "completed")
	want(t, r.workflow("wf_2"), "status", "partial")
}

func TestF28_StoresHaveOrdersOfTheirOwn(t *testing.T) {
	r, d := ordered(t)
	d.say(d.numbered("wf_1", "completed", 40, 40))
	d.epoch = "e2"
	d.hello("1.1")
	d.say(d.numbered("wf_2", "failed", 2, 1))
	want(t, r.workflow("wf_2"), "status", "")
	d.say(d.numbered("wf_2", "partial", 1, 1))
	want(t, r.workflow("wf_2"), "status", "partial")
}

func TestF28_AGapThatDoesNotCloseIsPassedWhileTheDeviceIsThere(t *testing.T) {
	r, d := ordered(t)
	d.say(d.numbered("wf_1", "completed", 6, 5))
	r.clock.advance(gapPatience / 2)
	r.tick()
	want(t, r.workflow("wf_1"), "status", "")
	d.status(false, "1.1", "")
	d.receiptedWill(r)
	r.clock.advance(10 * gapPatience)
	r.tick()
	want(t, r.workflow("wf_1"), "status", "") // it is away: it could not send what is missing
	env := d.envelope(wire.TypeStatus)
	env.FloorSeq = 5
	env.Status = &wire.Status{Online: true, ConnNo: "1.2", StoreEpoch: d.epoch, Nonce: newUUID()}
	d.publish(env)
	for d.receipt().Nonce != env.Status.Nonce {
	}
	r.tick()
	want(t, r.workflow("wf_1"), "status", "") // it has just come back
	r.clock.advance(gapPatience + resendAfter)
	r.tick()
	want(t, r.workflow("wf_1"), "status", "completed")
}

// receiptedWill waits until the planner has seen that the device is gone.
func (d *robotRig) receiptedWill(r *rig) {
	r.t.Helper()
	d.say(d.ack(wire.Envelope{ID: newUUID()}, "other")) // the broker keeps the order
	want(r.t, r.get("/v1/devices/rb-1"), "link", "link_lost")
}

func TestF28_MoreThanMayWaitGivesUpTheLowestGap(t *testing.T) {
	r, d := ordered(t)
	d.say(d.numbered("wf_1", "completed", 6, 5))
	err := r.store.Update(t.Context(), func(tx *store.Tx) error { // as if as many as may had followed
		for i := range int64(heldMost) {
			env := d.numbered("wf_3", "completed", 8+i, 5)
			data, err := wire.Encode(env, wire.CBOR)
			if err != nil {
				return err
			}
			if _, err := tx.AddMessage(store.Message{DeviceID: d.id, ID: env.ID, Type: "result", Epoch: d.epoch, Seq: env.Seq, Held: true,
				ReceivedAt: ms(r.clock.now()), Payload: data}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.say(d.numbered("wf_2", "partial", 9000, 5))
	want(t, r.workflow("wf_1"), "status", "completed")
	want(t, r.workflow("wf_2"), "status", "") // one gap was given up, and the next is waited for
}
