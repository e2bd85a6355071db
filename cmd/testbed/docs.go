package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"deviceagent/testbed/doctest"
)

// runDocs does what the guides say, each in an empty folder of its own.
func runDocs(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("testbed docs", flag.ContinueOnError)
	r := doctest.Runner{}
	f.StringVar(&r.Bin, "bin", "", "folder of the programs; empty: that of this program")
	f.StringVar(&r.On, "on", "", "run what is for this `machine`, such as robot, and nothing else; it is changed by that")
	repo := f.String("repo", ".", "this repository, for its examples: the variable REPO")
	f.DurationVar(&r.Limit, "limit", 2*time.Minute, "for one block of commands")
	jobs := f.Int("jobs", 4, "so many pages at a time")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "Usage: testbed docs [flags] PAGE.md…\nRuns the commands of guides; how a page is written: docs/tests.md.")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if f.NArg() == 0 {
		return usageError{errors.New("which pages? as in testbed docs README.md docs/*.md")}
	}
	if r.Bin == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("cannot find the programs: %w", err)
		}
		r.Bin = filepath.Dir(self)
	}
	var err error
	if r.Repo, err = filepath.Abs(*repo); err != nil {
		return fmt.Errorf("cannot find the repository: %w", err)
	}
	pages, err := readPages(f.Args())
	if err != nil {
		return err
	}
	reports, err := runPages(ctx, r, pages, *jobs)
	return errors.Join(tellDocs(reports), err)
}

func readPages(paths []string) (pages []doctest.Page, err error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("cannot read a page: %w", err)
		}
		pages = append(pages, doctest.Parse(path, string(text)))
	}
	return pages, nil
}

// runPages runs pages side by side and returns the reports in the order of the pages. A translation is not run: it is held against
// its original, which is.
func runPages(ctx context.Context, r doctest.Runner, pages []doctest.Page, jobs int) ([]doctest.Report, error) {
	reports, faults := make([]doctest.Report, len(pages)), make([]error, len(pages))
	free := make(chan struct{}, max(1, jobs))
	var wg sync.WaitGroup
	for i, page := range pages {
		if original := originalAmong(pages, page.Path); original != nil {
			reports[i] = doctest.Report{Page: page.Path, Faults: append(page.Faults, doctest.DifferencesOf(*original, page)...), As: original.Path}
			continue
		}
		wg.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			reports[i], faults[i] = r.Run(ctx, page)
		})
	}
	wg.Wait()
	return reports, errors.Join(faults...)
}

func originalAmong(pages []doctest.Page, path string) *doctest.Page {
	name, ok := doctest.OriginalOf(path)
	for i, p := range pages {
		if ok && p.Path == name {
			return &pages[i]
		}
	}
	return nil
}

// tellDocs prints how the pages went, and what was not run.
func tellDocs(reports []doctest.Report) error {
	run, not, bad := 0, 0, 0
	for _, rep := range reports {
		run, not = run+rep.Run, not+len(rep.NotRun)
		switch {
		case rep.As != "":
			fmt.Printf("%-32s the same as %s\n", rep.Page, rep.As)
		case rep.Run+rep.Files+len(rep.NotRun)+len(rep.Faults) > 0:
			fmt.Printf("%-32s %2d run, %d not run, %d files written, %.1f s\n", rep.Page, rep.Run, len(rep.NotRun), rep.Files, rep.Took.Seconds())
		}
		for _, n := range rep.NotRun {
			fmt.Printf("    not run, line %d: %s\n", n.Line, n.Reason)
		}
		for _, fault := range rep.Faults {
			fmt.Printf("FAULT %s\n", fault)
			bad++
		}
		if rep.Kept != "" {
			fmt.Printf("    its folder is kept: %s\n", rep.Kept)
		}
	}
	fmt.Printf("%d blocks of commands run, %d not run, %d faults\n", run, not, bad)
	switch {
	case bad > 0:
		return errors.New("a guide does not hold")
	case run == 0:
		return errors.New("nothing was run: the pages have no commands")
	}
	return nil
}
