package dbus

import (
	"context"
	"fmt"
	"slices"

	godbus "github.com/godbus/dbus/v5"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// take makes events of a signal. One that is not from the owner of its service's name, or that cannot be read, is dropped: on a bus
// anybody may say anything.
func (s *session) take(ctx context.Context, m *godbus.Signal) error {
	if m.Name == ownerChanged && m.Sender == busName {
		var name, was, owner string
		if godbus.Store(m.Body, &name, &was, &owner) == nil {
			for _, svc := range s.o.Services {
				if svc.Name == name {
					s.owned(svc, owner)
				}
			}
		}
		return nil
	}
	for _, svc := range s.o.Services {
		if owner := s.there[svc.ID]; owner == "" || owner != m.Sender {
			continue
		}
		if b := s.mapped[svc.ID]; b != nil {
			b.signal(m)
			continue
		}
		if m.Path != svc.Path {
			continue
		}
		ev, err := s.event(svc, m)
		if err != nil {
			s.o.Log.Warn().Err(err).Str("service", string(svc.ID)).Str("signal", m.Name).Msg("signal cannot be read, dropped")
			continue
		}
		if err := s.o.Sink(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

// event makes the core's event of a signal of our interface.
func (s *session) event(svc Service, m *godbus.Signal) (core.Event, error) {
	var task, text, outcome string
	switch m.Name {
	case Interface + ".Feedback":
		ev := core.TaskProgress{}
		err := godbus.Store(m.Body, &task, &ev.Percent, &ev.Note)
		ev.Task = core.TaskID(task)
		return ev, firstError(err, checkNames(task))
	case Interface + ".Held":
		var paused bool
		err := godbus.Store(m.Body, &task, &paused)
		return core.TaskStatus{Task: core.TaskID(task), Known: core.KnownRunning, Paused: paused, Resumed: !paused,
			Instance: s.instance(m.Sender), Source: string(svc.ID)}, firstError(err, checkNames(task))
	case Interface + ".Result":
		var out map[string]godbus.Variant
		if err := firstError(godbus.Store(m.Body, &task, &outcome, &text, &out), checkNames(task)); err != nil {
			return nil, err
		}
		return endedOf(svc.ID, core.TaskID(task), outcome, text, out)
	case Interface + ".Event":
		var fields map[string]godbus.Variant
		if err := godbus.Store(m.Body, &text, &fields); err != nil {
			return nil, err
		}
		return observedOf(svc.ID, text, fields)
	case Interface + ".Context":
		var values map[string]godbus.Variant
		var gone []string
		if err := godbus.Store(m.Body, &values, &gone); err != nil {
			return nil, err
		}
		return contextOf(svc, values, gone)
	}
	return nil, fmt.Errorf("%s is no signal of %s", m.Name, Interface)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkNames(names ...string) error {
	for _, n := range names {
		if !executors.IsName(n) {
			return fmt.Errorf("%.64q is not a name", n)
		}
	}
	return nil
}

func endedOf(service core.ServiceID, task core.TaskID, outcome, reason string, out map[string]godbus.Variant) (core.TaskEnded, error) {
	ev := core.TaskEnded{Task: task, Outcome: core.Outcome(outcome), Reason: reasonOf(reason, ""), Source: string(service)}
	switch ev.Outcome {
	case core.OutcomeDone, core.OutcomeCancelled:
	case core.OutcomeFailed:
		ev.Reason = reasonOf(reason, core.ReasonExecutorFailed)
	default:
		return ev, fmt.Errorf("outcome is %.32q", outcome)
	}
	var err error
	ev.Output, err = coreValues(out)
	return ev, err
}

// observedOf reads an event: its name, and the fields that it has.
func observedOf(service core.ServiceID, name string, fields map[string]godbus.Variant) (core.Observed, error) {
	ev := core.Observed{Event: catalog.EventName(name), Source: string(service)}
	var task, resource, source, class, reason string
	var data map[string]godbus.Variant
	for field, to := range map[string]any{"task_id": &task, "resource": &resource, "source": &source, "source_class": &class,
		"occurred_at": &ev.OccurredAt, "seq": &ev.Seq, "reason": &reason, "data": &data} {
		if v, ok := fields[field]; ok {
			if err := v.Store(to); err != nil {
				return ev, fmt.Errorf("%s: %w", field, err)
			}
		}
	}
	for _, n := range []string{task, resource, source, class} {
		if n != "" {
			if err := checkNames(n); err != nil {
				return ev, err
			}
		}
	}
	if len(ev.OccurredAt) > 64 {
		return ev, fmt.Errorf("occurred_at has %d bytes, at most 64", len(ev.OccurredAt))
	}
	ev.Task, ev.Resource, ev.Class, ev.Reason = core.TaskID(task), catalog.ResourceID(resource), catalog.Class(class), reasonOf(reason, "")
	if source != "" {
		ev.Source = source
	}
	var err error
	ev.Data, err = coreValues(data)
	return ev, firstError(checkNames(name), err)
}

// contextOf reads values that a service says unasked. It may speak of its own keys only.
func contextOf(svc Service, values map[string]godbus.Variant, gone []string) (core.ContextRead, error) {
	read := core.ContextRead{Source: string(svc.ID)}
	for key := range values {
		if !slices.Contains(svc.Keys, catalog.ContextKey(key)) {
			return read, fmt.Errorf("context key %.64q is not one that the catalog gives this service", key)
		}
	}
	for _, key := range svc.Keys {
		v, ok := values[string(key)]
		switch {
		case ok:
			value, err := coreValue(v.Value())
			if err != nil {
				return read, fmt.Errorf("%s: %w", key, err)
			}
			read.Values = append(read.Values, core.ContextValue{Key: key, Value: value, Available: true})
		case slices.Contains(gone, string(key)):
			read.Values = append(read.Values, core.ContextValue{Key: key})
		}
	}
	return read, nil
}

// reasonOf takes a service's word over where it is a code.
func reasonOf(text string, fallback core.Reason) core.Reason {
	if text == "" || !executors.IsName(text) {
		return fallback
	}
	return core.Reason(text)
}
