package taskmanager_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/executors/fake"
	"deviceagent/taskmanager/core"
)

// question reads the only escalation of the outbox as the planner does.
func (r *rig) question() wire.Envelope {
	r.t.Helper()
	rows := r.rows("escalation")
	if len(rows) != 1 {
		r.t.Fatalf("%d questions in the outbox", len(rows))
	}
	env, err := wire.Decode(rows[0].Body, wire.Options{Direction: wire.Up})
	if err != nil {
		r.t.Fatal(err)
	}
	return env
}

func decisionJSON(id, escalation, action string) string {
	return fmt.Sprintf(`{"v":"%s","type":"decision","id":"%s","device_id":"rb-1","sent_at":"2026-11-30T09:00:00.000Z","body":{"escalation_id":"%s","action":"%s","plan_revision":0}}`,
		wire.Version, idOf(id), escalation, action)
}

// TestAQuestionOutlivesThePowerCut: committed with the failure, one for the step, answered in the next process, and the answer is the
// same when it comes again in the one after that.
func TestAQuestionOutlivesThePowerCut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: time.Second, Outcome: core.OutcomeFailed, Reason: "robot_fault"})
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(5 * time.Second)
		q := r.question()
		if q.Corr.EscalationID != q.Escalation.EscalationID || q.Corr.StepID != "step_1" || q.Escalation.ReasonCode != "robot_fault" || q.Escalation.ContextEtag == "" {
			t.Fatalf("question %+v %+v", q.Corr, q.Escalation)
		}
		r.kill()
		r.open()
		r.wait(10 * time.Second)
		if again := r.question(); again.ID != q.ID || r.calls("setMoveTo") != 1 || r.state("wf-1", "step_1") != core.Blocked {
			t.Fatalf("after the cut: %s, %d calls, %s", again.ID, r.calls("setMoveTo"), r.state("wf-1", "step_1"))
		}
		r.robot.On("setMoveTo", moves("kitchen"))
		say := decisionJSON("d-1", q.Escalation.EscalationID, "retry_local")
		if a := r.receive(say); !a.Accepted {
			t.Fatalf("%+v", a)
		}
		r.kill()
		r.open()
		if a := r.receive(say); !a.Accepted {
			t.Fatalf("the same again: %+v", a)
		}
		if a := r.receive(decisionJSON("d-2", q.Escalation.EscalationID, "cancel")); a.Reason != core.ReasonIDReused {
			t.Fatalf("another answer under the same key: %+v", a)
		}
		r.arrived("study")
		r.wait(8 * time.Second)
		r.arrived("kitchen")
		r.wait(20 * time.Second)
		if st := r.state("wf-1", "step_1"); st != core.Completed || r.calls("setMoveTo") != 2 {
			t.Fatalf("step is %s after %d calls", st, r.calls("setMoveTo"))
		}
	})
}

// TestAQuestionThatIsTakenBackLeavesTheOutbox: from the store too, and the floor of what is sent with it does not wait for the gap.
func TestAQuestionThatIsTakenBackLeavesTheOutbox(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.On("setMoveTo", fake.Script{RunFor: time.Second, Outcome: core.OutcomeFailed, Reason: "robot_fault"})
		r.receive(planJSON("wf-1", toKitchen))
		if err := r.m.Receipted(t.Context(), []core.MessageID{core.MessageID(r.rows("ack")[0].ID)}); err != nil {
			t.Fatal(err)
		}
		r.wait(5 * time.Second)
		seq := r.rows("escalation")[0].Seq
		r.receive(cancelJSON("c-1", "wf-1"))
		synctest.Wait()
		if n := len(r.rows("escalation")); n != 0 {
			t.Fatalf("%d questions that nobody may answer", n)
		}
		for _, row := range r.m.Pending(100) {
			env, err := wire.Decode(row.Body, wire.Options{Direction: wire.Up})
			if err != nil {
				t.Fatal(err)
			}
			if env.FloorSeq <= seq {
				t.Errorf("%s says that %d may still come, and %d never does", row.Type, env.FloorSeq, seq)
			}
		}
		r.kill()
		r.open()
		if n := len(r.rows("escalation")); n != 0 {
			t.Fatalf("%d questions after a restart", n)
		}
	})
}

// TestTheLedgerOutlivesThePowerCut: it is of the store, not of the process.
func TestTheLedgerOutlivesThePowerCut(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.robot.Set(core.ContextValue{Key: "display.brightness", Value: 80.0, Class: "independent", Available: true})
		r.robot.On("setScreen", fake.Script{Lies: true})
		r.receive(planJSON("wf-1", `[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"brightness":50},"on_failure":"abort"}]`))
		r.wait(2 * time.Minute)
		r.kill()
		r.open()
		var got core.Disagreement
		if err := r.m.Inspect(t.Context(), func(s *core.State, _ core.Now) { got = s.Device.Ledger["home"] }); err != nil {
			t.Fatal(err)
		}
		if got != (core.Disagreement{Unproven: 1}) {
			t.Fatalf("%+v", got)
		}
	})
}
