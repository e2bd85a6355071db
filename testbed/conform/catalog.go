package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"testing/fstest"

	"deviceagent/bridge/catalogfile"
	shipped "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

// sectionFiles says in which file of a catalog the sections of an addition belong.
var sectionFiles = map[string]string{"operations": "operations.json", "effects": "effects.json", "events": "events.json", "context": "context.json",
	"resources": "resources.json", "rooms": "rooms.json"}

// LoadCatalog reads a catalog's folder, or a file with entries that come beside those of the shipped catalog: one object with the
// sections operations, effects, events, context, resources and rooms, each as in the catalog's own file.
func LoadCatalog(path string) (*catalog.Catalog, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the catalog: %w", err)
	}
	files := os.DirFS(path)
	if !info.IsDir() {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read the catalog: %w", err)
		}
		if files, err = added(text); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", path, err)
		}
	}
	c, _, err := catalogfile.Load(files)
	if err != nil {
		return nil, fmt.Errorf("cannot read the catalog %s: %w", path, err)
	}
	return c, nil
}

// added is the shipped catalog with further entries.
func added(text []byte) (fs.FS, error) {
	var more map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&more); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something stands behind the object")
	}
	out := fstest.MapFS{}
	err := fs.WalkDir(shipped.Files, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(shipped.Files, p)
		out[p] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		return nil, err
	}
	for section, entries := range more {
		name, known := sectionFiles[section]
		if !known {
			return nil, fmt.Errorf("%q is no section; known are operations, effects, events, context, resources and rooms", section)
		}
		if err := join(out[name], section, entries); err != nil {
			return nil, fmt.Errorf("%s: %w", section, err)
		}
	}
	return out, nil
}

// join adds the entries of one section to its file.
func join(file *fstest.MapFile, section string, entries json.RawMessage) error {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(file.Data, &whole); err != nil {
		return err
	}
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(entries), []byte("[")) {
		var have, more []json.RawMessage
		if err := json.Unmarshal(whole[section], &have); err != nil {
			return err
		}
		if err := json.Unmarshal(entries, &more); err != nil {
			return err
		}
		whole[section], err = json.Marshal(append(have, more...))
	} else {
		have, more := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		if err := json.Unmarshal(whole[section], &have); err != nil {
			return err
		}
		if err := json.Unmarshal(entries, &more); err != nil {
			return err
		}
		maps.Copy(have, more)
		whole[section], err = json.Marshal(have)
	}
	if err == nil {
		file.Data, err = json.Marshal(whole)
	}
	return err
}
