package planner

import (
	"slices"
	"sync"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/bridge/wire"
)

// robotRig is a scripted device: a bare MQTT client.
type robotRig struct {
	r        *rig
	id       string
	epoch    string
	open     []string // workflows that its hello lists as open
	rooms    []wire.Room
	client   mqtt.Client
	down     chan wire.Envelope // all but receipts, in the order of arrival
	receipts chan wire.Receipt
	once     sync.Once
}

func (r *rig) device(id, epoch string) *robotRig {
	r.t.Helper()
	d := &robotRig{r: r, id: id, epoch: epoch, down: make(chan wire.Envelope, 1024), receipts: make(chan wire.Receipt, 1024)}
	o := mqtt.NewClientOptions().AddBroker("tcp://" + r.broker).SetClientID(id + "-" + newUUID()).SetAutoReconnect(false)
	d.client = mqtt.NewClient(o)
	wait(r.t, d.client.Connect())
	wait(r.t, d.client.Subscribe(topicPrefix+id+"/down/#", 1, func(_ mqtt.Client, m mqtt.Message) {
		env, err := wire.Decode(m.Payload(), wire.Options{Direction: wire.Down})
		switch {
		case err != nil:
			r.t.Errorf("the device cannot read %s: %v", m.Topic(), err)
		case env.Receipt != nil:
			d.receipts <- *env.Receipt
		default:
			d.down <- env
		}
	}))
	r.t.Cleanup(d.leave)
	return d
}

func (d *robotRig) leave() { d.once.Do(func() { d.client.Disconnect(50) }) }

func wait(t *testing.T, tok mqtt.Token) {
	t.Helper()
	if !tok.WaitTimeout(patience) || tok.Error() != nil {
		t.Fatalf("MQTT: %v", tok.Error())
	}
}

func (d *robotRig) envelope(t wire.Type) wire.Envelope {
	return wire.Envelope{V: wire.Version, Type: t, ID: newUUID(), DeviceID: d.id, SentAt: "2026-11-30T09:00:00.000Z", StoreEpoch: d.epoch}
}

func (d *robotRig) publish(env wire.Envelope) {
	d.r.t.Helper()
	data, err := wire.Encode(env, wire.CBOR)
	if err != nil {
		d.r.t.Fatal(err)
	}
	d.publishBytes(string(env.Type), data, env.Type == wire.TypeStatus)
}

func (d *robotRig) publishBytes(kind string, data []byte, retained bool) {
	d.r.t.Helper()
	wait(d.r.t, d.client.Publish(topicPrefix+d.id+"/up/"+kind, 1, retained, data))
}

// next waits for the next message that is no receipt. Another type than wanted is a fault.
func (d *robotRig) next(want wire.Type) wire.Envelope {
	d.r.t.Helper()
	select {
	case env := <-d.down:
		if env.Type != want {
			d.r.t.Fatalf("got %s (%s) while waiting for %s", env.Type, env.Corr.WorkflowID, want)
		}
		return env
	case <-time.After(patience):
		d.r.t.Fatalf("no %s came", want)
	}
	return wire.Envelope{}
}

func (d *robotRig) receipt() wire.Receipt {
	d.r.t.Helper()
	select {
	case r := <-d.receipts:
		return r
	case <-time.After(patience):
		d.r.t.Fatal("no receipt came")
	}
	return wire.Receipt{}
}

// sync says the hello of a connection again and returns when all that was sent before its answer has arrived: the broker keeps
// the order. It gives what came.
func (d *robotRig) sync(connNo string) (came []wire.Envelope, refs []string) {
	d.r.t.Helper()
	nonce := newUUID()
	d.status(true, connNo, nonce)
	for {
		r := d.receipt()
		if r.Nonce == nonce {
			break
		}
		if r.Nonce == "" {
			refs = append(refs, r.Refs...)
		}
	}
	for {
		select {
		case env := <-d.down:
			came = append(came, env)
		default:
			return came, refs
		}
	}
}

func (d *robotRig) status(online bool, connNo, nonce string) wire.Envelope {
	d.r.t.Helper()
	env := d.envelope(wire.TypeStatus)
	env.Status = &wire.Status{Online: online, ConnNo: connNo, StoreEpoch: d.epoch, Nonce: nonce, CatalogEtag: "etag-1", Tier: "restricted",
		OpenCount: int64(len(d.open)), Rooms: []wire.Room{{ID: "living", Name: "거실", Reachable: true}}}
	if d.rooms != nil {
		env.Status.Rooms = d.rooms
	}
	for _, id := range d.open {
		env.Status.OpenWorkflows = append(env.Status.OpenWorkflows, wire.OpenWorkflow{WorkflowID: id, State: "running"})
	}
	d.publish(env)
	return env
}

// hello says hello and waits for its receipt.
func (d *robotRig) hello(connNo string) wire.Receipt {
	d.r.t.Helper()
	nonce := newUUID()
	d.status(true, connNo, nonce)
	for {
		if r := d.receipt(); r.Nonce == nonce {
			return r
		}
	}
}

// say publishes and waits for the receipt.
func (d *robotRig) say(env wire.Envelope) {
	d.r.t.Helper()
	d.publish(env)
	d.receipted(env.ID)
}

func (d *robotRig) receipted(id string) {
	d.r.t.Helper()
	for !slices.Contains(d.receipt().Refs, id) {
	}
}

func (d *robotRig) ack(ref wire.Envelope, reason string, faults ...wire.Fault) wire.Envelope {
	env := d.envelope(wire.TypeAck)
	env.Corr = ref.Corr
	env.Ack = &wire.Ack{RefID: ref.ID, Accepted: reason == "", ReasonCode: reason, Errors: faults}
	return env
}

func (d *robotRig) result(workflow, status, reason string) wire.Envelope {
	env := d.envelope(wire.TypeResult)
	env.Corr.WorkflowID = workflow
	env.Result = &wire.Result{Status: status, ReasonCode: reason, Steps: []wire.StepReport{{CloudStepID: "s1", State: status, Attempts: 1,
		Evidence: []wire.Evidence{{EffectID: "target_location_reached", Event: "movement.arrived", Source: "movement", Class: "executor", Seq: 7, Correlation: "s1.1"}}}},
		Counters: wire.Counters{UplinkMessages: 2}}
	return env
}
