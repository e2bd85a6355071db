package doctest

import (
	"fmt"
	"regexp"
	"strings"
)

// OriginalOf names the page that a page translates: docs/x.ko.md translates docs/x.md. ok is false for a page that translates none.
func OriginalOf(path string) (original string, ok bool) {
	base, found := strings.CutSuffix(path, ".ko.md")
	return base + ".md", found
}

var remarkForm = regexp.MustCompile(`(?m)(^|[ \t]+)#[ \t].*$`)

// DifferencesOf says where a translation lets its reader do anything else than the original. Remarks behind "# " and the reasons
// of what is not run are words, and may differ.
func DifferencesOf(original, translation Page) (faults []string) {
	a, b := original.Blocks, translation.Blocks
	for i := range min(len(a), len(b)) {
		if x, y := essence(a[i]), essence(b[i]); x != y {
			return append(faults, fmt.Sprintf("%s:%d: not as %s:%d\n  here\n%s\n  there\n%s", translation.Path, b[i].Line, original.Path, a[i].Line,
				indented(strings.Split(y, "\n")), indented(strings.Split(x, "\n"))))
		}
	}
	if len(a) != len(b) {
		faults = append(faults, fmt.Sprintf("%s: has %d blocks, %s has %d", translation.Path, len(b), original.Path, len(a)))
	}
	return faults
}

// essence is all of a block that counts, as text.
func essence(b Block) string {
	text := b.Text
	if b.Kind != File {
		text = remarkForm.ReplaceAllString(text, "")
	}
	shown := "shows nothing"
	if b.Shown != nil {
		shown = fmt.Sprintf("shows, exit %d\n%s", b.Shown.Exit, strings.Join(b.Shown.Lines, "\n"))
	}
	return fmt.Sprintf("%s %s run %t on %q ctrl-c %s\n%s%s", b.Kind, b.File, b.NotRun == "", b.On, b.CtrlC, text, shown)
}
