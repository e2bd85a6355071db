// Package deviceagent_test keeps the house in order: which room may look into which, what the pure rooms must not touch, and what
// no file may say. It reads the source of the whole repository and promises that a breach fails the tests with its place. The
// rules are data (house_rules_test.go); each has a made-up breach that must be found, so that no rule can fall asleep.
package deviceagent_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "deviceagent"

// house is the source of the repository, by path with slashes from its root.
type house struct {
	fset  *token.FileSet
	paths []string // sorted
	texts map[string][]byte
	files map[string]*ast.File // Go files only
}

// newHouse parses what it is given. A Go file that cannot be parsed is an error: a rule must not pass over it.
func newHouse(texts map[string][]byte) (*house, error) {
	h := &house{fset: token.NewFileSet(), texts: texts, files: map[string]*ast.File{}}
	for p, text := range texts {
		h.paths = append(h.paths, p)
		if path.Ext(p) != ".go" {
			continue
		}
		f, err := parser.ParseFile(h.fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("cannot parse %s: %w", p, err)
		}
		h.files[p] = f
	}
	slices.Sort(h.paths)
	return h, nil
}

// goFiles calls do for each Go file in order; tests says whether test files are among them.
func (h *house) goFiles(tests bool, do func(p string, f *ast.File)) {
	for _, p := range h.paths {
		if f, ok := h.files[p]; ok && (tests || !strings.HasSuffix(p, "_test.go")) {
			do(p, f)
		}
	}
}

// at names a place for a fault.
func (h *house) at(p string, n ast.Node) string {
	return fmt.Sprintf("%s:%d", p, h.fset.Position(n.Pos()).Line)
}

func importsOf(f *ast.File) (out []*ast.ImportSpec) {
	for _, im := range f.Imports {
		if _, err := strconv.Unquote(im.Path.Value); err == nil {
			out = append(out, im)
		}
	}
	return out
}

func pathOf(im *ast.ImportSpec) string {
	text, _ := strconv.Unquote(im.Path.Value) // importsOf has looked
	return text
}

// readHouse reads what belongs to the repository: what git tracks or would track; without git all but what is built.
func readHouse(t *testing.T) *house {
	t.Helper()
	texts := map[string][]byte{}
	for _, p := range listFiles(t) {
		text, err := os.ReadFile(filepath.FromSlash(p))
		if err != nil {
			if os.IsNotExist(err) {
				continue // removed, and not yet committed
			}
			t.Fatal(err)
		}
		texts[p] = text
	}
	h, err := newHouse(texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.files) < 50 {
		t.Fatalf("only %d Go files: the house was not read", len(h.files))
	}
	return h
}

func listFiles(t *testing.T) (out []string) {
	t.Helper()
	list, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err == nil && len(list) > 0 {
		return strings.Split(strings.TrimRight(string(list), "\x00"), "\x00")
	}
	err = filepath.WalkDir(".", func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (p == "bin" || p == ".git"):
			return fs.SkipDir
		case e.Type().IsRegular():
			out = append(out, filepath.ToSlash(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHouseIsInOrder(t *testing.T) {
	h := readHouse(t)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, fault := range rule.check(h) {
				t.Error(fault)
			}
		})
	}
}

// TestRulesFindBreaches: a rule that finds nothing in a broken house guards nothing.
func TestRulesFindBreaches(t *testing.T) {
	tried := map[string]bool{}
	for _, b := range breaches {
		t.Run(b.rule+"/"+b.name, func(t *testing.T) {
			tried[b.rule] = true
			h, err := newHouse(map[string][]byte{b.path: []byte(b.text)})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(rules, func(r rule) bool { return r.name == b.rule })
			if i < 0 {
				t.Fatalf("there is no rule %q", b.rule)
			}
			got := rules[i].check(h)
			if b.fault == "" && len(got) > 0 {
				t.Errorf("found %q in what is allowed", got)
			}
			if b.fault != "" && (len(got) != 1 || !strings.Contains(got[0], b.fault) || !placed(got[0], b.path)) {
				t.Errorf("found %q, want one fault with %q", got, b.fault)
			}
		})
	}
	for _, r := range rules {
		if !tried[r.name] {
			t.Errorf("rule %q has no breach to find", r.name)
		}
	}
}

// placed says whether a fault begins with the file or its folder.
func placed(fault, p string) bool {
	return strings.HasPrefix(fault, p) || strings.HasPrefix(fault, path.Dir(p)+":")
}

// TestWhatTheDeviceLinks asks the tool chain what is really in the device's program, through all imports.
func TestWhatTheDeviceLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./cmd/deviceagentd").Output()
	if err != nil {
		t.Fatalf("cannot list what deviceagentd links: %v", err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, module+"/taskmanager/core") {
		t.Fatal("the list lacks the core: it is not the list of the device's program")
	}
	for _, fault := range strangers(linked) {
		t.Error(fault)
	}
	if got := strangers([]string{module + "/cloudlink/planner/rules", module + "/cloudlink"}); len(got) != 1 {
		t.Errorf("found %q, want one stranger", got)
	}
}
