package main

import (
	"context"
	"flag"
	"os"

	"deviceagent/testbed/demo"
)

func runDemo(ctx context.Context, args []string) error {
	opt := demo.Options{Talk: os.Stderr, Data: os.Stdout}
	f := flag.NewFlagSet("testbed demo", flag.ContinueOnError)
	f.StringVar(&opt.Say, "say", demo.DefaultSay, "what is said to the planner, in Korean or English")
	f.BoolVar(&opt.Crash, "crash", false, "kill -9 the agent in the middle of the work and start it again")
	f.BoolVar(&opt.Keep, "keep", false, "leave everything running until Ctrl-C")
	f.Float64Var(&opt.Speed, "speed", 0, "simulated seconds of the home a real second; 0: an hour of cleaning takes 6 s")
	f.StringVar(&opt.Bin, "bin", "", "folder of plannerd, deviceagentd and testbed; empty: that of this program")
	f.DurationVar(&opt.Limit, "limit", 0, "for the workflow to end; 0: 5 minutes")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	return demo.Run(ctx, opt)
}
