package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"deviceagent/agent/diag"
	"deviceagent/taskmanager/core"
	"deviceagent/testbed/bus"
	"deviceagent/testbed/home"
	"deviceagent/testbed/robot"
)

// Aftermath is the boot after a cut: the agent's own program starts on the state that the cut left, a robot that lost its power with it
// is on a bus, and each plan has to come to its right end.
type Aftermath struct {
	Agent   string        // path of deviceagentd
	Catalog string        // folder: every operation is bound to the robot on the bus
	Steps   int           // of each plan of the job, that move the robot or clean
	Limit   time.Duration // for the ends of all plans
}

type aftermath struct {
	text   string
	faults []string
}

// deviceID is what the machine's agent is called, in files/agent.toml.
const deviceID = "rb-machine"

// Run starts all of it in a folder of its own on a copy of state, and ends it.
func (a *Aftermath) Run(ctx context.Context, state string, due due) (out aftermath, err error) {
	dir, err := os.MkdirTemp("", "boot-")
	if err != nil {
		return out, err
	}
	defer os.RemoveAll(dir)
	kept := filepath.Join(dir, "state")
	if err := os.CopyFS(kept, os.DirFS(state)); err != nil {
		return out, fmt.Errorf("cannot copy the state: %w", err)
	}
	d, err := bus.Start()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, d.Stop()) }()
	did, stopRobot := startRobot(ctx, d.Address(), whereabouts(due.robot))
	defer stopRobot()
	proc, log, err := a.start(ctx, dir, kept, d.Address())
	if err != nil {
		return out, err
	}
	defer func() {
		_ = proc.Process.Signal(syscall.SIGTERM)
		_ = proc.Wait()
	}()
	begun := time.Now()
	c := &diag.Client{Socket: filepath.Join(dir, "diag.sock"), Control: filepath.Join(dir, "control.sock")}
	ends, err := a.ends(ctx, c)
	if err != nil {
		return out, fmt.Errorf("%w; the agent's log:\n%s", err, log)
	}
	entries := did()
	out.faults = append(a.wrongEnds(ends, due), a.twice(entries, ends, due)...)
	if len(out.faults) > 0 {
		out.faults = append(out.faults, "the agent's log:\n"+log.String())
	}
	unproved := 0
	for _, p := range ends {
		if p.unproved() {
			unproved++
		}
	}
	out.text = fmt.Sprintf("started, %d plans ended as they should, %d of them had before, %d without the proof that the cut took; %d movements after it, %.1f s",
		len(ends), len(due.ended), unproved, len(home.Movements(entries)), time.Since(begun).Seconds())
	return out, nil
}

func (a *Aftermath) start(ctx context.Context, dir, state, busAt string) (*exec.Cmd, *lockedBuffer, error) {
	// Not time.assume_synced: with a clock that is not trusted the time since the cut, which the check itself takes, is no time off.
	args := []string{"--config", "/dev/null"}
	for _, kv := range [][2]string{
		{"device_id", deviceID}, {"state_dir", state}, {"run_dir", dir}, {"catalog_dir", a.Catalog}, {"executor.bus", busAt},
		{"executor.socket", filepath.Join(dir, "executor.sock")}, {"diag.read_socket", filepath.Join(dir, "diag.sock")},
		{"diag.control_socket", filepath.Join(dir, "control.sock")}, {"log.level", "debug"},
	} {
		args = append(args, "--set", kv[0]+"="+kv[1])
	}
	log := &lockedBuffer{}
	cmd := exec.CommandContext(ctx, a.Agent, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("cannot start the agent: %w", err)
	}
	return cmd, log, nil
}

// plan is what the agent says of one.
type plan struct {
	State  core.WorkflowState `json:"state"`
	Reason core.Reason        `json:"reason_code"`
}

// unproved says that the agent gave up waiting for a proof. Right where the power took the proof with it: the robot had said done, its
// event was not on the disk yet, and the time for it ran out while the machine was off.
func (p plan) unproved() bool {
	return p.State == core.WfFailed && p.Reason == core.ReasonEvidenceTimeout
}

// ends waits until the agent has no open plan, and gives the state of each that it knows.
func (a *Aftermath) ends(ctx context.Context, c *diag.Client) (map[string]plan, error) {
	end := time.Now().Add(a.Limit)
	for {
		states, err := plansOf(ctx, c)
		open := slices.ContainsFunc(slices.Collect(maps.Values(states)), func(p plan) bool { return !p.State.Terminal() })
		switch {
		case err == nil && !open:
			return states, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case time.Now().After(end) && err != nil:
			return nil, err
		case time.Now().After(end):
			return states, nil // what is open is a fault, and named
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// plansOf asks for the plans of the job, in order of their ids, up to one that nobody knows.
func plansOf(ctx context.Context, c *diag.Client) (map[string]plan, error) {
	if _, err := c.Get(ctx, "/status", nil); err != nil {
		return nil, err
	}
	out := map[string]plan{}
	for _, id := range planIDs() {
		rep, err := c.Get(ctx, "/workflows/"+id, nil)
		if p, ok := errors.AsType[*diag.Problem](err); ok && p.Status == 404 {
			break
		}
		if err != nil {
			return nil, err
		}
		var p plan
		if err := json.Unmarshal(rep.Data, &p); err != nil {
			return nil, err
		}
		out[id] = p
	}
	return out, nil
}

func (a *Aftermath) wrongEnds(ends map[string]plan, due due) (faults []string) {
	unproved := 0
	for id, p := range ends {
		switch {
		case p.State == core.WfCompleted:
		case p.unproved() && unproved == 0 && !slices.Contains(due.ended, id): // one step at a time waits for its proof
			unproved++
		default:
			faults = append(faults, fmt.Sprintf("after the start plan %s is %s (%s), not completed", id, p.State, p.Reason))
		}
	}
	for _, id := range due.accepted {
		if _, ok := ends[id]; !ok {
			faults = append(faults, fmt.Sprintf("after the start nobody knows plan %s, which had been accepted", id))
		}
	}
	slices.Sort(faults)
	return faults
}

// twice says what the body did again that it had done.
func (a *Aftermath) twice(after []home.Entry, ends map[string]plan, due due) []string {
	faults := home.CheckLog(after)
	before := due.tasks()
	moves := 0
	for _, e := range after {
		if e.Kind != home.KindInvoke || !physical[e.Method] {
			continue
		}
		moves++
		if slices.Contains(before, e.TaskID) {
			faults = append(faults, fmt.Sprintf("task %s was given to the robot again after the start", e.TaskID))
		}
	}
	if most := (len(ends) - len(due.ended)) * a.Steps; moves > most {
		faults = append(faults, fmt.Sprintf("%d tasks after the start, but only %d steps could be open: a plan that had ended was carried out again", moves, most))
	}
	return faults
}

// whereabouts is the last room that the robot reached before the power left it; "": its station. On the way it had reached nothing.
func whereabouts(log []home.Entry) string {
	for _, e := range slices.Backward(log) {
		if e.Kind == home.KindMotionEnd {
			return e.Room
		}
	}
	return ""
}

// startRobot runs a robot with no memory of what it was told before.
func startRobot(ctx context.Context, address, room string) (did func() []home.Entry, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex
	var entries []home.Entry
	var wg sync.WaitGroup
	opt := robot.Options{Bus: address, Speed: 60, Out: io.Discard, Home: home.Options{Start: room, Battery: 80, Log: func(e home.Entry) {
		mu.Lock()
		defer mu.Unlock()
		entries = append(entries, e)
	}}}
	wg.Go(func() { _ = robot.Run(ctx, opt) })
	return func() []home.Entry { mu.Lock(); defer mu.Unlock(); return slices.Clone(entries) }, func() { cancel(); wg.Wait() }
}

// lockedBuffer keeps what two writers say.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
