package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"deviceagent/testbed/linkfault"
)

func runLinkfault(ctx context.Context, args []string) error {
	opt := linkfault.Options{Out: os.Stdout}
	f := flag.NewFlagSet("testbed linkfault", flag.ContinueOnError)
	f.Int64Var(&opt.Messages, "messages", 100_000, "so many messages at least, as a subscriber beside counts them")
	f.Int64Var(&opt.Plans, "plans", 5000, "so many plans at least are submitted")
	f.IntVar(&opt.Each, "each", 500, "each fault strikes at least so often; half-open lines and missing CONNACKs with a keepalive of 1 s")
	f.IntVar(&opt.Slow, "shipped", 10, "so often they strike at the time-outs that we ship, too")
	f.IntVar(&opt.Cells, "cells", 8, "brokers, each with its planner")
	f.IntVar(&opt.Robots, "robots", 4, "robots of each")
	f.IntVar(&opt.Pace, "pace", 10, "all other time-outs of links and planners are so many times shorter")
	f.DurationVar(&opt.Most, "most", 40*time.Minute, "give up after that")
	f.Uint64Var(&opt.Seed, "seed", 0, "of what is drawn; 0: by chance")
	f.StringVar(&opt.Dir, "keep", "", "keep stores and logs in this empty folder")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	rep, err := linkfault.Run(ctx, opt)
	if rep == nil {
		return err
	}
	rep.Print(os.Stdout)
	for _, lack := range rep.Lacks(opt) {
		fmt.Println("lacks:", lack)
		err = errBroken
	}
	if !rep.Good() {
		err = errBroken
	}
	fmt.Printf("again: bin/testbed linkfault --seed %d%s (threads and processes run as they please: it is drawn alike, it does not come alike)\n", rep.Seed, given(f))
	return err
}

// given are the flags that were set, but the seed, as they are typed.
func given(f *flag.FlagSet) (out string) {
	f.Visit(func(g *flag.Flag) {
		if g.Name != "seed" && g.Name != "keep" {
			out += fmt.Sprintf(" --%s %s", g.Name, g.Value)
		}
	})
	return out
}
