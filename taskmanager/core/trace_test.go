package core_test

import (
	"fmt"
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// told writes a trace as one line an entry: "DECIDE escalate go executor_failed 3/1/1/0>2/1/1/0". Every entry has to say what the table
// of words knows, and to carry what its stage owes.
func told(t *testing.T, wf *core.Workflow) (out []string) {
	t.Helper()
	for i, e := range wf.Trace {
		if e.Missing > 0 {
			out = append(out, fmt.Sprintf("missing %d", e.Missing))
			continue
		}
		if !core.TraceKnows(e.Stage, e.What) {
			t.Errorf("entry %d says %s %s, which the table does not know", i, e.Stage, e.What)
		}
		if e.Stage == core.StageDecide && (e.Before == nil || e.After == nil) {
			t.Errorf("entry %d decides %s without its budgets", i, e.What)
		}
		if e.Seq == 0 || i > 0 && (e.Seq < wf.Trace[i-1].Seq || e.AtMS < wf.Trace[i-1].AtMS) {
			t.Errorf("entry %d is out of order: %d after %d", i, e.Seq, wf.Trace[max(0, i-1)].Seq)
		}
		line := []string{string(e.Stage), e.What}
		for _, word := range []string{string(e.Step), e.Effect, string(e.Reason), e.Seen, e.Refused} {
			if word != "" {
				line = append(line, word)
			}
		}
		if e.After != nil {
			line = append(line, budgets(e.Before)+">"+budgets(e.After))
		}
		if d := e.Diff; d != nil {
			line = append(line, fmt.Sprintf("r%d>r%d +%v -%v ~%v x%v", d.From, d.To, d.Added, d.Removed, d.Changed, d.Stopped))
		}
		if e.Usage != nil {
			line = append(line, e.Usage.Model)
		}
		out = append(out, strings.Join(line, " "))
	}
	return out
}

func budgets(b *core.TraceBudget) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d/%d/%d", b.Decisions, b.Replans, b.Retries, b.Questions)
}

func (r *rig) wantTrace(want ...string) {
	r.t.Helper()
	got := told(r.t, r.wf("wf_1"))
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			r.t.Errorf("entry %d is missing: %s", i, want[i])
		case i >= len(want):
			r.t.Errorf("entry %d is more than wanted: %s", i, got[i])
		case got[i] != want[i]:
			r.t.Errorf("entry %d is\n%s, want\n%s", i, got[i], want[i])
		}
	}
}

// What goes as planned is told by its goal, what was sent and what proved it; progress, repeats and signs of life leave nothing.
func TestTheTraceOfWhatGoesWell(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+","+cleanIt, goal(ownGo+","+ownAir, generous, "full"))
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	before := len(r.wf("wf_1").Trace)
	for range 5 {
		r.do(core.TaskProgress{Task: task})
		r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
		r.event("movement.started", task, nil)
	}
	if n := len(r.wf("wf_1").Trace); n != before {
		t.Errorf("%d entries after what changes nothing, want %d", n, before)
	}
	r.arrive(task, "living_room")
	r.cleaned(r.last().Task)
	r.wantTrace(
		"GOAL accepted >3/1/1/0",
		"ACT dispatch go",
		"EVIDENCE observed go target_location_reached movement.location",
		"ACT dispatch clean",
		"EVIDENCE observed clean air_cleaning_completed cleaning.completed",
		"OBSERVE ALL_EFFECTS_OBSERVED",
		"DECIDE complete 3/1/1/0>3/1/1/0",
		"GOAL completed",
	)
	proof := r.wf("wf_1").Trace[2]
	for _, ev := range r.wf("wf_1").Steps[0].Effects[0].Evidence {
		if fmt.Sprint(ev.Seq) == proof.Basis {
			return
		}
	}
	t.Errorf("the evidence of the trace (%s) is not that of the step", proof.Basis)
}

// A plan without a goal leaves nothing, and has no row for it.
func TestAPlainPlanHasNoTrace(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[` + goTo + `]`)
	r.refuse()
	r.undecided()
	if wf := r.wf("wf_1"); len(wf.Trace) != 0 || wf.TraceDiffers() {
		t.Errorf("trace %v", told(t, wf))
	}
}

// A fault is told with its reason, what was decided with what it cost, a decision of the cloud with its model, and a revision with what
// it changed.
func TestTheTraceOfAReplan(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+","+cleanIt, goal(ownGo+","+ownAir, generous, "full"))
	r.refuse()
	kitchen := `{"cloud_step_id":"go2","taskMethod":"setMoveTo","params":{"position":"주방"}},{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20},"depends_on":["go2"],"required_effects":["air_cleaning_completed"]}`
	plan := r.planText(strings.Replace(planHead, `"revision":0`, `"revision":1,"cancel_steps":["go"]`, 1) + `[` + kitchen + `],` +
		goal(`{"effect_id":"target_location_reached","step_id":"go2","required":true},`+ownAir, generous, "full") + `}`).(core.PlanSubmitted)
	e := r.wf("wf_1").Escalations[0]
	a := r.do(core.DecisionReceived{Head: core.Head{Msg: "d-1", Hash: "h"}, Escalation: e.ID, Action: core.ActReplan, Plan: plan.Plan, Usage: &core.Usage{Model: "small"}}).Answers[0]
	if !a.Accepted {
		t.Fatalf("decision refused: %s %v", a.Reason, a.Faults)
	}
	r.wantTrace(
		"GOAL accepted >3/1/1/0",
		"ACT dispatch go",
		"OBSERVE FAILED go executor_refused",
		"DECIDE replan_cloud go executor_refused 3/1/1/0>3/1/1/0",
		"ACT escalate go executor_refused 3/1/1/0>2/1/1/0",
		"DECIDE replan_cloud go 2/1/1/0>2/0/1/0 small",
		"ACT revise r0>r1 +[go2] -[] ~[clean] x[go]",
	)
	if got := r.wf("wf_1").Trace[5].Basis; got != string(e.ID) {
		t.Errorf("the decision rests on %q, want the question %q", got, e.ID)
	}
}

// Who goes another way than planned is told too: a declared retry, silence of the cloud, the safe end.
func TestTheTraceOfASafeEnd(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	again := strings.Replace(goTo, `"params"`, `"retry":{"max_attempts":2,"backoff_ms":1000},"params"`, 1)
	r.aim(again+","+cleanIt, goal(ownGo+","+ownAir, generous, "full"))
	r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorBusy})
	r.pass(1000)
	r.elsewhere()
	r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorBusy})
	r.undecided()
	r.wantGoal(core.GoalSafeEnd)
	r.wantTrace(
		"GOAL accepted >3/1/1/0",
		"ACT dispatch go",
		"OBSERVE BLOCKED go executor_busy",
		"DECIDE retry_local go executor_busy 3/1/1/0>3/1/1/0",
		"ACT retry go executor_busy 3/1/1/0>3/1/0/0",
		"ACT dispatch go",
		"OBSERVE BLOCKED go executor_busy",
		"DECIDE replan_cloud go executor_busy 3/1/0/0>3/1/0/0",
		"ACT escalate go executor_busy 3/1/0/0>2/1/0/0",
		"OBSERVE DECISION_MISSED go no_decision",
		"DECIDE cancel go no_decision 2/1/0/0>2/1/0/0",
		"OBSERVE EFFECT_EXPIRED go target_location_reached",
		"OBSERVE DECISION_MISSED no_decision",
		"DECIDE cancel no_decision 2/1/0/0>2/1/0/0",
		"ACT fallback no_decision",
		"GOAL safely_ended no_decision",
	)
}

// A person's change and cancel, and a hold, are told as what was seen.
func TestTheTraceOfAPerson(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo+","+cleanIt, goal(ownGo+","+ownAir, generous, "full"))
	r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	if a := r.aimed(1, goTo, goal(ownGo, generous, "full")); !a.Accepted {
		t.Fatalf("revision refused: %s %v", a.Reason, a.Faults)
	}
	r.do(core.ControlReceived{Head: core.Head{Msg: "c-2"}, Verb: "cancel", Scope: "workflow", Target: "wf_1", By: "user"})
	r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeCancelled})
	r.wantTrace(
		"GOAL accepted >3/1/1/0",
		"ACT dispatch go",
		"OBSERVE USER_CHANGE",
		"ACT revise r0>r1 +[] -[clean] ~[] x[]",
		"OBSERVE USER_CANCEL user_cancelled",
		"DECIDE cancel user_cancelled 3/1/1/0>3/1/1/0",
		"ACT stop go user_cancelled",
		"OBSERVE EFFECT_EXPIRED go target_location_reached",
		"GOAL cancelled user_cancelled",
	)
}

// A trace that is full loses its middle, and says how much: how it began and how it ended stay.
func TestAFullTraceLosesItsMiddle(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.aim(goTo, goal(ownGo, generous, "full"))
	task := r.last().Task
	most := 0
	for n := range 100 {
		r.do(core.ExecutorDown{Service: "home"})
		r.up("run-" + fmt.Sprint(n+2))
		r.do(core.TaskStatus{Task: task, Known: core.KnownRunning})
		most = max(most, len(r.wf("wf_1").Trace))
	}
	r.arrive(task, "living_room")
	wf := r.wf("wf_1")
	list := told(t, wf)
	if most != 64 || len(list) != 64 {
		t.Fatalf("%d entries, %d at the most, want 64", len(list), most)
	}
	// 1 goal, 1 dispatch, 100 times unknown, evidence, seen, decided, goal
	if list[0] != "GOAL accepted >3/1/1/0" || list[1] != "ACT dispatch go" || list[32] != "missing 43" || list[63] != "GOAL completed" {
		t.Errorf("%v", list)
	}
	kept := int64(0)
	for _, e := range wf.Trace {
		if kept++; e.Missing > 0 {
			kept += e.Missing - 1
		}
	}
	if kept != 106 {
		t.Errorf("the trace tells of %d entries, there were 106", kept)
	}
}
