package taskmanager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"deviceagent/taskmanager/core"
)

// errUnreadable says that a record is there and makes no sense.
var errUnreadable = errors.New("record unreadable")

// ErrStopped says that the Manager does not run any more.
var ErrStopped = errors.New("task manager stopped")

// Send hands an event over without waiting for its decision: for executors, whose events are answered by nobody. It waits while
// the inbox is full.
func (m *Manager) Send(ctx context.Context, ev core.Event) error {
	return m.put(ctx, request{event: ev})
}

// put hands a request to the owner. A wish to stop goes into the lane of stops too, but behind the inbox wherever that has room:
// else the end that it brings about could be heard before the wish, and would look like a failure.
func (m *Manager) put(ctx context.Context, req request) error {
	if core.StopsSomething(req.event) {
		req.taken = new(bool)
		select {
		case m.inbox <- req:
			m.hurry(req)
			return nil
		default:
			m.hurry(req) // a stop waits for no queue
		}
	}
	select {
	case m.inbox <- req:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-m.stopped:
		return ErrStopped
	}
}

func (m *Manager) ask(ctx context.Context, req request) (core.Answer, error) {
	req.done = make(chan reply, 1)
	if err := m.put(ctx, req); err != nil {
		return core.Answer{}, err
	}
	select {
	case r := <-req.done:
		return r.answer, r.err
	case <-ctx.Done():
		return core.Answer{}, context.Cause(ctx)
	case <-m.stopped:
		select { // the last batch may have been answered before the end
		case r := <-req.done:
			return r.answer, r.err
		default:
			return core.Answer{}, ErrStopped
		}
	}
}

// Receive takes one message as bytes and returns when its answer is durable. A bad message is no error: its answer is a refusal
// with every fault. Errors: the store did not take it ([ErrNotCommitted]), the Manager stopped, ctx ended.
func (m *Manager) Receive(ctx context.Context, payload []byte, from Source) (core.Answer, error) {
	ev, err := m.remember(ctx, m.words.take(m.o.Codec.Decode(payload, from)))
	if err != nil {
		return core.Answer{}, err
	}
	defer m.words.answered(ev)
	return m.ask(ctx, request{event: m.dated(ev)})
}

// Receipted takes the ids of up messages that the planner has stored.
func (m *Manager) Receipted(ctx context.Context, ids []core.MessageID) error {
	if len(ids) == 0 {
		return nil
	}
	return m.Send(ctx, core.Receipted{Refs: ids})
}

// HelloAnswered takes the answer to the hello of this connection: the planner's clock (Unix ms, 0: not told) and the workflows that it
// holds open and had given to an earlier store.
func (m *Manager) HelloAnswered(ctx context.Context, plannerMS int64, closing []core.WorkflowID) error {
	ev := core.HelloAnswered{PlannerMS: plannerMS}
	for _, id := range closing[:min(len(closing), core.MaxClose)] {
		h, err := m.recall(ctx, core.Head{}, "", id)
		if err != nil {
			return err
		}
		ev.Close = append(ev.Close, core.ToClose{Workflow: id, Past: h.Past})
	}
	return m.Send(ctx, ev)
}

// unreported leaves out of what is to be closed the workflows whose result waits in the outbox: however often a hello is answered, one
// report goes up, and is sent again by the link until it is receipted.
func (m *Manager) unreported(events []core.Event) []core.Event {
	for i, ev := range events {
		hello, ok := ev.(core.HelloAnswered)
		if !ok || len(hello.Close) == 0 {
			continue
		}
		waiting := m.outbox.results()
		hello.Close = slices.DeleteFunc(slices.Clone(hello.Close), func(l core.ToClose) bool { return waiting[string(l.Workflow)] })
		events[i] = hello
	}
	return events
}

// remember puts beside a message what the store knows of it.
func (m *Manager) remember(ctx context.Context, ev core.Event) (core.Event, error) {
	return Recall(ev, func(h core.Head, key string, about core.WorkflowID) (core.Head, error) {
		return m.recall(ctx, h, key, about)
	})
}

// Recall puts beside a message what look finds: the answer that its natural key was given earlier, and how the workflow that it is
// about ended, so that the core can say the same again. An event without a key is left as it is. The only errors are those of look.
func Recall(ev core.Event, look func(h core.Head, key string, about core.WorkflowID) (core.Head, error)) (core.Event, error) {
	var err error
	switch e := ev.(type) {
	case core.PlanSubmitted:
		key := "plan:" + string(e.Plan.ID) + ":" + strconv.FormatInt(e.Plan.Revision, 10)
		e.Head, err = look(e.Head, key, e.Plan.Workflow)
		return e, err
	case core.ControlReceived:
		var target core.WorkflowID
		if e.Scope == "workflow" {
			target = core.WorkflowID(e.Target)
		}
		e.Head, err = look(e.Head, "control:"+string(e.Msg), target)
		return e, err
	case core.DecisionReceived:
		e.Head, err = look(e.Head, "decision:"+string(e.Escalation), "")
		return e, err
	case core.AnswerReceived:
		e.Head, err = look(e.Head, "answer:"+string(e.Question), "")
		return e, err
	case core.ContentReceived:
		e.Head, err = look(e.Head, e.Key(), "")
		return e, err
	case core.StepResult:
		e.Head, err = look(e.Head, "step_result:"+string(e.Task), "")
		return e, err
	}
	return ev, nil
}

func (m *Manager) recall(ctx context.Context, h core.Head, key string, target core.WorkflowID) (core.Head, error) {
	mem, ok, err := Memory{}, false, error(nil)
	if key != "" {
		mem, ok, err = m.o.Store.Remembered(ctx, key)
	}
	if err != nil {
		return h, fmt.Errorf("cannot look up %s: %w", key, err)
	}
	if !ok && mem.ExpireMS > 0 {
		h.ForgottenMS = max(0, mem.ExpireMS-memoryMS)
	}
	if ok {
		h.Before, h.HashThen = new(core.Answer), mem.Hash
		if err := json.Unmarshal(mem.Answer, h.Before); err != nil {
			// Not to be answered at all would bring the message back for ever; what it is about is still known by its workflow.
			m.o.Log.Error().Err(err).Str("key", key).Msg("remembered answer cannot be read, decided anew")
			h.Before, h.HashThen = nil, ""
		}
	}
	if target == "" {
		return h, nil
	}
	wf, ok, err := m.Finished(ctx, target)
	if errors.Is(err, errUnreadable) {
		m.o.Log.Error().Err(err).Msg("record of an ended workflow cannot be read")
		err = nil // as above: a message is answered, whatever it is about
	}
	if ok {
		h.Past = core.PastOf(wf)
	}
	return h, err
}

// Finished reads a workflow that has ended from the store: also one that ended before this start. ok false: there is none, or it
// was pruned.
func (m *Manager) Finished(ctx context.Context, id core.WorkflowID) (wf *core.Workflow, ok bool, err error) {
	rows, ok, err := m.o.Store.Finished(ctx, string(id))
	if err != nil || !ok {
		return nil, false, err
	}
	d := DecodeRecords(rows)
	if len(d.Workflows) != 1 {
		return nil, false, fmt.Errorf("cannot read the record of %s: %w", id, errUnreadable)
	}
	d.Workflows[0].Plan.Utterance = d.Words[id]
	return d.Workflows[0], true, nil
}

// Inspect lets f read the state between two batches. f must not keep or change anything of it. When Inspect has returned, f has
// run, or will never run.
func (m *Manager) Inspect(ctx context.Context, f func(*core.State, core.Now)) error {
	var claimed atomic.Bool // by the owner, who runs f, or by the caller, who gives up
	ran := make(chan struct{})
	_, err := m.ask(ctx, request{inspect: func(s *core.State, now core.Now) {
		if claimed.CompareAndSwap(false, true) {
			defer close(ran)
			f(s, now)
		}
	}})
	if err != nil && !claimed.CompareAndSwap(false, true) {
		<-ran
	}
	return err
}

// inspected runs a look at the state. One that panics over a record has changed nothing; only its caller learns of it.
func (m *Manager) inspected(req request, now core.Now) error {
	if p := guarded(func() { req.inspect(m.cur, now) }); p != nil {
		m.o.Log.Error().Str("panic", p.text).Bytes("stack", p.stack).Msg("a look at the state panicked")
		return fmt.Errorf("cannot look at the state: panic: %s", p.text)
	}
	return nil
}

// Ready is closed when the open work of the last run is back and the first batch is durable.
func (m *Manager) Ready() <-chan struct{} { return m.ready }

// Turns counts the owner's rounds: it grows as long as the owner lives.
func (m *Manager) Turns() int64 { return m.turns.Load() }

// Epoch is the store's epoch, StartNo the number of this start.
func (m *Manager) Epoch() string  { return m.epoch }
func (m *Manager) StartNo() int64 { return m.startNo }

// StoreSetAside is where a damaged store was moved at the start, "" if none was.
func (m *Manager) StoreSetAside() string { return m.storeAside }
