package scenario

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const small = `# a comment
scenario X
title    a title
tier     restricted
robot    kitchen
fault    setMoveTo:lie_done

when
  say "주방으로
    가"
  at 30s press cancel
  after movement.arrived +10s link down
  +5s wait

then
  turn   ODL sends   1 steps,
    model calls 0
  up     ack 1
`

func TestParse(t *testing.T) {
	s, err := Parse("x.scn", small)
	if err != nil {
		t.Fatal(err)
	}
	want := []Stimulus{
		{No: 9, At: -1, Verb: "say", Arg: `"주방으로 가"`},
		{No: 11, At: 30 * time.Second, Verb: "press", Arg: "cancel"},
		{No: 12, At: -1, After: "movement.arrived", Plus: 10 * time.Second, Verb: "link", Arg: "down"},
		{No: 13, At: -1, Plus: 5 * time.Second, Verb: "wait"},
	}
	if !slices.Equal(s.Stimul, want) {
		t.Errorf("stimuli\n%+v, want\n%+v", s.Stimul, want)
	}
	lines := []Line{{16, "turn", "ODL sends 1 steps, model calls 0"}, {18, "up", "ack 1"}}
	if !slices.Equal(s.Expect, lines) {
		t.Errorf("expectations\n%+v, want\n%+v", s.Expect, lines)
	}
	if s.ID != "X" || s.Start != "kitchen" || !s.Home.Method["setMoveTo"].LieDone || s.Tail != tail {
		t.Errorf("header %+v", s)
	}
}

func TestParseNamesEveryFault(t *testing.T) {
	for _, tc := range []struct{ name, old, new, want string }{
		{"header", "tier     restricted", "tear     restricted", "x.scn:4: no header"},
		{"tier missing", "tier     restricted", "", "tier is missing"},
		{"room", "robot    kitchen", "robot    moon", "no room"},
		{"fault", "lie_done", "lie_dine", "x.scn:6: "},
		{"kind", "up     ack", "upp    ack", "x.scn:18: no expectation"},
		{"moment", "at 30s", "at 30", "x.scn:11: "},
		{"pause", "+10s", "+1o", "x.scn:12: "},
		{"nothing done", "+5s wait", "+5s", "x.scn:13: nothing is done"},
		{"no block", "when\n", "", "x.scn:8: indented line"},
		{"tab", "  up     ack", "\tup     ack", "x.scn:18: indent with spaces"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("x.scn", strings.Replace(small, tc.old, tc.new, 1))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	if _, err := Parse("x.scn", "nonsense 1\nscenario X\nnonsense 2"); err == nil || strings.Count(err.Error(), "no header") != 2 {
		t.Errorf("not every fault is named: %v", err)
	}
	if _, err := Parse("x.scn", small[:strings.Index(small, "then")]); err == nil {
		t.Error("a file that expects nothing was taken")
	}
}

// A folder is played with those within it, but for those of a bus; an id belongs to one file of all of them.
func TestFoldersWithin(t *testing.T) {
	dir := t.TempDir()
	put := func(path, id string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("scenario "+id+"\ntitle x\ntier restricted\nwhen\n  wait\nthen\n  up status 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("a.scn", "A")
	put("more/b.scn", "B")
	put("bus/c.scn", "C")
	put("vendor/a.scn", "A")
	all, err := LoadTree(dir, Socket)
	if err != nil || len(all) != 2 || all[0].ID != "A" || all[1].ID != "B" {
		t.Errorf("%v, %v", all, err)
	}
	put("more/again.scn", "A")
	if _, err := LoadTree(dir, Socket); err == nil || !strings.Contains(err.Error(), "id A") {
		t.Errorf("one id twice: %v", err)
	}
}
