package core

import (
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// Values is a set of named values: arguments, an output, the data of an event.
type Values = map[string]condition.Value

// Event is anything that happened. It is a closed set: the structs of this file and of intake.go. All of them are plain data
// and survive encoding, so that a journal can be replayed.
type Event interface{ eventKind() EventKind }

// EventKind names a kind of event in the journal and in the transition table.
type EventKind string

// What executors say. A late, repeated or foreign one is an event like any other: the core decides what it is worth.
const (
	KindTaskAnswered    EventKind = "task_answered"
	KindTaskProgress    EventKind = "task_progress"
	KindTaskEnded       EventKind = "task_ended"
	KindTaskStatus      EventKind = "task_status"
	KindStopAnswered    EventKind = "stop_answered"
	KindObserved        EventKind = "observed"
	KindContextRead     EventKind = "context_read"
	KindExecutorUp      EventKind = "executor_up"
	KindExecutorDown    EventKind = "executor_down"
	KindStarted         EventKind = "started"
	KindTick            EventKind = "tick"
	KindPlanSubmitted   EventKind = "plan_submitted"
	KindControlReceived EventKind = "control_received"
	KindStepResult      EventKind = "step_result"
	KindReceived        EventKind = "receipted"
	KindRefused         EventKind = "refused"
	KindDecision        EventKind = "decision_received"
)

// TaskAnswered is the executor's answer to a Dispatch. Unknown: the call ended without an answer (time-out, connection lost
// after sending): whether the task runs is not known.
type TaskAnswered struct {
	Task     TaskID `json:"task"`
	Accepted bool   `json:"accepted,omitempty"`
	Reason   Reason `json:"reason,omitempty"` // why refused, or why unknown
	Unknown  bool   `json:"unknown,omitempty"`
	NotSent  bool   `json:"not_sent,omitempty"` // the call surely never left this process
	Instance string `json:"instance,omitempty"` // the service instance that answered
}

// TaskProgress is a sign of life. It changes no durable state.
type TaskProgress struct {
	Task    TaskID  `json:"task"`
	Percent float64 `json:"percent,omitempty"`
	Note    string  `json:"note,omitempty"`
}

// Outcome is how a task ended, in the words of its executor. It is a claim, not proof.
type Outcome string

// The outcomes.
const (
	OutcomeDone      Outcome = "done"
	OutcomeFailed    Outcome = "failed"
	OutcomeCancelled Outcome = "cancelled"
)

// TaskEnded is the executor's result of a task.
type TaskEnded struct {
	Task    TaskID  `json:"task"`
	Outcome Outcome `json:"outcome"`
	Reason  Reason  `json:"reason,omitempty"`
	Output  Values  `json:"output,omitempty"`
	Source  string  `json:"source,omitempty"`
}

// TaskKnown is what an executor knows of a task that it was asked for.
type TaskKnown string

// The answers of a Query. NotKnown also seals: a later Dispatch with this id is refused by the executor.
const (
	KnownRunning  TaskKnown = "running"
	KnownEnded    TaskKnown = "ended"
	KnownNot      TaskKnown = "unknown"
	KnownNoAnswer TaskKnown = "no_answer" // the Query itself failed
)

// TaskStatus is the answer to a Query, or what an executor says by itself of a task that runs: that it paused, that it goes on.
type TaskStatus struct {
	Task     TaskID     `json:"task"`
	Known    TaskKnown  `json:"known"`
	Sealed   bool       `json:"sealed,omitempty"`
	Paused   bool       `json:"paused,omitempty"`  // running: it rests, and can go on
	Resumed  bool       `json:"resumed,omitempty"` // running: the executor says by itself that it goes on
	Source   string     `json:"source,omitempty"`  // the service that says so unasked
	Instance string     `json:"instance,omitempty"`
	Ended    *TaskEnded `json:"ended,omitempty"`
	Event    *Observed  `json:"event,omitempty"` // the recorded terminal event, if it has one
}

// StopAnswered is the answer to a Stop, Pause or Resume: whether the executor will do it, not that it has.
type StopAnswered struct {
	Task     TaskID `json:"task"`
	To       string `json:"to,omitempty"` // ToPause, ToResume; "" is a Stop
	Accepted bool   `json:"accepted,omitempty"`
	Refused  bool   `json:"refused,omitempty"` // it will not stop, and says so; neither: no answer
	Reason   Reason `json:"reason,omitempty"`
}

// What a StopAnswered answers, where it is no Stop.
const (
	ToPause  = "pause"
	ToResume = "resume"
)

// Observed is one event of the catalog, as a sensor, manager or executor reported it.
type Observed struct {
	Event      catalog.EventName  `json:"event"`
	Task       TaskID             `json:"task,omitempty"`
	Resource   catalog.ResourceID `json:"resource,omitempty"`
	Source     string             `json:"source"`
	Class      catalog.Class      `json:"class,omitempty"`       // as claimed; the catalog's class bounds it
	OccurredAt string             `json:"occurred_at,omitempty"` // the robot's own stamp: kept, never decides
	Seq        int64              `json:"seq,omitempty"`         // the source's own counter
	Reason     Reason             `json:"reason,omitempty"`
	Data       Values             `json:"data,omitempty"`
}

// ContextRead carries values of the device context, read or signalled.
type ContextRead struct {
	Source string         `json:"source"`
	Values []ContextValue `json:"values"`
}

// ContextValue is one value. Available false: the source says that it has none now.
type ContextValue struct {
	Key       catalog.ContextKey `json:"key"`
	Value     condition.Value    `json:"value"`
	Class     catalog.Class      `json:"class,omitempty"`
	Available bool               `json:"available"`
}

// ExecutorUp says that a service is there and which methods and context keys it serves. A known service that comes with another
// instance has restarted.
type ExecutorUp struct {
	Service  ServiceID            `json:"service"`
	Instance string               `json:"instance"`
	Methods  []catalog.Method     `json:"methods"`
	Keys     []catalog.ContextKey `json:"keys,omitempty"`
}

// ExecutorDown says that a service is gone or cannot be asked.
type ExecutorDown struct {
	Service ServiceID `json:"service"`
	Reason  Reason    `json:"reason,omitempty"`
}

// Started is the first event after a start of the agent.
type Started struct {
	StartNo int64 `json:"start_no"`
	Fresh   bool  `json:"fresh,omitempty"` // the store is new: the body is stopped once
}

// Tick says that time has passed: the earliest wake-up is due.
type Tick struct{}

func (TaskAnswered) eventKind() EventKind { return KindTaskAnswered }
func (TaskProgress) eventKind() EventKind { return KindTaskProgress }
func (TaskEnded) eventKind() EventKind    { return KindTaskEnded }
func (TaskStatus) eventKind() EventKind   { return KindTaskStatus }
func (StopAnswered) eventKind() EventKind { return KindStopAnswered }
func (Observed) eventKind() EventKind     { return KindObserved }
func (ContextRead) eventKind() EventKind  { return KindContextRead }
func (ExecutorUp) eventKind() EventKind   { return KindExecutorUp }
func (ExecutorDown) eventKind() EventKind { return KindExecutorDown }
func (Started) eventKind() EventKind      { return KindStarted }
func (Tick) eventKind() EventKind         { return KindTick }

// KindOf names the kind of an event.
func KindOf(ev Event) EventKind { return ev.eventKind() }
