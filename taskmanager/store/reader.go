package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"deviceagent/taskmanager"
)

// reader is one of the connections that cannot write, with its statements.
type reader struct {
	*conn
	begin, end                          *stmt
	meta, records, outbox, memory, last *stmt // whole tables, at a start
	remembered, closedMark, done, open  *stmt
	journal, hasSeq, metaValue, probe   *stmt
	sums                                summer
}

// Look-ups, each by a key; texts for the query plan test as well.
const (
	sqlLast       = `SELECT ` + journalColumns + ` FROM journal ORDER BY seq DESC LIMIT 1`
	sqlRemembered = `SELECT ` + memoryColumns + ` FROM memory WHERE key=?`
	sqlClosedMark = `SELECT 1 FROM finished WHERE workflow=?`
	sqlDone       = `SELECT ` + recordColumns + ` FROM done WHERE workflow=? ORDER BY item`
	sqlOpen       = `SELECT ` + recordColumns + ` FROM record WHERE workflow=? ORDER BY item`
	sqlJournal    = `SELECT ` + journalColumns + ` FROM journal WHERE seq>=? ORDER BY seq LIMIT ?`
	sqlHasSeq     = `SELECT 1 FROM journal WHERE seq=?`
	sqlMetaValue  = `SELECT value FROM meta WHERE key=?`
)

// Whole tables in key order. They hold open work only, and are read at a start.
const (
	sqlMetaAll    = `SELECT key, value, crc FROM meta ORDER BY key`
	sqlRecords    = `SELECT ` + recordColumns + ` FROM record ORDER BY workflow, item`
	sqlOutboxAll  = `SELECT ` + outboxColumns + ` FROM outbox ORDER BY seq`
	sqlMemoryAll  = `SELECT ` + memoryColumns + ` FROM memory ORDER BY key`
	maxJournalRow = 1_000 // a read, so that it is short and its memory bounded
)

func openReader(path string) (_ *reader, err error) {
	c, err := openSettled(path, append(common[:len(common):len(common)], reading...))
	if err != nil {
		return nil, err
	}
	r := &reader{conn: c}
	err = c.prepareAll(map[string]**stmt{
		"BEGIN": &r.begin, "COMMIT": &r.end,
		sqlMetaAll: &r.meta, sqlRecords: &r.records, sqlOutboxAll: &r.outbox, sqlMemoryAll: &r.memory, sqlLast: &r.last,
		sqlRemembered: &r.remembered, sqlClosedMark: &r.closedMark, sqlDone: &r.done, sqlOpen: &r.open,
		sqlJournal: &r.journal, sqlHasSeq: &r.hasSeq, sqlMetaValue: &r.metaValue,
		`SELECT key FROM meta LIMIT 1`: &r.probe,
	})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return r, nil
}

// view runs fn in one read transaction, so that all it reads is of one moment.
func (r *reader) view(fn func() error) error {
	if _, err := r.begin.run(); err != nil {
		return err
	}
	err := fn()
	_, end := r.end.run()
	return errors.Join(err, end)
}

// wrote tells whether the transaction of this witness is on disk.
func (r *reader) wrote(proof witness) (bool, error) {
	if proof.seq != 0 {
		return r.hasSeq.any(proof.seq)
	}
	value := ""
	err := r.metaValue.each(uncancelled, func(v []driver.Value) error { value = asText(v[0]); return nil }, metaCount)
	return value == strconv.FormatInt(proof.count, 10), err
}

// any tells whether the query has a row.
func (s *stmt) any(args ...driver.Value) (found bool, err error) {
	err = s.each(uncancelled, func([]driver.Value) error { found = true; return nil }, args...)
	return found, err
}

// marks are what the writer goes on from.
type marks struct {
	epoch                    string
	commits, journal, outbox int64
	forgotten                int64
	user                     map[string]string // the user's meta values
	own                      map[string]string // the store's
}

func (r *reader) marks() (marks, error) {
	m := marks{user: map[string]string{}}
	own := map[string]string{}
	m.own = own
	err := r.meta.each(uncancelled, func(v []driver.Value) error {
		key, value := asText(v[0]), asText(v[1])
		if user, ok := strings.CutPrefix(key, userPrefix); ok {
			m.user[user] = value
		} else {
			own[key] = value
		}
		return differs(metaSum(&r.sums, key, value), asInt(v[2]), "meta row", key)
	})
	if err != nil {
		return m, err
	}
	if m.epoch = own[metaEpoch]; m.epoch == "" {
		return m, fmt.Errorf("%w: it has no epoch", errDamaged)
	}
	for key, to := range map[string]*int64{metaCount: &m.commits, metaOutbox: &m.outbox, metaForgotten: &m.forgotten} {
		if text := own[key]; text != "" {
			if *to, err = strconv.ParseInt(text, 10, 64); err != nil {
				return m, fmt.Errorf("%w: meta row %s: %w", errDamaged, key, err)
			}
		}
	}
	row, err := r.lastRow()
	m.journal = row.Seq
	if err != nil {
		return m, err
	}
	err = r.outbox.each(uncancelled, func(v []driver.Value) error { m.outbox = max(m.outbox, asInt(v[0])); return nil })
	return m, err
}

func (r *reader) lastRow() (row taskmanager.JournalRow, err error) {
	err = r.last.each(uncancelled, func(v []driver.Value) (err error) {
		row, err = readJournal(&r.sums, v)
		return err
	})
	return row, err
}

// verifyRows reads everything that decisions are made from, and checks it against its sums.
func (r *reader) verifyRows(ctx context.Context) error {
	return r.view(func() error {
		if _, err := r.load(ctx); err != nil {
			return err
		}
		return r.memory.each(ctx, func(v []driver.Value) error {
			_, err := readMemory(&r.sums, v)
			return err
		})
	})
}

// load reads the image of a start, but for what only the Store knows.
func (r *reader) load(ctx context.Context) (img taskmanager.Image, err error) {
	m, err := r.marks()
	if err != nil {
		return img, err
	}
	img.Epoch, img.Meta, img.OutboxSeq = m.epoch, m.user, m.outbox
	if text := m.user["start_no"]; text != "" {
		if img.StartNo, err = strconv.ParseInt(text, 10, 64); err != nil {
			return img, fmt.Errorf("%w: start_no: %w", errDamaged, err)
		}
	}
	if img.Last, err = r.lastRow(); err != nil {
		return img, err
	}
	img.JournalSeq = img.Last.Seq
	err = r.records.each(ctx, func(v []driver.Value) error {
		row, err := readRecord(&r.sums, v)
		img.Records = append(img.Records, row)
		return err
	})
	if err != nil {
		return img, err
	}
	err = r.outbox.each(ctx, func(v []driver.Value) error {
		row, err := readOutbox(&r.sums, v)
		img.Outbox = append(img.Outbox, row)
		return err
	})
	return img, err
}
