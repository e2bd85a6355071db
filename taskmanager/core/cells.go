package core

// Stimulus is one thing that can happen to a step: a column of the table of cells.
type Stimulus string

// Stimuli are the columns, in the order in which they are printed.
var Stimuli = []Stimulus{"accepted", "refused", "call lost", "not sent", "progress", "says done", "says failed", "says cancelled", "proof", "opposite",
	"query: runs", "query: never ran", "query: no answer", "stop accepted", "stop refused", "its time is over", "cancel", "service gone", "restart", "hold", "let go", "says paused", "says goes on"}

// cells say what becomes of a step that moves the body, whose executor remembers its tasks as long as it lives, and for which
// everything else is ready. A pair that is not here leaves the state as it is: the event is stale and counted, or it is noted
// and changes the state later. A restart forgets all readings, so that a queued step is blocked until they are there again. A step
// that fails is blocked while the cloud is asked; then nothing here moves it but its time (failed, timed_out) and a cancel.
var cells = map[StepState]map[Stimulus]StepState{
	Pending: {"cancel": Cancelled},
	Waiting: {"its time is over": Dispatching, "cancel": Cancelled},
	Queued:  {"cancel": Cancelled, "restart": Blocked},
	Blocked: {"its time is over": Blocked, "cancel": Cancelled, "hold": Queued},
	Dispatching: {"accepted": Running, "refused": Blocked, "call lost": OutcomeUnknown, "not sent": Blocked, "says done": Verifying, "says failed": Blocked,
		"says cancelled": Blocked, "query: runs": Running, "its time is over": OutcomeUnknown, "cancel": Cancelling,
		"service gone": OutcomeUnknown, "restart": OutcomeUnknown, "says paused": Paused, "says goes on": Running},
	Running: {"says done": Verifying, "says failed": Blocked, "says cancelled": Blocked, "proof": Completed, "query: never ran": OutcomeUnknown, "its time is over": Blocked, "cancel": Cancelling,
		"service gone": OutcomeUnknown, "restart": OutcomeUnknown, "says paused": Paused},
	Verifying: {"proof": Completed, "opposite": Blocked, "its time is over": Blocked, "cancel": Cancelled},
	OutcomeUnknown: {"accepted": Running, "refused": Blocked, "not sent": Blocked, "says done": Verifying, "says failed": Blocked, "says cancelled": Blocked,
		"proof": Completed, "query: runs": Running, "query: never ran": Dispatching, "its time is over": Blocked, "cancel": Cancelling, "says paused": Paused,
		"says goes on": Running},
	Paused: {"says done": Verifying, "says failed": Blocked, "says cancelled": Blocked, "proof": Completed, "query: runs": Running,
		"query: never ran": OutcomeUnknown, "cancel": Cancelling, "service gone": OutcomeUnknown, "restart": OutcomeUnknown, "says goes on": Running},
	RetryWait:  {"its time is over": Dispatching, "cancel": Cancelled},
	Cancelling: {"says done": Cancelled, "says failed": Cancelled, "says cancelled": Cancelled, "stop refused": Running},
}

// Next is the state of a step after a stimulus.
func Next(s StepState, on Stimulus) StepState {
	if to, ok := cells[s][on]; ok {
		return to
	}
	return s
}
