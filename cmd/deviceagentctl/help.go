package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
)

func terminal(state string) bool { return core.StepState(state).Terminal() }

var workflowStates = []core.WorkflowState{core.WfQueued, core.WfActive, core.WfHeld, core.WfCancelling, core.WfCompleted, core.WfPartial, core.WfFailed, core.WfCancelled, core.WfExpired}

func knownState(state string, step bool) bool {
	if step {
		return contains(core.StepStates, core.StepState(state))
	}
	return contains(workflowStates, core.WorkflowState(state))
}

// helpCmd has the topics beside the commands.
func (a *app) helpCmd(root *cobra.Command) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND|TOPIC]", Short: "Help about a command, or exit-codes, states, reasons [CODE], output", RunE: func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{""}
		}
		switch args[0] {
		case "exit-codes":
			return topic(a, diag.Exits, a.exitsPage)
		case "states":
			return topic(a, states(), a.statesPage)
		case "reasons":
			return a.reasons(args[1:])
		case "output":
			return topic(a, outputText, func(text string) error { a.page.line("%s", text); return nil })
		}
		if a.output != asText {
			return usage("the help of a command is text; as %s there are the topics exit-codes, states, reasons, output", a.output)
		}
		if args[0] == "" {
			return root.Help()
		}
		cmd, _, err := root.Find(args)
		if err != nil || cmd == root {
			return usage("there is no command or topic %q", args[0])
		}
		return cmd.Help()
	}}
}

// topic prints what needs no agent.
func topic[T any](a *app, data T, render func(T) error) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return emit(a, diag.Reply{Data: raw}, func(data T, _ diag.AsOf) error { return render(data) })
}

func (a *app) exitsPage(rows []diag.Exit) error {
	var cells [][]string
	for _, e := range rows {
		cells = append(cells, []string{fmt.Sprint(e.Code), e.Meaning})
	}
	return a.table([]column{{name: "CODE"}, {name: "MEANING"}}, cells)
}

type stateRow struct {
	Of       string   `json:"of"` // plan, step
	State    string   `json:"state"`
	Terminal bool     `json:"terminal"`
	Next     []string `json:"next"` // states that may follow
	When     string   `json:"when,omitempty"`
}

func states() (rows []stateRow) {
	for _, s := range workflowStates {
		row := stateRow{Of: "plan", State: string(s), Terminal: s.Terminal(), Next: []string{}}
		for _, d := range core.Derivations {
			if d.State == s {
				row.When = orText(row.When, d.When)
			}
		}
		rows = append(rows, row)
	}
	for _, s := range core.StepStates {
		row := stateRow{Of: "step", State: string(s), Terminal: s.Terminal(), Next: []string{}}
		for _, next := range core.Moves(s) {
			row.Next = append(row.Next, string(next))
		}
		rows = append(rows, row)
	}
	return rows
}

func (a *app) statesPage(rows []stateRow) error {
	var cells [][]string
	for _, r := range rows {
		then := r.When
		if len(r.Next) > 0 {
			then = "then " + fmt.Sprint(r.Next)
		}
		end := "-"
		if r.Terminal {
			end = "yes"
		}
		cells = append(cells, []string{r.Of, r.State, end, orText(then, "-")})
	}
	return a.table([]column{{name: "OF"}, {name: "STATE"}, {name: "END"}, {name: "WHEN OR WHAT FOLLOWS"}}, cells)
}

type reasonRow struct {
	Code        string `json:"code"`
	Class       string `json:"class"`
	Recoverable bool   `json:"recoverable"`
	NeedsCloud  bool   `json:"requires_cloud_decision"`
	Text        string `json:"text"`
	Exit        *int   `json:"exit"` // of this tool's own codes
}

func (a *app) reasons(codes []string) error {
	l := tongue(a.lang)
	var rows []reasonRow
	for _, r := range core.Reasons {
		rows = append(rows, reasonRow{Code: string(r.Code), Class: string(r.Class), Recoverable: r.Recoverable, NeedsCloud: r.NeedsCloud, Text: l.reason(string(r.Code))})
	}
	for _, c := range diag.Codes {
		if core.InfoOf(core.Reason(c.Code)).Text == "said by the executor" {
			rows = append(rows, reasonRow{Code: string(c.Code), Class: "tool", Text: l.title(diag.NewProblem(c.Code, "", "")), Exit: new(c.Exit)})
		}
	}
	if len(codes) > 0 {
		var picked []reasonRow
		for _, r := range rows {
			if contains(codes, r.Code) {
				picked = append(picked, r)
			}
		}
		if len(picked) != len(codes) {
			return diag.NewProblem(diag.CodeUnknownTarget, "there is no such reason code here; an executor may have made it up", "deviceagentctl help reasons")
		}
		rows = picked
	}
	return topic(a, rows, func(rows []reasonRow) error {
		var cells [][]string
		for _, r := range rows {
			cells = append(cells, []string{r.Code, r.Class, yes(r.Recoverable), yes(r.NeedsCloud), r.Text})
		}
		return a.table([]column{{name: "CODE"}, {name: "CLASS"}, {name: "RECOVERABLE", wide: true}, {name: "CLOUD DECIDES", wide: true}, {name: "MEANING"}}, cells)
	})
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

const outputText = `-o text   for people; rendered from the document that json prints
-o wide   nothing is cut or wrapped, more columns
-o json   one document, also for errors: {schema, ok, data | error, asOf{seq, deviceTime, clockTrusted}}
-o jsonl  one event a line (watch)
stdout carries data only; hints and warnings go to stderr. There is no pager.
Colour: --color, then NO_COLOR, then CLICOLOR_FORCE or FORCE_COLOR, then whether stdout is a terminal with TERM other than dumb.
Sentences: --lang, else LC_ALL, LC_MESSAGES, LANG. States, codes and keys stay English.
Times are local with their offset in the header line; --utc.`
