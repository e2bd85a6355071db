package taskmanager_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"deviceagent/taskmanager"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
)

// recorded plays a day of the robot: a plan over a restart, a cancel, readings in between, and gives what the store has of it.
func recorded(t *testing.T, r *rig) taskmanager.Recording {
	t.Helper()
	r.receive(planJSON("wf-8", thereAndBack))
	r.wait(12 * time.Second)
	r.arrived("kitchen")
	r.wait(5 * time.Second)
	r.kill()
	r.open()
	r.wait(20 * time.Second)
	r.receive(cancelJSON("c-1", "wf-8"))
	r.wait(3 * time.Minute)
	r.receive(planJSON("wf-9", muteLater))
	r.wait(2 * time.Minute)
	return r.recording()
}

func (r *rig) recording() taskmanager.Recording {
	r.t.Helper()
	img, err := r.mem.Load(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	rows, err := r.mem.Journal(r.t.Context(), 0, 1_000_000)
	if err != nil {
		r.t.Fatal(err)
	}
	return taskmanager.Recording{Rows: taskmanager.RowsOf(rows), Catalog: r.cat, Final: img.Records}
}

func rowsIn(rec taskmanager.Recording) (rows []taskmanager.JournalRow) {
	for row := range rec.Rows {
		rows = append(rows, row)
	}
	return rows
}

func TestD1_TheJournalReplaysToTheSameStates(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		done, err := taskmanager.Replay(recorded(t, r))
		if err != nil {
			t.Fatal(err)
		}
		if done.Starts != 2 || done.Commits < 10 || done.Records < 3*done.Commits || done.Skipped != 0 {
			t.Errorf("replayed %+v", done)
		}
	})
}

// reworded changes one event of a row.
func reworded(t *testing.T, row taskmanager.JournalRow, change func(ev map[string]any)) taskmanager.JournalRow {
	t.Helper()
	var body map[string]any
	if err := cbor.Unmarshal(row.Body, &body); err != nil {
		t.Fatal(err)
	}
	ev := map[string]any{}
	for k, v := range body["e"].(map[any]any) {
		ev[k.(string)] = v
	}
	change(ev)
	body["e"] = ev
	b, err := cbor.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	row.Body = b
	return row
}

func TestReplayNamesTheFirstDifference(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		rec := recorded(t, r)
		rows := rowsIn(rec)
		at := slices.IndexFunc(rows, func(row taskmanager.JournalRow) bool { return row.Kind == string(core.KindObserved) })
		rows[at] = reworded(t, rows[at], func(ev map[string]any) { ev["data"] = map[string]any{"room_id": "study"} })
		rec.Rows = taskmanager.RowsOf(rows)
		_, err := taskmanager.Replay(rec)
		d, ok := errors.AsType[taskmanager.Difference](err)
		if !ok || d.Workflow != "wf-8" || d.Seq < rows[at].Seq || d.Seq > rows[at].Seq+3 {
			t.Errorf("another arrival: %v", err)
		}

		rec = r.recording()
		for i, f := range rec.Final {
			if f.Item == "device" {
				var dev core.Device
				if err := cbor.Unmarshal(f.Body, &dev); err != nil {
					t.Fatal(err)
				}
				dev.TaskNo += 7
				mode, _ := cbor.CoreDetEncOptions().EncMode()
				rec.Final[i].Body, _ = mode.Marshal(dev)
			}
		}
		_, err = taskmanager.Replay(rec)
		if d, ok := errors.AsType[taskmanager.Difference](err); !ok || d.Item != "device" || d.Field != "task_no" || d.Want == d.Got {
			t.Errorf("another number on disk: %v", err)
		}
	})
}

func TestReplayNeedsAPlaceToBegin(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.receive(planJSON("wf-1", toKitchen))
		r.wait(12 * time.Second)
		r.arrived("kitchen")
		r.wait(time.Minute)
		r.kill()
		r.open() // with nothing open
		rec := recorded(t, r)
		rows := rowsIn(rec)
		starts := 0
		second := slices.IndexFunc(rows, func(row taskmanager.JournalRow) bool {
			starts += map[bool]int{true: 1}[row.Kind == string(core.KindStarted)]
			return starts == 2
		})
		rec.Rows = taskmanager.RowsOf(rows[2:]) // what came before was pruned
		done, err := taskmanager.Replay(rec)
		if err != nil || done.Skipped != second-2 || done.Starts != 2 {
			t.Errorf("from the second start on: %+v %v", done, err)
		}
		last := slices.Clone(rows)
		slices.Reverse(last)
		third := len(rows) - 1 - slices.IndexFunc(last, func(row taskmanager.JournalRow) bool { return row.Kind == string(core.KindStarted) })
		rec.Rows = taskmanager.RowsOf(rows[third:]) // with a plan open
		if _, err := taskmanager.Replay(rec); !errors.Is(err, taskmanager.ErrNoBase) {
			t.Errorf("from a start with a plan open: %v", err)
		}
		rec.Rows = taskmanager.RowsOf(slices.Delete(slices.Clone(rows), 3, 4))
		if _, err := taskmanager.Replay(rec); err == nil {
			t.Error("a row is gone, and nothing differs")
		}
		other := *r.cat
		other.Etag = "another"
		rec = r.recording()
		rec.Catalog = &other
		if _, err := taskmanager.Replay(rec); err == nil || !strings.Contains(err.Error(), "catalog") {
			t.Errorf("another catalog: %v", err)
		}
	})
}

// Every kind of event that the core knows can be read back from the journal, and every message among them can be refused.
func TestEveryKindOfEventCanBeReplayed(t *testing.T) {
	names, err := filepath.Glob("core/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files of the core (%v)", len(names), err)
	}
	texts, used := map[string]string{}, []string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if lit, ok := first(n.Values).(*ast.BasicLit); ok && strings.HasPrefix(n.Names[0].Name, "Kind") {
					texts[n.Names[0].Name], _ = strconv.Unquote(lit.Value)
				}
			case *ast.FuncDecl:
				if n.Name.Name == "eventKind" {
					used = append(used, n.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.Ident).Name)
				}
			}
			return true
		})
	}
	for _, name := range used {
		if !taskmanager.CanReplay(core.EventKind(texts[name])) {
			t.Errorf("core.%s: package taskmanager cannot read it back: add it to kinds in journal.go", name)
		}
	}
	if len(used) < 19 {
		t.Errorf("%d kinds found", len(used))
	}
	for _, kind := range taskmanager.Unanswerable() {
		t.Errorf("a message of kind %s that made the agent fail could not be refused: add it to core.HeadOf", kind)
	}
}

func first(list []ast.Expr) ast.Expr {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// A batch whose only events are signs of life, and that decides all the same because time has passed, is in the journal too.
func TestABatchOfSignsOfLifeIsReplayed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		script := moves("kitchen")
		script.RunFor = -1
		r.robot.On("setMoveTo", script)
		r.receive(planJSON("wf-1", toKitchen))
		for range 60 {
			r.robot.Emit(core.TaskProgress{Task: "t-none"}, core.Observed{Event: "movement.started", Source: "home", Class: catalog.Independent}, core.TaskProgress{Task: "t-none"})
			r.wait(20 * time.Second)
		}
		if _, err := taskmanager.Replay(r.recording()); err != nil {
			t.Fatal(err)
		}
	})
}
