// Package metrics judges how goals were kept by what devices have stored: it holds the evidence rows against the catalog itself, and
// believes no state that the core derived, but for what the device claims. It reads, and changes nothing. The formulas:
// docs/scenarios.md, metrics.
package metrics

import (
	"fmt"
	"io"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Figure is one number with what it is made of. Value is nil where the denominator is 0: there is nothing to say then, least of all 0 or 1.
type Figure struct {
	Name        string   `json:"name"`
	Numerator   int64    `json:"numerator"`
	Denominator int64    `json:"denominator"`
	Value       *float64 `json:"value"`
	IDs         []string `json:"ids"`    // counted in the denominator
	Not         []string `json:"not_in"` // of those, the ones that the numerator lacks; empty for a mean
}

// Report is what a set of stores says.
type Report struct {
	Stores  int      `json:"stores"`
	Plans   int      `json:"plans"`    // workflows with and without a goal
	Goals   int      `json:"goals"`    // activated: those that a device took in
	Aside   []string `json:"aside"`    // workflows whose records cannot be read: nothing is said about them
	Invalid []string `json:"invalid"`  // completed goals whose evidence does not hold, and why
	Figures []Figure `json:"measured"` // in the order of the guide
}

// Tally collects workflows. The zero value is ready for use once it has a catalog.
type Tally struct {
	Catalog *catalog.Catalog
	rep     Report
	names   []string

	completed, reached, activated, replanned, recovered []string
	decisions, replans, uplink                          int64
}

// Store adds what one store holds; name leads the ids, with the number of the store where another one has it already.
func (t *Tally) Store(name string, all []*core.Workflow, aside []string) {
	t.rep.Stores++
	if slices.Contains(t.names, name) {
		name = fmt.Sprintf("%s#%d", name, t.rep.Stores)
	}
	t.names = append(t.names, name)
	for _, id := range aside {
		t.rep.Aside = append(t.rep.Aside, name+" "+id)
	}
	for _, wf := range all {
		t.rep.Plans++
		t.workflow(name+" "+string(wf.Plan.Workflow), wf)
	}
}

func (t *Tally) workflow(id string, wf *core.Workflow) {
	replans := replansOf(wf)
	if replans > 0 {
		t.replanned = append(t.replanned, id)
	}
	if wf.Plan.Goal == nil {
		if replans > 0 && wf.State == core.WfCompleted {
			t.recovered = append(t.recovered, id)
		}
		return
	}
	t.activated = append(t.activated, id)
	t.decisions, t.replans, t.uplink = t.decisions+int64(len(wf.Escalations)), t.replans+replans, t.uplink+wf.Uplink
	why := t.lacks(wf)
	if why == "" {
		t.reached = append(t.reached, id)
		if replans > 0 {
			t.recovered = append(t.recovered, id)
		}
	}
	if wf.Goal == core.GoalCompleted {
		t.completed = append(t.completed, id)
		if why != "" {
			t.rep.Invalid = append(t.rep.Invalid, id+": "+why)
		}
	}
}

func replansOf(wf *core.Workflow) (n int64) {
	for _, e := range wf.Escalations {
		if e.State == core.EscDecided && slices.Contains([]core.Action{core.ActReplan, core.ActSubstitute, core.ActReturn}, e.Action) {
			n++
		}
	}
	return n
}

// Report sums up.
func (t *Tally) Report() Report {
	t.rep.Goals = len(t.activated)
	valid := slices.DeleteFunc(slices.Clone(t.completed), func(id string) bool { return !slices.Contains(t.reached, id) })
	t.rep.Figures = []Figure{
		share("terminal_evidence_integrity", valid, t.completed),
		share("goal_completion_rate", t.reached, t.activated),
		share("replan_utility", t.recovered, t.replanned),
		mean("decisions_per_goal", t.decisions, t.activated),
		mean("replans_per_goal", t.replans, t.activated),
		mean("uplink_messages_per_goal", t.uplink, t.activated),
	}
	return t.rep
}

func share(name string, of, all []string) Figure {
	f := mean(name, int64(len(of)), all)
	for _, id := range all {
		if !slices.Contains(of, id) {
			f.Not = append(f.Not, id)
		}
	}
	return f
}

func mean(name string, sum int64, all []string) Figure {
	f := Figure{Name: name, Numerator: sum, Denominator: int64(len(all)), IDs: append([]string{}, all...), Not: []string{}}
	if len(all) > 0 {
		f.Value = new(float64(sum) / float64(len(all)))
	}
	return f
}

// Print writes the report for people. Ids are listed where the numerator lacks some; all of them are in the JSON.
func (r Report) Print(to io.Writer) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(to, format+"\n", args...) }
	say("%d stores, %d plans, %d of them with a goal", r.Stores, r.Plans, r.Goals)
	for _, f := range r.Figures {
		value := "n/a"
		if f.Value != nil {
			value = fmt.Sprintf("%.2f", *f.Value)
		}
		say("%-28s %5s  (%d/%d)", f.Name, value, f.Numerator, f.Denominator)
		for _, id := range f.Not {
			say("    not %s", id)
		}
	}
	for _, text := range r.Invalid {
		say("no valid evidence: %s", text)
	}
	for _, id := range r.Aside {
		say("cannot be read, not counted: %s", id)
	}
}

// Figure finds one by its name.
func (r Report) Figure(name string) Figure {
	i := slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		panic("internal error: no figure " + name)
	}
	return r.Figures[i]
}
