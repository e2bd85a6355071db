package planner

import (
	"context"
	"testing"
	"time"

	"deviceagent/bridge/wire"
)

// TestWhatTheTableLeavesOpenIsThoughtAbout: outside the owner, which serves others meanwhile; and answered once.
func TestWhatTheTableLeavesOpenIsThoughtAbout(t *testing.T) {
	r := newRig(t)
	asked, answer := make(chan Asked, 8), make(chan wire.Decision)
	r.ask = func(ctx context.Context, q Asked) (wire.Decision, bool) {
		asked <- q
		select {
		case d := <-answer:
			return d, d.Action != ""
		case <-ctx.Done():
			return wire.Decision{}, false
		}
	}
	d, id := r.running()
	d.say(d.ask(id, "a", "executor_busy", "retry_local", "cancel")) // the table knows
	want(t, object{"action": d.next(wire.TypeDecision).Decision.Action}, "action", "retry_local")
	d.say(d.ask(id, "b", "evidence_contradicts", "replan_cloud", "cancel")) // nothing to choose
	want(t, object{"action": d.next(wire.TypeDecision).Decision.Action}, "action", "cancel")
	if len(asked) != 0 {
		t.Fatal("a question that the table answers was put to others")
	}
	q := d.ask(id, "c", "evidence_contradicts", "retry_local", "substitute", "cancel")
	d.say(q)
	if got := <-asked; got.StepID != "c" || len(got.Choices()) != 2 || got.WorkflowID != id {
		t.Errorf("asked %+v", got)
	}
	d.say(d.ask(id, "d", "executor_busy", "retry_local", "cancel")) // is answered while the other is thought about
	want(t, object{"action": d.next(wire.TypeDecision).Decision.Action}, "action", "retry_local")
	answer <- wire.Decision{Action: "retry_local", Reason: "model", Usage: &wire.Usage{Model: "tiny", InputTokens: 7, LatencyMS: 3}}
	got := d.next(wire.TypeDecision).Decision
	if got.EscalationID != q.Escalation.EscalationID || got.Action != "retry_local" || got.PlanRevision != 3 {
		t.Errorf("answered %+v", got)
	}
	d.say(q) // the receipt was lost: it is no new question
	d.say(d.ask(id, "e", "executor_busy", "retry_local", "cancel"))
	want(t, object{"action": d.next(wire.TypeDecision).Decision.Action}, "action", "retry_local")
	if len(asked) != 0 {
		t.Error("a repeat was thought about again")
	}
	shown := r.workflow(id)["escalations"].([]any)[2].(object)
	want(t, shown, "usage.model", "tiny")
	want(t, r.workflow(id), "model_calls", 2) // of the turn, and of this decision
}

// TestAnAnswerThatComesTooLateIsNotSent, nor one that was not offered, nor none.
func TestAnAnswerThatComesTooLateIsNotSent(t *testing.T) {
	for name, tc := range map[string]struct {
		answer wire.Decision
		before func(*rig, *robotRig, string)
	}{
		"past its deadline":   {wire.Decision{Action: "retry_local"}, func(r *rig, _ *robotRig, _ string) { r.clock.advance(121 * time.Second) }},
		"of an ended plan":    {wire.Decision{Action: "retry_local"}, func(r *rig, d *robotRig, id string) { d.say(d.result(id, "failed", "executor_busy")); r.tick() }},
		"not offered":         {wire.Decision{Action: "return_to_station"}, func(*rig, *robotRig, string) {}},
		"needs a plan":        {wire.Decision{Action: "replan_cloud"}, func(*rig, *robotRig, string) {}},
		"brings a plan along": {wire.Decision{Action: "retry_local", Plan: &wire.Plan{}}, func(*rig, *robotRig, string) {}},
		"none":                {wire.Decision{}, func(*rig, *robotRig, string) {}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			asked, answer, done := make(chan struct{}), make(chan wire.Decision), make(chan struct{})
			r.ask = func(context.Context, Asked) (wire.Decision, bool) {
				close(asked)
				d := <-answer
				defer close(done)
				return d, d.Action != ""
			}
			d, id := r.running()
			d.say(d.ask(id, "a", "evidence_contradicts", "retry_local", "replan_cloud", "cancel"))
			<-asked
			tc.before(r, d, id)
			answer <- tc.answer
			<-done
			r.tick()
			if came, _ := d.sync("1.1"); len(came) != 0 {
				t.Fatalf("sent: %+v", came[0].Decision)
			}
		})
	}
}

// TestAStopDoesNotWaitForThoughts: whoever thinks is told, and what was not answered is left to the device.
func TestAStopDoesNotWaitForThoughts(t *testing.T) {
	r := newRig(t)
	asked := make(chan struct{})
	r.ask = func(ctx context.Context, _ Asked) (wire.Decision, bool) {
		close(asked)
		<-ctx.Done()
		return wire.Decision{}, false
	}
	d, id := r.running()
	d.say(d.ask(id, "a", "evidence_contradicts", "retry_local", "cancel"))
	<-asked
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
}
