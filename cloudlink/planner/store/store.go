// Package store keeps what the planner endpoint must not forget: messages from devices, what was sent down, workflows and turns,
// in one SQLite file. It promises that an Update which returned nil survives a power cut, and that a message is kept once per
// device and id. It decides nothing about states and knows no wire format: it holds bytes and columns. Nobody else may open the
// file in this process (an unrelated close would drop SQLite's locks).
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// ErrNotFound says that no row has this key.
var ErrNotFound = errors.New("not found")

// Store is an open database. Its methods may be called by several goroutines; writes come one after the other.
type Store struct {
	write *sql.DB // one connection: SQLite has one writer, and a queue here is better than BUSY there
	read  *sql.DB // at most two, mode=ro
}

// settings is what a connection must answer; read back at start, since a DSN key with a typo is silently ignored by SQLite.
var settings = []struct{ pragma, want string }{
	{"journal_mode", "wal"},
	{"synchronous", "2"}, // FULL: below it acknowledged rows are lost in a power cut
	{"foreign_keys", "1"},
	{"busy_timeout", "5000"},
}

// dsn builds the address of the database. Settings are in it because db.Exec("PRAGMA …") reaches one pooled connection only.
func dsn(path string, readOnly bool) string {
	q := url.Values{
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"1"},
		"_busy_timeout": {"5000"},
		"_defensive":    {"1"},
		"_dqs":          {"0"},
	}
	if readOnly {
		q.Set("mode", "ro")
	} else {
		q.Set("_journal_mode", "WAL")
		q.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", Path: path, OmitHost: true, RawQuery: q.Encode()}).String()
}

// Open opens or makes the database at path, checks it, and migrates it. The folder must exist. A damaged file or one of a newer
// version is an error and is left as it is.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cannot name planner database: %w", err)
	}
	sqlite.StrictPragmas(true)
	s := &Store{}
	if s.write, err = sql.Open("sqlite", dsn(path, false)); err != nil {
		return nil, fmt.Errorf("cannot open planner database: %w", err)
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = sql.Open("sqlite", dsn(path, true)); err != nil {
		_ = s.write.Close()
		return nil, fmt.Errorf("cannot open planner database for reading: %w", err)
	}
	s.read.SetMaxOpenConns(2)
	if err := s.prepare(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("cannot use planner database %s: %w", path, err)
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	if err := verify(ctx, s.write); err != nil {
		return err
	}
	var verdict string
	if err := s.write.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return fmt.Errorf("cannot check integrity: %w", err)
	}
	if verdict != "ok" {
		return fmt.Errorf("integrity check failed: %s", verdict)
	}
	if err := migrate(ctx, s.write); err != nil {
		return err
	}
	return verify(ctx, s.read)
}

func verify(ctx context.Context, db *sql.DB) error {
	for _, set := range settings {
		var got string
		if err := db.QueryRowContext(ctx, "PRAGMA "+set.pragma).Scan(&got); err != nil {
			return fmt.Errorf("cannot read setting %s: %w", set.pragma, err)
		}
		if !strings.EqualFold(got, set.want) {
			return fmt.Errorf("setting %s is %q, want %q", set.pragma, got, set.want)
		}
	}
	return nil
}

// Close closes the database. Correctness does not need it.
func (s *Store) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// Update runs do in one write transaction and commits it. When it returns nil, all of it is on disk; when do fails, none of it.
// An error of the commit itself leaves the outcome unknown: the caller must stop and read back. Writes are not cancelled by ctx:
// a cancelled write has an unknown outcome too.
func (s *Store) Update(ctx context.Context, do func(*Tx) error) error {
	return run(context.WithoutCancel(ctx), s.write, nil, do)
}

// View runs do over one consistent snapshot. do copies what it needs and returns soon: an open reader keeps the WAL growing.
func (s *Store) View(ctx context.Context, do func(*Tx) error) error {
	return run(ctx, s.read, &sql.TxOptions{ReadOnly: true}, do)
}

func run(ctx context.Context, db *sql.DB, opt *sql.TxOptions, do func(*Tx) error) error {
	tx, err := db.BeginTx(ctx, opt)
	if err != nil {
		return fmt.Errorf("cannot begin transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := do(&Tx{ctx: ctx, tx: tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("cannot commit: %w", err)
	}
	return nil
}

// Tx is one transaction, valid inside the function that got it. It carries its context because it never outlives the call.
type Tx struct {
	ctx context.Context
	tx  *sql.Tx
}

func (t *Tx) exec(query string, args ...any) (int64, error) {
	res, err := t.tx.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// scanner is a row, or the current one of rows.
type scanner interface{ Scan(dest ...any) error }

func one[T any](t *Tx, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	v, err := scan(t.tx.QueryRowContext(t.ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return v, err
}

func many[T any](t *Tx, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}
