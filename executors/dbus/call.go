package dbus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// binding is one owner of a service's name.
type binding struct {
	s   *session
	svc Service
	to  godbus.BusObject

	mu   sync.Mutex
	last chan struct{} // closed when the call that was begun last is on its way
}

func newBinding(s *session, svc Service, owner string) *binding {
	last := make(chan struct{})
	close(last)
	return &binding{s: s, svc: svc, to: s.calls.Object(owner, svc.Path), last: last}
}

var _ executors.Beginner = (*binding)(nil)

// Begin implements [executors.Beginner]: calls leave in the order in which they were begun, and are answered side by side. A stop that
// overtook the movement before it would stop nothing, and an operation that overtook a stop would be stopped by it.
func (b *binding) Begin(out core.Output, done func(core.Event, error)) error {
	b.mu.Lock()
	before, mine := b.last, make(chan struct{})
	b.last = mine
	b.mu.Unlock()
	sent := sync.OnceFunc(func() { close(mine) })
	if b.s.spawn(func() {
		ctx, cancel := context.WithTimeout(b.s.calls.Context(), b.s.o.Limit)
		defer cancel()
		defer sent() // also where no call was made
		select {
		case <-before:
			done(executors.Invoke(ctx, &call{b, sent}, out))
		case <-ctx.Done():
			done(nil, executors.ErrNotSent)
		}
	}) {
		return nil
	}
	sent()
	return executors.ErrNotSent
}

// call is one call to the owner: it says when it is on its way.
type call struct {
	*binding
	sent func()
}

var _ executors.Binding = (*call)(nil)

// maxHard is how many calls in a row may run into their hard limit before the connection is made anew: the bus keeps the slot of each,
// and has 128 of them.
const maxHard = 3

// call makes the call. An error that says that nobody got it is [executors.ErrNotSent].
func (b *call) call(ctx context.Context, method string, args ...any) ([]any, error) {
	return b.s.begun(ctx, b.to, Interface+"."+method, args, b.sent)
}

// call makes one call, to any method.
func (s *session) call(ctx context.Context, to godbus.BusObject, method string, args ...any) ([]any, error) {
	return s.begun(ctx, to, method, args, func() {})
}

// errArgs says that a call cannot be made of what was given: it was not sent, and never could be.
var errArgs = errors.New("the call cannot be made")

// begun makes one call and says when it is on its way: what is called after that comes after it.
func (s *session) begun(ctx context.Context, to godbus.BusObject, method string, args []any, sent func()) ([]any, error) {
	c := to.GoWithContext(ctx, method, godbus.FlagNoAutoStart, make(chan *godbus.Call, 1), args...)
	sent()
	c = <-c.Done
	if c.Err == nil {
		s.hard.Store(0)
		return c.Body, nil
	}
	if errors.Is(c.Err, context.DeadlineExceeded) && s.hard.Add(1) >= maxHard {
		s.end(errStuck)
	}
	var bad godbus.FormatError
	if errors.As(c.Err, &bad) {
		return nil, fmt.Errorf("%w: %w", errArgs, c.Err)
	}
	var e godbus.Error
	if errors.As(c.Err, &e) && notDelivered(e.Name) {
		return nil, fmt.Errorf("%w: %w", executors.ErrNotSent, c.Err)
	}
	return nil, c.Err
}

// notDelivered names the errors by which the bus itself says that nobody got a call.
func notDelivered(name string) bool {
	switch name {
	case busName + ".Error.ServiceUnknown", busName + ".Error.NameHasNoOwner", busName + ".Error.AccessDenied":
		return true
	}
	return false
}

// refuses names the errors by which a service says that it does not do what it was asked: the task surely does not run.
func refuses(err error) bool {
	var e godbus.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Name {
	case busName + ".Error.UnknownMethod", busName + ".Error.UnknownInterface", busName + ".Error.UnknownObject", busName + ".Error.InvalidArgs",
		busName + ".Error.InvalidSignature":
		return true
	}
	return false
}

// Start begins a task.
func (b *call) Start(ctx context.Context, d core.Dispatch) (core.TaskAnswered, error) {
	body, err := b.call(ctx, "Invoke", string(d.Task), string(d.Method), variants(d.Params))
	if refuses(err) || errors.Is(err, errArgs) {
		return core.TaskAnswered{Task: d.Task, Reason: core.ReasonExecutorRefused}, nil
	}
	accepted, reason, err := answer(body, err)
	return core.TaskAnswered{Task: d.Task, Accepted: accepted, Reason: reason}, err
}

// answer reads (b accepted, s reason).
func answer(body []any, err error) (bool, core.Reason, error) {
	var accepted bool
	var reason string
	if err == nil {
		err = godbus.Store(body, &accepted, &reason)
	}
	if err != nil || accepted {
		return accepted, "", err
	}
	return false, reasonOf(reason, core.ReasonExecutorRefused), nil
}

// Query asks what became of a task.
func (b *call) Query(ctx context.Context, task core.TaskID) (core.TaskStatus, error) {
	st := core.TaskStatus{Task: task}
	body, err := b.call(ctx, "Query", string(task))
	if err != nil {
		return st, err
	}
	var known string
	var details map[string]godbus.Variant
	if err := godbus.Store(body, &known, &details); err != nil {
		return st, err
	}
	st.Known = core.TaskKnown(known)
	var outcome, reason, name string
	var output, event map[string]godbus.Variant
	for field, to := range map[string]any{"sealed": &st.Sealed, "paused": &st.Paused, "outcome": &outcome, "reason": &reason, "output": &output, "event": &event} {
		if v, ok := details[field]; ok {
			if err := v.Store(to); err != nil {
				return st, fmt.Errorf("%s: %w", field, err)
			}
		}
	}
	switch st.Known {
	case core.KnownRunning, core.KnownNot:
		return st, nil
	case core.KnownEnded:
	default:
		return st, fmt.Errorf("known is %.32q", known)
	}
	end, err := endedOf(b.svc.ID, task, outcome, reason, output)
	if err != nil {
		return st, err
	}
	st.Ended = &end
	if v, ok := event["event"]; ok {
		if err := v.Store(&name); err != nil {
			return st, err
		}
		ev, err := observedOf(b.svc.ID, name, event)
		if err != nil {
			return st, err
		}
		st.Event = &ev
	}
	return st, nil
}

// Cancel asks for the end of a task.
func (b *call) Cancel(ctx context.Context, o core.Stop) (core.StopAnswered, error) {
	return b.stop(ctx, o.Task, "Cancel", string(o.Task), string(o.Method))
}

// Pause holds a task; that it rests is said by Held.
func (b *call) Pause(ctx context.Context, task core.TaskID) (core.StopAnswered, error) {
	return b.stop(ctx, task, "Pause", string(task))
}

// Resume goes on with a held task.
func (b *call) Resume(ctx context.Context, task core.TaskID) (core.StopAnswered, error) {
	return b.stop(ctx, task, "Resume", string(task))
}

func (b *call) stop(ctx context.Context, task core.TaskID, method string, args ...any) (core.StopAnswered, error) {
	body, err := b.call(ctx, method, args...)
	if refuses(err) {
		return core.StopAnswered{Task: task, Refused: true, Reason: core.ReasonUnsupported}, nil
	}
	accepted, reason, err := answer(body, err)
	return core.StopAnswered{Task: task, Accepted: accepted, Refused: err == nil && !accepted, Reason: reason}, err
}

// Read reads context values. What the service does not give it does not have.
func (b *call) Read(ctx context.Context, keys []catalog.ContextKey) ([]core.ContextValue, error) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = string(k)
	}
	body, err := b.call(ctx, "Read", names)
	if err != nil {
		return nil, err
	}
	var values map[string]godbus.Variant
	if err := godbus.Store(body, &values); err != nil {
		return nil, err
	}
	var out []core.ContextValue
	for _, k := range keys {
		if v, ok := values[string(k)]; ok {
			value, err := coreValue(v.Value())
			if err != nil {
				return nil, fmt.Errorf("%s: %w", k, err)
			}
			out = append(out, core.ContextValue{Key: k, Value: value, Available: true})
		}
	}
	return out, nil
}
