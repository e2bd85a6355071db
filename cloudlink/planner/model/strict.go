package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxDepth is the deepest nesting of an answer; the schemas here need six.
const maxDepth = 12

// unwrap takes a whole answer out of one fence of Markdown, or from behind the thoughts that some servers leave before it. It is the
// only thing that is forgiven: what is inside still has to be right.
func unwrap(answer string) string {
	s := strings.TrimSpace(answer)
	if strings.HasPrefix(s, "<think>") {
		if _, after, ok := strings.Cut(s, "</think>"); ok {
			s = strings.TrimSpace(after)
		}
	}
	if body, ok := strings.CutPrefix(s, "```"); ok && strings.HasSuffix(body, "```") {
		body = strings.TrimPrefix(strings.TrimSuffix(body, "```"), "json")
		if !strings.Contains(body, "```") {
			return strings.TrimSpace(body)
		}
	}
	return s
}

// decode reads one JSON value strictly: no name twice, nothing behind it, bounded depth. Numbers stay as they are written.
func decode(answer string) (any, error) {
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	v, err := value(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("something follows the JSON value at byte %d", d.InputOffset())
	}
	return v, nil
}

func value(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nesting is deeper than %d at byte %d", maxDepth, d.InputOffset())
	}
	tok, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("no JSON at byte %d", d.InputOffset()) // the library's own text repeats what it read
	}
	switch tok {
	case json.Delim('{'):
		return members(d, depth)
	case json.Delim('['):
		return elements(d, depth)
	}
	return tok, nil
}

func members(d *json.Decoder, depth int) (any, error) {
	out := map[string]any{}
	for d.More() {
		tok, err := d.Token()
		name, ok := tok.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("no JSON at byte %d", d.InputOffset())
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("a name stands twice in one object, at byte %d", d.InputOffset())
		}
		if out[name], err = value(d, depth+1); err != nil {
			return nil, err
		}
	}
	return out, closed(d)
}

func elements(d *json.Decoder, depth int) (any, error) {
	out := []any{}
	for d.More() {
		v, err := value(d, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, closed(d)
}

func closed(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("the JSON ends too early, at byte %d", d.InputOffset())
	}
	return nil
}

// read takes an answer apart: unwrapped, strictly decoded, of the schema's shape, into the typed form. The faults are for the repair
// and the trace: they name places and registered words, never what the model wrote.
func read(answer string, s Schema, into any) (faults []string) {
	body := unwrap(answer)
	v, err := decode(body)
	if err != nil {
		return []string{"$: " + err.Error()}
	}
	if faults := s.Check(v); len(faults) > 0 {
		return faults
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		return []string{"$: does not fit the typed answer"} // a schema that differs from the type; a test holds them together
	}
	return nil
}
