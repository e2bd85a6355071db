package eval

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

// StructureReport is how the shapes of commands were found. A row may have several; each shape has its own F1. Exact counts the rows
// with all of their shapes and no other. Acts is told beside it: of rows about other things none may act.
type StructureReport struct {
	Kind         Kind              `json:"kind"`
	Rows         int               `json:"rows"`
	Exact        Ratio             `json:"exact"`
	MacroF1      float64           `json:"macro_f1"`
	PerStructure map[string]*Score `json:"per_structure"`
	Acts         int               `json:"acts"` // rows with a step or a control
	ModelCalls   int64             `json:"model_calls"`
	TurnMS       Times             `json:"turn_ms"`
	Wrong        []Wrong           `json:"wrong"`
}

// MeasureStructures asks the planner about each row. Errors are the planner's.
func MeasureStructures(ctx context.Context, p Planner, rows []Row) (StructureReport, error) {
	rep := StructureReport{Kind: Structures, Rows: len(rows), PerStructure: map[string]*Score{}}
	var took []time.Duration
	for _, row := range rows {
		begin := time.Now()
		d, err := p.Plan(ctx, turn.Input{TurnID: row.ID, Text: row.Text})
		if err != nil {
			return rep, fmt.Errorf("cannot plan %s: %w", row.ID, err)
		}
		took = append(took, time.Since(begin))
		rep.count(row, d)
	}
	rep.MacroF1, rep.TurnMS = macro(rep.PerStructure), timesOf(took)
	return rep, nil
}

func (rep *StructureReport) count(row Row, d turn.Decision) {
	for _, s := range d.Structure {
		entry(rep.PerStructure, s).Decided++
		if slices.Contains(row.Structure, s) {
			entry(rep.PerStructure, s).Hits++
		}
	}
	for _, s := range row.Structure {
		entry(rep.PerStructure, s).Labelled++
	}
	want, got := slices.Sorted(slices.Values(row.Structure)), slices.Sorted(slices.Values(d.Structure))
	rep.Exact.add(slices.Equal(want, got))
	if !slices.Equal(want, got) {
		rep.Wrong = append(rep.Wrong, Wrong{ID: row.ID, Labelled: strings.Join(want, "+"), Decided: strings.Join(got, "+"), Text: row.Text})
	}
	if len(d.Steps) > 0 || d.Control != nil {
		rep.Acts++
	}
	rep.ModelCalls += d.ModelCalls
}

// Print writes the report for people.
func (rep StructureReport) Print(w io.Writer, wrong bool) {
	if wrong {
		for _, x := range rep.Wrong {
			say(w, "%-14s %s for %s: %s\n", x.ID, x.Decided, x.Labelled, x.Text)
		}
	}
	say(w, "rows %d\nexact    %s\nmacro F1 %.3f\n", rep.Rows, rep.Exact, rep.MacroF1)
	for _, name := range slices.Sorted(maps.Keys(rep.PerStructure)) {
		f1, _ := rep.PerStructure[name].F1()
		say(w, "%-12s F1 %.3f, %s\n", name, f1, rep.PerStructure[name])
	}
	say(w, "rows with a step %d, model calls %d, a turn %.2f ms (p50), %.2f ms (p99)\n", rep.Acts, rep.ModelCalls, rep.TurnMS.P50, rep.TurnMS.P99)
}
