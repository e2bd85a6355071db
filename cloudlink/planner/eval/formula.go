package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Formula is one number with what it is made of, as `testbed metrics` writes them. Without a denominator there is no value.
type Formula struct {
	Name string
	IDs  []string // counted in the denominator
	Not  []string // of those, the ones that the numerator lacks
}

func (f *Formula) add(id string, holds bool) {
	f.IDs = append(f.IDs, id)
	if !holds {
		f.Not = append(f.Not, id)
	}
}

// Ratio is the share of the ids that hold.
func (f Formula) Ratio() Ratio { return Ratio{len(f.IDs) - len(f.Not), len(f.IDs)} }

// MarshalJSON writes name, numerator, denominator, value (null where the denominator is 0), ids and not_in.
func (f Formula) MarshalJSON() ([]byte, error) {
	r := f.Ratio()
	return json.Marshal(struct {
		Name        string   `json:"name"`
		Numerator   int      `json:"numerator"`
		Denominator int      `json:"denominator"`
		Value       Ratio    `json:"value"`
		IDs         []string `json:"ids"`
		Not         []string `json:"not_in"`
	}{f.Name, r.Right, r.Of, r, nonNil(f.IDs), nonNil(f.Not)})
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// print writes the formula with the ids that it lacks.
func (f Formula) print(w io.Writer) {
	say(w, "%-22s %s\n", f.Name, f.Ratio())
	if len(f.Not) > 0 {
		say(w, "    not %s\n", strings.Join(f.Not, " "))
	}
}

func ratioText(a, b float64) string {
	if b == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", a/b)
}
