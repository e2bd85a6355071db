package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"deviceagent/taskmanager"

	"github.com/google/uuid"
)

// Memory is a store in memory. What it confirmed survives [Memory.Reopen], which is also how a power cut looks: simply do not
// close the old handle.
type Memory struct {
	disk   *disk
	fresh  bool
	closed bool
	broken error
}

// disk is what survives. Its values are never changed in place.
type disk struct {
	mu        sync.Mutex
	handle    *Memory // the only one that may write
	epoch     string
	meta      map[string]string
	open      map[recordKey][]byte
	done      map[recordKey][]byte
	finished  map[string]bool
	journal   []taskmanager.JournalRow
	outbox    map[int64]taskmanager.OutboxRow
	outboxSeq int64
	memory    map[string]taskmanager.Memory
	forgotten int64
}

type recordKey struct{ workflow, item string }

var _ taskmanager.Store = (*Memory)(nil)

var errHandle = fmt.Errorf("handle is closed: %w", taskmanager.ErrStoreClosed)

// NewMemory makes an empty store with an epoch of its own.
func NewMemory() *Memory {
	d := &disk{epoch: uuid.NewString(), meta: map[string]string{}, open: map[recordKey][]byte{}, done: map[recordKey][]byte{},
		finished: map[string]bool{}, outbox: map[int64]taskmanager.OutboxRow{}, memory: map[string]taskmanager.Memory{}}
	d.handle = &Memory{disk: d, fresh: true}
	return d.handle
}

// Reopen returns a new handle on the same data. The old one refuses from now on: after a restart there is one process.
func (m *Memory) Reopen() *Memory {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	m.disk.handle = &Memory{disk: m.disk}
	return m.disk.handle
}

// begin locks the disk for this handle.
func (m *Memory) begin() (unlock func(), err error) {
	m.disk.mu.Lock()
	switch {
	case m.broken != nil:
		err = m.broken
	case m.closed || m.disk.handle != m:
		err = errHandle
	}
	if err != nil {
		m.disk.mu.Unlock()
		return nil, err
	}
	return m.disk.mu.Unlock, nil
}

// Commit implements [taskmanager.Store].
func (m *Memory) Commit(ctx context.Context, b taskmanager.Batch) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("cannot commit: %w: %w", taskmanager.ErrNotCommitted, err)
	}
	unlock, err := m.begin()
	if errors.Is(err, errHandle) {
		return fmt.Errorf("cannot commit: %w: %w", taskmanager.ErrNotCommitted, err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := refuse(b); err != nil {
		return fmt.Errorf("cannot commit: %w: %w", taskmanager.ErrNotCommitted, err)
	}
	if err := m.disk.differs(b); err != nil {
		m.broken = fmt.Errorf("cannot commit: %w: %w", taskmanager.ErrStoreBroken, err)
		return m.broken
	}
	m.disk.apply(b)
	return nil
}

// refuse states the rules that the SQLite store has as well.
func refuse(b taskmanager.Batch) error {
	for _, r := range b.Records {
		if r.Workflow == "" && r.Closed {
			return fmt.Errorf("device-wide record %q is closed", r.Item)
		}
	}
	for _, r := range b.Journal {
		if r.Seq <= 0 {
			return fmt.Errorf("journal seq %d", r.Seq)
		}
	}
	for _, r := range b.Outbox {
		if r.Seq <= 0 || r.ID == "" {
			return fmt.Errorf("outbox seq %d, id %q", r.Seq, r.ID)
		}
	}
	return nil
}

// differs finds rows that are there with other content.
func (d *disk) differs(b taskmanager.Batch) error {
	for _, r := range b.Journal {
		if i, ok := d.find(r.Seq); ok && !reflect.DeepEqual(d.journal[i], solidJournal(r)) {
			return fmt.Errorf("journal row %d is there with other content", r.Seq)
		}
	}
	gone := map[string]bool{}
	for _, id := range b.OutboxDone {
		gone[id] = true
	}
	for _, r := range b.Outbox {
		for seq, have := range d.outbox {
			if !gone[have.ID] && (seq == r.Seq || have.ID == r.ID) && !reflect.DeepEqual(have, solidOutbox(r)) {
				return fmt.Errorf("outbox row %d is there with other content", r.Seq)
			}
		}
	}
	return nil
}

func (d *disk) find(seq int64) (int, bool) {
	return slices.BinarySearchFunc(d.journal, seq, func(r taskmanager.JournalRow, seq int64) int { return cmp.Compare(r.Seq, seq) })
}

func (d *disk) apply(b taskmanager.Batch) {
	for _, r := range b.Journal {
		if i, ok := d.find(r.Seq); !ok {
			d.journal = slices.Insert(d.journal, i, solidJournal(r))
		}
	}
	for _, r := range b.Records {
		key := recordKey{r.Workflow, r.Item}
		if r.Body == nil {
			delete(d.open, key)
			delete(d.done, key)
			continue
		}
		d.open[key] = solid(r.Body)
	}
	for _, r := range b.Records {
		if r.Closed {
			d.close(r.Workflow)
		}
	}
	for _, id := range b.OutboxDone {
		maps.DeleteFunc(d.outbox, func(_ int64, r taskmanager.OutboxRow) bool { return r.ID == id })
	}
	for _, r := range b.Outbox {
		d.outbox[r.Seq] = solidOutbox(r)
		d.outboxSeq = max(d.outboxSeq, r.Seq)
	}
	for _, m := range b.Memory {
		m.Answer = solid(m.Answer)
		d.memory[m.Key] = m
	}
	maps.Copy(d.meta, b.Meta)
}

func (d *disk) close(workflow string) {
	d.finished[workflow] = true
	for key, body := range d.open {
		if key.workflow == workflow {
			d.done[key] = body
			delete(d.open, key)
		}
	}
}

// Load implements [taskmanager.Store].
func (m *Memory) Load(ctx context.Context) (taskmanager.Image, error) {
	unlock, err := m.begin()
	if err != nil {
		return taskmanager.Image{}, fmt.Errorf("cannot load: %w", err)
	}
	defer unlock()
	d := m.disk
	img := taskmanager.Image{Epoch: d.epoch, Fresh: m.fresh, Meta: maps.Clone(d.meta), OutboxSeq: d.outboxSeq}
	img.StartNo, _ = strconv.ParseInt(d.meta["start_no"], 10, 64)
	for key, body := range d.open {
		img.Records = append(img.Records, taskmanager.Record{Workflow: key.workflow, Item: key.item, Body: solid(body)})
	}
	slices.SortFunc(img.Records, byKey)
	for _, seq := range slices.Sorted(maps.Keys(d.outbox)) {
		img.Outbox = append(img.Outbox, solidOutbox(d.outbox[seq]))
	}
	if n := len(d.journal); n > 0 {
		img.Last = solidJournal(d.journal[n-1])
		img.JournalSeq = img.Last.Seq
	}
	return img, ctx.Err()
}

func byKey(a, b taskmanager.Record) int {
	return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Item, b.Item))
}

// Remembered implements [taskmanager.Store].
func (m *Memory) Remembered(_ context.Context, key string) (taskmanager.Memory, bool, error) {
	unlock, err := m.begin()
	if err != nil {
		return taskmanager.Memory{}, false, fmt.Errorf("cannot look up remembered key: %w", err)
	}
	defer unlock()
	out, ok := m.disk.memory[key]
	if ok {
		out.Answer = solid(out.Answer)
	} else {
		out.ExpireMS = m.disk.forgotten
	}
	return out, ok, nil
}

// Forget drops every remembered key that expires up to expireMS, Unix ms, as a store that prunes does.
func (m *Memory) Forget(expireMS int64) {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	m.disk.forgotten = max(m.disk.forgotten, expireMS)
	maps.DeleteFunc(m.disk.memory, func(_ string, r taskmanager.Memory) bool { return r.ExpireMS > 0 && r.ExpireMS <= expireMS })
}

// Finished implements [taskmanager.Store].
func (m *Memory) Finished(_ context.Context, workflow string) ([]taskmanager.Record, bool, error) {
	unlock, err := m.begin()
	if err != nil {
		return nil, false, fmt.Errorf("cannot read finished workflow: %w", err)
	}
	defer unlock()
	if !m.disk.finished[workflow] {
		return nil, false, nil
	}
	var out []taskmanager.Record
	for key, body := range m.disk.done {
		if _, later := m.disk.open[key]; key.workflow == workflow && !later {
			out = append(out, taskmanager.Record{Workflow: workflow, Item: key.item, Body: solid(body), Closed: true})
		}
	}
	for key, body := range m.disk.open {
		if key.workflow == workflow {
			out = append(out, taskmanager.Record{Workflow: workflow, Item: key.item, Body: solid(body)})
		}
	}
	slices.SortFunc(out, byKey)
	return out, len(out) > 0, nil
}

// Journal implements [taskmanager.Store].
func (m *Memory) Journal(_ context.Context, from int64, limit int) ([]taskmanager.JournalRow, error) {
	unlock, err := m.begin()
	if err != nil {
		return nil, fmt.Errorf("cannot read journal: %w", err)
	}
	defer unlock()
	i, _ := m.disk.find(from)
	var out []taskmanager.JournalRow
	for ; i < len(m.disk.journal) && len(out) < limit; i++ {
		out = append(out, solidJournal(m.disk.journal[i]))
	}
	return out, nil
}

// Probe implements [taskmanager.Store].
func (m *Memory) Probe(context.Context) error {
	unlock, err := m.begin()
	if err != nil {
		return fmt.Errorf("cannot probe: %w", err)
	}
	unlock()
	return nil
}

// Close implements [taskmanager.Store].
func (m *Memory) Close() error {
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	m.closed = true
	return nil
}

// solid copies; it never returns nil.
func solid(b []byte) []byte { return append([]byte{}, b...) }

func solidJournal(r taskmanager.JournalRow) taskmanager.JournalRow { r.Body = solid(r.Body); return r }

func solidOutbox(r taskmanager.OutboxRow) taskmanager.OutboxRow { r.Body = solid(r.Body); return r }
