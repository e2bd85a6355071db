package robot_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/rs/zerolog"

	"deviceagent/bridge/catalogfile"
	"deviceagent/executors"
	"deviceagent/executors/dbus"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/bus"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

// busCatalog is the catalog that the robot writes for its services; vendor: for those of another maker.
func busCatalog(t *testing.T, vendor bool) *catalog.Catalog {
	t.Helper()
	dir := t.TempDir()
	write := robot.WriteCatalog
	if vendor {
		write = robot.WriteVendorCatalog
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	c, _, err := catalogfile.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTheCatalogForTheBusIsTheDefaultElsewhereBound: every operation and every key of the home has one service, and nothing else changes.
func TestTheCatalogForTheBusIsTheDefaultElsewhereBound(t *testing.T) {
	c, def := busCatalog(t, false), shipped(t)
	keys := map[catalog.ContextKey]string{}
	for m, op := range c.Operations {
		b := op.Binding
		if b.Kind != "dbus" || !strings.HasPrefix(b.DBus.Service, robot.BusPrefix+".") {
			t.Errorf("%s is bound to %+v", m, b)
			continue
		}
		for _, k := range b.DBus.Keys {
			if other, ok := keys[k]; ok && other != b.Name {
				t.Errorf("%s is of %s and of %s", k, other, b.Name)
			}
			keys[k] = b.Name
		}
		op.Binding = def.Operations[m].Binding
		if !reflect.DeepEqual(op, def.Operations[m]) {
			t.Errorf("%s has changed", m)
		}
	}
	if len(c.Operations) != len(home.Methods()) || len(keys) != len(home.Keys()) {
		t.Errorf("%d operations and %d keys; the home has %d and %d", len(c.Operations), len(keys), len(home.Methods()), len(home.Keys()))
	}
}

// TestTheCatalogForAVendorMapsAllThatItHas: each operation is mapped or served by a service of ours, each key of the home has one source, and
// of the operations only how they are reached changes, and what can be promised of a task that has no id of ours.
func TestTheCatalogForAVendorMapsAllThatItHas(t *testing.T) {
	c, def := busCatalog(t, true), shipped(t)
	keys := map[catalog.ContextKey]bool{}
	for _, s := range c.Services {
		for k := range s.Context {
			keys[k] = true
		}
	}
	mapped := 0
	for m, op := range c.Operations {
		if op.Binding.DBus.Map != nil {
			mapped++
		}
		for _, k := range op.Binding.DBus.Keys {
			keys[k] = true
		}
		if op.Probe != def.Operations[m].Probe && op.Binding.DBus.Map == nil {
			t.Errorf("%s promises %s, and is not mapped", m, op.Probe)
		}
		op.Binding, op.Probe = def.Operations[m].Binding, def.Operations[m].Probe
		if !reflect.DeepEqual(op, def.Operations[m]) {
			t.Errorf("%s has changed", m)
		}
	}
	if mapped != 9 || len(keys) != len(home.Keys()) {
		t.Errorf("%d operations are mapped, %d keys have a source; want 9 and %d", mapped, len(keys), len(home.Keys()))
	}
}

// TestAVendorsServicesSayWhatIsSo: whoever finds them finds the home's values, in the maker's own shapes.
func TestAVendorsServicesSayWhatIsSo(t *testing.T) {
	onBus(t, robot.Options{Vendor: true, Home: home.Options{Start: "kitchen", Battery: 57}}, func(t *testing.T, l *listener, r *robot.Robot, someone *godbus.Conn) {
		for key, want := range map[catalog.ContextKey]any{"movement.location": "kitchen", "movement.is_moving": false, "safety.state": "normal", "station.docked": false,
			"battery.level": 57.0, "battery.charging": false, "cleaning.is_running": false, "air.pm25": 12.0, "air.grade": "good"} {
			n := count(l, func(c core.ContextRead) bool {
				for _, v := range c.Values {
					if v.Key == key && (v.Value != want || !v.Available) {
						t.Errorf("%s is %v", key, v.Value)
					}
				}
				return hasKey(c.Values, key)
			})
			if n == 0 {
				t.Errorf("%s has no value", key)
			}
		}
		var rooms []struct {
			ID, Name  string
			Reachable bool
		}
		if err := someone.Object("com.acme.Maps", "/com/acme/Maps").Call("com.acme.Maps1.Rooms", 0).Store(&rooms); err != nil || len(rooms) != len(home.Flat().Rooms) {
			t.Errorf("rooms %v (%v)", rooms, err)
		}
		if err := r.Command("lift"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		gone := count(l, func(c core.ContextRead) bool {
			for _, v := range c.Values {
				if v.Key == "movement.location" && !v.Available {
					return true
				}
			}
			return false
		})
		if gone == 0 || count(l, func(o core.Observed) bool { return o.Event == "robot.lifted" }) != 1 {
			t.Error("a robot in the air knows its room, or nobody heard that it was lifted")
		}
	})
}

func hasKey(values []core.ContextValue, key catalog.ContextKey) bool {
	return slices.ContainsFunc(values, func(v core.ContextValue) bool { return v.Key == key })
}

// listener is the agent's half of a bus: the real one, with a list for a core.
type listener struct {
	reg *executors.Registry
	mu  sync.Mutex
	got []core.Event
}

func (l *listener) sink(_ context.Context, ev core.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, ev)
	return nil
}

// count is how many events of a type came for which ok holds.
func count[E core.Event](l *listener, ok func(E) bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range l.got {
		if e, is := ev.(E); is && ok(e) {
			n++
		}
	}
	return n
}

// onBus runs a robot and an agent's half on a real bus, in virtual time.
func onBus(t *testing.T, opt robot.Options, play func(t *testing.T, l *listener, r *robot.Robot, someone *godbus.Conn)) {
	t.Helper()
	d, err := bus.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Stop()
	f := bus.NewFerry(d)
	services := dbus.ServicesOf(busCatalog(t, opt.Vendor))
	synctest.Test(t, func(t *testing.T) {
		defer f.Close()
		l := &listener{}
		l.reg = executors.New(executors.Options{Sink: l.sink, Log: zerolog.Nop()})
		b := dbus.New(dbus.Options{Dial: f.Dial, Registry: l.reg, Sink: l.sink, Log: zerolog.Nop(), Services: services})
		opt.BusDial = f.Dial
		r, err := robot.New(opt)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = l.reg.Run(ctx) })
		wg.Go(func() { _ = b.Run(ctx) })
		wg.Go(func() { _ = r.Run(ctx) })
		defer func() { stop(); wg.Wait(); l.reg.Close() }()
		someone, err := dbus.Connect(ctx, "", f.Dial)
		if err != nil {
			t.Fatal(err)
		}
		defer someone.Close()
		time.Sleep(time.Second)
		synctest.Wait()
		play(t, l, r, someone)
	})
	if err := f.Err(); err != nil {
		t.Error(err)
	}
}

func isUp(id core.ServiceID) func(core.ExecutorUp) bool {
	return func(e core.ExecutorUp) bool { return e.Service == id }
}

func isDown(id core.ServiceID) func(core.ExecutorDown) bool {
	return func(e core.ExecutorDown) bool { return e.Service == id }
}

func move(l *listener, task core.TaskID) {
	l.reg.Carry(core.Dispatch{Task: task, Service: "mover", Method: "setMoveTo", Params: kitchen})
}

// TestButtonsAndControlsOnTheBus: what a person does to the robot can be done from the bus, and the agent hears of it from the panel.
func TestButtonsAndControlsOnTheBus(t *testing.T) {
	onBus(t, robot.Options{}, func(t *testing.T, l *listener, _ *robot.Robot, someone *godbus.Conn) {
		pressed := make(chan *godbus.Signal, 8)
		someone.Signal(pressed)
		if err := someone.AddMatchSignal(godbus.WithMatchInterface(robot.ButtonsIface)); err != nil {
			t.Fatal(err)
		}
		buttons, control := someone.Object(robot.ButtonsName, robot.ButtonsPath), someone.Object(robot.ControlName, robot.ControlPath)
		for _, do := range []func() error{
			func() error { return buttons.Call(robot.ButtonsIface+".Press", 0, "cancel").Err },
			func() error { return control.Call(robot.ControlIface+".Command", 0, "press pause").Err },
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for _, name := range []catalog.EventName{"pui.cancelled", "pui.paused"} {
			if n := count(l, func(o core.Observed) bool { return o.Event == name && o.Source == "pui" }); n != 1 {
				t.Errorf("%s was heard %d times", name, n)
			}
		}
		var said []any
		for len(pressed) > 0 {
			if s := <-pressed; s.Name == robot.ButtonsIface+".Pressed" {
				said = append(said, s.Body...)
			}
		}
		if !reflect.DeepEqual(said, []any{"cancel", "pause"}) {
			t.Errorf("said on the bus: %v", said)
		}
		var refused godbus.Error
		if err := buttons.Call(robot.ButtonsIface+".Press", 0, "warp").Err; !errors.As(err, &refused) {
			t.Errorf("a button that there is not: %v", err)
		}
		if err := control.Call(robot.ControlIface+".Command", 0, "dance").Err; !errors.As(err, &refused) || !strings.Contains(err.Error(), "known are") {
			t.Errorf("a command that there is not: %v", err)
		}
		var xml string
		if err := buttons.Call("org.freedesktop.DBus.Introspectable.Introspect", 0).Store(&xml); err != nil || !strings.Contains(xml, `<method name="Press">`) {
			t.Errorf("introspection (%v): %s", err, xml)
		}
	})
}

// TestOneServiceRestartsAlone: its work ends without a word, it is a new owner of its name, and the others go on with theirs.
func TestOneServiceRestartsAlone(t *testing.T) {
	onBus(t, robot.Options{Home: home.Options{Start: "living_room"}}, func(t *testing.T, l *listener, r *robot.Robot, _ *godbus.Conn) {
		move(l, "t1")
		l.reg.Carry(core.Dispatch{Task: "t2", Service: "cleaner", Method: "startBasicAirClear", Params: core.Values{"duration_min": 1.0}})
		time.Sleep(3 * time.Second)
		if err := r.Command("restart mover"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if count(l, isUp("mover")) != 2 || count(l, isDown("mover")) != 1 || count(l, isUp("cleaner")) != 1 || count(l, isDown("cleaner")) != 0 {
			t.Errorf("heard %+v", l.got)
		}
		if n := count(l, func(e core.TaskEnded) bool { return e.Task == "t1" }); n != 0 {
			t.Errorf("a service that dies said %d times how it ended", n)
		}
		if n := count(l, func(e core.TaskEnded) bool { return e.Task == "t2" && e.Outcome == core.OutcomeDone }); n != 1 {
			t.Errorf("the cleaning ended %d times", n)
		}
		l.reg.Carry(core.Query{Task: "t1", Service: "mover"})
		synctest.Wait()
		if n := count(l, func(s core.TaskStatus) bool {
			return s.Task == "t1" && s.Ended != nil && string(s.Ended.Reason) == home.ReasonRestarted
		}); n != 1 {
			t.Errorf("the restarted service tells nothing of its task")
		}
		for _, line := range []string{"restart moon", "restart mover cleaner"} {
			if err := r.Command(line); err == nil {
				t.Errorf("%q was taken", line)
			}
		}
	})
}

// TestAServiceKnowsItsOwnOnly: a method of another service is refused, whoever asks.
func TestAServiceKnowsItsOwnOnly(t *testing.T) {
	onBus(t, robot.Options{}, func(t *testing.T, _ *listener, _ *robot.Robot, someone *godbus.Conn) {
		var accepted bool
		var reason string
		call := someone.Object(robot.BusPrefix+".Cleaner", robot.BusPathPrefix+"/Cleaner").Call(dbus.Interface+".Invoke", 0, "t1", "setMoveTo", map[string]godbus.Variant{})
		if err := call.Store(&accepted, &reason); err != nil || accepted || reason != home.ReasonUnknownMethod {
			t.Errorf("accepted %v, reason %q (%v)", accepted, reason, err)
		}
		var values map[string]godbus.Variant
		call = someone.Object(robot.BusPrefix+".Mover", robot.BusPathPrefix+"/Mover").Call(dbus.Interface+".Read", 0, []string{"movement.location", "air.pm25"})
		if err := call.Store(&values); err != nil || len(values) != 1 {
			t.Errorf("read %v (%v)", values, err)
		}
	})
}
