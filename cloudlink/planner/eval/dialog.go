package eval

import (
	"errors"
	"fmt"
	"io"
	"time"

	"deviceagent/cloudlink/planner/turn"
)

// toolPlanner is a planner that also chooses from a registry of tools.
type toolPlanner interface {
	ChooseTool([]turn.Tool, []turn.Message) turn.Choice
}

// DialogReport is how tools were chosen, each row with a registry of its own tools. A row that needs an answer to a question first is right
// if something that is missing is asked for; a row that no tool fits, if none is called; a row that needs a call, if the labelled tool is
// called.
type DialogReport struct {
	Kind      Kind                      `json:"kind"`
	Rows      int                       `json:"rows"`
	Right     Ratio                     `json:"right"`
	SlotAsked Ratio                     `json:"slot_asked"` // of rows where a required slot is missing
	NoCall    Ratio                     `json:"no_call"`    // of rows where no tool fits
	NoneSaid  Ratio                     `json:"none_said"`  // the same rows: neither called nor asked
	Called    Ratio                     `json:"called"`     // of rows with a call: the labelled tool
	Confusion map[string]map[string]int `json:"confusion"`
	RowMS     Times                     `json:"row_ms"`
	Wrong     []Wrong                   `json:"wrong"`
}

// MeasureDialogs lets the planner choose for each row. Errors: the planner chooses no tools.
func MeasureDialogs(p Planner, rows []Row) (DialogReport, error) {
	rep := DialogReport{Kind: Dialogs, Rows: len(rows), Confusion: map[string]map[string]int{}}
	chooser, ok := p.(toolPlanner)
	if !ok {
		return rep, errors.New("this planner chooses no tools")
	}
	var took []time.Duration
	for _, row := range rows {
		begin := time.Now()
		choice := chooser.ChooseTool(row.Tools, row.dialog())
		took = append(took, time.Since(begin))
		rep.count(row, choice)
	}
	rep.RowMS = timesOf(took)
	return rep, nil
}

func (rep *DialogReport) count(row Row, c turn.Choice) {
	right := false
	switch row.Expect {
	case "slot":
		right = c.Outcome == turn.Ask && len(c.Missing) > 0
		rep.SlotAsked.add(right)
	case "relevance":
		right = c.Outcome != turn.Call
		rep.NoCall.add(right)
		rep.NoneSaid.add(c.Outcome == turn.None)
	case "call":
		right = c.Outcome == turn.Call && c.Tool == row.calls()
		rep.Called.add(right)
	}
	rep.Right.add(right)
	if rep.Confusion[row.Expect] == nil {
		rep.Confusion[row.Expect] = map[string]int{}
	}
	rep.Confusion[row.Expect][c.Outcome]++
	if !right {
		rep.Wrong = append(rep.Wrong, Wrong{ID: row.ID, Labelled: row.Expect + " " + row.calls(), Decided: fmt.Sprintf("%s %s %v missing %v", c.Outcome, c.Tool, c.Slots, c.Missing), Text: row.lastSaid()})
	}
}

// Print writes the report for people.
func (rep DialogReport) Print(w io.Writer, wrong bool) {
	if wrong {
		for _, x := range rep.Wrong {
			say(w, "%-18s %s, not %s: %s\n", x.ID, x.Labelled, x.Decided, x.Text)
		}
	}
	say(w, "rows %d\nright               %s\nmissing slot asked  %s\nno call             %s\n  said so           %s\nlabelled tool       %s\n", rep.Rows, rep.Right, rep.SlotAsked, rep.NoCall, rep.NoneSaid, rep.Called)
	say(w, "a row %.2f ms (p50), %.2f ms (p99)\n", rep.RowMS.P50, rep.RowMS.P99)
}
