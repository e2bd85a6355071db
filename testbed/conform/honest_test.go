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

// The simulated robot keeps all that the agent relies on, faster than life and over a restart of its service.
func TestTheSimulatedRobotConforms(t *testing.T) {
	t.Parallel()
	address := startBus(t)
	r, err := robot.New(robot.Options{Bus: address, Speed: 4, Home: home.Options{Start: "living_room"}})
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
	if err := waitName(address, robot.BusName); err != nil {
		t.Fatal(err)
	}
	cat, err := conform.LoadCatalog(filepath.Join("..", "..", "packaging", "catalog"))
	if err != nil {
		t.Fatal(err)
	}
	wantAll(t, check(t, conform.Options{Bus: address, Service: robot.BusName, Path: robot.BusPath, Catalog: cat, Method: "setMoveTo", RestartTime: time.Minute,
		Restart: func(context.Context) error { r.Restart(false); return nil }}))
}

const installPython = "the example needs Debian's dbus-next: apt-get install python3-dbus-next"

func TestThePythonExampleConforms(t *testing.T) {
	t.Parallel()
	mustRun(t, installPython, "/usr/bin/python3", "-c", "import dbus_next")
	address := startBus(t)
	head := startChild(t, address, "com.example.Head", example("python", "head_executor.py"), "--bus", address, "--state", filepath.Join(t.TempDir(), "tasks.json"))
	cat, err := conform.LoadCatalog(example("python", "catalog.json"))
	if err != nil {
		t.Fatal(err)
	}
	rep := check(t, conform.Options{Bus: address, Service: "com.example.Head", Catalog: cat, Restart: head.restart})
	wantAll(t, rep)
	if rep.Operation.Method != "turnHead" || rep.Operation.Limits["stop"] != 2000 {
		t.Errorf("took %+v from the catalog", rep.Operation)
	}
}
