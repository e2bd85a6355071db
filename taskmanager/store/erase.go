package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deviceagent/taskmanager"
)

// Every deleted row is written over in its page (secure_delete); what is erased here is also taken out of the log.

const (
	sqlOldWords   = `SELECT done.workflow FROM finished JOIN done ON done.workflow=finished.workflow AND done.item='u' WHERE finished.closed_ms>0 AND finished.closed_ms<=? ORDER BY finished.closed_ms LIMIT ?`
	sqlUndated    = `SELECT 1 FROM finished WHERE closed_ms=0 LIMIT 1`
	sqlDropWords  = `DELETE FROM done WHERE workflow=? AND item='u'`
	sqlEraseDone  = `DELETE FROM done`
	sqlEraseEnded = `DELETE FROM finished`
	sqlAllEnded   = `SELECT workflow FROM finished ORDER BY workflow`
	sqlHasRecord  = `SELECT 1 FROM record WHERE workflow=? AND item=?`
	sqlEraseLines = `DELETE FROM journal WHERE seq<?`
)

// wordsAtOnce bounds the workflows of one EraseWords.
const wordsAtOnce = 500

// EraseWords removes what was said from workflows that were closed at least age before now (Unix ms, by a trusted clock), at most 500 of them,
// and names them. What was closed while the clock was not known counts as closed now: too long, never too short. Nothing is written where
// there is none. Errors are those of Commit.
func (s *Store) EraseWords(ctx context.Context, now int64, age time.Duration) (workflows []string, err error) {
	if err := s.acquire(ctx); err != nil {
		return nil, fmt.Errorf("cannot erase words: %w: %w", taskmanager.ErrNotCommitted, err)
	}
	defer s.release()
	undated := false
	if err := s.w.undated.each(uncancelled, func([]driver.Value) error { undated = true; return nil }); err != nil {
		return nil, err
	}
	err = s.w.oldWords.each(uncancelled, func(v []driver.Value) error { workflows = append(workflows, asText(v[0])); return nil }, now-age.Milliseconds(), int64(wordsAtOnce))
	if err != nil || len(workflows) == 0 && !undated {
		return nil, err
	}
	proof := witness{count: s.count + 1}
	err = s.transact(proof, func() error {
		if _, err := s.w.stampFinished.run(now); err != nil {
			return err
		}
		for _, workflow := range workflows {
			if _, err := s.w.dropWords.run(workflow); err != nil {
				return err
			}
		}
		return s.w.putProof(proof)
	})
	if err != nil {
		return nil, fmt.Errorf("cannot erase words: %w", err)
	}
	if len(workflows) > 0 {
		s.emptyLog()
	}
	return workflows, nil
}

// Erased says what EraseEnded has removed.
type Erased struct {
	Workflows, Journal int64
	Names              []string // of the workflows
	Copies             []string // names of damaged stores that were kept
}

// EraseEnded removes all that is kept of work that has ended: its records, what was said, and the journal but for its last row. Open work,
// the outbox, the memory of answers and tombstones stay: nothing that was accepted is lost, and nothing that was refused comes back. The
// copies of damaged stores go as well. Errors are those of Commit, or that a copy cannot be removed.
//
// stone makes the record that stays of a workflow, where there is none yet: what has ended has ended, also for a revision that comes later.
func (s *Store) EraseEnded(ctx context.Context, stone func(workflow string) taskmanager.Record) (out Erased, err error) {
	if err := s.acquire(ctx); err != nil {
		return Erased{}, fmt.Errorf("cannot erase: %w: %w", taskmanager.ErrNotCommitted, err)
	}
	defer s.release()
	proof := witness{count: s.count + 1}
	err = s.transact(proof, func() (err error) {
		if out.Names, err = s.putStones(stone); err != nil {
			return err
		}
		if _, err = s.w.eraseDone.run(); err == nil {
			out.Workflows, err = s.w.eraseEnded.run()
		}
		if err == nil {
			out.Journal, err = s.w.eraseLines.run(s.journal)
		}
		if err == nil {
			err = s.w.putProof(proof)
		}
		return err
	})
	if err != nil {
		return Erased{}, fmt.Errorf("cannot erase: %w", err)
	}
	s.emptyLog()
	out.Copies, err = removeCopies(s.path)
	return out, err
}

// putStones writes the records that stay of all that has ended.
func (s *Store) putStones(stone func(string) taskmanager.Record) (names []string, err error) {
	w := s.w
	if err := w.allEnded.each(uncancelled, func(v []driver.Value) error { names = append(names, asText(v[0])); return nil }); err != nil {
		return nil, err
	}
	for _, name := range names {
		r, there := stone(name), false
		if err := w.hasRecord.each(uncancelled, func([]driver.Value) error { there = true; return nil }, r.Workflow, r.Item); err != nil {
			return nil, err
		}
		if there {
			continue
		}
		if err := w.record.add(r.Workflow, r.Item, solid(r.Body), recordSum(&w.sums, r.Workflow, r.Item, r.Body)); err != nil {
			return nil, err
		}
	}
	_, err = w.record.take()
	return names, err
}

// emptyLog lets the log begin anew: it has what was deleted as it was. Who reads an old state is waited for, up to the busy timeout; then the
// log keeps its content until it is next written over. The caller holds the gate.
func (s *Store) emptyLog() {
	for range 3 {
		s.copyBack(s.w.truncate)
		if s.Broken() != nil || s.frames == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.grown = false
}

// removeCopies removes the stores that were set aside as damaged.
func removeCopies(path string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("cannot look for damaged stores: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), filepath.Base(path)+damagedSuffix+"-") {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil {
			return names, fmt.Errorf("cannot remove a damaged store: %w", err)
		}
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, syncDir(path)
}
