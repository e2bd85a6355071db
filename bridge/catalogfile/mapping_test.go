package catalogfile

import (
	"encoding/json"
	"os"
	"testing"
)

// vendor gives the changes that make the guide's example of mapped D-Bus services out of the default files.
func vendor(t *testing.T) []change {
	t.Helper()
	data, err := os.ReadFile("../../executors/dbus/testdata/vendor.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Services, Operations map[string]object }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	changes := []change{{opsFile, "services", object{}}}
	for name, s := range all.Services {
		changes = append(changes, change{opsFile, "services " + name, s})
	}
	for m, members := range all.Operations {
		for member, value := range members {
			changes = append(changes, ops(m+" "+member, value))
		}
	}
	return changes
}

const (
	moveMap = "setMoveTo executor dbus map "
	chassis = "services chassis "
)

func svc(at string, to any) change { return change{opsFile, chassis + at, to} }
func mov(at string, to any) change { return ops(moveMap+at, to) }

// single makes the motion one that is known by being the only one.
func single(more ...change) []change {
	return append([]change{mov("task", object{"by": "single"}), mov("progress", []any{}), mov("query", gone),
		mov("result", []any{object{"property": "State", "match": object{"value": 0}, "outcome": "done"}}),
		mov("cancel", object{"method": "Abort"}),
		mov("pause", object{"method": "Hold", "confirmed": object{"property": "State", "match": object{"value": 2}}}),
		mov("resume", object{"method": "Go", "confirmed": object{"property": "State", "match": object{"value": 1}}})}, more...)
}

// byID makes it one that is known by our id.
func byID(more ...change) []change {
	id := object{"type": "s", "task": true}
	return append([]change{mov("task", object{"by": "id"}), mov("call args 1", id), mov("cancel args 0", id), mov("pause args 0", id), mov("resume args 0", id),
		mov("query args 0", id)}, more...)
}

func TestMappedServicesLoad(t *testing.T) {
	for name, changes := range map[string][]change{"the guide's": nil, "known by single": single(), "known by id": byID(),
		"one that remembers":    byID(ops("setMoveTo probe", "durable")),
		"asked by a property":   single(mov("query", object{"property": "State", "states": object{"1": "running", "2": "paused", "0": "unknown"}})),
		"accepted by a signal":  {mov("accept", object{"signal": "Started", "task": "0", "refused": object{"signal": "Denied", "task": "0", "reason": object{"field": "1"}}})},
		"a path that is the id": {mov("result 0", object{"signal": "Finished", "interface": "com.acme.Job1", "task": "path", "outcome": "done"})},
	} {
		c, _ := mustLoad(t, edited(t, append(vendor(t), changes...)...))
		if len(c.Services) != 2 || c.Operations["setMoveTo"].Binding.DBus.Map == nil {
			t.Errorf("%s: %d services", name, len(c.Services))
		}
	}
}

// A robot whose services are mapped has another etag; one without them keeps the one that it had before they could be.
func TestMappedServicesAreInTheEtag(t *testing.T) {
	plain, _ := mustLoad(t, edited(t))
	mapped, _ := mustLoad(t, edited(t, vendor(t)...))
	other, _ := mustLoad(t, edited(t, append(vendor(t), svc("context battery.level scale", 10))...))
	if plain.Etag == mapped.Etag || mapped.Etag == other.Etag {
		t.Errorf("etags %s %s %s", plain.Etag, mapped.Etag, other.Etag)
	}
}

// Each row breaks the example in one way, and names the fault that must be found.
var brokenMaps = []struct {
	name    string
	changes []change
	path    string
	words   string
}{
	// the service
	{"a bus name", []change{svc("service", "chassis")}, "services.chassis.service", "well-known name"},
	{"an object path", []change{svc("path", "chassis")}, "services.chassis.path", "object path"},
	{"an interface", []change{svc("interface", "chassis")}, "services.chassis.interface", "is no interface"},
	{"no interface at all", []change{svc("interface", gone)}, "services.chassis.events[0].interface", "is missing here and at the service"},
	{"an unknown member", []change{svc("sevice", "x")}, "services.chassis.sevice", "no name that is known"},
	{"a service that is not there", []change{ops("setMoveTo executor name", "wheels")}, "operations.setMoveTo.executor.name", "does not exist"},
	{"a map beside a place", []change{ops("setMoveTo executor dbus service", "com.acme.X")}, "operations.setMoveTo.executor.dbus.map", "leave service, path and keys out"},
	{"a service without a map", []change{ops("setMoveTo executor dbus", object{"service": "com.acme.X", "path": "/x"})}, "setMoveTo.executor.dbus.map", "is missing"},

	// context
	{"a context key", []change{svc("context lamp.level", object{"property": "Level"})}, "services.chassis.context[\"lamp.level\"]", "does not exist"},
	{"a value that cannot be read", []change{svc("context battery.level property", gone)}, "context[\"battery.level\"]", "exactly one of property and method"},
	{"a value that is read twice", []change{svc("context battery.level method", "Get")}, "context[\"battery.level\"]", "exactly one of property and method"},
	{"a value of another type", []change{svc("context movement.is_moving values 0", "no")}, "values.0", "a boolean is wanted"},
	{"a value outside the enum", []change{svc("context", object{"safety.state": object{"property": "Safe", "values": object{"0": "fine"}}})}, "values.0", "is none of"},
	{"a scale of a truth", []change{svc("context movement.is_moving", object{"property": "State", "scale": 2})}, "is_moving\"].scale", "for a number"},
	{"a scale beside values", []change{svc("context battery.level values", object{"1": 1})}, "battery.level\"].scale", "not mapped by values"},
	{"else without values", []change{svc("context battery.level else", 1)}, "battery.level\"].else", "there are no values"},
	{"a constant and a field", []change{svc("context battery.level value", 1)}, "battery.level\"].value", "is a constant"},
	{"a class", []change{svc("context battery.level class", "sure")}, "battery.level\"].class", "must be one of"},
	{"a property read like a signal", []change{svc("context battery.level field", "0")}, "battery.level\"].field", "begins with value"},
	{"a signal read like a property", []change{svc("context movement.location signals 0 field", "value")}, "signals[0].field", "number of an argument"},
	{"a signal of a key that is two things", []change{svc("context movement.location signals 0 property", "State")}, "signals[0]", "exactly one of signal and property"},
	{"an argument of a getter that nobody gives", []change{svc("context movement.location args", []any{object{"type": "s", "param": "position"}})}, "args[0].param", "this call has none"},
	{"an id in a getter", []change{svc("context movement.location args", []any{object{"type": "s", "task": true}})}, "args[0]", "belongs to none"},
	{"a place that is none", []change{svc("context movement.location field", "first")}, "field", "does not match pattern"},

	// events
	{"an event", []change{svc("events 0 event", "movement.came")}, "services.chassis.events[0].event", "does not exist"},
	{"a field of an event", []change{svc("events 0 data", object{"room": object{"field": "2.0"}})}, "events[0].data.room", "none of what the event declares"},
	{"a type in an event", []change{svc("events 0 data room_id", object{"value": 3})}, "events[0].data.room_id.value", "a string is wanted"},
	{"a resource of an event", []change{svc("events 0 resource", "wheels")}, "events[0].resource", "does not exist"},
	{"a class of an event", []change{svc("events 0 class", "sure")}, "events[0].class", "must be one of"},
	{"an event of nothing", []change{svc("events 0 signal", gone)}, "events[0]", "exactly one of signal and property"},
	{"an event of a reply", []change{svc("events 0 signal", gone), svc("events 0 reply", true)}, "events[0]", "exactly one of signal and property"},
	{"an id in a property", []change{svc("events 0", object{"event": "movement.stopped", "property": "State", "task": "0"})}, "events[0].task", "tells of no id"},
	{"a match of a property by a number", []change{svc("events 0", object{"event": "movement.stopped", "property": "State", "match": object{"0": 1}})}, "events[0].match.0", "begins with value"},

	// errors
	{"an error of the bus", []change{svc("errors", object{"org.freedesktop.DBus.Error.NoReply": object{"as": "refused"}})}, "errors[\"org.freedesktop.DBus.Error.NoReply\"]", "is said by the bus"},
	{"no error's name", []change{svc("errors", object{"busy": object{"as": "refused"}})}, "errors.busy", "is no name of an error"},
	{"what an error means", []change{mov("errors", object{"com.acme.Error.X": object{"as": "done"}})}, "errors[\"com.acme.Error.X\"].as", "must be one of"},
	{"health by a number", []change{svc("health", object{"property": "Health", "field": "0", "ok": []any{"good"}})}, "health.field", "begins with value"},
	{"health without an interface", []change{svc("interface", gone), svc("health", object{"property": "Health", "ok": []any{"good"}})}, "health.interface", "is missing"},

	// the call
	{"no method", []change{mov("call method", gone)}, "map.call", "method"},
	{"two sources of an argument", []change{mov("call args 0 value", "x")}, "map.call.args[0]", "exactly one of param"},
	{"no source of an argument", []change{mov("call args 0 param", gone)}, "map.call.args[0]", "exactly one of param"},
	{"no such parameter", []change{mov("call args 0 param", "room")}, "call.args[0].param", "no parameter of setMoveTo"},
	{"a field that is not sent", []change{mov("call args 0 param", "position.name")}, "call.args[0].param", "cannot be had"},
	{"a type that cannot carry it", []change{mov("call args 0 type", "u")}, "call.args[0].type", "cannot carry position"},
	{"a constant of another type", []change{mov("call args 1 type", "u")}, "call.args[1].value", "does not fit the type u"},
	{"a constant that is too large", []change{mov("call args 1", object{"type": "y", "value": 256})}, "call.args[1].value", "does not fit"},
	{"a negative constant", []change{mov("call args 1", object{"type": "u", "value": -1})}, "call.args[1].value", "does not fit"},
	{"a constant path that is none", []change{mov("call args 1", object{"type": "o", "value": "x"})}, "call.args[1].value", "does not fit"},
	{"a variant of what", []change{mov("call args 1 type", "v")}, "call.args[1].of", "is missing"},
	{"of beside another type", []change{mov("call args 1 of", "d")}, "call.args[1].of", "is for the type v"},
	{"fields of a text", []change{mov("call args 1", object{"type": "s", "fields": object{}})}, "call.args[1].fields", "make an a{sv}"},
	{"a dictionary without fields", []change{mov("call args 1", object{"type": "a{sv}", "value": "x"})}, "call.args[1].fields", "make an a{sv}"},
	{"values of a constant", []change{mov("call args 1 values", object{"1": 2})}, "call.args[1]", "which are for a parameter"},
	{"our id as a number", []change{mov("call args 1", object{"type": "u", "task": true})}, "call.args[1].type", "is a text, s"},
	{"a handle before the reply", []change{mov("call args 1", object{"type": "u", "handle": true})}, "call.args[1].handle", "very call"},
	{"a handle of a task that has none", byID(mov("cancel args 0", object{"type": "u", "handle": true})), "cancel.args[0].handle", "is not known"},
	{"a parameter in a cancel", []change{mov("cancel args 0", object{"type": "s", "param": "position"})}, "cancel.args[0].param", "this call has none"},
	{"a parameter that may be missing", []change{ops("setScreen executor dbus map call args 0", object{"type": "b", "param": "on"})}, "call.args[0].param", "may be left out"},
	{"a scale of a word", []change{mov("call args 0 scale", 2)}, "call.args[0].scale", "is for a number"},
	{"a scale beside a value map", []change{ops("setScreen executor dbus map call args 0 fields level", object{"type": "y", "param": "brightness", "scale": 2, "values": object{"1": 2}})}, "level.scale", "does not go with values"},
	{"a number that is too large when scaled", []change{ops("setScreen executor dbus map call args 0 fields level scale", 10)}, "fields.level.type", "holds 0 to 255"},
	{"a value map with a gap", []change{ops("setScreen executor dbus map call args 0 fields power", object{"type": "y", "param": "on", "values": object{"true": 1}})}, "fields.power.values", "no row for \"false\""},
	{"a value map to another type", []change{ops("setScreen executor dbus map call args 0 fields power", object{"type": "y", "param": "on", "values": object{"true": 1, "false": "off"}})}, "power.values.false", "does not fit"},
	{"an object path of a call", []change{mov("call path", "x/")}, "call.path", "is no object path"},

	// acceptance
	{"acceptance of nothing", []change{mov("accept", object{})}, "map.accept", "needs a match"},
	{"acceptance by another object's reply", []change{mov("accept", object{"match": object{"0": 1}, "path": "/x"})}, "map.accept", "needs a match"},
	{"a reason beside a signal", []change{mov("accept", object{"signal": "Started", "task": "0", "reason": object{"field": "1"}})}, "accept.reason", "stands in refused"},
	{"an accepting signal of whom", []change{mov("accept", object{"signal": "Started"})}, "accept.task", "is missing"},
	{"a refusing signal of whom", []change{mov("accept", object{"signal": "Started", "task": "0", "refused": object{"signal": "Denied"}})}, "accept.refused.task", "is missing"},
	{"a reason that is a number", []change{mov("accept", object{"match": object{"0": 1}, "reason": object{"value": 7}})}, "accept.reason.value", "a string is wanted"},

	// by what it is known
	{"nothing that it is known by", []change{mov("task", gone)}, "map.result[0]", "say by what the task is known"},
	{"an id that is not given", []change{mov("task", object{"by": "id"})}, "map.task.by", "no argument of the call"},
	{"a field of an id", byID(mov("task field", "0")), "map.task.field", "known by id"},
	{"a field like a property", []change{mov("task field", "value")}, "map.task.field", "number of an argument"},
	{"a slot of a handle", []change{mov("task slot", "drive")}, "map.task.slot", "known by handle"},
	{"a stop that is the only one", []change{ops("stopMovement executor dbus map task", object{"by": "single"})}, "operations.stopMovement.executor.dbus.map.task.by", "waits for nobody"},
	{"an id of the only one", single(mov("result 0", object{"signal": "Done", "task": "0", "outcome": "done"})), "result[0].task", "being the only one"},
	{"a property that ends one of many", []change{mov("result 0", object{"property": "State", "match": object{"value": 0}, "outcome": "done"})}, "result[0]", "tells of no id"},
	{"no id in a signal", []change{mov("result 0 task", gone)}, "result[0].task", "is missing"},
	{"the current one of many", []change{mov("result 0 task", "current")}, "result[0].task", "is missing"},

	// results and progress
	{"no end that is good", []change{mov("result 0 outcome", "failed")}, "map.result", "no row with the outcome done"},
	{"an end of nothing", []change{mov("result 0 signal", gone)}, "result[0]", "exactly one of signal, property and reply"},
	{"an output that is not declared", []change{mov("result 0 output", object{"steps": object{"field": "1"}})}, "result[0].output.steps", "none of what the operation declares"},
	{"a progress by the reply", []change{mov("progress 0 signal", gone), mov("progress 0 reply", true)}, "progress[0]", "exactly one of signal and property"},
	{"a percentage that is a word", []change{mov("progress 0 percent", object{"value": "half"})}, "progress[0].percent.value", "a number is wanted"},
	{"a note that is a number", []change{mov("progress 0 note", object{"value": 5})}, "progress[0].note.value", "a string is wanted"},

	// promises that the map does not keep
	{"a cancel that is not mapped", []change{mov("cancel", gone)}, "map.cancel", "says that it can cancel"},
	{"a pause that is not mapped", []change{mov("pause", gone)}, "map.pause", "says that it can pause"},
	{"a pause without a way back", []change{mov("resume", gone)}, "map.resume", "says that it can pause"},
	{"a pause that nothing confirms", []change{mov("pause confirmed", gone)}, "pause.confirmed", "is missing"},
	{"a cancel that is not promised", []change{ops("setMoveTo cancel", gone)}, "map.cancel", "does not say that it can cancel"},
	{"a confirmation of whom", []change{mov("pause confirmed task", gone)}, "pause.confirmed.task", "is missing"},
	{"a memory that nobody can ask", []change{ops("setMoveTo probe", "durable"), mov("query", gone)}, "operations.setMoveTo.probe", "must be none"},
	{"a memory by handle", []change{ops("setMoveTo probe", "volatile")}, "operations.setMoveTo.probe", "known by id"},
	{"a memory that never says unknown", byID(ops("setMoveTo probe", "durable"), mov("query errors", gone)), "operations.setMoveTo.probe", "can say unknown"},
	{"a memory of the only one", single(ops("setMoveTo probe", "volatile"), mov("query", object{"property": "State", "states": object{"1": "running", "0": "unknown"}})), "operations.setMoveTo.probe", "known by id"},
	{"a query of nothing", []change{mov("query method", gone)}, "map.query", "exactly one of method and property"},
	{"a query without the task", []change{mov("query args", gone)}, "map.query", "names no task"},
	{"a query for what has ended", []change{ops("stopMovement executor dbus map query", object{"property": "State", "states": object{"1": "running"}})}, "stopMovement.executor.dbus.map.query", "ended with its reply"},
	{"a query that never says running", []change{mov("query states", object{"OK": "done"})}, "query.states", "no row that says running"},
	{"an end that names no task", single(mov("query", object{"property": "State", "states": object{"1": "running", "0": "done"}})), "query.states", "names no task"},
	{"a state that is none", []change{mov("query states RUN", "busy")}, "query.states.RUN", "must be one of"},
	{"a query's field", []change{mov("query field", "value")}, "query.field", "number of an argument"},
	{"a query's output", []change{mov("query output", object{"steps": object{"field": "0"}})}, "query.output.steps", "none of what the operation declares"},
	{"rooms read in two ways", []change{svc("rooms", object{"method": "Rooms", "property": "Rooms", "id": "0", "name": "1"})}, "rooms", "exactly one of property and method"},
	{"rooms read in no way", []change{svc("rooms", object{"id": "0", "name": "1"})}, "rooms", "exactly one of property and method"},
	{"rooms at no place", []change{svc("rooms", object{"method": "Rooms", "field": "value", "id": "0", "name": "1"})}, "rooms.field", "number of an argument"},
	{"rooms with an interface that is none", []change{svc("rooms", object{"method": "Rooms", "interface": "x", "id": "0", "name": "1"})}, "rooms.interface", "is no interface"},
	{"rooms of two services", []change{svc("rooms", object{"method": "Rooms", "id": "0", "name": "1"}),
		{opsFile, "services lamp rooms", object{"method": "Rooms", "id": "0", "name": "1"}}}, "rooms", "one service has the map"},
	{"rooms whose signal has a bad match", []change{svc("rooms", object{"method": "Rooms", "id": "0", "name": "1", "signals": []any{object{"signal": "Changed", "match": object{"value": 1}}}})},
		"rooms.signals[0].match.value", "number of an argument"},
	{"a query's reason", []change{mov("query reason", object{"value": 4})}, "query.reason.value", "a string is wanted"},
}

func TestBrokenMappings(t *testing.T) {
	for _, row := range brokenMaps {
		t.Run(row.name, func(t *testing.T) {
			mustFind(t, edited(t, append(vendor(t), row.changes...)...), row.path, row.words)
		})
	}
}

// A service that is wrong is disabled with the operations that it carries out, and the rest runs.
func TestLenientDisablesAMappedService(t *testing.T) {
	c, _, faults, err := LoadLenient(edited(t, append(vendor(t), svc("path", "x"))...))
	if err != nil || len(faults) == 0 {
		t.Fatalf("%v, %v", err, faults)
	}
	if _, ok := c.Operations["setMoveTo"]; ok || len(c.Services) != 1 || c.Operations["setScreen"].Method == "" {
		t.Errorf("services %v, setMoveTo %v", c.Services, ok)
	}
}
