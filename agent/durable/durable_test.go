package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"deviceagent/agent/durable"
)

var errCut = errors.New("power cut")

// cuts runs change once for each of its steps, with the power cut before that step, and once without a cut.
func cuts(t *testing.T, change func() error, after func(t *testing.T, done bool)) {
	t.Helper()
	t.Cleanup(func() { durable.Step = nil })
	for at := 0; ; at++ {
		n := 0
		durable.Step = func(string, string) error {
			if n++; n > at {
				return errCut
			}
			return nil
		}
		err := change()
		durable.Step = nil
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		after(t, err == nil)
		if err == nil {
			if at < 3 {
				t.Fatalf("only %d steps: nothing was cut", at)
			}
			return
		}
	}
}

func TestAFileIsOldOrNew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	cuts(t, func() error { return durable.Write(path, []byte("new")) }, func(t *testing.T, done bool) {
		got, err := os.ReadFile(path)
		if err != nil || string(got) != "old" && string(got) != "new" || done && string(got) != "new" {
			t.Fatalf("%q, %v", got, err)
		}
	})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// What lies where a file is prepared is not written through: it may point to somebody else's file.
func TestALinkInTheWayIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(other, []byte("precious"), 0o600), os.Symlink(other, filepath.Join(dir, "f.new"))); err != nil {
		t.Fatal(err)
	}
	if err := durable.Write(filepath.Join(dir, "f"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(other); string(got) != "precious" {
		t.Fatalf("the other file is %q", got)
	}
}

func TestALinkIsRemovedAndNotWhatItPointsTo(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(dir, "outside", "deep")
	inside := filepath.Join(dir, "inside")
	err := errors.Join(os.MkdirAll(outside, 0o700), os.WriteFile(filepath.Join(outside, "f"), nil, 0o600), os.MkdirAll(inside, 0o700), os.Symlink(outside, filepath.Join(inside, "l")),
		durable.Remove(inside), durable.Remove(inside))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "f")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(inside); err == nil {
		t.Fatal("the folder is still there")
	}
}

func TestAFolderIsHeldByOne(t *testing.T) {
	dir := t.TempDir()
	release, err := durable.Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Hold(dir); !errors.Is(err, durable.ErrHeld) {
		t.Fatalf("held twice: %v", err)
	}
	release()
	again, err := durable.Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// What a call has returned from is on the disk, names included: the last thing it does is to make them so.
func TestNamesAreOnTheDiskWhenACallReturns(t *testing.T) {
	dir := t.TempDir()
	t.Cleanup(func() { durable.Step = nil })
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"write", func() error { return durable.Write(filepath.Join(dir, "f"), nil) }},
		{"folder", func() error { return durable.Folder(filepath.Join(dir, "d"), map[string][]byte{"a": nil, "b": nil}) }},
		{"link", func() error { return durable.Link("d", filepath.Join(dir, "l")) }},
		{"rename", func() error { return durable.Rename(filepath.Join(dir, "f"), filepath.Join(dir, "g")) }},
		{"remove", func() error { return durable.Remove(filepath.Join(dir, "d")) }},
	} {
		var last string
		durable.Step = func(what, path string) error { last = what + " " + path; return nil }
		if err := call.do(); err != nil {
			t.Fatal(err)
		}
		if last != "sync "+dir {
			t.Errorf("%s ends with %q", call.name, last)
		}
	}
}
