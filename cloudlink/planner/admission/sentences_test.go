package admission_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"deviceagent/cloudlink/planner/admission"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
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

// TestMoreSentences: what was written after the words that admission knows is judged as well as what was written before them.
func TestMoreSentences(t *testing.T) {
	data, err := os.ReadFile("testdata/more.txt")
	if err != nil {
		t.Fatal(err)
	}
	cat, words := load(t)
	planner, judge := rules.New(cat, words), admission.New(cat)
	asks, found, others := 0, 0, 0
	for line := range strings.Lines(string(data)) {
		mark, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if mark == "#" {
			continue
		}
		in := turn.Input{TurnID: "t", Text: text}
		d, err := planner.Plan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		x := judge.Judge(in, d)
		is := x.Admission != turn.NotAdmitted
		if mark == "-" {
			others++
			if is {
				t.Errorf("%q is admitted: %s on %v", text, x.ReasonCode, x.Axes)
			}
			continue
		}
		if asks++; is {
			found++
		}
	}
	if asks != 60 || others != 60 || found*10 < asks*9 {
		t.Errorf("%d of %d that ask for more than orders are admitted, beside %d others", found, asks, others)
	}
}

// TestNeitherLengthNorHelpAdmits: what is no goal does not become one by a request for help, by a word of comfort, or by being said
// after something else that is none.
func TestNeitherLengthNorHelpAdmits(t *testing.T) {
	cat, _ := load(t)
	judge := admission.New(cat)
	rows, err := os.ReadFile("../../../testbed/admission.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	before, tried := "", 0
	for line := range bytes.Lines(rows) {
		var r struct {
			Text     string
			Family   turn.Family
			Admitted bool
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Admitted {
			continue
		}
		for _, text := range []string{r.Text + " 도와줘", "편하게 " + r.Text, "제발 부탁이니까 정말로 " + r.Text, before + " " + r.Text} {
			tried++
			if x := judge.Judge(turn.Input{Text: text}, turn.Decision{OwnerSelection: r.Family}); x.Admission != turn.NotAdmitted {
				t.Errorf("%q is admitted: %s on %v", text, x.ReasonCode, x.Axes)
			}
		}
		if before = ""; r.Family == turn.FRG || r.Family == turn.SCH {
			before = r.Text + "."
		}
	}
	if tried != 800 {
		t.Errorf("%d tried", tried)
	}
}
