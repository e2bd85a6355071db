package taskmanager_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"deviceagent/bridge"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// reopen starts the process, and says how it ended if it ended by itself.
func (r *rig) reopen() error {
	r.t.Helper()
	r.kill()
	r.open()
	return r.crash()
}

// crash is the error with which the Manager ended by itself, nil while it runs.
func (r *rig) crash() error {
	select {
	case err := <-r.ended:
		r.ended <- err
		return err
	default:
		return nil
	}
}

// spoil makes the record of a workflow one that can be read and breaks what the core relies on: a step that waits for one which is not there.
func (r *rig) spoil(wf string) {
	r.t.Helper()
	r.foreign = true
	img, err := r.mem.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, w := range taskmanager.DecodeRecords(img.Records).Workflows {
		if string(w.Plan.Workflow) == wf {
			w.Plan.Steps[1].Deps = []core.Dep{{Step: 99, On: core.OnSuccess}}
			if err := r.mem.Commit(r.t.Context(), taskmanager.Batch{Records: taskmanager.AllRows(w)}); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// quarantined counts what the cloud is told of a workflow with the reason quarantined.
func (r *rig) quarantined(wf string) (n int) {
	for _, row := range r.m.Pending(100) {
		if row.Workflow == wf && strings.Contains(string(row.Body), string(core.ReasonQuarantined)) {
			n++
		}
	}
	return n
}

const thereAndBack = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"step_2","taskMethod":"setMoveTo","params":{"position":"거실"},"depends_on":["step_1"]}]`

func TestF68_ARecordThatFailsThreeStartsIsSetAside(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", thereAndBack))
		r.receive(planJSON("wf-2", toKitchen))
		r.wait(time.Second)
		r.kill()
		r.spoil("wf-1")
		for n := range 3 {
			r.open()
			if err := r.crash(); !errors.Is(err, taskmanager.ErrPanicked) {
				t.Fatalf("start %d: %v, want a panic of the core that ends the process", n+1, err)
			}
			r.kill()
		}
		r.open()
		if err := r.crash(); err != nil {
			t.Fatalf("the fourth start ended with %v", err)
		}
		if got := r.m.SetAside(); len(got) != 1 || got[0] != "wf-1" {
			t.Fatalf("set aside %v", got)
		}
		if n := r.quarantined("wf-1"); n != 1 {
			t.Errorf("the cloud is told %d times, want once", n)
		}
		if n := r.calls("stopMovement"); n == 0 {
			t.Error("nobody knows any more why the body moves, and it was not stopped")
		}
		if err := r.reopen(); err != nil {
			t.Fatal(err)
		}
		if n := r.quarantined("wf-1"); n != 1 {
			t.Errorf("the next start tells it again: %d", n)
		}
		img, _ := r.mem.Load(t.Context())
		items := map[string]bool{}
		for _, rec := range img.Records {
			if rec.Workflow == "wf-1" {
				items[rec.Item] = true
			}
		}
		if !items["q"] || !items["p"] || !items["s:step_2"] {
			t.Errorf("its rows are kept and marked; there are %v", items)
		}
		if ans := r.receive(planJSON("wf-1", toKitchen)); ans.Accepted || ans.Reason == core.ReasonNone {
			t.Errorf("a plan with its id: %+v", ans)
		}
		if ans := r.receive(cancelJSON("c-1", "wf-1")); ans.Reason != core.ReasonQuarantined {
			t.Errorf("a cancel of it: %+v", ans)
		}
		r.arrived("kitchen")
		r.wait(2 * time.Minute)
		if st := r.state("wf-2", "step_1"); !st.Terminal() {
			t.Errorf("the rest runs; its step is %s", st)
		}
	})
}

func TestF68_AnUnreadableRecordIsToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.kill()
		r.foreign = true
		if err := r.mem.Commit(t.Context(), taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "wf-1", Item: "s:step_1", Body: []byte("\xff")}}}); err != nil {
			t.Fatal(err)
		}
		r.open()
		if n := r.quarantined("wf-1"); n != 1 {
			t.Fatalf("told %d times", n)
		}
		if err := r.reopen(); err != nil {
			t.Fatal(err)
		}
		if got := r.m.SetAside(); r.quarantined("wf-1") != 1 || len(got) != 1 {
			t.Fatalf("told %d times, set aside %v", r.quarantined("wf-1"), got)
		}
	})
}

// poison is a plan as no bridge would make it.
func (r *rig) poison() core.PlanSubmitted {
	r.t.Helper()
	ev, ok := codec{bridge.New(bridge.Options{DeviceID: "rb-1", Catalog: r.cat, AllowJSON: true, NewID: r.newID})}.
		Decode([]byte(planJSON("wf-p", thereAndBack)), taskmanager.FromCloud).(core.PlanSubmitted)
	if !ok {
		r.t.Fatal("plan refused")
	}
	ev.Plan.Steps[1].Deps = []core.Dep{{Step: 99, On: core.OnSuccess}}
	return ev
}

// send hands in an event and gives the error with which the process ended of it.
func (r *rig) send(ev core.Event) error {
	r.t.Helper()
	if err := r.m.Send(r.t.Context(), ev); err != nil {
		r.t.Fatal(err)
	}
	r.wait(time.Second)
	return r.crash()
}

func TestF68_AMessageThatFailsThreeStartsIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		for n := range 3 {
			if err := r.send(r.poison()); !errors.Is(err, taskmanager.ErrPanicked) {
				t.Fatalf("delivery %d: %v, want a panic of the core", n+1, err)
			}
			if n == 0 && r.stops() == 0 {
				t.Error("the body moves, and was not stopped before the end")
			}
			if err := r.reopen(); err != nil {
				t.Fatal(err)
			}
			if n < 2 && r.m.KeptOut() != 0 {
				t.Fatalf("kept out after %d times", n+1)
			}
		}
		if err := r.send(r.poison()); err != nil {
			t.Fatalf("the fourth delivery: %v", err)
		}
		if n := r.quarantined("wf-p"); n != 1 {
			t.Errorf("the sender is answered %d times, want once", n)
		}
		if len(r.m.SetAside()) != 0 || r.quarantined("wf-1") != 0 {
			t.Errorf("set aside %v: the message is to blame, no record", r.m.SetAside())
		}
		if ans := r.receive(planJSON("wf-2", toKitchen)); !ans.Accepted {
			t.Errorf("another plan: %+v", ans)
		}
	})
}

func TestF68_OnlyStartsInARowCount(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for n, fails := range []bool{true, true, false, true, true} {
			if fails {
				if err := r.send(r.poison()); !errors.Is(err, taskmanager.ErrPanicked) {
					t.Fatalf("start %d: %v", n, err)
				}
			}
			if err := r.reopen(); err != nil {
				t.Fatal(err)
			}
		}
		if r.m.KeptOut() != 0 {
			t.Fatal("kept out, and one start in between went well")
		}
	})
}

func TestALookThatPanicsHarmsOnlyItsCaller(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		if err := r.m.Inspect(t.Context(), func(*core.State, core.Now) { panic("a bad record") }); err == nil {
			t.Error("the caller is told nothing")
		}
		if ans := r.receive(planJSON("wf-1", toKitchen)); !ans.Accepted {
			t.Errorf("after it: %+v", ans)
		}
	})
}
