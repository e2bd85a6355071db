package store

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// applicationID marks the file as ours in its header: "DvAg".
const applicationID = 0x44764167

// migration brings the schema from one version to the next. Its statements and the new version number are one transaction, so
// that a power cut leaves the old schema or the new one. A released migration is never changed; a new one is added at the end.
type migration []string

// migrations in order: migrations[0] makes version 1.
var migrations = []migration{schemaV1}

// schemaV1. Every table is clustered by its key and STRICT; the tables that a running step touches (journal, record) have no
// second index, since each dirty page is 4 KiB to sync. crc covers all other columns of the row. Times are Unix milliseconds.
var schemaV1 = migration{
	`CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, crc INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
	// Open records only: a start reads this table and nothing of the finished work.
	`CREATE TABLE record (workflow TEXT, item TEXT, body BLOB NOT NULL, crc INTEGER NOT NULL,
		PRIMARY KEY (workflow, item)) STRICT, WITHOUT ROWID`,
	// Records of finished workflows.
	`CREATE TABLE done (workflow TEXT, item TEXT, body BLOB NOT NULL, crc INTEGER NOT NULL,
		PRIMARY KEY (workflow, item)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE finished (workflow TEXT PRIMARY KEY, closed_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
	`CREATE INDEX finished_by_time ON finished (closed_ms)`,
	// INTEGER PRIMARY KEY is the clustering key itself, and new rows go to the end.
	`CREATE TABLE journal (seq INTEGER PRIMARY KEY, boot_ms INTEGER NOT NULL, wall_ms INTEGER NOT NULL, boot_id TEXT NOT NULL,
		kind TEXT NOT NULL, workflow TEXT NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL) STRICT`,
	`CREATE TABLE outbox (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, class TEXT NOT NULL,
		workflow TEXT NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL) STRICT`,
	`CREATE TABLE memory (key TEXT PRIMARY KEY, hash TEXT NOT NULL, answer BLOB NOT NULL, expire_ms INTEGER NOT NULL,
		crc INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
	`CREATE INDEX memory_by_expiry ON memory (expire_ms)`,
}

// Keys of table meta that the store itself writes; the user's keys get userPrefix, so that the two never meet.
const (
	metaEpoch     = "store_epoch"
	metaSchema    = "schema"       // repeats user_version: one flipped bit in the header must not look like a newer schema
	metaCount     = "commit_no"    // of the last commit that had no new journal row to be recognised by
	metaOutbox    = "outbox_seq"   // highest ever, written when rows go
	metaForgotten = "forgotten_ms" // newest expiry of a pruned key of the id memory
	metaDevice    = "device"       // whose store it is
	metaMachine   = "machine"      // the hardware that it was made on
	userPrefix    = "u:"
)

// migrate brings the schema of the writer's file up to date, one version a transaction. A new file gets its epoch with version 1.
func (c *conn) migrate(steps []migration) error {
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	for v := version; v < int64(len(steps)); v++ {
		if err := c.step(v+1, steps[v]); err != nil {
			return fmt.Errorf("cannot migrate store from schema %d to %d: %w", v, v+1, err)
		}
	}
	return nil
}

func (c *conn) step(version int64, m migration) error {
	texts := append([]string{"BEGIN IMMEDIATE"}, m...)
	if version == 1 {
		texts = append(texts, fmt.Sprintf("PRAGMA application_id=%d", applicationID), putMetaText(metaEpoch, uuid.NewString()))
	}
	texts = append(texts, fmt.Sprintf("PRAGMA user_version=%d", version),
		putMetaText(metaSchema, strconv.FormatInt(version, 10)), "COMMIT")
	for _, text := range texts {
		if err := c.exec(text); err != nil {
			_ = c.exec("ROLLBACK") // the cause counts; if the transaction stays open the connection is closed with it
			return err
		}
	}
	return nil
}

// putMetaText is for migrations, which run before statements can be prepared. Neither value comes from outside.
func putMetaText(key, value string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	return fmt.Sprintf("INSERT INTO meta (key, value, crc) VALUES (%s, %s, %d) ON CONFLICT (key) DO UPDATE SET value=excluded.value, crc=excluded.crc",
		quote(key), quote(value), metaSum(new(summer), key, value))
}

func metaSum(s *summer, key, value string) int64 { return s.text(key).text(value).sum() }

func (c *conn) number(text string) (int64, error) {
	v, err := c.one(text)
	return asInt(v), err
}
