package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"deviceagent/taskmanager"
)

// What a read is for, as verb phrases.
const (
	readFinished = "read finished workflow"
	readHistory  = "read journal"
)

// Load implements [taskmanager.Store].
func (s *Store) Load(ctx context.Context) (img taskmanager.Image, err error) {
	err = s.read(ctx, "load", func(r *reader) error {
		return r.view(func() error {
			img, err = r.load(ctx)
			return err
		})
	})
	img.Fresh, img.SetAside, img.AsideWhy = s.fresh, s.setAside, s.asideWhy
	return img, err
}

// Remembered implements [taskmanager.Store].
func (s *Store) Remembered(ctx context.Context, key string) (m taskmanager.Memory, ok bool, err error) {
	err = s.read(ctx, "look up remembered key", func(r *reader) error {
		return r.remembered.each(ctx, func(v []driver.Value) (err error) {
			m, err = readMemory(&r.sums, v)
			ok = err == nil
			return err
		}, key)
	})
	if !ok {
		m = taskmanager.Memory{ExpireMS: s.forgotten.Load()}
	}
	return m, ok, err
}

// Finished implements [taskmanager.Store]. Records that were written after the close without Closed are in the answer, with
// Closed false.
func (s *Store) Finished(ctx context.Context, workflow string) (records []taskmanager.Record, ok bool, err error) {
	err = s.read(ctx, readFinished, func(r *reader) error {
		return r.view(func() error {
			if ok, err = r.closedMark.any(workflow); err != nil || !ok {
				return err
			}
			records, err = r.finished(ctx, workflow)
			return err
		})
	})
	return records, ok && err == nil && len(records) > 0, err
}

func (r *reader) finished(ctx context.Context, workflow string) (out []taskmanager.Record, err error) {
	later := map[string]bool{}
	collect := func(closed bool) func(v []driver.Value) error {
		return func(v []driver.Value) error {
			row, err := readRecord(&r.sums, v)
			if row.Closed = closed; closed && later[row.Item] {
				return err
			}
			later[row.Item] = true
			out = append(out, row)
			return err
		}
	}
	if err := r.open.each(ctx, collect(false), workflow); err != nil {
		return nil, err
	}
	if err := r.done.each(ctx, collect(true), workflow); err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b taskmanager.Record) int { return strings.Compare(a.Item, b.Item) })
	return out, nil
}

// Journal implements [taskmanager.Store]; it reads at most 1,000 rows a call. With an error come the rows before it.
func (s *Store) Journal(ctx context.Context, from int64, limit int) (rows []taskmanager.JournalRow, err error) {
	err = s.read(ctx, readHistory, func(r *reader) error {
		return r.journal.each(ctx, func(v []driver.Value) error {
			row, err := readJournal(&r.sums, v)
			if err == nil {
				rows = append(rows, row)
			}
			return err
		}, from, int64(min(max(limit, 0), maxJournalRow)))
	})
	return rows, err
}

// Probe implements [taskmanager.Store].
func (s *Store) Probe(ctx context.Context) error {
	return s.read(ctx, "probe", func(r *reader) error {
		_, err := r.probe.any()
		return err
	})
}

// read lends a reader to fn. Damage or an I/O error that a read meets breaks the store as well: the next start verifies. A wrong
// checksum in the history (finished workflows, old journal rows) is the caller's error only: no decision is made from it, and a
// start does not look there.
func (s *Store) read(ctx context.Context, what string, fn func(*reader) error) error {
	r, err := s.lend(ctx)
	if err != nil {
		return fmt.Errorf("cannot %s: %w", what, err)
	}
	defer func() { s.readers <- r }()
	if err := fn(r); err != nil {
		history := what == readFinished || what == readHistory
		if ctx.Err() == nil && judge(err) != refuses && !(history && errors.Is(err, errDamaged)) {
			err = s.fail(err)
		}
		return fmt.Errorf("cannot %s: %w", what, err)
	}
	return nil
}

func (s *Store) lend(ctx context.Context) (*reader, error) {
	if err := s.Broken(); err != nil {
		return nil, err
	}
	select {
	case <-s.closing:
		return nil, errClosed
	default:
	}
	select {
	case r := <-s.readers:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.closing:
		return nil, errClosed
	}
}
