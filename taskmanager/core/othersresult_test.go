package core_test

import (
	"testing"

	"deviceagent/taskmanager/core"
)

// A result counts only from the service that the task was sent to: any other program of the robot could end a task that it never had.
func TestAResultOfAnotherServiceMovesNothing(t *testing.T) {
	for _, how := range []core.Outcome{core.OutcomeDone, core.OutcomeFailed, core.OutcomeCancelled} {
		r := newRig(t)
		r.elsewhere()
		r.submit(toKitchen)
		task := r.last()
		r.accept(task.Task)
		c := r.do(core.TaskEnded{Task: task.Task, Outcome: how, Source: "another"})
		if c.Ignored != 1 || len(c.Moves) != 0 || len(c.Now)+len(c.Outputs) != 0 {
			t.Errorf("%s of another service: %d ignored, moves %+v", how, c.Ignored, c.Moves)
		}
		r.want("step_1", "running")
		if c := r.do(core.TaskEnded{Task: task.Task, Outcome: how, Source: string(task.Service)}); c.Ignored != 0 {
			t.Errorf("%s of its own service was ignored", how)
		}
	}
}
