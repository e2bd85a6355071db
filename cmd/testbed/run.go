package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"deviceagent/testbed/scenario"
)

// runOptions are the flags of "testbed run".
type runOptions struct {
	path     string
	only     string
	verbose  bool
	log      bool
	seen     bool
	mutate   bool
	coverage bool
	cuts     bool
	over     scenario.Way
}

// errFailed says that scenarios ran and did not hold; what failed was printed.
var errFailed = errors.New("not as the scenarios say")

func runScenarios(ctx context.Context, args []string) error {
	opt, err := runFlags(args)
	if err != nil {
		return flagError(err)
	}
	all, err := opt.load()
	if err != nil {
		return err
	}
	r, err := scenario.NewRunnerOver(opt.over)
	if err != nil {
		return err
	}
	if opt.verbose {
		r.Narrate = os.Stdout
	}
	if opt.log {
		r.Log = zerolog.New(os.Stderr)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	ok := false
	play := opt.run
	if opt.cuts {
		play = opt.cutEach
	}
	err = scenario.InProgram(func(t *testing.T) { ok = play(ctx, t, r, all, out) })
	if err == nil && !ok {
		err = errFailed
	}
	return err
}

func runFlags(args []string) (opt runOptions, err error) {
	f := flag.NewFlagSet("testbed run", flag.ContinueOnError)
	opt.over = scenario.Socket
	f.Func("over", fmt.Sprintf("how the agent reaches the robot: one `way` of %v (socket); dbus and vendor start a dbus-daemon for each scenario", scenario.Ways), func(text string) (err error) {
		opt.over, err = scenario.ParseWay(text)
		return err
	})
	f.StringVar(&opt.only, "only", "", "run the scenarios with these `ids`, separated by commas; S27* is S27 with all its variants")
	f.BoolVar(&opt.verbose, "v", false, "tell what the robot does")
	f.BoolVar(&opt.log, "log", false, "write what agent and planner log to standard error")
	f.BoolVar(&opt.seen, "seen", false, "print everything that was seen, in the format of the files")
	f.BoolVar(&opt.mutate, "mutate", false, "flip each expectation and each fact in turn: every flip must be noticed")
	f.BoolVar(&opt.coverage, "coverage", false, "name operations and effects of the catalog that no scenario exercises")
	f.BoolVar(&opt.cuts, "cut-each", false, "cut the power of the device before and after each commit, one run each, and judge by the robot's own log")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "Usage: testbed run [flags] FOLDER|FILE [flags]")
		f.PrintDefaults()
	}
	for len(args) > 0 { // flags may stand behind the folder
		if err := f.Parse(args); err != nil {
			return opt, err
		}
		if args = f.Args(); len(args) == 0 {
			break
		}
		if opt.path != "" {
			return opt, fmt.Errorf("unexpected argument %q", args[0])
		}
		opt.path, args = args[0], args[1:]
	}
	if opt.path == "" {
		return opt, errors.New("name a folder or file of scenarios, as in testbed/scenarios")
	}
	return opt, nil
}

// load reads the files that are asked for.
func (opt runOptions) load() ([]*scenario.Scenario, error) {
	if strings.HasSuffix(opt.path, ".scn") {
		s, err := scenario.Load(opt.path)
		return []*scenario.Scenario{s}, err
	}
	all, err := scenario.LoadTree(opt.path, opt.over)
	if err != nil || opt.only == "" {
		return all, err
	}
	var chosen []*scenario.Scenario
	for id := range strings.SplitSeq(opt.only, ",") {
		family, whole := strings.CutSuffix(id, "*")
		n := len(chosen)
		for _, s := range all {
			if s.ID == id || whole && (s.ID == family || strings.HasPrefix(s.ID, family+"-")) {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) == n {
			return nil, usageError{fmt.Errorf("no scenario %q in %s", id, opt.path)}
		}
	}
	return chosen, nil
}

// run plays all scenarios and reports; false: something is not as it should be.
func (opt runOptions) run(ctx context.Context, t *testing.T, r *scenario.Runner, all []*scenario.Scenario, out *bufio.Writer) bool {
	began := time.Now()
	var seen []*scenario.Observation
	passed, flips, missed := 0, 0, 0
	for _, s := range all {
		if ctx.Err() != nil {
			fmt.Fprintln(out, "interrupted")
			return false
		}
		res := r.Run(t, s)
		tell(out, res)
		if opt.seen && res.Seen != nil {
			fmt.Fprint(out, res.Seen.Format())
		}
		if res.Seen != nil {
			seen = append(seen, res.Seen)
		}
		if res.Passed() {
			passed++
			if opt.mutate {
				n, m := tellFlips(out, s, scenario.Mutate(s, res.Seen))
				flips, missed = flips+n, missed+m
			}
		}
		out.Flush() // a line for each, as it ends
	}
	if opt.coverage {
		tellCoverage(out, scenario.Cover(r.Catalog(), seen))
	}
	if opt.mutate {
		fmt.Fprintf(out, "%d of %d flips noticed\n", flips-missed, flips)
	}
	fmt.Fprintf(os.Stderr, "in %v\n", time.Since(began).Round(time.Millisecond))
	fmt.Fprintf(out, "%d passed, %d failed\n", passed, len(all)-passed)
	return passed == len(all) && missed == 0
}

func tell(out io.Writer, res *scenario.Result) {
	fmt.Fprintln(out, res)
	if res.Err != nil {
		fmt.Fprintf(out, "    %v\n", res.Err)
	}
	for _, m := range res.Failures {
		fmt.Fprintf(out, "    %s\n", m.In(res.Scenario.Path))
	}
}

func tellFlips(out io.Writer, s *scenario.Scenario, flips []scenario.Flip) (n, missed int) {
	for _, f := range flips {
		if !f.Caught {
			missed++
			fmt.Fprintf(out, "    %s:%d: nobody noticed: %s\n", s.Path, f.Line, f.What)
		}
	}
	return len(flips), missed
}

func tellCoverage(out io.Writer, c scenario.Coverage) {
	fmt.Fprintf(out, "operations: %d exercised, %d not: %s\n", c.Methods, len(c.UntouchedMethods), strings.Join(c.UntouchedMethods, " "))
	fmt.Fprintf(out, "effects: %d proved, %d not: %s\n", c.Effects, len(c.UnprovedEffects), strings.Join(c.UnprovedEffects, " "))
}
