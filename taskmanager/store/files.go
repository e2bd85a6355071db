package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	newSuffix     = ".new"     // a store that is being made
	damagedSuffix = ".damaged" // followed by -N, and the usual ends of the log and its index
	ballastSuffix = ".ballast"
	keepDamaged   = 8 // sets; a medium that damages its files each day must not fill itself with them
)

// siblings are the ends of the names that make one database.
var siblings = []string{"", "-wal", "-shm"}

// moveAside renames the database and its log, so that both still fit each other, and returns the new name. If there is no file
// left to move it returns path itself: something was there, and it is gone.
//
// The file goes first: a cut after it leaves a log without a file, which is found as damage. A file without its log could be sound, and
// old: the next start would go on from it in silence.
func moveAside(path string) (string, error) {
	name, err := freeName(path)
	if err != nil {
		return "", err
	}
	moved := false
	for _, end := range siblings {
		err := rename(path+end, name+end)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("cannot set damaged store aside: %w", err)
		}
		moved = moved || err == nil
	}
	if err := syncDir(path); err != nil {
		return "", err
	}
	if !moved {
		return path, nil
	}
	return name, nil
}

// freeName finds the next number and removes the set that is keepDamaged older.
func freeName(path string) (string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	prefix, last := filepath.Base(path)+damagedSuffix+"-", 0
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		n := 0
		if _, err := fmt.Sscanf(rest, "%d", &n); err == nil {
			last = max(last, n)
		}
	}
	full := func(n int) string { return fmt.Sprintf("%s%s-%d", path, damagedSuffix, n) }
	if old := last + 1 - keepDamaged; old > 0 {
		if err := removeFiles(full(old)); err != nil {
			return "", err
		}
	}
	return full(last + 1), nil
}

// removeFiles removes a database of which nobody needs anything; what is not there is fine.
func removeFiles(path string) error {
	for _, end := range append([]string{"-journal"}, siblings...) {
		if err := remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// done hears of each thing that this package did to a file beside SQLite: "write", "sync", "rename", "remove" or "sync names" of the
// directory. nil in the agent; the power-cut replay records it.
var done func(what, path, to string, at int64, data []byte)

func told(err error, what, path, to string, at int64, data []byte) error {
	if err == nil && done != nil {
		done(what, path, to, at, data)
	}
	return err
}

func rename(path, to string) error { return told(os.Rename(path, to), "rename", path, to, 0, nil) }
func remove(path string) error     { return told(os.Remove(path), "remove", path, "", 0, nil) }
func syncFile(path string) error   { return told(syncPath(path), "sync", path, "", 0, nil) }

// syncDir makes the names in path's directory durable.
func syncDir(path string) error {
	return told(syncPath(filepath.Dir(path)), "sync names", path, "", 0, nil)
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
