package agent_test

import (
	"bytes"
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

// TestPlanOverTheBus: the simulated robot as services on a real D-Bus, and the catalog that it writes for them; the plan of "거실로 가서 청정하고 안방으로 가", proven by its signals.
func TestPlanOverTheBus(t *testing.T) {
	o := options(t)
	o.Config.Executor.Bus = startBus(t)
	dir := t.TempDir()
	if err := robot.WriteCatalog(dir); err != nil {
		t.Fatal(err)
	}
	var err error
	if o.Catalog, _, err = catalogfile.Load(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var did []string
	ctx, stopRobot := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = robot.Run(ctx, robot.Options{Bus: o.Config.Executor.Bus, Speed: 60, Home: home.Options{Start: "kitchen", Log: func(e home.Entry) {
			mu.Lock()
			defer mu.Unlock()
			did = append(did, fmt.Sprintf("%s %s", e.Kind, e.Room))
		}}, Out: new(bytes.Buffer)})
	})
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
	if state, text := await(t, a, "wf_1"); state != core.WfCompleted {
		mu.Lock()
		defer mu.Unlock()
		t.Errorf("the plan is %s: %s\n%s", state, text, strings.Join(did, "\n"))
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// await waits for the end of a workflow and tells how its steps stand.
func await(t *testing.T, a *agent.Agent, id core.WorkflowID) (state core.WorkflowState, text string) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end) && !state.Terminal(); time.Sleep(20 * time.Millisecond) {
		if err := a.Manager().Inspect(t.Context(), func(s *core.State, _ core.Now) {
			wf := s.Workflows[id]
			state, text = wf.State, ""
			for i := range wf.Steps {
				text += fmt.Sprintf("%s is %s %s %s; ", wf.Steps[i].ID, wf.Steps[i].State, wf.Steps[i].Reason, wf.Steps[i].Detail)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	return state, text
}
