package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// disturb marks the windows of a resource: from now on an event without a task id proves nothing for them.
func (w *work) disturb(res catalog.ResourceID) {
	for _, r := range w.listening() {
		a := &w.peek(r.wf).Attempts[r.at]
		if !a.Disturbed && (res == "" || slices.Contains(a.Resources, res)) {
			a = &w.wf(r.wf).Attempts[r.at]
			a.Disturbed, a.dirty, w.touched = true, true, true
		}
	}
}

// foreign notes that something else uses a resource, or the whole body where none is named, or that it has ceased to.
func (w *work) foreign(res catalog.ResourceID, begins bool) {
	if w.ch.foreign == nil {
		w.ch.foreign = map[catalog.ResourceID]Sample{}
	}
	for id, r := range w.cat.Resources {
		if id == res || res == "" && r.Body {
			w.ch.foreign[id] = Sample{}
			if begins {
				w.ch.foreign[id] = Sample{At: w.now.Boot, Seq: w.seq}
			}
		}
	}
}

// inUse says whether something else is known to use one of the resources, and was not seen at rest since.
func (w *work) inUse(resources []catalog.ResourceID) bool {
	return slices.ContainsFunc(resources, func(res catalog.ResourceID) bool {
		by, now := w.ch.foreign[res]
		if !now {
			by = w.cur.foreign[res]
		}
		return by.Seq != 0 && !w.atRest([]catalog.ResourceID{res}, view{w: w, after: by.Seq})
	})
}

// afterglowMS is how long after the end of a task its events may still be on their way. Within it an event that names no task says
// nothing of the next one. Source: signals and results of one bus are some 10 ms apart; a hundredfold of it costs no proof, since
// no effect of a moving part comes about faster.
const afterglowMS = 1000
