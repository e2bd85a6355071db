package firmware

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

type fields = map[string]any

func variantsOf(f fields) map[string]godbus.Variant {
	out := map[string]godbus.Variant{}
	for k, v := range f {
		out[k] = godbus.MakeVariant(v)
	}
	return out
}

// owns takes a name on the bus.
func (g *guest) owns(name string) {
	g.t.Helper()
	if reply, err := g.conn.RequestName(name, godbus.NameFlagDoNotQueue); err != nil || reply != godbus.RequestNameReplyPrimaryOwner {
		g.t.Fatalf("%s: %v %v", name, reply, err)
	}
}

// bindMover lets the catalog bind what moves to a name on the bus.
func bindMover(h *home) {
	_ = h.Inspect(context.Background(), func(s *core.State, _ core.Now) {
		ops := map[catalog.Method]catalog.Operation{}
		for m, op := range s.Catalog().Operations {
			if m == "setMoveTo" || m == "stopMovement" {
				op.Binding = catalog.Binding{Kind: "dbus", Name: "home", DBus: &catalog.DBus{Service: "com.example.Mover", Path: "/com/example/Mover"}}
			}
			ops[m] = op
		}
		cat := *s.Catalog() // the installed one is everybody's
		cat.Operations = ops
		*s = *core.NewState(&cat, s.Device)
	})
}

// Who may say what: the service whose matter it is, a program that the settings name, nobody else. What does not fit the catalog is
// refused whole.
func TestAnEventCountsOnlyFromItsSource(t *testing.T) {
	sources, err := ParseSources("com.example.Buttons=pui.*,user.answered  com.example.Safety=safety.*,robot.fault")
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, startDaemon(t, lax), func(o *Options) { o.Sources = sources; bindMover(o.Agent.(*home)) })
	g := r.join()
	mover, buttons, both := enter(t, r.d), enter(t, r.d), enter(t, r.d)
	mover.owns("com.example.Mover")
	buttons.owns("com.example.Buttons")
	both.owns("com.example.Safety")
	both.owns("com.example.Other")
	const notSource, invalid = errorNotSource, busError + "InvalidArgs"
	for _, tc := range []struct {
		name   string
		who    *guest
		event  string
		fields fields
		fail   string
		want   core.Observed
	}{
		{"the service that moves, of its arrival", mover, "movement.arrived", fields{"room_id": "kitchen"}, "",
			core.Observed{Event: "movement.arrived", Source: "home", Data: core.Values{"room_id": "kitchen"}}},
		{"it can claim less than the catalog gives", mover, "movement.arrived", fields{"source_class": "echo", "occurred_at": "2026-11-30T14:00:00Z"}, "",
			core.Observed{Event: "movement.arrived", Source: "home", Class: catalog.Echo, OccurredAt: "2026-11-30T14:00:00Z", Data: core.Values{}}},
		{"it has nothing to say of cleaning", mover, "cleaning.completed", nil, notSource, core.Observed{}},
		{"nor of the buttons", mover, "pui.resumed", nil, notSource, core.Observed{}},
		{"nor of a task that it does not have", mover, "movement.arrived", fields{"task_id": "t-1"}, invalid, core.Observed{}},
		{"a declared program, of a button", buttons, "pui.paused", nil, "", core.Observed{Event: "pui.paused", Source: "com.example.Buttons", Data: core.Values{}}},
		{"and of an answer", buttons, "user.answered", fields{"answer": "yes"}, "", core.Observed{Event: "user.answered", Source: "com.example.Buttons", Data: core.Values{"answer": "yes"}}},
		{"not of what it was not named for", buttons, "movement.arrived", fields{"room_id": "kitchen"}, notSource, core.Observed{}},
		{"not of a task", buttons, "pui.paused", fields{"task_id": "t-1"}, invalid, core.Observed{}},
		{"one of two names", both, "robot.fault", fields{"code": "E1", "severity": "minor"}, "",
			core.Observed{Event: "robot.fault", Source: "com.example.Safety", Data: core.Values{"code": "E1", "severity": "minor"}}},
		{"not by the beginning of a name", both, "robot.lifted", nil, notSource, core.Observed{}},
		{"whoever owns no name, root included", g, "pui.paused", nil, notSource, core.Observed{}},
		{"of proof above all", g, "movement.arrived", fields{"room_id": "kitchen"}, notSource, core.Observed{}},
		{"an event that the catalog has not", mover, "movement.flown", nil, invalid, core.Observed{}},
		{"a field that it has not", mover, "movement.arrived", fields{"colour": "red"}, invalid, core.Observed{}},
		{"a field of another type", mover, "movement.arrived", fields{"room_id": 7}, invalid, core.Observed{}},
		{"a number out of its bounds", mover, "movement.progress", fields{"percent": int32(101)}, invalid, core.Observed{}},
		{"a number with a fraction", mover, "movement.progress", fields{"percent": 1.5}, invalid, core.Observed{}},
		{"a whole number of any width", mover, "movement.progress", fields{"percent": byte(40)}, "", core.Observed{Event: "movement.progress", Source: "home", Data: core.Values{"percent": 40.0}}},
		{"a class that is none", mover, "movement.arrived", fields{"source_class": "certain"}, invalid, core.Observed{}},
		{"a stamp that is no text", mover, "movement.arrived", fields{"occurred_at": 1}, invalid, core.Observed{}},
	} {
		before := len(r.home.events())
		if fail := tc.who.asks("ReportEvent", args(tc.event, variantsOf(tc.fields))); fail != tc.fail {
			t.Errorf("%s: %q, want %q", tc.name, fail, tc.fail)
		}
		got := r.home.events()[before:]
		if tc.fail != "" && len(got) != 0 || tc.fail == "" && (len(got) != 1 || !reflect.DeepEqual(got[0], tc.want)) {
			t.Errorf("%s: the core heard %+v, want %+v", tc.name, got, tc.want)
		}
	}
	buttons.conn.Close()
	eventually(t, "the end of the buttons", func() bool {
		var there bool
		return g.conn.BusObject().Call(busName+".NameHasOwner", 0, "com.example.Buttons").Store(&there) == nil && !there
	})
	g.owns("com.example.Buttons2")
	if fail := g.asks("ReportEvent", args("pui.paused", variantsOf(nil))); fail != notSource {
		t.Errorf("a name like that of a source that has gone: %q", fail)
	}
}

// A service speaks of a task by its id only where the task is its own and under way.
func TestOnlyTheServiceOfATaskSpeaksOfIt(t *testing.T) {
	r := serve(t, startDaemon(t, lax), func(o *Options) { bindMover(o.Agent.(*home)) })
	g := r.join()
	mover := enter(t, r.d)
	mover.owns("com.example.Mover")
	r.home.does(func() {
		r.home.Up("home")
		for key, v := range map[string]any{"battery.level": 80.0, "movement.is_moving": false, "movement.location": "study"} {
			r.home.Read(key, v)
		}
	})
	g.submits(r.home, movePlan)
	task := string(r.home.Last())
	if task == "" {
		t.Fatal("nothing was dispatched")
	}
	if fail := mover.asks("ReportEvent", args("movement.arrived", variantsOf(fields{"task_id": task, "room_id": "living_room"}))); fail != "" {
		t.Errorf("its own task: %s", fail)
	}
	if got := r.home.events(); len(got) != 1 || got[0].(core.Observed).Task != core.TaskID(task) {
		t.Errorf("the core heard %+v", got)
	}
}

// On another bus than that of the executors a name means nothing: anybody may have taken it there.
func TestABoundNameCountsOnlyOnTheExecutorsBus(t *testing.T) {
	r := serve(t, startDaemon(t, lax), func(o *Options) { o.Bound = false; bindMover(o.Agent.(*home)) })
	g := r.join()
	g.owns("com.example.Mover")
	if fail := g.asks("ReportEvent", args("movement.arrived", variantsOf(fields{"room_id": "kitchen"}))); fail != errorNotSource {
		t.Errorf("%q", fail)
	}
}

func TestParseSources(t *testing.T) {
	for _, bad := range []string{"com.example.Buttons", "com.example.Buttons=", "Buttons=pui.*", ":1.5=pui.*", "com.example.Buttons=*", "com.example.Buttons=pui.*,", "com.example.Buttons=[", "=pui.*"} {
		if got, err := ParseSources(bad); err == nil || !strings.Contains(err.Error(), "cannot read") {
			t.Errorf("%q: %v, %v", bad, got, err)
		}
	}
	if got, err := ParseSources(" \n"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestValueOf(t *testing.T) {
	low, high := 0.0, 10.0
	for _, tc := range []struct {
		name string
		v    any
		decl catalog.Param
		want any // nil: refused
	}{
		{"a number", 1.5, catalog.Param{Type: catalog.Number}, 1.5},
		{"no number at all", math.NaN(), catalog.Param{Type: catalog.Number}, nil},
		{"without end", math.Inf(1), catalog.Param{Type: catalog.Number}, nil},
		{"a whole number", uint16(7), catalog.Param{Type: catalog.Integer}, 7.0},
		{"one that a float does not hold", uint64(1<<53 + 2), catalog.Param{Type: catalog.Integer}, nil},
		{"below its bound", int16(-1), catalog.Param{Type: catalog.Integer, Minimum: &low, Maximum: &high}, nil},
		{"above its bound", 10.5, catalog.Param{Type: catalog.Number, Minimum: &low, Maximum: &high}, nil},
		{"truth", true, catalog.Param{Type: catalog.Boolean}, true},
		{"a number for truth", byte(1), catalog.Param{Type: catalog.Boolean}, nil},
		{"one of the words", "good", catalog.Param{Type: catalog.String, Enum: []any{"good", "bad"}}, "good"},
		{"another word", "fair", catalog.Param{Type: catalog.String, Enum: []any{"good", "bad"}}, nil},
		{"a long text", strings.Repeat("x", 8193), catalog.Param{Type: catalog.String}, nil},
		{"a list", []string{"a"}, catalog.Param{Type: catalog.String}, nil},
		{"a path", godbus.ObjectPath("/a"), catalog.Param{Type: catalog.String}, nil},
	} {
		got, err := valueOf(tc.v, tc.decl)
		if (err == nil) != (tc.want != nil) || got != tc.want {
			t.Errorf("%s: %v, %v", tc.name, got, err)
		}
	}
}
