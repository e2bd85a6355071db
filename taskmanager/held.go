package taskmanager

import (
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// A disk may refuse for a day. What executors say meanwhile is kept and decided anew at each try, once a second: so it is bounded, and
// of what was decided only the stops are said again at each try.

// canWait says whether a request need not be tried before its time: nobody waits for its answer, and it asks for no stop.
func (r request) canWait() bool {
	return r.event != nil && r.done == nil && !core.StopsSomething(r.event)
}

// stamped notes when a request was heard that has to wait for the disk: what was in time stays in time.
func (m *Manager) stamped(req request) request {
	if req.heard == 0 {
		req.heard = core.Instant(max(1, m.o.Clock.Boot()))
	}
	return req
}

// heardOf lists when the events of a batch were heard; nil: all of them just now. A wish to stop counts from now on, for only now is it
// looked whether the body rests: its stops have left long ago.
func heardOf(batch []request) (heard []core.Instant) {
	waited := false
	for _, req := range batch {
		if req.event != nil {
			at := req.heard
			if core.StopsSomething(req.event) {
				at = 0
			}
			heard = append(heard, at)
			waited = waited || at != 0
		}
	}
	if !waited {
		return nil
	}
	return heard
}

// stopsOf parts what must not wait for the disk from what may: stops, and reads, without which what is being proven would not be proven
// in its time.
func (m *Manager) stopsOf(outs []core.Output) (stops, others []core.Output) {
	for _, out := range outs {
		d, call := out.(core.Dispatch)
		_, pause := out.(core.Pause)
		if _, stop := out.(core.Stop); stop || pause || call && len(m.o.Catalog.Operations[d.Method].Stops) > 0 {
			stops = append(stops, out)
		} else {
			others = append(others, out)
		}
	}
	return stops, others
}

// thin bounds what waits for a disk that refuses. Up to one batch all of it is kept. Of more, signs of life go, and so do answers
// that were given before and readings that a later one of their source replaces: what hangs on a value is read again.
func thin(waiting []request) []request {
	if len(waiting) <= batchSize {
		return waiting
	}
	later := map[any]bool{}
	keep := make([]request, 0, batchSize)
	for _, req := range slices.Backward(waiting) {
		if req.done != nil || req.event == nil || !replaced(req.event, later) {
			keep = append(keep, req)
		}
	}
	slices.Reverse(keep)
	return keep
}

// reading names what a source says.
type reading struct {
	source string
	key    catalog.ContextKey
}

// replaced says whether an event tells nothing that those which come later do not tell anew.
func replaced(ev core.Event, later map[any]bool) bool {
	switch ev := ev.(type) {
	case core.TaskProgress:
		return true
	case core.StopAnswered:
		old := later[ev]
		later[ev] = true
		return old
	case core.ContextRead:
		old := true
		for _, v := range ev.Values {
			r := reading{ev.Source, v.Key}
			old = old && later[r]
			later[r] = true
		}
		return old
	}
	return false
}
