package core_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// TestDocs holds the tables in the documentation against those in the code.
func TestDocs(t *testing.T) {
	tables(t, "../../docs/taskmanager.md", map[string]string{"moves": movesTable(), "cells": cellsTable(), "workflow": workflowTable(), "reasons": reasonsTable(), "movers": moversTable()})
	tables(t, "../../docs/experience.md", map[string]string{"goals": goalsTable(), "rulings": rulingsTable(), "gate": gateTable(), "trace": traceTable()})
}

func tables(t *testing.T, docFile string, made map[string]string) {
	t.Helper()
	b, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	want := string(b)
	for name, table := range made {
		begin, end := "<!-- generated:"+name+" -->\n", "<!-- /generated -->"
		before, rest, ok := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no place for the table %q", docFile, name)
		}
		want = before + begin + table + end + after
	}
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatalf("the tables in %s are not those of the code; write them with: go test ./taskmanager/core -run TestDocs -update", docFile)
	}
	if err := os.WriteFile(docFile, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func movesTable() string {
	var b strings.Builder
	b.WriteString("| from | to |\n| --- | --- |\n")
	for _, s := range core.StepStates {
		var to []string
		for _, next := range core.Moves(s) {
			to = append(to, "`"+string(next)+"`")
		}
		if s.Terminal() {
			to = []string{"nothing"}
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", s, strings.Join(to, " "))
	}
	return b.String()
}

func goalsTable() string {
	var b strings.Builder
	b.WriteString("| state | when |\n| --- | --- |\n")
	for _, d := range core.GoalDerivations {
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.State, d.When)
	}
	return b.String()
}

func rulingsTable() string {
	var b strings.Builder
	b.WriteString("| observation | what was seen | no goal | under way | suspended | ended, its plan has not | may ask the cloud |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	cell := func(list []core.Decision) string {
		var out []string
		for _, d := range list {
			out = append(out, "`"+string(d)+"`")
		}
		return strings.Join(out, " ")
	}
	for _, r := range core.Rulings {
		may := ""
		if r.MayAsk() {
			may = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", r.On, r.Text, cell(r.Plain), cell(r.Live), cell(r.Held), cell(r.Over), may)
	}
	return b.String()
}

func gateTable() string {
	var b strings.Builder
	b.WriteString("| refused | what has to hold | for plain plans too | a lost goal then falls back |\n| --- | --- | --- | --- |\n")
	yes := map[bool]string{true: "yes"}
	for _, c := range core.Gate {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Refused, c.Text, yes[!c.GoalOnly], yes[c.Falls])
	}
	return b.String()
}

func traceTable() string {
	var b strings.Builder
	b.WriteString("| stage | says | when |\n| --- | --- | --- |\n")
	for _, w := range core.TraceWords {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", w.Stage, w.What, w.Text)
	}
	return b.String()
}

func moversTable() string {
	var b strings.Builder
	b.WriteString("| state | needs one of |\n| --- | --- |\n")
	for _, s := range core.StepStates {
		if !s.Terminal() {
			fmt.Fprintf(&b, "| `%s` | %s |\n", s, strings.Join(core.Movers(s), ", "))
		}
	}
	return b.String()
}

func cellsTable() string {
	var b strings.Builder
	var live []core.StepState
	for _, s := range core.StepStates {
		if _, reachable := inState[s]; reachable && !s.Terminal() {
			live = append(live, s)
		}
	}
	b.WriteString("| what happens |")
	for _, s := range live {
		fmt.Fprintf(&b, " `%s` |", s)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" --- |", len(live)) + "\n")
	for _, on := range core.Stimuli {
		fmt.Fprintf(&b, "| %s |", on)
		for _, s := range live {
			if to := core.Next(s, on); to != s {
				fmt.Fprintf(&b, " %s |", to)
			} else {
				b.WriteString(" · |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func workflowTable() string {
	var b strings.Builder
	b.WriteString("| state | when |\n| --- | --- |\n")
	for _, d := range core.Derivations {
		fmt.Fprintf(&b, "| `%s` | %s |\n", d.State, d.When)
	}
	return b.String()
}

func reasonsTable() string {
	var b strings.Builder
	b.WriteString("| reason_code | class | recoverable | requires_cloud_decision | meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range core.Reasons {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Code, r.Class, yes(r.Recoverable), yes(r.NeedsCloud), r.Text)
	}
	return b.String()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
