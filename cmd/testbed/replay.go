package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"deviceagent/testbed/replay"
)

// runReplay runs what a device recorded once more. A state that comes out another way is named, and the exit code is 1.
func runReplay(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("testbed replay", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "testbed replay JOURNAL: JOURNAL is a store (agent.db) or a dump of one; it is read only")
		f.PrintDefaults()
	}
	dir := f.String("catalog", "", "folder of the catalog that the device ran with; empty: the default one")
	dump := f.Bool("dump", false, "replay nothing: print the journal and the open records as lines of JSON")
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if f.NArg() != 1 {
		return usageError{fmt.Errorf("want one JOURNAL, have %d", f.NArg())}
	}
	if *dump {
		return replay.Dump(ctx, f.Arg(0), os.Stdout)
	}
	cat, err := replay.Catalog(*dir)
	if err != nil {
		return err
	}
	done, err := replay.Run(ctx, f.Arg(0), cat)
	if done.Skipped > 0 {
		fmt.Printf("%d rows left out: before the first start with nothing open, or of an older version\n", done.Skipped)
	}
	fmt.Printf("%d starts, %d batches of %d rows up to sequence %d, %d commits, %d records and messages compared\n",
		done.Starts, done.Batches, done.Rows, done.Last, done.Commits, done.Records)
	if err != nil {
		return err
	}
	fmt.Println("the same, byte for byte")
	return nil
}
