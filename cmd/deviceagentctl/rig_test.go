package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"deviceagent/agent/diag"
	"deviceagent/agent/diag/diagtest"
	"deviceagent/taskmanager/core"
)

func TestMain(m *testing.M) {
	time.Local = time.FixedZone("KST", 9*3600)
	goleak.VerifyTestMain(m)
}

const movePlan = `{"workflow":{"cloud_workflow_id":"wf_9c1e","plan_id":"pl_1","revision":0,"origin":{"turn_id":"tn_1","utterance":"거실로 가서 청정해"}},
 "device_task_requests":[
  {"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"},"on_failure":"abort"},
  {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","params":{"duration_min":20},"depends_on":["step_1"],"on_failure":"abort"}]}
`

const eveningPlan = `{"workflow":{"cloud_workflow_id":"wf_eve","plan_id":"pl_eve","revision":0,"schedule":{"days":["mon","tue"],"at":"18:00","end_at":"19:00","tz":"Asia/Seoul","until":"2026-12-31"},
 "origin":{"turn_id":"tn_3","utterance":"월요일과 화요일 저녁에 청정해"}},"device_task_requests":[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]}
`

const bedPlan = `{"workflow":{"cloud_workflow_id":"wf_9c20","plan_id":"pl_2","revision":0,"origin":{"turn_id":"tn_2","utterance":"안방으로 가"}},
 "device_task_requests":[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]}
`

// aimedPlan has a goal; its steps run as they would without it.
const aimedPlan = `{"workflow":{"cloud_workflow_id":"wf_aim","plan_id":"pl_4","revision":0,"origin":{"turn_id":"tn_4","utterance":"거실 공기 깨끗하게 해 줘"}},
 "experience":{"contract_version":"experience.v1","experience_id":"exp_air","goal_id":"clean_air","summary":"거실을 청정한다","effects":[{"effect_id":"target_location_reached","step_id":"step_1","required":true},
  {"effect_id":"air_cleaning_active","step_id":"step_2","required":true}],"constraints":["safety_policy_first"],
  "budget":{"max_decisions":2,"max_replans":1,"deadline_ms":7200000,"fallback":"ask_or_stop","automatic_retries":1,"user_questions":1},"tier":"full"},
 "device_task_requests":[
  {"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}},
  {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","params":{"duration_min":20},"depends_on":["step_1"],"required_effects":["air_cleaning_active"]}]}
`

// robot is a served test agent.
type robot struct {
	*diagtest.Agent
	t    *testing.T
	dir  string
	stop func()
}

func newRobot(t *testing.T) *robot {
	t.Helper()
	a, err := diagtest.New()
	if err != nil {
		t.Fatal(err)
	}
	r := &robot{Agent: a, t: t, dir: t.TempDir()}
	r.serve()
	return r
}

func (r *robot) serve() {
	r.t.Helper()
	var ls []net.Listener
	for _, name := range []string{"diag.sock", "control.sock"} {
		l, err := net.Listen("unix", filepath.Join(r.dir, name))
		if err != nil {
			r.t.Fatal(err)
		}
		ls = append(ls, l)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- diag.Serve(ctx, ls[0], ls[1], r.Agent, zerolog.Nop()) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Serve: %v", err)
		}
	})
	r.t.Cleanup(func() { r.stop() })
	if _, code := r.run("version"); code != 0 {
		r.t.Fatal("the agent is not served")
	}
}

// scene brings the house into a situation.
func (r *robot) scene(name string) {
	r.t.Helper()
	switch name {
	case "idle":
	case "moving": // one moves, one waits for the base
		r.Submit(movePlan)
		r.Do(core.TaskAnswered{Task: r.Last(), Accepted: true, Instance: "run-1"})
		r.Submit(bedPlan)
		r.Pass(12_000)
	case "verifying": // arrived with proof; the cleaner's service says done, nothing proves it
		r.Submit(movePlan)
		r.Arrive("living_room")
		r.Do(core.TaskAnswered{Task: r.Last(), Accepted: true, Instance: "run-1"})
		r.Pass(2_000)
		r.Read("cleaning.is_running", false)
		r.Do(core.TaskEnded{Task: r.Last(), Outcome: core.OutcomeDone})
		r.Pass(2_100)
	case "asked": // the same, and the cloud is asked what to do
		r.Submit(strings.ReplaceAll(movePlan, `,"on_failure":"abort"`, ""))
		r.Arrive("living_room")
		r.Do(core.TaskAnswered{Task: r.Last(), Accepted: true, Instance: "run-1"})
		r.Pass(2_000)
		r.Read("cleaning.is_running", false)
		r.Do(core.TaskEnded{Task: r.Last(), Outcome: core.OutcomeDone})
		r.Pass(60_000)
	case "ended": // one completed, one failed
		r.Submit(bedPlan)
		r.Arrive("master_bedroom")
		r.scene("verifying")
		r.Pass(60_000)
	case "aimed": // arrived with proof; the cleaner refuses, the cloud answers with one more try, and another plan has no goal
		r.Submit(aimedPlan)
		r.Arrive("living_room")
		for key, v := range map[string]any{"battery.level": 80.0, "cleaning.is_running": false, "movement.is_moving": false, "movement.location": "living_room"} {
			r.Read(key, v) // the cloud is not asked over what is stale
		}
		r.Do(core.TaskAnswered{Task: r.Last(), Reason: core.ReasonExecutorRefused})
		r.Pass(2_000)
		r.Decide("wf_aim", core.ActRetry, core.Usage{Model: "small", InputTokens: 512, LatencyMS: 820})
		r.Submit(bedPlan)
		r.Pass(1_000)
	case "scheduled": // two schedules: one was begun at 18:00 on the Monday, it is 18:01
		r.Submit(eveningPlan)
		r.Submit(strings.NewReplacer("eve", "once", `"days":["mon","tue"]`, `"on":"2026-12-24"`, `"until":"2026-12-31"`, `"until":null`, "월요일과 화요일 저녁에 청정해", "").Replace(eveningPlan))
		r.Pass(4*3_600_000 - 10_000)
		r.Pass(70_000)
		r.Do(core.Occurred{Template: "wf_eve", Stamp: "20261130T1800", AtMS: diagtest.Started + 4*3_600_000, EndMS: diagtest.Started + 5*3_600_000})
	default:
		r.t.Fatalf("no scene %s", name)
	}
}

// output is what a call left behind.
type output struct{ stdout, stderr string }

func (r *robot) run(args ...string) (output, int) { return r.runEnv(nil, "", args...) }

func (r *robot) runEnv(env map[string]string, stdin string, args ...string) (output, int) {
	return r.runCtx(context.Background(), env, stdin, args...)
}

func (r *robot) runCtx(ctx context.Context, env map[string]string, stdin string, args ...string) (output, int) {
	var out, errs paper
	return r.runOn(ctx, &out, &errs, env, stdin, args...)
}

// paper is what a call writes on while others read it.
type paper struct {
	mu   sync.Mutex
	cond *sync.Cond
	b    bytes.Buffer
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cond != nil {
		p.cond.Broadcast()
	}
	return p.b.Write(b)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

// await returns when the text has been written.
func (p *paper) await(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cond = sync.NewCond(&p.mu)
	for !strings.Contains(p.b.String(), text) {
		p.cond.Wait()
	}
}

func (r *robot) runOn(ctx context.Context, out, errs *paper, env map[string]string, stdin string, args ...string) (output, int) {
	code := run(ctx, world{args: args, stdin: strings.NewReader(stdin), stdout: out, stderr: errs, zone: time.FixedZone("KST", 9*3600), env: func(name string) string {
		if name == "DEVICEAGENT_SOCKET" && env[name] == "" {
			return filepath.Join(r.dir, "diag.sock")
		}
		return env[name]
	}})
	return output{out.String(), errs.String()}, code
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
