package agent_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"deviceagent/agent"
	"deviceagent/bridge/catalogfile"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/testbed/bus"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

// startBus runs a real dbus-daemon of the test's own and gives its address.
func startBus(t *testing.T) string {
	t.Helper()
	d, err := bus.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Stop() })
	return d.Address()
}

// seenBy is a robot with its own log.
type seenBy struct {
	*robot.Robot
	mu  sync.Mutex
	did []string
}

func (r *seenBy) add(e home.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did = append(r.did, fmt.Sprintf("%s %s", e.Kind, e.Room))
}

// count is how many entries begin so.
func (r *seenBy) count(kind string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.did {
		if strings.HasPrefix(line, kind) {
			n++
		}
	}
	return n
}

// planOverTheBus lets the simulated robot, as services on a real D-Bus, carry out the plan of "거실로 가서 청정하고 안방으로 가", and wants it
// completed and each thing done once. during happens while the robot drives for the first time.
func planOverTheBus(t *testing.T, vendor bool, speed float64, during func(*seenBy)) {
	t.Helper()
	o := options(t)
	o.Config.Executor.Bus = startBus(t)
	dir := t.TempDir()
	write := robot.WriteCatalog
	if vendor {
		write = robot.WriteVendorCatalog
	}
	err := write(dir)
	if err == nil {
		o.Catalog, _, err = catalogfile.Load(os.DirFS(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &seenBy{}
	if r.Robot, err = robot.New(robot.Options{Bus: o.Config.Executor.Bus, Vendor: vendor, Speed: speed, Home: home.Options{Start: "kitchen", Log: r.add}}); err != nil {
		t.Fatal(err)
	}
	ctx, stopRobot := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = r.Run(ctx) })
	defer func() { stopRobot(); wg.Wait() }()
	a, stop := start(t, o)
	steps := `[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"거실"}},
 {"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":1},"required_effects":["air_cleaning_completed"],"depends_on":["go"]},
 {"cloud_step_id":"on","taskMethod":"setMoveTo","params":{"position":"안방"},"depends_on":["clean"]}]`
	ans, err := a.Manager().Receive(t.Context(), []byte(`{"v":"a2a-task-orchestration-v1","type":"plan","id":"0190a000-0000-7000-8000-000000000001","device_id":"rb-1",
 "sent_at":"2026-11-30T09:00:00.000Z","body":{"workflow":{"cloud_workflow_id":"wf_1","plan_id":"pl_1","revision":0},"device_task_requests":`+steps+`}}`), taskmanager.FromLocal)
	if err != nil || !ans.Accepted {
		t.Fatalf("answer %+v (%v)", ans, err)
	}
	if during != nil {
		for end := time.Now().Add(3 * time.Minute); r.count("motion_start") == 0; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				state, text := stands(t, a, "wf_1")
				t.Fatalf("the robot never drove: the plan is %s: %s", state, text)
			}
		}
		during(r)
	}
	state, text := await(t, a, "wf_1")
	if drives, cleans := r.count("motion_start"), r.count("cleaning_start"); state != core.WfCompleted || drives != 2 || cleans != 1 {
		r.mu.Lock()
		defer r.mu.Unlock()
		t.Errorf("the plan is %s, the robot drove %d times and cleaned %d times: %s\n%s", state, drives, cleans, text, strings.Join(r.did, "\n"))
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// TestPlanOverTheBus: proven by the signals of services with our interface, and of those of another maker.
func TestPlanOverTheBus(t *testing.T) {
	t.Run("ours", func(t *testing.T) { planOverTheBus(t, false, 60, nil) })
	t.Run("vendor", func(t *testing.T) { planOverTheBus(t, true, 60, nil) })
}

// TestF58_AFloodOfSignalsHindersNoPlan: a service says a hundred thousand things while it works. Whether they are all heard, or count as lost
// and everything is asked for, the plan is completed and nothing is done twice.
func TestF58_AFloodOfSignalsHindersNoPlan(t *testing.T) {
	flood := func(r *seenBy) {
		if err := r.Command("flood 100000"); err != nil {
			t.Error(err)
		}
	}
	t.Run("ours", func(t *testing.T) { planOverTheBus(t, false, 15, flood) })
	t.Run("vendor", func(t *testing.T) { planOverTheBus(t, true, 15, flood) })
}

// await waits for the end of a workflow and tells how its steps stand.
func await(t *testing.T, a *agent.Agent, id core.WorkflowID) (state core.WorkflowState, text string) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end) && !state.Terminal(); time.Sleep(20 * time.Millisecond) {
		state, text = stands(t, a, id)
	}
	return state, text
}

// stands tells how a workflow and its steps stand.
func stands(t *testing.T, a *agent.Agent, id core.WorkflowID) (state core.WorkflowState, text string) {
	t.Helper()
	if err := a.Manager().Inspect(t.Context(), func(s *core.State, _ core.Now) {
		wf := s.Workflows[id]
		state = wf.State
		for i := range wf.Steps {
			text += fmt.Sprintf("%s is %s %s %s; ", wf.Steps[i].ID, wf.Steps[i].State, wf.Steps[i].Reason, wf.Steps[i].Detail)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return state, text
}
