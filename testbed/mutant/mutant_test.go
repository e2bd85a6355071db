package mutant

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree makes a small module with one guard.
func tree(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module little\n\ngo 1.24\n",
		"door/door.go": "package door\n\n// Open opens for those who are old enough.\nfunc Open(age int) bool {\n\tif age < 18 {\n\t\treturn false\n\t}\n\treturn true\n}\n\nfunc Close() {\n}\n",
		"door/door_test.go": "package door\n\nimport \"testing\"\n\nfunc TestChild(t *testing.T) {\n\tif Open(5) {\n\t\tt.Fatal(\"a child came in\")\n\t}\n}\n\n" +
			"func TestGrown(t *testing.T) {\n\tif !Open(40) {\n\t\tt.Fatal(\"stays outside\")\n\t}\n}\n\nfunc TestSad(t *testing.T) { t.Fatal(\"always\") }\n",
	} {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const little = `# a table
mutant the guard is gone
in door/door.go
test door ^TestChild$
-	if age < 18 {
+	if age < 0 {

mutant changes nothing
in door/door.go
test door ^TestChild$
-	if age < 18 {
+	if age < 17 {

mutant the wrong test looks
in door/door.go
test door ^TestGrown$
-	if age < 18 {
+	if age < 0 {

mutant text is not there
in door/door.go
test door ^TestChild$
-	if age < 21 {
+	if age < 0 {

mutant text is there twice
in door/door.go
test door ^TestChild$
-}
+};

mutant does not compile
in door/door.go
test door ^TestChild$
-	if age < 18 {
+	if agee < 18 {

mutant no such test
in door/door.go
test door ^TestNobody$
-	if age < 18 {
+	if age < 0 {

mutant a test that fails anyway
in door/door.go
test door ^TestSad$
-	if age < 18 {
+	if age < 0 {

mutant two places
in door/door.go
test door ^TestGrown$
-	if age < 18 {
+	if age > 18 {
in door/door.go
-	return true
+	return false

mutant hangs
in door/door.go
test door ^TestChild$
-	if age < 18 {
+	for age < 18 {
+	}
+	if age < 18 {

mutant a place found by what stays
in door/door.go
test door ^TestGrown$
 	}
-	return true
+	return false
`

func TestVerdicts(t *testing.T) {
	all, err := ParseTable(strings.NewReader(little))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		verdict Verdict
		by      string
		at      string
	}{
		"the guard is gone":           {Caught, "TestChild", "door/door.go:5"},
		"changes nothing":             {Survived, "", "door/door.go:5"},
		"the wrong test looks":        {Survived, "", "door/door.go:5"},
		"text is not there":           {Broken, "does not apply any more", "door/door.go"},
		"text is there twice":         {Broken, "2 times", "door/door.go"},
		"does not compile":            {Broken, "does not compile: door/door.go:5:5: undefined: agee", "door/door.go:5"},
		"no such test":                {Broken, "no test of door matches", "door/door.go:5"},
		"a test that fails anyway":    {Broken, "fails with the guard as well: TestSad", "door/door.go:5"},
		"two places":                  {Caught, "TestGrown", "door/door.go:5"},
		"hangs":                       {Caught, "test timed out", "door/door.go:5"},
		"a place found by what stays": {Caught, "TestGrown", "door/door.go:8"},
	}
	root := tree(t)
	before, err := os.ReadFile(filepath.Join(root, "door", "door.go"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	if err := (Runner{Root: root, Workers: 2, Limit: 2e9}).Run(context.Background(), all, func(r Result) {
		seen++
		if w := want[r.Name]; r.Verdict != w.verdict || !strings.Contains(r.By, w.by) || r.At != w.at {
			t.Errorf("%v, want %+v", r, w)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if seen != len(want) {
		t.Errorf("%d results of %d mutants", seen, len(want))
	}
	if after, err := os.ReadFile(filepath.Join(root, "door", "door.go")); err != nil || string(after) != string(before) {
		t.Errorf("the tree itself was changed (%v)", err)
	}
}

func TestBadTables(t *testing.T) {
	for name, text := range map[string]string{
		"a line before the first": "in door.go\n",
		"no file":                 "mutant x\ntest door ^T$\n-a\n",
		"no test":                 "mutant x\nin a.go\n-a\n",
		"lines before in":         "mutant x\ntest door ^T$\n-a\nin a.go\n-a\n",
		"nothing goes":            "mutant x\nin a.go\ntest door ^T$\n+a\n",
		"an unknown word":         "mutant x\nfile a.go\n",
		"a pattern that is none":  "mutant x\nin a.go\ntest door ^T($\n-a\n",
		"a file outside":          "mutant x\nin ../a.go\ntest door ^T$\n-a\n",
	} {
		if _, err := ParseTable(strings.NewReader(text)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// TestGuardsApply: every mutant of the table still fits the tree, so that a guard that moves is noticed without a run of all.
func TestGuardsApply(t *testing.T) {
	f, err := os.Open("guards.mut")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := ParseTable(f)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range all {
		_, _, _, err := m.apply(func(file string) (string, error) {
			text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
			return string(text), err
		})
		if err != nil {
			t.Errorf("guards.mut:%d: %s: %v", m.Line, m.Name, err)
		}
		if names[m.Name] {
			t.Errorf("guards.mut:%d: %s is there twice", m.Line, m.Name)
		}
		names[m.Name] = true
	}
	if len(all) < 20 {
		t.Errorf("%d mutants", len(all))
	}
}
