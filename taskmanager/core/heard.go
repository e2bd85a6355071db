package core

import (
	"maps"
	"slices"
)

// A disk may refuse, or stall, for longer than a step may run. What executors said meanwhile waits, and is decided as of the moment at
// which it was heard; between two such moments, and up to now, passes what time alone moves. So a step that was done in time is done in
// time, and one that was not is stopped in time.

// heard is when event i was heard: now, where nothing is noted. It is never later than now.
func (n Now) heard(i int) Instant {
	if i >= len(n.Heard) || n.Heard[i] == 0 {
		return n.Boot
	}
	return min(n.Heard[i], n.Boot)
}

// begin goes back to the moment of the first event, but not to before the last batch that was adopted.
func (w *work) begin(now Now) {
	if len(now.Heard) > 0 {
		w.at(now, max(now.heard(0), min(now.Boot, w.cur.Device.Boot)))
	}
}

// until lets time pass up to a moment: nothing where it is past already.
func (w *work) until(now Now, t Instant) {
	if t <= w.now.Boot {
		return
	}
	w.at(now, t)
	w.holdsDue()
	w.speechDue()
	w.sessionsDue()
	for _, id := range w.awake() {
		w.dueIn(w.wf(id))
	}
}

// at sets the moment of what is decided next.
func (w *work) at(now Now, t Instant) {
	w.now.Boot = t
	if now.WallMS != 0 {
		w.now.WallMS = now.WallMS - int64(now.Boot-t)
	}
}

// awake lists the workflows that time moves by now, as this reduction has left them.
func (w *work) awake() []WorkflowID {
	all := maps.Clone(w.cur.Workflows)
	maps.Copy(all, w.wfs)
	var ids []WorkflowID
	for id, wf := range all {
		if wake := wf.nextWake(); wake != 0 && wake <= w.now.Boot || w.reached(wf.nextWall()) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b WorkflowID) int { return byRank(all[a], all[b]) })
	return ids
}
