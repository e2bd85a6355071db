package main

import (
	"context"
	"flag"
	"fmt"
	"testing"

	"deviceagent/testbed/scenario"
	"deviceagent/testbed/wirecost"
)

// runWirecost measures what a plan costs on the link and prints the table. A plan that costs more than is promised is an error.
func runWirecost(_ context.Context, args []string) error {
	f := flag.NewFlagSet("testbed wirecost", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "testbed wirecost: messages and bytes of plans of 1, 3 and 20 steps, as a subscriber beside agent and planner counts them")
		f.PrintDefaults()
	}
	update := f.Bool("update", false, "write the table into the page as well")
	page := f.String("page", "docs/link-cost.md", "the `page` for -update")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if f.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", f.Arg(0))}
	}
	var rows []wirecost.Row
	var fault error
	if err := scenario.InProgram(func(t *testing.T) { rows, fault = wirecost.Measure(t) }); err != nil {
		return err
	}
	if fault != nil {
		return fault
	}
	table := wirecost.Table(rows)
	fmt.Print(table)
	if *update {
		return wirecost.Update(*page, table)
	}
	return nil
}
