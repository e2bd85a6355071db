package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner"
	"deviceagent/cloudlink/planner/turn"
)

var update = flag.Bool("update", false, "write the golden files of this package anew")

// plansBefore are the plans of the sentences of the guide and of the scenarios, as a digest of their bytes, written down by a planner
// that did not know experiences yet. Where the planner itself plans a sentence otherwise now, -update writes them anew, by the planner
// without them.
const plansBefore = "testdata/plans-before.golden"

// planned is the plan of a sentence as it goes out, with its goal apart; nil: nothing is sent.
func planned(t *testing.T, opt planner.Options, in turn.Input) *wire.Plan {
	t.Helper()
	d, err := opt.Planner.Plan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Steps) == 0 {
		return nil
	}
	plan, err := opt.Compile(in, d, planner.IDs{WorkflowID: "wf_1", PlanID: "pl_1"})
	if err != nil {
		t.Fatalf("%q: %v", in.Text, err)
	}
	if faults := opt.Check(*plan, nil); len(faults) > 0 {
		t.Errorf("%q: the plan has faults: %v", in.Text, faults)
	}
	plan.Workflow.CatalogEtag = "" // the catalog has entries that have nothing to do with a sentence
	return plan
}

func written(t *testing.T, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func partsWith(t *testing.T, experiences bool) planner.Options {
	t.Helper()
	opt, err := parts(settings{experiences: experiences}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return opt
}

// TestRollback: without experiences a plan is byte by byte what it was before there were any; with them it has the same steps, and
// beside them a goal at most.
func TestRollback(t *testing.T) {
	off, on := partsWith(t, false), partsWith(t, true)
	golden, err := os.ReadFile(plansBefore)
	if err != nil {
		t.Fatal(err)
	}
	var now bytes.Buffer
	plans, goals := 0, 0
	check := func(text, want string) {
		in := turn.Input{TurnID: "t", Text: text, Around: turn.Around{Tier: "full"}}
		plain, full := planned(t, off, in), planned(t, on, in)
		if plain == nil || full == nil {
			if plain != full {
				t.Errorf("%q: a plan on one side only", text)
			}
			return
		}
		plans++
		bare := written(t, plain)
		digest := fmt.Sprintf("%x", sha256.Sum256(bare))
		_, _ = fmt.Fprintf(&now, "%s %s\n", digest, text)
		switch {
		case plain.Experience != nil:
			t.Errorf("%q: a goal where experiences are off", text)
		case want != "" && digest != want && !*update:
			t.Errorf("%q: the plan is not what it was before there were experiences: %s", text, bare)
		}
		if full.Experience != nil {
			goals++
		}
		if full.Experience = nil; !bytes.Equal(written(t, full), bare) {
			t.Errorf("%q: with experiences its steps are others", text)
		}
	}
	for line := range strings.Lines(string(golden)) {
		digest, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		check(text, digest)
	}
	if before := len(strings.Split(strings.TrimSpace(string(golden)), "\n")); plans != before && !*update {
		t.Errorf("%d of the sentences have a plan, %d had one", plans, before)
	}
	if *update {
		if err := os.WriteFile(plansBefore, now.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := os.ReadFile("../../testbed/admission.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(rows) {
		var r struct{ Text string }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		check(r.Text, "")
	}
	if plans < 200 || goals < 10 {
		t.Errorf("%d plans, %d of them with a goal: too few to say anything", plans, goals)
	}
}
