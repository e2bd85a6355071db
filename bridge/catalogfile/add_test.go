package catalogfile

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

const lampAddition = `{
  "$schema": "anything",
  "context": {"lamp.level": {"type": "number", "max_age_ms": 10000, "class": "independent"}},
  "resources": {"lamp": {}},
  "effects": {"lamp_set": {"kind": "achieve", "terminal_evidence": {"context": "lamp.level", "op": "eq", "value": "$level"},
    "confidence_policy": {"accept": ["independent"], "window_correlation": true}}},
  "operations": [{"taskMethod": "setLamp", "capability": "lamp", "kind": "settings",
    "params": {"level": {"type": "integer", "minimum": 0, "maximum": 100, "required": true}},
    "resources": ["lamp"], "effects": ["lamp_set"], "redo": "anytime", "probe": "none", "min_tier": "restricted",
    "ack_ms": 3000, "timeout": {"plus": 10000}, "evidence_timeout_ms": 5000, "executor": {"kind": "socket", "name": "lampd"}}]
}`

func TestAddKeepsWhatIsThere(t *testing.T) {
	changed, c, err := Add(defaults.Files, []byte(lampAddition))
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []catalog.Method{"setLamp", "setMoveTo"} {
		if _, ok := c.Operations[method]; !ok {
			t.Fatalf("%s is missing", method)
		}
	}
	if len(changed) != 4 {
		t.Fatalf("%d files have changed, want context, effects, operations and resources", len(changed))
	}
	for name, text := range changed {
		old, err := fs.ReadFile(defaults.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		// All of the old text but the brackets at its end begins the new one.
		kept := strings.TrimRight(string(old), "]} \n")
		if name == "operations.json" { // two more sections follow the operations
			kept = kept[:strings.Index(kept, `"standing"`)-20]
			if !strings.Contains(string(text), string(old[strings.Index(string(old), `"standing"`):])) {
				t.Error("what follows the operations has changed")
			}
		}
		if !strings.HasPrefix(string(text), kept) {
			t.Errorf("%s: the old text is not kept", name)
		}
	}
	if _, _, err := Add(overlay{defaults.Files, changed}, []byte(lampAddition)); err == nil || !strings.Contains(err.Error(), "setLamp is there already") {
		t.Errorf("added twice: %v", err)
	}
}

func TestAddRefusesWhatWouldMakeABadCatalog(t *testing.T) {
	for _, tc := range []struct{ name, addition, want string }{
		{"no JSON", `{`, "cannot read the addition"},
		{"no such section", `{"operation": []}`, "cannot add operation: there is no such section"},
		{"an operation that is there", `{"operations": [{"taskMethod": "setMoveTo"}]}`, "cannot add operations to operations.json: setMoveTo is there already; change it in the file"},
		{"a section that is a word", `{"effects": "none"}`, `the file has {…, the addition "…`},
		{"a reference to nothing", strings.Replace(lampAddition, `"context": "lamp.level"`, `"context": "lamp.lvl"`, 1), "lamp.lvl"},
		{"an object for a list", `{"operations": {"x": 1}}`, "the file has […, the addition {…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changed, _, err := Add(defaults.Files, []byte(tc.addition))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if changed != nil {
				t.Error("files were given")
			}
		})
	}
	_, _, err := Add(defaults.Files, []byte(strings.Replace(lampAddition, `"lamp.level", "op"`, `"lamp.lvl", "op"`, 1)))
	if faults, ok := errors.AsType[*Error](err); !ok || len(faults.Faults) == 0 || faults.Faults[0].File != "effects.json" || faults.Faults[0].Line == 0 {
		t.Errorf("got %v, want faults with file and line", err)
	}
}

func TestAddASectionThatTheFileHasNot(t *testing.T) {
	const services = `"services": {"lampd": {"service": "com.acme.Lamp", "path": "/com/acme/Lamp", "interface": "com.acme.Lamp1", "context": {"lamp.level": {"property": "Level"}}}}`
	addition := strings.Replace(lampAddition, `{"kind": "socket", "name": "lampd"}`, `{"kind": "dbus", "name": "lampd", "dbus": {"map": {
		"call": {"method": "Set", "args": [{"type": "y", "param": "level"}]}, "result": [{"reply": true, "outcome": "done"}]}}}`, 1)
	addition = strings.Replace(addition, `"resources":`, services+`, "resources":`, 1)
	changed, _, err := Add(defaults.Files, []byte(addition))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Add(overlay{defaults.Files, changed}, []byte(`{`+services+`}`)); err == nil || !strings.Contains(err.Error(), "lampd is there already") {
		t.Errorf("added twice: %v", err)
	}
	if text, err := inserted([]byte("{}\n"), "skills", "", []byte(`{"a": 1}`)); err != nil || string(text) != "{\n  \"skills\": {\"a\": 1}\n}\n" {
		t.Errorf("into an empty file: %q (%v)", text, err)
	}
}

func TestAddIntoAnEmptySection(t *testing.T) {
	fsys := overlay{defaults.Files, map[string][]byte{"skills.json": []byte("{\n  \"skills\": {}\n}\n")}}
	old, err := fs.ReadFile(defaults.Files, "skills.json")
	if err != nil {
		t.Fatal(err)
	}
	value, _, err := member(old, "skills")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Add(fsys, []byte(`{"skills": `+string(value)+`}`)); err != nil {
		t.Fatal(err)
	}
}
