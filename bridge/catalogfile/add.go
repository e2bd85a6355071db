package catalogfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"deviceagent/taskmanager/core/catalog"
)

// Add puts further entries into the files of a catalog. addition is one JSON object: entries by section, as in the files,
// {"context": {"lamp.level": {…}}, "operations": [{"taskMethod": "setLamp", …}]}. What the files hold is kept byte for byte. Add gives the
// files that change, by name, and the catalog that they make. A name that is there already is an error, as is anything that would
// make the catalog bad: then an [*Error] has every fault, with lines of the files as they would be.
func Add(fsys fs.FS, addition []byte) (map[string][]byte, *catalog.Catalog, error) {
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(addition, &sections); err != nil {
		return nil, nil, fmt.Errorf("cannot read the addition: %w", err)
	}
	changed := map[string][]byte{}
	for section := range sections {
		if section != schemaMember && fileOf(section) == nil {
			return nil, nil, fmt.Errorf("cannot add %s: there is no such section", section)
		}
	}
	for _, f := range files {
		for _, section := range f.sections {
			if sections[section] == nil {
				continue
			}
			text, err := readBounded(overlay{fsys, changed}, f.name)
			if err == nil {
				text, err = inserted(text, section, f.id, sections[section])
			}
			if err != nil {
				return nil, nil, fmt.Errorf("cannot add %s to %s: %w", section, f.name, err)
			}
			changed[f.name] = text
		}
	}
	c, _, err := Load(overlay{fsys, changed})
	if err != nil {
		return nil, nil, err
	}
	return changed, c, nil
}

const schemaMember = "$schema" // for editors

func fileOf(section string) *file {
	for i, f := range files {
		if slices.Contains(f.sections, section) {
			return &files[i]
		}
	}
	return nil
}

// inserted gives the text of a file with further entries at the end of one section.
func inserted(text []byte, section, id string, more json.RawMessage) ([]byte, error) {
	old, end, err := member(text, section)
	switch {
	case err != nil:
		return nil, err
	case old == nil: // the file may be without it
		before := bytes.TrimRight(text[:end-1], " \t\r\n")
		glue := ",\n  "
		if bytes.HasSuffix(before, []byte("{")) {
			glue = "\n  "
		}
		return []byte(string(before) + glue + quoted(section) + ": " + string(more) + "\n" + string(text[end-1:])), nil
	}
	have, _, err := entriesOf(old, id)
	if err != nil {
		return nil, fmt.Errorf("its %s: %w", section, err)
	}
	names, lines, err := entriesOf(more, id)
	switch {
	case err != nil:
		return nil, err
	case bytes.TrimSpace(more)[0] != old[0]:
		return nil, fmt.Errorf("the file has %c…, the addition %c…", old[0], bytes.TrimSpace(more)[0])
	}
	for _, name := range names {
		if slices.Contains(have, name) {
			return nil, fmt.Errorf("%s is there already; change it in the file", name)
		}
	}
	if len(lines) == 0 {
		return text, nil
	}
	before := bytes.TrimRight(text[:end-1], " \t\r\n") // without the bracket that ends the section
	glue := ",\n    "
	if len(have) == 0 {
		glue = "\n    "
	}
	return []byte(string(before) + glue + strings.Join(lines, ",\n    ") + "\n  " + string(text[end-1:])), nil
}

// member finds a member of the object that a text is: its value, and where that ends. Where it is not, the value is nil, and the end
// that of the object.
func member(text []byte, name string) (value json.RawMessage, end int64, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, 0, errors.New("the file is no JSON object")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, 0, err
		}
		if err := dec.Decode(&value); err != nil {
			return nil, 0, err
		}
		if key == name {
			return value, dec.InputOffset(), nil
		}
	}
	if _, err := dec.Token(); err != nil { // the bracket that ends the object
		return nil, 0, err
	}
	return nil, dec.InputOffset(), nil
}

// entriesOf gives the names of a section's entries, and each as it is written in the section. id is the member that names an entry of a list.
func entriesOf(section json.RawMessage, id string) (names, lines []string, err error) {
	dec := json.NewDecoder(bytes.NewReader(section))
	open, err := dec.Token()
	if err != nil {
		return nil, nil, err
	}
	for dec.More() {
		var name, line string
		switch open {
		case json.Delim('{'):
			key, err := dec.Token()
			if err != nil {
				return nil, nil, err
			}
			name, _ = key.(string) // the decoder takes no other key
			line = quoted(name) + ": "
		case json.Delim('['):
		default:
			return nil, nil, errors.New("the section is neither an object nor a list")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, nil, err
		}
		if open == json.Delim('[') {
			var members map[string]any
			_ = json.Unmarshal(value, &members) // what is no object has no name, and the schema says so
			name, _ = members[id].(string)
		}
		names, lines = append(names, name), append(lines, line+string(value))
	}
	return names, lines, nil
}

func quoted(name string) string {
	text, _ := json.Marshal(name) // a text can be marshalled
	return string(text)
}

// overlay is a folder with some files replaced.
type overlay struct {
	fs.FS
	texts map[string][]byte
}

func (o overlay) Open(name string) (fs.File, error) {
	if text, ok := o.texts[name]; ok {
		return memFile{bytes.NewReader(text), name, int64(len(text))}, nil
	}
	return o.FS.Open(name)
}

type memFile struct {
	io.Reader
	name string
	size int64
}

func (m memFile) Stat() (fs.FileInfo, error) { return m, nil }
func (m memFile) Close() error               { return nil }
func (m memFile) Name() string               { return m.name }
func (m memFile) Size() int64                { return m.size }
func (m memFile) Mode() fs.FileMode          { return 0o444 }
func (m memFile) ModTime() time.Time         { return time.Time{} }
func (m memFile) IsDir() bool                { return false }
func (m memFile) Sys() any                   { return nil }
