// Command testbed is for trying things out without a robot: a simulated robot as a program, the demo, and scenarios. It says so
// wherever it speaks. None of it is on a device.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"deviceagent/testbed/robot"
)

// commands are the subcommands, in the order of the usage.
var commands = []struct {
	name, use string
	run       func(ctx context.Context, args []string) error
}{
	{"robot", "a simulated home and robot that registers on an agent's executor socket", runRobot},
	{"conform", "check a D-Bus service of org.deviceagent.Executor1 for all that the agent relies on", runConform},
	{"broken", "a small D-Bus service that is wrong in one way: what conform says of it", runBroken},
	{"demo", "planner, agent and simulated robot on this machine: one sentence from words to proof", runDemo},
	{"sim", "random homes under faults, judged by the robot's own log", runSim},
	{"linkfault", "many robots over bad lines and lying brokers, judged by both stores and the robots' own logs", runLinkfault},
	{"mutants", "remove each guard of the source in turn: a test must notice", runMutants},
	{"powercut", "judge power cuts of the test machine by the write log of its disk", runPowercut},
	{"replay", "what a device recorded once more, compared state by state", runReplay},
	{"metrics", "how goals were kept, by what devices have stored: each figure with its ids", runMetrics},
	{"compare", "one goal that is said once against the same by single commands: what each took of a person", runCompare},
	{"gonogo", "whether a provider may be promoted: six lines that have to be shown, six that must not be found", runGonogo},
	{"model", "a fake server of language models for plannerd, honest or wrong in one way", runModel},
	{"sentences", "Korean commands composed of the catalog, with the plans that they ask for: the planner is held to them", runSentences},
	{"wirecost", "messages and bytes that plans cost on the link", runWirecost},
	{"docs", "do what the guides say, command by command, in empty folders", runDocs},
	{"run", "play scenarios in virtual time and hold them to all that they say", runScenarios},
}

// usageError is a wrong command line: exit code 2.
type usageError struct{ error }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if len(args) == 0 {
		usage(os.Stderr)
		return 2
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, args[1:])
		var exit exitError
		switch {
		case errors.As(err, &exit):
			fmt.Fprintf(os.Stderr, "testbed %s: %v\n", c.name, err)
			return exit.code
		case err == nil || errors.Is(err, flag.ErrHelp):
			return 0
		case errors.As(err, new(usageError)):
			fmt.Fprintf(os.Stderr, "testbed %s: %v\n", c.name, err)
			return 2
		}
		fmt.Fprintf(os.Stderr, "testbed %s: %v\n", c.name, err)
		return 1
	}
	if h := args[0]; h == "help" || h == "-h" || h == "--help" {
		usage(os.Stdout)
		return 0
	}
	fmt.Fprintf(os.Stderr, "testbed: no command %q\n", args[0])
	usage(os.Stderr)
	return 2
}

func usage(w *os.File) {
	fmt.Fprintln(w, "testbed: a simulated robot, scenarios and the demo (nothing of it runs on a device)")
	for _, c := range commands {
		fmt.Fprintf(w, "  testbed %-9s %s\n", c.name, c.use)
	}
	fmt.Fprintln(w, "testbed COMMAND -h lists the flags.")
}

func runRobot(ctx context.Context, args []string) error {
	opt := robot.Options{Commands: os.Stdin, Out: os.Stderr}
	f := flag.NewFlagSet("testbed robot", flag.ContinueOnError)
	f.StringVar(&opt.Socket, "socket", "/run/deviceagent/executor.sock", "the agent's executor socket")
	f.StringVar(&opt.Bus, "bus", "", "`address` of a D-Bus: the robot is several services there ("+robot.BusPrefix+".*), instead of one on the socket")
	f.BoolVar(&opt.Vendor, "vendor", false, "with --bus: as a robot of another maker, "+robot.VendorPrefix+".*, with interfaces of its own that the catalog maps")
	f.Func("services", "with --bus: only these `names` of "+strings.Join(robot.Services(false), " ")+", separated by commas; home is all in one. "+
		"With --vendor of "+strings.Join(robot.Services(true), " ")+". Left out: all", func(names string) error {
		opt.Services = strings.Split(names, ",")
		return nil
	})
	write := f.String("write-catalog", "", "write the default catalog, bound to the services on the bus (with --vendor to those of another maker), to this `folder`, and end")
	f.Float64Var(&opt.Speed, "speed", 1, "simulated seconds a real second")
	f.StringVar(&opt.LogPath, "log", "", "the robot's own log: JSON lines, appended")
	f.StringVar(&opt.Home.Start, "start", "", "room where the robot stands; empty: the station")
	f.Float64Var(&opt.Home.Battery, "battery", 80, "percent at the start")
	f.Func("fault", "what goes wrong, as in setMoveTo:lie_done; may be given again", opt.Home.Faults.Add)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "Usage of testbed robot:")
		f.PrintDefaults()
		fmt.Fprintf(f.Output(), "Commands on standard input, one a line:\n%s\n", indent(robot.Commands()))
	}
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	switch {
	case *write != "" && opt.Vendor:
		return robot.WriteVendorCatalog(*write)
	case *write != "":
		return robot.WriteCatalog(*write)
	}
	return robot.Run(ctx, opt)
}

func flagError(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usageError{err}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
