package machine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/store"
	"deviceagent/testbed/home"
	"deviceagent/testbed/replay"
)

// Ports by which lines come out of the machine. On "ack" the job says "accepted ID" when the agent had answered a submit, and "ended ID"
// when it had said that the plan is completed. On "robot" comes the robot's own log.
const (
	PortAck   = "ack"
	PortRobot = "robot"
)

// due is what had been acknowledged before a cut.
type due struct {
	accepted []string     // plans
	ended    []string     // of them
	robot    []home.Entry // what the body had been told and had done
}

func (d due) count() int { return len(d.accepted) + len(d.ended) + len(d.tasks()) }

// tasks are the physical ones that the robot had been given. A read need not wait for the disk.
func (d due) tasks() (out []string) {
	for _, e := range d.robot {
		if e.Kind == home.KindInvoke && physical[e.Method] {
			out = append(out, e.TaskID)
		}
	}
	return out
}

var physical = map[string]bool{"setMoveTo": true, "startBasicAirClear": true, "returnToStation": true}

// dueAt is what had come out when the write log was not longer than this.
func dueAt(seen []Seen, length int64) (d due) {
	for _, s := range seen {
		if s.Log > length {
			continue
		}
		switch s.Port {
		case PortRobot:
			var e home.Entry
			if json.Unmarshal([]byte(s.Line), &e) == nil {
				d.robot = append(d.robot, e)
			}
		case PortAck:
			what, id, _ := strings.Cut(strings.TrimSpace(s.Line), " ")
			switch what {
			case "accepted":
				d.accepted = append(d.accepted, id)
			case "ended":
				d.ended = append(d.ended, id)
			}
		}
	}
	return d
}

// lost holds the store in a folder against what was due. It leaves the folder as it is.
func lost(ctx context.Context, state string, due due, cat *catalog.Catalog) ([]string, error) {
	path := filepath.Join(state, "agent.db")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if due.count() > 0 {
			return []string{fmt.Sprintf("there is no store, and %d things had been acknowledged", due.count())}, nil
		}
		return nil, nil // the cut came before the first start
	}
	found, faults, err := look(ctx, path)
	if err != nil || len(faults) > 0 {
		return faults, err
	}
	for _, id := range due.accepted {
		if !found.plans[id] {
			faults = append(faults, fmt.Sprintf("plan %s had been accepted and is not there", id))
		}
	}
	for _, id := range due.ended {
		if found.plans[id] && !found.ended[id] {
			faults = append(faults, fmt.Sprintf("plan %s had ended and is open", id))
		}
	}
	for _, id := range due.tasks() {
		if !found.tasks[id] {
			faults = append(faults, fmt.Sprintf("the robot had been given task %s, and nobody knows of it", id))
		}
	}
	if len(faults) == 0 && found.starts > 0 {
		if _, err := replay.Run(ctx, path, cat); err != nil {
			faults = append(faults, fmt.Sprintf("the journal does not lead to the state: %v", err))
		}
	}
	return faults, nil
}

// found is what a store holds.
type found struct {
	starts       int64
	plans, ended map[string]bool
	tasks        map[string]bool
}

// look opens a copy of a store as the agent would: with its checks and migrations.
func look(ctx context.Context, path string) (f found, faults []string, err error) {
	dir, err := os.MkdirTemp("", "look-")
	if err != nil {
		return f, nil, err
	}
	defer os.RemoveAll(dir)
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "agent.db"+suffix), text, 0o600)
		}
		if err != nil {
			return f, nil, err
		}
	}
	s, err := store.Open(ctx, filepath.Join(dir, "agent.db"), store.Options{BallastBytes: -1})
	if err != nil {
		return f, []string{fmt.Sprintf("the store does not open: %v", err)}, nil
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	img, err := s.Load(ctx)
	if err != nil {
		return f, []string{fmt.Sprintf("the store cannot be read: %v", err)}, nil
	}
	if img.SetAside != "" {
		return f, []string{"the store is damaged: " + img.AsideWhy}, nil
	}
	f = found{starts: img.StartNo, plans: map[string]bool{}, ended: map[string]bool{}, tasks: map[string]bool{}}
	records := img.Records
	for _, id := range planIDs() {
		rows, ok, err := s.Finished(ctx, id)
		if err != nil {
			return f, nil, err
		}
		f.ended[id] = ok
		records = append(records, rows...)
	}
	for _, r := range records {
		f.plans[r.Workflow] = true
		if r.Item == "" && r.Workflow != "" && !f.ended[r.Workflow] {
			f.ended[r.Workflow] = hasEnded(r.Body)
		}
		if task, ok := strings.CutPrefix(r.Item, "a:"); ok {
			f.tasks[task] = true
		}
	}
	return f, nil, nil
}

// hasEnded reads a plan's own record. Its rows are not closed before the robot has also told the end of its last task, which may be later.
func hasEnded(body []byte) bool {
	var head struct{ State core.WorkflowState }
	return cbor.Unmarshal(body, &head) == nil && head.State.Terminal()
}

// mostPlans is how many plans a job of power cuts hands in at most; it calls them wf_1, wf_2, ….
const mostPlans = 200

func planIDs() (out []string) {
	for n := range mostPlans {
		out = append(out, fmt.Sprintf("wf_%d", n+1))
	}
	return out
}
