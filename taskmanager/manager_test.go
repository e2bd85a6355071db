package taskmanager_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/executors/fake"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/storetest"
)

func TestPlanRunsToItsProof(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		if ans := r.receive(planJSON("wf-1", toKitchen)); !ans.Accepted {
			t.Fatalf("refused: %+v", ans)
		}
		r.wait(5 * time.Second)
		r.arrived("kitchen")
		r.wait(10 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Completed {
			t.Fatalf("step is %s", st)
		}
		var types []string
		for _, row := range r.m.Pending(10) {
			types = append(types, row.Type)
		}
		if len(types) != 2 || types[0] != "ack" || types[1] != "result" {
			t.Fatalf("outbox %v, want ack and result", types)
		}
		if err := r.m.Receipted(t.Context(), []core.MessageID{core.MessageID(r.m.Pending(1)[0].ID)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if left := r.m.Pending(10); len(left) != 1 || left[0].Type != "result" {
			t.Fatalf("after the receipt of the ack: %+v", left)
		}
	})
}

func TestNothingLeavesBeforeTheCommit(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.Stall)
		answered := make(chan core.Answer, 1)
		go func() {
			answered <- r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":false}}]`))
		}()
		<-r.store.Stalled()
		r.wait(30 * time.Second)
		if n := r.calls("setMannerMode"); n != 0 {
			t.Fatalf("%d calls before the commit", n)
		}
		select {
		case ans := <-answered:
			t.Fatalf("answered before the commit: %+v", ans)
		default:
		}
		if n := len(r.m.Pending(10)); n != 0 {
			t.Fatalf("%d rows to send before the commit", n)
		}
		r.store.Release()
		if ans := <-answered; !ans.Accepted {
			t.Fatalf("answer %+v", ans)
		}
		synctest.Wait()
		if n := r.calls("setMannerMode"); n != 1 {
			t.Fatalf("%d calls after the commit, want 1", n)
		}
	})
}

func TestStopWaitsForNoDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Running {
			t.Fatalf("step is %s", st)
		}
		r.store.Script(storetest.Stall)
		go func() { _, _ = r.m.Receive(t.Context(), []byte(planJSON("wf-2", toKitchen)), taskmanager.FromCloud) }()
		<-r.store.Stalled()
		done := make(chan core.Answer, 1)
		go func() { done <- r.receive(cancelJSON("c-1", "wf-1")) }()
		synctest.Wait()
		if r.stops() == 0 {
			t.Fatal("the stop waits for the disk")
		}
		r.store.Release()
		if ans := <-done; !ans.Accepted {
			t.Fatalf("cancel: %+v", ans)
		}
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Cancelled {
			t.Fatalf("step is %s", st)
		}
	})
}

func TestRestartAsksInsteadOfRepeating(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(2 * time.Second)
		r.kill()
		r.wait(time.Second)
		r.open()
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Running {
			t.Fatalf("after the restart the step is %s", st)
		}
		r.arrived("kitchen")
		r.wait(15 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Completed {
			t.Fatalf("step is %s", st)
		}
		if began := r.robot.Began(); len(began) != 1 {
			t.Fatalf("the robot began %v", began)
		}
	})
}

func TestEndDuringTheRestartIsNotLost(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(2 * time.Second)
		r.kill()
		r.arrived("kitchen")
		r.wait(20 * time.Second) // it arrives while nobody listens
		r.open()
		r.wait(5 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Completed {
			t.Fatalf("step is %s", st)
		}
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d calls", n)
		}
	})
}

func TestSameMessageSameAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		first := r.receive(planJSON("wf-1", toKitchen))
		for range 3 {
			if again := r.receive(planJSON("wf-1", toKitchen)); again.Accepted != first.Accepted || again.Plan != first.Plan {
				t.Fatalf("the same plan again: %+v, first %+v", again, first)
			}
		}
		other := r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`))
		if other.Accepted || other.Reason != core.ReasonSameRevision {
			t.Fatalf("other content under the same key: %+v", other)
		}
		r.wait(time.Second)
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d calls, want 1", n)
		}
		c := r.receive(cancelJSON("c-1", "wf-1"))
		r.kill()
		r.open()
		if again := r.receive(cancelJSON("c-1", "wf-1")); again.Accepted != c.Accepted || again.State != c.State {
			t.Fatalf("the same control after a restart: %+v, first %+v", again, c)
		}
	})
}

func TestRefusalNamesEveryFault(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ans := r.receive(planJSON("wf-1", `[{"cloud_step_id":"a","taskMethod":"fly"},{"cloud_step_id":"b","taskMethod":"setMoveTo","params":{"position":"달"},"depends_on":["c"]},
			{"cloud_step_id":"d","taskMethod":"setVolume","params":{"level":300},"depends_on":["e"]},{"cloud_step_id":"e","token_text":"<sk_4>()<sk_end>","depends_on":["d"]}]`))
		if ans.Accepted {
			t.Fatal("accepted")
		}
		want := map[string]core.Reason{
			"device_task_requests[0].taskMethod":      "unknown_method",
			"device_task_requests[1].params.position": "unknown_location",
			"device_task_requests[1].depends_on[0]":   "unknown_step",
			"device_task_requests[2].params.level":    "bad_parameter",
			"device_task_requests[2].depends_on":      "cycle",
			"device_task_requests[3].token_text":      "unknown_token",
		}
		for _, f := range ans.Faults {
			if want[f.Path] == f.Reason {
				delete(want, f.Path)
			}
		}
		if len(want) > 0 {
			t.Fatalf("not named: %v; got %+v", want, ans.Faults)
		}
		if broken := r.receive(`{"v":`); broken.Accepted || broken.RefSHA256 == "" || broken.Reason == "" {
			t.Fatalf("broken JSON: %+v", broken)
		}
		if r.state("wf-1", "a") != "" {
			t.Fatal("a refused plan left a workflow")
		}
		img, err := r.mem.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range img.Records {
			if rec.Workflow != "" {
				t.Fatalf("stored of a refused plan: %+v", rec)
			}
		}
	})
}

func TestDiskThatRefusesForAWhile(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.NotCommitted)
		if _, err := r.m.Receive(t.Context(), []byte(planJSON("wf-1", toKitchen)), taskmanager.FromCloud); !errors.Is(err, taskmanager.ErrNotCommitted) {
			t.Fatalf("receive says %v", err)
		}
		if r.state("wf-1", "step_1") != "" {
			t.Fatal("in memory what is not on disk")
		}
		r.receive(planJSON("wf-1", toKitchen)) // it is sent again, and taken
		r.wait(5 * time.Second)
		r.arrived("kitchen")
		r.store.Script(storetest.NotCommitted, storetest.NotCommitted) // evidence meets a full disk
		r.wait(20 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Completed {
			t.Fatalf("step is %s: what executors said is tried again", st)
		}
	})
}

func TestBrokenStoreStopsTheBody(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		r.store.Script(storetest.Broken)
		if _, err := r.m.Receive(t.Context(), []byte(planJSON("wf-2", toKitchen)), taskmanager.FromCloud); !errors.Is(err, taskmanager.ErrStoreBroken) {
			t.Fatalf("receive says %v", err)
		}
		synctest.Wait()
		if r.stops() != 1 {
			t.Fatalf("%d stops, want 1: nothing may move without a record of it", r.stops())
		}
		if _, err := r.m.Receive(t.Context(), []byte(planJSON("wf-3", toKitchen)), taskmanager.FromCloud); !errors.Is(err, taskmanager.ErrStopped) && !errors.Is(err, taskmanager.ErrStoreBroken) {
			t.Fatalf("after the end it says %v", err)
		}
	})
}

func TestIdleWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(5 * time.Second)
		r.arrived("kitchen")
		r.wait(2 * time.Minute)
		before := r.store.Commits()
		r.wait(24 * time.Hour)
		if n := r.store.Commits() - before; n != 0 {
			t.Fatalf("%d commits in an idle day", n)
		}
	})
}

func TestSoftChangesReachTheDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		before := r.store.Commits()
		r.wait(30 * time.Second)
		if n := r.store.Commits() - before; n != 0 {
			t.Fatalf("%d commits for an acceptance that may wait", n)
		}
		r.wait(40 * time.Second)
		if n := r.store.Commits() - before; n != 1 {
			t.Fatalf("%d commits after a minute, want 1", n)
		}
		img, err := r.mem.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if st := taskmanager.DecodeRecords(img.Records).Workflows[0].Steps[0].State; st != core.Running {
			t.Fatalf("on disk the step is %s", st)
		}
	})
}

func TestUnreadableRecordIsSetAside(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.receive(planJSON("wf-2", toKitchen))
		r.kill()
		r.foreign = true
		if err := r.mem.Commit(t.Context(), taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "wf-1", Item: "s:step_1", Body: []byte("\xff")}}}); err != nil {
			t.Fatal(err)
		}
		r.open()
		if got := r.m.SetAside(); len(got) != 1 || got[0] != "wf-1" {
			t.Fatalf("set aside %v", got)
		}
		if r.state("wf-2", "step_1") == "" {
			t.Fatal("the other workflow does not run")
		}
		img, _ := r.mem.Load(t.Context())
		found := false
		for _, rec := range img.Records {
			found = found || rec.Workflow == "wf-1" && rec.Item == "p"
		}
		if !found {
			t.Fatal("what could not be read was thrown away")
		}
	})
}

func TestTombstoneSurvives(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(cancelJSON("c-1", "wf-1"))
		r.kill()
		r.open()
		if ans := r.receive(planJSON("wf-1", toKitchen)); ans.Accepted || ans.Reason != core.ReasonAfterCancel {
			t.Fatalf("a plan after its cancel: %+v", ans)
		}
	})
}

func TestDelayOverARestart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMannerMode", fake.Script{Effects: []core.Event{core.Observed{Event: "mode.changed", Source: "home", Data: core.Values{"mode": "manner", "on": false}}}})
		r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":false}},
			{"cloud_step_id":"step_2","taskMethod":"setMannerMode","params":{"on":false},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`))
		r.wait(10 * time.Second)
		if st := r.state("wf-1", "step_2"); st != core.Waiting {
			t.Fatalf("step_2 is %s", st)
		}
		r.kill()
		r.wait(10 * time.Second)
		r.open()
		r.wait(9 * time.Second)
		if n := r.calls("setMannerMode"); n != 1 {
			t.Fatalf("%d calls before the delay is over", n)
		}
		r.wait(2 * time.Second)
		if n := r.calls("setMannerMode"); n != 2 {
			t.Fatalf("%d calls after the delay", n)
		}
	})
}

func TestWatchTellsMoves(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		on, end := r.m.Watch()
		defer end()
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		var last core.Move
		for len(on.C) > 0 {
			if mv := <-on.C; mv.Step == "step_1" && mv.Effect == "" {
				last = mv
			}
		}
		if last.To != string(core.Running) {
			t.Fatalf("last move told: %+v", last)
		}
	})
}

func TestEndedWorkflowIsKnownAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(5 * time.Second)
		r.arrived("kitchen")
		r.wait(10 * time.Second)
		r.kill()
		r.open()
		if wf, ok, err := r.m.Finished(t.Context(), "wf-1"); err != nil || !ok || wf.State != core.WfCompleted || len(wf.Steps) != 1 {
			t.Fatalf("finished: %v %v %+v", ok, err, wf)
		}
		before := len(r.m.Pending(20))
		if ans := r.receive(planJSON("wf-1", toKitchen)); !ans.Accepted {
			t.Fatalf("the same plan after the restart: %+v", ans)
		}
		rows := r.m.Pending(20)[before:]
		if len(rows) != 2 || rows[0].Type != "ack" || rows[1].Type != "result" {
			t.Fatalf("sent again: %+v", rows)
		}
		if ans := r.receive(cancelJSON("c-1", "wf-1")); ans.Accepted || ans.Reason != core.ReasonAlreadyTerminal || ans.State != "completed" {
			t.Fatalf("cancel of what has ended: %+v", ans)
		}
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d calls", n)
		}
	})
}

func TestIdsThatLeftAreNotUsedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.NotCommitted)
		const air = `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"}]`
		if _, err := r.m.Receive(t.Context(), []byte(planJSON("wf-1", air)), taskmanager.FromCloud); !errors.Is(err, taskmanager.ErrNotCommitted) {
			t.Fatalf("receive says %v", err)
		}
		r.receive(planJSON("wf-2", `[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":false}}]`))
		r.wait(time.Second)
		used := map[core.TaskID]core.Dispatch{}
		for _, c := range r.robot.Log() {
			if d, ok := c.Out.(core.Dispatch); ok {
				if was, again := used[d.Task]; again {
					t.Fatalf("%s was %s and is %s", d.Task, was.Method, d.Method)
				}
				used[d.Task] = d
			}
		}
		if len(used) != 2 {
			t.Fatalf("%d calls, want the reading that needed no disk and the setting", len(used))
		}
	})
}

func TestFloorCoversItsOwnBatch(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief"}]`)) // ack and step_due in one commit
		for _, row := range r.m.Pending(10) {
			env, err := wire.Decode(row.Body, wire.Options{Direction: wire.Up})
			if err != nil {
				t.Fatal(err)
			}
			if env.FloorSeq != 1 {
				t.Errorf("row %d says that all below %d is settled", row.Seq, env.FloorSeq)
			}
		}
	})
}

func TestNoDispatchAfterACancelThatWasHeardDuringTheCommit(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.OK, storetest.Stall) // of the plan, and of its dispatch once the place is read
		r.receive(planJSON("wf-1", toKitchen))
		<-r.store.Stalled()
		done := make(chan core.Answer, 1)
		go func() { done <- r.receive(cancelJSON("c-1", "wf-1")) }()
		synctest.Wait()
		r.store.Release()
		<-done
		r.wait(time.Second)
		if n := r.calls("setMoveTo"); n != 0 {
			t.Fatalf("%d calls after the cancel", n)
		}
		if st := r.state("wf-1", "step_1"); st != core.Cancelled {
			t.Fatalf("step is %s", st)
		}
	})
}

func TestStopWaitsForNoQueue(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		r.store.Script(storetest.Stall)
		go func() { _, _ = r.m.Receive(t.Context(), []byte(planJSON("wf-2", toKitchen)), taskmanager.FromCloud) }()
		<-r.store.Stalled()
		ctx, end := context.WithCancel(t.Context())
		defer end()
		for range 3_000 { // signals fill everything that can wait
			go func() { _ = r.m.Send(ctx, core.TaskProgress{Task: "t-none"}) }()
		}
		synctest.Wait()
		done := make(chan core.Answer, 1)
		go func() { done <- r.receive(cancelJSON("c-1", "wf-1")) }()
		synctest.Wait()
		if r.stops() == 0 {
			t.Fatal("the stop waits behind the signals")
		}
		r.store.Release()
		<-done
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Cancelled {
			t.Fatalf("step is %s", st)
		}
	})
}

func TestAnOldStopStopsNothingNew(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		r.robot.Emit(core.Observed{Event: "pui.cancelled", Source: "home"})
		r.wait(time.Second)
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(5 * time.Second)
		r.receive(planJSON("wf-2", `[{"cloud_step_id":"step_1","taskMethod":"setMannerMode","params":{"on":false}}]`))
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Running || r.stops() != 0 {
			t.Fatalf("step is %s after %d stops: the button was pressed before it", st, r.stops())
		}
	})
}

func TestReadyIsDurable(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.kill()
		r.fault = []storetest.Outcome{storetest.NotCommitted, storetest.NotCommitted, storetest.NotCommitted}
		r.open()
		select {
		case <-r.m.Ready():
			t.Fatal("ready, and the start is not on disk")
		default:
		}
		r.wait(5 * time.Second)
		<-r.m.Ready()
	})
}

func TestAskingForATaskWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("startVitalSign", fake.Script{RunFor: -1, HangCancel: true})
		r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"}]`))
		r.wait(time.Second)
		r.receive(cancelJSON("c-1", "wf-1"))
		r.wait(5 * time.Minute)
		before := r.store.Commits()
		r.wait(6 * time.Hour)
		if n := r.store.Commits() - before; n != 0 {
			t.Fatalf("%d commits in six hours of asking whether it has stopped", n)
		}
	})
}

func TestTheTimeIsWrittenDownWhileTheClockIsUnknown(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		bubble(t, func(t *testing.T, r *rig) {
			r.clk.SetTrusted(trusted)
			r.robot.On("startVitalSign", fake.Script{RunFor: -1})
			r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"startVitalSign","wait_policy":"submitted"},
				{"cloud_step_id":"step_2","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":36000000}]`))
			r.wait(3 * time.Minute)
			if st := r.state("wf-1", "step_2"); st != core.Waiting {
				t.Fatalf("step_2 is %s", st)
			}
			before := r.store.Commits()
			r.wait(time.Hour)
			n := r.store.Commits() - before
			if trusted && n != 0 || !trusted && (n < 4 || n > 8) {
				t.Fatalf("clock trusted %v: %d commits in an hour of a delay of ten", trusted, n)
			}
		})
	}
}

// onDisk gives the step as the store has it.
func (r *rig) onDisk(wf, step string) core.StepState {
	r.t.Helper()
	img, err := r.mem.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, w := range taskmanager.DecodeRecords(img.Records).Workflows {
		if string(w.Plan.Workflow) == wf {
			return w.Steps[w.Plan.Lookup(core.StepID(step))].State
		}
	}
	return ""
}

func TestSoftRowsRideWithAnyCommit(t *testing.T) {
	const plan = `[{"cloud_step_id":"step_1","taskMethod":"startVitalSign"},{"cloud_step_id":"step_2","execution_target":"cloud","skill":"fresh_information_brief"}]`
	for _, tc := range []struct {
		name string
		then func(r *rig)
	}{
		{"of the same workflow", func(r *rig) { r.receive(stepCancelJSON("c-1", "wf-1/step_2")) }},
		{"of another", func(r *rig) { r.receive(planJSON("wf-2", toKitchen)) }},
		{"after one that failed", func(r *rig) {
			r.store.Script(storetest.NotCommitted)
			_, _ = r.m.Receive(r.t.Context(), []byte(planJSON("wf-2", toKitchen)), taskmanager.FromCloud)
			r.receive(planJSON("wf-2", toKitchen))
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.robot.On("startVitalSign", fake.Script{RunFor: -1})
				r.receive(planJSON("wf-1", plan))
				r.wait(time.Second)
				if st := r.onDisk("wf-1", "step_1"); st != core.Dispatching {
					t.Fatalf("on disk it is %s: the acceptance was to wait for company", st)
				}
				tc.then(r)
				if st := r.onDisk("wf-1", "step_1"); st != core.Running {
					t.Fatalf("on disk it is %s", st)
				}
			})
		})
	}
}

func stepCancelJSON(id, target string) string {
	return strings.Replace(cancelJSON(id, target), `"scope":"workflow"`, `"scope":"step"`, 1)
}

func TestReceiptsReachTheDisk(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		ack := r.m.Pending(1)[0].ID
		if err := r.m.Receipted(t.Context(), []core.MessageID{core.MessageID(ack)}); err != nil {
			t.Fatal(err)
		}
		r.wait(2 * time.Minute)
		r.kill()
		r.open()
		for _, row := range r.m.Pending(100) {
			if row.ID == ack {
				t.Fatal("a receipted row is sent again after a restart")
			}
		}
	})
}

func TestWorkflowWithoutItsAttemptIsSetAside(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(time.Second)
		img, err := r.mem.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.kill()
		r.foreign = true
		for _, rec := range img.Records {
			if strings.HasPrefix(rec.Item, "a:") {
				rec.Body = nil
				if err := r.mem.Commit(t.Context(), taskmanager.Batch{Records: []taskmanager.Record{rec}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.open()
		r.wait(time.Minute)
		if got := r.m.SetAside(); len(got) != 1 || got[0] != "wf-1" {
			t.Fatalf("set aside %v", got)
		}
	})
}

func TestEndedPlanThatLeftSomethingRunningComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("startBasicAirClear", fake.Script{RunFor: -1})
		r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear"}]`))
		r.wait(4 * time.Second)
		r.robot.Emit(core.Observed{Event: "cleaning.started", Source: "home"})
		r.wait(time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Completed {
			t.Fatalf("step is %s", st)
		}
		r.kill()
		r.open()
		r.wait(time.Second)
		r.receive(cancelJSON("c-1", "wf-1"))
		r.wait(time.Second)
		if r.stops() == 0 {
			t.Fatal("what it left running cannot be stopped any more")
		}
	})
}

func TestANewStoreStopsTheBody(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		if n := r.calls("stopMovement"); n != 0 {
			t.Fatalf("%d stops by a store that is not new", n)
		}
		r.kill()
		r.mem = storetest.NewMemory() // the disk was lost, the robot lives on
		r.open()
		r.wait(time.Second)
		if n := r.calls("stopMovement"); n != 1 {
			t.Fatalf("%d stops by a new store, want 1", n)
		}
		r.kill()
		r.open()
		if n := r.calls("stopMovement"); n != 1 {
			t.Fatalf("%d stops after one more restart, want 1", n)
		}
	})
}

func TestUnreadableRememberedAnswerIsDecidedAnew(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		if err := r.mem.Commit(t.Context(), taskmanager.Batch{Memory: []taskmanager.Memory{{Key: "plan:pl-wf-1:0", Hash: "h", Answer: []byte("{")}}}); err != nil {
			t.Fatal(err)
		}
		if ans := r.receive(planJSON("wf-1", toKitchen)); !ans.Accepted {
			t.Fatalf("the same plan again: %+v", ans)
		}
		r.wait(time.Second)
		if n := r.calls("setMoveTo"); n != 1 {
			t.Fatalf("%d calls, want 1", n)
		}
	})
}

func TestUnreadableEndedWorkflowDoesNotBlockItsMessages(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(cancelJSON("c-0", "wf-0"))
		if err := r.mem.Commit(t.Context(), taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "wf-1", Item: "", Body: []byte("\xff"), Closed: true}}}); err != nil {
			t.Fatal(err)
		}
		if ans := r.receive(cancelJSON("c-1", "wf-1")); ans.Reason != core.ReasonUnknownTarget {
			t.Fatalf("a cancel of what cannot be read: %+v", ans)
		}
	})
}
