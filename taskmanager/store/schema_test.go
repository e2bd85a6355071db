package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"deviceagent/taskmanager"
)

var update = flag.Bool("update", false, "write the golden file of a schema that has none; one that is there is never rewritten")

// golden is what each released file holds.
var golden = taskmanager.Batch{
	Meta:    map[string]string{"start_no": "4"},
	Journal: []taskmanager.JournalRow{{Seq: 1, BootMS: 5, WallMS: 1_700_000_000_000, BootID: "b", Kind: "plan", Workflow: "w1", Body: []byte("event")}},
	Records: []taskmanager.Record{{Workflow: "w1", Body: []byte("running")}, {Workflow: "w1", Item: "s:a", Body: []byte("pending")},
		{Workflow: "w0", Body: []byte("ended"), Closed: true}, {Item: "holders", Body: []byte("none")}},
	Outbox: []taskmanager.OutboxRow{{Seq: 3, ID: "m3", Type: "ack", Class: "answer", Workflow: "w1", Body: []byte("message")}},
	Memory: []taskmanager.Memory{{Key: "plan:p1:0", Hash: "h", Answer: []byte("accepted"), ExpireMS: 1_800_000_000_000}},
}

// TestReleasedSchemas opens the file of every released schema with this version.
func TestReleasedSchemas(t *testing.T) {
	for version := 1; version <= len(migrations); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			name := filepath.Join("testdata", fmt.Sprintf("schema-v%d.db", version))
			data, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) && *update && version == len(migrations) {
				data = writeGolden(t, name)
			} else if err != nil {
				t.Fatal(err)
			}
			s := mustOpen(t, image{"": data}.put(t), small)
			got := mustLoad(t, s)
			if got.Fresh || got.SetAside != "" || got.StartNo != 4 || got.OutboxSeq != 3 || len(got.Records) != 3 || len(got.Outbox) != 1 ||
				string(got.Last.Body) != "event" || string(got.Records[2].Body) != "pending" {
				t.Fatalf("image %+v", got)
			}
			if rows, ok, err := s.Finished(context.Background(), "w0"); !ok || err != nil || string(rows[0].Body) != "ended" {
				t.Fatalf("finished %v, %v, %v", rows, ok, err)
			}
			if m, ok, err := s.Remembered(context.Background(), "plan:p1:0"); !ok || err != nil || string(m.Answer) != "accepted" {
				t.Fatalf("memory %v, %v, %v", m, ok, err)
			}
			mustCommit(t, s, taskmanager.Batch{Journal: []taskmanager.JournalRow{{Seq: 2}}, Records: []taskmanager.Record{{Workflow: "w1", Body: []byte("x")}}})
		})
	}
}

func writeGolden(t *testing.T, name string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	mustCommit(t, s, golden)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data := takeImage(t, path, "")[""]
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return data
}

// withNext are the migrations of a version that does not exist yet.
func withNext(texts ...string) []migration {
	return append(migrations[:len(migrations):len(migrations)], texts)
}

var nextSchema = withNext(`ALTER TABLE outbox ADD COLUMN extra TEXT`, `CREATE TABLE more (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
	`INSERT INTO more VALUES ('a')`)

func TestMigrationKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	mustCommit(t, s, golden)
	before := mustLoad(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := open(context.Background(), path, small.withDefaults(), nextSchema)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	after := mustLoad(t, s)
	if after.Fresh || after.Epoch != before.Epoch || len(after.Records) != 3 {
		t.Fatalf("image %+v", after)
	}
	if n, err := s.w.number("SELECT count(*) FROM more"); n != 1 || err != nil {
		t.Fatalf("new table: %d rows, %v", n, err)
	}
}

// TestF10CutInMigration: after a cut at any statement of a migration the file is of the old schema or of the new one, and both
// versions of the program find all rows.
func TestF10CutInMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	s := mustOpen(t, path, small)
	mustCommit(t, s, golden)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := openSettled(path, append(common[:len(common):len(common)], writing(1<<20)...))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if err := c.exec("PRAGMA cache_size=1"); err != nil { // spill the open transaction into the log as it grows
		t.Fatal(err)
	}
	var cuts []image
	texts := append([]string{"BEGIN IMMEDIATE"}, nextSchema[len(migrations)]...)
	texts = append(texts, "CREATE TABLE bulk AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<2000) SELECT i, hex(randomblob(40)) FROM n",
		fmt.Sprintf("PRAGMA user_version=%d", len(nextSchema)))
	for _, text := range texts {
		if err := c.exec(text); err != nil {
			t.Fatal(err)
		}
		cuts = append(cuts, takeImage(t, path, "", "-wal"))
	}
	if grown := len(cuts[len(cuts)-1]["-wal"]); grown < 20*pageSize {
		t.Fatalf("the log has %d bytes: the cut tests nothing", grown)
	}
	for i, cut := range cuts {
		for name, steps := range map[string][]migration{"old": migrations, "new": nextSchema} {
			again, err := open(context.Background(), cut.put(t), small.withDefaults(), steps)
			if err != nil {
				t.Fatalf("cut after statement %d, %s version: %v", i, name, err)
			}
			if img := mustLoad(t, again); img.Fresh || img.SetAside != "" || len(img.Records) != 3 {
				t.Fatalf("cut after statement %d, %s version: %+v", i, name, img)
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestFailedMigrationLeavesTheOldSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tasks.db")
	if err := mustOpen(t, path, small).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(context.Background(), path, small.withDefaults(), withNext(`CREATE TABLE more (key TEXT)`, `SELECT nonsense`)); err == nil {
		t.Fatal("opened, though the migration failed")
	}
	if img := mustLoad(t, mustOpen(t, path, small)); img.Fresh || img.SetAside != "" {
		t.Fatalf("image %+v", img)
	}
}

// TestNewerSchemaIsRefused: a downgrade gets a clear refusal and changes nothing, also if the newer schema is in the log only.
func TestNewerSchemaIsRefused(t *testing.T) {
	for _, logOnly := range []bool{false, true} {
		t.Run(fmt.Sprintf("in the log only: %v", logOnly), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tasks.db")
			s := mustOpen(t, path, small)
			mustCommit(t, s, golden)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			newer, err := open(context.Background(), path, small.withDefaults(), nextSchema)
			if err != nil {
				t.Fatal(err)
			}
			if logOnly {
				path = takeImage(t, path, "", "-wal").put(t)
			}
			if err := newer.Close(); err != nil {
				t.Fatal(err)
			}
			before := takeImage(t, path, "", "-wal")
			if _, err := Open(context.Background(), path, small); !errors.Is(err, ErrNewerSchema) {
				t.Fatalf("error %v, want newer schema", err)
			}
			after := takeImage(t, path, "", "-wal")
			if !bytes.Equal(before[""], after[""]) || !bytes.Equal(before["-wal"], after["-wal"]) {
				t.Fatal("the refused file was touched")
			}
		})
	}
}

func TestForeignFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "photos.db")
	c, err := dial("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.exec("CREATE TABLE photo (id INTEGER PRIMARY KEY)"), c.close()); err != nil {
		t.Fatal(err)
	}
	before := takeImage(t, path, "")
	if _, err := Open(context.Background(), path, small); !errors.Is(err, ErrForeign) {
		t.Fatalf("error %v, want foreign", err)
	}
	if after := takeImage(t, path, ""); !bytes.Equal(before[""], after[""]) {
		t.Fatal("the foreign file was touched")
	}
	if _, err := Open(context.Background(), filepath.Dir(path), small); !errors.Is(err, ErrForeign) {
		t.Fatalf("a directory: error %v, want foreign", err)
	}
}

// TestCutInCreation: what a cut leaves of a store that was being made is thrown away, and no damage.
func TestCutInCreation(t *testing.T) {
	path := image{newSuffix: []byte("half"), newSuffix + "-wal": []byte("half"), newSuffix + "-journal": []byte("half")}.put(t)
	if img := mustLoad(t, mustOpen(t, path, small)); !img.Fresh || img.SetAside != "" {
		t.Fatalf("fresh %v, set aside %q", img.Fresh, img.SetAside)
	}
	names, err := filepath.Glob(path + newSuffix + "*")
	if err != nil || len(names) != 0 {
		t.Fatalf("left behind: %v (%v)", names, err)
	}
}
