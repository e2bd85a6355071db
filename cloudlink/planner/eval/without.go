package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

// Difference is what leaving out parts of a planner changes, in decisions; each figure is a number of rows. Steps is told apart: no part
// that is only evidence may change what is done.
type Difference struct {
	Without    []string `json:"without"`
	Rows       int      `json:"rows"`
	Family     int      `json:"family"`
	Flow       int      `json:"flow"` // within the same family
	RunnerUp   int      `json:"runner_up"`
	SecondPass int      `json:"second_pass"` // asked by one and not by the other
	Experience int      `json:"experience_request"`
	Steps      int      `json:"steps"`
}

// Compare asks both planners about each row. Errors are the planners'.
func Compare(ctx context.Context, whole, less Planner, rows []Row, without []string) (Difference, error) {
	d := Difference{Without: without, Rows: len(rows)}
	for _, row := range rows {
		in := turn.Input{TurnID: row.ID, Text: row.Text}
		a, err := whole.Plan(ctx, in)
		if err != nil {
			return d, fmt.Errorf("cannot plan %s: %w", row.ID, err)
		}
		b, err := less.Plan(ctx, in)
		if err != nil {
			return d, fmt.Errorf("cannot plan %s without %s: %w", row.ID, strings.Join(without, ", "), err)
		}
		d.count(a, b)
	}
	return d, nil
}

func (d *Difference) count(a, b turn.Decision) {
	for _, one := range []struct {
		into   *int
		differ bool
	}{
		{&d.Family, a.OwnerSelection != b.OwnerSelection},
		{&d.Flow, a.OwnerSelection == b.OwnerSelection && a.SelectedFlowID != b.SelectedFlowID},
		{&d.RunnerUp, a.RunnerUpFamily != b.RunnerUpFamily},
		{&d.SecondPass, held(a) != held(b)},
		{&d.Experience, written(a.Experience) != written(b.Experience)},
		{&d.Steps, written(a.Steps) != written(b.Steps) || written(a.Control) != written(b.Control)},
	} {
		if one.differ {
			*one.into++
		}
	}
}

func held(d turn.Decision) bool { return d.Trace != nil && d.Trace.Second != nil }

func written(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic("internal error: " + err.Error()) // text and numbers
	}
	return string(out)
}

// Print writes it for people.
func (d Difference) Print(w io.Writer) {
	say(w, "without %s, of %d rows: another family %d, another flow of the same family %d, another runner-up %d, a second pass more or less %d, another experience request %d, other steps %d\n\n",
		strings.Join(d.Without, ", "), d.Rows, d.Family, d.Flow, d.RunnerUp, d.SecondPass, d.Experience, d.Steps)
}
