package core_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

const chain = `[
 {"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"}},
 {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","params":{"duration_min":20},"depends_on":["step_1"],"required_effects":["air_cleaning_completed"]},
 {"cloud_step_id":"step_3","token_text":"<sk_move>(position=안방)<sk_end>","depends_on":["step_2"]}]`

func TestChainGoesOnByEvidence(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(chain)
	r.arrive(r.last().Task, "living_room")
	r.want("step_1", "completed", "step_2", "dispatching", "step_3", "pending")
	clean := r.last()
	if clean.Method != "startBasicAirClear" || clean.Params["duration_min"] != 20.0 {
		t.Fatalf("dispatched %+v", clean)
	}
	r.do(core.TaskAnswered{Task: clean.Task, Accepted: true, Instance: "run-1"})
	r.event("cleaning.started", clean.Task, nil)
	r.want("step_2", "running", "step_3", "pending") // started is not completed
	r.pass(19 * 60_000)
	r.want("step_2", "running")
	r.event("cleaning.completed", clean.Task, nil)
	r.do(core.TaskEnded{Task: clean.Task, Outcome: core.OutcomeDone})
	r.idle()
	r.elsewhere()
	r.want("step_2", "completed", "step_3", "dispatching")
	r.arrive(r.last().Task, "master_bedroom")
	r.wantWorkflow(core.WfCompleted)
	if len(r.out) != 2 {
		t.Fatalf("%d messages up for three steps, want 2", len(r.out))
	}
}

func TestFailedStepReleasesNobody(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(chain)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: "blocked_path"})
	r.want("step_1", "blocked/blocked_path", "step_2", "pending", "step_3", "pending")
	r.undecided()
	r.want("step_1", "failed/blocked_path", "step_2", "skipped/dependency_failed", "step_3", "skipped/dependency_failed")
	r.wantWorkflow(core.WfFailed)
	if len(r.dispatches()) != 1 {
		t.Fatalf("dispatched after the failure: %+v", r.dispatches())
	}
}

func TestDelayCountsFromEvidence(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"공간1"}},
	 {"cloud_step_id":"step_2","taskMethod":"setScreen","params":{"on":false},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":30000}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.pass(20_000)
	r.event("movement.arrived", task, core.Values{"room_id": "space_1"})
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	r.settleAt("movement.location", "space_1")
	r.want("step_1", "completed", "step_2", "waiting")
	done := r.step("step_1").Done
	r.now.Boot = done + 29_999
	r.do(core.Tick{})
	r.want("step_2", "waiting")
	r.now.Boot = done + 30_000
	r.do(core.Tick{})
	r.read("display.brightness", 80.0)
	r.want("step_2", "dispatching")
}

func TestWaitPolicies(t *testing.T) {
	plan := func(policy string) string {
		return `[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"duration_min":5},"wait_policy":"` + policy + `","required_effects":["air_cleaning_completed"]},
		 {"cloud_step_id":"step_2","taskMethod":"setVolume","params":{"level":10},"depends_on":["step_1"]}]`
	}
	for _, tc := range []struct {
		policy             string
		accepted, released string // state of step_2 after acceptance, after cleaning.started
	}{
		{"submitted", "queued", "queued"},
		{"event", "pending", "queued"},
		{"completed", "pending", "pending"},
	} {
		t.Run(tc.policy, func(t *testing.T) {
			r := newRig(t)
			r.submit(plan(tc.policy))
			task := r.last().Task
			r.want("step_2", "pending")
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			r.want("step_2", tc.accepted)
			r.event("cleaning.started", task, nil)
			r.want("step_2", tc.released)
		})
	}
}

func TestSubmittedDependantIsRevoked(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"submitted"},
	 {"cloud_step_id":"step_2","taskMethod":"setVolume","params":{"level":10},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":60000}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.want("step_2", "waiting")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeFailed, Reason: "robot_fault"})
	r.pass(60_000) // its delay is over, and what it waited for is undone
	r.want("step_2", "queued")
	r.undecided()
	r.want("step_2", "skipped/dependency_failed")
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches", n)
	}
}

func TestWaitEventMissing(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"event","wait_event":{"event":"cleaning.progress"}},
	 {"cloud_step_id":"step_2","taskMethod":"setVolume","params":{"level":10},"depends_on":["step_1"]}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("cleaning.started", task, nil)
	r.want("step_1", "completed", "step_2", "blocked/wait_event_missing")
	r.undecided()
	r.want("step_1", "completed", "step_2", "skipped/wait_event_missing")
	r.wantWorkflow(core.WfFailed)
}

func TestBranches(t *testing.T) {
	const plan = `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"거실"},"on_failure":"continue"},
	 {"cloud_step_id":"ok","taskMethod":"getBatteryStatus","depends_on":["step_1"]},
	 {"cloud_step_id":"else","taskMethod":"getAirQuality","depends_on":[{"step":"step_1","on":"failure"}]},
	 {"cloud_step_id":"always","taskMethod":"setVolume","params":{"level":10},"depends_on":[{"step":"step_1","on":"done"}]}]`
	r := newRig(t)
	r.elsewhere()
	r.submit(plan)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: false, Reason: "executor_refused"})
	r.want("step_1", "failed/executor_refused", "ok", "skipped/dependency_failed", "else", "dispatching", "always", "queued")
	r = newRig(t)
	r.elsewhere()
	r.submit(plan)
	r.arrive(r.last().Task, "living_room")
	if m := r.last().Method; m != "setVolume" && m != "getBatteryStatus" {
		t.Fatalf("last dispatched %s", m)
	}
	r.want("else", "skipped/branch_not_taken")
}

const ifBad = `[{"cloud_step_id":"step_1","taskMethod":"getAirQuality","output_key":"air_state"},
 {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","depends_on":["step_1"],"input_from":["air_state"],
  "when":{"ref":"air_state.grade","op":"in","value":["bad","very_bad"]},"hold_ms":20000}]`

func TestWhenHasThreeAnswers(t *testing.T) {
	for _, tc := range []struct {
		name   string
		output core.Values
		want   []string
		end    core.WorkflowState
	}{
		{"bad air", core.Values{"pm25": 80.0, "grade": "bad"}, []string{"step_2", "dispatching"}, core.WfActive},
		{"good air", core.Values{"pm25": 8.0, "grade": "good"}, []string{"step_2", "skipped/condition_false"}, core.WfCompleted},
		{"no reading", core.Values{"pm25": 8.0}, []string{"step_2", "blocked/context_missing"}, core.WfActive},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.submit(ifBad)
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			r.event("air.measured", task, tc.output)
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone, Output: tc.output})
			if tc.end == core.WfActive {
				r.read("cleaning.is_running", false)
			}
			r.want(tc.want...)
			r.wantWorkflow(tc.end)
			if tc.name == "no reading" {
				r.pass(21_000)
				r.want("step_2", "blocked/context_missing")
				r.undecided()
				r.want("step_2", "failed/context_missing")
			}
		})
	}
}

func TestGuardOfTheBattery(t *testing.T) {
	r := newRig(t)
	r.read("battery.level", 15.0)
	r.elsewhere()
	r.submit(toKitchen)
	r.want("step_1", "blocked/battery_low")
	r.read("battery.level", 25.0)
	r.want("step_1", "dispatching")

	r = newRig(t)
	r.pass(120_000) // the level is too old now: unknown is not "enough"
	r.elsewhere()
	r.submit(toKitchen)
	r.want("step_1", "blocked/context_stale")
	r.pass(61_000)
	r.undecided()
	r.want("step_1", "failed/context_stale")
}

func TestOneAttemptAResource(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(toKitchen)
	first := r.last().Task
	if ans := r.offer("wf_2", "pl_2", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`); !ans.Accepted {
		t.Fatalf("refused: %+v", ans)
	}
	if st := r.stepOf("wf_2", "step_1"); st.State != core.Queued || st.Reason != core.ReasonResourceBusy || st.Detail != string(first) {
		t.Fatalf("second move is %s/%s behind %q", st.State, st.Reason, st.Detail)
	}
	if ans := r.offer("wf_3", "pl_3", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"},"executionMode":"immediate"}]`); !ans.Accepted {
		t.Fatalf("refused: %+v", ans)
	}
	if st := r.stepOf("wf_3", "step_1"); st.State != core.Blocked || st.Fate == nil || st.Reason != core.ReasonResourceBusy {
		t.Fatalf("immediate move is %s/%s", st.State, st.Reason)
	}
	r.do(core.TaskAnswered{Task: first, Accepted: true, Instance: "run-1"})
	r.pass(200_000) // it times out, and its wheels may still turn
	r.want("step_1", "blocked/step_timeout")
	r.read("battery.level", 80.0)
	r.read("movement.location", "study")
	r.read("movement.is_moving", true) // nothing but the first task is in the way of the second
	if n := len(r.dispatches()); n != 1 {
		t.Fatalf("%d dispatches while the base is not at rest", n)
	}
	for range 10 {
		r.read("movement.is_moving", false)
		r.read("movement.location", "study")
		r.read("battery.level", 80.0)
		r.pass(500)
	}
	if n := len(r.dispatches()); n != 2 {
		t.Fatalf("%d dispatches after three seconds at rest, want 2", n)
	}
}

func TestOutputBecomesParameter(t *testing.T) {
	const plan = `[{"cloud_step_id":"step_1","taskMethod":"getBatteryStatus","output_key":"b"},
	 {"cloud_step_id":"step_2","taskMethod":"setVolume","depends_on":["step_1"],"input_from":{"level":"b.level"}}]`
	for _, tc := range []struct {
		level any
		want  string
	}{{40.0, "queued"}, {"full", "blocked/input_invalid"}, {400.0, "blocked/input_invalid"}} {
		r := newRig(t)
		r.submit(plan)
		task := r.last().Task
		r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
		r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone, Output: core.Values{"level": tc.level, "charging": false}})
		r.read("battery.level", 40.0)
		if tc.want == "queued" {
			r.want("step_1", "completed", "step_2", "dispatching")
			if got := r.last().Params["level"]; got != 40.0 {
				t.Fatalf("level %v was sent", got)
			}
			continue
		}
		r.want("step_2", tc.want)
	}
}

func TestAbortCancelsTheRest(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"on_failure":"abort","timeout_ms":5000},
	 {"cloud_step_id":"step_2","taskMethod":"startBasicAirClear","required_effects":["air_cleaning_completed"]}]`)
	move, clean := r.dispatches()[0], r.dispatches()[1]
	r.do(core.TaskAnswered{Task: move.Task, Accepted: true, Instance: "run-1"}, core.TaskAnswered{Task: clean.Task, Accepted: true, Instance: "run-1"})
	r.do(core.TaskEnded{Task: move.Task, Outcome: core.OutcomeDone}) // it lies
	r.pass(16_000)
	r.want("step_1", "timed_out/evidence_timeout", "step_2", "cancelling")
	r.do(core.TaskEnded{Task: clean.Task, Outcome: core.OutcomeCancelled})
	r.want("step_2", "cancelled/plan_aborted")
	r.wantWorkflow(core.WfFailed)
}

func TestContinueIsPartial(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","on_failure":"continue"},{"cloud_step_id":"step_2","taskMethod":"getAirQuality"}]`)
	for _, d := range r.dispatches() {
		if d.Method == "startBasicAirClear" {
			r.do(core.TaskAnswered{Task: d.Task, Reason: "robot_fault"})
			continue
		}
		r.do(core.TaskAnswered{Task: d.Task, Accepted: true, Instance: "run-1"})
		r.event("air.measured", d.Task, core.Values{"pm25": 3.0, "grade": "good"})
	}
	r.want("step_1", "failed", "step_2", "completed")
	r.wantWorkflow(core.WfPartial)
}

func TestDeadline(t *testing.T) {
	r := newRig(t)
	r.elsewhere()
	ev := r.planEvent("wf_1", "pl_1", toKitchen).(core.PlanSubmitted)
	ev.Plan.DeadlineMS = 10_000
	r.do(ev)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.pass(10_000)
	r.want("step_1", "cancelling/deadline_exceeded")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeCancelled})
	r.wantWorkflow(core.WfExpired)
}

func TestCloudStep(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief","output_key":"news"},
	 {"cloud_step_id":"step_2","taskMethod":"setVolume","params":{"level":10},"depends_on":["step_1"]}]`)
	due := r.sent(core.MsgStepDue)
	if len(due) != 1 {
		t.Fatalf("%d step_due, want 1", len(due))
	}
	r.do(core.Started{StartNo: 2}) // a restart is not "unknown": the row is sent again
	r.want("step_1", "running")
	r.do(core.StepResult{Head: core.Head{Msg: "m1"}, Step: "step_1", Task: "t-other", Done: true})
	if a := r.ch.Answers[0]; a.Accepted || a.Reason != core.ReasonStale {
		t.Fatalf("a foreign result was answered %+v", a)
	}
	r.do(core.StepResult{Head: core.Head{Msg: "m2"}, Step: "step_1", Task: due[0].Task, Done: true, Output: core.Values{"text": "news"}})
	r.want("step_1", "completed")
}

func TestInputsTooLargeForAMessage(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief","output_key":"news"},
	 {"cloud_step_id":"step_2","execution_target":"cloud","skill":"rest_guidance","depends_on":["step_1"],"input_from":{"text":"news.text"}}]`)
	due := r.sent(core.MsgStepDue)
	r.do(core.StepResult{Head: core.Head{Msg: "m1"}, Step: "step_1", Task: due[0].Task, Done: true, Output: core.Values{"text": strings.Repeat("x", 9000)}})
	r.want("step_1", "completed", "step_2", "blocked/input_invalid")
	if n := len(r.sent(core.MsgStepDue)); n != 1 {
		t.Fatalf("%d step_due, want the first alone", n)
	}
}

func TestSameStepResultSameAnswer(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief"}]`)
	ev := core.StepResult{Head: core.Head{Msg: "m1", Hash: "h"}, Step: "step_1", Task: r.sent(core.MsgStepDue)[0].Task, Done: true}
	first := *r.do(ev).Answers[0]
	ev.Before, ev.HashThen = &first, "h"
	if again := r.do(ev).Answers[0]; !again.Accepted {
		t.Fatalf("the same result again: %+v, first %+v", again, first)
	}
	ev.HashThen = "other"
	if other := r.do(ev).Answers[0]; other.Accepted || other.Reason != core.ReasonIDReused {
		t.Fatalf("other content: %+v", other)
	}
}

func TestDelayCountsFromTheEvent(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"event","required_effects":["air_cleaning_completed"]},
	 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":60000}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.pass(20_000) // it takes its time
	began := r.now.Boot
	r.event("cleaning.started", task, nil)
	if due := r.step("step_2").Due; due != began+60_000 {
		t.Fatalf("due %d ms after it began, want 60000", due-began)
	}
}

func TestWhatReleasesNobody(t *testing.T) {
	for _, tc := range []struct {
		name string
		ev   core.Observed
		want string
	}{
		{"an echo of the command", core.Observed{Class: catalog.Echo, Data: core.Values{"mode": "fixed"}}, "pending"},
		{"the same event of another kind", core.Observed{Data: core.Values{"mode": "all"}}, "pending"},
		{"the event", core.Observed{Data: core.Values{"mode": "fixed"}}, "dispatching"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","wait_policy":"event","wait_event":{"event":"cleaning.started","match":{"mode":"fixed"}},"required_effects":["air_cleaning_completed"]},
			 {"cloud_step_id":"step_2","taskMethod":"getAirQuality","depends_on":["step_1"]}]`)
			tc.ev.Event, tc.ev.Task, tc.ev.Source = "cleaning.started", r.last().Task, "home"
			r.do(core.TaskAnswered{Task: tc.ev.Task, Accepted: true, Instance: "run-1"})
			r.do(tc.ev)
			r.want("step_2", tc.want)
		})
	}
}

func TestResultOfAnotherStep(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","execution_target":"cloud","skill":"fresh_information_brief"},{"cloud_step_id":"step_2","execution_target":"cloud","skill":"fresh_information_brief"}]`)
	due := r.sent(core.MsgStepDue)
	r.do(core.StepResult{Head: core.Head{Msg: "m1"}, Step: "step_2", Task: due[0].Task, Done: true})
	if a := r.ch.Answers[0]; a.Accepted || a.Reason != core.ReasonStale {
		t.Fatalf("answer %+v", a)
	}
	r.want("step_1", "running", "step_2", "running")
}
