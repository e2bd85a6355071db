package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
)

// errAbsent says that there is no store yet, and no trace that there was one.
var errAbsent = errors.New("store is not there")

// start makes the store usable: sound, of this schema, with its connections open. What is damaged is moved aside first; a file
// that a newer version or another program wrote, or that cannot be read at all, is left alone and is an error.
func (s *Store) start(ctx context.Context, steps []migration) error {
	if err := removeFiles(s.path + newSuffix); err != nil {
		return err
	}
	err := s.startSound(ctx, steps)
	if !errors.Is(err, errAbsent) && judge(err) != damages {
		return err
	}
	if derr := s.disconnect(false); derr != nil {
		return errors.Join(err, derr)
	}
	if !errors.Is(err, errAbsent) {
		s.asideWhy = err.Error()
		if s.setAside, err = moveAside(s.path); err != nil {
			return err
		}
	}
	if err := create(s.path, steps); err != nil {
		return err
	}
	s.fresh = true
	return s.startSound(ctx, steps)
}

// startSound opens what is there. An error that is errAbsent or is judged as damage lets the caller begin anew.
func (s *Store) startSound(ctx context.Context, steps []migration) error {
	if err := s.examineFile(); err != nil {
		return err
	}
	if err := examineContent(s.path, steps); err != nil {
		return err
	}
	if err := s.connect(steps); err != nil {
		return err
	}
	r := <-s.readers
	defer func() { s.readers <- r }()
	if err := r.verifyRows(ctx); err != nil {
		return err
	}
	marks, err := r.marks()
	if err != nil {
		return err
	}
	if err := s.claim(marks); err != nil {
		return err
	}
	s.epoch, s.count, s.journal, s.outbox = marks.epoch, marks.commits, marks.journal, marks.outbox
	s.forgotten.Store(marks.forgotten)
	return s.ballast.keep()
}

// claim holds the store against the device and the machine that open it, and writes them down where it does not name them.
func (s *Store) claim(m marks) error {
	switch dev, machine := m.own[metaDevice], m.own[metaMachine]; {
	case s.opt.Device != "" && dev != "" && dev != s.opt.Device:
		return fmt.Errorf("%w: it is that of %q, this device is %q: give it its name back, or move the file away to begin anew", ErrOtherDevice, dev, s.opt.Device)
	case s.opt.Machine != "" && machine != "" && machine != s.opt.Machine:
		return fmt.Errorf("%w: made on %s, this is %s", errCloned, machine, s.opt.Machine)
	}
	mine := map[string]string{}
	for key, value := range map[string]string{metaDevice: s.opt.Device, metaMachine: s.opt.Machine} {
		if value != "" && m.own[key] == "" {
			mine[key] = value
		}
	}
	if len(mine) == 0 {
		return nil
	}
	err := s.w.tx(func() error {
		for _, key := range slices.Sorted(maps.Keys(mine)) {
			if err := s.w.putMeta(key, mine[key]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && judge(err) == refuses {
		return nil // a full disk: the next start writes it
	}
	return err
}

// examineFile looks at the names only. An empty file is damage: a new store gets its name when it is complete.
func (s *Store) examineFile() error {
	info, err := os.Stat(s.path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is no regular file", ErrForeign, s.path)
	case err == nil && info.Size() == 0:
		return fmt.Errorf("%w: file is empty", errDamaged)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	for _, trace := range []string{s.path + "-wal", s.ballast.path} {
		if _, err := os.Stat(trace); err == nil {
			return fmt.Errorf("%w: file is gone, %s is there", errDamaged, trace)
		}
	}
	return errAbsent
}

// examineContent asks, over a connection that cannot write: is it ours, of a schema that we know, and is its structure whole?
func examineContent(path string, steps []migration) (err error) {
	c, err := openSettled(path, append(common[:len(common):len(common)], reading...))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	id, err := c.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	latest := int64(len(steps))
	repeated, err := c.metaSchema()
	switch {
	case err != nil && judge(err) == damages:
		return err
	case err != nil && id != applicationID: // no such table: never was a store
		return fmt.Errorf("%w: application id is %#x", ErrForeign, id)
	case err != nil:
		return fmt.Errorf("%w: cannot read its schema version: %w", errDamaged, err)
	case id != applicationID:
		return fmt.Errorf("%w: application id is %#x", errDamaged, id)
	case repeated != version:
		return fmt.Errorf("%w: schema version is %d in the header and %d in the table", errDamaged, version, repeated)
	case version > latest:
		return fmt.Errorf("%w: schema %d, this version knows %d", ErrNewerSchema, version, latest)
	}
	if err := c.compareSchema(steps[:version]); err != nil {
		return err
	}
	verdict, err := c.one("PRAGMA quick_check(1)")
	if err != nil {
		return err
	}
	if text := valueText(verdict); text != "ok" {
		return fmt.Errorf("%w: quick_check: %s", errDamaged, text)
	}
	return nil
}

func (c *conn) metaSchema() (int64, error) {
	v, err := c.one("SELECT value FROM meta WHERE key='" + metaSchema + "'")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(valueText(v), 10, 64)
}

const sqlSchema = `SELECT group_concat(type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, ''), char(10))
	FROM (SELECT * FROM sqlite_schema ORDER BY type, name)`

// compareSchema compares the schema with what the migrations make: a flipped bit in it renames a column.
func (c *conn) compareSchema(steps []migration) (err error) {
	model, err := dial("file::memory:")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.close()) }()
	if err := model.migrate(steps); err != nil {
		return err
	}
	want, err := model.one(sqlSchema)
	if err != nil {
		return err
	}
	got, err := c.one(sqlSchema)
	if err == nil && asText(got) != asText(want) {
		err = fmt.Errorf("%w: its schema is not what version %d makes", errDamaged, len(steps))
	}
	return err
}

// connect opens the writer, which migrates, and the readers.
func (s *Store) connect(steps []migration) error {
	w, err := openWriter(s.path, s.opt.MaxPages, steps)
	if err != nil {
		return err
	}
	s.w = w
	if s.frames, err = w.logLength(); err != nil {
		return err
	}
	for range readerCount {
		r, err := openReader(s.path)
		if err != nil {
			return err
		}
		s.opened++
		s.readers <- r
	}
	return nil
}

// create makes a complete new store under another name and gives it its name last, so that a cut leaves none or a whole one.
func create(path string, steps []migration) error {
	tmp := path + newSuffix
	c, err := openSettled(tmp, append(common[:len(common):len(common)], writing(1<<20)...))
	if err != nil {
		return err
	}
	if err := errors.Join(c.migrate(steps), c.close()); err != nil { // the close copies the log back and removes it
		return err
	}
	if err := os.Chmod(tmp, 0o600); err != nil { // plans are private; log and index take the mode of the file
		return err
	}
	if err := syncFile(tmp); err != nil {
		return err
	}
	if err := rename(tmp, path); err != nil {
		return err
	}
	return syncDir(path)
}
