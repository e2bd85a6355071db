// Package executors calls the robot's functions and hears what they say. It keeps the registry of services, carries the core's
// outputs out (each call bounded, none blocking its caller) and turns replies and signals into core events. It promises that
// every Dispatch is answered by exactly one TaskAnswered, also when the service is gone, and that events of one service keep
// their order. It decides nothing: whether a task is done is the core's word. Each binding (socket, dbus, process) is a child
// package that does not know the others.
package executors

import (
	"context"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Sink takes events into the core's inbox. It blocks while the inbox is full and returns an error only when ctx ends.
type Sink func(ctx context.Context, ev core.Event) error

// Binding reaches one service. Every method is bounded by ctx; an error means that the outcome is unknown, unless it is
// [ErrNotSent]. Implementations must be safe for concurrent use.
type Binding interface {
	Start(ctx context.Context, d core.Dispatch) (core.TaskAnswered, error)
	Query(ctx context.Context, task core.TaskID) (core.TaskStatus, error)
	Pause(ctx context.Context, task core.TaskID) (core.StopAnswered, error)
	Resume(ctx context.Context, task core.TaskID) (core.StopAnswered, error)
	Cancel(ctx context.Context, s core.Stop) (core.StopAnswered, error)
	Read(ctx context.Context, keys []catalog.ContextKey) ([]core.ContextValue, error)
}

// Teller is a [Binding] that cannot be asked for its context values: it tells them by itself, while a task of it runs. Nobody reads
// them: what it has told holds, and ages. An answer "I have no value" would wipe it out.
type Teller interface{ TellsOnly() }

type sentinel string

func (s sentinel) Error() string { return string(s) }

// ErrNotSent says that a call surely never left this process: the task does not run.
const ErrNotSent = sentinel("call not sent")
