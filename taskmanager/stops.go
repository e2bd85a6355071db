package taskmanager

import (
	"maps"

	"deviceagent/taskmanager/core"
)

// hurry lets a wish to stop be heard during a commit.
func (m *Manager) hurry(req request) {
	select {
	case m.stops <- req:
	default: // so many stops wait already
	}
}

// stopNow sends the stops that a wish asks for before it is decided, and says which tasks they are for.
func (m *Manager) stopNow(ev core.Event) (tasks []core.TaskID) {
	for _, out := range m.urgent(ev) {
		m.carry(out)
		if s, ok := out.(core.Stop); ok {
			tasks = append(tasks, s.Task)
		}
	}
	return tasks
}

// hurriedOn says whether the stops of a wish have left by the lane of stops: the state is still the same, so they would be no others.
func (m *Manager) hurriedOn(req request) bool {
	for _, wish := range m.hurried {
		if req.taken != nil && wish.taken == req.taken {
			return true
		}
	}
	return false
}

// take puts what left the inbox behind the others, a wish to stop once. The end of a task that a wish has stopped already goes
// behind that wish, even where it was heard before it: else it would look like a failure.
func (m *Manager) take(to []request, req request) []request {
	if req.taken == nil {
		if wish, ok := m.hurried[taskOf(req.event)]; ok && !*wish.taken {
			*wish.taken = true
			to = append(to, wish)
		}
		return append(to, req)
	}
	if *req.taken {
		return to
	}
	*req.taken = true
	return append(to, req)
}

// taskOf is the task that an executor speaks of when one was stopped.
func taskOf(ev core.Event) core.TaskID {
	switch e := ev.(type) {
	case core.TaskEnded:
		return e.Task
	case core.TaskAnswered:
		return e.Task
	case core.StopAnswered:
		return e.Task
	}
	return ""
}

// forgetStops empties the lane of stops once everything that waited is taken in: what is reduced is not urgent any more, and must
// not stop what comes after it.
func (m *Manager) forgetStops() {
	maps.DeleteFunc(m.hurried, func(_ core.TaskID, wish request) bool { return *wish.taken })
	for {
		select {
		case <-m.stops:
		default:
			return
		}
	}
}
