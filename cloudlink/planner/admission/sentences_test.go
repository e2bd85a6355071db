package admission_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// sentences are those of the guide's tables, and those that admission is measured on.
func sentences(t *testing.T) (out []string) {
	t.Helper()
	guide, err := os.ReadFile("../../../docs/planner.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(guide), "<!-- sentences: begin")
	if table, _, _ = strings.Cut(table, "<!-- sentences: end -->"); !ok {
		t.Fatal("docs/planner.md has no table of sentences")
	}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			out = append(out, strings.TrimSpace(cells[1]))
		}
	}
	rows, err := os.ReadFile("../../../testbed/admission.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(rows) {
		var r struct{ Text string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r.Text)
	}
	if len(out) < 500 {
		t.Fatalf("%d sentences: the tables were not found", len(out))
	}
	return out
}
