package firmware

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
)

// A bus that restarts finds the agent again, with its name, and all that is open is told anew. Leases of the old bus are gone.
func TestTheBusRestartsAndTheAgentIsBack(t *testing.T) {
	d := startDaemon(t, lax)
	r := serve(t, d, nil)
	g := r.join()
	g.submits(r.home, movePlan)
	if _, fail := g.busy("flash", 3600); fail != "" {
		t.Fatal(fail)
	}
	d.stop()
	time.Sleep(10 * time.Millisecond) // the robot goes on meanwhile
	r.home.does(func() { r.home.Arrive("living_room") })
	d.start()
	var after *guest
	eventually(t, "the bus", func() bool {
		conn, err := godbus.Connect(d.address)
		if err == nil {
			after = &guest{t: t, conn: conn, ch: make(chan *godbus.Signal, 1024)}
		}
		return err == nil
	})
	t.Cleanup(func() { after.conn.Close() })
	after.awaitAgent()
	var st map[string]godbus.Variant
	if fail := after.asks("Status", nil, &st); fail != "" || st["OpenWorkflows"].Value() != uint32(1) {
		t.Fatalf("%s %v", fail, st)
	}
	if _, _, text, _ := after.mayRestart(); strings.Contains(text, "flash") {
		t.Errorf("a lease of the bus before: %s", text)
	}
	r.stop()
	s := serve(t, d, nil) // another life, watched from its beginning
	after.listen()
	s.home.does(func() { s.home.Submit(movePlan) })
	after.hears("GoalChanged[wf_1 active")
	d.stop()
	if strings.Count(r.log.String(), "will try again") > 3 {
		t.Errorf("the log says the same again and again:\n%s", r.log)
	}
}

// Who comes to the bus late is told all that is open: goals, holders, properties.
func TestWhatIsOpenIsToldWhenTheAgentComes(t *testing.T) {
	d := startDaemon(t, lax)
	g := enter(t, d)
	if err := g.conn.AddMatchSignal(godbus.WithMatchObjectPath(Path)); err != nil { // the name has no owner yet
		t.Fatal(err)
	}
	g.conn.Signal(g.ch)
	r := serve(t, d, func(o *Options) {
		h := o.Agent.(*home)
		h.Submit(movePlan)
		h.Event("pui.paused", "", nil)
	})
	g.hears("GoalChanged[wf_1 ")
	g.hears("Held[pui:all home pui.paused]")
	g.hears("PropertiesChanged[")
	r.stop()
}

// The name of the agent belongs to another program: it is not taken away, it is said, and asked for again until it is free.
func TestANameThatAnotherOwnsIsAskedForAgain(t *testing.T) {
	d := startDaemon(t, lax)
	thief := enter(t, d)
	// It would even let itself be replaced.
	if reply, err := thief.conn.RequestName(Name, godbus.NameFlagAllowReplacement); err != nil || reply != godbus.RequestNameReplyPrimaryOwner {
		t.Fatal(reply, err)
	}
	r := serve(t, d, nil)
	eventually(t, "the line of the log", func() bool { return strings.Contains(r.log.String(), "another program owns") })
	if !strings.Contains(r.log.String(), thief.conn.Names()[0]) {
		t.Errorf("who has it is not said: %s", r.log)
	}
	var owner string
	if err := thief.conn.BusObject().Call(busName+".GetNameOwner", 0, Name).Store(&owner); err != nil || owner != thief.conn.Names()[0] {
		t.Fatalf("the name went to %s (%v)", owner, err)
	}
	thief.conn.Close()
	r.join()
}

// A bus that stands still holds up nobody: the robot goes on, the service ends, and after the bus has woken all is told anew.
func TestABusThatStandsStillHoldsUpNobody(t *testing.T) {
	d := startDaemon(t, lax)
	r := serve(t, d, nil)
	g := r.join()
	g.settled()
	d.freeze()
	done := make(chan struct{})
	go func() { // far more than any socket holds
		defer close(done)
		for range 20_000 {
			r.home.does(func() {
				r.home.Tell(core.Move{Workflow: "wf_flood", Step: "step_1", To: "running", Reason: core.Reason(strings.Repeat("x", 400))})
			})
		}
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("the robot waits for the bus")
	}
	ended := make(chan struct{})
	go func() { defer close(ended); r.stop() }()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the service does not end while the bus stands still")
	}
	d.thaw()
}

// Moves that the bus was too slow for are counted, and what is open is told anew behind the gap.
func TestMissedMovesAreSaid(t *testing.T) {
	d := startDaemon(t, lax)
	r := serve(t, d, nil)
	g := r.join()
	g.listen()
	r.home.does(func() {
		r.home.Submit(movePlan)
		var flood []core.Move
		for range 10_000 {
			flood = append(flood, core.Move{Workflow: "wf_flood", Step: "step_1", To: "running"})
		}
		r.home.Tell(flood...)
	})
	g.hears("Missed[")
	g.hears("GoalChanged[wf_1 active")
}

// Without a bus the robot is a robot: one line says so, and the service waits.
func TestWithoutABusOneLineSaysSo(t *testing.T) {
	d := &daemon{t: t, address: "unix:path=" + filepath.Join(t.TempDir(), "none.sock")}
	r := serve(t, d, nil)
	r.home.does(func() { r.home.Submit(movePlan) }) // the lock on sleep is not to be had either
	eventually(t, "both lines of the log", func() bool { return strings.Count(r.log.String(), "will try again") == 2 })
	time.Sleep(300 * time.Millisecond) // a dozen tries
	if n := strings.Count(r.log.String(), "will try again"); n != 2 {
		t.Errorf("%d lines:\n%s", n, r.log)
	}
}

func TestSocketPath(t *testing.T) {
	for address, want := range map[string]string{
		"unix:path=/run/dbus/system_bus_socket": "/run/dbus/system_bus_socket", "unix:abstract=/robot/x,guid=1": "@/robot/x", "unix:guid=1,path=/a%20b": "/a b",
		"tcp:host=localhost,port=1": "", "unix:dir=/run": "", "": "", "unix:path=%zz": "",
	} {
		if got, ok := socketPath(address); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v", address, got, ok)
		}
	}
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/elsewhere")
	if got := addressOf(""); got != "unix:path=/elsewhere" {
		t.Errorf("the environment's system bus is not used: %q", got)
	}
	if got := addressOf("unix:path=/here"); got != "unix:path=/here" {
		t.Errorf("%q", got)
	}
}

// A bus that stands still when the agent comes holds nobody up either.
func TestABusThatStandsStillFromTheBeginning(t *testing.T) {
	d := startDaemon(t, lax)
	d.freeze()
	r := serve(t, d, nil)
	r.home.does(func() { r.home.Submit(movePlan) })
	time.Sleep(50 * time.Millisecond) // both sides wait for the bus to let them in
	r.stop()
	d.thaw()
}

// A flood of signals ends the session, which then asks anew who is there; it neither blocks the connection nor drops one of them silently.
func TestAFloodOfSignalsEndsTheSession(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	in := inbox{make(chan *godbus.Signal, 2), end}
	for range 2 {
		in.DeliverSignal("", "", &godbus.Signal{})
	}
	if ctx.Err() != nil {
		t.Fatal("ended although all fit")
	}
	in.DeliverSignal("", "", &godbus.Signal{})
	if !errors.Is(context.Cause(ctx), errFlood) {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
}

// A reason that no bus would carry does not throw the agent off it, again and again.
func TestATextThatABusDoesNotTake(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.listen()
	r.home.does(func() {
		r.home.Do(core.ControlReceived{Head: core.Head{Msg: "m-1", Hash: "h", Local: true}, Verb: "pause", Scope: "all", By: "some\x00body", Why: "cut off \xff"})
	})
	g.hears("Held[operator:all some\uFFFDbody cut off \uFFFD]")
	var st map[string]godbus.Variant
	if fail := g.asks("Status", nil, &st); fail != "" || !strings.Contains(fmt.Sprint(st["HeldBy"]), "cut off") {
		t.Errorf("%s %v", fail, st["HeldBy"])
	}
	var ok bool
	var id, code string
	var faults []fault
	odd := strings.Replace(movePlan, `"workflow":{`, `"work\u0000flow":1,"workflow":{`, 1)
	if fail := g.asks("Submit", args(odd), &ok, &id, &code, &faults); fail != "" || ok || len(faults) == 0 {
		t.Errorf("%s %v %s %v", fail, ok, code, faults)
	}
	if n := strings.Count(r.log.String(), `"on the bus"`); n != 1 {
		t.Errorf("the agent came to the bus %d times", n)
	}
}

// A state that never stands still is looked at all the same: the next change does not put the look off.
func TestAStateThatNeverStandsStillIsLookedAt(t *testing.T) {
	r := serve(t, startDaemon(t, lax), nil)
	g := r.join()
	g.listen()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			case <-time.After(calm / 20):
				r.home.turn()
			}
		}
	}()
	defer func() { close(end); <-ended }()
	g.holds("Hold", "pui", "a test")
	g.hears("Held[pui:all ")
}

// What one life on the bus failed by is said anew after a life that was well: a bus that goes twice is not one that never was.
func TestABusThatGoesTwiceIsSaidTwice(t *testing.T) {
	d := startDaemon(t, lax)
	r := serve(t, d, nil)
	for n := 1; n <= 2; n++ {
		eventually(t, "the agent on the bus", func() bool { return strings.Count(r.log.String(), `"on the bus"`) == n })
		d.stop()
		eventually(t, "the line of the log", func() bool { return strings.Count(r.log.String(), "closed the connection") == n })
		d.start()
	}
}

// What listens there may be no bus, and say nothing: that is said, on both sides, and tried again.
func TestWhatIsNoBusIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := serve(t, &daemon{t: t, address: "unix:path=" + path}, func(o *Options) { o.entry = 50 * time.Millisecond })
	r.home.does(func() { r.home.Submit(movePlan) })
	eventually(t, "both lines of the log", func() bool {
		return strings.Contains(r.log.String(), "cannot enter the bus:") && strings.Contains(r.log.String(), "cannot enter the bus for the lock")
	})
}
