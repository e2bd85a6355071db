package catalogfile

import (
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	defaults "deviceagent/packaging/catalog"
)

// change is one edit of the default files: the member that the words lead to gets a value; gone removes it.
type change struct {
	file string
	at   string // words separated by spaces; in a list an index or the entry's taskMethod or id
	to   any
}

type removed struct{}

var gone = removed{}

type object = map[string]any

// edited gives the default files with the changes made.
func edited(t *testing.T, changes ...change) fstest.MapFS {
	t.Helper()
	fsys := fstest.MapFS{}
	for _, f := range files {
		data, err := fs.ReadFile(defaults.Files, f.name)
		if err != nil {
			t.Fatal(err)
		}
		fsys[f.name] = &fstest.MapFile{Data: data}
	}
	for _, c := range changes {
		var root any
		if err := json.Unmarshal(fsys[c.file].Data, &root); err != nil {
			t.Fatal(err)
		}
		data, err := json.MarshalIndent(put(t, root, strings.Fields(c.at), c.to), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fsys[c.file] = &fstest.MapFile{Data: data}
	}
	return fsys
}

// put gives the tree with one member changed. An index one past a list's end appends.
func put(t *testing.T, tree any, at []string, to any) any {
	t.Helper()
	if len(at) == 0 {
		return to
	}
	switch n := tree.(type) {
	case map[string]any:
		n = maps.Clone(n)
		if n[at[0]] = put(t, n[at[0]], at[1:], to); n[at[0]] == any(gone) {
			delete(n, at[0])
		}
		return n
	case []any:
		i := slices.IndexFunc(n, func(item any) bool {
			o, _ := item.(map[string]any)
			return o["taskMethod"] == at[0] || o["id"] == at[0]
		})
		if i < 0 && at[0] == "+" {
			return append(slices.Clone(n), put(t, nil, at[1:], to))
		}
		if i < 0 {
			i = int(at[0][0] - '0')
		}
		n = slices.Clone(n)
		if n[i] = put(t, n[i], at[1:], to); n[i] == any(gone) {
			n = slices.Delete(n, i, i+1)
		}
		return n
	}
	return put(t, object{}, at, to)
}

// wantFault fails unless a fault at the path (a suffix is enough) says the words.
func wantFault(t *testing.T, faults []Fault, path, words string) {
	t.Helper()
	if !slices.ContainsFunc(faults, func(f Fault) bool { return strings.HasSuffix(f.Path, path) && strings.Contains(f.Message, words) }) {
		t.Fatalf("no fault at %q that says %q; faults:\n%s", path, words, (&Error{faults}).Error())
	}
}
