package core

import "deviceagent/taskmanager/core/catalog"

// Output is one thing to do outside. It is carried out after the commit that explains it, but for stops and reads.
type Output interface{ output() }

// Dispatch starts a task. The executor answers with TaskAnswered and, in its own time, TaskEnded.
type Dispatch struct {
	Task    TaskID
	Service ServiceID
	Method  catalog.Method
	Params  Values // resolved: a room is its id
}

// Query asks what became of a task. An executor that does not know it seals it: a later Dispatch with this id is refused.
type Query struct {
	Task    TaskID
	Service ServiceID
	Method  catalog.Method // of the task that is asked for
}

// Stop asks the executor to cancel a task. It never waits for the disk. It is repeated until the end is confirmed.
type Stop struct {
	Task    TaskID
	Service ServiceID
	Method  catalog.Method // of the task that is stopped
}

// Pause and Resume ask the executor to hold a task, and to go on with it.
type (
	Pause struct {
		Task    TaskID
		Service ServiceID
	}
	Resume struct {
		Task    TaskID
		Service ServiceID
	}
)

// Read asks for context values; they come back as ContextRead, a value that cannot be had with Available false.
type Read struct{ Keys []catalog.ContextKey }

func (Dispatch) output() {}
func (Query) output()    {}
func (Stop) output()     {}
func (Pause) output()    {}
func (Resume) output()   {}
func (Read) output()     {}
