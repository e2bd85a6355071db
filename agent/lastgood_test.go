package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	defaults "deviceagent/packaging/catalog"
)

// install writes the default catalog into a folder, with one file changed.
func install(t *testing.T, dir string, change func(name string, b []byte) []byte) {
	t.Helper()
	names, err := fs.Glob(defaults.Files, "*.json")
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	for _, name := range names {
		b, err := defaults.Files.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), change(name, b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func asIs(_ string, b []byte) []byte { return b }

// bad are catalogs that must not come into force.
var bad = map[string]func(name string, b []byte) []byte{
	"cut off": func(name string, b []byte) []byte {
		if name == "operations.json" {
			return b[:len(b)/2]
		}
		return b
	},
	"empty": func(name string, b []byte) []byte {
		if name == "operations.json" {
			return nil
		}
		return b
	},
	"hostile": func(name string, b []byte) []byte {
		if name == "operations.json" {
			return []byte(strings.Repeat("[", 100_000))
		}
		return b
	},
}

func TestF86_D21_ABadCatalogIsReplacedByTheLastGoodOne(t *testing.T) {
	for name, change := range bad {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), t.TempDir()
			install(t, dir, change)
			if _, _, err := Catalog(dir, state, defaults.Files); err == nil || !strings.Contains(err.Error(), dir) {
				t.Fatalf("nothing can stand in, and the start says %v", err)
			}
			install(t, dir, asIs)
			good, note, err := Catalog(dir, state, defaults.Files)
			if err != nil || note != "" {
				t.Fatal(err, note)
			}
			install(t, dir, change)
			for range 2 {
				cat, note, err := Catalog(dir, state, defaults.Files)
				if err != nil || cat.Etag != good.Etag || !strings.Contains(note, "last good") {
					t.Fatalf("etag %v, note %q, %v", cat, note, err)
				}
			}
			install(t, dir, asIs)
			if _, note, err := Catalog(dir, state, defaults.Files); err != nil || note != "" {
				t.Fatalf("mended: %q %v", note, err)
			}
		})
	}
}

func TestD14_TheKeptCatalogSurvivesACutAnywhere(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	install(t, dir, asIs)
	good, _, err := Catalog(dir, state, defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	first := goodCatalogs(state)
	if len(first) != 1 {
		t.Fatalf("kept: %v", first)
	}
	before, _ := os.Stat(first[0])
	if _, _, err := Catalog(dir, state, defaults.Files); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(first[0]); !after.ModTime().Equal(before.ModTime()) {
		t.Error("a start with the same catalog has written")
	}
	// A second generation that the cut left torn: its files do not have the sum that its name says.
	torn := filepath.Join(state, goodPrefix+"0123456789abcdef")
	half := filepath.Join(state, goodPrefix+"0123456789abcdee.new")
	for _, d := range []string{torn, half} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		install(t, d, bad["cut off"])
	}
	install(t, dir, bad["empty"])
	cat, note, err := Catalog(dir, state, defaults.Files)
	if err != nil || cat.Etag != good.Etag || !strings.Contains(note, first[0]) {
		t.Fatalf("%v %q", err, note)
	}
	for name := range map[string]bool{"operations.json": true} { // the kept copy itself goes bad: nothing is made up
		if err := os.WriteFile(filepath.Join(first[0], name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := Catalog(dir, state, defaults.Files); err == nil {
		t.Error("a copy that was changed was taken for good")
	}
	if _, err := os.Stat(torn); errors.Is(err, fs.ErrNotExist) {
		t.Error("something was deleted while nothing was good")
	}
}
