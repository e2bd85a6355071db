package eval

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"deviceagent/cloudlink/planner/turn"
)

// AdmissionReport is how the judgement of what is more than an order did on labelled rows.
type AdmissionReport struct {
	Kind         Kind                     `json:"kind"`
	Rows         int                      `json:"rows"`
	Precision    Formula                  `json:"admission_precision"` // correctly admitted of all that were admitted
	Recall       Formula                  `json:"admission_recall"`    // correctly admitted of all that ask for it
	False        map[string]int           `json:"false_by_family"`     // admitted, and should not be, by the family of the row
	States       map[turn.Admission]int   `json:"states"`
	Reasons      map[string]int           `json:"reason_codes"`
	OwnerChanges int                      `json:"owner_changes"`
	Interference Interference             `json:"interference"`
	Axes         map[string]*AxisReport   `json:"axes"`
	said         map[string]turn.Input    // by id
	judged       map[string]turn.Decision // by id
}

// AxisReport is how one axis was found in the rows that were admitted rightly.
type AxisReport struct {
	Labelled int `json:"labelled"`
	Found    int `json:"found"` // of the labelled ones
}

// MeasureAdmission judges each row. Errors are the planner's.
func MeasureAdmission(ctx context.Context, p Pair, rows []Row) (AdmissionReport, error) {
	rep := AdmissionReport{Kind: Admissions, Rows: len(rows), Precision: Formula{Name: "admission_precision"}, Recall: Formula{Name: "admission_recall"},
		False: map[string]int{}, States: map[turn.Admission]int{}, Reasons: map[string]int{}, Axes: map[string]*AxisReport{},
		said: map[string]turn.Input{}, judged: map[string]turn.Decision{}}
	for _, row := range rows {
		in := turn.Input{TurnID: row.ID, Text: row.Text}
		d, err := p.With.Plan(ctx, in)
		if err != nil {
			return rep, fmt.Errorf("cannot plan %s: %w", row.ID, err)
		}
		rep.said[row.ID], rep.judged[row.ID] = in, d
		rep.count(row, d)
	}
	var err error
	rep.Interference, err = MeasureInterference(ctx, p, rows, 0)
	rep.OwnerChanges = len(rep.Interference.OwnerChanges)
	return rep, err
}

func (rep *AdmissionReport) count(row Row, d turn.Decision) {
	is := Admitted(d)
	if is {
		rep.Precision.add(row.ID, *row.Admitted)
	}
	if *row.Admitted {
		rep.Recall.add(row.ID, is)
	} else if is {
		rep.False[row.Family]++
	}
	if d.Experience == nil {
		return
	}
	rep.States[d.Experience.Admission]++
	rep.Reasons[d.Experience.ReasonCode]++
	for _, axis := range row.Axes {
		if !is {
			continue
		}
		a := entry(rep.Axes, axis)
		a.Labelled++
		if slices.Contains(d.Experience.Axes, axis) {
			a.Found++
		}
	}
}

// Print writes the report for people; with wrong, also each row that was judged otherwise than labelled.
func (rep AdmissionReport) Print(w io.Writer, wrong bool) {
	if wrong {
		for _, id := range slices.Concat(rep.Precision.Not, rep.Recall.Not) {
			say(w, "%-9s %-12s %-20s %s\n", id, rep.judged[id].Experience.Admission, rep.judged[id].Experience.ReasonCode, rep.said[id].Text)
		}
	}
	say(w, "rows %d\n", rep.Rows)
	rep.Precision.print(w)
	rep.Recall.print(w)
	say(w, "admitted wrongly by family %v\n", rep.False)
	for _, s := range slices.Sorted(maps.Keys(rep.States)) {
		say(w, "%-22s %d\n", s, rep.States[s])
	}
	for _, r := range slices.Sorted(maps.Keys(rep.Reasons)) {
		say(w, "  %-20s %d\n", r, rep.Reasons[r])
	}
	for _, a := range slices.Sorted(maps.Keys(rep.Axes)) {
		say(w, "axis %-22s found in %d of %d\n", a, rep.Axes[a].Found, rep.Axes[a].Labelled)
	}
	rep.Interference.Print(w, wrong)
}
