package taskmanager

import (
	"maps"
	"slices"

	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// Rows says which records differ from the stored ones. Changes that need not be committed at once are added; the next commit takes
// them along. It is the Manager's, and whoever plays the Manager in virtual time uses it too: what is not among these rows is lost
// in a power cut. The zero value is ready for use.
type Rows struct {
	items map[core.WorkflowID]map[string]bool
	mouth bool
	told  map[core.TaskID]bool // sessions
}

// Add takes in a change that is not committed now, and says whether it made any row differ. Call it before [core.State.With], which
// takes the differences for stored.
func (r *Rows) Add(c core.Change) (differs bool) {
	if c.Mouth() != nil {
		r.mouth, differs = true, true
	}
	for id := range c.Sessions() {
		if r.told == nil {
			r.told = map[core.TaskID]bool{}
		}
		r.told[id], differs = true, true
	}
	for _, wf := range c.Workflows {
		id := wf.Plan.Workflow
		for _, item := range dirtyItems(wf) {
			if r.items == nil {
				r.items = map[core.WorkflowID]map[string]bool{}
			}
			if r.items[id] == nil {
				r.items[id] = map[string]bool{}
			}
			r.items[id][item], differs = true, true
		}
	}
	return differs
}

// Clear forgets what was added: it is on disk now.
func (r *Rows) Clear() { *r = Rows{} }

// Of makes the records of one commit: those that the change made differ, those that waited for company, the device's row and new
// tombstones. cur is the state before the change. It clears nothing: the disk may refuse.
func (r *Rows) Of(c core.Change, cur *core.State) []Record {
	var out []Record
	fresh := map[core.WorkflowID]bool{}
	for _, wf := range c.Workflows {
		id := wf.Plan.Workflow
		fresh[id] = true
		items := dirtyItems(wf)
		for _, item := range slices.Sorted(maps.Keys(r.items[id])) {
			if !slices.Contains(items, item) {
				items = append(items, item)
			}
		}
		out = append(out, rowsOf(wf, items)...)
	}
	for _, id := range slices.Sorted(maps.Keys(r.items)) {
		if wf := cur.Workflows[id]; wf != nil && !fresh[id] {
			out = append(out, rowsOf(wf, slices.Sorted(maps.Keys(r.items[id])))...)
		}
	}
	out = append(out, Record{Item: itemDevice, Body: encode(c.DeviceRow())})
	switch m := c.Mouth(); {
	case m != nil:
		out = append(out, Record{Item: itemMouth, Body: encode(m)})
	case r.mouth:
		out = append(out, Record{Item: itemMouth, Body: encode(cur.Mouth)})
	}
	for _, id := range c.Tombs {
		out = append(out, Record{Item: itemTomb + string(id), Body: []byte(c.TombReason(id))})
	}
	for _, id := range slices.Sorted(maps.Keys(c.Templates())) {
		r := Record{Item: itemTpl + string(id)}
		if t := c.Templates()[id]; t != nil {
			r.Body = encode(t)
		}
		out = append(out, r)
	}
	out = append(out, r.sessions(c, cur)...)
	for _, ev := range c.Aside {
		out = append(out, Record{Workflow: string(ev.Workflow), Item: itemAside, Body: []byte(ev.Cause)})
	}
	return out
}

// sessions makes the records of the sessions that differ.
func (r *Rows) sessions(c core.Change, cur *core.State) (out []Record) {
	ids := maps.Clone(r.told)
	if ids == nil {
		ids = map[core.TaskID]bool{}
	}
	for id := range c.Sessions() {
		ids[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		s, now := c.Sessions()[id]
		if !now {
			s = cur.Sessions[id]
		}
		rec := Record{Item: itemSession + string(id)}
		if s != nil {
			rec.Body = encode(s)
		}
		out = append(out, rec)
	}
	return out
}

// AllRows makes every record of a workflow, whether it differs or not.
func AllRows(wf *core.Workflow) []Record {
	items := []string{itemHead, itemPlan}
	if len(wf.Trace) > 0 {
		items = append(items, itemTrace)
	}
	for i := range wf.Steps {
		items = append(items, itemStep+string(wf.Steps[i].ID))
	}
	for i := range wf.Attempts {
		items = append(items, itemAttempt+string(wf.Attempts[i].Task))
	}
	return rowsOf(wf, items)
}

// State builds what a start begins with. epoch is the store's, outSeq the highest sequence that it ever gave out: one is never used
// twice, even if the device's row was lost. seq is the highest intake sequence that the records know.
func (d Decoded) State(cat *catalog.Catalog, epoch string, outSeq int64) (s *core.State, seq int64) {
	d.Device.Epoch = epoch
	d.Device.OutSeq = max(d.Device.OutSeq, outSeq)
	s = core.NewState(cat, d.Device)
	maps.Copy(s.Tombs, d.Tombs)
	s.Mouth = d.Mouth
	for _, ses := range d.Sessions {
		s.AdoptSession(ses)
	}
	for _, u := range d.Mouth.Queue {
		seq = max(seq, u.Seq)
	}
	for _, t := range d.Templates {
		s.AdoptTemplate(t)
	}
	for _, wf := range d.Workflows {
		s.Adopt(wf)
		for _, a := range wf.Attempts { // signs of life have a sequence and no row: nothing that comes may seem older than a dispatch
			seq = max(seq, a.Seq, a.StopSeq)
		}
	}
	return s, seq
}
