package deviceagent_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// rule is one thing that holds in the whole house. check returns every breach, each beginning with its place.
type rule struct {
	name  string
	check func(*house) []string
}

var rules = []rule{
	{"imports", importFaults},
	{"libraries", libraryFaults},
	{"purity", purityFaults},
	{"package comment", docFaults},
	{"package name", nameFaults},
	{"file size", sizeFaults},
	{"text", textFaults},
}

// room says what the code of one room may import of this module. "x/..." is x with all below it. Of the rooms that fit a package
// the longest name counts, and a package that no room fits is a breach: whoever builds a room says here what it looks into.
type room struct {
	name string
	may  []string
}

// Source: docs/architecture.md, imports. Test files are free: a test joins parts that must not know each other.
var rooms = []room{
	{"taskmanager/core/condition", nil},
	{"taskmanager/core/catalog", []string{"taskmanager/core/condition"}},
	{"taskmanager/core", []string{"taskmanager/core/catalog", "taskmanager/core/condition"}},
	{"taskmanager/schedule", []string{"taskmanager/core/catalog"}},
	{"taskmanager", []string{"taskmanager/core/...", "taskmanager/schedule"}},
	// Adapters: each sees the core and whoever declares its interface, and no other adapter.
	{"taskmanager/store", []string{"taskmanager", "taskmanager/core/..."}},
	{"taskmanager/storetest", []string{"taskmanager", "taskmanager/core/..."}},
	{"executors", []string{"taskmanager/core/..."}},
	{"executors/...", []string{"executors", "taskmanager/core/..."}},
	{"agent/config", nil},
	{"agent/durable", nil},
	{"agent/identity", []string{"agent/config", "agent/durable"}},
	{"agent/reset", []string{"agent/durable", "agent/identity"}},
	{"agent/clock", nil},
	{"agent/systemd", nil},
	{"agent/local", []string{"taskmanager", "taskmanager/core/...", "bridge/wire"}},
	{"agent/diag", []string{"agent/local", "agent/durable", "agent/identity", "taskmanager", "taskmanager/core/...", "bridge/wire"}},
	{"agent/monitor", []string{"taskmanager", "taskmanager/core/...", "bridge/wire"}},
	{"agent/firmware", []string{"agent/local", "taskmanager", "taskmanager/core/...", "bridge/wire", "packaging/dbus"}},
	{"agent/diag/diagtest", []string{"agent/diag", "agent/identity", "taskmanager", "taskmanager/core/...", "bridge/...", "packaging/..."}},
	{"cloudlink", []string{"bridge/wire"}},
	{"cloudlink/planner/...", []string{"cloudlink/planner/...", "bridge/...", "taskmanager/core/catalog", "taskmanager/core/condition"}},
	{"bridge/wire", nil},
	{"bridge/token", nil},
	{"bridge/catalogfile", []string{"taskmanager/core/...", "packaging/catalog"}},
	{"bridge", []string{"bridge/wire", "bridge/token", "taskmanager/core/...", "taskmanager/schedule"}},
	{"packaging/...", nil},
	{"agent", []string{"agent/config", "agent/clock", "agent/diag", "agent/durable", "agent/firmware", "agent/identity", "agent/local", "agent/monitor", "agent/reset", "taskmanager", "taskmanager/core/...", "taskmanager/store", "executors/...",
		"cloudlink", "bridge", "bridge/wire", "bridge/catalogfile"}},
	{"cmd/deviceagentd", []string{"agent", "agent/...", "bridge/catalogfile", "packaging/...", "taskmanager/core/catalog"}},
	{"cmd/deviceagentctl", []string{"agent", "agent/clock", "agent/config", "agent/diag", "agent/durable", "agent/identity", "agent/reset", "bridge/...", "packaging/...", "taskmanager/core/..."}},
	{"cmd/plannerd", []string{"cloudlink/planner/...", "bridge/...", "packaging/...", "taskmanager/core/catalog"}},
	{"cmd/testbed", []string{"testbed/..."}},
	// The testbed plays the world around all parts, so it may see them; nothing may see the testbed.
	{"testbed/...", []string{"testbed/...", "agent/...", "taskmanager/...", "executors/...", "bridge/...", "cloudlink/...", "packaging/..."}},
}

// within says whether a package is what a pattern means.
func within(pkg, pattern string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return pkg == base || below && strings.HasPrefix(pkg, base+"/")
}

func roomOf(pkg string) *room {
	var found *room
	for i, r := range rooms {
		if within(pkg, r.name) && (found == nil || len(strings.TrimSuffix(r.name, "/...")) > len(strings.TrimSuffix(found.name, "/..."))) {
			found = &rooms[i]
		}
	}
	return found
}

func importFaults(h *house) (faults []string) {
	h.goFiles(false, func(p string, f *ast.File) {
		r := roomOf(path.Dir(p))
		if r == nil {
			faults = append(faults, p+": no room fits this package; say in house_rules_test.go what it may import")
			return
		}
		for _, im := range importsOf(f) {
			pkg, ours := strings.CutPrefix(pathOf(im), module+"/")
			if ours && !slices.ContainsFunc(r.may, func(pattern string) bool { return within(pkg, pattern) }) {
				faults = append(faults, fmt.Sprintf("%s: %s must not import %s", h.at(p, im), r.name, pkg))
			}
		}
	})
	return faults
}

// strangers are packages that must never be in the device's program.
func strangers(linked []string) (faults []string) {
	for _, pkg := range linked {
		for _, no := range []string{module + "/cloudlink/planner/...", module + "/testbed/...", module + "/taskmanager/storetest",
			"github.com/mochi-mqtt/...", "github.com/spf13/...", "testing"} {
			if within(pkg, no) {
				faults = append(faults, "deviceagentd links "+pkg)
			}
		}
	}
	return faults
}

var coreRoom = "taskmanager/core/..."

// coreMay is all that the core may import of the standard library.
var coreMay = []string{"cmp", "errors", "fmt", "maps", "slices", "strconv", "strings", "time"}

// libraryFaults: the core lives of a few pure packages, the Manager of those and two libraries.
func libraryFaults(h *house) (faults []string) {
	h.goFiles(false, func(p string, f *ast.File) {
		for _, im := range importsOf(f) {
			name, dir := pathOf(im), path.Dir(p)
			outside := strings.Contains(name, ".") // a library; our own packages are the matter of the imports rule
			ours := strings.HasPrefix(name, module+"/")
			switch {
			case within(dir, coreRoom) && !ours && !slices.Contains(coreMay, name):
			case dir == "taskmanager" && outside && !slices.Contains([]string{"github.com/fxamacker/cbor/v2", "github.com/rs/zerolog"}, name):
			default:
				continue
			}
			faults = append(faults, fmt.Sprintf("%s: %s must not import %s", h.at(p, im), dir, name))
		}
	})
	return faults
}

// impure are the parts of package time that read a clock, wait, or depend on the machine's place.
var impure = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep", "Local", "LoadLocation"}

// purityFaults: the core decides; it neither reads a clock nor acts beside its caller.
func purityFaults(h *house) (faults []string) {
	h.goFiles(false, func(p string, f *ast.File) {
		if !within(path.Dir(p), coreRoom) && !within(path.Dir(p), "taskmanager/schedule") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if what := impurity(n); what != "" {
				faults = append(faults, h.at(p, n)+": "+what+" does not belong into a pure package")
			}
			return true
		})
	})
	return faults
}

func impurity(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement"
	case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
		return "a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a channel"
		}
	case *ast.ImportSpec:
		if p := pathOf(n); p == "math/rand" || p == "math/rand/v2" || p == "time" && n.Name != nil {
			return "import " + p // a renamed time would hide what is looked for
		}
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(impure, n.Sel.Name) {
			return "time." + n.Sel.Name
		}
	}
	return ""
}

var emptyPhrase = regexp.MustCompile(`(?i)\b(contains|provides)\b.*\b(helpers|utilities|utils)\b`)

// docFaults: each package says its one job, what it promises and what it must not do; that takes more than one line.
func docFaults(h *house) (faults []string) {
	docs, names := map[string]string{}, map[string]string{} // by folder
	var dirs []string
	h.goFiles(false, func(p string, f *ast.File) {
		dir := path.Dir(p)
		if _, known := docs[dir]; !known {
			dirs = append(dirs, dir)
		}
		docs[dir], names[dir] = docs[dir]+f.Doc.Text(), f.Name.Name
	})
	for _, dir := range dirs {
		text := strings.TrimSpace(docs[dir])
		begin := "Package " + names[dir] + " "
		if names[dir] == "main" {
			begin = "Command " + path.Base(dir) + " "
		}
		switch {
		case text == "":
			faults = append(faults, dir+": no package comment")
		case !strings.HasPrefix(text, begin):
			faults = append(faults, dir+": the package comment does not begin with "+begin)
		case strings.Count(text, "\n") == 0:
			faults = append(faults, dir+": the package comment has one line; say the job, the promise and the limit")
		case emptyPhrase.MatchString(strings.SplitN(text, "\n", 2)[0]):
			faults = append(faults, dir+": the package comment says nothing")
		}
	}
	return faults
}

var emptyNames = []string{"util", "utils", "common", "types", "models", "interfaces", "helpers"}

func nameFaults(h *house) (faults []string) {
	h.goFiles(true, func(p string, f *ast.File) {
		if slices.Contains(emptyNames, f.Name.Name) || slices.Contains(emptyNames, path.Base(path.Dir(p))) {
			faults = append(faults, p+": a package of this name has no job")
		}
	})
	return faults
}

const maxGoFile = 40 << 10 // bytes: what one can still read in one go

func sizeFaults(h *house) (faults []string) {
	for _, p := range h.paths {
		if path.Ext(p) == ".go" && len(h.texts[p]) > maxGoFile {
			faults = append(faults, fmt.Sprintf("%s: %d bytes, at most %d", p, len(h.texts[p]), maxGoFile))
		}
	}
	return faults
}

// foreign is what ties the repository to one machine or one network. Written in parts, so that this file does not hold it.
var foreign = regexp.MustCompile(`(^|[^A-Za-z0-9_.~-])/(wo` + `rk|ro` + `ot|tm` + `p|home/[a-z]+)/` +
	`|\.\./sha` + `red\b|proxy\.gol` + `ang\.org|sum\.gol` + `ang\.org|gopro` + `xy\.(io|cn)|registry\.np` + `mjs\.org|py` + `pi\.org|deb\.deb` + `ian\.org|gh` + `cr\.io`)

func textFaults(h *house) (faults []string) {
	for _, p := range h.paths {
		if bytes.IndexByte(h.texts[p], 0) >= 0 {
			continue // binary, as the kept database files
		}
		for i, line := range bytes.Split(h.texts[p], []byte("\n")) {
			if found := foreign.Find(line); found != nil {
				faults = append(faults, fmt.Sprintf("%s:%d: %q belongs to one machine or network", p, i+1, found))
			}
		}
	}
	return faults
}
