package matrix

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"deviceagent/testbed/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the scenarios from the table, with what they show, and docs/evidence-matrix.md")

const (
	folder = "../scenarios/matrix"
	page   = "../../docs/evidence-matrix.md"
)

func runner(t *testing.T) *scenario.Runner {
	t.Helper()
	r, err := scenario.NewRunner()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCells plays every cell: its file is what the table says, holds as a closed world, and shows the ending of its column.
func TestCells(t *testing.T) {
	r := runner(t)
	for i := range Rows {
		row := &Rows[i]
		p, err := row.provider(r.Catalog())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range Columns {
			if !row.Cells[c].played() {
				continue
			}
			t.Run(row.ID(c), func(t *testing.T) {
				t.Parallel() // each has its own house and its own time
				playCell(t, r, row, p, c)
			})
		}
	}
}

func playCell(t *testing.T, r *scenario.Runner, row *Row, p *Provider, c Column) {
	path := filepath.Join(folder, row.ID(c)+".scn")
	head := row.head(p, c)
	if *update {
		write(t, path, record(t, r, path, head))
		return // the next run judges it
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with: go test ./testbed/matrix -update", err)
	}
	if !strings.HasPrefix(string(text), head+"\nthen\n") {
		t.Fatalf("%s is not what the table says; write it with: go test ./testbed/matrix -update", path)
	}
	s, err := scenario.Parse(path, string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range row.judge(r.Catalog(), p, c, s.Expect) {
		t.Errorf("%s: %s", path, fault)
	}
	res := r.Run(t, s)
	t.Log(res)
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	for _, m := range res.Failures {
		t.Error(m.In(path))
	}
}

// record plays a file that expects nothing yet, and gives it what was seen.
func record(t *testing.T, r *scenario.Runner, path, head string) []byte {
	s, err := scenario.Parse(path, head+"\nthen\n  up status 1\n")
	if err != nil {
		t.Fatal(err)
	}
	res := r.Run(t, s)
	if res.Err != nil {
		t.Fatalf("%s: %v", path, res.Err)
	}
	return []byte(head + "\nthen\n" + res.Seen.Format())
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestTheTableIsTheCatalogs: each provider of the catalog has exactly one row, each row has all four cells, and what cannot be follows from
// the catalog.
func TestTheTableIsTheCatalogs(t *testing.T) {
	cat := runner(t).Catalog()
	for _, fault := range check(cat, Rows) {
		t.Error(fault)
	}
}

func TestAHoleInTheTableIsNoticed(t *testing.T) {
	cat := runner(t).Catalog()
	index := func(name string) int { return slices.IndexFunc(Rows, func(r Row) bool { return r.Name == name }) }
	with := func(name string, c Column, cell Cell) func([]Row) []Row {
		return func(rows []Row) []Row {
			r := &rows[index(name)]
			r.Cells = maps.Clone(r.Cells)
			r.Cells[c] = cell
			return rows
		}
	}
	for what, change := range map[string]func([]Row) []Row{
		"a provider less":                    func(rows []Row) []Row { return rows[1:] },
		"a skill less":                       func(rows []Row) []Row { return rows[:len(rows)-1] },
		"the same twice":                     func(rows []Row) []Row { return append(rows, rows[0]) },
		"arguments that choose another":      func(rows []Row) []Row { rows[index("bright")].Params = `{"brightness":20}`; return rows },
		"arguments that the catalog refuses": func(rows []Row) []Row { rows[index("move")].Params = `{"position":"달"}`; return rows },
		"an effect that is another's":        func(rows []Row) []Row { rows[index("move")].Effect = "station_docked"; return rows },
		"an empty cell":                      with("move", Expired, Cell{}),
		"never, and it can be":               with("move", Contradicted, never(readOnly)),
		"never, for a wrong reason":          with("air", Contradicted, never(anEnd)),
		"never, for no reason of the list":   with("air", Contradicted, never("it is hard")),
		"it can be never":                    with("air", Contradicted, Cell{Witness: []string{"dispatch getAirQuality"}}),
		"no witness":                         with("move", Observed, Cell{Robot: "kitchen"}),
	} {
		if len(check(cat, change(slices.Clone(Rows)))) == 0 {
			t.Errorf("not noticed: %s", what)
		}
	}
}

// TestTheFolderIsTheTables: no file there is left over.
func TestTheFolderIsTheTables(t *testing.T) {
	all, err := scenario.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, s := range all {
		have[s.ID] = true
	}
	for _, id := range scenes(Rows) {
		if !have[id] {
			t.Errorf("%s has no scenario", id)
		}
		delete(have, id)
	}
	for id := range have {
		t.Errorf("%s is in the folder and in no cell", id)
	}
}

// A cell that ends otherwise than its column is noticed, whoever wrote its expectations.
func TestAnotherEndingIsNoticed(t *testing.T) {
	cat := runner(t).Catalog()
	row := &Rows[0]
	p, err := row.provider(cat)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Columns {
		s, err := scenario.Load(filepath.Join(folder, row.ID(c)+".scn"))
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range Columns {
			if faults := row.judge(cat, p, other, s.Expect); (len(faults) == 0) != (other == c) {
				t.Errorf("%s judged as %s: %v", row.ID(c), other, faults)
			}
		}
		for _, change := range []struct{ from, to string }{
			{"workflow w1", "workflow w2"}, {"goal w1", "goal w2"}, {"step w1.s", "step w1.t"}, {"effect w1.s", "effect w1.t"}, {"dispatch setMoveTo", "dispatch setMoving"},
			{"movement.location=", "movement.is_moving="}, {"independent window", "echo window"}, {"stops setMoveTo", "pauses setMoveTo"}, {"arrived in", "stopped in"}, {"ack plan", "wrong plan"},
		} {
			lines, changed := slices.Clone(s.Expect), false
			for i, l := range lines {
				if text := l.String(); strings.Contains(text, change.from) {
					kind, rest, _ := strings.Cut(strings.Replace(text, change.from, change.to, 1), " ")
					lines[i], changed = scenario.Line{Kind: kind, Text: rest}, true
				}
			}
			if changed && len(row.judge(cat, p, c, lines)) == 0 {
				t.Errorf("%s: not noticed: %s for %s", row.ID(c), change.to, change.from)
			}
		}
	}
	late := []scenario.Line{{Kind: "stops", Text: "setMoveTo"}, {Kind: "dispatch", Text: "setMoveTo position=kitchen +1s"}}
	if len(p.afterStop(late)) == 0 {
		t.Error("not noticed: asked for after the cancel")
	}
}

// TestPage holds the page against the catalog and the scenarios.
func TestPage(t *testing.T) {
	scene := func(id string) ([]scenario.Line, error) {
		s, err := scenario.Load(filepath.Join(folder, id+".scn"))
		if err != nil {
			return nil, err
		}
		return s.Expect, nil
	}
	want, err := Page(runner(t).Catalog(), scene)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		write(t, page, []byte(want))
		return
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what catalog and scenarios say (%v); write it with: go test ./testbed/matrix -update", page, err)
	}
	if _, err := Page(runner(t).Catalog(), func(string) ([]scenario.Line, error) { return nil, os.ErrNotExist }); err == nil {
		t.Error("a cell without a scenario was not noticed")
	}
}
