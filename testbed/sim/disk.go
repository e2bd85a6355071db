package sim

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// disk holds what the Manager's store does: records, of which soft ones are written with the next commit, the outbox, and the memory
// of answers.
type disk struct {
	rows    taskmanager.Rows
	records map[key]taskmanager.Record
	outbox  []core.Message
	outSeq  int64
	seq     int64
	startNo int64
	memory  map[string]memory
	gone    []core.MessageID // receipts that ride with the next commit

	recorder *taskmanager.Recorder // of the process that runs; nil: this home keeps no journal
	journal  []taskmanager.JournalRow
}

type key struct{ workflow, item string }

type memory struct {
	hash   string
	answer []byte
}

func newDisk() disk { return disk{records: map[key]taskmanager.Record{}, memory: map[string]memory{}} }

// soft takes in a change that need not be durable now, and says whether anything waits.
func (d *disk) soft(c core.Change) bool {
	d.gone = append(d.gone, c.Receipted...)
	return d.rows.Add(c) || len(c.Receipted) > 0
}

// write makes a batch durable. It is called before the state takes the change in.
func (d *disk) write(m *home, w *write) {
	records := d.rows.Of(w.c, m.s)
	if d.recorder != nil {
		d.journal = append(d.journal, d.recorder.Commit(m.s, w.now, w.events(), w.c, records)...)
	}
	for _, r := range records {
		if d.records[key{r.Workflow, r.Item}] = r; r.Body == nil { // so a store deletes
			delete(d.records, key{r.Workflow, r.Item})
		}
	}
	d.rows.Clear()
	gone := append(d.gone, w.c.Receipted...)
	d.gone = nil
	d.outbox = slices.DeleteFunc(d.outbox, func(x core.Message) bool {
		return slices.Contains(gone, rowID(x)) || slices.Contains(w.c.Withdrawn, x.Seq)
	})
	d.outbox = append(d.outbox, w.c.Outbox...)
	d.outSeq, d.seq = w.c.DeviceRow().OutSeq, m.seq+int64(len(w.batch))
	d.startNo = m.startNo
	for _, r := range w.c.Remember {
		text, err := json.Marshal(r.Answer)
		if err != nil {
			m.failf("an answer cannot be stored: %v", err)
		}
		d.memory[r.Key] = memory{r.Hash, text}
	}
}

// same compares the rows with the state: a row that changed and was not called dirty would be lost by a power cut.
func (d *disk) same(m *home) {
	for id, wf := range m.s.Workflows {
		for _, want := range taskmanager.AllRows(wf) {
			if got := d.records[key{want.Workflow, want.Item}]; !bytes.Equal(got.Body, want.Body) {
				m.failf("lost record: row %q of %s was not written:\ndisk  %q\nstate %q", want.Item, id, got.Body, want.Body)
			}
		}
	}
}

// open lists the records of the device and of what has not ended.
func (d *disk) open() (open []taskmanager.Record) {
	for k, r := range d.records {
		if k.workflow == "" || !d.records[key{k.workflow, ""}].Closed {
			open = append(open, r)
		}
	}
	return open
}

// events are what a commit decided on.
func (w *write) events() []core.Event {
	evs := make([]core.Event, len(w.batch))
	for i, it := range w.batch {
		evs[i] = it.ev
	}
	return evs
}

// replay runs the journal of all processes once more: it has to make the same records.
func (d *disk) replay(m *home) {
	if d.recorder == nil {
		return
	}
	if _, err := taskmanager.Replay(taskmanager.Recording{Rows: taskmanager.RowsOf(d.journal), Catalog: m.cat, Final: d.open()}); err != nil {
		m.failf("replay: %v", err)
	}
}

// load reads it all back, as after a power cut, but for what has ended. record: the new process keeps a journal.
func (d *disk) load(cat *catalog.Catalog, record bool) (s *core.State, seq, startNo int64) {
	d.rows.Clear()
	d.gone = nil
	open := d.open()
	if d.recorder = nil; record {
		d.recorder = taskmanager.NewRecorder("epoch-1", cat.Etag, false, open)
	}
	s, seq = taskmanager.DecodeRecords(open).State(cat, "epoch-1", d.outSeq)
	return s, max(seq, d.seq), d.startNo + 1
}

// accepted says whether it is durable that an executor took a task.
func (d *disk) accepted(at stepRef, task core.TaskID) bool {
	var rows []taskmanager.Record
	for k, r := range d.records {
		if k.workflow == string(at.wf) {
			rows = append(rows, r)
		}
	}
	for _, wf := range taskmanager.DecodeRecords(rows).Workflows {
		if i := wf.Plan.Lookup(at.step); i >= 0 && wf.Steps[i].Task == task {
			return wf.Steps[i].Accepted != 0
		}
	}
	return false
}

// finished reads a workflow that has ended and holds nothing any more.
func (d *disk) finished(id core.WorkflowID) *core.Workflow {
	if !d.records[key{string(id), ""}].Closed {
		return nil
	}
	var rows []taskmanager.Record
	for k, r := range d.records {
		if k.workflow == string(id) {
			rows = append(rows, r)
		}
	}
	all := taskmanager.DecodeRecords(rows).Workflows
	if len(all) != 1 {
		return nil
	}
	return all[0]
}

// recall puts beside a message what the store knows of it, as the Manager does when it comes in.
func (d *disk) recall(ev core.Event) core.Event {
	ev, _ = taskmanager.Recall(ev, func(h core.Head, key string, about core.WorkflowID) (core.Head, error) {
		h.Before, h.HashThen, h.Past = nil, "", nil
		if mem, ok := d.memory[key]; ok {
			h.Before, h.HashThen = new(core.Answer), mem.hash
			if err := json.NewDecoder(strings.NewReader(string(mem.answer))).Decode(h.Before); err != nil {
				return h, err
			}
		}
		if wf := d.finished(about); about != "" && wf != nil {
			h.Past = core.PastOf(wf)
		}
		return h, nil
	})
	return ev
}
