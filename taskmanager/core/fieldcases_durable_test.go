package core_test

import (
	"encoding/json"
	"testing"

	"deviceagent/taskmanager/core"
)

func TestD5_AfterARestartEachStepGoesOnOrSaysWhyNot(t *testing.T) {
	for _, state := range core.StepStates {
		recipe, reachable := inState[state]
		if !reachable || state.Terminal() {
			continue
		}
		t.Run(string(state), func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			recipe(r)
			r.restart("run-1")
			r.pass(1_000)
			wf := r.wf("wf_1")
			for i := range wf.Steps {
				if st := &wf.Steps[i]; !st.State.Terminal() && len(core.Why(r.s, r.now, wf, i)) == 0 {
					t.Errorf("%s is %s and does not say why", st.ID, st.State)
				}
			}
			if st := r.step("step_1"); st.State == core.OutcomeUnknown && count[core.Query](r) == 0 {
				t.Error("what is not known was not asked")
			}
		})
	}
	t.Run("between two steps", func(t *testing.T) {
		r := newRig(t)
		r.elsewhere()
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},
		 {"cloud_step_id":"step_2","taskMethod":"setScreen","params":{"brightness":50},"depends_on":["step_1"]}]`)
		r.do(core.ExecutorDown{Service: "home"}, core.ExecutorUp{Service: "home", Instance: "run-1", Methods: r.s.Services["home"].Methods[:0]})
		r.arrive(r.last().Task, "kitchen") // and what the second needs is not there
		r.want("step_1", "completed", "step_2", "blocked/executor_unavailable")
		r.restart("run-1")
		r.idle()
		r.pass(1_000)
		r.want("step_2", "dispatching")
	})
}

func TestD8_TimersAreMadeOfTheState(t *testing.T) {
	r := afterAir(t)
	was, read := r.wf("wf_1"), core.Workflow{}
	for from, to := range map[any]any{was: &read, &was.Steps: &read.Steps, &was.Attempts: &read.Attempts} { // as a start reads it from the store
		text, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(text, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	read.Plan = was.Plan
	again := core.NewState(r.cat, r.s.Device)
	again.Adopt(&read)
	if got, want := again.NextWake(), r.step("step_2").Due; got != want || want == 0 {
		t.Fatalf("it wakes at %d, the delay ends at %d", got, want)
	}
}

func TestD9_ALongActivityIsNotBegunTwice(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"duration_min":180},"required_effects":["air_cleaning_completed"]}]`)
	task := r.last().Task
	r.accept(task)
	r.event("cleaning.started", task, nil)
	for range 5 { // half an hour each, and nobody hears anything of it meanwhile
		r.pass(30 * 60_000)
		r.restart("run-1")
		r.want("step_1", "outcome_unknown")
		r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"})
		r.want("step_1", "running")
	}
	r.event("cleaning.completed", task, nil)
	r.want("step_1", "completed")
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
}

// What is dispatched or may not be dispatched ends by itself, though nobody ever says a word again. What waits for another step
// or for its place in the queue is as long as those are.
func TestD17_NoStateLastsForEver(t *testing.T) {
	for _, state := range []core.StepState{core.Blocked, core.Dispatching, core.Running, core.Verifying, core.OutcomeUnknown, core.Cancelling} {
		for _, restart := range []bool{false, true} {
			t.Run(string(state), func(t *testing.T) {
				r := newRig(t)
				r.elsewhere()
				inState[state](r)
				if restart {
					r.do(core.Started{StartNo: 2})
				}
				r.pass(hourMS)
				if st := r.step("step_1"); !st.State.Terminal() {
					t.Errorf("after an hour of silence it is %s/%s", st.State, st.Reason)
				}
				if wf := r.wf("wf_1"); !wf.State.Terminal() || len(r.sent(core.MsgResult)) != 1 {
					t.Errorf("workflow is %s with %d results", wf.State, len(r.sent(core.MsgResult)))
				}
			})
		}
	}
}

func TestF32_WhatWasMeantForAnEarlierStore(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
	ev.Epoch = "epoch-0"
	c := r.do(ev)
	if a := c.Answers[0]; a.Accepted || a.Reason != core.ReasonWrongEpoch {
		t.Fatalf("answer %+v", a)
	}
	if len(r.sent(core.MsgAck)) != 1 || len(r.dispatches()) != 0 || r.s.Workflows["wf_1"] != nil {
		t.Fatal("refused, answered, and nothing more")
	}
	ev.Epoch = "epoch-1"
	if a := r.do(ev).Answers[0]; !a.Accepted {
		t.Fatalf("of this store: %+v", a)
	}
}

// TestF32_OnlyWhatHaltsIsTakenForAnyStore: a message for a store that is lost may have been answered there, and nobody knows any more. What
// lets work go on is refused; what stops or holds is taken, since a wish to stop must not wait until both sides agree which store it is.
func TestF32_OnlyWhatHaltsIsTakenForAnyStore(t *testing.T) {
	old := core.Head{Msg: "m-1", Epoch: "epoch-0"}
	for _, tc := range []struct {
		name  string
		event func(r *rig) core.Event
		want  core.Reason
	}{
		{"a plan", func(r *rig) core.Event {
			ev := r.planEvent("wf_2", "pl_2", toKitchen).(core.PlanSubmitted)
			ev.Head = old
			return ev
		}, core.ReasonWrongEpoch},
		{"a decision", func(r *rig) core.Event {
			q := r.asked()
			return core.DecisionReceived{Head: old, Escalation: q.ID, Action: core.ActRetry, PlanRevision: q.Revision}
		}, core.ReasonWrongEpoch},
		{"the outcome of a cloud step", func(r *rig) core.Event {
			return core.StepResult{Head: old, Step: "step_1", Task: r.sent(core.MsgStepDue)[0].Task, Done: true}
		}, core.ReasonWrongEpoch},
		{"resume", func(*rig) core.Event { return core.ControlReceived{Head: old, Verb: "resume", Scope: "all"} }, core.ReasonWrongEpoch},
		{"pause", func(*rig) core.Event { return core.ControlReceived{Head: old, Verb: "pause", Scope: "all"} }, core.ReasonNone},
		{"cancel", func(*rig) core.Event { return core.ControlReceived{Head: old, Verb: "cancel", Scope: "all"} }, core.ReasonNone},
		{"kill", func(*rig) core.Event { return core.ControlReceived{Head: old, Verb: "kill", Scope: "all"} }, core.ReasonNone},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.elsewhere()
			switch tc.name {
			case "a decision":
				r.submit(chain)
				r.refuse()
			case "the outcome of a cloud step":
				r.submit(`[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief"}]`)
			default:
				r.submit(chain)
			}
			before := r.step("step_1").State
			c := r.do(tc.event(r))
			if a := c.Answers[0]; a.Reason != tc.want || a.Accepted != (tc.want == core.ReasonNone) {
				t.Fatalf("answered %+v, want %q", a, tc.want)
			}
			if tc.want != core.ReasonNone && (r.step("step_1").State != before || len(c.Remember) != 0) {
				t.Fatalf("step_1 is %s, was %s; remembered %d", r.step("step_1").State, before, len(c.Remember))
			}
		})
	}
}

// The ids of this case and the next are those of the field cases, not of the faults of the same number.
func TestCaseF11_WhatFailedForGoodIsNotRepeated(t *testing.T) {
	for _, ended := range []core.Event{core.TaskAnswered{Reason: core.ReasonExecutorRefused}, core.TaskEnded{Outcome: core.OutcomeFailed, Reason: "robot_fault"}} {
		r := newRig(t)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setScreen","params":{"brightness":50}}]`)
		switch ev := ended.(type) {
		case core.TaskAnswered:
			ev.Task = r.last().Task
			r.do(ev)
		case core.TaskEnded:
			ev.Task = r.last().Task
			r.accept(ev.Task)
			r.do(ev)
		}
		r.want("step_1", "blocked")
		r.undecided()
		r.want("step_1", "failed")
		r.up("run-2")
		r.idle()
		r.pass(hourMS)
		if n := len(r.dispatches()); n != 1 {
			t.Errorf("%d dispatches after %T", n, ended)
		}
	}
}

func TestCaseF14_ANewPlanRepeatsNothingThatHoldsAlready(t *testing.T) {
	const plan = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"}},
	 {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","depends_on":["step_1"],"required_effects":["air_cleaning_completed"]}]`
	r := newRig(t)
	r.elsewhere()
	r.submit(plan)
	r.arrive(r.last().Task, "kitchen")
	r.idle()
	clean := r.last().Task
	r.accept(clean)
	r.do(core.TaskEnded{Task: clean, Outcome: core.OutcomeFailed, Reason: "robot_fault"})
	r.undecided()
	r.wantWorkflow(core.WfFailed)
	r.idle()
	r.log = nil
	r.offer("wf_2", "pl_2", plan)
	for range 4 {
		r.read("movement.location", "kitchen")
		r.read("movement.is_moving", false)
		r.pass(500)
	}
	r.idle()
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Satisfied {
		t.Fatalf("the move is %s/%s", st.State, st.Reason)
	}
	if all := r.dispatches(); len(all) != 1 || all[0].Method != "startBasicAirClear" {
		t.Fatalf("dispatched %+v", all)
	}
}
