package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"deviceagent/taskmanager"

	sqlite3 "modernc.org/sqlite/lib"
)

// thorough multiplies what is drawn by chance, other places each time; from 5 on every byte of the header is flipped.
var thorough = flag.Int("store.thorough", 1, "`times` as many torn logs, power cuts and flipped bits")

// image is what lies on the disk at a moment: the content of the files of a store by the end of their names.
type image map[string][]byte

func takeImage(t testing.TB, path string, ends ...string) image {
	t.Helper()
	img := image{}
	for _, end := range ends {
		data, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		img[end] = data
	}
	return img
}

// put makes a place with these files.
func (img image) put(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tasks.db")
	for end, data := range img {
		if err := os.WriteFile(path+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// chain checks that the store holds the whole steps 1 to n and no part of another, and returns n.
func chain(t *testing.T, s *Store) int64 {
	t.Helper()
	img := mustLoad(t, s)
	n := img.JournalSeq
	want := map[string][]byte{}
	for i := range n {
		for _, r := range step(i + 1).Records {
			want[r.Item] = r.Body
		}
	}
	if len(img.Records) != len(want) {
		t.Fatalf("%d records after %d steps, want %d", len(img.Records), n, len(want))
	}
	for _, r := range img.Records {
		if !bytes.Equal(r.Body, want[r.Item]) {
			t.Fatalf("record %s after %d steps is %s, want %s", r.Item, n, r.Body, want[r.Item])
		}
	}
	rows, err := s.Journal(context.Background(), 1, maxJournalRow)
	if err != nil || int64(len(rows)) != n {
		t.Fatalf("%d journal rows, want %d (%v)", len(rows), n, err)
	}
	return n
}

// TestF14TornTail: a log cut anywhere, or with garbage at its end, gives the state after a whole number of commits.
func TestF14TornTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	const steps = 6
	ends := make([]int, steps+1) // length of the log after each step
	for n := range int64(steps) {
		mustCommit(t, s, step(n+1))
		ends[n+1] = 32 + s.frames*(24+pageSize)
	}
	base := takeImage(t, path, "", "-wal")
	cuts, stride := slices.Clone(ends), 5*2053/min(*thorough, 5)
	for cut := rand.IntN(stride); cut < ends[steps]; cut += stride {
		cuts = append(cuts, cut)
	}
	for _, cut := range cuts {
		for _, garbage := range []bool{false, true} {
			torn := image{"": base[""], "-wal": bytes.Clone(base["-wal"][:cut])}
			if garbage {
				torn["-wal"] = append(torn["-wal"], bytes.Repeat([]byte{0xa5}, 9000)...)
			}
			want := int64(0)
			for n, end := range ends {
				if cut >= end {
					want = int64(n)
				}
			}
			again := mustOpen(t, torn.put(t), small)
			if img := mustLoad(t, again); img.Fresh || img.SetAside != "" {
				t.Fatalf("cut at %d: fresh %v, set aside %q", cut, img.Fresh, img.SetAside)
			}
			if got := chain(t, again); got != want {
				t.Fatalf("cut at %d of %d, garbage %v: %d steps, want %d", cut, ends[steps], garbage, got, want)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestF15BitFlip: whatever bit flips, a start shows the same content or sets the file aside; it never shows other content, and
// never fails for ever.
func TestF15BitFlip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	for n := range int64(9) {
		b := step(n + 1)
		b.Outbox = []taskmanager.OutboxRow{{Seq: n + 1, ID: fmt.Sprint("m", n), Type: "event", Body: b.Journal[0].Body}}
		b.Memory = []taskmanager.Memory{{Key: fmt.Sprint("plan:", n), Hash: "h", Answer: b.Journal[0].Body}}
		mustCommit(t, s, b)
	}
	want := mustLoad(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sound := takeImage(t, path, "")
	offsets := []int{bytes.Index(sound[""], []byte("task_id"))}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 2))
	stride := 5 / min(*thorough, 5)
	for i := rng.IntN(stride); i < 100; i += stride {
		offsets = append(offsets, i) // the header
	}
	for range 20 * *thorough {
		offsets = append(offsets, rng.IntN(len(sound[""])))
	}
	aside := 0
	for _, at := range offsets {
		bit := byte(1) << rng.IntN(8)
		flipped := image{"": bytes.Clone(sound[""])}
		flipped[""][at] ^= bit
		again, err := Open(context.Background(), flipped.put(t), small)
		if err != nil {
			t.Fatalf("seed %d, bit %#x of byte %d: %v", seed, bit, at, err)
		}
		got := mustLoad(t, again)
		switch {
		case got.SetAside != "":
			aside++
			if !got.Fresh || got.Epoch == want.Epoch || len(got.Records) != 0 {
				t.Fatalf("seed %d, byte %d: set aside, but fresh %v, same epoch %v", seed, at, got.Fresh, got.Epoch == want.Epoch)
			}
			if data, err := os.ReadFile(got.SetAside); err != nil || !bytes.Equal(data, flipped[""]) {
				t.Fatalf("seed %d, byte %d: the file set aside has changed (%v)", seed, at, err)
			}
		default:
			got.Fresh = want.Fresh
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, bit %#x of byte %d: other content, not reported", seed, bit, at)
			}
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if aside < len(offsets)/10 {
		t.Fatalf("only %d of %d flips were seen", aside, len(offsets))
	}
}

// TestF15BodyFlip: a bit inside a body is no damage to SQLite, but a plan for another room.
func TestF15BodyFlip(t *testing.T) {
	for _, table := range []string{"record", "outbox", "memory", "meta"} {
		t.Run(table, func(t *testing.T) {
			s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
			b := step(1)
			b.Outbox = []taskmanager.OutboxRow{{Seq: 1, ID: "m1", Body: []byte("room_1")}}
			b.Memory = []taskmanager.Memory{{Key: "k", Answer: []byte("room_1")}}
			mustCommit(t, s, b)
			column := map[string]string{"record": "body", "outbox": "body", "memory": "answer", "meta": "value"}[table]
			set := fmt.Sprintf("UPDATE %s SET %s=CAST(replace(CAST(%s AS TEXT), '1', '2') AS %s)", table, column, column,
				map[bool]string{true: "TEXT", false: "BLOB"}[table == "meta"])
			if err := s.w.exec(set); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if img := mustLoad(t, mustOpen(t, s.path, small)); img.SetAside == "" || !img.Fresh {
				t.Fatalf("set aside %q, fresh %v", img.SetAside, img.Fresh)
			}
		})
	}
}

func TestF16EmptyOrGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	mustCommit(t, s, step(1))
	epoch := mustLoad(t, s).Epoch
	live := takeImage(t, path, "", "-wal", "-shm")
	half := live[""][:len(live[""])/2]
	for _, tc := range []struct {
		name  string
		found image
		moved string // end of the name under which the old file is found; "" if none was left
	}{
		{"file empty, log there", image{"": nil, "-wal": live["-wal"]}, ".damaged-1"},
		{"file empty", image{"": nil}, ".damaged-1"},
		{"file gone, log there", image{"-wal": live["-wal"], "-shm": live["-shm"]}, ".damaged-1"},
		{"file gone, ballast there", image{ballastSuffix: []byte("x")}, ""},
		{"file of zeros", image{"": make([]byte, 20_000)}, ".damaged-1"},
		{"text file", image{"": []byte(strings.Repeat("no database at all ", 500))}, ".damaged-1"},
		{"half a file", image{"": half}, ".damaged-1"},
		{"the second time", image{"": nil, ".damaged-1": []byte("first")}, ".damaged-2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := tc.found.put(t)
			got := mustLoad(t, mustOpen(t, path, small))
			if !got.Fresh || got.Epoch == epoch || got.SetAside != path+tc.moved {
				t.Fatalf("fresh %v, same epoch %v, set aside %q, want %q", got.Fresh, got.Epoch == epoch, got.SetAside, path+tc.moved)
			}
			for end, data := range tc.found {
				if end != "" && end != "-wal" {
					continue
				}
				if kept, err := os.ReadFile(path + tc.moved + end); err != nil || !bytes.Equal(kept, data) {
					t.Fatalf("%q was not kept: %v", end, err)
				}
			}
		})
	}
}

// TestF17StaleIndex: the index of the log is rebuilt from the log, whatever a cut left of it.
func TestF17StaleIndex(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	mustCommit(t, s, step(1))
	old := takeImage(t, path, "-shm")
	for n := int64(2); n < 40; n++ {
		mustCommit(t, s, step(n))
	}
	now := takeImage(t, path, "", "-wal")
	for name, shm := range map[string][]byte{"of an earlier moment": old["-shm"], "zeros": make([]byte, len(old["-shm"])),
		"garbage": bytes.Repeat([]byte{0x5a}, len(old["-shm"])), "cut": old["-shm"][:100], "empty": nil} {
		t.Run(name, func(t *testing.T) {
			again := mustOpen(t, image{"": now[""], "-wal": now["-wal"], "-shm": shm}.put(t), small)
			if got := chain(t, again); got != 39 {
				t.Fatalf("%d steps, want 39", got)
			}
		})
	}
}

// coded is an error with a result code, as SQLite's are.
type coded int

func (c coded) Error() string { return fmt.Sprintf("code %d", int(c)) }
func (c coded) Code() int     { return int(c) }

// TestF77CommitLies: the outcome of a commit is what is on disk, or the store is broken; in each case the next start finds what
// the caller was told.
func TestF77CommitLies(t *testing.T) {
	const ioerrFsync = sqlite3.SQLITE_IOERR | 4<<8
	withRow := step(2)
	without := taskmanager.Batch{Records: step(2).Records}
	old := step(1) // its journal row is there already and proves nothing
	old.Records = step(2).Records
	for _, tc := range []struct {
		name    string
		written bool
		err     error
		want    error
	}{
		{"error, though written", true, coded(sqlite3.SQLITE_FULL), nil},
		{"error, not written", false, coded(sqlite3.SQLITE_FULL), taskmanager.ErrNotCommitted},
		{"busy, not written", false, coded(sqlite3.SQLITE_BUSY), taskmanager.ErrNotCommitted},
		{"failed sync, though written", true, coded(ioerrFsync), taskmanager.ErrStoreBroken},
		{"failed sync, not written", false, coded(ioerrFsync), taskmanager.ErrStoreBroken},
		{"corrupt", false, coded(sqlite3.SQLITE_CORRUPT | 1<<8), taskmanager.ErrStoreBroken},
		{"not a database", false, coded(sqlite3.SQLITE_NOTADB), taskmanager.ErrStoreBroken},
		{"read-only disk", false, coded(sqlite3.SQLITE_READONLY), taskmanager.ErrStoreBroken},
		{"unknown", false, errors.New("something else"), taskmanager.ErrStoreBroken},
	} {
		for kind, b := range map[string]taskmanager.Batch{"new row": withRow, "no row": without, "old row": old} {
			t.Run(tc.name+", "+kind, func(t *testing.T) {
				s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
				mustCommit(t, s, step(1))
				real := s.w.atCommit
				s.w.atCommit = func() error {
					if tc.written {
						if err := real(); err != nil {
							t.Fatal(err)
						}
					}
					return tc.err
				}
				err := s.Commit(context.Background(), b)
				if (tc.want == nil) != (err == nil) || !errors.Is(err, tc.want) {
					t.Fatalf("error %v, want %v", err, tc.want)
				}
				s.w.atCommit = real
				next := s.Commit(context.Background(), taskmanager.Batch{Meta: map[string]string{"next": "1"}})
				if broken := errors.Is(tc.want, taskmanager.ErrStoreBroken); broken != (next != nil) || broken != errors.Is(next, taskmanager.ErrStoreBroken) {
					t.Fatalf("next commit: %v, store broken: %v", next, broken)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				found := len(mustLoad(t, mustOpen(t, s.path, small)).Records) == 3
				if found != tc.written {
					t.Fatalf("on disk: %v, want %v", found, tc.written)
				}
			})
		}
	}
}

func TestReadBackFailsBreaks(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
	for range readerCount {
		r := <-s.readers
		bad, err := r.prepare(`SELECT abs(-9223372036854775807 - 1) WHERE ?1 > 0`)
		if err != nil {
			t.Fatal(err)
		}
		r.hasSeq = bad
		s.readers <- r
	}
	s.w.atCommit = func() error { return coded(sqlite3.SQLITE_FULL) }
	if err := s.Commit(context.Background(), step(1)); !errors.Is(err, taskmanager.ErrStoreBroken) {
		t.Fatalf("error %v, want store broken", err)
	}
}

// TestBrokenStoreDoesNotCopyBack: a store that saw a failed sync must not write to the database file again, also not as it closes.
func TestBrokenStoreDoesNotCopyBack(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), Options{BallastBytes: -1, IdleAfter: 1 << 40})
	mustCommit(t, s, step(1))
	before := takeImage(t, s.path, "")
	s.fail(errors.New("sync failed"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := takeImage(t, s.path, ""); !bytes.Equal(before[""], after[""]) {
		t.Fatal("the file was written after the store broke")
	}
	if got := chain(t, mustOpen(t, s.path, small)); got != 1 {
		t.Fatalf("%d steps, want 1", got)
	}
}

func TestBadHistoryRowHurtsItsReaderOnly(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "tasks.db"), small)
	for n := range int64(3) {
		mustCommit(t, s, step(n+1))
	}
	if err := s.w.exec("UPDATE journal SET kind='other' WHERE seq=2"); err != nil {
		t.Fatal(err)
	}
	rows, err := s.Journal(context.Background(), 1, 10)
	if err == nil || len(rows) != 1 || s.Broken() != nil {
		t.Fatalf("%d rows, error %v, broken %v", len(rows), err, s.Broken())
	}
	mustCommit(t, s, step(4))
}

func TestOldSetsAreLimited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	for range keepDamaged + 3 {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := moveAside(path); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(path + damagedSuffix + "-*")
	if err != nil || len(names) != keepDamaged {
		t.Fatalf("%d sets kept (%v), want %d", len(names), err, keepDamaged)
	}
}

// TestF15StructureAndSchema: damage where a start does not look by itself: a page of finished work, the name of a column.
func TestF15StructureAndSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	mustCommit(t, s, taskmanager.Batch{Records: []taskmanager.Record{{Workflow: "w1", Body: []byte("a body to be found"), Closed: true}}})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sound := takeImage(t, path, "")[""]
	page := bytes.LastIndex(sound, []byte("a body to be found")) / pageSize * pageSize // the first is a remnant in the open table
	for name, damaged := range map[string][]byte{
		"page of finished work": append(append(bytes.Clone(sound[:page]), 0), sound[page+1:]...),
		"number of its rows":    append(append(bytes.Clone(sound[:page+4]), 0), sound[page+5:]...),
		"name of a column":      bytes.Replace(sound, []byte("wall_ms"), []byte("wall_mc"), 1),
		"type of a column":      bytes.Replace(sound, []byte("value TEXT"), []byte("value BLOB"), 1),
	} {
		t.Run(name, func(t *testing.T) {
			if img := mustLoad(t, mustOpen(t, image{"": damaged}.put(t), small)); img.SetAside == "" || !img.Fresh {
				t.Fatalf("set aside %q, fresh %v", img.SetAside, img.Fresh)
			}
		})
	}
}
