package model

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Request is one question to a model.
type Request struct {
	Purpose string // main, repair, second_pass, escalation: for the trace
	System  string // ours alone: no word of a user, a device or a page is in it
	Data    []Data // what strangers said, in order of importance; the last are left out first
	Schema  Schema
}

// Data is text or values of others. It goes into the prompt as one member of a JSON object, so that no text in it can end its own
// quotation and speak as if it were ours.
type Data struct {
	Name string
	V    any
	Keep bool // without it the question makes no sense: never left out
}

// Answer is what a model said, as yet unread.
type Answer struct {
	Text         string
	InputTokens  *int64 // nil: not reported
	OutputTokens *int64
}

// tokens estimates how many tokens a text is, on the high side: a quarter of its ASCII, and one for each other character.
func tokens(s string) int {
	ascii, other := 0, 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// prompt writes the part of the user: one JSON object, as much of it as fits. ok is false where not even what must be kept fits.
func (r Request) prompt(budget int) (text string, ok bool) {
	data := r.Data
	left := budget - tokens(r.System) - tokens(string(r.Schema.JSONSchema()))
	for {
		text = dataObject(data)
		if tokens(text) <= left {
			return text, true
		}
		last := len(data) - 1
		for last >= 0 && data[last].Keep {
			last--
		}
		if last < 0 {
			return "", false
		}
		data = append(append([]Data{}, data[:last]...), data[last+1:]...)
	}
}

// dataObject writes data as the members of one object, in order.
func dataObject(data []Data) string {
	out := "{"
	for i, d := range data {
		if i > 0 {
			out += ","
		}
		v, err := json.Marshal(d.V)
		if err != nil {
			v = []byte(`"` + fmt.Sprintf("unreadable %T", d.V) + `"`)
		}
		out += quoted(d.Name) + ":" + string(v)
	}
	return out + "}"
}
