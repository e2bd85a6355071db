package planner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/store"
)

// TestAckOfUnreadableMessage: a device that cannot read a plan names the hash of its bytes, and the plan is not sent again.
func TestAckOfUnreadableMessage(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_1", 0))
	plan := d.next(wire.TypePlan)
	data, err := wire.Encode(plan, wire.CBOR)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	ack := d.envelope(wire.TypeAck)
	ack.Ack = &wire.Ack{RefSHA256: strings.Repeat("0", 64), ReasonCode: "malformed"}
	d.say(ack)
	want(t, r.workflow("wf_1"), "submission", "sent")
	ack.ID = newUUID()
	ack.Ack = &wire.Ack{RefSHA256: hex.EncodeToString(sum[:]), ReasonCode: "malformed"}
	d.say(ack)
	v := r.workflow("wf_1")
	want(t, v, "submission", "refused")
	want(t, v, "reason_code", "malformed")
	want(t, v, "uplink.messages", 1)
	if came, _ := d.sync("1.2"); len(came) > 0 {
		t.Errorf("the refused plan was sent again: %s", came[0].Type)
	}
}

// TestResultSettlesOnlyWhatWasSent: a revision that never left, waiting or withdrawn, has not been accepted by anybody.
func TestResultSettlesOnlyWhatWasSent(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	for _, id := range []string{"wf_w", "wf_q"} {
		r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan(id, 0))
		d.say(d.ack(d.next(wire.TypePlan), ""))
	}
	d.status(false, "1.1", "")
	d.settle()
	for _, id := range []string{"wf_w", "wf_q"} {
		r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan(id, 1))
	}
	r.must(http.StatusAccepted, "POST", "/v1/workflows/wf_w/cancel", `{}`)
	d.say(d.result("wf_w", "cancelled", "cancelled"))
	d.say(d.result("wf_q", "completed", ""))
	for id, reason := range map[string]string{"wf_w": "cancelled_before_sent", "wf_q": "already_terminal"} {
		v := r.workflow(id)
		want(t, v, "submission", "accepted") // of revision 0
		want(t, v, "revision", 0)
		late := v["submissions"].([]any)[1].(object)
		want(t, late, "state", "expired")
		want(t, late, "reason_code", reason)
	}
}

// settle waits until the server has taken all that was published before, without saying hello.
func (d *robotRig) settle() { d.say(d.result("wf_of_nobody", "completed", "")) }

// TestAcceptedRevisionIsNotClosed: a workflow that the present store has accepted is not lost, whatever an older store had.
func TestAcceptedRevisionIsNotClosed(t *testing.T) {
	r := newRig(t)
	r.start()
	d := r.device("rb-1", "e1")
	d.hello("1.1")
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_1", 0))
	d.next(wire.TypePlan)
	d.epoch = "e2"
	if closed := d.hello("1.1").Close; len(closed) != 1 {
		t.Fatalf("the new store is told to close %v", closed)
	}
	r.must(http.StatusAccepted, "POST", "/v1/devices/rb-1/plans", rawPlan("wf_1", 1))
	plan := d.next(wire.TypePlan)
	if closed := d.hello("1.2").Close; len(closed) != 1 {
		t.Errorf("before its answer: told to close %v", closed)
	}
	d.next(wire.TypePlan)
	d.say(d.ack(plan, ""))
	d.open = []string{"wf_1"}
	if closed := d.hello("1.3").Close; len(closed) > 0 {
		t.Errorf("told to close %v, which it has accepted", closed)
	}
}

// TestWhatCannotBeSentIsRefused: it would be stored, never sent, and wait for ever.
func TestWhatCannotBeSentIsRefused(t *testing.T) {
	r := newRig(t)
	r.start()
	v := r.must(http.StatusUnprocessableEntity, "POST", "/v1/turns", `{"device_id":"rb@1","recognized_text":"go"}`)
	want(t, v, "code", "not_encodable")
	v = r.must(http.StatusUnprocessableEntity, "POST", "/v1/devices/rb-1/plans",
		`{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"p","origin":{"turn_id":"t1","utterance":"`+strings.Repeat("가", 3000)+`"}},
		"device_task_requests":[{"cloud_step_id":"s1","taskMethod":"setMoveTo","params":{"position":"거실"}}]}`)
	want(t, v, "code", "plan_refused")
	r.must(http.StatusNotFound, "GET", "/v1/devices/rb@1", "")
}

// TestSteadyStreamIsReceipted: messages that come faster than the receipts' delay do not put the receipts off.
func TestSteadyStreamIsReceipted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		s, err := New(Options{Planner: canned{}, Compile: compileCanned, Store: st, HTTP: l, Log: zerolog.Nop(), Ticks: make(chan time.Time),
			Dial: func(context.Context) (net.Conn, error) { return nil, net.ErrClosed }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.loop(ctx) }()
		receipts := 0
		for range 20 {
			env := wire.Envelope{V: wire.Version, Type: wire.TypeAck, ID: newUUID(), DeviceID: "rb-1", SentAt: stamp(time.Now()),
				StoreEpoch: "e1", Ack: &wire.Ack{RefID: "m1", Accepted: true}}
			data, err := wire.Encode(env, wire.CBOR)
			if err != nil {
				t.Fatal(err)
			}
			s.link.inbox <- upMessage{topic: topicPrefix + "rb-1/up/ack", payload: data}
			time.Sleep(receiptDelay / 2) // of the bubble's clock
			for len(s.link.out) > 0 {
				if o := <-s.link.out; o.ack == nil {
					receipts++
				}
			}
		}
		if receipts < 5 {
			t.Errorf("%d receipts in %s of messages", receipts, 10*receiptDelay)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
