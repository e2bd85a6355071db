package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestF70_AStoreOfAnotherDeviceOrMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	of := func(device, machine string) Options {
		o := small
		o.Device, o.Machine = device, machine
		return o
	}
	closeAfter := func(opt Options) (epoch, aside, why string) {
		t.Helper()
		s := mustOpen(t, path, opt)
		img := mustLoad(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return img.Epoch, img.SetAside, img.AsideWhy
	}
	s := mustOpen(t, path, small) // of an earlier version: it names nobody
	mustCommit(t, s, step(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	epoch, aside, _ := closeAfter(of("rb-1", "m-1"))
	if aside != "" {
		t.Fatalf("a store that names nobody was moved to %s", aside)
	}
	for _, opt := range []Options{of("rb-1", "m-1"), of("rb-1", ""), of("", "")} { // what is not known is no other
		if again, aside, _ := closeAfter(opt); again != epoch || aside != "" {
			t.Fatalf("%+v: epoch %s, moved to %q", opt, again, aside)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path, of("rb-2", "m-1")); !errors.Is(err, ErrOtherDevice) || !strings.Contains(err.Error(), `"rb-1"`) {
		t.Fatalf("another device_id: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Fatalf("the store of another device was changed (%v)", err)
	}
	fresh, aside, why := closeAfter(of("rb-1", "m-2"))
	if fresh == epoch || aside == "" || !strings.Contains(why, "another machine") {
		t.Fatalf("a copied disk: epoch %s (was %s), moved to %q, because %q", fresh, epoch, aside, why)
	}
	if _, err := os.Stat(aside); err != nil {
		t.Fatalf("the copy is gone: %v", err)
	}
	if again, aside, _ := closeAfter(of("rb-1", "m-2")); again != fresh || aside != "" {
		t.Fatalf("the next start begins anew once more")
	}
}

// Upgrade, work, downgrade, upgrade: the older program refuses and touches nothing, the newer one finds everything.
func TestF69_UpgradeThenDowngrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	newer := append(migrations[:len(migrations):len(migrations)], migration{`CREATE TABLE extra (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`})
	with := func(steps []migration) (*Store, error) {
		return open(context.Background(), path, small.withDefaults(), steps)
	}
	s, err := with(migrations)
	if err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, step(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = with(newer); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, s, step(2))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before := takeImage(t, path, "", "-wal")
	for range 3 { // as often as a service is started again
		if _, err := with(migrations); !errors.Is(err, ErrNewerSchema) {
			t.Fatalf("the older program: %v", err)
		}
	}
	for end, data := range takeImage(t, path, "", "-wal") {
		if string(data) != string(before[end]) {
			t.Errorf("the older program changed agent.db%s", end)
		}
	}
	if s, err = with(newer); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := chain(t, s); n != 2 {
		t.Fatalf("%d steps are there, want both", n)
	}
}
