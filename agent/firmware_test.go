package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/agent/firmware"
	"deviceagent/bridge/catalogfile"
	"deviceagent/taskmanager/core"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

// TestThePlanOfAProgramOnTheRobot: a program on the bus hands in a plan, the simulated robot carries it out as a service on the same bus,
// and the program hears how it goes, to the proven end. A hold on which no plan depends is heard, too.
func TestThePlanOfAProgramOnTheRobot(t *testing.T) {
	o := options(t)
	address := startBus(t)
	o.Config.Executor.Bus, o.Config.Firmware.Bus = address, address
	dir := t.TempDir()
	if err := robot.WriteCatalog(dir); err != nil {
		t.Fatal(err)
	}
	var err error
	if o.Catalog, _, err = catalogfile.Load(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	ctx, stopRobot := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = robot.Run(ctx, robot.Options{Bus: address, Speed: 60, Home: home.Options{Start: "kitchen"}, Out: new(bytes.Buffer)})
	})
	defer func() { stopRobot(); wg.Wait() }()
	a, stop := start(t, o)

	p := onTheBus(t, address)
	call := func(method string, args []any, into ...any) {
		t.Helper()
		if err := p.conn.Object(firmware.Name, firmware.Path).CallWithContext(t.Context(), firmware.Interface+"."+method, 0, args...).Store(into...); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
	var ok bool
	var id, code string
	var holders []string
	call("Hold", []any{"pui", "a test"}, &ok, &code, &holders)
	p.hears("Held[pui:all ")
	call("Release", []any{"pui"}, &ok, &code, &holders)
	p.hears("Released[pui:all]")
	var faults []struct{ Path, Text string }
	call("Submit", []any{`{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},
 "device_task_requests":[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"}}]}`}, &ok, &id, &code, &faults)
	if !ok || id != "wf_1" {
		t.Fatalf("accepted %v, %s, %v", ok, code, faults)
	}
	p.hears("GoalChanged[wf_1 active ")
	p.hears("StepChanged[wf_1 go running ")
	if state, text := await(t, a, "wf_1"); state != core.WfCompleted {
		t.Fatalf("%s: %s", state, text)
	}
	p.hears("GoalChanged[wf_1 completed ")
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// neighbour is another program on the bus, which hears the agent.
type neighbour struct {
	t    *testing.T
	conn *godbus.Conn
	ch   chan *godbus.Signal
	got  []string
}

func onTheBus(t *testing.T, address string) *neighbour {
	t.Helper()
	conn, err := godbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	p := &neighbour{t: t, conn: conn, ch: make(chan *godbus.Signal, 4096)}
	conn.Signal(p.ch)
	if err := conn.AddMatchSignal(godbus.WithMatchObjectPath(firmware.Path)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var there bool
		if err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, firmware.Name).Store(&there); err != nil || time.Now().After(end) {
			t.Fatalf("the agent does not come to the bus (%v)", err)
		}
		if there {
			return p
		}
	}
}

// hears waits for a signal that begins like this, of all that came so far or comes.
func (p *neighbour) hears(begin string) {
	p.t.Helper()
	late := time.After(60 * time.Second)
	for !slices.ContainsFunc(p.got, func(s string) bool { return strings.HasPrefix(s, begin) }) {
		select {
		case m := <-p.ch:
			p.got = append(p.got, fmt.Sprint(m.Name[strings.LastIndex(m.Name, ".")+1:], m.Body))
		case <-late:
			p.t.Fatalf("no signal %q; heard\n  %s", begin, strings.Join(p.got, "\n  "))
		}
	}
}
