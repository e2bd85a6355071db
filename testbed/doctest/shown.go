package doctest

import (
	"fmt"
	"strings"
)

const wildcard = "…"

// differs holds an output against what a page shows. Blanks at the ends of lines, and empty lines at the end, do not count.
// It returns "" where they agree, else what is wrong, with both.
func differs(want []string, got string) string {
	w, g := trimmed(want), trimmed(strings.Split(got, "\n"))
	if fits(w, g) {
		return ""
	}
	return fmt.Sprintf("it shows\n%s\n  and the page has\n%s", indented(g), indented(w))
}

func trimmed(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, strings.TrimRight(l, " \t\r"))
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

func indented(lines []string) string {
	if len(lines) == 0 {
		return "    (nothing)"
	}
	return "    " + strings.Join(lines, "\n    ")
}

// fits says whether lines are as wanted. A line that is only "…" fits any number of lines, also none.
func fits(want, got []string) bool {
	return glob(len(want), len(got), func(i int) bool { return strings.TrimSpace(want[i]) == wildcard }, func(i, j int) bool { return lineFits(want[i], got[j]) })
}

// lineFits: "…" fits any text in a line, also none.
func lineFits(want, got string) bool {
	w, g := []rune(want), []rune(got)
	return glob(len(w), len(g), func(i int) bool { return w[i] == '…' }, func(i, j int) bool { return w[i] == g[j] })
}

// glob matches n wanted items against m given ones, of which a wild one takes any number. Only the last wild one has to be tried
// again, so that the time is at most n times m.
func glob(n, m int, wild func(i int) bool, same func(i, j int) bool) bool {
	i, j, star, from := 0, 0, -1, 0
	for j < m {
		switch {
		case i < n && wild(i):
			star, from = i, j
			i++
		case i < n && same(i, j):
			i, j = i+1, j+1
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < n && wild(i) {
		i++
	}
	return i == n
}
