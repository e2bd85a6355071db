package deviceagent_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The ids that docs/tests.md has to answer for. A number that is missing in a group was never a case for a test.
var (
	fieldCases = strings.Fields(`
A1 A2 A3 A5 A6 A7 A9 A10 A12 A13 A15 A17 A18 A20
B1 B2 B3 B5 B6 B8 B10
C1 C2 C3 C4 C6 C7 C9 C10 C12 C13 C14 C15 C17 C18 C20 C21 C22 C24 C25 C27
D1 D2 D3 D5 D6 D8 D9 D10 D11 D13 D14 D16 D17 D18 D20 D21 D23
E1 E2 E3 E5 E6 E7 E8 E10 E11 E12 E14 E15 E17
F1 F2 F4 F5 F6 F8 F9 F11 F12 F13 F14 F16
G1 G3 G4
H1 H3 H4 H6 H8 H9`)
	faultIDs = func() (ids []string) {
		for i := 1; i <= 86; i++ {
			ids = append(ids, fmt.Sprintf("F%02d", i))
		}
		return ids
	}()
)

var (
	rowForm      = regexp.MustCompile(`(?m)^\| ([A-H]\d+) \| ([^|]+) \| ([^|]+) \|$`)
	testForm     = regexp.MustCompile("`([a-z/]+)\\.((?:Test|Fuzz)\\w+)`")
	scenarioForm = regexp.MustCompile("`(testbed/scenarios/[\\w/-]+\\.scn)`")
	idForm       = regexp.MustCompile(`^Test(?:Case)?([A-H]\d+)_`)
)

// rowFaults says what is wrong with the rows of one part of the page, of which each id has to have one.
func rowFaults(part string, ids []string, exists func(pkg, name string) bool) (faults []string) {
	seen := map[string]int{}
	for _, row := range rowForm.FindAllStringSubmatch(part, -1) {
		id, cell := row[1], row[3]
		seen[id]++
		tests := testForm.FindAllStringSubmatch(cell, -1)
		files := scenarioForm.FindAllStringSubmatch(cell, -1)
		if len(tests)+len(files) == 0 && !strings.HasPrefix(cell, "not yet: needs ") {
			faults = append(faults, id+" names neither a test nor what it needs")
		}
		for _, m := range tests {
			if !exists(m[1], m[2]) {
				faults = append(faults, fmt.Sprintf("%s names %s.%s, which is not there", id, m[1], m[2]))
			}
		}
		for _, m := range files {
			if !exists(path.Dir(m[1]), path.Base(m[1])) {
				faults = append(faults, fmt.Sprintf("%s names %s, which is not there", id, m[1]))
			}
		}
		if left := scenarioForm.ReplaceAllString(testForm.ReplaceAllString(cell, ""), ""); strings.Contains(left, ".Test") || strings.Contains(left, ".scn") {
			faults = append(faults, id+" names a test in another form")
		}
	}
	for _, id := range ids {
		if seen[id] != 1 {
			faults = append(faults, fmt.Sprintf("%s has %d rows", id, seen[id]))
		}
		delete(seen, id)
	}
	for id := range seen {
		faults = append(faults, id+" is no known id")
	}
	slices.Sort(faults)
	return faults
}

// testNames are the tests of the repository, "package directory/name", and the scenarios beside them.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(".", func(p string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case strings.HasSuffix(p, ".scn"):
			names[filepath.ToSlash(p)] = true
		case strings.HasSuffix(p, "_test.go"):
			f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					names[path.Join(filepath.ToSlash(filepath.Dir(p)), fn.Name.Name)] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestEveryCaseNamesItsTest holds docs/tests.md against the tree: each known id has one row, each test that a row names is there,
// and each test that bears an id is named.
func TestEveryCaseNamesItsTest(t *testing.T) {
	text, err := os.ReadFile("docs/tests.md")
	if err != nil {
		t.Fatal(err)
	}
	cases, injected, two := strings.Cut(string(text), "\n## Faults\n")
	if !two {
		t.Fatal("no part on faults")
	}
	names := testNames(t)
	exists := func(pkg, name string) bool { return names[path.Join(pkg, name)] }
	for _, fault := range append(rowFaults(cases, fieldCases, exists), rowFaults(injected, faultIDs, exists)...) {
		t.Error(fault)
	}
	for name := range names {
		if m := idForm.FindStringSubmatch(path.Base(name)); m != nil && !strings.Contains(string(text), "`"+path.Dir(name)+"."+path.Base(name)+"`") {
			t.Errorf("%s bears the id %s, and docs/tests.md does not name it", name, m[1])
		}
	}
}

func TestRowFaultsAreFound(t *testing.T) {
	exists := func(pkg, name string) bool { return pkg == "a/b" && (name == "TestThere" || name == "FuzzThere") }
	for row, want := range map[string]string{
		"| A1 | x | `a/b.TestThere` |":                               "",
		"| A1 | x | `a/b.FuzzThere`; not yet: needs wings |":         "",
		"| A1 | x | not yet: needs wings |":                          "",
		"| A1 | x | `a/b.TestGone` |":                                "A1 names a/b.TestGone, which is not there",
		"| A1 | x | `testbed/scenarios/S99.scn` |":                   "A1 names testbed/scenarios/S99.scn, which is not there",
		"| A1 | x | some day |":                                      "A1 names neither a test nor what it needs",
		"| A1 | x | not yet: needs wings, see a/b.TestThere |":       "A1 names a test in another form",
		"| A2 | x | `a/b.TestThere` |":                               "A1 has 0 rows; A2 is no known id",
		"| A1 | x | `a/b.TestThere` |\n| A1 | x | `a/b.TestThere` |": "A1 has 2 rows",
	} {
		if got := strings.Join(rowFaults(row, []string{"A1"}, exists), "; "); got != want {
			t.Errorf("%s\n gives %q, want %q", row, got, want)
		}
	}
}
