package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"deviceagent/testbed/mutant"
)

// runMutants removes guards one at a time and wants a test to notice each.
func runMutants(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("testbed mutants", flag.ContinueOnError)
	table := f.String("table", "testbed/mutant/guards.mut", "`file` with the mutants")
	only := f.String("only", "", "`pattern` of the names to try; empty: all")
	r := mutant.Runner{}
	f.StringVar(&r.Root, "root", ".", "the tree, of which copies are changed")
	f.IntVar(&r.Workers, "workers", 2, "so many at a time")
	f.DurationVar(&r.Limit, "limit", time.Minute, "for the tests of one mutant")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		return usageError{err}
	}
	file, err := os.Open(*table)
	if err != nil {
		return err
	}
	defer file.Close()
	all, err := mutant.ParseTable(file)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", *table, err)
	}
	var tried []mutant.Mutant
	for _, m := range all {
		if names.MatchString(m.Name) {
			tried = append(tried, m)
		}
	}
	start := time.Now()
	var bad []mutant.Result
	err = r.Run(ctx, tried, func(res mutant.Result) {
		fmt.Println(res)
		if res.Verdict != mutant.Caught {
			bad = append(bad, res)
		}
	})
	fmt.Printf("%d mutants, %d caught, %d not, %.0f s\n", len(tried), len(tried)-len(bad), len(bad), time.Since(start).Seconds())
	for _, res := range bad {
		fmt.Println(res)
	}
	switch {
	case err != nil:
		return err
	case len(bad) > 0:
		return errors.New("guards that no test notices, or that cannot be tried")
	case len(tried) == 0:
		return errors.New("no mutant has such a name")
	}
	return nil
}
