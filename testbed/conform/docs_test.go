package conform_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"deviceagent/testbed/conform"
)

// Each check has its section in the page that a report names, in the same order and with the same words.
func TestThePageHasASectionForEachCheck(t *testing.T) {
	page, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n## The checks\n")
	if !found {
		t.Fatal("no part \"The checks\"")
	}
	var ids []conform.ID
	for _, section := range strings.Split(text, "\n### ")[1:] {
		name, body, _ := strings.Cut(section, "\n")
		id := conform.ID(name)
		ids = append(ids, id)
		title, mend := conform.About(id)
		for _, part := range []string{"\n" + title + ".\n", "**Done:** ", "**Why:** ", "**To mend:** " + mend + "\n"} {
			if !strings.Contains(body, part) {
				t.Errorf("%s lacks %q", id, part)
			}
		}
	}
	if !slices.Equal(ids, conform.IDs()) {
		t.Errorf("sections %v\nchecks   %v", ids, conform.IDs())
	}
}
