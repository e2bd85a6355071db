package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deviceagent/testbed/scenario"
)

func TestRunFlags(t *testing.T) {
	opt, err := runFlags([]string{"--only", "S02", "dir", "-v", "--mutate"})
	if want := (runOptions{path: "dir", only: "S02", verbose: true, mutate: true, over: scenario.Socket}); err != nil || opt != want {
		t.Errorf("%+v, %v; want %+v", opt, err, want)
	}
	for _, args := range [][]string{{}, {"-v"}, {"a", "b"}, {"--nonsense", "a"}} {
		if _, err := runFlags(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	if _, err := (runOptions{path: "../../testbed/scenarios", only: "S99"}).load(); err == nil {
		t.Error("a scenario that there is not was loaded")
	}
	chosen, err := (runOptions{path: "../../testbed/scenarios", only: "S11,S01"}).load()
	if err != nil || len(chosen) != 2 || chosen[0].ID != "S11" {
		t.Errorf("chosen %v, %v", chosen, err)
	}
	chosen, err = (runOptions{path: "../../testbed/scenarios", only: "S04*"}).load()
	if err != nil || len(chosen) != 2 {
		t.Errorf("chosen %v, %v", chosen, err)
	}
	if opt, err := runFlags([]string{"--over", "dbus", "dir"}); err != nil || opt.over != scenario.DBus {
		t.Errorf("%+v, %v", opt, err)
	}
	if _, err := runFlags([]string{"--over", "air", "dir"}); err == nil {
		t.Error("a way that there is not was taken")
	}
}

// A scenario that does not hold is told with its line, and the run is not good; one that holds is.
func TestRunReport(t *testing.T) {
	good, err := os.ReadFile("../../testbed/scenarios/S11.scn")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "bad.scn")
	bad := strings.Replace(string(good), "up       status 1", "up       status 2", 1)
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := scenario.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		path string
		ok   bool
		want []string
	}{
		{"../../testbed/scenarios/S11.scn", true, []string{"S11", "passed", "0 dispatches, 1 publishes", "flips noticed", "effects: 0 proved", "1 passed, 0 failed"}},
		{path, false, []string{"FAILED", "want up status 2", "got  up status 1", path + ":", "0 passed, 1 failed"}},
	} {
		s, err := scenario.Load(tc.path)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		out := bufio.NewWriter(&text)
		if ok := (runOptions{mutate: true, coverage: true}).run(t.Context(), t, r, []*scenario.Scenario{s}, out); ok != tc.ok {
			t.Errorf("%s: good %v, want %v", tc.path, ok, tc.ok)
		}
		out.Flush()
		for _, want := range tc.want {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: no %q in\n%s", tc.path, want, text.String())
			}
		}
	}
}
