package taskmanager_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/executors/fake"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/storetest"
)

// Field cases and faults over a real Manager, each by its id; docs/tests.md lists them.

// settle lets time pass, and the robot stand where it went once it has arrived.
func (r *rig) settle(d time.Duration) {
	r.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		r.wait(500 * time.Millisecond)
		if len(r.robot.Began()) > 0 && len(r.robot.Running()) == 0 {
			r.arrived("kitchen")
		}
	}
}

// once checks that the move to the kitchen was made once and is proven, and that one result of it goes up.
func (r *rig) once() {
	r.t.Helper()
	r.settle(30 * time.Second)
	if began := r.robot.Began(); len(began) != 1 {
		r.t.Errorf("the robot began %v, want one move", began)
	}
	if wf, ok, err := r.m.Finished(r.t.Context(), "wf-1"); err != nil || !ok || wf.State != core.WfCompleted {
		r.t.Errorf("finished: %v %v %+v", ok, err, wf)
	}
	if n := len(r.rows("result")); n != 1 {
		r.t.Errorf("%d results, want 1", n)
	}
}

// rows lists what waits to go up, of one type.
func (r *rig) rows(of string) (out []taskmanager.OutboxRow) {
	for _, row := range r.m.Pending(1000) {
		if row.Type == of {
			out = append(out, row)
		}
	}
	return out
}

// offer hands a plan in to a process that may end over it.
func (r *rig) offer(payload string) error {
	_, err := r.m.Receive(r.t.Context(), []byte(payload), taskmanager.FromCloud)
	return err
}

func TestA17_ExecutorThatIgnoresItsCommands(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.Set(core.ContextValue{Key: "display.brightness", Value: 80.0, Class: "independent", Available: true})
		r.robot.On("setScreen", fake.Script{Lies: true})
		r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"brightness":50}}]`))
		r.wait(2 * time.Minute)
		if st := r.state("wf-1", "step_1"); st != core.Blocked || len(r.rows("escalation")) != 1 {
			t.Fatalf("step is %s, %d questions", st, len(r.rows("escalation")))
		}
		r.wait(2 * time.Minute)
		if st := r.state("wf-1", "step_1"); st != core.TimedOut {
			t.Fatalf("step is %s", st)
		}
		rows := r.rows("result")
		if len(rows) != 1 {
			t.Fatalf("%d results", len(rows))
		}
		env, err := wire.Decode(rows[0].Body, wire.Options{Direction: wire.Up})
		if err != nil {
			t.Fatal(err)
		}
		if res := env.Result; res.Status != "failed" || res.Steps[0].State != "timed_out" || res.Steps[0].ReasonCode != "evidence_timeout" {
			t.Fatalf("it is reported as %+v", res)
		}
	})
}

func TestB6_EachPlanIsAnsweredOnceHoweverManyComeAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: -1})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				if ans := r.receive(planJSON("wf-"+string(rune('a'+i)), toKitchen)); !ans.Accepted {
					t.Errorf("plan %d: %+v", i, ans)
				}
			})
		}
		wg.Wait()
		r.wait(time.Second)
		refs := map[string]int{}
		for _, row := range r.rows("ack") {
			refs[row.Workflow]++
		}
		if len(refs) != 20 || len(r.rows("ack")) != 20 {
			t.Errorf("%d acks for %d plans", len(r.rows("ack")), len(refs))
		}
		if n := len(r.robot.Running()); n != 1 {
			t.Errorf("%d moves at once", n)
		}
	})
}

// A process that is asked to end leaves what a power cut leaves: plans go on after it.
func TestC14_AShutdownChangesNoPlan(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, time.Second, 5 * time.Second, 10 * time.Second, 10500 * time.Millisecond, 11 * time.Second} {
		t.Run(after.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.receive(planJSON("wf-1", toKitchen))
				r.wait(after)
				r.kill()
				img, err := r.mem.Load(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, wf := range taskmanager.DecodeRecords(img.Records).Workflows {
					if st := wf.Steps[0].State; st.Terminal() || wf.State.Terminal() || wf.Cancel != "" {
						t.Fatalf("after the stop the step is %s, the workflow %s", st, wf.State)
					}
				}
				r.open()
				r.once()
			})
		})
	}
}

func TestF01_CutBeforeTheCommitOfAPlan(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.Broken)
		if err := r.offer(planJSON("wf-1", toKitchen)); !errors.Is(err, taskmanager.ErrStoreBroken) {
			t.Fatalf("receive says %v", err)
		}
		r.kill()
		r.open()
		if r.state("wf-1", "step_1") != "" || len(r.m.Pending(10)) != 0 || len(r.robot.Began()) != 0 {
			t.Fatal("a trace of a plan that was never stored")
		}
		if ans := r.receive(planJSON("wf-1", toKitchen)); !ans.Accepted { // it had no answer: it comes again
			t.Fatalf("answer %+v", ans)
		}
		r.once()
	})
}

func TestF02_CutBetweenTheCommitAndTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.WrittenBroken)
		if err := r.offer(planJSON("wf-1", toKitchen)); !errors.Is(err, taskmanager.ErrStoreBroken) {
			t.Fatalf("receive says %v", err)
		}
		r.kill()
		r.open()
		if ans := r.receive(planJSON("wf-1", toKitchen)); !ans.Accepted || ans.Workflow != "wf-1" {
			t.Fatalf("the same plan: %+v", ans)
		}
		r.once()
	})
}

func TestF03_TheAnswerLeavesAfterTheCut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.store.Script(storetest.WrittenBroken)
		_ = r.offer(planJSON("wf-1", toKitchen)) // TestF02 tells what it says
		r.kill()
		r.open()
		acks := r.rows("ack")
		if len(acks) != 1 {
			t.Fatalf("%d acks wait to go up", len(acks))
		}
		env, err := wire.Decode(acks[0].Body, wire.Options{Direction: wire.Up})
		if err != nil {
			t.Fatal(err)
		}
		if ack := env.Ack; !ack.Accepted || ack.RefID != idOf("wf-1") {
			t.Fatalf("ack %+v", ack)
		}
	})
}

func TestF24_APlanThreeTimesIsOnePlan(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		for i := range 3 {
			if ans := r.receive(planJSON("wf-1", toKitchen)); !ans.Accepted || ans.Workflow != "wf-1" {
				t.Fatalf("time %d: %+v", i+1, ans)
			}
			if i == 1 {
				r.wait(2 * time.Second)
				r.kill()
				r.open()
			}
		}
		r.once()
		if n := len(r.rows("ack")); n != 3 {
			t.Errorf("%d acks, want one each time", n)
		}
	})
}

// TestF83_ForgottenIsNotNew: the device tells a message that is older than its id memory from a new one.
func TestF83_ForgottenIsNotNew(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		now := time.Now().UnixMilli()
		r.mem.Forget(now + 90*24*3600*1000) // the newest that it forgot came at this moment
		for _, tc := range []struct {
			wf   string
			made int64
			want core.Reason
		}{{"wf-1", now - 1000, core.ReasonExpired}, {"wf-2", now, core.ReasonExpired}, {"wf-3", now + 1, core.ReasonNone}} {
			id := fmt.Sprintf("%08x-%04x-7000-8000-000000000001", tc.made>>16, tc.made&0xffff)
			if ans := r.receive(strings.Replace(planJSON(tc.wf, toKitchen), idOf(tc.wf), id, 1)); ans.Reason != tc.want {
				t.Errorf("made at %+d ms: %+v, want %q", tc.made-now, ans, tc.want)
			}
		}
	})
}
