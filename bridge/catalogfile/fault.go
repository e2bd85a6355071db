package catalogfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Fault is one thing that is wrong with a catalog file. Line counts from 1 and is 0 where no line can be given; Column is given for
// syntax faults only. Path leads to the member ("operations.setMoveTo.timeout"); "" is the file.
type Fault struct {
	File    string
	Line    int
	Column  int
	Path    string
	Message string
}

// String gives "operations.json:31: operations.setMoveTo.timeout: is missing".
func (f Fault) String() string {
	var text strings.Builder
	text.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&text, ":%d", f.Line)
	}
	if f.Column > 0 {
		fmt.Fprintf(&text, ":%d", f.Column)
	}
	if f.Path != "" {
		text.WriteString(": " + f.Path)
	}
	return text.String() + ": " + f.Message
}

// Error holds every fault of every file, in order of file and line.
type Error struct{ Faults []Fault }

// Error gives one fault a line.
func (e *Error) Error() string {
	lines := []string{fmt.Sprintf("cannot load the catalog: %d faults", len(e.Faults))}
	if len(e.Faults) == 1 {
		lines[0] = "cannot load the catalog: 1 fault"
	}
	for _, fault := range e.Faults {
		lines = append(lines, fault.String())
	}
	return strings.Join(lines, "\n")
}

func sorted(faults []Fault) []Fault {
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	})
	return slices.Compact(faults)
}
