package scenario

import (
	"flag"
	"fmt"
	"testing"
)

// InProgram calls do with a *testing.T outside of "go test": bubbles of virtual time need one. It may be called once in a process,
// which is expected to exit when do has returned.
//
// Package testing has no other door: Main ends the process when its test ends, so this test never does.
func InProgram(do func(t *testing.T)) error {
	testing.Init()
	if err := flag.CommandLine.Parse(nil); err != nil { // no flag of this program is one of package testing
		return fmt.Errorf("cannot set up virtual time: %w", err)
	}
	done := make(chan struct{})
	all := func(string, string) (bool, error) { return true, nil }
	go testing.Main(all, []testing.InternalTest{{Name: "testbed", F: func(t *testing.T) {
		do(t)
		close(done)
		select {}
	}}}, nil, nil)
	<-done
	return nil
}
