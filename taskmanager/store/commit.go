package store

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"deviceagent/taskmanager"
)

// errInvalid says that a batch breaks a rule of the door; nothing of it was written.
var errInvalid = errors.New("invalid batch")

// Commit implements [taskmanager.Store]. A row of journal or outbox that is there already with the same content is fine, with
// other content the store is broken: memory and disk have parted. A closed record closes its workflow: all records that the
// workflow has by then leave the open table; one that is written later without Closed is open again. A device-wide record
// cannot be closed.
func (s *Store) Commit(ctx context.Context, b taskmanager.Batch) error {
	if err := s.acquire(ctx); err != nil {
		return fmt.Errorf("cannot commit: %w: %w", taskmanager.ErrNotCommitted, err)
	}
	defer s.release()
	if err := check(b); err != nil {
		return fmt.Errorf("cannot commit: %w: %w", taskmanager.ErrNotCommitted, err)
	}
	proof := s.witness(b)
	write := func() error { return s.write(b, proof) }
	err := s.transact(proof, write)
	if isFull(err) && essential(b) && s.useReserve() {
		err = s.transact(proof, write)
	}
	if err != nil {
		return fmt.Errorf("cannot commit: %w", err)
	}
	s.journal, s.outbox = max(s.journal, lastJournal(b)), max(s.outbox, lastOutbox(b))
	return nil
}

func check(b taskmanager.Batch) error {
	for _, r := range b.Records {
		if r.Workflow == "" && r.Closed {
			return fmt.Errorf("%w: device-wide record %q is closed", errInvalid, r.Item)
		}
	}
	for _, r := range b.Journal {
		if r.Seq <= 0 {
			return fmt.Errorf("%w: journal seq %d", errInvalid, r.Seq)
		}
	}
	for _, r := range b.Outbox {
		if r.Seq <= 0 || r.ID == "" {
			return fmt.Errorf("%w: outbox seq %d, id %q", errInvalid, r.Seq, r.ID)
		}
	}
	return nil
}

// essential batches may use the reserve of a full disk: they end work or make room.
func essential(b taskmanager.Batch) bool {
	return len(b.OutboxDone) > 0 ||
		slices.ContainsFunc(b.Records, func(r taskmanager.Record) bool { return r.Closed || r.Body == nil }) ||
		slices.ContainsFunc(b.Outbox, func(r taskmanager.OutboxRow) bool { return r.Class == "terminal" })
}

// witness is the one row by which a transaction is recognised on disk after an error.
type witness struct {
	seq   int64 // of a journal row that was not there before, or 0: then
	count int64 // the commit counter that the transaction writes
}

// witness prefers a new journal row, since the counter dirties one more page. A row that was there before proves nothing.
func (s *Store) witness(b taskmanager.Batch) witness {
	if seq := lastJournal(b); seq > s.journal {
		return witness{seq: seq}
	}
	return witness{count: s.count + 1}
}

// transact runs fn and brings its outcome to one of three: nil, ErrNotCommitted, ErrStoreBroken. The caller holds the gate.
func (s *Store) transact(proof witness, fn func() error) error {
	if err := s.Broken(); err != nil {
		return err
	}
	err := s.makeRoom()
	if err == nil {
		err = s.w.tx(fn)
	}
	s.afterCommit()
	if err != nil {
		err = s.settle(err, proof)
	}
	if err == nil && proof.seq == 0 {
		s.count = proof.count
	}
	return err
}

// settle reads back, over another connection, what an error left on disk.
func (s *Store) settle(cause error, proof witness) error {
	if judge(cause) != refuses {
		return s.fail(cause)
	}
	r := <-s.readers
	defer func() { s.readers <- r }()
	written, err := r.wrote(proof)
	switch {
	case err != nil:
		return s.fail(errors.Join(cause, fmt.Errorf("cannot read back: %w", err)))
	case written:
		s.info.adopted.Add(1)
		return nil
	}
	s.info.refused.Add(1)
	return fmt.Errorf("%w: %w", taskmanager.ErrNotCommitted, cause)
}

// write puts the batch into the open transaction.
func (s *Store) write(b taskmanager.Batch, proof witness) error {
	for _, step := range []func(taskmanager.Batch) error{s.writeJournal, s.writeRecords, s.closeWorkflows, s.dropOutbox,
		s.writeOutbox, s.writeMemory} {
		if err := step(b); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.Meta)) {
		if err := s.w.putMeta(userPrefix+key, b.Meta[key]); err != nil {
			return err
		}
	}
	return s.w.putProof(proof)
}

func (w *writer) putProof(proof witness) error {
	if proof.seq != 0 {
		return nil
	}
	return w.putMeta(metaCount, strconv.FormatInt(proof.count, 10))
}

func (w *writer) putMeta(key, value string) error {
	_, err := w.meta.run(key, value, metaSum(&w.sums, key, value))
	return err
}

func (s *Store) writeJournal(b taskmanager.Batch) error {
	if len(b.Journal) == 0 {
		return nil
	}
	w := s.w
	for _, r := range b.Journal {
		if err := w.journal.add(r.Seq, r.BootMS, r.WallMS, r.BootID, r.Kind, r.Workflow, solid(r.Body), journalSum(&w.sums, r)); err != nil {
			return err
		}
	}
	twice, err := w.journal.take()
	if err != nil || !twice {
		return err
	}
	for _, r := range b.Journal {
		if err := w.same(w.journalRow, r.Seq, r.Body, journalSum(&w.sums, r)); err != nil {
			return fmt.Errorf("journal row %d: %w", r.Seq, err)
		}
	}
	return nil
}

func (s *Store) writeOutbox(b taskmanager.Batch) error {
	if len(b.Outbox) == 0 {
		return nil
	}
	w := s.w
	for _, r := range b.Outbox {
		if err := w.outbox.add(r.Seq, r.ID, r.Type, r.Class, r.Workflow, solid(r.Body), outboxSum(&w.sums, r)); err != nil {
			return err
		}
	}
	twice, err := w.outbox.take()
	if err != nil || !twice {
		return err
	}
	for _, r := range b.Outbox {
		if err := w.same(w.outboxRow, r.Seq, r.Body, outboxSum(&w.sums, r)); err != nil {
			return fmt.Errorf("outbox row %d: %w", r.Seq, err)
		}
	}
	return nil
}

// same checks that the row under seq is the one that was to be written.
func (w *writer) same(row *stmt, seq int64, body []byte, crc int64) error {
	found := false
	err := row.each(uncancelled, func(v []driver.Value) error {
		found = bytes.Equal(asBytes(v[0]), body) && asInt(v[1]) == crc
		return nil
	}, seq)
	if err == nil && !found {
		err = errDiffers
	}
	return err
}

func (s *Store) writeRecords(b taskmanager.Batch) error {
	w := s.w
	for _, r := range b.Records {
		if r.Body != nil {
			if err := w.record.add(r.Workflow, r.Item, solid(r.Body), recordSum(&w.sums, r.Workflow, r.Item, r.Body)); err != nil {
				return err
			}
			continue
		}
		if err := w.record.flush(); err != nil { // the delete may be meant for a row of this very batch
			return err
		}
		for _, drop := range []*stmt{w.dropRecord, w.dropDone} {
			if _, err := drop.run(r.Workflow, r.Item); err != nil {
				return err
			}
		}
	}
	_, err := w.record.take()
	return err
}

// closeWorkflows moves the records of workflows that this batch closes out of the table that a start reads.
func (s *Store) closeWorkflows(b taskmanager.Batch) error {
	closed := map[string]bool{}
	for _, r := range b.Records {
		if !r.Closed || closed[r.Workflow] {
			continue
		}
		closed[r.Workflow] = true
		if _, err := s.w.closeCopy.run(r.Workflow); err != nil {
			return err
		}
		if _, err := s.w.closeDrop.run(r.Workflow); err != nil {
			return err
		}
		if _, err := s.w.closeMark.run(r.Workflow, lastWall(b)); err != nil {
			return err
		}
	}
	return nil
}

// dropOutbox keeps the highest seq when rows go, so that numbers are never given twice within an epoch.
func (s *Store) dropOutbox(b taskmanager.Batch) error {
	for _, id := range b.OutboxDone {
		if _, err := s.w.dropOutbox.run(id); err != nil {
			return err
		}
	}
	if len(b.OutboxDone) == 0 {
		return nil
	}
	return s.w.putMeta(metaOutbox, strconv.FormatInt(max(s.outbox, lastOutbox(b)), 10))
}

func (s *Store) writeMemory(b taskmanager.Batch) error {
	for _, m := range b.Memory {
		if err := s.w.memory.add(m.Key, m.Hash, solid(m.Answer), m.ExpireMS, memorySum(&s.w.sums, m)); err != nil {
			return err
		}
	}
	_, err := s.w.memory.take()
	return err
}

// solid keeps the driver from binding a nil slice as NULL.
func solid(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func lastJournal(b taskmanager.Batch) (seq int64) {
	for _, r := range b.Journal {
		seq = max(seq, r.Seq)
	}
	return seq
}

func lastOutbox(b taskmanager.Batch) (seq int64) {
	for _, r := range b.Outbox {
		seq = max(seq, r.Seq)
	}
	return seq
}

// lastWall is the batch's wall time, 0 if it knows none; [Store.Prune] fills it in later.
func lastWall(b taskmanager.Batch) (ms int64) {
	for _, r := range b.Journal {
		if r.WallMS != 0 {
			ms = r.WallMS
		}
	}
	return ms
}
