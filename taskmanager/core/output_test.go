package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// A reading may reach the context before the executor answers. The step is proved then, but others wait for its output.
func TestStepWithAnOutputWaitsForIt(t *testing.T) {
	for _, tc := range []struct {
		name   string
		output core.Values
		want   string
	}{
		{"bad air", core.Values{"pm25": 80.0, "grade": "bad"}, "dispatching"},
		{"good air", core.Values{"pm25": 8.0, "grade": "good"}, "skipped/condition_false"},
		{"done without an output", nil, "blocked/context_missing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			r.submit(ifBad)
			task := r.last().Task
			r.do(core.TaskAnswered{Task: task, Accepted: true, Instance: "run-1"})
			r.read("air.grade", "bad")
			r.want("step_1", "running", "step_2", "pending")
			r.do(core.TaskEnded{Task: task, Outcome: core.OutcomeDone, Output: tc.output})
			r.read("cleaning.is_running", false)
			r.want("step_1", "completed", "step_2", tc.want)
		})
	}
	t.Run("nobody waits for it", func(t *testing.T) {
		r := newRig(t)
		r.submit(`[{"cloud_step_id":"step_1","taskMethod":"getAirQuality"}]`)
		r.do(core.TaskAnswered{Task: r.last().Task, Accepted: true, Instance: "run-1"})
		r.read("air.grade", "bad")
		r.want("step_1", "completed")
	})
}
