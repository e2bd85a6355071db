package dbus_test

import (
	"context"
	"encoding/xml"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"go.uber.org/goleak"

	"deviceagent/executors/dbus"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connect is somebody else on the bus.
func connect(t *testing.T, d *daemon) *godbus.Conn {
	t.Helper()
	c, err := godbus.Connect(d.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// signalsOf finds the agent's connection for signals: the first that came after the mover's.
func signalsOf(t *testing.T, d *daemon, asks *godbus.Conn) string {
	t.Helper()
	var names []string
	if err := asks.BusObject().Call("org.freedesktop.DBus.ListNames", 0).Store(&names); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var owner string
	if err := asks.BusObject().Call("org.freedesktop.DBus.GetNameOwner", 0, name).Store(&owner); err != nil {
		t.Fatal(err)
	}
	i := slices.Index(names, owner)
	if i < 0 || i+1 >= len(names) || !strings.HasPrefix(names[i+1], ":") {
		t.Fatalf("owner %s among %v", owner, names)
	}
	return names[i+1]
}

// up waits until a service was found for the nth time, and what it has was read.
func up(r *rig, n int) core.ExecutorUp {
	r.t.Helper()
	u := heard[core.ExecutorUp](r, n, nil)
	for end := time.Now().Add(20 * time.Second); !r.all && len(r.firsts()) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatal("what the service has was not read")
		}
	}
	return u
}

// TestWhatAServiceHasIsReadWhenItIsFound: it spoke of it before anybody listened, and need not do so again.
func TestWhatAServiceHasIsReadWhenItIsFound(t *testing.T) {
	d := startDaemon(t)
	m := startMover(t, d)
	r := newRig(t, d, 0)
	up(r, 1)
	m.host.Close()
	heard[core.ExecutorDown](r, 1, nil)
	startMover(t, d)
	up(r, 2)
	for _, c := range r.firsts() {
		if len(c.Values) != 2 || c.Values[0].Value != "kitchen" || !c.Values[0].Available || c.Values[1].Available {
			t.Errorf("it has %+v", c)
		}
	}
}

func move(task string) core.Dispatch {
	return core.Dispatch{Task: core.TaskID(task), Service: "mover", Method: "setMoveTo", Params: core.Values{"position": "kitchen", "speed": 2.0, "slow": true,
		"via": []any{"hall", 1.5}, "how": map[string]any{"quiet": true}}}
}

func TestEveryCallAndSignal(t *testing.T) {
	d := startDaemon(t)
	r := newRig(t, d, 0)
	m := startMover(t, d) // after the bus: its coming is a signal
	u := up(r, 1)
	if u.Service != "mover" || len(u.Methods) != 2 || len(u.Keys) != 2 || u.Instance == "" {
		t.Fatalf("up %+v", u)
	}
	got := make(chan core.Values, 1)
	m.set(func() { m.before = func(d core.Dispatch) { got <- d.Params } })
	r.reg.Carry(move("t-1"))
	if a := heard[core.TaskAnswered](r, 1, nil); !a.Accepted || a.Task != "t-1" || a.Instance != u.Instance {
		t.Errorf("answer %+v", a)
	}
	if p := <-got; !reflect.DeepEqual(p, move("t-1").Params) {
		t.Errorf("parameters arrive as %v", p)
	}
	for _, say := range []func() error{
		func() error { return m.host.Progress(core.TaskProgress{Task: "t-1", Percent: 50, Note: "half"}) },
		func() error { return m.host.Paused("t-1") },
		func() error { return m.host.Resumed("t-1") },
		func() error {
			return m.host.Event(core.Observed{Event: "movement.arrived", Task: "t-1", Resource: "base", Class: catalog.Independent, Seq: 7, OccurredAt: "2026-11-30T09:00:00Z",
				Data: core.Values{"room_id": "kitchen"}})
		},
		func() error {
			return m.host.Context([]core.ContextValue{{Key: "movement.location", Value: "kitchen", Available: true}, {Key: "movement.is_moving"}})
		},
		func() error {
			return m.host.Result(core.TaskEnded{Task: "t-1", Outcome: core.OutcomeDone, Output: core.Values{"steps": 3.0}})
		},
	} {
		if err := say(); err != nil {
			t.Fatal(err)
		}
	}
	if e := heard[core.TaskEnded](r, 1, nil); e.Task != "t-1" || e.Outcome != core.OutcomeDone || e.Output["steps"] != 3.0 || e.Source != "mover" {
		t.Errorf("result %+v", e)
	}
	var kinds []string
	for _, ev := range r.events() {
		kinds = append(kinds, string(core.KindOf(ev)))
	}
	if want := "executor_up task_answered task_progress task_status task_status observed context_read task_ended"; strings.Join(kinds, " ") != want {
		t.Errorf("order %v, want %s", kinds, want)
	}
	if p := heard[core.TaskProgress](r, 1, nil); p.Percent != 50 || p.Note != "half" {
		t.Errorf("progress %+v", p)
	}
	if h := heard[core.TaskStatus](r, 1, nil); !h.Paused || h.Known != core.KnownRunning || h.Source != "mover" {
		t.Errorf("held %+v", h)
	}
	if h := heard[core.TaskStatus](r, 2, nil); !h.Resumed || h.Paused {
		t.Errorf("resumed %+v", h)
	}
	if o := heard[core.Observed](r, 1, nil); o.Event != "movement.arrived" || o.Task != "t-1" || o.Resource != "base" || o.Class != catalog.Independent || o.Seq != 7 ||
		o.Data["room_id"] != "kitchen" || o.Source != "mover" {
		t.Errorf("event %+v", o)
	}
	if c := heard[core.ContextRead](r, 1, nil); len(c.Values) != 2 || c.Values[0].Value != "kitchen" || c.Values[1].Available {
		t.Errorf("context %+v", c)
	}

	m.set(func() { delete(m.running, "t-1") })
	for _, o := range []core.Output{core.Query{Task: "t-1", Service: "mover"}, core.Query{Task: "t-9", Service: "mover"}, core.Stop{Task: "t-1", Service: "mover", Method: "setMoveTo"},
		core.Pause{Task: "t-1", Service: "mover"}, core.Resume{Task: "t-1", Service: "mover"}, core.Read{Keys: []catalog.ContextKey{"movement.location", "movement.is_moving"}}} {
		r.reg.Carry(o)
	}
	st := heard[core.TaskStatus](r, 1, func(s core.TaskStatus) bool { return s.Known == core.KnownEnded })
	if st.Ended == nil || st.Ended.Output["steps"] != 3.0 || st.Event == nil || st.Event.Data["room_id"] != "kitchen" || st.Instance != u.Instance {
		t.Errorf("status of an ended task %+v", st)
	}
	if st := heard[core.TaskStatus](r, 1, func(s core.TaskStatus) bool { return s.Task == "t-9" }); st.Known != core.KnownNot || !st.Sealed {
		t.Errorf("status of an unknown task %+v", st)
	}
	heard[core.StopAnswered](r, 2, func(a core.StopAnswered) bool { return a.Accepted })
	if a := heard[core.StopAnswered](r, 1, func(a core.StopAnswered) bool { return a.Refused }); a.Reason != "not_paused" {
		t.Errorf("a refused resume %+v", a)
	}
	if c := heard[core.ContextRead](r, 2, nil); c.Values[0].Value != "kitchen" || c.Values[1].Available {
		t.Errorf("read %+v", c)
	}
}

func TestRefusals(t *testing.T) {
	d := startDaemon(t)
	m := startMover(t, d)
	r := newRig(t, d, 0)
	up(r, 1)
	m.set(func() { m.refuse = "blocked_path" })
	r.reg.Carry(move("t-1"))
	if a := heard[core.TaskAnswered](r, 1, nil); a.Accepted || a.Unknown || a.NotSent || a.Reason != "blocked_path" {
		t.Errorf("answer %+v", a)
	}
}

// TestB8_WhoeverAppearsWhileWeSubscribeIsSeen: a service that comes at any moment of the agent's start is there in the end.
func TestB8_WhoeverAppearsWhileWeSubscribeIsSeen(t *testing.T) {
	d := startDaemon(t)
	for i := range 10 {
		r := newRig(t, d, 0)
		time.Sleep(time.Duration(i) * 2 * time.Millisecond)
		m := startMover(t, d)
		up(r, 1)
		m.host.Close()
		heard[core.ExecutorDown](r, 1, nil)
	}
}

// TestF55_ANewOwnerIsANewInstance: what the old one had in hand is unknown, and signals of the old one count no more.
func TestF55_ANewOwnerIsANewInstance(t *testing.T) {
	d := startDaemon(t)
	m := startMover(t, d)
	r := newRig(t, d, 0)
	first := up(r, 1)
	m.set(func() { m.silent = true })
	r.reg.Carry(move("t-1"))
	for !strings.Contains(m.did(), "dispatch") {
		time.Sleep(5 * time.Millisecond)
	}
	m.host.Close()
	if a := heard[core.TaskAnswered](r, 1, nil); !a.Unknown {
		t.Errorf("a call whose service went away: %+v", a)
	}
	heard[core.ExecutorDown](r, 1, nil)
	startMover(t, d)
	if second := up(r, 2); second.Instance == first.Instance {
		t.Errorf("both are %s", second.Instance)
	}
}

// TestF54_TheBusRestartsInTheMiddleOfACall: the call is unknown, the service is down, and comes back with the bus under another name.
func TestF54_TheBusRestartsInTheMiddleOfACall(t *testing.T) {
	d := startDaemon(t)
	m := startMover(t, d)
	r := newRig(t, d, 0)
	first := up(r, 1)
	m.set(func() { m.silent = true })
	r.reg.Carry(move("t-1"))
	for !strings.Contains(m.did(), "dispatch") {
		time.Sleep(5 * time.Millisecond)
	}
	d.stop()
	if a := heard[core.TaskAnswered](r, 1, nil); !a.Unknown || a.NotSent {
		t.Errorf("answer %+v", a)
	}
	heard[core.ExecutorDown](r, 1, nil)
	r.reg.Carry(move("t-2"))
	if a := heard[core.TaskAnswered](r, 2, nil); !a.NotSent {
		t.Errorf("a call while there is no bus: %+v", a)
	}
	d.start()
	startMover(t, d)
	if second := up(r, 2); second.Instance == first.Instance {
		t.Errorf("both are %s", second.Instance)
	}
}

// TestF56_WhoNeverAnswersIsUnknown, and three of that make the connection anew, since the bus keeps the slot of each.
func TestF56_WhoNeverAnswersIsUnknown(t *testing.T) {
	d := startDaemon(t)
	m := startMover(t, d)
	r := newRig(t, d, 200*time.Millisecond)
	up(r, 1)
	m.set(func() { m.silent = true })
	for i, task := range []string{"t-1", "t-2", "t-3"} {
		r.reg.Carry(move(task))
		if a := heard[core.TaskAnswered](r, i+1, nil); !a.Unknown || i < 2 && a.Reason != core.ReasonAckTimeout { // the third may hear of its connection first
			t.Errorf("%s: %+v", task, a)
		}
	}
	heard[core.ExecutorDown](r, 1, nil)
	up(r, 2)
	m.set(func() { m.silent = false })
	r.reg.Carry(move("t-4"))
	if a := heard[core.TaskAnswered](r, 4, nil); !a.Accepted {
		t.Errorf("afterwards: %+v", a)
	}
}

// TestF59_OnlyTheOwnerIsHeard: on a bus anybody may send any signal.
func TestF59_OnlyTheOwnerIsHeard(t *testing.T) {
	d := startDaemon(t)
	m := startMover(t, d)
	r := newRig(t, d, 0)
	up(r, 1)
	other := connect(t, d)
	for signal, args := range map[string][]any{
		dbus.Interface + ".Result":              {"t-1", "done", "", map[string]godbus.Variant{}},
		dbus.Interface + ".Context":             {map[string]godbus.Variant{"movement.location": godbus.MakeVariant("kitchen")}, []string{}},
		"org.freedesktop.DBus.NameOwnerChanged": {name, "", other.Names()[0]},
	} {
		msg := &godbus.Message{Type: godbus.TypeSignal, Body: args, Headers: map[godbus.HeaderField]godbus.Variant{ // to us alone: no match keeps it out
			godbus.FieldDestination: godbus.MakeVariant(signalsOf(t, d, other)), godbus.FieldPath: godbus.MakeVariant(path),
			godbus.FieldInterface: godbus.MakeVariant(signal[:strings.LastIndex(signal, ".")]), godbus.FieldMember: godbus.MakeVariant(signal[strings.LastIndex(signal, ".")+1:]),
			godbus.FieldSignature: godbus.MakeVariant(godbus.SignatureOf(args...))}}
		if c := other.Send(msg, nil); c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	if err := other.BusObject().Call("org.freedesktop.DBus.Peer.Ping", 0).Err; err != nil { // what was sent before is delivered now
		t.Fatal(err)
	}
	_ = m.host.Progress(core.TaskProgress{Task: "t-end"})
	heard[core.TaskProgress](r, 1, nil)
	for _, ev := range r.events() {
		switch ev.(type) {
		case core.ExecutorUp, core.TaskProgress:
		default:
			t.Errorf("heard %+v", ev)
		}
	}
}

// TestWrongTypesAreDropped: a service that says nonsense stays connected, and nothing of the nonsense becomes an event.
func TestWrongTypesAreDropped(t *testing.T) {
	d := startDaemon(t)
	raw := connect(t, d)
	if _, err := raw.RequestName(name, godbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, d, 0)
	up(r, 1)
	none := map[string]godbus.Variant{}
	for _, s := range []struct {
		signal string
		args   []any
	}{
		{"Result", []any{"t-1"}}, {"Result", []any{int32(1), "done", "", none}}, {"Result", []any{"t-1", "perfect", "", none}}, {"Result", []any{"t 1", "done", "", none}},
		{"Result", []any{"t-1", "done", "", map[string]godbus.Variant{"x": godbus.MakeVariant(struct{ A int32 }{1})}}},
		{"Event", []any{"movement arrived", none}}, {"Event", []any{"movement.arrived", map[string]godbus.Variant{"task_id": godbus.MakeVariant(7)}}},
		{"Event", []any{"movement.arrived", map[string]godbus.Variant{"data": godbus.MakeVariant("room")}}},
		{"Context", []any{map[string]godbus.Variant{"safety.state": godbus.MakeVariant("ok")}, []string{}}},
		{"Context", []any{"movement.location"}}, {"Feedback", []any{"t-1", "half", ""}}, {"Held", []any{"t-1", "yes"}}, {"Dance", nil},
	} {
		if err := raw.Emit(path, dbus.Interface+"."+s.signal, s.args...); err != nil {
			t.Fatal(err)
		}
	}
	_ = raw.Emit(path, dbus.Interface+".Feedback", "t-end", 1.0, "")
	heard[core.TaskProgress](r, 1, nil)
	if evs := r.events(); len(evs) != 2 {
		t.Errorf("heard %+v", evs)
	}
}

// TestF58_AFloodOfSignals: nothing is lost without the services being treated as restarted, and the agent goes on.
func TestF58_AFloodOfSignals(t *testing.T) {
	d := startDaemon(t)
	m := startMover(t, d)
	r := newRig(t, d, 0)
	up(r, 1)
	const n = 20_000
	for i := range n {
		if err := m.host.Progress(core.TaskProgress{Task: "t-1", Percent: float64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	_ = m.host.Result(core.TaskEnded{Task: "t-1", Outcome: core.OutcomeDone})
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		last, gap, done := -1.0, false, false
		for _, ev := range r.events() {
			switch e := ev.(type) {
			case core.TaskProgress:
				if !gap && e.Percent != last+1 {
					t.Fatalf("after %v came %v", last, e.Percent)
				}
				last = e.Percent
			case core.ExecutorDown:
				gap = true
			case core.TaskEnded:
				done = true
			}
		}
		if gap || done {
			return
		}
	}
	t.Fatal("neither the end of the task was heard nor a gap")
}

func TestServeSaysWhatIsWrong(t *testing.T) {
	d := startDaemon(t)
	m := startMover(t, d)
	if _, err := dbus.Serve(context.Background(), d.address, name, path, m); err == nil || !strings.Contains(err.Error(), "another program has it") {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := dbus.Serve(context.Background(), "unix:path=/no/such", name, path, m); err == nil || !strings.Contains(err.Error(), "cannot connect") {
		t.Errorf("no bus: %v", err)
	}
}

// TestIntrospectionIsTheInterface: the XML that others build on names each method with its arguments as they are served.
func TestIntrospectionIsTheInterface(t *testing.T) {
	d := startDaemon(t)
	startMover(t, d)
	c := connect(t, d)
	var text string
	if err := c.Object(name, path).Call("org.freedesktop.DBus.Introspectable.Introspect", 0).Store(&text); err != nil || text != dbus.Introspection {
		t.Fatalf("introspection (%v): %.80s", err, text)
	}
	var node struct {
		Interface struct {
			Name    string `xml:"name,attr"`
			Methods []struct {
				Name string `xml:"name,attr"`
				Args []struct {
					Type      string `xml:"type,attr"`
					Direction string `xml:"direction,attr"`
				} `xml:"arg"`
			} `xml:"method"`
		} `xml:"interface"`
	}
	if err := xml.Unmarshal([]byte(text), &node); err != nil || node.Interface.Name != dbus.Interface || len(node.Interface.Methods) != 6 {
		t.Fatalf("%v: %+v", err, node)
	}
	example := map[string]any{"s": "x", "as": []string{}, "a{sv}": map[string]godbus.Variant{}}
	for _, m := range node.Interface.Methods {
		var in []any
		out := ""
		for _, a := range m.Args {
			if a.Direction == "in" {
				in = append(in, example[a.Type])
			} else {
				out += a.Type
			}
		}
		call := c.Object(name, path).Call(dbus.Interface+"."+m.Name, 0, in...)
		if call.Err != nil {
			t.Errorf("%s: %v", m.Name, call.Err)
		} else if sig := godbus.SignatureOf(call.Body...).String(); sig != out {
			t.Errorf("%s answers %s, the XML says %s", m.Name, sig, out)
		}
	}
	var health godbus.Variant
	if err := c.Object(name, path).Call("org.freedesktop.DBus.Properties.Get", 0, dbus.Interface, "Health").Store(&health); err != nil || health.Value() != "ok" {
		t.Errorf("health %v (%v)", health, err)
	}
}
