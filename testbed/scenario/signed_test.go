package scenario

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/testbed/broker"
	"deviceagent/testbed/home"
)

// hostile is a house whose link somebody listens to: he keeps every message that the planner has signed, and may publish at the broker.
// All parts are real: planner, broker, agent with require_signed, robot.
type hostile struct {
	*house
	t   *testing.T
	dir string
}

func inHostileHouse(t *testing.T, fault string, play func(x *hostile)) {
	t.Helper()
	r, err := NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := &house{cat: r.cat, way: Socket, form: Form{Signed: true}}
		x := &hostile{house: h, t: t, dir: dir}
		defer func() {
			if err := h.close(); err != nil {
				t.Error(err)
			}
		}()
		s := &Scenario{Tier: "restricted", Tail: tail}
		if fault != "" {
			x.must(s.Home.Add(fault))
		}
		if err := h.open(s, dir, r.plans, nil, zerolog.Nop()); err != nil {
			t.Fatal(err)
		}
		play(x)
	})
}

func (x *hostile) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// move hands in a plan of one move at the planner, and waits for its end.
func (x *hostile) move(wf, room string) {
	x.t.Helper()
	x.must(x.plan(movePlan(wf, room), true))
	x.must(x.settle(time.Minute))
}

func movePlan(wf, room string) string {
	return fmt.Sprintf(`{"workflow":{"cloud_workflow_id":%q,"plan_id":"pl_%s","revision":0},"device_task_requests":[{"cloud_step_id":"s1","taskMethod":"setMoveTo","params":{"position":%q}}]}`, wf, wf, room)
}

// kept is the last message of a type that went down, as the listener has it.
func (x *hostile) kept(typ wire.Type) broker.Message {
	x.t.Helper()
	all := x.witness.Messages()
	for i := len(all) - 1; i >= 0; i-- {
		if strings.HasSuffix(all[i].Topic, "/down/"+string(typ)) {
			return all[i]
		}
	}
	x.t.Fatalf("no %s went down", typ)
	return broker.Message{}
}

// replay publishes bytes once more, to a device, and gives what it answers: "accepted", a reason, or nothing.
func (x *hostile) replay(m broker.Message, device string) string {
	x.t.Helper()
	_, kind, _ := strings.Cut(m.Topic, "/down/")
	before := x.witness.Len()
	x.must(x.broker.Publish("deviceagent/v1/"+device+"/down/"+kind, m.Payload, false))
	time.Sleep(5 * time.Second)
	x.rest()
	for _, up := range x.witness.Messages()[before:] {
		if up.Topic != "deviceagent/v1/"+device+"/up/ack" {
			continue
		}
		e, err := wire.Decode(up.Payload, wire.Options{Direction: wire.Up})
		x.must(err)
		if e.Ack.Accepted {
			return "accepted"
		}
		return e.Ack.ReasonCode
	}
	return ""
}

// acts is how often something was asked of the robot.
func (x *hostile) acts() (n int) {
	for _, e := range x.log.all() {
		if e.Kind == home.KindInvoke {
			n++
		}
	}
	return n
}

// answered replays a message, and wants an answer and that nothing happens.
func (x *hostile) answered(m broker.Message, device, want string) {
	x.t.Helper()
	acts := x.acts()
	got := x.replay(m, device)
	x.must(x.settle(time.Minute))
	if got != want || x.acts() != acts {
		x.t.Errorf("a %s played again is answered %q, want %q; the robot was asked %d times", m.Topic[strings.LastIndex(m.Topic, "/")+1:], got, want, x.acts()-acts)
	}
}

// controls pauses, resumes and cancels the second plan of a house, a move, and gives the last two messages.
func (x *hostile) controls(wf, room string) (resume, stop broker.Message) {
	x.t.Helper()
	x.must(x.plan(movePlan(wf, room), true))
	x.must(x.hold("pause", "w2 by app"))
	x.rest()
	x.must(x.hold("resume", "w2 by app"))
	x.rest()
	resume = x.kept(wire.TypeControl)
	x.must(x.cancel("w2"))
	x.must(x.settle(time.Minute))
	return resume, x.kept(wire.TypeControl)
}

// loseStore takes the device's store away while it is off.
func (x *hostile) loseStore() {
	x.t.Helper()
	x.must(x.device.powerCut(true))
	x.must(os.RemoveAll(filepath.Join(x.dir, fmt.Sprintf("state-%d", x.device.boots))))
	x.must(x.device.start(context.Background()))
	time.Sleep(time.Minute)
	x.rest()
}

// F29: at once, and after the id memory has forgotten it.
func TestF29_ASignedMessagePlayedAgainDoesNothing(t *testing.T) {
	inHostileHouse(t, "", func(x *hostile) {
		x.move("wf_1", "주방")
		x.move("wf_2", "거실")
		plan := x.kept(wire.TypePlan)
		x.must(x.plan(movePlan("wf_3", "안방"), true))
		x.must(x.cancel("w3"))
		x.must(x.settle(time.Minute))
		stop := x.kept(wire.TypeControl)
		x.answered(plan, deviceID, "accepted") // the answer of then
		x.answered(stop, deviceID, "accepted")

		x.must(x.suspend("2400h")) // a hundred days: both are out of the memory at the next look of the hour
		time.Sleep(3 * time.Hour)
		x.must(x.restart("", true)) // what has ended is in the process's memory until now, and would be known by that
		time.Sleep(time.Minute)
		x.answered(plan, deviceID, string(core.ReasonExpired))
		x.answered(stop, deviceID, string(core.ReasonExpired))
	})
}

// A decision is answered once: played again it is answered as then, and after the loss of the store not at all for it.
func TestF29_ASignedDecisionPlayedAgainDoesNothing(t *testing.T) {
	inHostileHouse(t, "setMoveTo:fail_after=2s,fail_reason=executor_busy,times=1", func(x *hostile) {
		x.must(x.decide("retry_local"))
		x.move("wf_1", "주방")
		decision := x.kept(wire.TypeDecision)
		if n := x.acts(); n != 2 {
			t.Fatalf("the robot was asked %d times: the move, and once more as was decided", n)
		}
		x.answered(decision, deviceID, "accepted")
		x.loseStore()
		x.answered(decision, deviceID, string(core.ReasonWrongEpoch))
	})
}

// F30: what was signed for one device is not for another, though both trust the key.
func TestF30_ASignedMessageOfAnotherDevice(t *testing.T) {
	inHostileHouse(t, "", func(x *hostile) {
		other := &device{id: "rb-2", dir: filepath.Join(x.dir, "rb-2"), cat: x.cat, form: x.form, trusted: x.device.trusted,
			broker: x.broker.Dial, newID: x.ids.next, log: zerolog.Nop()}
		x.must(other.start(context.Background()))
		defer func() { x.must(other.close()) }()
		time.Sleep(time.Minute)
		x.rest()
		x.must(x.plan(movePlan("wf_1", "주방"), true))
		x.must(x.cancel("w1"))
		x.must(x.settle(time.Minute))
		plan, stop := x.kept(wire.TypePlan), x.kept(wire.TypeControl)
		for _, m := range []broker.Message{plan, stop} {
			x.answered(m, "rb-2", string(core.ReasonWrongDevice))
		}
	})
}

// F32: after the loss of the store nothing is remembered. What was signed for the old store is refused by the epoch inside, and that
// refusal does not stand in the way of the same plan for the new store. What only stops is taken.
func TestF32_ASignedMessagePlayedAgainAfterTheLossOfTheStore(t *testing.T) {
	inHostileHouse(t, "", func(x *hostile) {
		x.move("wf_1", "주방")
		plan := x.kept(wire.TypePlan)
		resume, stop := x.controls("wf_2", "거실")
		x.loseStore()
		x.answered(plan, deviceID, string(core.ReasonWrongEpoch))
		x.answered(resume, deviceID, string(core.ReasonWrongEpoch))
		if got := x.replay(stop, deviceID); got != string(core.ReasonUnknownTarget) { // taken, for what that store does not have
			t.Errorf("a cancel for the lost store is answered %q", got)
		}

		e, err := wire.Decode(plan.Payload, wire.Options{Direction: wire.Down, Keys: x.keys, Signed: true})
		x.must(err)
		x.must(x.inspect(func(s *core.State) { e.StoreEpoch = s.Device.Epoch }))
		e.ID = x.ids.next()
		if got := x.replay(broker.Message{Topic: plan.Topic, Payload: signedBy(t, e, seed(0))}, deviceID); got != "accepted" {
			t.Errorf("the same plan, signed for the new store, is answered %q", got)
		}
		x.must(x.settle(time.Minute))
		e.StoreEpoch, e.ID, e.Plan.Workflow.CloudWorkflowID, e.Plan.Workflow.PlanID = "", x.ids.next(), "wf_9", "pl_9"
		x.answered(broker.Message{Topic: plan.Topic, Payload: signedBy(t, e, seed(0))}, deviceID, string(core.ReasonWrongEpoch))
	})
}

func seed(b byte) ed25519.PrivateKey {
	s := make([]byte, ed25519.SeedSize)
	s[0] = b
	return ed25519.NewKeyFromSeed(s)
}

func signedBy(t *testing.T, e wire.Envelope, key ed25519.PrivateKey) []byte {
	t.Helper()
	plain, err := wire.Encode(e, wire.CBOR)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := wire.Sign(plain, key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// trust writes the device's file of trusted keys, as a renewal does: beside it, then in its place.
func (x *hostile) trust(keys ...ed25519.PrivateKey) {
	x.t.Helper()
	var text []byte
	for _, k := range keys {
		der, err := x509.MarshalPKIXPublicKey(k.Public())
		x.must(err)
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...)
	}
	x.must(os.WriteFile(x.device.trusted+".new", text, 0o644))
	x.must(os.Rename(x.device.trusted+".new", x.device.trusted))
}

// signWith starts the planner anew with another key, on its own store.
func (x *hostile) signWith(key ed25519.PrivateKey) {
	x.t.Helper()
	x.must(x.cloud.close())
	_, words, err := catalogOver(Socket)
	x.must(err)
	x.cloud, err = startCloud(x.dir, x.cat, planning(x.cat, words), x.broker.Dial, x.ids.next,
		x.answers.decide, nil, x.form, key, zerolog.Nop())
	x.must(err)
	x.keys = wire.NewKeys(seed(0).Public().(ed25519.PublicKey), key.Public().(ed25519.PublicKey))
	time.Sleep(2 * time.Minute)
	x.rest()
}

// A key is replaced without a pause: the device trusts both, the planner changes over, the device trusts the new one alone. From then on
// what the old one has signed is refused, and by its hash alone: an answer by its id would be one to the true message.
func TestF31_AKeyThatIsRotatedOutSignsNothingAnyMore(t *testing.T) {
	inHostileHouse(t, "", func(x *hostile) {
		old, next := seed(0), seed(1)
		x.move("wf_1", "주방")
		recorded := x.kept(wire.TypePlan)
		x.trust(old, next)
		x.move("wf_2", "거실")
		x.signWith(next)
		x.move("wf_3", "안방")
		x.answered(recorded, deviceID, "accepted") // as the repeat that it is: the old key still counts
		x.trust(next)
		x.answered(recorded, deviceID, wire.ReasonSignature)
		for _, up := range x.witness.Messages() {
			if e, err := wire.Decode(up.Payload, wire.Options{Direction: wire.Up}); err == nil && e.Ack != nil && e.Ack.ReasonCode == wire.ReasonSignature &&
				(e.Ack.RefID != "" || e.Ack.RefSHA256 == "") {
				t.Errorf("the refusal of a forged message names an id: %+v", e.Ack)
			}
		}
		x.move("wf_4", "주방")
		if n := x.acts(); n != 4 {
			t.Errorf("the robot was asked %d times for four moves", n)
		}
	})
}

// The planner signs all that it sends, and each names its device and its store: what the guards of the device rest on.
func TestF85_AllThatThePlannerSendsIsSignedForOneDeviceAndOneStore(t *testing.T) {
	inHostileHouse(t, "", func(x *hostile) {
		x.move("wf_1", "주방")
		x.controls("wf_2", "거실")
		types := map[wire.Type]int{}
		for _, m := range x.witness.Messages() {
			if !strings.Contains(m.Topic, "/down/") {
				continue
			}
			e, err := wire.Decode(m.Payload, wire.Options{Direction: wire.Down, Keys: x.keys, Signed: true})
			if err != nil || e.DeviceID != deviceID || e.StoreEpoch == "" {
				t.Errorf("%s: device %q, store %q, %v", m.Topic, e.DeviceID, e.StoreEpoch, err)
				continue
			}
			types[e.Type]++
			// The same plan unsigned, or with one byte of the envelope changed, is not believed.
			if e.Type == wire.TypePlan {
				plain, err := wire.Encode(e, wire.CBOR)
				x.must(err)
				x.answered(broker.Message{Topic: m.Topic, Payload: plain}, deviceID, wire.ReasonSignature)
				altered := append([]byte(nil), m.Payload...)
				altered[len(altered)/2] ^= 1
				x.answered(broker.Message{Topic: m.Topic, Payload: altered}, deviceID, wire.ReasonSignature)
			}
		}
		if types[wire.TypePlan] != 2 || types[wire.TypeControl] != 3 || types[wire.TypeReceipt] == 0 {
			t.Errorf("went down: %v", types)
		}
	})
}
