package taskmanager_test

import (
	"sync/atomic"
	"testing"
	"time"

	"deviceagent/executors/fake"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
)

// disarm takes the timers out of the records of a workflow, as another hand or a bug might.
func (r *rig) disarm(wf string) {
	r.t.Helper()
	r.foreign = true
	img, err := r.mem.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, w := range taskmanager.DecodeRecords(img.Records).Workflows {
		if string(w.Plan.Workflow) == wf {
			for i := range w.Steps {
				w.Steps[i].Due = 0
			}
			if err := r.mem.Commit(r.t.Context(), taskmanager.Batch{Records: taskmanager.AllRows(w)}); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

const muteLater = `[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":false}},
	{"cloud_step_id":"step_2","taskMethod":"setMannerMode","params":{"on":false},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":1200000}]`

func TestD8_ADelayWithoutATimerIsHealedAtTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMannerMode", fake.Script{Effects: []core.Event{core.Observed{Event: "mode.changed", Source: "home", Data: core.Values{"mode": "manner", "on": false}}}})
		r.receive(planJSON("wf-1", muteLater))
		r.wait(10 * time.Second)
		if st := r.state("wf-1", "step_2"); st != core.Waiting {
			t.Fatalf("step is %s", st)
		}
		r.kill()
		r.disarm("wf-1")
		r.open()
		if r.m.Alarms() == 0 {
			t.Fatal("no alarm")
		}
		r.wait(25 * time.Minute)
		if n := r.calls("setMannerMode"); n != 2 {
			t.Fatalf("%d calls, want the second after its delay", n)
		}
		if n := r.m.Alarms(); n != 1 {
			t.Errorf("%d alarms", n)
		}
	})
}

func TestAnAuditThatFindsNothingWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMannerMode", fake.Script{Effects: []core.Event{core.Observed{Event: "mode.changed", Source: "home", Data: core.Values{"mode": "manner", "on": false}}}})
		r.receive(planJSON("wf-1", muteLater))
		r.wait(2 * time.Minute) // what may wait for company is written
		before, turns := r.store.Commits(), r.m.Turns()
		r.wait(16 * time.Minute)
		if n := r.store.Commits() - before; n != 0 {
			t.Errorf("%d commits", n)
		}
		if n := r.m.Turns() - turns; n < 3 || n > 5 {
			t.Errorf("%d looks in a quarter of an hour, want one each five minutes", n)
		}
		if r.m.Alarms() != 0 {
			t.Errorf("%d alarms", r.m.Alarms())
		}
	})
}

// deafClock gives timers that ring only while it hears.
type deafClock struct {
	clockOf
	deaf *atomic.Bool
}

type deafTimer struct {
	taskmanager.Timer
	deaf *atomic.Bool
}

func (c deafClock) NewTimer() taskmanager.Timer { return deafTimer{c.clockOf.NewTimer(), c.deaf} }
func (t deafTimer) Reset(at int64) {
	if t.Timer.Stop(); !t.deaf.Load() {
		t.Timer.Reset(at)
	}
}

func TestD8_AWakeUpThatWasLostIsMadeUpFor(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.kill()
		deaf := new(atomic.Bool)
		r.clock = deafClock{clockOf{r.clk}, deaf}
		r.open()
		r.robot.On("setMannerMode", fake.Script{Effects: []core.Event{core.Observed{Event: "mode.changed", Source: "home", Data: core.Values{"mode": "manner", "on": false}}}})
		r.receive(planJSON("wf-1", muteLater))
		r.wait(2 * time.Minute)
		deaf.Store(true)
		r.receive(cancelJSON("c-1", "wf-other")) // the timer is set anew, and nobody will hear it
		r.wait(25 * time.Minute)
		if n := r.calls("setMannerMode"); n != 1 {
			t.Fatalf("%d calls: this clock is not deaf", n)
		}
		r.state("wf-1", "step_1") // somebody looks
		r.wait(time.Second)
		if n := r.calls("setMannerMode"); n != 2 {
			t.Errorf("%d calls: the wake-up was not made up for", n)
		}
	})
}
