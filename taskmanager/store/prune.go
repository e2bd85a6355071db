package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"time"

	"deviceagent/taskmanager"
)

// PruneOptions bound what is kept. The zero value is what a robot runs with, except for NowMS.
type PruneOptions struct {
	NowMS       int64         // trusted wall clock, Unix ms; 0: not known, then nothing goes by age
	FinishedAge time.Duration // of workflows, since they were closed; 0: 30 days
	JournalAge  time.Duration // 0: 30 days
	JournalRows int64         // at most, the oldest go first; 0: 200,000
	MemoryRows  int64         // at most, those that expire first go first, those that never expire stay; 0: 20,000
	Limit       int           // rows (or workflows) of each kind in this call; 0: 500
}

const thirtyDays = 30 * 24 * time.Hour

func (o PruneOptions) withDefaults() PruneOptions {
	if o.FinishedAge == 0 {
		o.FinishedAge = thirtyDays
	}
	if o.JournalAge == 0 {
		o.JournalAge = thirtyDays
	}
	if o.JournalRows == 0 {
		o.JournalRows = 200_000
	}
	if o.MemoryRows == 0 {
		o.MemoryRows = 20_000
	}
	if o.Limit == 0 {
		o.Limit = 500
	}
	return o
}

// Pruned is what one call removed. More: a kind reached its limit, call again when nothing else waits.
type Pruned struct {
	Workflows, Journal, Memory int64
	More                       bool
}

const (
	sqlStampFinished = `UPDATE finished SET closed_ms=?1 WHERE closed_ms=0`
	sqlOldFinished   = `SELECT workflow FROM finished WHERE closed_ms>0 AND closed_ms<? ORDER BY closed_ms LIMIT ?`
	sqlPruneDone     = `DELETE FROM done WHERE workflow=?`
	sqlPruneFinished = `DELETE FROM finished WHERE workflow=?`
	sqlOldJournal    = `SELECT seq, wall_ms FROM journal WHERE seq<? ORDER BY seq LIMIT ?`
	sqlPruneJournal  = `DELETE FROM journal WHERE seq<=?`
	sqlPruneNewest   = `SELECT max(expire_ms) FROM (SELECT expire_ms FROM memory WHERE expire_ms>0 AND expire_ms<=? ORDER BY expire_ms LIMIT ?)`
	sqlPruneMemory   = `DELETE FROM memory WHERE key IN (SELECT key FROM memory WHERE expire_ms>0 AND expire_ms<=? ORDER BY expire_ms LIMIT ?)`
	sqlEvictNewest   = `SELECT max(expire_ms) FROM (SELECT expire_ms FROM memory WHERE expire_ms>0 ORDER BY expire_ms LIMIT ?)`
	sqlCountMemory   = `SELECT count(*) FROM memory`
	sqlEvictMemory   = `DELETE FROM memory WHERE key IN (SELECT key FROM memory WHERE expire_ms>0 ORDER BY expire_ms LIMIT ?)`
)

// Prune removes what is older or more than is kept, in one bounded transaction. The last journal row always stays. Errors are
// those of Commit.
func (s *Store) Prune(ctx context.Context, o PruneOptions) (Pruned, error) {
	o = o.withDefaults()
	if err := s.acquire(ctx); err != nil {
		return Pruned{}, fmt.Errorf("cannot prune: %w: %w", taskmanager.ErrNotCommitted, err)
	}
	defer s.release()
	var out Pruned
	var forgotten int64
	proof := witness{count: s.count + 1}
	err := s.transact(proof, func() error {
		out, forgotten = Pruned{}, s.forgotten.Load()
		for _, step := range []func(PruneOptions, *Pruned) error{s.pruneFinished, s.pruneJournal} {
			if err := step(o, &out); err != nil {
				return err
			}
		}
		if err := s.pruneMemory(o, &out, &forgotten); err != nil {
			return err
		}
		return s.w.putProof(proof)
	})
	if err != nil {
		return Pruned{}, fmt.Errorf("cannot prune: %w", err)
	}
	s.forgotten.Store(forgotten)
	out.More = out.Workflows >= int64(o.Limit) || out.Journal >= int64(o.Limit) || out.Memory >= int64(o.Limit)
	return out, nil
}

// pruneFinished dates workflows that were closed while the clock was not known from now on: too long, never too short.
func (s *Store) pruneFinished(o PruneOptions, out *Pruned) error {
	if o.NowMS == 0 {
		return nil
	}
	if _, err := s.w.stampFinished.run(o.NowMS); err != nil {
		return err
	}
	var old []string
	err := s.w.oldFinished.each(uncancelled, func(v []driver.Value) error { old = append(old, asText(v[0])); return nil },
		o.NowMS-o.FinishedAge.Milliseconds(), int64(o.Limit))
	if err != nil {
		return err
	}
	for _, workflow := range old {
		if _, err := s.w.pruneDone.run(workflow); err != nil {
			return err
		}
		if _, err := s.w.pruneFinished.run(workflow); err != nil {
			return err
		}
	}
	out.Workflows = int64(len(old))
	return nil
}

// pruneJournal removes a prefix: rows beyond the count, and rows of known age up to the first that is young enough.
func (s *Store) pruneJournal(o PruneOptions, out *Pruned) error {
	var cut, inPrefix int64
	young := false
	cutoff := o.NowMS - o.JournalAge.Milliseconds()
	err := s.w.oldJournal.each(uncancelled, func(v []driver.Value) error {
		seq, wall := asInt(v[0]), asInt(v[1])
		inPrefix++
		young = young || o.NowMS == 0 || wall >= cutoff
		old := !young && wall != 0
		if old || seq <= s.journal-o.JournalRows {
			cut, out.Journal = seq, inPrefix
		}
		return nil
	}, s.journal, int64(o.Limit))
	if err != nil || cut == 0 {
		return err
	}
	_, err = s.w.pruneJournal.run(cut)
	return err
}

// pruneMemory forgets keys, and notes the newest expiry among them: what is as old and not remembered may have been here before.
func (s *Store) pruneMemory(o PruneOptions, out *Pruned, forgotten *int64) error {
	var rows int64
	if err := s.w.countMemory.each(uncancelled, func(v []driver.Value) error { rows = asInt(v[0]); return nil }); err != nil {
		return err
	}
	if o.NowMS != 0 {
		if err := s.w.pruneNewest.each(uncancelled, newest(forgotten), o.NowMS, int64(o.Limit)); err != nil {
			return err
		}
		n, err := s.w.pruneMemory.run(o.NowMS, int64(o.Limit))
		if err != nil {
			return err
		}
		out.Memory = n
	}
	if excess := min(rows-out.Memory-o.MemoryRows, int64(o.Limit)); excess > 0 {
		if err := s.w.evictNewest.each(uncancelled, newest(forgotten), excess); err != nil {
			return err
		}
		n, err := s.w.evictFirst.run(excess)
		if out.Memory += n; err != nil {
			return err
		}
	}
	if *forgotten == s.forgotten.Load() {
		return nil
	}
	return s.w.putMeta(metaForgotten, strconv.FormatInt(*forgotten, 10))
}

func newest(of *int64) func([]driver.Value) error {
	return func(v []driver.Value) error { *of = max(*of, asInt(v[0])); return nil }
}

// PruneDue says whether [Store.Prune] would remove journal rows now, by the oldest of them. What else is kept as long came into the
// store with them. It writes nothing.
func (s *Store) PruneDue(ctx context.Context, o PruneOptions) (bool, error) {
	o = o.withDefaults()
	rows, err := s.Journal(ctx, 0, 2) // the last row always stays
	if err != nil || len(rows) < 2 {
		return false, err
	}
	oldest := rows[0]
	if o.NowMS != 0 && oldest.WallMS != 0 && oldest.WallMS < o.NowMS-o.JournalAge.Milliseconds() {
		return true, nil
	}
	last, err := s.lastSeq(ctx)
	return err == nil && oldest.Seq <= last-o.JournalRows, err
}

func (s *Store) lastSeq(ctx context.Context) (seq int64, err error) {
	err = s.read(ctx, readHistory, func(r *reader) error {
		row, err := r.lastRow()
		seq = row.Seq
		return err
	})
	return seq, err
}
