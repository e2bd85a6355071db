package dbus_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// tells lets the vendor tell what it has: methods by name with the types of their arguments.
func (v *vendor) tells(methods map[string]string) {
	v.t.Helper()
	node := introspect.Node{Interfaces: []introspect.Interface{{Name: chassisIface}}}
	for name, takes := range methods {
		m := introspect.Method{Name: name}
		for _, one := range strings.Fields(takes) {
			m.Args = append(m.Args, introspect.Arg{Type: one, Direction: "in"})
		}
		node.Interfaces[0].Methods = append(node.Interfaces[0].Methods, m)
	}
	if err := v.conn.Export(introspect.NewIntrospectable(&node), v.path, "org.freedesktop.DBus.Introspectable"); err != nil {
		v.t.Fatal(err)
	}
}

// silentChassis is a vendor that is on the bus only when it is told to, so that it can be changed before anybody sees it.
func silentChassis(t *testing.T, d *daemon, methods map[string]any) *vendor {
	t.Helper()
	v := newChassis(t, d)
	v.export(chassisPath, methods)
	return v
}

// TestAMethodThatDoesNotExist is found when the service comes: its operation is not offered, a line says why, and the rest works.
func TestAMethodThatDoesNotExist(t *testing.T) {
	full := map[string]string{"GoTo": "s d", "Abort": "u", "Hold": "u b", "Job": "u", "Stop": ""}
	for name, row := range map[string]struct {
		change map[string]string
		words  string
	}{
		"the call":           {map[string]string{"GoTo": "-"}, "method com.acme.Chassis1.GoTo at /com/acme/Chassis"},
		"a cancel":           {map[string]string{"Abort": "-"}, "method com.acme.Chassis1.Abort"},
		"a query":            {map[string]string{"Job": "-"}, "method com.acme.Chassis1.Job"},
		"another number":     {map[string]string{"GoTo": "s"}, "GoTo(sd) at /com/acme/Chassis: it takes (s)"},
		"arguments of a way": {map[string]string{"Hold": "u i"}, "Hold(ub) at /com/acme/Chassis: it takes (ui)"},
	} {
		t.Run(name, func(t *testing.T) {
			d := startDaemon(t)
			r := newMapRig(t, d, changed(t), 0)
			v := silentChassis(t, d, map[string]any{chassisIface + ".Stop": func() *godbus.Error { return nil }})
			has := map[string]string{}
			for m, takes := range full {
				if c, ok := row.change[m]; ok {
					takes = c
				}
				if takes != "-" {
					has[m] = takes
				}
			}
			v.tells(has)
			v.take()
			if u := up(r, 1); !slices.Equal(u.Methods, []catalog.Method{"stopMovement"}) {
				t.Errorf("offered: %v", u.Methods)
			}
			r.logged("setMoveTo", "chassis", "com.acme.Chassis", row.words)
			r.reg.Carry(goTo("t-1"))
			if a := heard[core.TaskAnswered](r, 1, nil); !a.NotSent || a.Reason != core.ReasonExecutorUnavail {
				t.Errorf("a call all the same: %+v", a)
			}
			r.reg.Carry(core.Dispatch{Task: "t-2", Service: "chassis", Method: "stopMovement"})
			if e := heard[core.TaskEnded](r, 1, nil); e.Outcome != core.OutcomeDone {
				t.Errorf("the stop: %+v", e)
			}
		})
	}
}

// TestAnInterfaceThatDoesNotExist offers nothing that needs it.
func TestAnInterfaceThatDoesNotExist(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, member{moveMap + "call interface", "com.acme.Chassis2"}), 0)
	v := silentChassis(t, d, nil)
	v.tells(map[string]string{"GoTo": "s d", "Abort": "u", "Hold": "u b", "Job": "u", "Stop": ""})
	v.take()
	if u := up(r, 1); len(u.Methods) != 1 {
		t.Errorf("offered: %v", u.Methods)
	}
	r.logged("setMoveTo", "interface com.acme.Chassis2 at /com/acme/Chassis")
}

// TestWhatAnErrorMeans: a service that does not tell what it has is believed; its errors say whether the task runs.
func TestWhatAnErrorMeans(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, member{"services chassis errors", object{"com.acme.Error.Busy": object{"as": "refused", "reason": "executor_busy"},
		"com.acme.Error.Wall": object{"as": "failed", "reason": "path_blocked"}, "com.acme.Error.Odd": object{"as": "refused"}}},
		member{moveMap + "errors", object{"com.acme.Error.Odd": object{"as": "unknown"}}}), 0)
	next := make(chan *godbus.Error, 1)
	v := startChassis(t, d, map[string]any{chassisIface + ".GoTo": func(string, float64) (uint32, *godbus.Error) { return 0, <-next }})
	up(r, 1)
	for i, row := range []struct {
		name string
		want core.TaskAnswered
		ends core.Reason
	}{
		{"com.acme.Error.Busy", core.TaskAnswered{Reason: "executor_busy"}, ""},
		{"com.acme.Error.Wall", core.TaskAnswered{Accepted: true}, "path_blocked"},
		{"com.acme.Error.Odd", core.TaskAnswered{Unknown: true, Reason: core.ReasonExecutorUnavail}, ""},
		{"com.acme.Error.Else", core.TaskAnswered{Unknown: true, Reason: core.ReasonExecutorUnavail}, ""},
		{"org.freedesktop.DBus.Error.Failed", core.TaskAnswered{Unknown: true, Reason: core.ReasonExecutorUnavail}, ""},
		{"org.freedesktop.DBus.Error.NoReply", core.TaskAnswered{Unknown: true, Reason: core.ReasonExecutorUnavail}, ""},
		{"org.freedesktop.DBus.Error.InvalidArgs", core.TaskAnswered{Reason: core.ReasonExecutorRefused}, ""},
		{"org.freedesktop.DBus.Error.UnknownMethod", core.TaskAnswered{Reason: core.ReasonExecutorRefused}, ""},
		{"org.freedesktop.DBus.Error.AccessDenied", core.TaskAnswered{NotSent: true, Reason: core.ReasonExecutorUnavail}, ""},
	} {
		task := fmt.Sprintf("t-%d", i)
		next <- godbus.NewError(row.name, []any{"words for people"})
		r.reg.Carry(goTo(task))
		a := heard[core.TaskAnswered](r, i+1, nil)
		row.want.Task, row.want.Instance = core.TaskID(task), a.Instance
		if a != row.want {
			t.Errorf("%s: %+v, want %+v", row.name, a, row.want)
		}
		if row.ends != "" {
			if e := heard[core.TaskEnded](r, 1, nil); e.Task != core.TaskID(task) || e.Outcome != core.OutcomeFailed || e.Reason != row.ends {
				t.Errorf("%s: end %+v", row.name, e)
			}
		}
	}
	v.export("/com/acme/Chassis", map[string]any{chassisIface + ".Other": func() *godbus.Error { return nil }}) // GoTo is no more
	r.reg.Carry(goTo("t-99"))
	if a := heard[core.TaskAnswered](r, 10, nil); a.Accepted || a.Unknown || a.NotSent || a.Reason != core.ReasonExecutorRefused {
		t.Errorf("a method that is not there: %+v", a)
	}
}

// TestF54_TheBusRestartsInTheMiddleOfAMappedCall: its outcome is unknown, and afterwards all is read again.
func TestF54_TheBusRestartsInTheMiddleOfAMappedCall(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	hang := make(chan struct{})
	defer close(hang)
	v := newChassis(t, d)
	v.start(map[string]any{chassisIface + ".GoTo": func(string, float64) (uint32, *godbus.Error) {
		v.note("goto")
		<-hang
		return 7, nil
	}})
	first := up(r, 1)
	r.reg.Carry(goTo("t-1"))
	v.waitFor("goto")
	d.stop()
	if a := heard[core.TaskAnswered](r, 1, nil); !a.Unknown || a.NotSent {
		t.Errorf("answer %+v", a)
	}
	heard[core.ExecutorDown](r, 1, nil)
	d.start()
	startChassis(t, d, nil)
	if second := up(r, 2); second.Instance == first.Instance {
		t.Errorf("both are %s", second.Instance)
	}
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownNot || st.Sealed {
		t.Errorf("status %+v: nobody can know, and it must not be taken for not run", st)
	}
}

// TestF55_AnOldHandleIsNotTheNewOwners: the number that the last owner gave may mean something else now.
func TestF55_AnOldHandleIsNotTheNewOwners(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	v := startChassis(t, d, nil)
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, func(a core.TaskAnswered) bool { return a.Accepted })
	v.conn.Close()
	heard[core.ExecutorDown](r, 1, nil)
	v = startChassis(t, d, nil)
	up(r, 2)
	v.emit(chassisPath, chassisIface+".JobDone", uint32(7), int32(0), place{"kitchen", 1})
	if o := heard[core.Observed](r, 1, nil); o.Task != "" {
		t.Errorf("event %+v", o)
	}
	r.reg.Carry(stop("t-1"))
	if a := heard[core.StopAnswered](r, 1, nil); a.Accepted || a.Refused || strings.Contains(v.did(), "abort") {
		t.Errorf("stop %+v, the vendor did %s", a, v.did())
	}
	for _, ev := range r.events() {
		if e, ok := ev.(core.TaskEnded); ok {
			t.Errorf("ended by another's job: %+v", e)
		}
	}
}

// TestF56_AMappedServiceThatNeverAnswers: three calls into the hard limit make the connection anew, and the handle of before still counts.
func TestF56_AMappedServiceThatNeverAnswers(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 500*time.Millisecond)
	var silent atomic.Bool
	hang := make(chan struct{})
	defer close(hang)
	v := newChassis(t, d)
	v.start(map[string]any{chassisIface + ".GoTo": func(string, float64) (uint32, *godbus.Error) {
		if silent.Load() {
			<-hang
		}
		return 7, nil
	}})
	first := up(r, 1)
	r.reg.Carry(goTo("t-0"))
	heard[core.TaskAnswered](r, 1, func(a core.TaskAnswered) bool { return a.Accepted })
	silent.Store(true)
	for i := range 3 {
		r.reg.Carry(goTo(fmt.Sprintf("t-%d", i+1)))
		if a := heard[core.TaskAnswered](r, i+2, nil); !a.Unknown || a.NotSent {
			t.Errorf("answer %+v", a)
		}
	}
	heard[core.ExecutorDown](r, 1, nil)
	if second := up(r, 2); second.Instance != first.Instance {
		t.Errorf("the same owner is %s and %s", first.Instance, second.Instance)
	}
	v.emit(chassisPath, chassisIface+".JobDone", uint32(7), int32(0), place{"kitchen", 1})
	if e := heard[core.TaskEnded](r, 1, nil); e.Task != "t-0" {
		t.Errorf("end %+v", e)
	}
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownNot || st.Sealed {
		t.Errorf("status of one without an answer %+v", st)
	}
}

// TestF58_AFloodOfAMappedService is a gap: the service counts as restarted, all its context is read again, and the task is asked for.
func TestF58_AFloodOfAMappedService(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	v := startChassis(t, d, nil)
	first := up(r, 1)
	heard[core.ContextRead](r, 1, nil)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	v.set("com.acme.Power1", "Charge", 0.5)
	flood(r, v)
	if second := up(r, 2); second.Instance != first.Instance {
		t.Errorf("the same owner is %s and %s", first.Instance, second.Instance)
	}
	heard[core.ContextRead](r, 1, func(c core.ContextRead) bool { return c.Values[0].Key == "battery.level" && c.Values[0].Value == 50.0 })
	r.reg.Carry(query("t-1"))
	if st := heard[core.TaskStatus](r, 1, nil); st.Known != core.KnownRunning {
		t.Errorf("status %+v", st)
	}
}

// flood has the service say more than is taken, and waits for the gap.
func flood(r *rig, v *vendor) {
	r.t.Helper()
	asks := connect(r.t, r.d)
	before := len(agentsOf(r.t, asks))
	r.hold(true) // the core takes nothing: what is read from the bus has nowhere to go
	for i := range 12_000 {
		v.emit(chassisPath, chassisIface+".JobProgress", uint32(7), float64(i)/12_000)
	}
	for end := time.Now().Add(20 * time.Second); len(agentsOf(r.t, asks)) >= before && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond) // until the connection has been given up
	}
	r.hold(false)
	heard[core.ExecutorDown](r, 1, nil)
}

// TestF59_OnlyTheOwnerOfAMappedServiceIsHeard: whoever sends the same signal is nobody.
func TestF59_OnlyTheOwnerOfAMappedServiceIsHeard(t *testing.T) {
	d := startDaemon(t)
	v := startChassis(t, d, nil)
	r := newMapRig(t, d, changed(t), 0)
	up(r, 1)
	heard[core.ContextRead](r, 1, nil)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	other := connect(t, d)
	for _, name := range agentsOf(t, other) {
		for _, s := range []struct {
			iface, member string
			args          []any
		}{{chassisIface, "JobDone", []any{uint32(7), int32(0), place{"kitchen", 1}}},
			{"org.freedesktop.DBus.Properties", "PropertiesChanged", []any{chassisIface, map[string]godbus.Variant{"State": godbus.MakeVariant(int32(1))}, []string{}}}} {
			msg := &godbus.Message{Type: godbus.TypeSignal, Body: s.args, Headers: map[godbus.HeaderField]godbus.Variant{
				godbus.FieldDestination: godbus.MakeVariant(name), godbus.FieldPath: godbus.MakeVariant(chassisPath), godbus.FieldInterface: godbus.MakeVariant(s.iface),
				godbus.FieldMember: godbus.MakeVariant(s.member), godbus.FieldSignature: godbus.MakeVariant(godbus.SignatureOf(s.args...))}}
			if c := other.Send(msg, nil); c.Err != nil {
				t.Fatal(c.Err)
			}
		}
	}
	if err := other.BusObject().Call("org.freedesktop.DBus.Peer.Ping", 0).Err; err != nil {
		t.Fatal(err)
	}
	v.emit(chassisPath, chassisIface+".JobProgress", uint32(7), 1.0)
	heard[core.TaskProgress](r, 1, nil)
	for _, ev := range r.events() {
		switch ev.(type) {
		case core.TaskEnded, core.Observed:
			t.Errorf("heard %+v", ev)
		}
	}
	if got := known(r)["movement.is_moving"]; got.Value != false {
		t.Errorf("is moving: %+v", got)
	}
}

// agentsOf names all connections of the bus but the asker's: the signal goes to each of them, past any match.
func agentsOf(t *testing.T, asks *godbus.Conn) []string {
	t.Helper()
	var names []string
	if err := asks.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, ":") || n == asks.Names()[0] })
}

// TestWrongTypesOfAMappedService are dropped and logged, and the service stays.
func TestWrongTypesOfAMappedService(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	v := startChassis(t, d, nil)
	up(r, 1)
	heard[core.ContextRead](r, 1, nil)
	r.reg.Carry(goTo("t-1"))
	heard[core.TaskAnswered](r, 1, nil)
	for _, args := range [][]any{nil, {uint32(7)}, {"7", "0", "kitchen"}, {uint32(7), "0", place{}}, {uint32(8), int32(0)}, {uint32(8), int32(0), "kitchen"},
		{uint32(8), int32(0), struct{ Room int32 }{3}}, {[]string{"7"}, int32(0), place{}}, {uint32(7), map[string]string{"0": "0"}, place{}}} {
		v.emit(chassisPath, chassisIface+".JobDone", args...)
	}
	v.emit(chassisPath, chassisIface+".JobProgress", uint32(7), "half")
	v.emit(chassisPath, chassisIface+".JobHeld", uint32(7), "yes")
	v.emit(chassisPath, "org.freedesktop.DBus.Properties.PropertiesChanged", "nonsense")
	v.change(chassisIface, "State", "moving")       // no row
	v.change("com.acme.Power1", "Charge", "full")   // no number
	v.emit(chassisPath, chassisIface+".Dance", 1.0) // nobody's
	v.emit(chassisPath, chassisIface+".JobProgress", uint32(7), 1.0)
	if p := heard[core.TaskProgress](r, 1, nil); p.Percent != 100 {
		t.Errorf("progress %+v", p)
	}
	for _, ev := range r.events() {
		switch ev := ev.(type) {
		case core.TaskStatus, core.TaskEnded, core.Observed, core.ExecutorDown:
			t.Errorf("heard %+v", ev)
		}
	}
	got := known(r)
	if got["movement.is_moving"].Available || got["battery.level"].Available {
		t.Errorf("values that are none: %+v", got)
	}
	r.logged("signal cannot be read", "JobDone")
	r.logged("none that the catalog knows", "battery.level")
}

// TestASignalIsNewerThanTheReadingItOvertakes: a getter that answers late does not put the past over the present.
func TestASignalIsNewerThanTheReadingItOvertakes(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	begun, release := make(chan struct{}, 8), make(chan struct{})
	v := startChassis(t, d, map[string]any{chassisIface + ".WhereAmI": func() (map[string]godbus.Variant, *godbus.Error) {
		begun <- struct{}{}
		<-release
		return map[string]godbus.Variant{"room": godbus.MakeVariant("study")}, nil
	}})
	up(r, 1)
	<-begun
	v.emit(chassisPath, chassisIface+".JobDone", uint32(1), int32(0), place{"kitchen", 1})
	heard[core.ContextRead](r, 1, func(c core.ContextRead) bool { return c.Values[0].Value == "kitchen" })
	close(release)
	c := heard[core.ContextRead](r, 1, func(c core.ContextRead) bool { return len(c.Values) == 3 })
	if c.Values[2].Key != "movement.location" || c.Values[2].Value != "kitchen" {
		t.Errorf("read %+v", c)
	}
}

// TestAGetterThatHangs costs its own value and no other's, and is left alone for a while.
func TestAGetterThatHangs(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 500*time.Millisecond)
	var asked atomic.Int32
	hang := make(chan struct{})
	defer close(hang)
	startChassis(t, d, map[string]any{chassisIface + ".WhereAmI": func() (map[string]godbus.Variant, *godbus.Error) {
		asked.Add(1)
		<-hang
		return nil, nil
	}})
	up(r, 1)
	for n := range 5 {
		c := heard[core.ContextRead](r, n+1, nil)
		if len(c.Values) != 3 || !c.Values[0].Available || !c.Values[1].Available || c.Values[2].Available {
			t.Fatalf("read %+v", c)
		}
		r.reg.Carry(core.Read{Keys: []catalog.ContextKey{"battery.level", "movement.is_moving", "movement.location"}})
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	for _, ev := range r.events() {
		if down, ok := ev.(core.ExecutorDown); ok {
			t.Errorf("heard %+v", down)
		}
	}
}

// TestAtMostEightCallsAreOpen: more wait for their turn, a stop does not.
func TestAtMostEightCallsAreOpen(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	var open, most atomic.Int32
	release := make(chan struct{})
	v := newChassis(t, d)
	v.start(map[string]any{chassisIface + ".GoTo": func(string, float64) (uint32, *godbus.Error) {
		most.Store(max(most.Load(), open.Add(1)))
		<-release
		open.Add(-1)
		return 7, nil
	}})
	up(r, 1)
	for i := range 20 {
		r.reg.Carry(goTo(fmt.Sprintf("t-%d", i)))
	}
	for end := time.Now().Add(20 * time.Second); open.Load() < 8 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	r.reg.Carry(core.Dispatch{Task: "t-99", Service: "chassis", Method: "stopMovement"})
	v.waitFor("stop")
	close(release)
	heard[core.TaskAnswered](r, 20, func(a core.TaskAnswered) bool { return a.Accepted })
	if most.Load() > 9 {
		t.Errorf("%d calls were open", most.Load())
	}
}

// TestAStopThatOvertakesItsCall waits for the handle.
func TestAStopThatOvertakesItsCall(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t), 0)
	release := make(chan struct{})
	v := startChassis(t, d, map[string]any{chassisIface + ".GoTo": func(string, float64) (uint32, *godbus.Error) {
		<-release
		return 12, nil
	}})
	up(r, 1)
	r.reg.Carry(goTo("t-1"))
	r.reg.Carry(stop("t-1"))
	close(release)
	v.waitFor("abort:12")
	if a := heard[core.StopAnswered](r, 1, nil); !a.Accepted {
		t.Errorf("stop %+v", a)
	}
}

// TestAServiceThatSaysItIsIll is given stops only, until it is well again.
func TestAServiceThatSaysItIsIll(t *testing.T) {
	d := startDaemon(t)
	r := newMapRig(t, d, changed(t, member{"services chassis health", object{"property": "Health", "ok": []any{"good", "warm"}}}), 0)
	v := silentChassis(t, d, map[string]any{chassisIface + ".Stop": func() *godbus.Error { return nil }})
	v.set(chassisIface, "Health", "overheated")
	v.take()
	if u := up(r, 1); !slices.Equal(u.Methods, []catalog.Method{"stopMovement"}) {
		t.Errorf("offered: %v", u.Methods)
	}
	r.logged("setMoveTo", "overheated", "cannot work")
	v.change(chassisIface, "Health", "warm")
	if u := up(r, 2); len(u.Methods) != 2 {
		t.Errorf("offered when it is well: %v", u.Methods)
	}
	v.change(chassisIface, "Health", "good") // nothing changes by that
	v.invalidate(chassisIface, "Health", "dead")
	if u := up(r, 3); len(u.Methods) != 1 {
		t.Errorf("offered when it is ill again: %v", u.Methods)
	}
}
