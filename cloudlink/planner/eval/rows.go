package eval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Row is one labelled utterance. Which fields it has says what it measures; see [Kind].
type Row struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Source string `json:"source"`
	Note   string `json:"note"` // "tier=A; basis=…; accept=DEF,UNS"

	Family    string   `json:"family"`    // route family
	Structure []string `json:"structure"` // conditional, sequence, delayed, recurring, single

	Kind      string          `json:"kind"`      // of a time value
	Span      string          `json:"span"`      // the words that say it
	Value     json.RawMessage `json:"value"`     // in the spelling of its source
	Reference string          `json:"reference"` // the moment that it was said
}

// Kind is what a file of rows measures.
type Kind string

// The kinds of rows.
const (
	Families   Kind = "families"
	Structures Kind = "structures"
	TimeValues Kind = "times"
)

func (r Row) kind() Kind {
	switch {
	case r.Family != "":
		return Families
	case len(r.Structure) > 0:
		return Structures
	case r.Kind != "":
		return TimeValues
	}
	return ""
}

// note gives one entry of the note, such as "A" for "tier"; empty where there is none.
func (r Row) note(key string) string {
	for part := range strings.SplitSeq(r.Note, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && name == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// accepts says whether a fair judge would take this family: the label, or one that the note names.
func (r Row) accepts(family string) bool {
	return family == r.Family || slices.Contains(strings.Split(r.note("accept"), ","), family)
}

const maxRow = 1 << 20 // bytes of a line

// Read reads rows of one kind, one JSON object a line. Errors: a line that is no row, rows of two kinds, no row at all.
func Read(from io.Reader) ([]Row, Kind, error) {
	var rows []Row
	var kind Kind
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxRow)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var r Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, "", fmt.Errorf("cannot read line %d: %w", n, err)
		}
		switch is := r.kind(); {
		case is == "":
			return nil, "", fmt.Errorf("line %d has no label: no family, no structure, no kind", n)
		case kind != "" && is != kind:
			return nil, "", fmt.Errorf("line %d is about %s, those before about %s", n, is, kind)
		default:
			kind = is
		}
		rows = append(rows, r)
	}
	if err := lines.Err(); err != nil {
		return nil, "", fmt.Errorf("cannot read rows: %w", err)
	}
	if len(rows) == 0 {
		return nil, "", errors.New("no rows")
	}
	return rows, kind, nil
}
