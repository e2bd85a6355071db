package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Mismatch is one way in which what was seen is not what was expected.
type Mismatch struct {
	Line int // of the file; 0: nothing there speaks of it
	Got  string
	Want string
}

// In says it for people, with the place in the file.
func (m Mismatch) In(path string) string {
	switch {
	case m.Want == "":
		return fmt.Sprintf("%s: not in the file, and came: %s", path, m.Got)
	case m.Got == "":
		return fmt.Sprintf("%s:%d: never came: %s", path, m.Line, m.Want)
	}
	return fmt.Sprintf("%s:%d:\n        want %s\n        got  %s", path, m.Line, m.Want, m.Got)
}

// Compare holds what was seen against what is expected, as a closed world: channel by channel, both must be the same.
func Compare(want []Line, got []Fact) (out []Mismatch) {
	for i := range channels {
		c := &channels[i]
		var w []Line
		var g []Fact
		for _, l := range want {
			if slices.Contains(c.kinds, l.Kind) {
				w = append(w, l)
			}
		}
		for _, f := range got {
			if slices.Contains(c.kinds, f.Kind) {
				g = append(g, f)
			}
		}
		if !c.ordered {
			slices.SortFunc(w, func(a, b Line) int { return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Text, b.Text)) })
			slices.SortFunc(g, func(a, b Fact) int { return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Text, b.Text)) })
		}
		out = append(out, align(w, g)...)
	}
	return out
}

// says whether a line expects the fact.
func says(l Line, f Fact) bool { return l.Kind == f.Kind && l.Text == f.Text }

// align finds the fewest differences between two sequences, and pairs a missing line with the foreign one at its place. What is alike at
// both ends is left out first: a flip changes one line of a thousand, and the table below grows with the square.
func align(want []Line, got []Fact) (out []Mismatch) {
	for len(want) > 0 && len(got) > 0 && says(want[0], got[0]) {
		want, got = want[1:], got[1:]
	}
	for len(want) > 0 && len(got) > 0 && says(want[len(want)-1], got[len(got)-1]) {
		want, got = want[:len(want)-1], got[:len(got)-1]
	}
	same := func(i, j int) bool { return says(want[i], got[j]) }
	common := make([][]int, len(want)+1) // longest common part of the rests
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if same(i, j) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(want) && j < len(got) {
		switch {
		case same(i, j):
			i, j = i+1, j+1
		case common[i+1][j+1] == common[i][j] && want[i].Kind == got[j].Kind:
			out = append(out, Mismatch{want[i].No, got[j].String(), want[i].String()})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, Mismatch{Line: want[i].No, Want: want[i].String()})
			i++
		default:
			out = append(out, Mismatch{Got: got[j].String()})
			j++
		}
	}
	for ; i < len(want); i++ {
		out = append(out, Mismatch{Line: want[i].No, Want: want[i].String()})
	}
	for ; j < len(got); j++ {
		out = append(out, Mismatch{Got: got[j].String()})
	}
	return out
}
