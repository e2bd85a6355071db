package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"deviceagent/testbed/sim"
)

// errBroken says that a promise was broken, or not all was shown; what it was is printed.
var errBroken = errors.New("not as docs/taskmanager.md promises")

func runSim(ctx context.Context, args []string) error {
	opt := sim.Options{Out: os.Stdout, Progress: 5 * time.Second}
	f := flag.NewFlagSet("testbed sim", flag.ContinueOnError)
	f.IntVar(&opt.Seeds, "seeds", 300, "how many random homes are played")
	f.IntVar(&opt.From, "from", 1, "the first of them")
	f.Int64Var(&opt.Events, "events", 0, "play on until so many events have happened under a fault, whatever the number of homes")
	f.IntVar(&opt.Jobs, "jobs", 0, "homes at a time; 0: one a processor")
	f.BoolVar(&opt.Full, "full", false, "the run has to show all that docs/tests.md asks for: plans, completions, each fault, each cell")
	f.DurationVar(&opt.Most, "most", 0, "play no longer than this; 0: no bound")
	one := f.Uint64("seed", 0, "play this home alone, and tell its story")
	shrink := f.Bool("shrink", false, "with --seed: find a shorter story that breaks the same promise")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	switch {
	case *shrink && *one == 0:
		return usageError{errors.New("--shrink needs --seed, the home that breaks a promise")}
	case *shrink:
		return runShrink(*one)
	case *one != 0:
		opt.From, opt.Seeds, opt.Events, opt.Story, opt.Full = int(*one), 1, 0, true, false
	}
	sum, err := sim.Run(ctx, opt)
	if err != nil {
		return err
	}
	sum.Print(os.Stdout)
	if opt.Full {
		for _, lack := range sum.Lacks() {
			fmt.Println("lacks:", lack)
			err = errBroken
		}
	}
	if len(sum.Broken) > 0 {
		err = errBroken
	}
	return err
}

func runShrink(seed uint64) error {
	cat, err := sim.LoadCatalog()
	if err != nil {
		return err
	}
	if sim.Shrink(cat, seed, os.Stdout) {
		return errBroken
	}
	return nil
}
