package eval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"deviceagent/cloudlink/planner/turn"
)

// Row is one labelled utterance. Which fields it has says what it measures; see [Kind].
type Row struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Source string `json:"source"`
	Note   string `json:"note"` // "tier=A; basis=…; accept=DEF,UNS"

	Family    string   `json:"family"`    // route family
	Admitted  *bool    `json:"admitted"`  // whether it asks for more than orders
	Axes      []string `json:"axes"`      // of meaning, on which it does
	Structure []string `json:"structure"` // conditional, sequence, delayed, recurring, single

	Kind      string          `json:"kind"`      // of a time value
	Span      string          `json:"span"`      // the words that say it
	Value     json.RawMessage `json:"value"`     // in the spelling of its source
	Reference json.RawMessage `json:"reference"` // of a time value the moment that it was said, of a dialog the calls

	Messages []message   `json:"messages"` // of a dialog
	Tools    []turn.Tool `json:"tools"`
	Expect   string      `json:"expect"` // call, slot (something is missing), relevance (no tool fits)
}

// Kind is what a file of rows measures.
type Kind string

// The kinds of rows.
const (
	Families   Kind = "families"
	Structures Kind = "structures"
	TimeValues Kind = "times"
	Dialogs    Kind = "dialogs"
	Admissions Kind = "admissions"
)

func (r Row) kind() Kind {
	switch {
	case r.Admitted != nil:
		return Admissions
	case r.Family != "":
		return Families
	case len(r.Structure) > 0:
		return Structures
	case r.Kind != "":
		return TimeValues
	case r.Expect != "":
		return Dialogs
	}
	return ""
}

// message is one of a dialog as it is written in a row.
type message struct {
	Role    string          `json:"role"`
	Content string          `json:"content"`
	Calls   json.RawMessage `json:"tool_calls"`
}

func (r Row) dialog() []turn.Message {
	var out []turn.Message
	for _, m := range r.Messages {
		out = append(out, turn.Message{Role: m.Role, Content: m.Content, Called: m.Role == "assistant" && len(m.Calls) > 0 && string(m.Calls) != "null"})
	}
	return out
}

func (r Row) lastSaid() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Content
}

// calls is the tool that the row calls; empty where it calls none.
func (r Row) calls() string {
	var calls []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(r.Reference, &calls) != nil || len(calls) == 0 {
		return ""
	}
	return calls[0].Function.Name
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
			return nil, "", fmt.Errorf("line %d has no label: no family, no structure, no kind, no expectation, no admission", n)
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
