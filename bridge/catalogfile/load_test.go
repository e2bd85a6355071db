package catalogfile

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func mustLoad(t *testing.T, fsys fs.FS) (*catalog.Catalog, Planner) {
	t.Helper()
	c, p, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

func TestDefaultFiles(t *testing.T) {
	c, p := mustLoad(t, defaults.Files)
	if len(c.Effects) != 15 {
		t.Errorf("%d effects, want 15", len(c.Effects))
	}
	capabilities := map[string]bool{}
	for _, op := range c.Operations {
		if len(op.AllEffects()) > 0 {
			capabilities[op.Capability] = true
		}
	}
	if len(capabilities) != 10 {
		t.Errorf("capability providers %v, want 10", slices.Sorted(maps.Keys(capabilities)))
	}
	if len(c.Skills) != 3 {
		t.Errorf("%d skill providers, want 3", len(c.Skills))
	}
	if len(p.Unsupported) == 0 || len(p.QnATopics) == 0 || len(p.Identity.Ko) == 0 || len(p.Identity.En) == 0 || len(p.Hints) == 0 || len(p.RouterHints) == 0 {
		t.Errorf("an empty part in %+v", p)
	}
	for code, s := range p.Reasons {
		if s.Ko == "" || s.En == "" || strings.Contains(s.Ko, "{choice}") != strings.Contains(s.En, "{choice}") {
			t.Errorf("the sentences of %s do not say the same: %q, %q", code, s.Ko, s.En)
		}
	}
}

// What the body does is bounded and guarded in the files as the contract says.
func TestDefaultGuards(t *testing.T) {
	c, _ := mustLoad(t, defaults.Files)
	for _, tc := range []struct {
		method  catalog.Method
		params  map[string]any
		guarded bool
		moves   bool
		want    []catalog.EffectID
		uses    []catalog.ResourceID
	}{
		{"setMoveTo", map[string]any{"room": "부엌"}, true, true, []catalog.EffectID{"target_location_reached"}, []catalog.ResourceID{"base"}},
		{"returnToStation", nil, false, true, []catalog.EffectID{"station_docked"}, []catalog.ResourceID{"base"}},
		{"startBasicAirClear", nil, false, false, []catalog.EffectID{"air_cleaning_active"}, []catalog.ResourceID{"cleaner"}},
		{"startBasicAirClear", map[string]any{"mode": "zone"}, true, true, []catalog.EffectID{"air_cleaning_active"}, []catalog.ResourceID{"cleaner", "base"}},
		{"setScreen", map[string]any{"on": false}, false, false, []catalog.EffectID{"reduced_visual_stimulation"}, []catalog.ResourceID{"screen"}},
		{"setScreen", map[string]any{"brightness": 30.0}, false, false, []catalog.EffectID{"reduced_visual_stimulation"}, []catalog.ResourceID{"screen"}},
		{"setScreen", map[string]any{"brightness": 31.0}, false, false, nil, []catalog.ResourceID{"screen"}},
		{"setScreen", map[string]any{"on": true}, false, false, nil, []catalog.ResourceID{"screen"}},
		{"setVolume", map[string]any{"mute": true}, false, false, []catalog.EffectID{"quiet_environment"}, []catalog.ResourceID{"volume"}},
		{"setVolume", map[string]any{"level": 20.0}, false, false, []catalog.EffectID{"quiet_environment"}, []catalog.ResourceID{"volume"}},
		{"setVolume", map[string]any{"level": 21.0, "mute": false}, false, false, nil, []catalog.ResourceID{"volume"}},
		{"setNightMode", map[string]any{"on": true}, false, false, []catalog.EffectID{"night_mode_applied"}, []catalog.ResourceID{"screen", "volume"}},
		{"setNightMode", map[string]any{"on": false}, false, false, nil, []catalog.ResourceID{"screen", "volume"}},
		{"setMannerMode", map[string]any{"on": true}, false, false, []catalog.EffectID{"quiet_environment"}, []catalog.ResourceID{"volume"}},
		{"setMannerMode", map[string]any{"on": false}, false, false, nil, []catalog.ResourceID{"volume"}},
	} {
		t.Run(fmt.Sprint(tc.method, tc.params), func(t *testing.T) {
			r, faults := c.Resolve(tc.method, tc.params)
			op := r.Operation
			if len(faults) > 0 || !slices.Equal(op.Effects, tc.want) || !slices.Equal(op.Resources, tc.uses) || op.MovesBody != tc.moves {
				t.Fatalf("effects %v, resources %v, moves %v, faults %v", op.Effects, op.Resources, op.MovesBody, faults)
			}
			if guarded := op.Prerequisites != nil && op.Prerequisites.Ref == "ctx.battery.level" && op.Prerequisites.Value == 20.0; guarded != tc.guarded {
				t.Errorf("battery guard %v, want %v", guarded, tc.guarded)
			}
			if len(op.Effects) == 0 && op.DoneEvidence == nil {
				t.Errorf("neither an effect nor done evidence")
			}
			if op.MovesBody && op.MinTier != catalog.TierFull {
				t.Errorf("tier %q, want full for what moves the body", op.MinTier)
			}
		})
	}
}

// The etags name the content, not the layout. A change of them is meant to be seen: every planner notices it.
func TestEtagGolden(t *testing.T) {
	c, _ := mustLoad(t, defaults.Files)
	got := "catalog " + c.Etag + "\nrooms " + c.RoomsEtag + "\n"
	if *update {
		if err := os.WriteFile("testdata/etags.golden", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/etags.golden")
	if err != nil || got != string(want) {
		t.Fatalf("etags\n%swant\n%s(%v; -update rewrites)", got, want, err)
	}
}

func TestEtagIgnoresOrderAndLayout(t *testing.T) {
	c, _ := mustLoad(t, defaults.Files)
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 0))
		fsys := fstest.MapFS{}
		for _, f := range files {
			data, _ := fs.ReadFile(defaults.Files, f.name)
			var root map[string]any
			if err := json.Unmarshal(data, &root); err != nil {
				t.Fatal(err)
			}
			for _, value := range root {
				if list, ok := value.([]any); ok {
					random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				}
			}
			data, _ = json.Marshal(root) // one line, keys sorted
			fsys[f.name] = &fstest.MapFile{Data: data}
		}
		other, _, err := Load(fsys)
		if err != nil || other.Etag != c.Etag || other.RoomsEtag != c.RoomsEtag {
			t.Fatalf("seed %d: the order changed the etags: %v", seed, err)
		}
	}
}

func TestEtagSeesContent(t *testing.T) {
	c, _ := mustLoad(t, defaults.Files)
	for _, tc := range []struct {
		name           string
		change         change
		catalog, rooms bool // which etag changes
	}{
		{"an operation", ops("setMoveTo ack_ms", 3001), true, false},
		{"an effect", eff("movement_stopped holds stable_for_ms", 1001), true, false},
		{"a context key", change{"context.json", "context air.pm25 max_age_ms", 1}, true, false},
		{"a standing plan", change{opsFile, "standing return 0", gone}, true, false},
		{"a room", change{"rooms.json", "rooms kitchen name", "큰 주방"}, false, true},
		{"a sentence that the device says", change{plannerFile, "reasons robot_fault ko", "이상"}, true, false},
		{"a question", change{plannerFile, "questions option_yes ko", "그래"}, true, false},
		{"a hint for the planner", change{plannerFile, "router_hints STM when", "never"}, false, false},
		{"the editor's schema", change{opsFile, "$schema", "elsewhere"}, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			other, _ := mustLoad(t, edited(t, tc.change))
			if (other.Etag != c.Etag) != tc.catalog || (other.RoomsEtag != c.RoomsEtag) != tc.rooms {
				t.Fatalf("catalog etag changed %v, rooms etag changed %v; want %v, %v", other.Etag != c.Etag, other.RoomsEtag != c.RoomsEtag, tc.catalog, tc.rooms)
			}
		})
	}
}

func TestUnreadable(t *testing.T) {
	for _, tc := range []struct {
		name   string
		data   string // "" takes the file away
		line   int
		column int
		words  string
	}{
		{"no file", "", 0, 0, "cannot be opened"},
		{"empty", " \n", 2, 0, "ends in the middle"},
		{"cut off", "{\n \"tokens\": {", 2, 12, "ends in the middle"},
		{"a comma too many", "{\"tokens\": {\n  \"sk_move\": \"setMoveTo\",\n}}", 3, 1, "invalid character '}'"},
		{"two values", "{}\n{}", 2, 1, "more than one"},
		{"rubbish behind", "{}\n]", 2, 1, "not JSON"},
		{"no UTF-8", "{\"tokens\": \"\xff\"}", 0, 0, "UTF-8"},
		{"too deep", strings.Repeat("[", 40) + strings.Repeat("]", 40), 1, 0, "deeper than"},
		{"too large", "{\"tokens\": \"" + strings.Repeat("x", MaxBytes) + "\"}", 0, 0, "larger than"},
		{"a number out of range", "{\"tokens\": 1e999}", 1, 0, "out of the range"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fsys := edited(t)
			delete(fsys, "tokens.json")
			if tc.data != "" {
				fsys["tokens.json"] = &fstest.MapFile{Data: []byte(tc.data)}
			}
			_, _, err := Load(fsys)
			all, ok := errors.AsType[*Error](err)
			if !ok || len(all.Faults) != 1 {
				t.Fatalf("error %v, want exactly one fault", err)
			}
			f := all.Faults[0]
			if f.File != "tokens.json" || !strings.Contains(f.Message, tc.words) || f.Line != tc.line || tc.column > 0 && f.Column != tc.column {
				t.Errorf("fault %q, want %q at %d:%d", f, tc.words, tc.line, tc.column)
			}
			if _, _, _, err := LoadLenient(fsys); err == nil {
				t.Errorf("loaded leniently, although a file cannot be read")
			}
		})
	}
}

func TestEveryFaultAtOnce(t *testing.T) {
	fsys := edited(t,
		ops("setMoveTo redo", "always"), ops("setVolume params level maximum", -1), ops("getConfig ack_ms", 0),
		eff("movement_stopped terminal_evidence any 0 event", "movement.halted"), change{"rooms.json", "rooms kitchen name", 7})
	_, _, err := Load(fsys)
	all, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	for path, words := range map[string]string{
		"operations.setMoveTo.redo": "must be one of", "params.level.minimum": "above the maximum", "operations.getConfig.ack_ms": "positive",
		"any[0].event": "does not exist", "rooms.kitchen.name": "want string",
	} {
		wantFault(t, all.Faults, path, words)
	}
	if len(all.Faults) != 5 {
		t.Errorf("%d faults, want 5 and none that only follows:\n%v", len(all.Faults), err)
	}
}

// A damaged file must not make a report that is larger than itself.
func TestFaultsAreBounded(t *testing.T) {
	fsys := edited(t)
	fsys[opsFile] = &fstest.MapFile{Data: []byte(`{"operations": [` + strings.Repeat("{},", 1000) + `{}]}`)}
	_, _, err := Load(fsys)
	if err == nil || len(err.Error()) > 100_000 || !strings.Contains(err.Error(), "more than 200 faults") {
		t.Fatalf("error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestLines(t *testing.T) {
	fsys := edited(t)
	data := string(fsys[opsFile].Data)
	line := 1 + strings.Count(data[:strings.Index(data, `"timeout": {"plus": 180000}`)], "\n")
	fsys[opsFile] = &fstest.MapFile{Data: []byte(strings.Replace(data, `"timeout": {"plus": 180000}`, `"timeout": {"per": "speed"}`, 1))}
	_, _, err := Load(fsys)
	if want := fmt.Sprintf("operations.json:%d: operations.setMoveTo.timeout.per: \"speed\" is no parameter", line); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want %q", err, want)
	}
}

func TestKeyTwice(t *testing.T) {
	fsys := edited(t)
	data := string(fsys["tokens.json"].Data)
	fsys["tokens.json"] = &fstest.MapFile{Data: []byte(strings.Replace(data, `"sk_move": "setMoveTo"`, `"sk_move": "setMoveTo", "sk_move": "returnToStation"`, 1))}
	_, _, err := Load(fsys)
	if err == nil || !strings.Contains(err.Error(), "tokens.sk_move: is given twice, first in line 4") {
		t.Fatalf("error %v", err)
	}
	c, _, warnings, err := LoadLenient(fsys)
	if err != nil || len(warnings) != 1 || c.Tokens["sk_move"] != "" || len(c.Tokens) != 11 {
		t.Fatalf("tokens %v, warnings %v, error %v", c.Tokens, warnings, err)
	}
}

func TestLenientDisablesWhatDepends(t *testing.T) {
	c, p, warnings, err := LoadLenient(edited(t,
		ops("returnToStation redo", "always"), // its effect has no provider then, its token no operation, the standing plan no step, the guard no plan
		change{plannerFile, "reasons robot_fault", 5}))
	if err != nil {
		t.Fatal(err)
	}
	_, op := c.Operations["returnToStation"]
	_, effect := c.Effects["station_docked"]
	_, token := c.Tokens["sk_station"]
	_, standing := c.Standing["return"]
	_, reason := p.Reasons["robot_fault"]
	_, guard := c.Guards["battery"]
	if op || effect || token || standing || reason || guard {
		t.Errorf("left: operation %v, effect %v, token %v, standing plan %v, reason %v, guard %v", op, effect, token, standing, reason, guard)
	}
	if len(c.Operations) != 21 || len(c.Effects) != 14 || len(c.Tokens) != 11 || len(c.Standing) != 1 || len(warnings) != 6 {
		t.Errorf("more than that was disabled: %v", warnings)
	}
	whole, _ := mustLoad(t, defaults.Files)
	if c.Etag == whole.Etag {
		t.Errorf("the etag does not tell that entries are disabled")
	}
}

func TestLenientWithoutFaults(t *testing.T) {
	whole, planner := mustLoad(t, defaults.Files)
	c, p, warnings, err := LoadLenient(defaults.Files)
	if err != nil || len(warnings) > 0 || !reflect.DeepEqual(c, whole) || !reflect.DeepEqual(p, planner) {
		t.Fatalf("differs from Load: warnings %v, error %v", warnings, err)
	}
}

func TestLenientRefusesAFaultOutsideEntries(t *testing.T) {
	if _, _, _, err := LoadLenient(edited(t, change{"rooms.json", "roms", object{}})); err == nil {
		t.Fatal("loaded although the file holds an unknown section")
	}
}

// A field that only the schema or only the struct knows would be refused or silently lost.
func TestSchemaAndTypesAgree(t *testing.T) {
	const dotted = `^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?$`
	for _, tc := range []struct {
		file string
		at   []string // into the schema
		form reflect.Type
	}{
		{"operations", []string{"properties", "operations", "items"}, reflect.TypeFor[operation]()},
		{"operations", []string{"properties", "operations", "items", "properties", "variants", "items"}, reflect.TypeFor[variant]()},
		{"operations", []string{"properties", "standing", "patternProperties", "^(stop|return)$", "items"}, reflect.TypeFor[catalog.StandingStep]()},
		{"effects", []string{"properties", "effects", "patternProperties", "^[A-Za-z][A-Za-z0-9_]*$"}, reflect.TypeFor[effect]()},
		{"resources", []string{"properties", "resources", "patternProperties", "^[A-Za-z][A-Za-z0-9_]*$"}, reflect.TypeFor[resource]()},
		{"rooms", []string{"properties", "rooms", "items"}, reflect.TypeFor[room]()},
		{"context", []string{"properties", "context", "patternProperties", dotted}, reflect.TypeFor[catalog.Key]()},
		{"events", []string{"properties", "events", "patternProperties", dotted}, reflect.TypeFor[catalog.Event]()},
		{"skills", []string{"properties", "skills", "patternProperties", "^[a-z][a-z0-9_]*$"}, reflect.TypeFor[catalog.Skill]()},
		{"planner", []string{"properties", "unsupported_request_categories", "patternProperties", "^[a-z][a-z0-9_]*$"}, reflect.TypeFor[Unsupported]()},
		{"planner", []string{"properties", "router_hints", "patternProperties", "^[A-Z_]+$"}, reflect.TypeFor[RouterHint]()},
		{"common", []string{"$defs", "sentence"}, reflect.TypeFor[Sentence]()},
		{"common", []string{"$defs", "words"}, reflect.TypeFor[catalog.Aliases]()},
		{"common", []string{"$defs", "param"}, reflect.TypeFor[catalog.Param]()},
		{"common", []string{"$defs", "leaf"}, reflect.TypeFor[catalog.Leaf]()},
		{"common", []string{"$defs", "expr"}, reflect.TypeFor[expr]()},
		{"common", []string{"$defs", "duration"}, reflect.TypeFor[catalog.Duration]()},
		{"common", []string{"$defs", "confidence"}, reflect.TypeFor[catalog.Confidence]()},
		{"dbus", []string{"$defs", "map"}, reflect.TypeFor[catalog.DBusMap]()},
		{"dbus", []string{"$defs", "service"}, reflect.TypeFor[catalog.DBusService]()},
		{"dbus", []string{"$defs", "field"}, reflect.TypeFor[catalog.DBusField]()},
		{"dbus", []string{"$defs", "arg"}, reflect.TypeFor[catalog.DBusArg]()},
		{"dbus", []string{"$defs", "call"}, reflect.TypeFor[catalog.DBusCall]()},
		{"dbus", []string{"$defs", "confirm"}, reflect.TypeFor[catalog.DBusConfirm]()},
		{"dbus", []string{"$defs", "steer"}, reflect.TypeFor[catalog.DBusSteer]()},
		{"dbus", []string{"$defs", "error"}, reflect.TypeFor[catalog.DBusError]()},
		{"dbus", []string{"$defs", "refuse"}, reflect.TypeFor[catalog.DBusRefuse]()},
		{"dbus", []string{"$defs", "accept"}, reflect.TypeFor[catalog.DBusAccept]()},
		{"dbus", []string{"$defs", "known"}, reflect.TypeFor[catalog.DBusTask]()},
		{"dbus", []string{"$defs", "progress"}, reflect.TypeFor[catalog.DBusProgress]()},
		{"dbus", []string{"$defs", "result"}, reflect.TypeFor[catalog.DBusResult]()},
		{"dbus", []string{"$defs", "query"}, reflect.TypeFor[catalog.DBusQuery]()},
		{"dbus", []string{"$defs", "signal"}, reflect.TypeFor[catalog.DBusSignal]()},
		{"dbus", []string{"$defs", "context"}, reflect.TypeFor[catalog.DBusContext]()},
		{"dbus", []string{"$defs", "event"}, reflect.TypeFor[catalog.DBusEvent]()},
		{"dbus", []string{"$defs", "health"}, reflect.TypeFor[catalog.DBusHealth]()},
	} {
		root, _, fault := readFile(defaults.Files, "schema/"+tc.file+".schema.json")
		if fault != nil {
			t.Fatal(fault)
		}
		inSchema := slices.Sorted(maps.Keys(root.find(append(tc.at, "properties")).members))
		if inType := fields(tc.form); !slices.Equal(inSchema, inType) {
			t.Errorf("%s: the schema has %v, the type %v", tc.form, inSchema, inType)
		}
	}
}

// fields gives the names under which encoding/json knows the fields of a struct.
func fields(form reflect.Type) []string {
	names := map[string]bool{}
	for _, f := range reflect.VisibleFields(form) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && name != "-" && name != "" {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Any bytes give a catalog or an error; what is accepted is JSON.
func FuzzReadFile(f *testing.F) {
	for _, file := range files {
		data, _ := fs.ReadFile(defaults.Files, file.name)
		f.Add(data)
	}
	f.Add([]byte(`{"operations":[{"taskMethod":1}],"standing":{"stop":[null]}}`))
	f.Add([]byte(`{"operations":[[],{},{"taskMethod":"a"},{"taskMethod":"a"}]}`))
	f.Add([]byte(`{"rooms":null,"x":1e400}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fsys := fstest.MapFS{}
		for _, file := range files {
			fsys[file.name] = &fstest.MapFile{Data: data}
		}
		root, _, fault := readFile(fsys, files[0].name)
		if (root == nil) != (fault != nil) {
			t.Fatalf("root %v with the fault %v", root, fault)
		}
		if root != nil && !json.Valid(data) {
			t.Fatalf("accepted what is not JSON")
		}
		_, _, _, _ = LoadLenient(fsys)
	})
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, _, err := Load(defaults.Files); err != nil {
			b.Fatal(err)
		}
	}
}
