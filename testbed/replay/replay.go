// Package replay runs what a device recorded through this program once more: a store as it lies in the device's state folder, or a
// dump of its journal. It promises to leave what it is given as it is: it works on a copy. It decides nothing; package taskmanager
// compares. Contract: docs/store.md, journal.
package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"deviceagent/bridge/catalogfile"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/store"
)

// pageRows is how many rows are read at a time.
const pageRows = 1000

// sqlite is how a store's file begins.
var sqlite = []byte("SQLite format 3\x00")

// line is one line of a dump: a row of the journal, or an open record as it was in the end.
type line struct {
	Row    *taskmanager.JournalRow `json:"row,omitempty"`
	Record *taskmanager.Record     `json:"record,omitempty"`
}

// Catalog reads the catalog that a device ran with: that of a folder, or the default one where dir is "".
func Catalog(dir string) (*catalog.Catalog, error) {
	files := fs.FS(defaults.Files)
	if dir != "" {
		files = os.DirFS(dir)
	}
	cat, _, err := catalogfile.Load(files)
	return cat, err
}

// Run replays the journal at path. Errors are those of [taskmanager.Replay], or the file cannot be read.
func Run(ctx context.Context, path string, cat *catalog.Catalog) (taskmanager.Replayed, error) {
	return Look(ctx, path, cat, nil)
}

// Look is Run that shows each state on the way to look, which keeps nothing of it.
func Look(ctx context.Context, path string, cat *catalog.Catalog, look func(*core.State)) (taskmanager.Replayed, error) {
	rec, done, err := open(ctx, path)
	if err != nil {
		return taskmanager.Replayed{}, err
	}
	defer done()
	rec.Catalog, rec.Look = cat, look
	return taskmanager.Replay(rec)
}

// Dump writes the journal of a store, and its open records, as lines of JSON: what a report of a fault can carry.
func Dump(ctx context.Context, path string, to io.Writer) error {
	rec, done, err := open(ctx, path)
	if err != nil {
		return err
	}
	defer done()
	out := json.NewEncoder(to)
	for row, err := range rec.Rows {
		if err == nil {
			err = out.Encode(line{Row: &row})
		}
		if err != nil {
			return fmt.Errorf("cannot dump %s: %w", path, err)
		}
	}
	for _, r := range rec.Final {
		if err := out.Encode(line{Record: &r}); err != nil {
			return fmt.Errorf("cannot dump %s: %w", path, err)
		}
	}
	return nil
}

// open reads what path is: a store or a dump.
func open(ctx context.Context, path string) (taskmanager.Recording, func(), error) {
	f, err := os.Open(path)
	if err != nil {
		return taskmanager.Recording{}, nil, fmt.Errorf("cannot open the journal: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(sqlite))
	if _, err := io.ReadFull(f, head); err == nil && bytes.Equal(head, sqlite) {
		return openStore(ctx, path)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return taskmanager.Recording{}, nil, fmt.Errorf("cannot read the journal: %w", err)
	}
	rec, err := readDump(f)
	return rec, func() {}, err
}

// openStore opens a store for a replay.
func openStore(ctx context.Context, path string) (rec taskmanager.Recording, done func(), err error) {
	s, img, done, err := opened(ctx, path)
	if err != nil {
		return rec, nil, err
	}
	return taskmanager.Recording{Rows: rowsOf(ctx, s), Final: append([]taskmanager.Record{}, img.Records...)}, done, nil
}

// Workflows reads all work of a store, open and finished, and names what cannot be read. Finished work is found by the journal: what
// that has no row of any more, and what a schedule has begun, is not among it.
func Workflows(ctx context.Context, path string) (all []*core.Workflow, aside []string, err error) {
	s, img, done, err := opened(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	records, seen := img.Records, map[string]bool{}
	for row, err := range rowsOf(ctx, s) {
		if err != nil {
			return nil, nil, err
		}
		if id := row.Workflow; id != "" && !seen[id] {
			seen[id] = true
			finished, ok, err := s.Finished(ctx, id)
			if err != nil {
				return nil, nil, err
			}
			if ok {
				records = append(records, finished...)
			}
		}
	}
	d := taskmanager.DecodeRecords(records)
	return d.Workflows, d.SetAside, nil
}

// opened opens a copy: what is open at a device is not to be touched, and a store that is opened is brought up to date.
func opened(ctx context.Context, path string) (s *store.Store, img taskmanager.Image, done func(), err error) {
	dir, err := os.MkdirTemp("", "replay-")
	if err != nil {
		return nil, img, nil, fmt.Errorf("cannot copy the store: %w", err)
	}
	closed := func() error { return nil }
	done = func() { _ = errors.Join(closed(), os.RemoveAll(dir)) }
	defer func() {
		if err != nil {
			done()
		}
	}()
	copied := filepath.Join(dir, "agent.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if suffix != "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(copied+suffix, b, 0o600)
		}
		if err != nil {
			return nil, img, nil, fmt.Errorf("cannot copy the store: %w", err)
		}
	}
	s, err = store.Open(ctx, copied, store.Options{BallastBytes: -1})
	if err != nil {
		return nil, img, nil, err
	}
	closed = s.Close
	img, err = s.Load(ctx)
	if err != nil {
		return nil, img, nil, err
	}
	if img.SetAside != "" {
		return nil, img, nil, fmt.Errorf("cannot replay %s: the store is damaged", path)
	}
	return s, img, done, nil
}

// rowsOf reads the journal of a store page by page.
func rowsOf(ctx context.Context, s *store.Store) iter.Seq2[taskmanager.JournalRow, error] {
	return func(yield func(taskmanager.JournalRow, error) bool) {
		for from := int64(0); ; {
			rows, err := s.Journal(ctx, from, pageRows)
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
				from = row.Seq + 1
			}
			if err != nil {
				yield(taskmanager.JournalRow{}, err)
				return
			}
			if len(rows) < pageRows {
				return
			}
		}
	}
}

func readDump(f io.Reader) (rec taskmanager.Recording, err error) {
	var rows []taskmanager.JournalRow
	in := json.NewDecoder(bufio.NewReader(f))
	for n := 1; ; n++ {
		var l line
		err := in.Decode(&l)
		switch {
		case errors.Is(err, io.EOF):
			rec.Rows = taskmanager.RowsOf(rows)
			return rec, nil
		case err != nil:
			return rec, fmt.Errorf("cannot read line %d: %w (a journal is a store file, or what testbed replay --dump has written)", n, err)
		case l.Row != nil:
			rows = append(rows, *l.Row)
		case l.Record != nil:
			rec.Final = append(rec.Final, *l.Record)
		}
	}
}
