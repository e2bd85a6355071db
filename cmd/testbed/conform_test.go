package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"deviceagent/testbed/bus"
	"deviceagent/testbed/conform"
	"deviceagent/testbed/conform/broken"
)

func serveBroken(t *testing.T, address, name, behaviour string) {
	t.Helper()
	b, known := broken.Find(behaviour)
	if !known {
		t.Fatalf("no behaviour %s", behaviour)
	}
	s, err := broken.Serve(address, name, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
}

// The exit code of testbed conform says what became of the run, and the report in the file says the same. No catalog is needed.
func TestConformExitCodes(t *testing.T) {
	d, err := bus.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	dir := t.TempDir()
	wheel := func(more ...string) []string {
		return append([]string{"--method", "spin", "--params", `{"turns": 3}`, "--params", `{"turns": 5}`, "--refuse-params", `{"turns": 0}`, "--prove", "wheel.turns=$turns",
			"--at-rest", "wheel.spinning=false", "--expect-event", "wheel.spun", "--settle", "500ms", "--evidence", "2s"}, more...)
	}
	noRestart := []string{"--skip", "restart,restart-memory"}
	cases := []struct {
		name    string
		service string // a behaviour; "": nobody has the name
		args    []string
		code    int
		want    conform.Outcome // "": no report
		ids     []conform.ID    // that failed
	}{
		{"all passed, the restart left out on purpose", "honest", wheel(noRestart...), 0, conform.AllPassed, nil},
		{"nobody has said how to restart", "honest", wheel(), 3, conform.Incomplete, nil},
		{"a command that restarts nothing", "honest", wheel("--restart", "true", "--restart-time", "100ms"), 3, conform.Incomplete, nil},
		{"a command that fails", "honest", wheel("--restart", "exit 4"), 3, conform.Incomplete, nil},
		{"what it cannot do does not apply", "bare", wheel(noRestart...), 0, conform.AllPassed, nil},
		{"what was true before proves nothing", "honest", append(noRestart, "--method", "spin", "--params", `{"turns": 3}`, "--prove", "wheel.spinning=false"), 3, conform.Incomplete, nil},
		{"a lying done", "lies-done", wheel(noRestart...), 1, conform.SomeFailed, []conform.ID{conform.Proof, conform.Events}},
		{"an event that echoes", "event-echo", wheel(noRestart...), 1, conform.SomeFailed, []conform.ID{conform.Events}},
		{"bad input that runs", "takes-anything", wheel(noRestart...), 1, conform.SomeFailed, []conform.ID{conform.Refuses}},
		{"nobody is there", "", wheel(), 2, "", nil},
		{"no bus", "honest", wheel("--bus", "unix:path=/nonexistent/bus"), 2, "", nil},
		{"no object at the path", "honest", wheel("--path", "/elsewhere"), 2, "", nil},
		{"a name that is none", "honest", wheel("--service", "wheel"), 2, "", nil},
		{"no operation", "honest", nil, 2, "", nil},
		{"no arguments", "honest", []string{"--method", "spin"}, 2, "", nil},
		{"arguments that are none", "honest", wheel("--params", "[1]"), 2, "", nil},
		{"a value that is none", "honest", wheel("--prove", "wheel.turns"), 2, "", nil},
		{"a check that is none", "honest", wheel("--skip", "everything"), 2, "", nil},
		{"a form that is none", "honest", wheel("-o", "yaml"), 2, "", nil},
		{"a flag that is none", "honest", wheel("--restarts", "x"), 2, "", nil},
		{"a catalog that is not there", "honest", wheel("--catalog", filepath.Join(dir, "none")), 2, "", nil},
	}
	codes := make([]int, len(cases))
	report := func(i int) string { return filepath.Join(dir, fmt.Sprintf("report%d.json", i)) }
	var wg sync.WaitGroup
	for i, tc := range cases {
		name := fmt.Sprintf("com.example.Wheel%d", i)
		if tc.service != "" {
			serveBroken(t, d.Address(), name, tc.service)
		}
		wg.Go(func() {
			codes[i] = run(append([]string{"conform", "--bus", d.Address(), "--service", name, "--out", report(i)}, tc.args...))
		})
	}
	wg.Wait()
	for i, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if codes[i] != tc.code {
				t.Errorf("exit code %d, want %d", codes[i], tc.code)
			}
			text, err := os.ReadFile(report(i))
			if tc.want == "" {
				if err == nil {
					t.Errorf("there is a report: %s", text)
				}
				return
			}
			var rep conform.Report
			if err := json.Unmarshal(text, &rep); err != nil {
				t.Fatal(err)
			}
			if rep.Outcome != tc.want || !slices.Equal(rep.Failed(), tc.ids) {
				t.Errorf("outcome %s, failed %v; want %s, %v", rep.Outcome, rep.Failed(), tc.want, tc.ids)
			}
		})
	}
}
