package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"modernc.org/sqlite"
)

// conn is one connection to SQLite, used by one goroutine at a time. It stands on the driver and not on package database/sql: a
// pool would open a new connection behind our back after an error, which is what must not happen, and costs time a statement.
type conn struct {
	raw   driverConn
	stmts []*stmt
}

// driverConn is what the driver's connections can do; see the doc of sqlite.NewConnector.
type driverConn interface {
	driver.Conn
	driver.ExecerContext
	driver.ConnPrepareContext
	sqlite.FileControl
	sqlite.DBStatus
}

// None of our statements takes a context that can end: an interrupted write has an unknown outcome. Reads look at their
// caller's context between rows.
var uncancelled = context.Background()

func dial(dsn string) (*conn, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(uncancelled)
	if err != nil {
		return nil, err
	}
	raw, ok := c.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("internal error: driver connection %T lacks a method", c), c.Close())
	}
	return &conn{raw: raw}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// exec runs SQL text without arguments, once.
func (c *conn) exec(text string) error {
	_, err := c.raw.ExecContext(uncancelled, text, nil)
	return err
}

// prepare makes a statement that lives as long as the connection.
func (c *conn) prepare(text string) (*stmt, error) {
	s, err := c.raw.PrepareContext(uncancelled, text)
	if err != nil {
		return nil, fmt.Errorf("cannot prepare %q: %w", text, err)
	}
	out := &stmt{s: s.(preparedStmt)}
	c.stmts = append(c.stmts, out)
	return out, nil
}

// prepareAll fills the targets, stopping at the first error.
func (c *conn) prepareAll(texts map[string]**stmt) error {
	for text, target := range texts {
		s, err := c.prepare(text)
		if err != nil {
			return err
		}
		*target = s
	}
	return nil
}

// one runs a query that yields one value, such as PRAGMA name; nil if it yields no row.
func (c *conn) one(text string) (driver.Value, error) {
	s, err := c.raw.PrepareContext(uncancelled, text)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var out driver.Value
	tmp := &stmt{s: s.(preparedStmt)}
	err = tmp.each(uncancelled, func(row []driver.Value) error {
		out = row[0]
		return nil
	})
	return out, err
}

type preparedStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type stmt struct {
	s    preparedStmt
	args []driver.NamedValue // reused: a statement belongs to one connection, and that to one goroutine
	row  []driver.Value
}

// bind takes int64, string and []byte. Bytes are copied by the driver before the call returns.
func (s *stmt) bind(args []driver.Value) []driver.NamedValue {
	s.args = s.args[:0]
	for i, a := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s.args
}

// run executes and returns the number of rows changed.
func (s *stmt) run(args ...driver.Value) (int64, error) {
	res, err := s.s.ExecContext(uncancelled, s.bind(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// each hands every row to visit; the slice is reused, its strings and bytes are the visitor's to keep. It ends early when ctx
// ends or visit returns an error.
func (s *stmt) each(ctx context.Context, visit func(row []driver.Value) error, args ...driver.Value) (err error) {
	rows, err := s.s.QueryContext(uncancelled, s.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if n := len(rows.Columns()); len(s.row) != n {
		s.row = make([]driver.Value, n)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		switch err := rows.Next(s.row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := visit(s.row); err != nil {
			return err
		}
	}
}

// Values of a row. The tables are STRICT, so that another type in a column is damage; the zero value then fails the row's
// checksum.
func asInt(v driver.Value) int64   { n, _ := v.(int64); return n }
func asText(v driver.Value) string { s, _ := v.(string); return s }
func asBytes(v driver.Value) []byte { // never nil: a nil body means "delete"
	if b, ok := v.([]byte); ok && b != nil {
		return b
	}
	return []byte{}
}
