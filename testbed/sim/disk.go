package sim

import (
	"bytes"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// disk holds records as the Manager's store does: those that differ are written with a commit, soft ones with the next.
type disk struct {
	rows    taskmanager.Rows
	records map[key]taskmanager.Record
	outSeq  int64
}

type key struct{ workflow, item string }

func newDisk() disk { return disk{records: map[key]taskmanager.Record{}} }

// write takes in a change: at once where it has to be durable, with the next commit otherwise. cur is the state before it.
func (d *disk) write(c core.Change, cur *core.State) {
	if !c.Must {
		d.rows.Add(c)
		return
	}
	for _, r := range d.rows.Of(c, cur) {
		d.records[key{r.Workflow, r.Item}] = r
	}
	d.rows.Clear()
	d.outSeq = c.DeviceRow().OutSeq
}

// same compares the rows with the state: a row that changed and was not called dirty would be lost by a power cut.
func (d *disk) same(m *sim) {
	for id, wf := range m.s.Workflows {
		for _, want := range taskmanager.AllRows(wf) {
			if got := d.records[key{want.Workflow, want.Item}]; !bytes.Equal(got.Body, want.Body) {
				m.failf("row %q of %s was not written:\ndisk  %x\nstate %x", want.Item, id, got.Body, want.Body)
			}
		}
	}
}

// load reads it all back, as after a power cut.
func (d *disk) load(cat *catalog.Catalog) *core.State {
	d.rows.Clear()
	var all []taskmanager.Record
	for _, r := range d.records {
		all = append(all, r)
	}
	s, _ := taskmanager.DecodeRecords(all).State(cat, "epoch-1", d.outSeq)
	return s
}
