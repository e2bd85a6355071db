package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Flip is one change of an expectation, or of what was seen, which must make the comparison fail.
type Flip struct {
	Line   int // of the file; 0: a fact was changed instead
	What   string
	Caught bool
}

// Mutate flips each expectation in turn, and each fact that was seen, against the record of one run: nothing is run again.
func Mutate(s *Scenario, o *Observation) (out []Flip) {
	for i, l := range s.Expect {
		try := func(what string, want []Line) {
			out = append(out, Flip{l.No, what + ": " + l.String(), len(Compare(want, o.Facts)) > 0})
		}
		try("dropped", slices.Delete(slices.Clone(s.Expect), i, i+1))
		try("doubled", slices.Insert(slices.Clone(s.Expect), i, l))
		for _, text := range variants(l.Text) {
			changed := slices.Clone(s.Expect)
			changed[i].Text = text
			try("changed to "+text, changed)
		}
		if j := next(s.Expect, i); j > 0 {
			swapped := slices.Clone(s.Expect)
			swapped[i], swapped[j] = swapped[j], swapped[i]
			try(fmt.Sprintf("swapped with line %d", s.Expect[j].No), swapped)
		}
	}
	for i, f := range o.Facts {
		for what, facts := range map[string][]Fact{
			"unseen":     slices.Delete(slices.Clone(o.Facts), i, i+1),
			"seen twice": slices.Insert(slices.Clone(o.Facts), i, f),
		} {
			out = append(out, Flip{0, what + ": " + f.String(), len(Compare(s.Expect, facts)) > 0})
		}
	}
	return out
}

// variants change one word after the other: a number by one, any other word into another.
func variants(text string) (out []string) {
	words := strings.Fields(text)
	for i, word := range words {
		changed := slices.Clone(words)
		changed[i] = other(word)
		out = append(out, strings.Join(changed, " "))
	}
	return out
}

func other(word string) string {
	at := strings.IndexFunc(word, unicode.IsDigit)
	if at < 0 {
		return word + "x"
	}
	end := at
	for end < len(word) && word[end] >= '0' && word[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(word[at:end])
	if err != nil {
		return word + "x"
	}
	return word[:at] + strconv.Itoa(n+1) + word[end:]
}

// next is the following expectation that has an order against this one and differs from it; 0: none.
func next(lines []Line, i int) int {
	c := channelOf(lines[i].Kind)
	for j := i + 1; j < len(lines) && c.ordered; j++ {
		if slices.Contains(c.kinds, lines[j].Kind) && lines[j].String() != lines[i].String() {
			return j
		}
	}
	return 0
}
