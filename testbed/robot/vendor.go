package robot

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/introspect"
	"github.com/godbus/dbus/v5/prop"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/testbed/home"
)

// vendorParts is the robot of another maker: services that were there before the agent, with names, shapes and words of their own.
// What they do not have stays with services of ours. vendor.json is what a catalog says of them.
var vendorParts = []part{
	{id: "navigator", methods: []string{"returnToStation", "setMoveTo", "setMoving", "stopMovement"},
		keys:    []string{"movement.is_moving", "movement.location", "safety.state", "station.docked"},
		sources: []string{"movement_manager", "safety_controller", "station"}, maker: newNavigator},
	{id: "purifier", methods: []string{"startBasicAirClear", "stopCleaning"}, keys: []string{"cleaning.is_running"}, sources: []string{"cleaning_manager"}, maker: newPurifier},
	{id: "airsensor", methods: []string{"getAirQuality"}, keys: []string{"air.grade", "air.pm25"}, sources: []string{"air_sensor"}, maker: newAirSensor},
	{id: "power", methods: []string{"getBatteryStatus"}, keys: []string{"battery.charging", "battery.level"}, sources: []string{"battery_manager"}, maker: newPower},
	{id: "health", methods: []string{"startVitalSign"}, sources: []string{"vital_service"}, maker: newHealth},
	{id: "keys", sources: []string{"pui"}, maker: newKeys},
	{id: "maps", maker: newMaps},
	{id: "cleaner", methods: []string{"setAirCleanerOperation", "setStatusClean"}},
	speech,
	{id: panel, methods: panelMethods, keys: panelKeys, sources: []string{"display_manager", "mode_manager", "people", "sound_manager"}},
}

// Where the maker's services are: this, and the part with a capital letter.
const (
	VendorPrefix     = "com.acme"
	vendorPathPrefix = "/com/acme"
)

// maker makes a part in the shape of its maker, on a connection.
type maker func(*acme) (speaker, error)

// speaker is a service on a bus that says what happens, in its own words. [dbus.Host] is one.
type speaker interface {
	Event(core.Observed) error
	Context([]core.ContextValue) error
	Progress(core.TaskProgress) error
	Paused(core.TaskID) error
	Resumed(core.TaskID) error
	Result(core.TaskEnded) error
	Close() error
	Done() <-chan struct{}
}

// acme is what all services of the maker have: a connection, an object, an interface, and properties that tell their changes. What a
// service has no word for it does not say.
type acme struct {
	serves
	conn  *godbus.Conn
	path  godbus.ObjectPath
	iface string
	props *prop.Properties // nil: it has none

	mu    sync.Mutex
	waits map[core.TaskID]chan core.TaskEnded // calls that are answered when their work has ended
}

// serveVendor puts a part on the bus in its maker's shape.
func serveVendor(conn *godbus.Conn, p part, s serves) (speaker, error) {
	a := &acme{serves: s, conn: conn, path: p.path(), iface: p.name() + "1", waits: map[core.TaskID]chan core.TaskEnded{}}
	v, err := p.maker(a)
	if err == nil { // whoever finds the service finds what is so, and not what its fields began with
		s.r.Do(func(h *home.Home, _ time.Duration) { err = v.Context(values(h.Read(p.keys))) })
	}
	if err == nil {
		err = take(conn, p.name())
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return v, nil
}

// export puts the methods of v on the bus, with properties and their first values, and describes all of it: whoever comes to know the
// service reads there what it has.
func (a *acme) export(v any, properties map[string]any, signals ...string) error {
	of := introspect.Interface{Name: a.iface, Methods: introspect.Methods(v)}
	for _, s := range signals {
		of.Signals = append(of.Signals, introspect.Signal{Name: s})
	}
	node := &introspect.Node{Name: string(a.path), Interfaces: []introspect.Interface{introspect.IntrospectData, of}}
	if len(properties) > 0 {
		all := map[string]*prop.Prop{}
		for name, value := range properties {
			all[name] = &prop.Prop{Value: value, Emit: prop.EmitTrue}
		}
		var err error
		if a.props, err = prop.Export(a.conn, a.path, prop.Map{a.iface: all}); err != nil {
			return err
		}
		node.Interfaces[1].Properties = a.props.Introspection(a.iface)
		node.Interfaces = append(node.Interfaces, prop.IntrospectData)
	}
	if err := a.conn.Export(v, a.path, a.iface); err != nil {
		return err
	}
	return a.conn.Export(introspect.NewIntrospectable(node), a.path, "org.freedesktop.DBus.Introspectable")
}

func (a *acme) emit(signal string, args ...any) error {
	return a.conn.Emit(a.path, a.iface+"."+signal, args...)
}

// set changes a property; that it has is told.
func (a *acme) set(name string, value any) { a.props.SetMust(a.iface, name, value) }

// Close takes the service off the bus.
func (a *acme) Close() error { return a.conn.Close() }

// Done is closed when it is off the bus.
func (a *acme) Done() <-chan struct{} { return a.conn.Context().Done() }

// What a service has no word for.
func (a *acme) Event(core.Observed) error         { return nil }
func (a *acme) Context([]core.ContextValue) error { return nil }
func (a *acme) Progress(core.TaskProgress) error  { return nil }
func (a *acme) Paused(core.TaskID) error          { return nil }
func (a *acme) Resumed(core.TaskID) error         { return nil }

// Result ends the call that waits for it, if one does.
func (a *acme) Result(e core.TaskEnded) error {
	a.answered(e)
	return nil
}

func (a *acme) answered(e core.TaskEnded) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.waits[e.Task]
	delete(a.waits, e.Task)
	if c != nil {
		c <- e
	}
	return c != nil
}

// openTime bounds how long a call stays open whose answer does not come.
const openTime = 10 * time.Minute

func acmeError(name, text string) *godbus.Error {
	return godbus.NewError("com.acme.Error."+name, []any{text})
}

// answerOf waits for what the robot answers. A robot that keeps silent keeps the caller waiting.
func answerOf[T any](a *acme, ask func(func(T))) (T, *godbus.Error) {
	got := make(chan T, 1)
	ask(func(v T) { got <- v })
	return received(a, got)
}

func received[T any](a *acme, got <-chan T) (T, *godbus.Error) {
	select {
	case v := <-got:
		return v, nil
	case <-a.Done():
	case <-time.After(openTime):
	}
	var none T
	return none, acmeError("TimedOut", "the work was not taken up")
}

// start begins work.
func (a *acme) start(id core.TaskID, method catalog.Method, params core.Values) (core.TaskAnswered, *godbus.Error) {
	return answerOf(a, func(f func(core.TaskAnswered)) {
		a.Dispatch(core.Dispatch{Task: id, Method: method, Params: params}, f)
	})
}

// whole begins work and waits for its end.
func (a *acme) whole(method catalog.Method) (core.TaskEnded, *godbus.Error) {
	id, _ := newJob()
	c := make(chan core.TaskEnded, 1)
	a.mu.Lock()
	a.waits[id] = c
	a.mu.Unlock()
	ans, fail := a.start(id, method, nil)
	if fail == nil && !ans.Accepted {
		fail = refusal(ans.Reason)
	}
	if fail != nil {
		return core.TaskEnded{}, fail
	}
	end, fail := received(a, c)
	if fail == nil && end.Outcome != core.OutcomeDone {
		fail = acmeError("Failed", string(end.Reason))
	}
	return end, fail
}

// refusal is the error by which a service of the maker refuses.
func refusal(reason core.Reason) *godbus.Error {
	if reason == home.ReasonBusy {
		return acmeError("Busy", "it works already")
	}
	return acmeError("Refused", string(reason))
}

// jobs numbers the work of all services of the maker in this process: a number is never given twice, also over their restarts.
var jobs atomic.Uint32

func newJob() (core.TaskID, uint32) {
	n := jobs.Add(1)
	return jobID(n), n
}

func jobID(n uint32) core.TaskID { return core.TaskID(fmt.Sprintf("acme-%d", n)) }

// jobOf is the number of a task; 0 where it is none of the maker's.
func jobOf(id core.TaskID) uint32 {
	n, err := strconv.ParseUint(strings.TrimPrefix(string(id), "acme-"), 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

func textIn(v core.Values, key string) string {
	s, _ := v[key].(string)
	return s
}

// code is the number of a word in a list of words, counted from 0; -1: it is not there.
func code(words []string, word any) int32 {
	for i, w := range words {
		if w == word {
			return int32(i)
		}
	}
	return -1
}

func word(words []string, n int32) string {
	if n < 0 || int(n) >= len(words) {
		return ""
	}
	return words[n]
}
