package taskmanager_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/executors/fake"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/storetest"
)

func TestF04_CutBetweenTheIntentAndTheCall(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.OK, storetest.WrittenBroken) // of the plan, and of its dispatch once the place is read
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		if n := r.calls("setMoveTo"); n != 0 {
			t.Fatalf("%d calls, and the store broke before them", n)
		}
		r.kill()
		r.open()
		r.wait(time.Second)
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d calls: it is known not to have run", n)
		}
		r.once()
	})
}

func TestF05_CutBetweenTheCallAndItsAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		script := moves("kitchen")
		script.Hang = true
		r.robot.On("setMoveTo", script)
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Dispatching {
			t.Fatalf("step is %s", st)
		}
		r.kill()
		r.open()
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Running {
			t.Fatalf("asked, it runs; the step is %s", st)
		}
		if n := r.calls("setMoveTo"); n != 1 {
			t.Errorf("%d calls", n)
		}
		r.once()
	})
}

// At whichever commit the power is cut, and whether that commit is there or not: no state without the message that tells it.
func TestF07_StateAndMessageAreOneTransaction(t *testing.T) {
	for _, how := range []storetest.Outcome{storetest.Broken, storetest.WrittenBroken} {
		cuts := 0
		for k := 0; ; k++ {
			reached := true
			t.Run(fmt.Sprintf("%s at commit %d", how, k+1), func(t *testing.T) {
				bubble(t, func(t *testing.T, r *rig) {
					for range k {
						r.store.Script(storetest.OK)
					}
					r.store.Script(how)
					err := r.offer(planJSON("wf-1", toKitchen))
					if err == nil {
						r.settle(20 * time.Second)
						err = r.offer(planJSON("wf-2", `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus"}]`))
					}
					reached = err != nil
					r.kill()
					img, loadErr := r.mem.Load(t.Context())
					if loadErr != nil {
						t.Fatal(loadErr)
					}
					told := map[string]bool{}
					for _, row := range img.Outbox {
						told[row.Workflow+" "+row.Type] = true
					}
					for _, id := range []string{"wf-1", "wf-2"} {
						wf := stored(t, r.mem, img, id)
						if there := wf != nil; there != told[id+" ack"] {
							t.Errorf("%s is there: %v, its ack: %v", id, there, told[id+" ack"])
						}
						if ended := wf != nil && wf.State.Terminal(); ended != told[id+" result"] {
							t.Errorf("%s has ended: %v, its result: %v", id, ended, told[id+" result"])
						}
					}
					r.open()
				})
			})
			if !reached {
				break
			}
			cuts++
		}
		if cuts < 3 {
			t.Errorf("%d cuts of kind %q, want at least those at the plan, the dispatch and the end", cuts, how)
		}
	}
}

// stored reads a workflow from the disk, open or ended; nil where it is not there.
func stored(t *testing.T, mem *storetest.Memory, img taskmanager.Image, id string) *core.Workflow {
	t.Helper()
	for _, wf := range taskmanager.DecodeRecords(img.Records).Workflows {
		if string(wf.Plan.Workflow) == id {
			return wf
		}
	}
	rows, _, err := mem.Finished(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if d := taskmanager.DecodeRecords(rows).Workflows; len(d) == 1 {
		return d[0]
	}
	return nil
}

func TestF12_FiftyCutsDuringTheRecovery(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(2 * time.Second)
		for i := range 50 {
			r.kill()
			r.fault = [][]storetest.Outcome{nil, {storetest.Broken}, {storetest.WrittenBroken}, {storetest.OK, storetest.Broken}, {storetest.OK, storetest.WrittenBroken}}[i%5]
			r.open()
			r.wait(time.Duration(i%7) * 30 * time.Millisecond)
		}
		r.kill()
		r.open()
		if n := r.calls("setMoveTo"); n != 1 {
			t.Errorf("%d calls", n)
		}
		r.once()
	})
}

// fullDisk refuses each commit while it is full, and says nothing of what it holds.
type fullDisk struct {
	taskmanager.Store
	full    atomic.Bool
	refused atomic.Int64
	most    atomic.Int64 // journal rows of one commit
}

func (d *fullDisk) Commit(ctx context.Context, b taskmanager.Batch) error {
	if d.full.Load() {
		d.refused.Add(1)
		return fmt.Errorf("cannot commit: %w", taskmanager.ErrNotCommitted)
	}
	d.most.Store(max(d.most.Load(), int64(len(b.Journal))))
	return d.Store.Commit(ctx, b)
}

func TestF20_DiskThatIsFullForLongHealsWithoutARestart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		disk := &fullDisk{Store: r.mem}
		r.store.Store = disk
		r.receive(planJSON("wf-1", toKitchen))
		r.receive(planJSON("wf-3", `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","delay_ms":60000}]`))
		r.wait(5 * time.Second)
		r.arrived("kitchen")
		disk.full.Store(true)
		r.wait(20 * time.Minute) // it arrives meanwhile, and is asked twice a second where it stands
		if st := r.state("wf-1", "step_1"); st != core.Running {
			t.Fatalf("step is %s in memory alone", st)
		}
		if len(r.rows("result")) != 0 {
			t.Fatal("told, and not stored")
		}
		if n := disk.refused.Load(); n < 600 || n > 1300 {
			t.Errorf("%d tries in twenty minutes, want one a second", n)
		}
		if n := r.calls("setMoveTo"); n != 1 {
			t.Errorf("%d calls", n)
		}
		if n := r.calls("getAirQuality"); n > 1 {
			t.Errorf("%d calls of what need not wait for the disk: it is decided anew at each try, and not said anew", n)
		}
		disk.full.Store(false)
		r.wait(5*time.Second + 2*time.Minute) // what became of the move is asked about, and nobody answers
		if st := r.state("wf-1", "step_1"); !st.Terminal() || len(r.rows("result")) != 1 {
			t.Errorf("step is %s, with %d results", st, len(r.rows("result")))
		}
		if n := disk.most.Load(); n > 2*256 {
			t.Errorf("%d rows in one transaction: what waits has no bound", n)
		}
		if ans := r.receive(planJSON("wf-2", `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus"}]`)); !ans.Accepted {
			t.Errorf("a new plan: %+v", ans)
		}
		r.wait(5 * time.Second)
		if st := r.state("wf-2", "step_1"); st != core.Completed {
			t.Errorf("its step is %s", st)
		}
	})
}

func TestF23_ADiskThatStallsForThirtySeconds(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMannerMode", fake.Script{Effects: []core.Event{core.Observed{Event: "mode.changed", Source: "home", Data: core.Values{"mode": "manner", "on": false}}}})
		r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":false}},
			{"cloud_step_id":"step_2","taskMethod":"setMannerMode","params":{"on":false},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":10000}]`))
		r.wait(5 * time.Second)
		r.store.Script(storetest.Stall)
		answered := make(chan core.Answer, 1)
		go func() { answered <- r.receive(planJSON("wf-2", toKitchen)) }()
		<-r.store.Stalled()
		r.wait(30 * time.Second) // the delay ends meanwhile
		if n := r.calls("setMannerMode"); n != 1 {
			t.Fatalf("%d calls: the second was not stored", n)
		}
		r.store.Release()
		if ans := <-answered; !ans.Accepted {
			t.Fatalf("answer %+v", ans)
		}
		synctest.Wait()
		if n := r.calls("setMannerMode"); n != 2 {
			t.Fatalf("%d calls once the disk is back: the delay is over", n)
		}
		r.wait(time.Minute)
		if n := r.calls("setMannerMode"); n != 2 {
			t.Fatalf("%d calls", n)
		}
	})
}
