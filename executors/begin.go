package executors

import (
	"context"
	"fmt"
	"sync"
	"time"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Beginner is what a Binding offers beside its six methods if it can hand calls over without waiting: the registry then keeps the
// order of the calls to a service and needs no goroutine for each. For a Binding without it the calls run side by side, so that
// a Stop may overtake the Dispatch that was sent an instant earlier; the core repeats a stop until its end is confirmed.
type Beginner interface {
	// Begin hands out over and returns at once. An error means that it was surely not sent, and done is never called. Else done
	// is called at most once, from another goroutine, which may block in it: with the answering event (TaskAnswered, TaskStatus,
	// StopAnswered or ContextRead), or with an error, which means unknown unless it is [ErrNotSent]. It may come after the hard
	// limit, at which the registry ends a call by itself.
	Begin(out core.Output, done func(core.Event, error)) error
}

// Invoke calls the method of b that carries out.
func Invoke(ctx context.Context, b Binding, out core.Output) (core.Event, error) {
	switch o := out.(type) {
	case core.Dispatch:
		return b.Start(ctx, o)
	case core.Query:
		return b.Query(ctx, o.Task)
	case core.Stop:
		return b.Cancel(ctx, o)
	case core.Pause:
		return b.Pause(ctx, o.Task)
	case core.Resume:
		return b.Resume(ctx, o.Task)
	case core.Read:
		vs, err := b.Read(ctx, o.Keys)
		return core.ContextRead{Values: vs}, err
	}
	return nil, ErrNotSent
}

// sideBySide makes a Beginner of any Binding: a goroutine for each call, at most as many as the registry keeps open.
type sideBySide struct {
	b     Binding
	life  context.Context // ends with the registry: a call never outlives it
	limit time.Duration
	wg    *sync.WaitGroup
}

func (s sideBySide) Begin(out core.Output, done func(core.Event, error)) error {
	s.wg.Go(func() {
		ctx, cancel := context.WithTimeout(s.life, s.limit)
		defer cancel()
		done(Invoke(ctx, s.b, out))
	})
	return nil
}

// Waiting gives a Beginner the methods of a Binding: each begins and waits for the answer or ctx.
type Waiting struct{ Beginner }

func await[E core.Event](ctx context.Context, b Beginner, out core.Output) (E, error) {
	type result struct {
		ev  core.Event
		err error
	}
	var none E
	answer := make(chan result, 1)
	if err := b.Begin(out, func(ev core.Event, err error) { answer <- result{ev, err} }); err != nil {
		return none, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case r := <-answer:
		ev, _ := r.ev.(E)
		return ev, r.err
	}
}

// Start begins a task.
func (w Waiting) Start(ctx context.Context, d core.Dispatch) (core.TaskAnswered, error) {
	return await[core.TaskAnswered](ctx, w.Beginner, d)
}

// Query asks what became of a task.
func (w Waiting) Query(ctx context.Context, task core.TaskID) (core.TaskStatus, error) {
	return await[core.TaskStatus](ctx, w.Beginner, core.Query{Task: task})
}

// Pause holds a task.
func (w Waiting) Pause(ctx context.Context, task core.TaskID) (core.StopAnswered, error) {
	return await[core.StopAnswered](ctx, w.Beginner, core.Pause{Task: task})
}

// Resume goes on with a held task.
func (w Waiting) Resume(ctx context.Context, task core.TaskID) (core.StopAnswered, error) {
	return await[core.StopAnswered](ctx, w.Beginner, core.Resume{Task: task})
}

// Cancel stops a task.
func (w Waiting) Cancel(ctx context.Context, s core.Stop) (core.StopAnswered, error) {
	return await[core.StopAnswered](ctx, w.Beginner, s)
}

// Read reads context values.
func (w Waiting) Read(ctx context.Context, keys []catalog.ContextKey) ([]core.ContextValue, error) {
	r, err := await[core.ContextRead](ctx, w.Beginner, core.Read{Keys: keys})
	return r.Values, err
}
