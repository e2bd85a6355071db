package bridge_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/bridge"
	"deviceagent/bridge/wire"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

var about = bridge.About{Epoch: "epoch-1", FloorSeq: 3, WallMS: sentMS}

// arrival is proof with a value, and something that spoke against it.
var arrival = core.Effect{ID: "target_location_reached", State: core.EffectObserved, Evidence: []core.Evidence{
	{Leaf: 0, Event: "movement.arrived", Value: map[string]any{"room_id": "living_room"}, Source: "home", Class: catalog.Independent, Seq: 41, AgeMS: 12, By: "task_id"},
	{Leaf: 1, Key: "movement.location", Value: "living_room", Source: "home", Class: catalog.Independent, Seq: 42, By: "window", Recovered: true},
	{Leaf: 2, Against: true, Event: "movement.failed", Source: "home", Class: catalog.Independent, Seq: 40, By: "task_id"},
}}

var upMessages = map[string]core.Message{
	"ack_accepted": {Seq: 7, Type: core.MsgAck, Workflow: "wf_1", Plan: "pl_1", Turn: "tn_1",
		Ack: &core.Answer{Ref: "0193a000-0000-7000-8000-000000000001", Workflow: "wf_1", Plan: "pl_1", Accepted: true, CatalogEtag: "etag-1"}},
	"ack_refused": {Seq: 8, Type: core.MsgAck, Workflow: "wf_1", Ack: &core.Answer{Ref: "0193a000-0000-7000-8000-000000000001", Reason: "unknown_location",
		Faults: []core.Fault{{Path: "device_task_requests[0].params.position", Reason: "unknown_location", Message: "\"다락방\" is no room of this home"}}}},
	"ack_unreadable": {Seq: 9, Type: core.MsgAck, Ack: &core.Answer{RefSHA256: strings.Repeat("0f", 32), Reason: "malformed",
		Faults: []core.Fault{{Reason: "malformed", Message: "it is no message"}}}},
	"ack_cancel": {Seq: 10, Type: core.MsgAck, Workflow: "wf_1", Ack: &core.Answer{Ref: "0193a000-0000-7000-8000-000000000002", Accepted: true, State: "active", Stopping: []string{"base"}}},
	"step_due": {Seq: 11, Type: core.MsgStepDue, Workflow: "wf_1", Step: "step_2", Task: "wf_1.step_2.1", StepDue: &core.StepDue{Step: "step_2", Task: "wf_1.step_2.1",
		Skill: "rest_guidance", Inputs: core.Values{"purpose": "요약", "n": 3.0}, Proof: []core.Effect{arrival}}},
	"escalation": {Seq: 14, Type: core.MsgEscalation, Workflow: "wf_1", Plan: "pl_1", Turn: "tn_1", Step: "step_1", Task: "t-1", Escalation: &core.Question{
		ID: "e-1", Reason: "wheel stuck!", Recoverable: true, Revision: 2, Allowed: []core.Action{core.ActRetry, core.ActReplan, core.ActCancel}, Default: core.ActCancel, DeadlineMS: 120_000,
		Left:    core.Budget{Decisions: 2, Replans: 1},
		Owed:    []core.Owed{{Effect: "target_location_reached", Step: "step_1", State: core.EffectContradicted, Providers: []catalog.Method{"setMoveTo"}}, {Effect: "air_cleaning_active", Step: "step_2", State: core.EffectBound}},
		Context: []core.Seen{{Key: "battery.level", Value: 80.0, AgeMS: 400, Source: "home", Availability: "fresh"}, {Key: "movement.location", Availability: "missing"}},
		Events:  []core.Happened{{Event: "dispatched", Task: "t-1", AgeMS: 9000}, {Event: "movement.arrived", Task: "t-1", AgeMS: 40, Value: map[string]any{"room_id": "study"}}, {Event: "failed", Task: "t-1", Reason: "wheel stuck!"}}}},
	"question": {Seq: 15, Type: core.MsgQuestion, Workflow: "wf_1", Plan: "pl_1", Turn: "tn_1", Step: "step_1", Question: &core.Asking{Experience: "exp_1", LeftMS: 60_000,
		Ask: core.Ask{ID: "q-1", Kind: core.AskConsent, Consent: "pause_cleaning", Text: "지금 하고 있는 공기 청정을 멈춰도 될까요?", State: core.AskOpen, Options: []core.AskOption{{ID: "yes", Text: "네"}, {ID: "no", Text: "아니요"}}}}},
	"question_answered": {Seq: 16, Type: core.MsgQuestion, Workflow: "wf_1", Question: &core.Asking{Experience: "exp_1", Ask: core.Ask{ID: "q-1", State: core.AskAnswered, Option: "yes", By: "user"}}},
	"result_completed": {Seq: 12, Type: core.MsgResult, Workflow: "wf_1", Plan: "pl_1", Turn: "tn_1", Result: &core.Result{Status: core.WfCompleted, Uplink: 2, ElapsedMS: 61_000,
		Steps: []core.StepReport{{ID: "step_1", State: core.Completed, Attempts: 1, Effects: []core.Effect{arrival}, StartMS: 100, EndMS: 40_000},
			{ID: "step_2", State: core.Completed, Attempts: 1, Effects: []core.Effect{{State: core.EffectObserved, Evidence: []core.Evidence{{Key: "sound.volume", Value: 40.0, Source: "home", Class: catalog.Independent, Seq: 50, By: "task_id"}}}}}}}},
	"result_failed": {Seq: 13, Type: core.MsgResult, Workflow: "wf_1", Plan: "pl_1", Result: &core.Result{Status: core.WfFailed, Reason: "executor_failed", Uplink: 2, ElapsedMS: 5,
		Steps: []core.StepReport{{ID: "step_1", State: core.Failed, Attempts: 2, Reason: "wheel stuck!"}, {ID: "step_2", State: core.Skipped, Reason: "dependency_failed"}}}},
}

// TestMessagesUp holds what is sent, in both encodings, and reads it as the planner does.
func TestMessagesUp(t *testing.T) {
	for name, m := range upMessages {
		t.Run(name, func(t *testing.T) {
			var read [2]wire.Envelope
			for i, enc := range []wire.Encoding{wire.JSON, wire.CBOR} {
				id, body, err := codecOf(t, enc).Encode(m, about)
				if err != nil {
					t.Fatal(err)
				}
				read[i], err = wire.Decode(body, wire.Options{AllowJSON: enc == wire.JSON, Direction: wire.Up})
				if err != nil {
					t.Fatalf("the planner cannot read it: %v", err)
				}
				if read[i].ID != id || read[i].Seq != m.Seq || read[i].FloorSeq != 3 || read[i].StoreEpoch != "epoch-1" || read[i].SentAt != sentAt || string(read[i].Type) != string(m.Type) {
					t.Errorf("envelope %+v", read[i])
				}
				if enc == wire.JSON {
					golden(t, "up/"+name+".json", string(body)+"\n")
					continue
				}
				diag, err := cbor.Diagnose(body)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, "up/"+name+".cbor.txt", hex.EncodeToString(body)+"\n"+diag+"\n")
			}
			if a, b := indented(t, bodyOf(read[0])), indented(t, bodyOf(read[1])); a != b {
				t.Errorf("JSON and CBOR differ\n%s\n%s", a, b)
			}
		})
	}
}

func bodyOf(e wire.Envelope) any { return []any{e.Ack, e.Result, e.StepDue, e.Escalation, e.Corr} }

func sent(t *testing.T, m core.Message) (wire.Envelope, int) {
	t.Helper()
	_, body, err := codecOf(t, wire.CBOR).Encode(m, about)
	if err != nil {
		t.Fatal(err)
	}
	e, err := wire.Decode(body, wire.Options{Direction: wire.Up})
	if err != nil {
		t.Fatal(err)
	}
	return e, len(body)
}

func TestWhatSpokeAgainstIsNoEvidence(t *testing.T) {
	for _, name := range []string{"result_completed", "step_due"} {
		e, _ := sent(t, upMessages[name])
		var list []wire.Evidence
		switch {
		case e.StepDue != nil:
			list = e.StepDue.Evidence
		default:
			list = e.Result.Steps[0].Evidence
		}
		if len(list) != 2 {
			t.Errorf("%s: %d pieces of evidence, want 2: %+v", name, len(list), list)
		}
		for _, ev := range list {
			if ev.Event == "movement.failed" {
				t.Errorf("%s lists what spoke against the effect", name)
			}
		}
	}
}

func TestReasonOfAnExecutorIsAnID(t *testing.T) {
	e, _ := sent(t, upMessages["result_failed"])
	if got := e.Result.Steps[0].ReasonCode; got != "wheel_stuck_" {
		t.Errorf("reason %q", got)
	}
}

// bigResult has steps with that many pieces of evidence, whose values have that many bytes. The last step failed.
func bigResult(steps, evidence, bytes int) core.Message {
	r := &core.Result{Status: core.WfFailed}
	for i := range steps {
		s := core.StepReport{ID: core.StepID(fmt.Sprintf("step_%0120d", i)), State: core.Completed, Attempts: 1}
		e := core.Effect{ID: "target_location_reached", State: core.EffectObserved}
		for j := range evidence {
			e.Evidence = append(e.Evidence, core.Evidence{Event: "movement.arrived", Value: map[string]any{"x": strings.Repeat("x", bytes)}, Source: "home", Class: catalog.Independent, Seq: int64(j), By: "task_id"})
		}
		s.Effects = []core.Effect{e}
		if i == steps-1 {
			s.State, s.Reason = core.Failed, "executor_failed"
		}
		r.Steps = append(r.Steps, s)
	}
	return core.Message{Seq: 1, Type: core.MsgResult, Workflow: "wf_1", Result: r}
}

func TestResultIsCutInTheStatedOrder(t *testing.T) {
	for _, tc := range []struct {
		name                                   string
		m                                      core.Message
		truncated, values, proof, closed, well bool
	}{
		{"fits", bigResult(10, 2, 100), false, true, true, true, true},
		{"values go first", bigResult(20, 2, 4000), true, false, true, true, true},
		{"values that no message can hold go too", bigResult(2, 1, 9000), true, false, true, true, true},
		{"then the evidence", bigResult(100, 10, 0), true, false, false, true, true},
		{"then the effects", bigResult(300, 1, 0), true, false, false, false, true},
		{"then the steps that went well", bigResult(1000, 1, 0), true, false, false, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, size := sent(t, tc.m)
			if size > 64<<10 {
				t.Fatalf("%d bytes", size)
			}
			r := e.Result
			first := r.Steps[0]
			values := len(first.Evidence) > 0 && !first.Evidence[0].Value.IsZero()
			if r.Truncated != tc.truncated || values != tc.values || len(first.Evidence) > 0 != tc.proof || len(first.Effects) > 0 != tc.closed || len(r.Steps) > 1 != tc.well {
				t.Errorf("truncated %v, values %v, evidence %d, effects %d, steps %d", r.Truncated, values, len(first.Evidence), len(first.Effects), len(r.Steps))
			}
			if last := r.Steps[len(r.Steps)-1]; last.State != "failed" || last.ReasonCode != "executor_failed" {
				t.Errorf("the step that failed is lost: %+v", last)
			}
		})
	}
}

// traced gives a result a goal with a full trace.
func traced(m core.Message) core.Message {
	m.Result.Goal = &core.GoalReport{Experience: "exp_1", ID: "g_1", Status: core.GoalFailed}
	for i := range 64 {
		e := core.TraceEntry{Seq: int64(i + 1), AtMS: int64(i), Stage: core.StageAct, What: "dispatch", Step: "step_1", Basis: "t-1"}
		if i == 30 {
			e = core.TraceEntry{Seq: 31, Missing: 100}
		}
		m.Result.Goal.Trace = append(m.Result.Goal.Trace, e)
	}
	return m
}

// A result that is too large gives up the middle of its trace before any proof, and all of it before the closure of an effect. What
// is missing is counted, with what was missing before.
func TestAResultGivesUpItsTraceInTheStatedOrder(t *testing.T) {
	for _, tc := range []struct {
		name          string
		m             core.Message
		entries, lost int64
		values        bool
	}{
		{"fits", bigResult(10, 2, 100), 64, 100, true},
		{"the middle goes first", bigResult(21, 2, 1240), 17, 147, true},
		{"then the values of the evidence", bigResult(20, 2, 4000), 17, 147, false},
		{"not with the evidence", bigResult(100, 10, 0), 17, 147, false},
		{"all of it goes before the effects", bigResult(300, 1, 0), 1, 163, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, size := sent(t, traced(tc.m))
			list := e.Result.Experience.Trace
			lost := int64(0)
			for _, entry := range list {
				lost += entry.Missing
			}
			first := e.Result.Steps[0]
			values := len(first.Evidence) > 0 && !first.Evidence[0].Value.IsZero()
			if size > 64<<10 || int64(len(list)) != tc.entries || lost != tc.lost || values != tc.values || e.Result.Truncated != (tc.entries < 64) {
				t.Errorf("%d bytes, %d entries, %d missing, values %v, truncated %v", size, len(list), lost, values, e.Result.Truncated)
			}
		})
	}
}

func TestResultOfAThousandFailuresFits(t *testing.T) {
	m := bigResult(1000, 1, 0)
	for i := range m.Result.Steps {
		m.Result.Steps[i].State, m.Result.Steps[i].Reason = core.Failed, core.Reason(strings.Repeat("r", 300))
	}
	e, size := sent(t, m)
	if size > 64<<10 || !e.Result.Truncated || len(e.Result.Steps) == 0 {
		t.Fatalf("%d bytes, %d steps", size, len(e.Result.Steps))
	}
}

func TestStepDueGoesOutWithoutWhatNoMessageCanHold(t *testing.T) {
	m := upMessages["step_due"]
	due := *m.StepDue
	due.Proof = []core.Effect{{ID: "x", Evidence: []core.Evidence{{Event: "a", Value: strings.Repeat("x", 9000), Source: "home", Class: catalog.Independent, By: "task_id"}}}}
	m.StepDue = &due
	e, _ := sent(t, m)
	if len(e.StepDue.Evidence) != 1 || !e.StepDue.Evidence[0].Value.IsZero() || e.StepDue.Inputs["n"].V != 3.0 {
		t.Fatalf("%+v", e.StepDue)
	}
}

func TestUnknownMessageIsAnError(t *testing.T) {
	if _, _, err := codecOf(t, wire.CBOR).Encode(core.Message{Type: "telemetry"}, about); err == nil {
		t.Fatal("no error")
	}
}
