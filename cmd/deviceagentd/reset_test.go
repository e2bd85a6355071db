package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"deviceagent/agent/reset"
)

// said is what somebody asked for, and must not be found after a reset.
const said = "거실로 가서 약 가져와 marker-utterance"

const saidPlan = `{"workflow":{"cloud_workflow_id":"wf_said","plan_id":"pl_1","revision":0,"origin":{"turn_id":"tn_1","utterance":"` + said + `"}},
 "device_task_requests":[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}}]}`

// epoch is that of the store, as status says it.
func (r *robot) epoch() string {
	r.t.Helper()
	var s struct {
		Store struct {
			Epoch string `json:"epoch"`
		} `json:"store"`
	}
	if err := json.Unmarshal([]byte(r.status()), &s); err != nil || s.Store.Epoch == "" {
		r.t.Fatalf("%v in %s", err, r.status())
	}
	return s.Store.Epoch
}

// traces lists the files of state_dir in which a text can be read.
func (r *robot) traces(text string) (out []string) {
	r.t.Helper()
	err := filepath.WalkDir(r.at("state"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *robot) say(plan string) {
	r.t.Helper()
	if _, err := r.client().Post(r.t.Context(), "/plans", nil, []byte(plan)); err != nil {
		r.t.Fatal(err)
	}
}

// The agent takes the wish, ends as asked, and has nothing any more when it is back.
func TestFactoryResetOfTheRunningAgent(t *testing.T) {
	r := newRobot(t)
	p := r.start(nil, "")
	r.hear("READY=1")
	r.say(saidPlan)
	before := r.epoch()
	if len(r.traces(said)) == 0 {
		t.Fatal("the plan is not on the disk: nothing is tried here")
	}
	if _, err := r.client().Post(t.Context(), "/factory-reset", nil, []byte(`{"device_id":"rb-1","reason":"sold"}`)); err != nil {
		t.Fatal(err)
	}
	if end := p.end(); end.ExitStatus() != exitOK {
		t.Fatalf("exit %d: what starts agents anew after any end but a bad setting does so after this", end.ExitStatus())
	}
	if asked, err := reset.Asked(r.at("state")); !asked || err != nil {
		t.Fatalf("the wish is not on the disk: %v", err)
	}
	var log bytes.Buffer
	p = r.start(&log, "")
	r.hear("READY=1")
	if now := r.epoch(); now == before {
		t.Error("the store is that of before")
	}
	all, err := r.client().Get(t.Context(), "/workflows", map[string][]string{"all": {"true"}})
	if err != nil || strings.Contains(string(all.Data), "wf_said") {
		t.Errorf("what it has: %s, %v", all.Data, err)
	}
	if found := r.traces(said); len(found) > 0 {
		t.Errorf("what was said is in %v", found)
	}
	p.signal(syscall.SIGTERM)
	p.end()
	if text := log.String(); !strings.Contains(text, "factory reset done") || !strings.Contains(text, `"reason":"sold"`) || !strings.Contains(text, "uid ") {
		t.Errorf("the log does not say who did it:\n%s", text)
	}
}

// The wish is on the disk and the power goes: the next start does what was wished.
func TestAFactoryResetThatWasCutIsFinishedByTheNextStart(t *testing.T) {
	r := newRobot(t)
	p := r.start(nil, "")
	r.hear("READY=1")
	r.say(saidPlan)
	p.signal(syscall.SIGKILL)
	p.end()
	if err := reset.Ask(r.at("state"), "test", "", time.Now()); err != nil {
		t.Fatal(err)
	}
	p = r.start(nil, "")
	r.hear("READY=1")
	if found := r.traces(said); len(found) > 0 {
		t.Errorf("what was said is in %v", found)
	}
	p.signal(syscall.SIGTERM)
	p.end()
}

// Two agents never share a store: the second is told, and touches nothing.
func TestASecondAgentOnTheSameStateDoesNotStart(t *testing.T) {
	r := newRobot(t)
	r.start(nil, "")
	r.hear("READY=1")
	if err := reset.Ask(r.at("state"), "test", "", time.Now()); err != nil {
		t.Fatal(err)
	}
	before := r.epoch()
	var log bytes.Buffer
	second := r.start(&log, "")
	if end := second.end(); end.ExitStatus() != exitError || !strings.Contains(log.String(), "another process uses it") {
		t.Fatalf("exit %d: %s", end.ExitStatus(), log.String())
	}
	if r.epoch() != before {
		t.Error("the store of the first was wiped below it")
	}
}
