package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"deviceagent/agent"
	"deviceagent/agent/clock"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager"
	"deviceagent/testbed/broker"
)

// onlooked is an agent at a broker, a witness beside it, and as much of a planner as answers a hello.
type onlooked struct {
	t       *testing.T
	broker  *broker.Broker
	witness *broker.Recorder
	clk     *clock.Virtual
	plans   int
}

func (o *onlooked) up(t wire.Type) (out []wire.Envelope) {
	o.t.Helper()
	for _, m := range o.witness.Messages() {
		e, err := wire.Decode(m.Payload, wire.Options{Direction: wire.Up})
		if err != nil {
			o.t.Fatalf("%s: %v", m.Topic, err)
		}
		if e.Type == t {
			out = append(out, e)
		}
	}
	return out
}

func (o *onlooked) down(t wire.Type, id int, seq int64, fill func(*wire.Envelope)) {
	o.t.Helper()
	wall, _ := o.clk.Wall()
	e := wire.Envelope{V: wire.Version, Type: t, ID: fmt.Sprintf("0197c000-0000-7000-8000-%012x", id), DeviceID: "rb-1", Seq: seq, SentAt: time.UnixMilli(wall).UTC().Format(time.RFC3339)}
	fill(&e)
	body, err := wire.Encode(e, wire.CBOR)
	if err != nil {
		o.t.Fatal(err)
	}
	if err := o.broker.Publish("deviceagent/v1/rb-1/down/"+string(t), body, false); err != nil {
		o.t.Fatal(err)
	}
}

// hello answers the newest hello.
func (o *onlooked) hello(a *agent.Agent) {
	o.t.Helper()
	until(func() bool { return len(o.up(wire.TypeStatus)) > 0 })
	hellos := o.up(wire.TypeStatus)
	o.down(wire.TypeReceipt, 1, 0, func(e *wire.Envelope) { e.Receipt = &wire.Receipt{Nonce: hellos[len(hellos)-1].Status.Nonce} })
	until(func() bool { return a.Link().Phase == "online" })
}

// plan hands in a plan whose step waits for a robot that is not there.
func (o *onlooked) plan(a *agent.Agent) {
	o.t.Helper()
	o.plans++
	text := fmt.Sprintf(`{"v":"a2a-task-orchestration-v1","type":"plan","id":"0190a000-0000-7000-8000-%012x","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z",
		"body":{"workflow":{"cloud_workflow_id":"wf_%d","plan_id":"pl_%d","revision":0},"device_task_requests":[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]}}`, o.plans, o.plans, o.plans)
	if ans, err := a.Manager().Receive(o.t.Context(), []byte(text), taskmanager.FromLocal); err != nil || !ans.Accepted {
		o.t.Fatalf("plan: %+v, %v", ans, err)
	}
}

// An MQTT subscriber beside agent and planner counts: nothing without a lease, little under one, nothing after it and nothing stored.
func TestTelemetryOnlyUnderALease(t *testing.T) {
	o := &onlooked{t: t, broker: broker.New()}
	t.Cleanup(o.broker.Close)
	o.witness = o.broker.Subscribe("deviceagent/v1/rb-1/up/+")
	opt, clk := options(t), clock.Package("0123456789abcdef0123456789abcdef")
	opt.Clock, opt.Dial, o.clk = clk, o.broker.Dial, clk
	a, stop := start(t, opt)
	o.hello(a)
	o.plan(a)
	o.down(wire.TypeMonitor, 2, 1, func(e *wire.Envelope) {
		e.Monitor = &wire.Monitor{LeaseID: "ls_0", TTLS: 900}
		e.StoreEpoch = "another"
	})
	until(func() bool { return len(o.up(wire.TypeAck)) == 1 })
	if ack := o.up(wire.TypeAck)[0]; ack.Ack.Accepted || ack.Ack.ReasonCode != "wrong_epoch" || ack.Seq != 0 {
		t.Errorf("a lease for another store is answered %+v", ack)
	}
	if got := o.up(wire.TypeTelemetry); len(got) != 0 {
		t.Fatalf("%d telemetry without a lease", len(got))
	}

	o.down(wire.TypeMonitor, 3, 2, func(e *wire.Envelope) { e.Monitor = &wire.Monitor{LeaseID: "ls_1", TTLS: 900, MinIntervalMS: 1000} })
	until(func() bool { return len(o.up(wire.TypeTelemetry)) == 1 })
	first := o.up(wire.TypeTelemetry)[0].Telemetry
	if first.LeaseID != "ls_1" || first.OpenCount != 1 || first.Workflows[0].WorkflowID != "wf_1" || first.Workflows[0].Steps[0].State != "blocked" {
		t.Errorf("telemetry is %+v", first)
	}
	began := time.Now()
	until(func() bool { o.plan(a); time.Sleep(100 * time.Millisecond); return len(o.up(wire.TypeTelemetry)) >= 3 })
	if most := 2 + int(time.Since(began)/time.Second); len(o.up(wire.TypeTelemetry)) > most {
		t.Errorf("%d telemetry for %d plans, want at most %d", len(o.up(wire.TypeTelemetry)), o.plans, most)
	}
	if n := a.Manager().Waiting(); n != 0 {
		t.Errorf("%d rows in the outbox: neither a lease nor what it brings about is stored", n)
	}

	clk.Suspend(15 * time.Minute)
	o.plan(a)
	o.down(wire.TypeMonitor, 4, 1, func(e *wire.Envelope) { e.Monitor = &wire.Monitor{LeaseID: "ls_0", TTLS: 900} }) // what was under way is out when it is answered
	until(func() bool { return len(o.up(wire.TypeAck)) == 3 })
	if ack := o.up(wire.TypeAck)[2].Ack; ack.ReasonCode != "superseded" {
		t.Errorf("an older lease is answered %+v", ack)
	}
	n := len(o.up(wire.TypeTelemetry))
	o.plan(a)
	o.down(wire.TypeMonitor, 5, 1, func(e *wire.Envelope) { e.Monitor = &wire.Monitor{LeaseID: "ls_0", TTLS: 900} })
	until(func() bool { return len(o.up(wire.TypeAck)) == 4 })
	if got := o.up(wire.TypeTelemetry); len(got) != n {
		t.Errorf("%d telemetry after the end of the lease", len(got)-n)
	}

	// A lease does not outlive its process.
	o.down(wire.TypeMonitor, 6, 9, func(e *wire.Envelope) { e.Monitor = &wire.Monitor{LeaseID: "ls_2", TTLS: 900} })
	until(func() bool { return len(o.up(wire.TypeTelemetry)) == n+1 })
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	hellos := len(o.up(wire.TypeStatus))
	b, _ := start(t, opt)
	until(func() bool { return len(o.up(wire.TypeStatus)) > hellos && strings.HasPrefix(b.Link().ConnNo, "2.") })
	o.hello(b)
	o.plan(b)
	o.down(wire.TypeMonitor, 7, 1, func(e *wire.Envelope) { e.Monitor = &wire.Monitor{LeaseID: "ls_3", TTLS: 0} })
	until(func() bool { return len(o.up(wire.TypeAck)) == 6 })
	if got := o.up(wire.TypeTelemetry); len(got) != n+1 {
		t.Errorf("%d telemetry after a restart", len(got)-n-1)
	}
}
