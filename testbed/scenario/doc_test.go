package scenario

import (
	"os"
	"strings"
	"testing"
)

// The document names every header, verb and kind, and its example is the file itself.
func TestTheDocumentIsComplete(t *testing.T) {
	data, err := os.ReadFile("../../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	words := append([]string{}, kinds...)
	for w := range headers {
		words = append(words, w)
	}
	for w := range verbs {
		words = append(words, w)
	}
	named := map[string]bool{}
	for i, part := range strings.Split(doc, "`") {
		if i%2 == 1 {
			for w := range strings.FieldsSeq(part) {
				named[strings.Trim(w, ",[]")] = true
			}
		}
	}
	for _, w := range words {
		if !named[w] {
			t.Errorf("docs/scenarios.md does not name %q", w)
		}
	}
	example, err := os.ReadFile("../scenarios/S01.scn")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Parse("S01.scn", string(example))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(doc, "## A file\n\n```\n")
	text, _, _ := strings.Cut(rest, "```")
	got, err := Parse("docs/scenarios.md", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(Compare(got.Expect, asFacts(want.Expect))) > 0 || got.Title != want.Title {
		t.Error("the example of docs/scenarios.md is not testbed/scenarios/S01.scn")
	}
}

func asFacts(lines []Line) (out []Fact) {
	for _, l := range lines {
		out = append(out, Fact{l.Kind, l.Text})
	}
	return out
}
