package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"deviceagent/testbed/sentences"
)

// leastExact is the share of composed sentences that the planner has to read exactly right. Source: docs/planner.md, measured.
const leastExact = 0.98

// runSentences composes sentences and holds the planner to their plans.
func runSentences(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("testbed sentences", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "testbed sentences: Korean commands composed of the catalog, each with the plan that it asks for; the rules planner has to read 98 % exactly")
		f.PrintDefaults()
	}
	seed := f.Uint64("seed", 1, "same seed, same sentences")
	count := f.Int("count", 500, "how many")
	output := f.String("o", "text", "`form` of the report: text, json")
	list := f.Bool("list", false, "plan nothing: print the sentences with the plans they ask for")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if f.NArg() > 0 || *count < 1 || *output != "text" && *output != "json" {
		return usageError{fmt.Errorf("want no argument, a count of 1 or more and -o text or json")}
	}
	if *list {
		return listSentences(os.Stdout, *seed, *count)
	}
	report, err := sentences.JudgeRules(ctx, *seed, *count)
	if err != nil {
		return err
	}
	if *output == "json" {
		err = json.NewEncoder(os.Stdout).Encode(report)
	} else {
		writeSentences(os.Stdout, report)
	}
	if err == nil && report.Share < leastExact {
		err = fmt.Errorf("%d of %d sentences of seed %d were read exactly right: less than %.0f %%", report.Exact, report.Count, report.Seed, 100*leastExact)
	}
	return err
}

func listSentences(w io.Writer, seed uint64, count int) error {
	cases, err := sentences.ComposeDefault(seed, count)
	for _, c := range cases {
		fmt.Fprintf(w, "%s\n    %s\n", c.Text, c.Want)
	}
	return err
}

func writeSentences(w io.Writer, r sentences.Report) {
	for _, m := range r.Misses {
		fmt.Fprintf(w, "%s\n  expected %s\n  got      %s\n  says     %s\n", m.Text, m.Want, m.Got, m.Answer)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Features)) {
		fmt.Fprintf(w, "%-20s %d/%d\n", name, r.Features[name].Exact, r.Features[name].Count)
	}
	fmt.Fprintf(w, "seed %d: exact %d/%d = %.1f %%\n", r.Seed, r.Exact, r.Count, 100*r.Share)
}
