package core

import "slices"

// StepState is the state of a step. Text: stored, sent and logged.
type StepState string

// The states of a step. Source: docs/taskmanager.md, states.
const (
	Pending        StepState = "pending"         // dependencies not met
	Waiting        StepState = "waiting"         // planned wait: a delay, a wall time
	Queued         StepState = "queued"          // ready; waits for its resource
	Dispatching    StepState = "dispatching"     // intent durable, the executor has not answered
	Running        StepState = "running"         // the executor accepted it
	Verifying      StepState = "verifying"       // the executor says done; terminal evidence not yet seen
	Paused         StepState = "paused"          // pause confirmed
	Cancelling     StepState = "cancelling"      // stop requested, not confirmed
	RetryWait      StepState = "retry_wait"      // back-off before the next attempt
	Blocked        StepState = "blocked"         // needs a change or a decision: the reason says which
	OutcomeUnknown StepState = "outcome_unknown" // dispatched, and neither done nor not done is known
	Completed      StepState = "completed"       // terminal evidence observed
	Satisfied      StepState = "satisfied"       // its effects already held: not dispatched
	Failed         StepState = "failed"
	TimedOut       StepState = "timed_out"
	Cancelled      StepState = "cancelled"
	Skipped        StepState = "skipped"
)

// StepStates lists all states in the order of a step's life.
var StepStates = []StepState{Pending, Waiting, Queued, Dispatching, Running, Verifying, Paused, Cancelling, RetryWait, Blocked,
	OutcomeUnknown, Completed, Satisfied, Failed, TimedOut, Cancelled, Skipped}

// moves is the life cycle as data. What is not here cannot happen; a terminal state has no way out.
var moves = map[StepState][]StepState{
	Pending:        {Waiting, Queued, Blocked, Skipped, Cancelled},
	Waiting:        {Queued, Blocked, Skipped, Failed, Cancelled},
	Queued:         {Dispatching, Running, Blocked, RetryWait, Satisfied, Skipped, Failed, Cancelled},
	Blocked:        {Queued, Dispatching, Running, RetryWait, Satisfied, Skipped, Failed, TimedOut, Cancelled},
	Dispatching:    {Queued, Running, Verifying, OutcomeUnknown, Blocked, RetryWait, Completed, Failed, TimedOut, Cancelling, Cancelled},
	Running:        {Queued, Verifying, Paused, OutcomeUnknown, Blocked, RetryWait, Completed, Failed, TimedOut, Cancelling, Cancelled},
	Verifying:      {Blocked, Completed, Failed, TimedOut, Cancelling, Cancelled},
	OutcomeUnknown: {Queued, Blocked, Running, Verifying, RetryWait, Completed, Failed, TimedOut, Cancelling, Cancelled},
	Cancelling:     {Cancelled, Running},
	Paused:         {Running, Queued, Verifying, OutcomeUnknown, Blocked, RetryWait, Completed, Failed, TimedOut, Cancelling, Cancelled},
	RetryWait:      {Queued, Cancelled},
}

// Moves lists the states that may follow s, in a fixed order.
func Moves(s StepState) []StepState { return slices.Clone(moves[s]) }

// Terminal says whether nothing can follow.
func (s StepState) Terminal() bool {
	switch s {
	case Completed, Satisfied, Failed, TimedOut, Cancelled, Skipped:
		return true
	}
	return false
}

// active says whether a task of the step may be under way.
func (s StepState) active() bool {
	switch s {
	case Dispatching, Running, Verifying, Paused, Cancelling, OutcomeUnknown:
		return true
	}
	return false
}

// WorkflowState is derived from the steps, never set by hand.
type WorkflowState string

// The states of a workflow.
const (
	WfQueued     WorkflowState = "queued"
	WfActive     WorkflowState = "active"
	WfHeld       WorkflowState = "held"
	WfCancelling WorkflowState = "cancelling"
	WfCompleted  WorkflowState = "completed"
	WfPartial    WorkflowState = "partial"
	WfFailed     WorkflowState = "failed"
	WfCancelled  WorkflowState = "cancelled"
	WfExpired    WorkflowState = "expired"
)

// Terminal says whether nothing can follow.
func (s WorkflowState) Terminal() bool {
	switch s {
	case WfCompleted, WfPartial, WfFailed, WfCancelled, WfExpired:
		return true
	}
	return false
}

// AttemptState is the state of one dispatch. The attempt, not the step, holds the resources, also after its step ended.
type AttemptState string

// The states of an attempt.
const (
	Calling  AttemptState = "calling"  // the call is out, not answered
	Live     AttemptState = "live"     // the executor accepted it
	Stopping AttemptState = "stopping" // stop was called, the end is not confirmed
	Lost     AttemptState = "lost"     // whether it runs is not known
	Ended    AttemptState = "ended"    // it holds nothing any more
)

// EffectState is the closure of one effect of a step.
type EffectState string

// The closure of an effect.
const (
	EffectBound        EffectState = "bound"        // a step is there for it
	EffectOpen         EffectState = "pending"      // dispatched; waits for evidence
	EffectObserved     EffectState = "observed"     // terminal evidence accepted
	EffectContradicted EffectState = "contradicted" // the opposite was observed
	EffectExpired      EffectState = "expired"      // no evidence in time
	EffectWaived       EffectState = "waived"       // a person has given up an effect that was to be kept
)
