package eval

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

// Planner is what is measured.
type Planner interface {
	Plan(context.Context, turn.Input) (turn.Decision, error)
}

// compiler is a planner that also compiles what it decided.
type compiler interface {
	Compile(turn.Input, turn.Decision) error
}

// FamilyReport is how a planner did on rows with a route family. Strict counts the label alone, lenient also the families that the
// row's note accepts. Tier A are rows whose label follows from the source alone. FalseODL is over the rows that are neither labelled nor
// accepted as ODL; StrayActs are rows not labelled ODL that were given a step or a control: none is right.
type FamilyReport struct {
	Kind       Kind                      `json:"kind"`
	Rows       int                       `json:"rows"`
	Strict     Ratio                     `json:"strict"`
	Lenient    Ratio                     `json:"lenient"`
	TierA      Ratio                     `json:"tier_a"`
	TierB      Ratio                     `json:"tier_b"`
	FalseODL   Ratio                     `json:"false_odl"`
	StrayActs  int                       `json:"stray_acts"`
	MacroF1    float64                   `json:"macro_f1"`
	Intervals  map[string][]float64      `json:"intervals"`    // 95 %, by Wilson, of the shares above
	Prior      Ratio                     `json:"ranked_prior"` // strict, had the first of the ranked flows decided alone
	Second     SecondPasses              `json:"second_pass"`
	PerFamily  map[string]*Score         `json:"per_family"`
	PerSource  map[string]*Ratio         `json:"per_source"`
	Confusion  map[string]map[string]int `json:"confusion"` // labelled → decided → rows
	ModelCalls int64                     `json:"model_calls"`
	TurnMS     Times                     `json:"turn_ms"`
	Compiled   Ratio                     `json:"compiled"` // of the decisions with steps: those that compile to a plan without a fault
	CompileMS  Times                     `json:"compile_ms"`
	Wrong      []Wrong                   `json:"wrong"`
}

// SecondPasses counts how often the narrow question was asked, how often its answer was another family, and how often that was the label.
type SecondPasses struct {
	Opened  int `json:"opened"`
	Changed int `json:"changed"`
	Mended  int `json:"mended"`
	Spoilt  int `json:"spoilt"`
}

// Wrong is a row that was decided otherwise than labelled.
type Wrong struct {
	ID       string `json:"id"`
	Labelled string `json:"labelled"`
	Decided  string `json:"decided"`
	Accepted bool   `json:"accepted,omitempty"`

	Text string `json:"-"`
}

// MeasureFamilies asks the planner about each row. Errors are the planner's.
func MeasureFamilies(ctx context.Context, p Planner, rows []Row) (FamilyReport, error) {
	rep := FamilyReport{Kind: Families, Rows: len(rows), PerFamily: map[string]*Score{}, PerSource: map[string]*Ratio{}, Confusion: map[string]map[string]int{}}
	took := make([]time.Duration, 0, len(rows))
	var compiling []time.Duration
	comp, compiles := p.(compiler)
	for _, row := range rows {
		in := turn.Input{TurnID: row.ID, Text: row.Text}
		begin := time.Now()
		d, err := p.Plan(ctx, in)
		if err != nil {
			return rep, fmt.Errorf("cannot plan %s: %w", row.ID, err)
		}
		took = append(took, time.Since(begin))
		if compiles && len(d.Steps) > 0 {
			begin = time.Now()
			rep.Compiled.add(comp.Compile(in, d) == nil)
			compiling = append(compiling, time.Since(begin))
		}
		rep.count(row, d)
	}
	rep.MacroF1, rep.TurnMS, rep.CompileMS = macro(rep.PerFamily), timesOf(took), timesOf(compiling)
	rep.Intervals = map[string][]float64{"strict": rep.Strict.within(), "lenient": rep.Lenient.within(), "tier_a": rep.TierA.within(), "tier_b": rep.TierB.within(), "false_odl": rep.FalseODL.within()}
	return rep, nil
}

func (rep *FamilyReport) trace(row Row, t *turn.Trace) {
	rep.Prior.add(string(t.Ranked.Owner) == row.Family)
	if t.Second == nil {
		return
	}
	rep.Second.Opened++
	if !t.Second.Changed || t.Main == nil {
		return
	}
	rep.Second.Changed++
	switch row.Family {
	case string(t.Second.Family):
		rep.Second.Mended++
	case string(t.Main.Family):
		rep.Second.Spoilt++
	}
}

func (rep *FamilyReport) count(row Row, d turn.Decision) {
	got := string(d.OwnerSelection)
	right, fair := got == row.Family, row.accepts(got)
	rep.Strict.add(right)
	rep.Lenient.add(fair)
	switch row.note("tier") {
	case "A":
		rep.TierA.add(right)
	case "B":
		rep.TierB.add(right)
	}
	if !row.accepts(string(turn.ODL)) {
		rep.FalseODL.add(got == string(turn.ODL))
	}
	if d.Trace != nil {
		rep.trace(row, d.Trace)
	}
	if row.Family != string(turn.ODL) && (len(d.Steps) > 0 && d.Schedule == nil || d.Control != nil) { // what is kept for a time does nothing now
		rep.StrayActs++
	}
	entry(rep.PerFamily, got).Decided++
	entry(rep.PerFamily, row.Family).Labelled++
	if right {
		entry(rep.PerFamily, got).Hits++
	} else {
		rep.Wrong = append(rep.Wrong, Wrong{ID: row.ID, Labelled: row.Family, Decided: got, Accepted: fair, Text: row.Text})
	}
	entry(rep.PerSource, row.Source).add(right)
	if rep.Confusion[row.Family] == nil {
		rep.Confusion[row.Family] = map[string]int{}
	}
	rep.Confusion[row.Family][got]++
	rep.ModelCalls += d.ModelCalls
}

func entry[T any](m map[string]*T, key string) *T {
	if m[key] == nil {
		m[key] = new(T)
	}
	return m[key]
}

// Print writes the report for people. With wrong, also each row that was decided otherwise.
func (rep FamilyReport) Print(w io.Writer, wrong bool) {
	if wrong {
		for _, x := range rep.Wrong {
			say(w, "%-9s %-8s for %-8s %s\n", x.ID, x.Decided, x.Labelled, x.Text)
		}
	}
	say(w, "rows %d, 95 %% intervals in parentheses\nstrict    %s\nlenient   %s\ntier A    %s\ntier B    %s\n", rep.Rows, rep.Strict.Between(), rep.Lenient.Between(), rep.TierA.Between(), rep.TierB.Between())
	say(w, "false ODL %s, rows of others with a step %d\nmacro F1  %.3f\n", rep.FalseODL.Between(), rep.StrayActs, rep.MacroF1)
	say(w, "second pass asked in %d, another family in %d (%d mended, %d spoilt); the ranked flows alone %s\n\n", rep.Second.Opened, rep.Second.Changed, rep.Second.Mended, rep.Second.Spoilt, rep.Prior)
	names := slices.Sorted(maps.Keys(rep.PerFamily))
	say(w, "%-9s", "label")
	for _, name := range names {
		say(w, " %8s", name)
	}
	say(w, "\n")
	for _, label := range names {
		say(w, "%-9s", label)
		for _, got := range names {
			say(w, " %8d", rep.Confusion[label][got])
		}
		say(w, "   %s\n", rep.PerFamily[label])
	}
	say(w, "\n")
	for _, source := range slices.Sorted(maps.Keys(rep.PerSource)) {
		say(w, "%-16s %s\n", source, rep.PerSource[source])
	}
	say(w, "\nmodel calls %d, a turn %.2f ms (p50), %.2f ms (p95), %.2f ms (p99)\n", rep.ModelCalls, rep.TurnMS.P50, rep.TurnMS.P95, rep.TurnMS.P99)
	say(w, "plans without a fault %s, compiled in %.2f ms (p50), %.2f ms (p95)\n", rep.Compiled, rep.CompileMS.P50, rep.CompileMS.P95)
}

func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
