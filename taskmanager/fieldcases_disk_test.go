package taskmanager_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/executors/fake"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/storetest"
)

// An ordinary stop at any moment of a plan leaves on disk what a power cut at that moment leaves.
func TestF67_AStopWritesNothingAtAnyMoment(t *testing.T) {
	for k := range 40 {
		bubble(t, func(t *testing.T, r *rig) {
			r.receive(planJSON("wf-1", toKitchen))
			r.wait(time.Duration(k) * 400 * time.Millisecond)
			if k > 25 {
				r.arrived("kitchen")
				r.wait(time.Second)
			}
			cut, err := r.mem.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.stop()
			synctest.Wait()
			stopped, err := r.mem.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(cut, stopped) {
				t.Errorf("after %d ms: the stop wrote\n%+v\nafter\n%+v", k*400, stopped, cut)
			}
		})
	}
}

// A COMMIT that reports an error and took place, and one that reports an error and did not: what the sender was told, what is on disk
// and what is in memory are one.
func TestF77_ACommitThatLiesAboutItsOutcome(t *testing.T) {
	for _, tc := range []struct {
		how   storetest.Outcome
		there bool
	}{{storetest.Written, true}, {storetest.NotCommitted, false}} {
		t.Run(string(tc.how), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.store.Script(tc.how)
				_, err := r.m.Receive(t.Context(), []byte(planJSON("wf-1", toKitchen)), taskmanager.FromCloud)
				img, lerr := r.mem.Load(t.Context())
				if lerr != nil {
					t.Fatal(lerr)
				}
				onDisk := len(taskmanager.DecodeRecords(img.Records).Workflows) == 1
				inMemory := r.state("wf-1", "step_1") != ""
				if told := err == nil; told != tc.there || onDisk != tc.there || inMemory != tc.there {
					t.Errorf("told %v (%v), on disk %v, in memory %v, want %v", told, err, onDisk, inMemory, tc.there)
				}
				r.receive(planJSON("wf-1", toKitchen)) // and again, as every sender does that was not told
				r.wait(time.Second)
				if n := r.calls("setMoveTo"); n != 1 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

// A store that is closed under the task manager ends it: it neither tries for ever nor stops the body.
func TestClosedStoreEndsTheManager(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		if err := r.mem.Close(); err != nil {
			t.Fatal(err)
		}
		_, err := r.m.Receive(t.Context(), []byte(cancelJSON("c-1", "wf-other")), taskmanager.FromCloud)
		if err == nil {
			t.Error("the message was accepted")
		}
		r.wait(2 * time.Minute) // the move ends, and that is to be written
		if err := r.crash(); !errors.Is(err, taskmanager.ErrStoreClosed) {
			t.Errorf("it ended with %v", err)
		}
		if n := r.stops(); n != 0 {
			t.Errorf("%d stops of the body for a stop of the process", n)
		}
		r.mem = r.mem.Reopen()
		r.kill()
		r.open()
	})
}

// A record that a later version of this program wrote: fields that are not known are no fault, states that are not known are.
func TestD6_RecordsOfALaterVersion(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(step map[string]any)
		reads  bool
	}{
		{"a field more", func(st map[string]any) { st["mood"] = "good" }, true},
		{"a state that is not known", func(st map[string]any) { st["state"] = "pondering" }, false},
		{"a field of another type", func(st map[string]any) { st["since"] = "noon" }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.receive(planJSON("wf-1", toKitchen))
				r.wait(time.Second)
				r.kill()
				r.foreign = true
				img, err := r.mem.Load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, rec := range img.Records {
					if rec.Item != "s:step_1" {
						continue
					}
					var st map[string]any
					if err := cbor.Unmarshal(rec.Body, &st); err != nil {
						t.Fatal(err)
					}
					tc.change(st)
					rec.Body, _ = cbor.Marshal(st)
					if err := r.mem.Commit(t.Context(), taskmanager.Batch{Records: []taskmanager.Record{rec}}); err != nil {
						t.Fatal(err)
					}
				}
				r.open()
				if got := r.state("wf-1", "step_1") != ""; got != tc.reads {
					t.Errorf("it runs: %v, want %v", got, tc.reads)
				}
				if got := fmt.Sprint(len(r.m.SetAside()), r.quarantined("wf-1")); tc.reads && got != "0 0" || !tc.reads && got != "1 1" {
					t.Errorf("set aside and told: %s", got)
				}
				if core.StepState("pondering") == r.state("wf-1", "step_1") {
					t.Error("a state that nobody knows was taken over")
				}
			})
		})
	}
}

const kitchenIn15s = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"timeout_ms":15000}]`

// A disk that refuses, or stalls, for two minutes: what was done in time ends as done in time.
func TestF20_WhatWasDoneInTimeIsDoneInTimeHoweverLongTheDiskRefuses(t *testing.T) {
	for name, how := range map[string]storetest.Outcome{"refuses": storetest.NotCommitted, "stalls": storetest.Stall} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.receive(planJSON("wf-1", kitchenIn15s))
				r.wait(5 * time.Second)
				r.store.Always(how)
				if how == storetest.Stall { // something has to be under way
					go func() { _, _ = r.m.Receive(t.Context(), []byte(cancelJSON("c-1", "wf-other")), taskmanager.FromCloud) }()
				}
				r.wait(4 * time.Second)
				r.arrived("kitchen")
				r.robot.Emit(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "movement.location", Value: "kitchen", Class: catalog.Independent, Available: true}}})
				for range 20 { // the robot says where it is, as it does when it moves
					r.wait(500 * time.Millisecond)
					r.robot.Emit(core.ContextRead{Source: "home", Values: []core.ContextValue{{Key: "movement.location", Value: "kitchen", Class: catalog.Independent, Available: true}}})
				}
				r.wait(110 * time.Second)
				r.store.Always(storetest.OK)
				if how == storetest.Stall {
					r.store.Release()
				}
				r.wait(10 * time.Second)
				wf := r.whole("wf-1")
				if st := wf.Steps[0]; st.State != core.Completed || st.Ended-wf.Accepted > 20_000 {
					t.Errorf("it was done after ten seconds; it is %s (%s), %d ms after it was accepted", st.State, st.Reason, st.Ended-wf.Accepted)
				}
			})
		})
	}
}

// And what was not done in time is stopped in time, while the disk still refuses.
func TestF20_WhatIsNotDoneInTimeIsStoppedInTimeWhileTheDiskRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		r.receive(planJSON("wf-1", kitchenIn15s))
		r.wait(5 * time.Second)
		r.store.Always(storetest.NotCommitted)
		for range 6 { // and it is heard of all the while
			r.robot.Emit(core.Observed{Event: "movement.started", Source: "home", Class: catalog.Independent})
			r.wait(2 * time.Second)
		}
		if n := r.stops(); n == 0 {
			t.Error("no stop, two seconds after its time was over")
		}
	})
}

// whole reads a workflow, open or ended.
func (r *rig) whole(id string) (out *core.Workflow) {
	r.t.Helper()
	if err := r.m.Inspect(r.t.Context(), func(s *core.State, _ core.Now) { out = s.Workflows[core.WorkflowID(id)] }); err != nil || out == nil {
		r.t.Fatalf("no workflow %s (%v)", id, err)
	}
	return out
}
