package reset_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"deviceagent/agent/config"
	"deviceagent/agent/durable"
	"deviceagent/agent/reset"
	"deviceagent/taskmanager"
	"deviceagent/taskmanager/store"
)

// utterance is what somebody said, and must not be found afterwards.
const utterance = "marker-utterance-bring-my-medicine"

var errCut = errors.New("power cut")

// lived fills a folder as a robot does in its life: a real store that was written and killed, one that was set aside, rooms, a kept catalog, a
// provisioned name, and what cuts have left behind.
func lived(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "agent.db")
	fill(t, path)
	for _, end := range []string{"", "-wal", "-shm"} { // a damaged one of earlier
		copyFile(t, path+end, path+".damaged-1"+end)
	}
	for name, text := range map[string]string{"rooms.json": utterance, "rooms.json.new": utterance, "agent.db.new": utterance, "factory-reset.new": "{}",
		"catalog.good-0123/operations.json": utterance, "catalog.new/operations.json": utterance, "identity/1/agent.toml": "device_id = \"rb-1\"\n",
		"identity/1/device.pem": "-----BEGIN PRIVATE KEY-----", "identity/2/key.pem": "-----BEGIN PRIVATE KEY-----", "other/notes.txt": "of another program"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("1", filepath.Join(dir, "identity", "current")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill writes a store with a row that holds the utterance, and leaves its log as a kill would.
func fill(t *testing.T, path string) {
	t.Helper()
	work := filepath.Join(t.TempDir(), "agent.db")
	st, err := store.Open(t.Context(), work, store.Options{Device: "rb-1", BallastBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := st.Commit(t.Context(), taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "wf_1", Body: []byte(utterance)}}}); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm", ".ballast"} {
		copyFile(t, work+end, path+end)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// holding lists the files below a folder in which a text is.
func holding(t *testing.T, dir, text string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(text)) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tree is every name below a folder with its bytes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			b, rerr := os.ReadFile(path)
			out[path], err = string(b), rerr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func epoch(t *testing.T, dir string) (string, bool) {
	t.Helper()
	st, err := store.Open(t.Context(), filepath.Join(dir, "agent.db"), store.Options{Device: "rb-1"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	img, err := st.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if img.SetAside != "" {
		t.Errorf("the new store thinks that an old one was damaged: %s", img.SetAside)
	}
	return img.Epoch, img.Fresh
}

// Whatever step the power is cut before, either nothing is wiped, or the next start wipes everything; and then a new store begins.
func TestAResetIsWholeAfterACutAnywhere(t *testing.T) {
	t.Cleanup(func() { durable.Step = nil })
	nothing, finished := 0, 0
	for at := 0; ; at++ {
		dir := lived(t)
		before := tree(t, dir)
		if n := len(holding(t, dir, utterance)); n < 7 {
			t.Fatalf("the utterance is in %d files: nothing is tried here", n)
		}
		left := at
		durable.Step = func(string, string) error {
			if left--; left < 0 {
				return errCut
			}
			return nil
		}
		err := reset.Ask(dir, "test", "sold", time.Now())
		asked := err == nil
		if asked {
			_, err = reset.Finish(dir)
		}
		durable.Step = nil
		if err != nil && !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		there, lerr := reset.Asked(dir)
		if lerr != nil || asked && err != nil && !there && len(holding(t, dir, utterance)) > 0 {
			t.Fatalf("cut %d: the wish is forgotten: %v", at, lerr)
		}
		report, ferr := reset.Finish(dir) // the next start
		if ferr != nil {
			t.Fatalf("cut %d: the next start: %v", at, ferr)
		}
		if !asked && !there {
			nothing++
			for path, text := range before {
				if got, err := os.ReadFile(path); filepath.Base(path) != "factory-reset.new" && (err != nil || string(got) != text) {
					t.Fatalf("cut %d: nobody was told that it is done, and %s is not as it was", at, path)
				}
			}
			continue
		}
		finished++
		if found := append(holding(t, dir, utterance), holding(t, dir, "PRIVATE KEY")...); len(found) > 0 {
			t.Fatalf("cut %d: left in %v", at, found)
		}
		if again, err := reset.Asked(dir); again || err != nil {
			t.Fatalf("cut %d: it would be reset at each start: %v", at, err)
		}
		if cfg, _, err := config.Load(config.Sources{Flags: map[string]string{"state_dir": dir}}); err != nil || cfg.DeviceID != "rb-1" {
			t.Fatalf("cut %d: the name of the device is lost: %v", at, err)
		}
		if report != nil && report.Wish.By != "test" {
			t.Fatalf("cut %d: who asked is lost: %+v", at, report.Wish)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "other", "notes.txt")); err != nil || string(b) != "of another program" {
			t.Fatalf("cut %d: what is not the agent's: %q, %v", at, b, err)
		}
		if err == nil {
			break
		}
	}
	if nothing < 3 || finished < 20 {
		t.Errorf("%d cuts before the wish and %d after it: too few to show anything", nothing, finished)
	}
}

func TestAfterAResetANewStoreBegins(t *testing.T) {
	dir := lived(t)
	old, fresh := epoch(t, dir)
	if fresh {
		t.Fatal("the store of before is none")
	}
	if r, err := reset.Finish(dir); r != nil || err != nil {
		t.Fatalf("nobody asked: %+v, %v", r, err)
	}
	for range 2 {
		if err := reset.Ask(dir, "test", "", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	r, err := reset.Finish(dir)
	if err != nil || !slices.Equal(r.Left, []string{"other"}) || !slices.Contains(r.Removed, "agent.db.damaged-1-wal") {
		t.Fatalf("%+v, %v", r, err)
	}
	if now, fresh := epoch(t, dir); now == old || !fresh {
		t.Errorf("epoch %s, it was %s; fresh: %v", now, old, fresh)
	}
}

// A link in state_dir is removed with what is the agent's by name; what it leads to is somebody else's.
func TestALinkIsNotFollowed(t *testing.T) {
	dir, outside := lived(t), t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "f"), nil, 0o600), os.Symlink(outside, filepath.Join(dir, "catalog.good-link"))); err != nil {
		t.Fatal(err)
	}
	if err := reset.Ask(dir, "test", "", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := reset.Finish(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(outside, "f")); err != nil {
		t.Error("what the link led to is gone")
	}
}

// What cannot be removed is no reset: the store must not be opened, and the next start tries again.
func TestAResetThatCannotBeFinishedIsAnError(t *testing.T) {
	dir := lived(t)
	if err := reset.Ask(dir, "test", "", time.Now()); err != nil {
		t.Fatal(err)
	}
	durable.Step = func(what, path string) error {
		if what == "remove" && strings.HasSuffix(path, "rooms.json") {
			return fs.ErrPermission
		}
		return nil
	}
	t.Cleanup(func() { durable.Step = nil })
	if _, err := reset.Finish(dir); !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("%v", err)
	}
	if asked, _ := reset.Asked(dir); !asked {
		t.Fatal("the wish is forgotten")
	}
	if found := append(holding(t, dir, utterance), holding(t, dir, "PRIVATE KEY")...); len(found) != 1 || filepath.Base(found[0]) != "rooms.json" {
		t.Errorf("one file cannot be removed, and what is left is in %v", found)
	}
}

// A full disk is a reason to reset: the wish finds room.
func TestAFullDiskCanBeReset(t *testing.T) {
	dir := lived(t)
	ballast := filepath.Join(dir, "agent.db.ballast")
	durable.Step = func(what, _ string) error {
		if _, err := os.Stat(ballast); err == nil && what == "write" {
			return syscall.ENOSPC
		}
		return nil
	}
	t.Cleanup(func() { durable.Step = nil })
	if err := reset.Ask(dir, "test", "", time.Now()); err != nil {
		t.Fatal(err)
	}
	if r, err := reset.Finish(dir); r == nil || err != nil {
		t.Fatal(r, err)
	}
}
