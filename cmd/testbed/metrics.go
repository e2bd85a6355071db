package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"deviceagent/testbed/metrics"
	"deviceagent/testbed/replay"
	"deviceagent/testbed/scenario"
)

// runMetrics judges how goals were kept: by stores as they lie on devices, or by those of scenarios, which it plays first.
func runMetrics(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("testbed metrics", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "testbed metrics PATH...: PATH is a store (agent.db), a folder with stores below it, a scenario, or a folder of scenarios; stores are read only")
		f.PrintDefaults()
	}
	dir := f.String("catalog", "", "folder of the catalog that the devices ran with; empty: the default one")
	only := f.String("only", "", "play the scenarios with these `ids`, as in testbed run")
	output := f.String("o", "text", "text or json")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if f.NArg() == 0 || *output != "text" && *output != "json" {
		return usageError{errors.New("want at least one PATH, and text or json for -o")}
	}
	cat, err := replay.Catalog(*dir)
	if err != nil {
		return err
	}
	t := &metrics.Tally{Catalog: cat}
	var failed error // of scenarios: the others are measured all the same
	for _, path := range f.Args() {
		switch err := measure(ctx, t, path, *only); {
		case errors.Is(err, errFailed):
			failed = err
		case err != nil:
			return err
		}
	}
	rep := t.Report()
	if *output == "json" {
		return errors.Join(json.NewEncoder(os.Stdout).Encode(rep), failed)
	}
	rep.Print(os.Stdout)
	return failed
}

// measure takes in what a path has.
func measure(ctx context.Context, t *metrics.Tally, path, only string) error {
	if plays, err := isPlay(path); err != nil || plays {
		if err != nil {
			return err
		}
		return measurePlays(ctx, t, runOptions{path: path, only: only, over: scenario.Socket})
	}
	found := 0
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(file) != "agent.db" && file != path {
			return err
		}
		found++
		return t.Read(ctx, file, file)
	})
	if err == nil && found == 0 {
		err = fmt.Errorf("no store (agent.db) and no scenario (.scn) in %s", path)
	}
	return err
}

// isPlay says whether a path is a scenario, or a folder of them.
func isPlay(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return filepath.Ext(path) == ".scn", err
	}
	plays, err := filepath.Glob(filepath.Join(path, "*.scn"))
	return len(plays) > 0, err
}

// measurePlays plays scenarios, tells of each on standard error, and takes in the store that it left.
func measurePlays(ctx context.Context, t *metrics.Tally, opt runOptions) error {
	all, err := opt.load()
	if err != nil {
		return err
	}
	r, err := scenario.NewRunnerOver(opt.over)
	if err != nil {
		return err
	}
	t.Catalog = r.Catalog()
	r.Keep = func(s *scenario.Scenario, store string) error { return t.Read(ctx, s.ID, store) }
	ok := false
	err = scenario.InProgram(func(tt *testing.T) { ok = opt.run(ctx, tt, r, all, bufio.NewWriter(os.Stderr)) })
	if err == nil && !ok {
		err = errFailed
	}
	return err
}
