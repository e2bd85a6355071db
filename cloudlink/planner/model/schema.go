package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Schema is the shape of an answer: the few keywords that all servers keep to. No limits of numbers and lists, no pattern, no
// reference and no null are in it, since servers refuse those or drop the whole schema over them in silence; what they would say is
// checked after decoding. Every field is required: some servers demand that, and an absent field is then a fault, never a default.
type Schema struct {
	Type   string // object, array, string, integer, boolean
	Desc   string
	Enum   []string // of a string; never empty text, which one server refuses
	Fields []Field  // of an object, in the order in which a model writes them
	Items  *Schema  // of an array
}

// Field is one field of an object.
type Field struct {
	Name string
	Schema
}

func object(fields ...Field) Schema { return Schema{Type: "object", Fields: fields} }
func list(items Schema) Schema      { return Schema{Type: "array", Items: &items} }
func text() Schema                  { return Schema{Type: "string"} }
func oneOf(words ...string) Schema  { return Schema{Type: "string", Enum: words} }
func field(name, desc string, s Schema) Field {
	s.Desc = desc
	return Field{name, s}
}

// JSONSchema writes it as JSON Schema, for providers of kind OpenAI.
func (s Schema) JSONSchema() json.RawMessage { return s.render(false) }

// OpenAPI writes it in the subset of OpenAPI 3.0 that Gemini takes.
func (s Schema) OpenAPI() json.RawMessage { return s.render(true) }

// render writes by hand, because a map would lose the order of the fields, and models answer in that order.
func (s Schema) render(gemini bool) json.RawMessage {
	var b bytes.Buffer
	s.write(&b, gemini)
	return b.Bytes()
}

func (s Schema) write(b *bytes.Buffer, gemini bool) {
	kind := s.Type
	if gemini {
		kind = strings.ToUpper(kind)
	}
	b.WriteString(`{"type":` + strconv.Quote(kind))
	if s.Desc != "" {
		b.WriteString(`,"description":` + quoted(s.Desc))
	}
	if len(s.Enum) > 0 {
		b.WriteString(`,"enum":` + quotedList(s.Enum))
	}
	if s.Items != nil {
		b.WriteString(`,"items":`)
		s.Items.write(b, gemini)
	}
	if s.Type == "object" {
		s.writeFields(b, gemini)
	}
	b.WriteByte('}')
}

func (s Schema) writeFields(b *bytes.Buffer, gemini bool) {
	b.WriteString(`,"properties":{`)
	var names []string
	for i, f := range s.Fields {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(f.Name) + ":")
		f.write(b, gemini)
		names = append(names, f.Name)
	}
	b.WriteString(`},"required":` + quotedList(names))
	if gemini {
		b.WriteString(`,"propertyOrdering":` + quotedList(names))
		return
	}
	b.WriteString(`,"additionalProperties":false`)
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic("internal error: " + err.Error()) // a string
	}
	return string(out)
}

func quotedList(words []string) string {
	var parts []string
	for _, w := range words {
		parts = append(parts, quoted(w))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// maxFaults bounds what is told of one answer.
const maxFaults = 8

// Check says where a value is not of this shape; each fault begins with its path.
func (s Schema) Check(v any) (faults []string) {
	s.check("$", v, &faults)
	return faults[:min(len(faults), maxFaults)]
}

func (s Schema) check(path string, v any, faults *[]string) {
	bad := func(format string, args ...any) {
		*faults = append(*faults, path+": "+fmt.Sprintf(format, args...))
	}
	switch v := v.(type) {
	case map[string]any:
		if s.Type == "object" {
			s.checkFields(path, v, faults)
			return
		}
	case []any:
		if s.Type == "array" {
			for i, item := range v {
				s.Items.check(fmt.Sprintf("%s[%d]", path, i), item, faults)
			}
			return
		}
	case string:
		if s.Type == "string" {
			if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
				bad("is none of the registered %s", strings.Join(s.Enum, ", "))
			}
			return
		}
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); s.Type == "integer" && err == nil {
			return
		}
	case bool:
		if s.Type == "boolean" {
			return
		}
	}
	bad("want %s", s.Type)
}

func (s Schema) checkFields(path string, v map[string]any, faults *[]string) {
	known := map[string]bool{}
	for _, f := range s.Fields {
		known[f.Name] = true
		if value, there := v[f.Name]; there {
			f.check(path+"."+f.Name, value, faults)
		} else {
			*faults = append(*faults, path+"."+f.Name+": is missing")
		}
	}
	extra := 0
	for name := range v {
		if !known[name] {
			extra++
		}
	}
	if extra > 0 { // by number: a name out of an answer is text of a stranger
		*faults = append(*faults, fmt.Sprintf("%s: has %d fields that nobody asked for", path, extra))
	}
}
