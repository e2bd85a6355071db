package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// inState brings a move into each state in which a step can be. It is the move to the kitchen of wf_1; the task is its latest.
var inState = map[core.StepState]func(r *rig){
	core.Pending: func(r *rig) {
		r.submit(`[{"cloud_step_id":"step_0","taskMethod":"startVitalSign"},{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_0"]}]`)
	},
	core.Waiting: func(r *rig) {
		r.submit(`[{"cloud_step_id":"step_0","taskMethod":"startVitalSign","wait_policy":"submitted"},
		 {"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"temporal_relation":"after_planned_step","temporal_anchor_id":"step_0","delay_ms":600000}]`)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	},
	core.Queued: func(r *rig) {
		r.offer("wf_0", "pl_0", `[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"안방"}}]`)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
		r.submit(toKitchen)
	},
	core.RetryWait: func(r *rig) {
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"retry":{"max_attempts":3,"backoff_ms":600000}}]`)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
		r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeFailed, Reason: core.ReasonExecutorBusy})
	},
	core.Blocked:     func(r *rig) { r.read("battery.level", 10.0); r.submit(toKitchen) },
	core.Dispatching: func(r *rig) { r.submit(toKitchen) },
	core.Running: func(r *rig) {
		r.submit(toKitchen)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
	},
	core.Verifying: func(r *rig) {
		r.submit(toKitchen)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeDone})
	},
	core.OutcomeUnknown: func(r *rig) {
		r.submit(toKitchen)
		r.do(core.TaskAnswered{Task: r.last().Task, Unknown: true})
	},
	core.Cancelling: func(r *rig) {
		r.submit(toKitchen)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
		r.do(cancel("wf_1"))
	},
	core.Paused:    func(r *rig) { r.pausedMove() },
	core.Completed: func(r *rig) { r.submit(toKitchen); r.arrive(r.last().Task, "kitchen") },
	core.Satisfied: func(r *rig) {
		r.read("movement.location", "kitchen")
		for range 3 {
			r.pass(500)
			r.read("movement.location", "kitchen")
			r.read("movement.is_moving", false)
		}
		r.submit(toKitchen)
	},
	core.Failed: func(r *rig) {
		r.submit(toKitchen)
		r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
		r.undecided()
	},
	core.TimedOut: func(r *rig) {
		r.submit(toKitchen)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"}, core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeDone})
		r.pass(60_000)
		r.undecided()
	},
	core.Cancelled: func(r *rig) {
		r.submit(toKitchen)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
		r.do(cancel("wf_1"))
		r.do(core.TaskEnded{Task: r.last().Task, Outcome: core.OutcomeCancelled})
	},
	core.Skipped: func(r *rig) {
		r.submit(`[{"cloud_step_id":"step_0","taskMethod":"startBasicAirClear","on_failure":"continue"},{"cloud_step_id":"step_1","taskMethod":"setMoveTo","params":{"position":"주방"},"depends_on":["step_0"]}]`)
		r.do(core.TaskAnswered{Task: r.last().Task, Reason: core.ReasonExecutorRefused})
	},
}

// stimuli are what the columns of the table say, done to the step's task.
var stimuli = map[core.Stimulus]func(r *rig, task core.TaskID){
	"accepted":  func(r *rig, t core.TaskID) { r.do(core.TaskAnswered{Task: t, Accepted: true, Instance: "run-1"}) },
	"refused":   func(r *rig, t core.TaskID) { r.do(core.TaskAnswered{Task: t, Reason: core.ReasonExecutorRefused}) },
	"call lost": func(r *rig, t core.TaskID) { r.do(core.TaskAnswered{Task: t, Unknown: true}) },
	"not sent": func(r *rig, t core.TaskID) {
		r.do(core.TaskAnswered{Task: t, NotSent: true, Reason: core.ReasonExecutorBusy})
	},
	"progress":  func(r *rig, t core.TaskID) { r.do(core.TaskProgress{Task: t, Percent: 10}) },
	"says done": func(r *rig, t core.TaskID) { r.do(core.TaskEnded{Task: t, Outcome: core.OutcomeDone}) },
	"says failed": func(r *rig, t core.TaskID) {
		r.do(core.TaskEnded{Task: t, Outcome: core.OutcomeFailed, Reason: "blocked_path"})
	},
	"says cancelled": func(r *rig, t core.TaskID) { r.do(core.TaskEnded{Task: t, Outcome: core.OutcomeCancelled}) },
	"proof": func(r *rig, t core.TaskID) {
		r.event("movement.arrived", t, core.Values{"room_id": "kitchen"})
		r.settleAt("movement.location", "kitchen")
	},
	"opposite": func(r *rig, t core.TaskID) { r.event("movement.arrived", t, core.Values{"room_id": "study"}) },
	"query: runs": func(r *rig, t core.TaskID) {
		r.do(core.TaskStatus{Task: t, Known: core.KnownRunning, Instance: "run-1"})
	},
	"query: never ran": func(r *rig, t core.TaskID) {
		r.elsewhere()
		r.do(core.TaskStatus{Task: t, Known: core.KnownNot, Sealed: true, Instance: "run-1"})
	},
	"query: no answer": func(r *rig, t core.TaskID) { r.do(core.TaskStatus{Task: t, Known: core.KnownNoAnswer}) },
	"stop accepted":    func(r *rig, t core.TaskID) { r.do(core.StopAnswered{Task: t, Accepted: true}) },
	"stop refused":     func(r *rig, t core.TaskID) { r.do(core.StopAnswered{Task: t, Refused: true}) },
	"its time is over": func(r *rig, t core.TaskID) {
		if due := r.step("step_1").Due; due > r.now.Boot {
			r.now.Boot = due
		}
		if s := r.step("step_1").State; s == core.Waiting || s == core.RetryWait {
			r.idle()
			r.elsewhere()
		}
		r.do(core.Tick{})
	},
	"cancel":       func(r *rig, t core.TaskID) { c := cancel("wf_1"); c.Msg = "c-again"; r.do(c) },
	"service gone": func(r *rig, t core.TaskID) { r.do(core.ExecutorDown{Service: "home"}) },
	"restart":      func(r *rig, t core.TaskID) { r.do(core.Started{StartNo: 2}) },
	"hold":         func(r *rig, t core.TaskID) { r.button("pui.paused") },
	"let go":       func(r *rig, t core.TaskID) { r.button("pui.resumed") },
	"says paused":  func(r *rig, t core.TaskID) { r.saysPaused(t) },
	"says goes on": func(r *rig, t core.TaskID) { r.saysGoesOn(t) },
}

// TestEveryCell holds each cell of the printed table against what the core does.
func TestEveryCell(t *testing.T) {
	for _, state := range core.StepStates {
		make, reachable := inState[state]
		if !reachable {
			continue
		}
		for _, s := range core.Stimuli {
			t.Run(string(state)+"/"+string(s), func(t *testing.T) {
				r := newRig(t)
				r.elsewhere()
				make(r)
				if got := r.step("step_1").State; got != state {
					t.Fatalf("the recipe leads to %s", got)
				}
				task := core.TaskID("t-none")
				if st := r.step("step_1"); st.Task != "" {
					task = st.Task
				}
				stimuli[s](r, task)
				if got, want := r.step("step_1").State, core.Next(state, s); got != want {
					t.Fatalf("it becomes %s, the table says %s", got, want)
				}
			})
		}
	}
}
