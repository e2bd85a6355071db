// Package durable changes files of state_dir so that a power cut leaves the old or the new, never a half. It promises that what a call
// has returned from is on the disk, names included, and that who holds a folder holds it alone, until its process ends. It must not know
// what the files are for.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Step hears of each change before it is made: "write", "sync", "rename", "link", "remove" or "mkdir", and the path. Its error ends the call
// there, as a power cut would. nil in the agent; a test cuts the power with it.
var Step func(what, path string) error

func step(what, path string) error {
	if Step == nil {
		return nil
	}
	return Step(what, path)
}

// Write puts a file in place, 0600: the whole of it, or what was there before.
func Write(path string, data []byte) error {
	fresh := path + ".new"
	err := errors.Join(remove(fresh), create(fresh, data)) // what a cut has left is not written over: it may be a link
	if err == nil {
		err = Rename(fresh, path)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

func create(path string, data []byte) error {
	if err := step("write", path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// Folder makes a folder, 0700, with the files in it: all of them under its name, or no folder of that name.
func Folder(path string, files map[string][]byte) error {
	fresh := path + ".new"
	err := Remove(fresh)
	if err == nil {
		err = step("mkdir", fresh)
	}
	if err == nil {
		err = os.Mkdir(fresh, 0o700)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err == nil {
			err = create(filepath.Join(fresh, name), files[name])
		}
	}
	if err == nil {
		err = Sync(fresh)
	}
	if err == nil {
		err = Rename(fresh, path)
	}
	if err != nil {
		return fmt.Errorf("cannot make %s: %w", path, err)
	}
	return nil
}

// Link lets the name path stand for target: afterwards, or still for what it stood for before.
func Link(target, path string) error {
	fresh := path + ".new"
	err := remove(fresh)
	if err == nil {
		err = step("link", fresh)
	}
	if err == nil {
		err = os.Symlink(target, fresh)
	}
	if err == nil {
		err = Rename(fresh, path)
	}
	if err != nil {
		return fmt.Errorf("cannot point %s to %s: %w", path, target, err)
	}
	return nil
}

// Rename renames within one folder.
func Rename(from, to string) error {
	if err := step("rename", to); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Sync(filepath.Dir(to))
}

// Remove removes a file, a link (and not what it points to), or a folder with all in it. What is not there is fine.
func Remove(path string) error {
	there, err := removeAll(path)
	if there && err == nil {
		err = Sync(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("cannot remove: %w", err)
	}
	return nil
}

// removeAll says whether there was anything.
func removeAll(path string) (there bool, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return true, err
		}
		for _, e := range entries {
			if _, err := removeAll(filepath.Join(path, e.Name())); err != nil {
				return true, err
			}
		}
	}
	return true, remove(path)
}

func remove(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := step("remove", path); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sync makes the names in a folder durable.
func Sync(dir string) error {
	if err := step("sync", dir); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ErrHeld says that another process holds the folder.
var ErrHeld = errors.New("another process uses it")

// Hold holds a folder until release is called or the process ends. It keeps out those who ask like this, and nobody else. Errors: ErrHeld.
// A file system without locks holds nobody out.
func Hold(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot hold %s: %w", dir, err)
	}
	err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("cannot hold %s: %w", dir, ErrHeld), d.Close())
	}
	return func() { _ = d.Close() }, nil
}
