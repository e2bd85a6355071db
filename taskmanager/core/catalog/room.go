package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// maxCandidates bounds the names that a refusal offers.
const maxCandidates = 3

// FindRoom finds the one room that an id, a name or an alias means, after folding case, spaces, hyphens and apostrophes. An exact
// id wins over names. Where no room or more than one fits, ok is false and candidates holds the names to choose from: those that
// fit, else the nearest, at most three, best first.
func (c *Catalog) FindRoom(name string) (room Room, ok bool, candidates []string) {
	folded := fold(name)
	var fits []Room
	for _, r := range c.Rooms {
		if string(r.ID) == name {
			return r, true, nil
		}
		if slices.ContainsFunc(r.names(), func(n string) bool { return fold(n) == folded }) {
			fits = append(fits, r)
		}
	}
	if len(fits) == 1 && folded != "" {
		return fits[0], true, nil
	}
	if len(fits) > 1 {
		for _, r := range fits {
			candidates = append(candidates, r.Name)
		}
		return Room{}, false, candidates[:min(len(candidates), maxCandidates)]
	}
	return Room{}, false, c.nearest(folded)
}

// WithRooms gives the same catalog with other rooms, as a map service reports them. Etag stays: rooms are no part of it.
func (c *Catalog) WithRooms(rooms []Room, roomsEtag string) *Catalog {
	other := *c
	other.Rooms, other.RoomsEtag = slices.Clone(rooms), roomsEtag
	return &other
}

// RoomNames gives the names of the rooms that can be reached, in the catalog's order.
func (c *Catalog) RoomNames() []string {
	var names []string
	for _, r := range c.Rooms {
		if r.Reachable {
			names = append(names, r.Name)
		}
	}
	return names
}

func (r Room) names() []string { return append([]string{string(r.ID), r.Name}, r.Aliases...) }

// nearest names the reachable rooms whose id, name or alias is nearest to folded.
func (c *Catalog) nearest(folded string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	for _, r := range c.Rooms {
		if !r.Reachable {
			continue
		}
		best := -1
		for _, name := range r.names() {
			if d := distance(letters(folded), letters(fold(name))); best < 0 || d < best {
				best = d
			}
		}
		all = append(all, candidate{r.Name, best})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, one := range all[:min(len(all), maxCandidates)] {
		names = append(names, one.name)
	}
	return names
}

// fold drops what people and speech recognition write differently for one name.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\t', '\u00a0', '\u3000', '-', '_', '\'', '\u2018', '\u2019':
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// letters splits Hangul syllables into their jamo, so that 거슬 is one letter away from 거실 and not half a word. Other runes stay.
// At most 64 letters: a hostile name must not cost a quadratic comparison. Source: the Unicode standard, Hangul syllable composition.
func letters(text string) []rune {
	const first, last, vowels, finals = 0xAC00, 0xD7A3, 21, 28
	var out []rune
	for _, r := range text {
		if len(out) >= 64 {
			break
		}
		if r < first || r > last {
			out = append(out, r)
			continue
		}
		s := r - first
		out = append(out, 0x1100+s/(vowels*finals), 0x1161+s%(vowels*finals)/finals)
		if final := s % finals; final != 0 {
			out = append(out, 0x11A7+final)
		}
	}
	return out
}

// distance is the number of single-letter changes from a to b (Levenshtein).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, ra := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, rb := range b {
			change := diagonal
			if ra != rb {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
