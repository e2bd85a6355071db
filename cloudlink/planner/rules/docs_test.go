package rules

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/planner.md anew")

const (
	docFile  = "../../../docs/planner.md"
	docBegin = "<!-- sentences: begin, written by go test ./cloudlink/planner/rules -run TestDocs -update -->\n"
	docEnd   = "<!-- sentences: end -->\n"
)

// TestDocs holds the table of understood sentences in the documentation to the tested ones.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), docBegin)
	old, after, ok2 := strings.Cut(rest, docEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", docFile)
	}
	table := docTable()
	if old == table {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is not the tested one; run this test with -update", docFile)
	}
	if err := os.WriteFile(docFile, []byte(before+docBegin+table+docEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func docTable() string {
	var b strings.Builder
	for _, g := range groups {
		b.WriteString("\n### " + strings.ToUpper(g.name[:1]) + g.name[1:] + "\n\n| said | planned |\n| --- | --- |\n")
		for _, row := range g.rows {
			said := row.said
			if said == "" {
				said = "(nothing)"
			}
			b.WriteString("| " + said + " | `" + strings.ReplaceAll(row.want, "|", "\\|") + "` |\n")
		}
	}
	return b.String() + "\n"
}
