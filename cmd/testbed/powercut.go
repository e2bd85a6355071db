package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"deviceagent/testbed/machine"
	"deviceagent/testbed/replay"
)

// runPowercut is the host's side of a power cut of the test machine; testbed/machine/vm-test.sh calls it.
func runPowercut(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == "watch":
		return powercutWatch(ctx, args[1:])
	case len(args) > 0 && args[0] == "replay":
		return powercutReplay(ctx, args[1:])
	}
	return usageError{errors.New("want watch or replay")}
}

func powercutWatch(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("testbed powercut watch", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "testbed powercut watch PORT=SOCKET…: writes down what comes out of a machine's ports until it is stopped; says ready on standard output")
		f.PrintDefaults()
	}
	log := f.String("log", "", "the write `file` of QEMU's blklogwrites; it must be there")
	out := f.String("out", "", "`file` for what is seen")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	sockets := map[string]string{}
	for _, arg := range f.Args() {
		port, path, ok := strings.Cut(arg, "=")
		if !ok {
			return usageError{fmt.Errorf("want PORT=SOCKET, have %q", arg)}
		}
		sockets[port] = path
	}
	to, err := os.Create(*out)
	if err != nil {
		return err
	}
	defer to.Close()
	return machine.Watch(ctx, sockets, *log, to, func() { fmt.Println("ready") })
}

func powercutReplay(ctx context.Context, args []string) error {
	r := machine.Replay{Tell: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	f := flag.NewFlagSet("testbed powercut replay", flag.ContinueOnError)
	f.StringVar(&r.Base, "base", "", "the disk as it was at first: an `image`")
	f.StringVar(&r.Log, "log", "", "the write `file`")
	seen := f.String("seen", "", "`file` of the watch")
	f.IntVar(&r.Cuts, "cuts", 40, "how many")
	f.Uint64Var(&r.Seed, "seed", 1, "where")
	f.BoolVar(&r.IgnoreFlush, "ignore-flush", false, "after the first acknowledgement take no flush for done: a check that sees losses must find some")
	f.IntVar(&r.Restarts, "restarts", 0, "from how many cuts the agent is started again")
	a := machine.Aftermath{}
	f.StringVar(&a.Catalog, "catalog", "", "`folder` of the catalog that the agent ran with")
	f.StringVar(&a.Agent, "agent", "bin/deviceagentd", "the agent for that: a `program` for this machine")
	f.IntVar(&a.Steps, "steps", 2, "steps of each plan that move the robot or clean")
	f.DurationVar(&a.Limit, "limit", 5*time.Minute, "for the ends of all plans")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	in, err := os.Open(*seen)
	if err != nil {
		return err
	}
	defer in.Close()
	if r.Seen, err = machine.ReadSeen(in); err != nil {
		return err
	}
	if r.Catalog, err = replay.Catalog(a.Catalog); err != nil {
		return err
	}
	if r.Restarts > 0 {
		r.Aftermath = &a
	}
	v, err := r.Run(ctx)
	if err != nil {
		return err
	}
	return told(v, r.IgnoreFlush)
}

// told prints a verdict. With flushes ignored it is turned round.
func told(v machine.Verdict, blind bool) error {
	fmt.Printf("  %d cuts in a log of %d operations, %d of them flushes; %d acknowledged things looked for; %d starts; %d faults\n",
		v.Cuts, v.Operations, v.Flushes, v.Due, v.Restarts, len(v.Faults))
	switch {
	case blind && len(v.Faults) == 0:
		return errors.New("flushes were ignored and nothing was found lost: the check is blind")
	case blind:
		fmt.Printf("  with flushes ignored it finds losses, as it must; the first: %.300s\n", v.Faults[0])
		return nil
	case v.Due == 0:
		return errors.New("nothing had been acknowledged: this proves nothing")
	case len(v.Faults) > 0:
		return fmt.Errorf("%d faults; the first:\n%s", len(v.Faults), strings.Join(v.Faults[:min(len(v.Faults), 5)], "\n"))
	}
	return nil
}
