package conform_test

import (
	"context"
	"slices"
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
		{"Panel", "setVolume", "setVolume", 1}, // at once, and neither paused nor cancelled
		{"Home", "setMoveTo", "setMoveTo", 4},  // all in one
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
			if tc.service == "Panel" {
				o.Params, o.Skip = []map[string]any{{"level": 10.0}, {"level": 40.0}}, []conform.ID{conform.Restart}
			}
			rep := check(t, o)
			if tc.service == "Panel" {
				if rep.Outcome != conform.AllPassed || rep.Counts[conform.NotApplicable] != 5 {
					t.Errorf("outcome %s, %v", rep.Outcome, rep.Counts)
				}
			} else {
				wantAll(t, rep)
			}
			if rep.Operation.Method != tc.runs {
				t.Errorf("ran %s, want %s", rep.Operation.Method, tc.runs)
			}
		})
	}
}

// What the robot's own faults do to the agent, the kit sees before.
func TestTheSimulatedRobotsFaultsAreNamed(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	defer wg.Wait()
	dir := t.TempDir()
	if err := robot.WriteCatalog(dir); err != nil {
		t.Fatal(err)
	}
	cat, err := conform.LoadCatalog(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		fault string
		want  conform.ID
	}{
		{"setMoveTo:lie_done", conform.Proof}, {"setMoveTo:arrive_elsewhere=entrance", conform.Proof}, {"setMoveTo:drop_event=movement.arrived", conform.Proof},
		{"setMoveTo:hang", conform.Answers}, {"setMoveTo:no_result", conform.Ends}, {"setMoveTo:ignore_cancel", conform.Cancel},
		{"setMoveTo:ignore_pause", conform.Pause}, {"setMoveTo:hang_query", conform.Answers}, {"setMoveTo:duplicate_events", conform.Events},
	} {
		o := robot.Options{Bus: startBus(t), Speed: 8, Home: home.Options{Start: "living_room"}}
		if err := o.Home.Faults.Add(tc.fault); err != nil {
			t.Fatal(err)
		}
		startRobot(t, o)
		wg.Go(func() {
			service := robot.BusPrefix + ".Mover"
			if err := waitName(o.Bus, service); err != nil {
				t.Error(err)
				return
			}
			rep, err := conform.Run(t.Context(), conform.Options{Bus: o.Bus, Service: service, Catalog: cat, Timeout: 12 * time.Second, Evidence: 3 * time.Second,
				Skip: []conform.ID{conform.Restart, conform.Memory}})
			if err != nil {
				t.Errorf("%s: %v", tc.fault, err)
			} else if !slices.Contains(rep.Failed(), tc.want) {
				t.Errorf("%s: the kit names %v, want %s among them", tc.fault, rep.Failed(), tc.want)
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
