package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"deviceagent/agent/diag"
)

func (a *app) schedulesCmd() *cobra.Command {
	return &cobra.Command{Use: "schedules", Short: "Plans that are begun at their times: when, the next, the last", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		rep, err := a.client.Get(cmd.Context(), "/schedules", nil)
		if err != nil {
			return err
		}
		return emit(a, rep, func(rows []diag.ScheduleRow, _ diag.AsOf) error {
			cols := []column{{name: "ID"}, {name: "REV", wide: true}, {name: "PLAN", wide: true}, {name: "WHEN"}, {name: "NEXT"}, {name: "IN"}, {name: "LAST"}, {name: "GOAL"}}
			var cells [][]string
			for _, r := range rows {
				last := orText(r.Last, "none")
				if r.LastIs != "" {
					last += " " + r.LastIs
				}
				cells = append(cells, []string{r.ID, fmt.Sprint(r.Revision), r.PlanID, clean(r.When), clean(r.NextAt), maybe(r.InMS, "-"), last, clean(r.Goal)})
			}
			return a.table(cols, cells)
		})
	}}
}
