package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

const (
	pageSize    = 4096 // a page of eMMC and of the page cache; measured against 1, 2 and 8 KiB in docs/store.md
	readerCount = 2
	busyMS      = 5_000 // only another process can hold a lock: a field engineer's shell
)

// setting is one thing that every connection must have: how it is asked for in the DSN, and what it must read back as.
type setting struct {
	key, value string // DSN parameter; key "_pragma" takes "name(value)"
	read, want string // PRAGMA to read back and its text; "" if a probe checks it
}

// The settings of every connection. Each is in the DSN, since a statement would reach one connection only.
var common = []setting{
	{"_busy_timeout", strconv.Itoa(busyMS), "busy_timeout", strconv.Itoa(busyMS)},
	{"_foreign_keys", "1", "foreign_keys", "1"},
	{"_defensive", "1", "", ""},
	{"_dqs", "0", "", ""},
	{"_pragma", "cell_size_check(1)", "cell_size_check", "1"}, // finds a damaged page when it is read, not later
	{"_pragma", "trusted_schema(0)", "trusted_schema", "0"},
	{"_pragma", "temp_store(2)", "temp_store", "2"},
	{"_error_rc", "1", "", ""},
}

// writing is what the one writer has on top.
func writing(maxPages int64) []setting {
	return []setting{
		{"_txlock", "immediate", "", ""},
		{"_pragma", fmt.Sprintf("page_size(%d)", pageSize), "page_size", strconv.Itoa(pageSize)},
		{"_journal_mode", "WAL", "journal_mode", "wal"},
		{"_synchronous", "FULL", "synchronous", "2"},          // below FULL a power cut loses acknowledged rows
		{"_pragma", "secure_delete(1)", "secure_delete", "1"}, // what goes is written over: a robot is sold, a card is read
		{"_pragma", "wal_autocheckpoint(0)", "wal_autocheckpoint", "0"},
		{"_pragma", "journal_size_limit(-1)", "journal_size_limit", "-1"}, // the log keeps its size: no metadata to sync
		{"_pragma", fmt.Sprintf("max_page_count(%d)", maxPages), "", ""},  // a file that is larger already wins; see quota
	}
}

// reading is what the readers have on top. They never convert the file, so that they may look at one whose state is unknown.
var reading = []setting{
	{"mode", "ro", "", ""},
	{"_query_only", "1", "query_only", "1"},
}

// dsn makes the file: URI; in a plain path the driver drops the query.
func dsn(path string, settings []setting) string {
	q := make([]string, len(settings))
	for i, s := range settings {
		q[i] = s.key + "=" + url.QueryEscape(s.value)
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.Join(q, "&")
}

// verify reads every setting back. A mismatch is no start: a store that is less durable than it claims looks healthy for years.
func (c *conn) verify(settings []setting) error {
	var faults []error
	for _, s := range settings {
		if s.read == "" {
			continue
		}
		v, err := c.one("PRAGMA " + s.read)
		if err != nil {
			return fmt.Errorf("cannot read setting %s: %w", s.read, err)
		}
		if got := valueText(v); got != s.want {
			faults = append(faults, fmt.Errorf("setting %s is %q, want %q", s.read, got, s.want))
		}
	}
	return errors.Join(append(faults, c.verifyDQS(), c.verifyDefensive())...)
}

// verifyDQS: with the quirk on, an unknown name in double quotes is a string.
func (c *conn) verifyDQS() error {
	if _, err := c.one(`SELECT "no_such_column"`); err == nil {
		return errors.New("setting dqs is on, want off")
	}
	return nil
}

// verifyDefensive: a defensive connection ignores writable_schema.
func (c *conn) verifyDefensive() error {
	if err := c.exec("PRAGMA writable_schema=ON"); err != nil {
		return err
	}
	v, err := c.one("PRAGMA writable_schema")
	if err != nil {
		return err
	}
	if valueText(v) != "0" {
		return errors.New("setting defensive is off, want on")
	}
	return nil
}

func valueText(v driver.Value) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return v
	case nil:
		return ""
	default:
		return fmt.Sprint(v)
	}
}

// openSettled dials and verifies.
func openSettled(path string, settings []setting) (*conn, error) {
	c, err := dial(dsn(path, settings))
	if err != nil {
		return nil, err
	}
	if err := c.verify(settings); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}
