package main

import (
	"context"
	"flag"
	"os"

	"deviceagent/testbed/sim"
)

func runSim(ctx context.Context, args []string) error {
	opt := sim.Options{Out: os.Stdout}
	f := flag.NewFlagSet("testbed sim", flag.ContinueOnError)
	f.IntVar(&opt.Seeds, "seeds", 300, "how many random homes are played")
	f.IntVar(&opt.From, "from", 1, "the first of them")
	f.Int64Var(&opt.Events, "events", 0, "play on until so many events have happened")
	f.IntVar(&opt.Jobs, "jobs", 0, "homes at a time; 0: one a processor")
	one := f.Int("seed", 0, "play this home alone, and tell its story")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if *one != 0 {
		opt.From, opt.Seeds, opt.Events, opt.Story = *one, 1, 0, true
	}
	sum, err := sim.Run(ctx, opt)
	if err != nil {
		return err
	}
	sum.Print(os.Stdout)
	if len(sum.Broken) > 0 {
		return errFailed
	}
	return nil
}
