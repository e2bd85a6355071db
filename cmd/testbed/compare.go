package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"deviceagent/testbed/scenario"
)

// runCompare plays the same result twice, by one goal that is said once and by single commands, and prints what each took of a person.
func runCompare(_ context.Context, args []string) error {
	f := flag.NewFlagSet("testbed compare", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "testbed compare GOAL.scn COMMANDS.scn: what the goal brings about in the home is what is expected of both")
		f.PrintDefaults()
	}
	output := f.String("o", "text", "text or json")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if f.NArg() != 2 || *output != "text" && *output != "json" {
		return usageError{errors.New("want two scenarios, and text or json for -o")}
	}
	r, err := scenario.NewRunner()
	if err != nil {
		return err
	}
	var c scenario.Comparison
	if c, err = comparisonOf(r, f.Arg(0), f.Arg(1)); err != nil {
		return err
	}
	if *output == "json" {
		err = json.NewEncoder(os.Stdout).Encode(c)
	} else {
		c.Print(os.Stdout)
	}
	if err == nil && !c.Same() {
		err = errors.New("they did not come to the same")
	}
	return err
}

func comparisonOf(r *scenario.Runner, goal, commands string) (c scenario.Comparison, err error) {
	var both [2]*scenario.Scenario
	for i, path := range []string{goal, commands} {
		if both[i], err = scenario.Load(path); err != nil {
			return c, err
		}
	}
	err = scenario.InProgram(func(t *testing.T) { c = scenario.Compared(t, r, both[0], both[1]) })
	return c, err
}
