package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
)

// writer is the one connection that writes, with its statements.
type writer struct {
	*conn
	begin, commit, rollback              *stmt
	journal, outbox, record, memory      bulk
	journalRow, outboxRow                *stmt
	dropRecord, dropDone                 *stmt
	closeCopy, closeDrop, closeMark      *stmt
	dropOutbox, meta                     *stmt
	passive, restart, truncate           *stmt
	oldWords, undated, dropWords         *stmt
	eraseDone, eraseEnded, eraseLines    *stmt
	allEnded, hasRecord                  *stmt
	stampFinished, oldFinished           *stmt
	pruneDone, pruneFinished             *stmt
	oldJournal, pruneJournal             *stmt
	pruneMemory, countMemory, evictFirst *stmt
	pruneNewest, evictNewest             *stmt
	atCommit                             func() error // commits; a test replaces it to lie about the outcome
	sums                                 summer
}

// hotWrites are the statements of a commit, texts for the query plan test as well. Keys on every insert: a batch that comes
// twice changes nothing.
const (
	sqlJournalRow = `SELECT body, crc FROM journal WHERE seq=?`
	sqlOutboxRow  = `SELECT body, crc FROM outbox WHERE seq=?`
	sqlDropRecord = `DELETE FROM record WHERE workflow=? AND item=?`
	sqlDropDone   = `DELETE FROM done WHERE workflow=? AND item=?`
	sqlCloseCopy  = `INSERT OR REPLACE INTO done (workflow, item, body, crc) SELECT workflow, item, body, crc FROM record WHERE workflow=?`
	sqlCloseDrop  = `DELETE FROM record WHERE workflow=?`
	sqlCloseMark  = `INSERT INTO finished (workflow, closed_ms) VALUES (?, ?) ON CONFLICT (workflow) DO UPDATE SET closed_ms=excluded.closed_ms`
	sqlDropOutbox = `DELETE FROM outbox WHERE id=?`
	sqlMeta       = `INSERT INTO meta (key, value, crc) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value=excluded.value, crc=excluded.crc`
)

// Tables that take many rows a commit.
var (
	journalTable = table{"journal", []string{"seq", "boot_ms", "wall_ms", "boot_id", "kind", "workflow", "body", "crc"}, "DO NOTHING"}
	outboxTable  = table{"outbox", []string{"seq", "id", "type", "class", "workflow", "body", "crc"}, "DO NOTHING"}
	recordTable  = table{"record", []string{"workflow", "item", "body", "crc"}, "(workflow, item) DO UPDATE SET body=excluded.body, crc=excluded.crc"}
	memoryTable  = table{"memory", []string{"key", "hash", "answer", "expire_ms", "crc"},
		"(key) DO UPDATE SET hash=excluded.hash, answer=excluded.answer, expire_ms=excluded.expire_ms, crc=excluded.crc"}
)

func openWriter(path string, maxPages int64, steps []migration) (_ *writer, err error) {
	c, err := openSettled(path, append(common[:len(common):len(common)], writing(maxPages)...))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if _, err := c.raw.FileControlPersistWAL("main", 1); err != nil { // the log file stays when the last connection closes
		return nil, err
	}
	if err := c.migrate(steps); err != nil {
		return nil, err
	}
	w := &writer{conn: c}
	if err := c.prepareAll(w.texts()); err != nil {
		return nil, err
	}
	for _, b := range []struct {
		to *bulk
		of table
	}{{&w.journal, journalTable}, {&w.outbox, outboxTable}, {&w.record, recordTable}, {&w.memory, memoryTable}} {
		if *b.to, err = c.bulk(b.of); err != nil {
			return nil, err
		}
	}
	w.atCommit = func() error { _, err := w.commit.run(); return err }
	return w, nil
}

func (w *writer) texts() map[string]**stmt {
	return map[string]**stmt{
		"BEGIN IMMEDIATE": &w.begin, "COMMIT": &w.commit, "ROLLBACK": &w.rollback,
		sqlJournalRow: &w.journalRow, sqlOutboxRow: &w.outboxRow,
		sqlDropRecord: &w.dropRecord, sqlDropDone: &w.dropDone,
		sqlCloseCopy: &w.closeCopy, sqlCloseDrop: &w.closeDrop, sqlCloseMark: &w.closeMark,
		sqlDropOutbox: &w.dropOutbox, sqlMeta: &w.meta,
		"PRAGMA wal_checkpoint(PASSIVE)": &w.passive, "PRAGMA wal_checkpoint(RESTART)": &w.restart, "PRAGMA wal_checkpoint(TRUNCATE)": &w.truncate,
		sqlOldWords: &w.oldWords, sqlUndated: &w.undated, sqlDropWords: &w.dropWords, sqlEraseDone: &w.eraseDone, sqlEraseEnded: &w.eraseEnded, sqlEraseLines: &w.eraseLines, sqlAllEnded: &w.allEnded, sqlHasRecord: &w.hasRecord,
		sqlStampFinished: &w.stampFinished, sqlOldFinished: &w.oldFinished,
		sqlPruneDone: &w.pruneDone, sqlPruneFinished: &w.pruneFinished,
		sqlOldJournal: &w.oldJournal, sqlPruneJournal: &w.pruneJournal,
		sqlPruneMemory: &w.pruneMemory, sqlCountMemory: &w.countMemory, sqlEvictMemory: &w.evictFirst,
		sqlPruneNewest: &w.pruneNewest, sqlEvictNewest: &w.evictNewest,
	}
}

// tx runs fn in one transaction. After an error the transaction is rolled back, unless SQLite did so itself; whether a failed
// COMMIT took effect is not known here.
func (w *writer) tx(fn func() error) error {
	if _, err := w.begin.run(); err != nil {
		return fmt.Errorf("cannot begin: %w", err)
	}
	err := fn()
	if err == nil {
		if err = w.atCommit(); err == nil {
			return nil
		}
		err = fmt.Errorf("cannot commit: %w", err)
	}
	w.forget()
	_, _ = w.rollback.run() // "no transaction is active" is the usual answer; if one stays open, the next BEGIN breaks the store
	return err
}

// forget empties the row collectors after a transaction that did not get through.
func (w *writer) forget() {
	for _, b := range []*bulk{&w.journal, &w.outbox, &w.record, &w.memory} {
		b.args, b.rows, b.changed = b.args[:0], 0, 0
	}
}

// framesWritten returns the number of pages that this connection put into the log since the last call.
func (w *writer) framesWritten() int {
	n, _, err := w.raw.Status(sqlite.DBStatusCacheWrite, true)
	if err != nil {
		return 0
	}
	return n
}

// bulkRows is the number of rows of the wide statement; measured in docs/store.md.
const bulkRows = 16

type table struct {
	name     string
	columns  []string
	conflict string
}

func (t table) insert(rows int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", len(t.columns)), ",") + ")"
	return "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ",") + ") VALUES " +
		strings.TrimSuffix(strings.Repeat(row+",", rows), ",") + " ON CONFLICT " + t.conflict
}

// bulk collects rows for one table and writes them in wide statements, in order.
type bulk struct {
	one, many     *stmt
	columns       int
	args          []driver.Value
	rows, changed int64 // since take
}

func (c *conn) bulk(t table) (bulk, error) {
	one, err := c.prepare(t.insert(1))
	if err != nil {
		return bulk{}, err
	}
	many, err := c.prepare(t.insert(bulkRows))
	return bulk{one: one, many: many, columns: len(t.columns)}, err
}

func (b *bulk) add(row ...driver.Value) error {
	b.args = append(b.args, row...)
	b.rows++
	if len(b.args) < b.columns*bulkRows {
		return nil
	}
	n, err := b.many.run(b.args...)
	b.args = b.args[:0]
	b.changed += n
	return err
}

// flush writes what is left, so that a statement after it sees every row.
func (b *bulk) flush() error {
	for at := 0; at < len(b.args); at += b.columns {
		n, err := b.one.run(b.args[at : at+b.columns]...)
		if err != nil {
			return err
		}
		b.changed += n
	}
	b.args = b.args[:0]
	return nil
}

// take flushes and tells whether some row was there before.
func (b *bulk) take() (duplicates bool, err error) {
	if err := b.flush(); err != nil {
		return false, err
	}
	duplicates = b.changed < b.rows
	b.rows, b.changed = 0, 0
	return duplicates, nil
}
