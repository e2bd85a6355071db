package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"deviceagent/testbed/conform/broken"
)

// runBroken serves one broken service, so that one can see what the kit says of it.
func runBroken(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("testbed broken", flag.ContinueOnError)
	address := f.String("bus", "", "`address` of the bus")
	name := f.String("service", "com.example.Wheel", "well-known `name` that it takes")
	list := f.Bool("list", false, "list the behaviours with the check that names each")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "Usage of testbed broken: testbed broken --bus ADDRESS BEHAVIOUR. SIGHUP restarts the service.")
		f.PrintDefaults()
	}
	if err := f.Parse(args); err != nil {
		return flagError(err)
	}
	if *list {
		for _, b := range broken.All() {
			fmt.Printf("%-24s %-15s %s\n", b.Name, b.Check, b.What)
		}
		return nil
	}
	b, known := broken.Find(f.Arg(0))
	switch {
	case *address == "":
		return usageError{errors.New("--bus is missing")}
	case !known || f.NArg() != 1:
		return usageError{fmt.Errorf("which behaviour? testbed broken --list names them, and %q is none", f.Arg(0))}
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	s, err := broken.Serve(*address, *name, b)
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			if err := s.Restart(); err != nil {
				return err
			}
		}
	}
}
