package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deviceagent/testbed/gonogo"
	"deviceagent/testbed/replay"
	"deviceagent/testbed/scenario"
)

// gonogoOptions are the flags of "testbed gonogo".
type gonogoOptions struct {
	provider, output string
	admission        string
	families         []string
	runs             int
	paths            []string
}

// runGonogo judges whether a provider may be promoted. The report is printed whatever it says; the exit code is 0 on a Go only.
func runGonogo(ctx context.Context, args []string) error {
	opt, err := gonogoFlags(args)
	if err != nil {
		return flagError(err)
	}
	r, err := scenario.NewRunner()
	if err != nil {
		return err
	}
	e := gonogo.Evidence{Provider: opt.provider, Catalog: r.Catalog(), Runs: opt.runs}
	if all := append(gonogo.Providers(e.Catalog), gonogo.All); !slices.Contains(all, opt.provider) {
		return usageError{fmt.Errorf("--provider %q: want one of %s", opt.provider, strings.Join(all, " "))}
	}
	if err := opt.evaluate(ctx, &e); err != nil {
		return err
	}
	for _, path := range opt.paths {
		if err := opt.gather(ctx, &e, r, path); err != nil {
			return err
		}
	}
	rep := gonogo.Judge(e)
	if opt.output == "json" {
		err = json.NewEncoder(os.Stdout).Encode(rep)
	} else {
		rep.Print(os.Stdout)
	}
	if err == nil && !rep.Go {
		err = errors.New("no Go for " + opt.provider)
	}
	return err
}

func gonogoFlags(args []string) (opt gonogoOptions, err error) {
	f := flag.NewFlagSet("testbed gonogo", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "testbed gonogo --provider P [PATH...]: PATH is a store (agent.db), a folder with stores below it, or scenarios (testbed/scenarios), of which those are played in which the provider does something")
		f.PrintDefaults()
	}
	f.StringVar(&opt.provider, "provider", "", "a `capability` of the catalog, a skill, or all")
	f.StringVar(&opt.output, "o", "text", "text or json")
	f.StringVar(&opt.admission, "admission", "testbed/admission.jsonl", "`file` of what asks for a goal and what does not")
	f.Func("families", "`file` of utterances with their family: the baseline that must not change; may be given again (default: those of --admission)", func(path string) error {
		opt.families = append(opt.families, path)
		return nil
	})
	f.IntVar(&opt.runs, "runs", 2, "how often each scenario is played")
	if err := f.Parse(args); err != nil {
		return opt, err
	}
	if opt.paths = f.Args(); len(opt.paths) == 0 {
		opt.paths = []string{"testbed/scenarios"}
	}
	if opt.output != "text" && opt.output != "json" || opt.provider == "" || opt.runs < 1 {
		return opt, errors.New("want --provider, text or json for -o, and at least one run")
	}
	return opt, nil
}

// evaluate measures the planner on the rows that are named.
func (opt gonogoOptions) evaluate(ctx context.Context, e *gonogo.Evidence) error {
	admission, err := os.Open(opt.admission)
	if err != nil {
		return fmt.Errorf("cannot open rows: %w", err)
	}
	defer func() { _ = admission.Close() }()
	var families []io.Reader
	for _, path := range opt.families {
		f, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("cannot open rows: %w", err)
		}
		defer func() { _ = f.Close() }()
		families = append(families, f)
	}
	return e.Evaluate(ctx, admission, families)
}

// gather takes in what a path has: stores as they are, scenarios after playing them.
func (opt gonogoOptions) gather(ctx context.Context, e *gonogo.Evidence, r *scenario.Runner, path string) error {
	plays, err := isPlay(path)
	if err != nil {
		return err
	}
	if plays {
		return opt.play(ctx, e, r, path)
	}
	found := 0
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(file) != "agent.db" && file != path {
			return err
		}
		found++
		return keep(ctx, e, file, file)
	})
	if err == nil && found == 0 {
		err = fmt.Errorf("no store (agent.db) and no scenario (.scn) in %s", path)
	}
	return err
}

func keep(ctx context.Context, e *gonogo.Evidence, name, store string) error {
	all, aside, err := replay.Workflows(ctx, store)
	if err != nil {
		return fmt.Errorf("cannot judge %s: %w", store, err)
	}
	e.Stores = append(e.Stores, gonogo.Store{Name: name, Workflows: all})
	for _, id := range aside {
		e.Aside = append(e.Aside, name+" "+id)
	}
	return nil
}

// play plays those scenarios in which the provider does something.
func (opt gonogoOptions) play(ctx context.Context, e *gonogo.Evidence, r *scenario.Runner, path string) error {
	all, err := runOptions{path: path, over: scenario.Socket}.load()
	if err != nil {
		return err
	}
	run := 0
	r.Keep = func(s *scenario.Scenario, store string) error {
		return keep(ctx, e, fmt.Sprintf("%s run %d", s.ID, run), store)
	}
	return scenario.InProgram(func(t *testing.T) {
		for run = 1; run <= opt.runs; run++ {
			for _, s := range all {
				if ctx.Err() != nil || !e.Involves(s) {
					continue
				}
				res := r.Run(t, s)
				p := gonogo.Play{ID: s.ID, Passed: res.Passed()}
				if res.Seen != nil {
					p.Log = res.Seen.RobotLog()
				}
				e.Plays = append(e.Plays, p)
			}
		}
	})
}
