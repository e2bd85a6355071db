package conform

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager/core/catalog"
)

func headCatalog(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := LoadCatalog(filepath.Join("..", "..", "executors", "dbus", "examples", "python", "catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// From a catalog's entry comes all that a run needs: what to run, what must be refused, and what proves it.
func TestTheCatalogSaysWhatToRun(t *testing.T) {
	op, err := (&Options{Service: "com.example.Head", Catalog: headCatalog(t)}).learn()
	if err != nil {
		t.Fatal(err)
	}
	if op.method != "turnHead" || op.cancel != yes || op.pause != yes || !op.durable || len(op.atRest) != 1 {
		t.Errorf("%+v", op)
	}
	var angles []any
	for _, c := range op.calls {
		angles = append(angles, c.args["angle"])
		if len(c.proof) != 1 || c.proof[0].name != "head_turned" || len(c.proof[0].against) != 1 {
			t.Errorf("proof %+v", c.proof)
		}
	}
	if !slices.Equal(angles, []any{60.0, -60.0}) {
		t.Errorf("angles %v", angles)
	}
	var whats []string
	for _, w := range op.wrong {
		whats = append(whats, w.what)
	}
	if want := []string{"a method that does not exist", "no angle", "angle of a wrong type", "angle above its maximum", "angle below its minimum"}; !slices.Equal(whats, want) {
		t.Errorf("bad input %q", whats)
	}
	if _, kept := op.wrong[1].args["angle"]; kept {
		t.Error("the missing argument is there")
	}
}

func TestWhatTheCatalogDoesNotSayIsSaid(t *testing.T) {
	c := headCatalog(t)
	entry := c.Operations["turnHead"]
	entry.Method, entry.Binding.DBus = "nodHead", &catalog.DBus{Service: "com.example.Vendor", Path: "/v", Map: &catalog.DBusMap{}}
	c.Operations["nodHead"] = entry
	free := c.Operations["turnHead"]
	free.Method, free.Params = "sayHead", map[string]catalog.Param{"text": {Type: catalog.String, Required: true}}
	c.Operations["sayHead"] = free
	for _, tc := range []struct {
		name string
		o    Options
		want string
	}{
		{"an operation that is not there", Options{Service: "com.example.Head", Method: "shakeHead"}, "no operation shakeHead"},
		{"an operation that is mapped", Options{Service: "com.example.Vendor", Method: "nodHead"}, "executor.dbus.map"},
		{"a service with mapped operations only", Options{Service: "com.example.Vendor"}, "binds no operation"},
		{"a service that is bound to nothing", Options{Service: "com.example.Other"}, "binds no operation"},
		{"arguments that nobody can make up", Options{Service: "com.example.Head", Method: "sayHead"}, "what text of sayHead may be"},
		{"arguments that the catalog refuses", Options{Service: "com.example.Head", Method: "turnHead", Params: []map[string]any{{"angle": 90.0}}}, "from -60 to 60"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Catalog = c
			if _, err := tc.o.learn(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestAFileOfEntriesIsReadStrictly(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no JSON", "turnHead", "invalid character"},
		{"a section that is none", `{"operation": []}`, "operation"},
		{"a section of another form", `{"effects": []}`, "effects"},
		{"something behind it", `{} {}`, "after top-level value"},
		{"an entry that refers to nothing", `{"effects": {"x": {"kind": "achieve", "terminal_evidence": {"event": "x.y"}, "confidence_policy": {"accept": ["independent"]}}}}`, "x.y"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "more.json")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := LoadCatalog(file); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
	if _, err := LoadCatalog(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a catalog that is not there was read")
	}
}
