package demo

import (
	"fmt"
	"strings"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"deviceagent/bridge/wire"
)

// upFilter is what the witness listens to: all that devices publish.
const upFilter = "deviceagent/v1/+/up/#"

// publish is one message of a device as an outside subscriber got it.
type publish struct {
	kind     string // last part of the topic: ack, result, status …
	id       string // of the message; a repeat has the same
	workflow string // correlation id; empty: of none, or unreadable
}

// witness is an MQTT client of its own that counts what the agent publishes. It is no part of the planner or the agent.
type witness struct{ client mqtt.Client }

// newWitness subscribes at the broker; got is called from a goroutine of the client and must not block for long.
func newWitness(broker string, got func(publish)) (*witness, error) {
	o := mqtt.NewClientOptions().AddBroker("tcp://" + broker).SetClientID("demo-witness").SetAutoReconnect(false).SetProtocolVersion(4)
	w := &witness{mqtt.NewClient(o)}
	if err := finish(w.client.Connect()); err != nil {
		return nil, fmt.Errorf("cannot connect the outside subscriber: %w", err)
	}
	err := finish(w.client.Subscribe(upFilter, 1, func(_ mqtt.Client, m mqtt.Message) { got(readPublish(m.Topic(), m.Payload())) }))
	if err != nil {
		w.close()
		return nil, fmt.Errorf("cannot subscribe from outside: %w", err)
	}
	return w, nil
}

func finish(t mqtt.Token) error {
	if !t.WaitTimeout(5 * time.Second) {
		return fmt.Errorf("no answer from the broker")
	}
	return t.Error()
}

func readPublish(topic string, payload []byte) publish {
	p := publish{kind: topic[strings.LastIndex(topic, "/")+1:]}
	if env, err := wire.Decode(payload, wire.Options{AllowJSON: true, Direction: wire.Up}); err == nil {
		p.id, p.workflow = env.ID, env.Corr.WorkflowID
	}
	return p
}

func (w *witness) close() {
	if w != nil {
		w.client.Disconnect(100)
	}
}

// tally counts publishes. Presence (status) is about the robot and not about work, so it is left out.
type tally struct{ seen []publish }

func (t *tally) add(p publish) { t.seen = append(t.seen, p) }

// count is what was published about one workflow. Repeats are in Total and ByKind too: they cost as much.
type count struct {
	Total   int
	Repeats int
	ByKind  map[string]int
}

func (t *tally) of(workflow string) count {
	c := count{ByKind: map[string]int{}}
	known := map[string]bool{}
	for _, p := range t.seen {
		if p.workflow != workflow || p.kind == string(wire.TypeStatus) {
			continue
		}
		c.Total++
		c.ByKind[p.kind]++
		if known[p.id] {
			c.Repeats++
		}
		known[p.id] = true
	}
	return c
}
