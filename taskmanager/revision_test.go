package taskmanager_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/executors/fake"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/storetest"
)

// revisionJSON is a revision of the plan of a workflow.
func revisionJSON(wf string, revision int, head, requests string) string {
	text := planJSON(wf, requests)
	text = strings.Replace(text, idOf(wf), idOf(fmt.Sprint(wf, revision)), 1)
	return strings.Replace(text, `"revision":0`, fmt.Sprintf(`"revision":%d%s`, revision, head), 1)
}

const (
	kitchenBed  = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"안방"},"depends_on":["step_1"]}]`
	kitchenOnly = `[{"cloud_step_id":"step_3","taskMethod":"setVolume","params":{"level":30},"temporal_relation":"after_planned_step","delay_ms":3600000},{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}}]`
)

// A revision is durable with its answer: after a power cut the merged plan goes on, and what was taken out stays out.
func TestRevisionSurvivesACut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", kitchenBed))
		r.wait(2 * time.Second)
		first := revisionJSON("wf-1", 1, "", kitchenOnly)
		ans := r.receive(first)
		if !ans.Accepted || ans.State != "active" {
			t.Fatalf("answer %+v", ans)
		}
		r.kill()
		r.wait(time.Second)
		r.open()
		r.arrived("kitchen")
		r.wait(20 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Completed {
			t.Fatalf("step_1 is %s", st)
		}
		if st := r.state("wf-1", "step_3"); st != core.Waiting {
			t.Fatalf("step_3 is %s", st)
		}
		if began := r.robot.Began(); len(began) != 1 {
			t.Fatalf("the robot began %v", began)
		}
		if again := r.receive(first); !again.Accepted || again.State != ans.State {
			t.Fatalf("the same again: %+v, first %+v", again, ans)
		}
	})
}

// A planner that comes back from a backup sends what it once sent: the device never goes back to it.
func TestF71_APlannerFromABackup(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", kitchenBed))
		r.receive(revisionJSON("wf-1", 2, "", kitchenOnly))
		r.wait(time.Second)
		if a := r.receive(revisionJSON("wf-1", 1, "", toKitchen)); a.Accepted || a.Reason != core.ReasonOutdatedRevision {
			t.Fatalf("a lower revision: %+v", a)
		}
		if a := r.receive(strings.Replace(revisionJSON("wf-1", 2, "", toKitchen), idOf("wf-12"), idOf("made anew"), 1)); a.Accepted || a.Reason != core.ReasonSameRevision {
			t.Fatalf("the same revision made anew: %+v", a)
		}
		r.receive(planJSON("wf-1", kitchenBed)) // what it had sent before, as it was: the first answer, and no change
		_ = r.m.Inspect(t.Context(), func(s *core.State, _ core.Now) {
			if p := s.Workflows["wf-1"].Plan; p.Revision != 2 || len(p.Steps) != 2 || p.Lookup("step_2") >= 0 {
				t.Errorf("revision %d with %d steps", p.Revision, len(p.Steps))
			}
		})
		r.wait(30 * time.Second)
		if began := r.robot.Began(); len(began) != 1 {
			t.Fatalf("the robot began %v", began)
		}
	})
}

// What a revision stops is told so at once, though the disk stalls.
func TestStopOfARevisionWaitsForNoDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		r.store.Script(storetest.Stall)
		go func() { _, _ = r.m.Receive(t.Context(), []byte(planJSON("wf-2", toKitchen)), taskmanager.FromCloud) }()
		<-r.store.Stalled()
		done := make(chan core.Answer, 1)
		go func() {
			done <- r.receive(revisionJSON("wf-1", 1, `,"cancel_steps":["step_1"]`, `[{"cloud_step_id":"step_9","taskMethod":"setVolume","params":{"level":30}}]`))
		}()
		synctest.Wait()
		if r.stops() == 0 {
			t.Fatal("the stop waits for the disk")
		}
		r.store.Release()
		if ans := <-done; !ans.Accepted {
			t.Fatalf("answer %+v", ans)
		}
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Cancelled {
			t.Fatalf("step is %s", st)
		}
	})
}
