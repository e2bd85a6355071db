package taskmanager_test

import (
	"testing"
	"time"

	"deviceagent/executors/fake"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/storetest"

	"testing/synctest"
)

func controlJSON(id, verb, wf string) string {
	return `{"v":"a2a-task-orchestration-v1","type":"control","id":"` + idOf(id) + `","device_id":"rb-1","sent_at":"2027-01-15T08:00:00.000Z","body":{"verb":"` + verb +
		`","scope":"workflow","target":"` + wf + `","requested_by":"app"}}`
}

func count[T core.Output](r *rig) (n int) {
	for _, c := range r.robot.Log() {
		if _, ok := c.Out.(T); ok {
			n++
		}
	}
	return n
}

// A pause leaves beside a commit, however long that takes; then the task rests, and goes on when it may, without a second call.
func TestPauseWaitsForNoDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		r.store.Script(storetest.Stall)
		go func() { _, _ = r.m.Receive(t.Context(), []byte(planJSON("wf-2", toKitchen)), taskmanager.FromCloud) }()
		<-r.store.Stalled()
		done := make(chan core.Answer, 1)
		go func() { done <- r.receive(controlJSON("p-1", "pause", "wf-1")) }()
		synctest.Wait()
		if count[core.Pause](r) == 0 {
			t.Fatal("the pause waits for the disk")
		}
		r.store.Release()
		if ans := <-done; !ans.Accepted || ans.State != "active" {
			t.Fatalf("pause: %+v", ans)
		}
		r.wait(2 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Paused {
			t.Fatalf("step is %s", st)
		}
		r.kill()
		r.open()
		r.wait(2 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Paused {
			t.Fatalf("after a power cut the step is %s", st)
		}
		r.receive(controlJSON("p-2", "resume", "wf-1"))
		r.wait(2 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Running {
			t.Fatalf("step is %s", st)
		}
		if n := r.calls("setMoveTo"); n != 1 || r.stops() != 0 {
			t.Fatalf("%d calls, %d stops", n, r.stops())
		}
	})
}

// B5: a pause that is heard while the intent to call is written: the call is kept back.
func TestB5_NoDispatchAfterAPauseThatWasHeardDuringTheCommit(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.OK, storetest.Stall) // of the plan, and of its dispatch once the place is read
		r.receive(planJSON("wf-1", toKitchen))
		<-r.store.Stalled()
		done := make(chan core.Answer, 1)
		go func() { done <- r.receive(controlJSON("p-1", "pause", "wf-1")) }()
		synctest.Wait()
		r.store.Release()
		<-done
		r.wait(5 * time.Second)
		if n := r.calls("setMoveTo"); n != 0 {
			t.Fatalf("%d calls after the pause", n)
		}
		if st := r.state("wf-1", "step_1"); st != core.Queued {
			t.Fatalf("step is %s", st)
		}
		r.receive(controlJSON("p-2", "resume", "wf-1"))
		r.wait(5 * time.Second)
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d calls after the resume", n)
		}
	})
}
