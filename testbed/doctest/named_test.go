package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// words gives the first group of each match in a file of the repository.
func words(t *testing.T, path, form string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(form).FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if len(out) < 5 {
		t.Fatalf("only %q in %s: it was not read", out, path)
	}
	return out
}

// TestCommandsThatTheTextNamesAreThere: what stands in a sentence is run by nobody, so at least its first word has to exist.
func TestCommandsThatTheTextNamesAreThere(t *testing.T) {
	known := map[string][]string{
		"make":           words(t, "Makefile", `(?m)^([a-z][a-z-]*):`),
		"testbed":        words(t, "cmd/testbed/main.go", `\{"([a-z]+)", "`),
		"deviceagentctl": append(words(t, "docs/cli.md", "(?m)^\\| `([a-z]+)"), "help", "completion"), // its table is made from the program
	}
	named := regexp.MustCompile("`(?:bin/)?(make|testbed|deviceagentctl) ([a-z][a-z-]*)")
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range append(paths, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range prose(string(text)) {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				count++
				if !slices.Contains(known[m[1]], m[2]) {
					t.Errorf("%s:%d: there is no %s %s; there are %s", path, i+1, m[1], m[2], strings.Join(known[m[1]], " "))
				}
			}
		}
	}
	if count < 50 {
		t.Fatalf("only %d commands in all pages: they were not read", count)
	}
}
