package conform_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"deviceagent/testbed/conform"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

// The simulated robot's services keep all that the agent relies on, faster than life and over a restart. The catalog that the robot
// writes says where they are and what to run.
func TestTheSimulatedRobotConforms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := robot.WriteCatalog(dir); err != nil {
		t.Fatal(err)
	}
	cat, err := conform.LoadCatalog(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		service, method, runs string
		speed                 float64
	}{
		{"Mover", "", "setMoveTo", 4},
		{"Cleaner", "startBasicAirClear", "startBasicAirClear", 12},
		{"Home", "setMoveTo", "setMoveTo", 4}, // all in one
	} {
		t.Run(tc.service, func(t *testing.T) {
			t.Parallel()
			address, service := startBus(t), robot.BusPrefix+"."+tc.service
			r := startRobot(t, robot.Options{Bus: address, Speed: tc.speed, Home: home.Options{Start: "living_room"}})
			if err := waitName(address, service); err != nil {
				t.Fatal(err)
			}
			o := conform.Options{Bus: address, Service: service, Catalog: cat, Method: tc.method, RestartTime: time.Minute,
				Restart: func(context.Context) error { r.Restart(false); return nil }}
			if tc.service == "Home" { // the catalog binds nothing to it
				o.Path = robot.BusPath
			}
			if tc.service == "Cleaner" {
				o.Params = []map[string]any{{"duration_min": 1.0}}
			}
			rep := check(t, o)
			wantAll(t, rep)
			if rep.Operation.Method != tc.runs {
				t.Errorf("ran %s, want %s", rep.Operation.Method, tc.runs)
			}
		})
	}
}

func startRobot(t *testing.T, o robot.Options) *robot.Robot {
	t.Helper()
	r, err := robot.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); wg.Wait() })
	return r
}

// The example executors are complete: they pass every check, over kill -9 in the middle of a task.
func TestTheExamplesConform(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		dir, service, method string
		program              func(t *testing.T, address, state string) []string
	}{
		{"python", "com.example.Head", "turnHead", pythonExample},
		{"c", "com.example.Lamp", "fadeLamp", cExample},
	} {
		t.Run(tc.dir, func(t *testing.T) {
			t.Parallel()
			address := startBus(t)
			c := startChild(t, address, tc.service, tc.program(t, address, filepath.Join(t.TempDir(), "tasks"))...)
			cat, err := conform.LoadCatalog(example(tc.dir, "catalog.json"))
			if err != nil {
				t.Fatal(err)
			}
			rep := check(t, conform.Options{Bus: address, Service: tc.service, Catalog: cat, Restart: c.restart})
			wantAll(t, rep)
			if rep.Operation.Method != tc.method || rep.Operation.Limits["stop"] != 2000 {
				t.Errorf("took %+v from the catalog", rep.Operation)
			}
		})
	}
}

func pythonExample(t *testing.T, address, state string) []string {
	mustRun(t, "the example needs Debian's dbus-next: apt-get install python3-dbus-next", "/usr/bin/python3", "-c", "import dbus_next")
	return []string{"/usr/bin/python3", "-W", "error::DeprecationWarning:__main__", example("python", "head_executor.py"), "--bus", address, "--state", state}
}

func cExample(t *testing.T, address, state string) []string {
	dir := t.TempDir()
	mustRun(t, "the example needs a compiler and libsystemd: apt-get install gcc make pkg-config libsystemd-dev", "make", "-C", example("c"), "-s", "DIR="+dir)
	return []string{filepath.Join(dir, "lamp_executor"), state, address}
}
