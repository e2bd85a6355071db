package catalogfile

import (
	"errors"
	"io/fs"
	"testing"
)

const (
	opsFile = "operations.json"
	effFile = "effects.json"
)

func ops(at string, to any) change { return change{opsFile, "operations " + at, to} }
func eff(at string, to any) change { return change{effFile, "effects " + at, to} }

// Each row breaks the default files in one way and names the fault that must be found.
var broken = []struct {
	name    string
	changes []change
	path    string
	words   string
}{
	// shape, found by the schema
	{"unknown member", []change{ops("setMoveTo ack_m", 1)}, "operations.setMoveTo.ack_m", "no name that is known"},
	{"missing member", []change{ops("setMoveTo redo", gone)}, "operations.setMoveTo", "redo"},
	{"wrong type", []change{ops("setMoveTo ack_ms", "3 s")}, "operations.setMoveTo.ack_ms", "want integer"},
	{"unknown word", []change{ops("setMoveTo redo", "always")}, "operations.setMoveTo.redo", "must be one of"},
	{"entry without a name", []change{ops("setMoveTo taskMethod", gone)}, "operations[0]", "taskMethod"},
	{"unknown section", []change{{"tokens.json", "token", object{}}}, "token", "no name that is known"},
	{"missing section", []change{{"rooms.json", "rooms", gone}}, "", "rooms"},
	{"expression with two forms", []change{eff("movement_stopped terminal_evidence event", "movement.stopped")}, "terminal_evidence", "maxProperties"},
	{"expression with a misspelt member", []change{eff("air_cleaning_completed terminal_evidence mach", object{"mode": "all"})}, "terminal_evidence.mach", "known"},
	{"token name", []change{{"tokens.json", "tokens move", "setMoveTo"}}, "tokens.move", "no name that is known or allowed"},
	{"guard of something else", []change{{opsFile, "guards heat", object{"return_at": 1, "go_on_at": 2}}}, "guards.heat", "no name that is known"},
	{"guard that lets go where it holds", []change{{opsFile, "guards battery go_on_at", 12}}, "guards.battery.return_at", "only above where it is held"},
	{"guard beyond all percents", []change{{opsFile, "guards battery go_on_at", 101}}, "guards.battery.go_on_at", "100"},
	{"guard without its plan", []change{{opsFile, "standing return", gone}}, "guards.battery", "needs the standing plan return"},
	{"guard over a value that proves nothing", []change{{"context.json", "context battery.charging class", "same_path"}}, "guards.battery", "independent boolean"},
	{"guard over a value of another type", []change{{"context.json", "context battery.charging type", "number"}}, "guards.battery", "independent boolean"},
	{"same operation twice", []change{ops("+", object{"taskMethod": "getConfig", "capability": "device", "kind": "settings", "params": object{}, "redo": "never", "probe": "none",
		"ack_ms": 1, "evidence_timeout_ms": 1, "executor": object{"kind": "socket", "name": "home"}})}, "operations.getConfig", "given twice"},
	{"placeholder of a sentence", []change{{plannerFile, "reasons robot_fault ko", "{stepp}: 이상"}}, "reasons.robot_fault", "{stepp} is none of"},

	// programs
	{"process without a program", []change{ops("setScreen executor kind", "process")}, "operations.setScreen.executor.process", "is missing"},
	{"program of another kind", []change{ops("setScreen executor process", object{"argv": []any{"/bin/x"}})}, "executor.process", "this is kind socket"},
	{"program without a path", []change{ops("setScreen executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"lamp"}}})}, "process.argv", "full path"},
	{"program chosen by an argument", []change{ops("setScreen executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/{on}"}}})}, "process.argv", "full path"},
	{"argument of no parameter", []change{ops("setMoveTo executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/x", "{room_id}"}}})}, "argv[1]", "no parameter"},
	{"argument that may be missing", []change{ops("setScreen executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/x", "{brightness}"}}})}, "argv[1]", "may be left out"},
	{"brace without a name", []change{ops("setMoveTo executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/x", "a}b"}}})}, "argv[1]", "brace"},
	{"exit code", []change{ops("setScreen executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/x"}, "exit": object{"256": "done"}}})}, "process.exit.256", "0 to 255"},
	{"variable", []change{ops("setScreen executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/x"}, "env": object{"A=B": "c"}}})}, "process.env", "no name"},
	{"key of a program", []change{ops("setScreen executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/x"}, "keys": []any{"lamp.level"}}})}, "process.keys", "does not exist"},
	{"program that pauses", []change{ops("setMoveTo executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/x"}}})}, "operations.setMoveTo.pause", "cannot pause"},

	// services on a bus
	{"dbus without a place", []change{ops("setScreen executor kind", "dbus")}, "operations.setScreen.executor.dbus", "is missing"},
	{"place of another kind", []change{ops("setScreen executor dbus", object{"service": "com.example.X", "path": "/x"})}, "executor.dbus", "this is kind socket"},
	{"bus name", []change{ops("setScreen executor", object{"kind": "dbus", "name": "x", "dbus": object{"service": "mover", "path": "/x"}})}, "dbus.service", "well-known name"},
	{"object path", []change{ops("setScreen executor", object{"kind": "dbus", "name": "x", "dbus": object{"service": "com.example.X", "path": "x/"}})}, "dbus.path", "object path"},
	{"key of a service", []change{ops("setScreen executor", object{"kind": "dbus", "name": "x", "dbus": object{"service": "com.example.X", "path": "/x", "keys": []any{"lamp.level"}}})}, "dbus.keys", "does not exist"},
	{"two places of one service", []change{ops("setScreen executor", object{"kind": "dbus", "name": "x", "dbus": object{"service": "com.example.X", "path": "/x"}}),
		ops("setVolume executor", object{"kind": "dbus", "name": "x", "dbus": object{"service": "com.example.Y", "path": "/x"}})}, "executor.dbus", "of the same service"},

	// services of the executor socket
	{"bounds of another kind", []change{ops("setScreen executor", object{"kind": "process", "name": "x", "process": object{"argv": []any{"/bin/x"}}, "socket": object{"user": "x"}})}, "executor.socket", "this is kind process"},
	{"bounds that say nothing", []change{ops("setScreen executor socket", object{})}, "setScreen.executor.socket", "minProperties"},
	{"user of a service", []change{ops("setScreen executor socket", object{"user": "a b"})}, "executor.socket.user", "no name of a user"},
	{"event of a service", []change{ops("setScreen executor socket", object{"events": []any{"lamp.broke"}})}, "executor.socket.events", "does not exist"},

	// references between entries
	{"resource", []change{ops("setMoveTo resources 0", "wheels")}, "operations.setMoveTo.resources", "\"wheels\" does not exist"},
	{"stopped resource", []change{ops("stopTts stops 0", "wheels")}, "operations.stopTts.stops", "does not exist"},
	{"effect", []change{ops("setMoveTo effects 0", "arrived")}, "operations.setMoveTo.effects", "\"arrived\" does not exist"},
	{"optional effect", []change{ops("startBasicAirClear optional_effects 0", "clean_air")}, "startBasicAirClear.optional_effects", "does not exist"},
	{"release event", []change{ops("startBasicAirClear release_event", "cleaning.begun")}, "startBasicAirClear.release_event", "does not exist"},
	{"resource of a variant", []change{ops("startBasicAirClear variants 0 resources 1", "wheels")}, "variants[0].resources", "does not exist"},
	{"effect of a variant", []change{ops("setVolume variants 0 effects 0", "silence")}, "variants[0].effects", "does not exist"},
	{"event of an effect", []change{eff("movement_stopped terminal_evidence any 0 event", "movement.halted")}, "effects.movement_stopped.terminal_evidence.any[0].event", "does not exist"},
	{"context key of an effect", []change{eff("movement_stopped terminal_evidence any 1 context", "movement.moving")}, "any[1].context", "does not exist"},
	{"contradicting event", []change{eff("station_docked contradicted_by 0 event", "movement.broken")}, "contradicted_by[0].event", "does not exist"},
	{"effect without a provider", []change{ops("setNightMode variants 0 effects", gone)}, "effects.night_mode_applied", "no provider"},
	{"token of no operation", []change{{"tokens.json", "tokens sk_move", "moveTo"}}, "tokens.sk_move", "does not exist"},
	{"skill of no effect", []change{{"skills.json", "skills rest_guidance effects 0", "rested"}}, "skills.rest_guidance.effects", "does not exist"},
	{"resource of an event", []change{{"events.json", "events movement.arrived resource", "wheels"}}, "events[\"movement.arrived\"].resource", "does not exist"},
	{"stop of a resource", []change{{"resources.json", "resources speaker stop", "hush"}}, "resources.speaker.stop", "does not exist"},
	{"voice of no operation", []change{{opsFile, "voice say", "speak"}}, "voice.say", "\"speak\" does not exist"},
	{"voice that takes no text", []change{{opsFile, "voice say", "stopCleaning"}}, "voice.say", "takes no text"},
	{"voice that cannot be silenced", []change{ops("setLlmTts cancel", gone)}, "voice.say", "cannot be cancelled"},
	{"voice that needs more than a text", []change{ops("setLlmTts params last required", true)}, "voice.say", "requires last"},
	{"voice that drives", []change{{opsFile, "voice show", "setMoving"}}, "voice.show", "moves the body"},
	{"hush that silences nothing", []change{{opsFile, "voice hush", "stopCleaning"}}, "voice.hush", "does not stop what the voice uses"},
	{"screen that waits", []change{{opsFile, "voice show", "setLlmTts"}}, "voice.show", "uses a resource"},
	{"a stop that stops something else", []change{{"resources.json", "resources speaker stop", "stopCleaning"}}, "resources.speaker.stop", "does not stop speaker"},

	// types of references
	{"event field of an effect", []change{eff("reduced_visual_stimulation terminal_evidence any 0 match", object{"lit": false})}, "any[0].match", "no field \"lit\""},
	{"type of an event field", []change{eff("reduced_visual_stimulation terminal_evidence any 0 match on", "off")}, "any[0].match.on", "must be a boolean"},
	{"type of a context value", []change{eff("movement_stopped holds value", "no")}, "effects.movement_stopped.holds.value", "is a string"},
	{"order of words", []change{eff("air_quality_reported terminal_evidence any 1", object{"context": "air.grade", "op": "ge", "value": 1})}, "any[1].value", "compares numbers"},
	{"value outside the enum", []change{eff("air_quality_reported terminal_evidence any 1", object{"context": "air.grade", "op": "eq", "value": "awful"})}, "any[1].value", "is none of"},
	{"op without a value", []change{eff("movement_stopped holds value", gone)}, "holds.value", "is missing"},
	{"event with an op", []change{eff("air_cleaning_completed terminal_evidence op", "eq")}, "terminal_evidence", "belong to a context key"},
	{"context with a match", []change{eff("movement_stopped holds match", object{"room_id": "x"})}, "holds", "belong to an event"},
	{"leaf with event and context", []change{eff("movement_stopped holds event", "movement.stopped")}, "holds", "give one"},
	{"order of a reference to words", []change{eff("target_location_reached holds all 0 op", "lt")}, "all[0].op", "one of eq, ne"},
	{"$-reference to no parameter", []change{eff("station_docked terminal_evidence any 1", object{"context": "movement.location", "op": "eq", "value": "$dock"})}, "operations.returnToStation.effects", "no parameter \"dock\""},
	{"$-reference to no field of a room", []change{eff("target_location_reached holds all 0 value", "$position.floor")}, "operations.setMoveTo.effects", "room_id and name"},
	{"$-reference to a whole room", []change{eff("target_location_reached holds all 0 value", "$position")}, "operations.setMoveTo.effects", "room_id and name"},
	{"$-reference into a number", []change{ops("setScreen variants 1 done_evidence any 1 value", "$brightness.level")}, "variants[1].done_evidence", "without fields"},
	{"$-reference of another type", []change{ops("setScreen done_evidence any 0 match on", "$brightness")}, "operations.setScreen.done_evidence", "compares $brightness, a number, with a boolean"},
	{"$-reference of a skill's effect", []change{{effFile, "effects content_session_started terminal_evidence all 1 match first", "$first"}}, "skills.content_session.effects", "declares no parameters"},
	{"variant over no parameter", []change{ops("setNightMode variants 0 when ref", "params.off")}, "variants[0].when.ref", "not known"},
	{"variant over a value of another type", []change{ops("setNightMode variants 0 when value", "yes")}, "variants[0].when.value", "is a string"},
	{"variant over a value outside the enum", []change{ops("startBasicAirClear variants 0 when value 0", "every")}, "variants[0].when", "is none of"},
	{"prerequisite over no context", []change{ops("setMoveTo prerequisites ref", "ctx.battery.charge")}, "prerequisites.ref", "not known"},
	{"prerequisite over an argument", []change{ops("setMoveTo prerequisites ref", "params.position")}, "prerequisites.ref", "not known"},
	{"prerequisite outside the enum", []change{ops("setMoveTo prerequisites", object{"ref": "ctx.safety.state", "op": "eq", "value": "fine"})}, "setMoveTo.prerequisites", "is none of"},
	{"prerequisite of a variant", []change{ops("startBasicAirClear variants 0 prerequisites ref", "ctx.nothing")}, "variants[0].prerequisites.ref", "not known"},

	// parameters
	{"default outside the limits", []change{ops("startBasicAirClear params duration_min default", 0)}, "params.duration_min.default", "from 1 to 180"},
	{"default outside the enum", []change{ops("startBasicAirClear params mode default", "some")}, "params.mode.default", "one of fixed, all, zone"},
	{"default and required", []change{ops("startBasicAirClear params mode required", true)}, "params.mode.required", "leave one of them out"},
	{"enum of another type", []change{ops("startBasicAirClear params mode enum 0", 1)}, "params.mode.enum[0]", "the type is string"},
	{"limits of a word", []change{ops("setLlmTts params text minimum", 1)}, "params.text", "cannot have"},
	{"minimum above maximum", []change{ops("setVolume params level minimum", 101)}, "params.level.minimum", "above the maximum"},
	{"alias of two parameters", []change{ops("setVolume params level aliases", []any{"mute"})}, "params.level.aliases", "already names"},
	{"at least one of no parameter", []change{ops("setVolume at_least_one 0", "loudness")}, "at_least_one", "does not exist"},
	{"a sentence as an alias", []change{ops("setMoveTo aliases ko 0", "거실로 좀 빨리 가 줘")}, "aliases", "never sentences"},

	// times
	{"no ack deadline", []change{ops("setMoveTo ack_ms", 0)}, "ack_ms", "positive"},
	{"no evidence timeout", []change{ops("setMoveTo evidence_timeout_ms", 0)}, "evidence_timeout_ms", "positive"},
	{"no timeout", []change{ops("setMoveTo timeout", gone)}, "operations.setMoveTo.timeout", "only a human_paced"},
	{"no bound on a pause", []change{ops("setMoveTo pause_ms", gone)}, "pause_ms", "is missing"},
	{"no bound on a stop", []change{ops("setMoveTo stop_ms", gone)}, "stop_ms", "is missing"},
	{"duration by no parameter", []change{ops("startBasicAirClear timeout per", "minutes")}, "timeout.per", "no parameter"},
	{"duration by a word", []change{ops("startBasicAirClear timeout per", "mode")}, "timeout.per", "number only"},
	{"duration by what may be absent", []change{ops("startBasicAirClear params duration_min default", gone)}, "timeout.per", "may be absent"},
	{"duration without per", []change{ops("setMoveTo timeout", object{"ms": 5})}, "setMoveTo.timeout", "without per"},

	// evidence
	{"holds on an event", []change{eff("movement_stopped holds", object{"event": "movement.stopped"})}, "movement_stopped.holds", "context values only"},
	{"at rest on an event", []change{{"resources.json", "resources base at_rest", object{"event": "movement.stopped"}}}, "resources.base.at_rest", "context values only"},
	{"at rest on an argument", []change{{"resources.json", "resources base at_rest", object{"context": "movement.location", "op": "eq", "value": "$position.room_id"}}}, "resources.base.at_rest", "knows no arguments"},
	{"accepting an echo", []change{eff("night_mode_applied confidence_policy accept 0", "echo")}, "confidence_policy.accept[0]", "must be one of"},
	{"a signal that can never count", []change{{"events.json", "events cleaning.completed class", "same_path"}}, "effects.air_cleaning_completed.terminal_evidence", "does not accept"},
	{"a done signal that can never count", []change{{"context.json", "context mode.night class", "echo"}}, "operations.setNightMode.done_evidence", "does not accept"},
	{"done evidence without a policy", []change{ops("setNightMode done_confidence", gone)}, "done_confidence.accept", "is empty"},

	// what keeps people safe
	{"a body that cannot be stopped", []change{{"resources.json", "resources base stop", gone}}, "operations.setMoveTo.resources", "must be stoppable"},
	{"a part of the body without a stop", []change{{"resources.json", "resources base stop", gone}}, "resources.base.stop", "is missing"},
	{"a body that cannot be seen to rest", []change{{"resources.json", "resources base at_rest", gone}}, "operations.setMoveTo.resources", "no at_rest"},
	{"a variant with a resource that cannot be seen to rest", []change{{"resources.json", "resources cleaner at_rest", gone}}, "operations.startBasicAirClear.variants[0].resources", "no at_rest"},
	{"a motion without the body", []change{ops("setMoveTo resources 0", "cleaner")}, "operations.setMoveTo.resources", "two motions could overlap"},
	{"a motion repeated at any time", []change{ops("setMoveTo redo", "anytime")}, "operations.setMoveTo.redo", "after_stop or never"},
	{"a moving variant repeated at any time", []change{ops("startBasicAirClear redo", "anytime")}, "operations.startBasicAirClear.redo", "after_stop or never"},
	{"a motion proven by a reply", []change{eff("target_location_reached confidence_policy accept", []any{"independent", "same_path"})},
		"operations.setMoveTo.effects", "target_location_reached accepts more than independent"},
	{"an optional effect of a motion proven by a reply", []change{eff("air_cleaning_completed confidence_policy accept", []any{"independent", "same_path"})},
		"operations.startBasicAirClear.variants[0].effects", "air_cleaning_completed accepts more"},
	{"a motion without proof", []change{ops("setMoving done_evidence", gone), ops("setMoving done_confidence", gone)}, "operations.setMoving.done_evidence", "not by a reply"},
	{"a motion done by a reply", []change{ops("setMoving done_confidence accept", []any{"independent", "same_path"})}, "operations.setMoving.done_confidence", "not enough"},
	{"a motion and no standing stop", []change{{opsFile, "standing stop", gone}}, "operations.setMoveTo.moves_body", "needs the standing plan stop"},
	{"a standing stop that leaves the body", []change{{opsFile, "standing stop 0 taskMethod", "stopCleaning"}}, "standing.stop", "does not stop base"},
	{"a standing stop that waits", []change{{opsFile, "standing stop 0 taskMethod", "returnToStation"}}, "standing.stop[0]", "no stop operation"},
	{"a standing plan of no method", []change{{opsFile, "standing return 0 taskMethod", "goHome"}}, "standing.return[0]", "no method"},
	{"a standing plan with wrong arguments", []change{{opsFile, "standing return 0 params", object{"speed": 1}}}, "standing.return[0].params.speed", "no parameter"},
	{"a stop that takes a resource", []change{ops("stopMovement resources", []any{"base"})}, "operations.stopMovement.stops", "takes no resource"},
	{"a stop that is not always allowed", []change{ops("stopMovement redo", "never")}, "operations.stopMovement.redo", "at any time"},
	{"a stop that moves", []change{ops("stopMovement moves_body", true)}, "operations.stopMovement.moves_body", "does not move"},
	{"a reader that moves", []change{ops("getAirQuality resources", []any{"cleaner"})}, "operations.getAirQuality.read_only", "takes no resource"},
	{"sensitive without consent", []change{ops("startVitalSign consent", gone)}, "operations.startVitalSign.consent", "needs the person's consent"},
	{"sensitive and not human paced", []change{ops("startVitalSign human_paced", gone)}, "operations.startVitalSign.human_paced", "must be true"},

	// rooms
	{"a name of two rooms", []change{{"rooms.json", "rooms kitchen aliases 0", "거 실"}}, "rooms.kitchen.aliases", "already means the room living_room"},
	{"the same room twice", []change{{"rooms.json", "rooms +", object{"id": "kitchen", "name": "둘째 주방"}}}, "rooms.kitchen", "given twice"},
	{"a name without a letter", []change{{"rooms.json", "rooms kitchen aliases 0", "- '"}}, "rooms.kitchen.aliases", "no letter"},
}

// Whatever is broken, Load says so with the place; the lenient catalog has no fault left, or there is none.
func TestBroken(t *testing.T) {
	for _, tc := range broken {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			mustFind(t, edited(t, tc.changes...), tc.path, tc.words)
		})
	}
}

// mustFind wants the fault to be found, and each fault to have its line; what is left by the lenient way has none.
func mustFind(t *testing.T, fsys fs.FS, path, words string) {
	t.Helper()
	_, _, err := Load(fsys)
	all, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("loaded, error %v", err)
	}
	wantFault(t, all.Faults, path, words)
	for _, fault := range all.Faults {
		if fault.Line == 0 {
			t.Errorf("no line: %s", fault)
		}
	}
	c, _, warnings, err := LoadLenient(fsys)
	if err != nil {
		return
	}
	wantFault(t, warnings, path, words)
	if faults := c.Check(); len(faults) > 0 {
		t.Fatalf("the lenient catalog still has %v", faults)
	}
}
