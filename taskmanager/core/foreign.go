package core

import (
	"slices"

	"deviceagent/taskmanager/core/catalog"
)

// byOthers stands for who uses a resource without any task of ours: people, or the robot by itself.
const byOthers TaskID = "external"

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

// foreign notes that something else uses a resource, or the whole body where none is named, or that it has ceased to. What was read
// before it ceased may have been changed by it.
func (w *work) foreign(res catalog.ResourceID, begins bool) {
	w.touched, w.ch.Must, w.freed = true, true, true // it is written down: people ask why the robot did not do as planned
	for id, r := range w.cat.Resources {
		if id != res && (res != "" || !r.Body) {
			continue
		}
		if begins {
			w.setForeign(id, Sample{At: w.now.Boot, Seq: w.seq})
			continue
		}
		w.setForeign(id, Sample{})
		w.lastUsed(id)
	}
}

// lastUsed notes that a resource was let go of just now.
func (w *work) lastUsed(id catalog.ResourceID) {
	if w.ch.used == nil {
		w.ch.used = map[catalog.ResourceID]Sample{}
	}
	w.ch.used[id] = Sample{At: w.now.Boot, Seq: w.seq}
}

func (w *work) setForeign(id catalog.ResourceID, since Sample) {
	if w.ch.foreign == nil {
		w.ch.foreign = map[catalog.ResourceID]Sample{}
	}
	w.ch.foreign[id] = since
}

func (w *work) foreignSince(id catalog.ResourceID) Sample {
	if s, now := w.ch.foreign[id]; now {
		return s
	}
	return w.cur.foreign[id]
}

// inUse says whether something else is known to use one of the resources, and was not seen at rest since.
func (w *work) inUse(resources []catalog.ResourceID) bool {
	return slices.ContainsFunc(resources, func(res catalog.ResourceID) bool {
		by := w.foreignSince(res)
		return by.Seq != 0 && !w.atRest([]catalog.ResourceID{res}, view{w: w, after: by.Seq})
	})
}

// claimForeign adds to what is taken what something else uses. It is waited for, never fought. A resource of which nobody can see
// whether it rests is not waited for: that would have no end.
func (w *work) claimForeign(busy map[catalog.ResourceID]TaskID) {
	if len(w.cur.foreign)+len(w.ch.foreign) == 0 {
		return
	}
	for id, r := range w.cat.Resources {
		if _, taken := busy[id]; !taken && r.AtRest != nil && w.inUse([]catalog.ResourceID{id}) {
			busy[id] = byOthers
		}
	}
}

// awaitRest has what shows that a resource rests read for a step that waits for something else to let go of it: often once it
// seems to rest, seldom before.
func (w *work) awaitRest(st *Step, res catalog.ResourceID) {
	if st.recheck > w.now.Boot {
		return
	}
	n, since := 0, w.foreignSince(res)
	leaves(*w.cat.Resources[res].AtRest, &n, func(_ int, l catalog.Leaf) { w.read(l.Context) })
	st.recheck = w.now.Boot + 4*rereadMS
	if w.atRest([]catalog.ResourceID{res}, view{w: w, after: since.Seq, hasty: true}) {
		st.recheck = w.now.Boot + rereadMS
	}
	w.touched = true
}

// tookOver: a task of ours begins where something else had come to rest, so that the task's own motion is not taken for that.
func (w *work) tookOver(resources []catalog.ResourceID) {
	for _, id := range resources {
		if w.foreignSince(id).Seq != 0 && w.cat.Resources[id].AtRest != nil {
			w.setForeign(id, Sample{})
		}
	}
}

// afterglowMS is how long after the end of a task its events may still be on their way. Within it an event that names no task says
// nothing of the next one. Source: signals and results of one bus are some 10 ms apart; a hundredfold of it costs no proof, since
// no effect of a moving part comes about faster.
const afterglowMS = 1000
