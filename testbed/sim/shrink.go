package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"deviceagent/taskmanager/core/catalog"
)

// Shrink plays a home that breaks a promise again and again with fewer of its decisions, as long as it breaks the same one: plans and
// their steps, cancels, cuts, what becomes of calls, callbacks and messages. It writes the smallest story that it finds, and says
// whether there was one to make smaller.
func Shrink(cat *catalog.Catalog, seed uint64, out io.Writer) bool {
	return (&shrinker{cat: cat, seed: seed}).shrink(out)
}

func (s *shrinker) shrink(out io.Writer) bool {
	first := s.play(nil)
	if first.broken == nil {
		fmt.Fprintf(out, "seed %d breaks nothing\n", s.seed)
		return false
	}
	s.kind = kindOf(first.broken)
	all := first.names()
	left := s.smaller(all)
	best := s.play(without(all, left))
	fmt.Fprintln(out, strings.Join(best.story, "\n"))
	fmt.Fprintf(out, "%d of %d decisions are left, after %d plays:\n  %s\n", len(left), len(all), s.plays, strings.Join(left, "\n  "))
	fmt.Fprintf(out, "seed %d: %v\n", s.seed, best.broken)
	return true
}

// shrinker remembers what is looked for.
type shrinker struct {
	cat     *catalog.Catalog
	seed    uint64
	planted catalog.Method // see judge
	kind    string
	plays   int
}

type played struct {
	*home
	broken error
}

func (p played) names() []string { return slices.Compact(slices.Sorted(slices.Values(p.named))) }

func (s *shrinker) play(leftOut map[string]bool) played {
	s.plays++
	m := newHome(s.cat, s.seed, leftOut)
	m.keep, m.judge.planted = true, s.planted
	return played{m, m.play()}
}

// breaks says whether the home breaks the same promise with these decisions only.
func (s *shrinker) breaks(all, kept []string) bool {
	p := s.play(without(all, kept))
	return p.broken != nil && kindOf(p.broken) == s.kind
}

// smaller is delta debugging: leave out halves, then quarters, and so on, and begin anew with what is left.
func (s *shrinker) smaller(all []string) []string {
	kept := all
	for size := (len(kept) + 1) / 2; size >= 1; {
		before := len(kept)
		for at := 0; at < len(kept); {
			fewer := slices.Concat(kept[:at], kept[min(len(kept), at+size):])
			if s.breaks(all, fewer) {
				kept = fewer
			} else {
				at += size
			}
		}
		if size == 1 && len(kept) == before {
			break
		}
		size = max(1, size/2)
	}
	return kept
}

// without is all that is not kept. What turns up only once others are gone was never looked at, and stays.
func without(all, kept []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range all {
		out[name] = true
	}
	maps.DeleteFunc(out, func(name string, _ bool) bool { return slices.Contains(kept, name) })
	return out
}

// kindOf is the promise that is broken: the words before the colon, or the beginning where there is none.
func kindOf(broken error) string {
	text := broken.Error()
	if kind, _, ok := strings.Cut(text, ":"); ok {
		return kind
	}
	return text[:min(len(text), 20)]
}
