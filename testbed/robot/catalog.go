package robot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	_ "embed"

	defaults "deviceagent/packaging/catalog"
)

// WriteCatalog writes the default catalog to a folder, with every operation bound to the robot's services on a bus instead of the socket.
// All else, and the form of the files, is that of the default.
func WriteCatalog(dir string) error { return writeCatalog(dir, false) }

// WriteVendorCatalog is [WriteCatalog] for a robot of another maker, whose services it maps.
func WriteVendorCatalog(dir string) error { return writeCatalog(dir, true) }

func writeCatalog(dir string, vendor bool) error {
	return fs.WalkDir(defaults.Files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, name)
		if e.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := fs.ReadFile(defaults.Files, name)
		if err == nil && name == "operations.json" {
			text, err = rebound(text, vendor)
		}
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
}

// vendorFile is what a catalog says of the other maker's services: "services" as in operations.json, and for each operation what changes.
//
//go:embed vendor.json
var vendorFile []byte

// changed is what changes of an operation. As is another one, whose map it has but for its call and what it is without.
type changed struct {
	Probe    string         `json:"probe"`
	Executor map[string]any `json:"executor"`
	As       string         `json:"as"`
	Call     map[string]any `json:"call"`
	Without  []string       `json:"without"`
}

// object walks down into a JSON object.
func object(o map[string]any, names ...string) map[string]any {
	for _, n := range names {
		o, _ = o[n].(map[string]any)
	}
	return o
}

// like is the executor of another operation with another call.
func (c changed) like(other map[string]any) map[string]any {
	m := maps.Clone(object(other, "dbus", "map"))
	m["call"] = c.Call
	for _, member := range c.Without {
		delete(m, member)
	}
	return map[string]any{"kind": other["kind"], "name": other["name"], "dbus": map[string]any{"map": m}}
}

// changes reads the file; services is its section as text.
func changes() (services []byte, ops map[string]changed, err error) {
	var all struct {
		Services   json.RawMessage    `json:"services"`
		Operations map[string]changed `json:"operations"`
	}
	if err := json.Unmarshal(vendorFile, &all); err != nil {
		return nil, nil, fmt.Errorf("cannot read vendor.json: %w", err)
	}
	for m, c := range all.Operations {
		if c.As != "" {
			c.Executor = c.like(all.Operations[c.As].Executor)
			all.Operations[m] = c
		}
	}
	return all.Services, all.Operations, nil
}

// The lines of operations.json that matter here.
var (
	methodLine   = regexp.MustCompile(`^\s*"taskMethod": "([^"]+)"`)
	executorLine = regexp.MustCompile(`^(\s*"executor": )\{.*\}(,?)$`)
	probeLine    = regexp.MustCompile(`^(\s*"probe": )"[a-z]+"(,?)$`)
	firstLine    = regexp.MustCompile(`^(\s*)"operations": \[$`)
)

// rebound changes each operation line by line, so that people find the file as they know it.
func rebound(text []byte, vendor bool) ([]byte, error) {
	var services []byte
	var ops map[string]changed
	if vendor {
		var err error
		if services, ops, err = changes(); err != nil {
			return nil, err
		}
	}
	lines := bytes.Split(text, []byte("\n"))
	method := ""
	for i, line := range lines {
		if m := methodLine.FindSubmatch(line); m != nil {
			method = string(m[1])
		}
		if m := firstLine.FindSubmatch(line); m != nil && vendor {
			lines[i] = fmt.Appendf(nil, "%s\"services\": %s,\n%s", m[1], services, line)
		}
		if m := probeLine.FindSubmatch(line); m != nil && ops[method].Probe != "" {
			lines[i] = fmt.Appendf(nil, "%s%q%s", m[1], ops[method].Probe, m[2])
		}
		if m := executorLine.FindSubmatch(line); m != nil {
			binding, err := executorOf(method, vendor, ops)
			if err != nil {
				return nil, err
			}
			lines[i] = fmt.Appendf(nil, "%s%s%s", m[1], binding, m[2])
		}
	}
	return bytes.Join(lines, []byte("\n")), nil
}

func executorOf(method string, vendor bool, ops map[string]changed) ([]byte, error) {
	if c, ok := ops[method]; ok {
		return json.Marshal(c.Executor)
	}
	b := bindingOf(everywhere(vendor), method)
	if b == nil {
		return nil, fmt.Errorf("cannot bind %s: no service of the robot has it", method)
	}
	return json.Marshal(b)
}
