package store

import (
	"context"
	"database/sql"
	"fmt"
)

// migrations are the steps from an empty file to the present form; user_version counts those that are done. A released one is
// never changed. Times are integers in milliseconds since 1970.
var migrations = []string{
	`CREATE TABLE devices (
		device_id  TEXT PRIMARY KEY,
		epoch      TEXT NOT NULL DEFAULT '',
		conn_start INTEGER NOT NULL DEFAULT 0,
		conn_no    INTEGER NOT NULL DEFAULT 0,
		online     INTEGER NOT NULL DEFAULT 0,
		hello_at   INTEGER NOT NULL DEFAULT 0,
		seen_at    INTEGER NOT NULL DEFAULT 0,
		next_seq   INTEGER NOT NULL DEFAULT 1,
		status     BLOB
	) STRICT;
	CREATE TABLE epochs (
		device_id TEXT NOT NULL,
		epoch     TEXT NOT NULL,
		first_at  INTEGER NOT NULL,
		PRIMARY KEY (device_id, epoch)
	) STRICT, WITHOUT ROWID;
	CREATE TABLE messages (
		row         INTEGER PRIMARY KEY,
		device_id   TEXT NOT NULL,
		id          TEXT NOT NULL,
		type        TEXT NOT NULL DEFAULT '',
		workflow_id TEXT NOT NULL DEFAULT '',
		ref_id      TEXT NOT NULL DEFAULT '',
		epoch       TEXT NOT NULL DEFAULT '',
		seq         INTEGER NOT NULL DEFAULT 0,
		received_at INTEGER NOT NULL,
		repeats     INTEGER NOT NULL DEFAULT 0,
		fault       TEXT NOT NULL DEFAULT '',
		size        INTEGER NOT NULL,
		payload     BLOB NOT NULL,
		UNIQUE (device_id, id)
	) STRICT;
	CREATE INDEX messages_workflow ON messages (workflow_id, row) WHERE workflow_id != '';
	CREATE INDEX messages_fault ON messages (device_id, row) WHERE fault != '';
	CREATE INDEX messages_age ON messages (received_at);
	CREATE TABLE workflows (
		workflow_id TEXT PRIMARY KEY,
		device_id   TEXT NOT NULL,
		plan_id     TEXT NOT NULL,
		turn_id     TEXT NOT NULL DEFAULT '',
		created_at  INTEGER NOT NULL,
		status      TEXT NOT NULL DEFAULT '',
		result      BLOB,
		result_at   INTEGER NOT NULL DEFAULT 0
	) STRICT;
	CREATE INDEX workflows_device ON workflows (device_id, created_at);
	CREATE TABLE down (
		id            TEXT PRIMARY KEY,
		device_id     TEXT NOT NULL,
		seq           INTEGER NOT NULL,
		type          TEXT NOT NULL,
		workflow_id   TEXT NOT NULL DEFAULT '',
		revision      INTEGER NOT NULL DEFAULT 0,
		state         TEXT NOT NULL,
		epoch         TEXT NOT NULL DEFAULT '',
		created_at    INTEGER NOT NULL,
		expires_at    INTEGER NOT NULL DEFAULT 0,
		first_sent_at INTEGER NOT NULL DEFAULT 0,
		answered_at   INTEGER NOT NULL DEFAULT 0,
		reason_code   TEXT NOT NULL DEFAULT '',
		envelope      BLOB NOT NULL,
		ack           BLOB,
		UNIQUE (device_id, seq)
	) STRICT;
	CREATE INDEX down_open ON down (device_id, seq) WHERE state IN ('queued', 'sent');
	CREATE INDEX down_workflow ON down (workflow_id, seq);
	CREATE TABLE turns (
		turn_id     TEXT PRIMARY KEY,
		device_id   TEXT NOT NULL,
		created_at  INTEGER NOT NULL,
		idem_key    TEXT UNIQUE,
		request_sha TEXT NOT NULL,
		workflow_id TEXT NOT NULL DEFAULT '',
		model_calls INTEGER NOT NULL DEFAULT 0,
		http_status INTEGER NOT NULL,
		answer      BLOB NOT NULL
	) STRICT;`,
	`CREATE INDEX workflows_open ON workflows (device_id, created_at, workflow_id) WHERE status = '';
	CREATE INDEX workflows_age ON workflows (created_at);
	CREATE INDEX turns_age ON turns (created_at);
	CREATE INDEX down_age ON down (created_at) WHERE workflow_id = '';`,
	`ALTER TABLE messages ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
	CREATE INDEX messages_held ON messages (device_id, epoch, seq) WHERE held = 1;
	CREATE TABLE up_order (
		device_id TEXT NOT NULL,
		epoch     TEXT NOT NULL,
		next_seq  INTEGER NOT NULL,
		PRIMARY KEY (device_id, epoch)
	) STRICT, WITHOUT ROWID;
	ALTER TABLE devices ADD COLUMN unreadable INTEGER NOT NULL DEFAULT 0;`,
	`CREATE INDEX turns_device ON turns (device_id, created_at);
	CREATE INDEX workflows_ended ON workflows (device_id, result_at) WHERE status != '';`,
	`CREATE TABLE schedules (
		workflow_id TEXT PRIMARY KEY,
		device_id   TEXT NOT NULL,
		created_at  INTEGER NOT NULL,
		note        BLOB
	) STRICT;
	CREATE INDEX schedules_device ON schedules (device_id, created_at, workflow_id);
	INSERT INTO schedules (workflow_id, device_id, created_at) SELECT w.workflow_id, w.device_id, w.created_at FROM workflows w WHERE EXISTS (
		SELECT 1 FROM down d WHERE d.workflow_id = w.workflow_id AND d.type = 'plan' AND CAST(d.envelope AS TEXT) LIKE '%"schedule":{%');
	CREATE TABLE slots (
		device_id TEXT PRIMARY KEY,
		turn_id   TEXT NOT NULL,
		asked_at  INTEGER NOT NULL,
		slots     BLOB NOT NULL
	) STRICT, WITHOUT ROWID;`,
	`CREATE TABLE cloud_steps (
		device_id   TEXT NOT NULL,
		task_id     TEXT NOT NULL,
		workflow_id TEXT NOT NULL,
		step_id     TEXT NOT NULL,
		skill       TEXT NOT NULL,
		session_id  TEXT NOT NULL DEFAULT '',
		locale      TEXT NOT NULL DEFAULT '',
		inputs      BLOB NOT NULL,
		state       TEXT NOT NULL,
		reason_code TEXT NOT NULL DEFAULT '',
		due_at      INTEGER NOT NULL,
		ends_at     INTEGER NOT NULL DEFAULT 0,
		wake_at     INTEGER NOT NULL DEFAULT 0,
		ended_at    INTEGER NOT NULL DEFAULT 0,
		talk        BLOB,
		PRIMARY KEY (device_id, task_id)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX cloud_steps_due ON cloud_steps (due_at) WHERE state = 'due';
	CREATE INDEX cloud_steps_awake ON cloud_steps (wake_at) WHERE wake_at > 0;
	CREATE INDEX cloud_steps_workflow ON cloud_steps (device_id, workflow_id);
	CREATE INDEX cloud_steps_age ON cloud_steps (due_at);
	CREATE TABLE agent_memory (
		device_id TEXT PRIMARY KEY,
		value     BLOB NOT NULL
	) STRICT, WITHOUT ROWID;`,
	`CREATE TABLE memos (
		id         TEXT PRIMARY KEY,
		device_id  TEXT NOT NULL,
		turn_id    TEXT NOT NULL DEFAULT '',
		created_at INTEGER NOT NULL,
		body       BLOB NOT NULL
	) STRICT;
	CREATE INDEX memos_device ON memos (device_id, created_at, id);
	CREATE TABLE offers (
		device_id TEXT NOT NULL,
		key       TEXT NOT NULL,
		made_at   INTEGER NOT NULL,
		PRIMARY KEY (device_id, key)
	) STRICT, WITHOUT ROWID;`,
	`CREATE TABLE experiences (
		experience_id TEXT NOT NULL,
		workflow_id   TEXT NOT NULL,
		created_at    INTEGER NOT NULL,
		PRIMARY KEY (experience_id, workflow_id)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX experiences_workflow ON experiences (workflow_id);`,
	`CREATE INDEX cloud_steps_telling ON cloud_steps (device_id, due_at) WHERE state = 'telling';`,
	`ALTER TABLE schedules ADD COLUMN over_at INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE schedules ADD COLUMN ended_at INTEGER NOT NULL DEFAULT 0;
	CREATE INDEX schedules_live ON schedules (device_id, created_at, workflow_id) WHERE ended_at = 0;`,
	`CREATE INDEX down_controls ON down (device_id, seq) WHERE workflow_id = '' AND type = 'control';`,
}

// migrate brings the file to the present form, each step in its own transaction, so a cut leaves the old form or the new one.
func migrate(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("cannot read schema version: %w", err)
	}
	if version > len(migrations) {
		return fmt.Errorf("schema version %d is newer than %d: this file was written by a later plannerd", version, len(migrations))
	}
	for n := version; n < len(migrations); n++ {
		err := run(ctx, db, nil, func(t *Tx) error {
			if _, err := t.exec(migrations[n]); err != nil {
				return err
			}
			_, err := t.exec(fmt.Sprintf("PRAGMA user_version = %d", n+1))
			return err
		})
		if err != nil {
			return fmt.Errorf("cannot migrate schema to version %d: %w", n+1, err)
		}
	}
	return nil
}
