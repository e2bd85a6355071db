package core_test

import (
	"strings"
	"testing"

	"deviceagent/taskmanager/core"
)

// cleaner begins a cleaning: its step and its plan are proven as soon as it runs, and it goes on.
func (r *rig) cleaner() core.TaskID {
	r.t.Helper()
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"mode":"fixed","duration_min":5}}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("cleaning.started", task, nil)
	r.want("step_1", "completed")
	r.wantWorkflow(core.WfCompleted)
	return task
}

// C4: what goes on when its step is proven is paused too, by the buttons and by its plan's name, and goes on when all have let go.
func TestC4_WhatGoesOnAfterItsStepIsPausedToo(t *testing.T) {
	r := newRig(t)
	task := r.cleaner()
	r.button("pui.paused")
	r.wantCalls("pause")
	ans := r.control("pause", "app", "workflow", "wf_1")
	if !ans.Accepted || strings.Join(ans.Steps, ",") != "wf_1/step_1 pausing" || ans.State != "completed" {
		t.Fatalf("pause: %+v", ans)
	}
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
	r.saysPaused(task)
	r.pass(3_600_000)
	r.wantCalls("pause")
	r.button("pui.resumed")
	r.wantCalls("pause")
	r.wantHolders("app:workflow:wf_1")
	if ans := r.control("resume", "app", "workflow", "wf_1"); !ans.Accepted || len(ans.Holders) != 0 {
		t.Fatalf("resume: %+v", ans)
	}
	r.wantCalls("pause resume")
	r.do(core.StopAnswered{Task: task, To: core.ToResume, Accepted: true})
	r.saysGoesOn(task)
	r.pass(60_000)
	r.wantCalls("pause resume")
	r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone})
	if ans := r.control("pause", "app", "workflow", "wf_1"); ans.Accepted || ans.Reason != core.ReasonAlreadyTerminal {
		t.Fatalf("pause of what has ended: %+v", ans)
	}
	r.wantHolders()
}

// C4: one that does not pause is stopped.
func TestC4_WhatGoesOnAndDoesNotPauseIsStopped(t *testing.T) {
	for name, say := range map[string]func(r *rig, task core.TaskID){
		"refuses": func(r *rig, task core.TaskID) { r.do(core.StopAnswered{Task: task, To: core.ToPause, Refused: true}) },
		"ignores": func(r *rig, task core.TaskID) {
			r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
			r.pass(4000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			task := r.cleaner()
			r.button("pui.paused")
			say(r, task)
			r.wantCalls("pause stop")
		})
	}
}

// C4: a plan is not held while something of it moves, be its step proven or not; also after a restart.
func TestC4_APlanIsNotHeldWhileItsCleanerRuns(t *testing.T) {
	r := newRig(t)
	r.submit(`[{"cloud_step_id":"step_1","taskMethod":"startBasicAirClear","params":{"mode":"fixed","duration_min":5}},
	 {"cloud_step_id":"step_2","taskMethod":"setMannerMode","params":{"on":true},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_1","delay_ms":600000}]`)
	task := r.last().Task
	r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
	r.event("cleaning.started", task, nil)
	r.want("step_1", "completed", "step_2", "waiting")
	if ans := r.control("pause", "app", "workflow", "wf_1"); ans.State != "active" || strings.Join(ans.Steps, ",") != "wf_1/step_1 pausing" {
		t.Fatalf("pause: %+v", ans)
	}
	r.do(core.StopAnswered{Task: task, To: core.ToPause, Accepted: true})
	r.wantWorkflow(core.WfActive)
	r.saysPaused(task)
	r.wantWorkflow(core.WfHeld)
	r.do(core.Started{StartNo: 2})
	r.up("run-1")
	r.do(core.TaskStatus{Task: task, Known: core.KnownRunning, Instance: "run-1"}) // it runs again
	r.wantCalls("pause pause")
}

// A robot that pauses such a task by itself is not told to go on by what nobody asked.
func TestTheRobotPausesWhatGoesOn(t *testing.T) {
	r := newRig(t)
	task := r.cleaner()
	r.saysPaused(task)
	r.pass(600_000)
	r.wantCalls("")
	r.button("pui.paused")
	r.button("pui.resumed")
	r.wantCalls("resume")
}

// TestWhatIsPausedWithoutAHolderHasToGoWhenOthersNeedIt: the pause was carried out after its hold had been released, the plan of the task
// has ended, and it is asked for again and again: that must not put off the stop for ever. (random home 210886)
func TestWhatIsPausedWithoutAHolderHasToGoWhenOthersNeedIt(t *testing.T) {
	r := newRig(t)
	task := r.cleaner()
	r.do(r.planEvent("wf_2", "pl_2", `[{"cloud_step_id":"clean","taskMethod":"startBasicAirClear","params":{"duration_min":20},"required_effects":["air_cleaning_completed"]}]`))
	r.pass(30_000) // it is asked for at its pace
	r.saysPaused(task)
	for range 12 {
		r.pass(10_000)
		r.read("battery.level", 80.0)
		r.saysPaused(task)
	}
	stops := 0
	for _, o := range r.log {
		if s, ok := o.(core.Stop); ok && s.Task == task {
			stops++
		}
	}
	if st := r.stepOf("wf_2", "clean"); stops == 0 {
		t.Fatalf("after two minutes nobody has stopped it, and the next plan is %s (%s %s)", st.State, st.Reason, st.Detail)
	}
}
