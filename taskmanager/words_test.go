package taskmanager_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"deviceagent/taskmanager/core"
)

const kitchenSaid = "엄마 몰래 주방으로 가"

// saidPlan is a plan that comes from words.
func saidPlan(id, more string) string {
	return `{"v":"a2a-task-orchestration-v1","type":"plan","id":"00dc6acf-ac00-7000-8000-0000000000` + id + `","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":{
	"workflow":{"cloud_workflow_id":"wf-` + id + `","plan_id":"pl-` + id + `","revision":0` + more + `,"origin":{"utterance":"` + kitchenSaid + `"}},
	"device_task_requests":[{"cloud_step_id":"go","taskMethod":"setMoveTo","params":{"position":"주방"}}]}}`
}

// What was said stands in a row of its own: nothing that is decided by, played again or sent has it, so that it can go at any time.
func TestWordsAreKeptApart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.up()
		if a := r.receive(saidPlan("11", "")); !a.Accepted {
			t.Fatalf("%+v", a)
		}
		if got := r.m.Words("wf-11"); got != kitchenSaid {
			t.Fatalf("words %q", got)
		}
		apart := func() {
			t.Helper()
			img, err := r.mem.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rows := 0
			for _, rec := range img.Records {
				if bytes.Contains(rec.Body, []byte(kitchenSaid)) {
					rows++
				}
			}
			lines, err := r.mem.Journal(t.Context(), 0, 10_000)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines {
				if bytes.Contains(line.Body, []byte(kitchenSaid)) {
					t.Errorf("row %d of the journal has the words", line.Seq)
				}
			}
			for _, row := range img.Outbox {
				if bytes.Contains(row.Body, []byte(kitchenSaid)) {
					t.Errorf("a message up has the words")
				}
			}
			if rows != 1 {
				t.Errorf("%d records have the words, want one", rows)
			}
		}
		apart()
		r.kill()
		r.open()
		r.up()
		if got := r.m.Words("wf-11"); got != kitchenSaid {
			t.Fatalf("after a restart: words %q", got)
		}
		apart()
		r.settle(time.Minute)
		if wf, ok, err := r.m.Finished(t.Context(), "wf-11"); err != nil || !ok || wf.Plan.Utterance != kitchenSaid {
			t.Fatalf("ended: %v %v %+v", ok, err, wf)
		}
		r.m.Forget([]string{"wf-11"})
		if got := r.m.Words("wf-11"); got != "" {
			t.Errorf("forgotten: words %q", got)
		}
	})
}

// Words of a plan that is refused are not kept; those of a schedule are those of its occurrences, and go with it.
func TestWordsComeAndGoWithTheirPlan(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.up()
		if a := r.receive(strings.Replace(saidPlan("12", ""), "주방", "달나라", 2)); a.Accepted {
			t.Fatal("taken")
		}
		if a := r.receive(saidPlan("13", `,"expires_at":"1999-01-01T00:00:00Z"`)); a.Accepted {
			t.Fatal("taken, and it had expired")
		}
		for _, id := range []core.WorkflowID{"wf-12", "wf-13"} {
			if got := r.m.Words(id); got != "" {
				t.Errorf("%s: words %q", id, got)
			}
		}
		if a := r.receive(saidPlan("14", `,"schedule":{"on":"2030-12-24","at":"18:00","tz":"Asia/Seoul"}`)); !a.Accepted {
			t.Fatalf("%+v", a)
		}
		r.kill()
		r.open()
		if got := r.m.Words("wf-14@20301224T1800"); got != kitchenSaid {
			t.Errorf("of an occurrence: words %q", got)
		}
		r.receive(`{"v":"a2a-task-orchestration-v1","type":"control","id":"00dc6acf-ac00-7000-8000-0000000000ff","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":{"verb":"cancel","scope":"schedule","target":"wf-14"}}`)
		if got := r.m.Words("wf-14"); got != "" {
			t.Errorf("of a schedule that is gone: words %q", got)
		}
	})
}

// Work that has ended and was erased is not known any more; what was answered stays answered.
func TestEndedWorkIsForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.up()
		r.receive(saidPlan("15", ""))
		r.settle(time.Minute)
		if err := r.m.ForgetEnded(t.Context(), []string{"wf-15"}); err != nil {
			t.Fatal(err)
		}
		if err := r.m.Inspect(t.Context(), func(s *core.State, _ core.Now) {
			if len(s.Workflows) != 0 {
				t.Errorf("%d workflows are still in memory", len(s.Workflows))
			}
		}); err != nil {
			t.Fatal(err)
		}
		began := len(r.robot.Began())
		if a := r.receive(saidPlan("15", "")); !a.Accepted {
			t.Errorf("the same plan again: %+v", a)
		}
		r.settle(time.Minute)
		if n := len(r.robot.Began()); n != began {
			t.Errorf("it was carried out again")
		}
		r.foreign = true
	})
}
