package catalogfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"unicode/utf8"

	"deviceagent/taskmanager/core/catalog"
)

// MaxBytes and MaxDepth bound one file, so that a hostile or damaged one costs little.
const (
	MaxBytes = 1 << 20
	MaxDepth = 32
)

// node is one JSON value with its line. A number is a float64.
type node struct {
	line    int
	value   any // a scalar; nil for objects and lists as for null
	members map[string]*node
	items   []*node
	isList  bool
}

// readFile reads one file into a tree. Its faults leave nothing to go on with, but the repeated keys do.
func readFile(fsys fs.FS, name string) (*node, []Fault) {
	data, err := readBounded(fsys, name)
	if err != nil {
		return nil, []Fault{{File: name, Message: err.Error()}}
	}
	if !utf8.Valid(data) {
		return nil, []Fault{{File: name, Message: "is not valid UTF-8"}}
	}
	r := &reader{file: name, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	root, err := r.value("", 1)
	if err == nil {
		if _, err = r.dec.Token(); err == io.EOF {
			err = nil
		} else if err == nil {
			err = r.here("", "holds more than one JSON value")
		}
	}
	if err != nil {
		return nil, append(r.faults, r.fault(err))
	}
	return root, r.faults
}

func readBounded(fsys fs.FS, name string) ([]byte, error) {
	file, err := fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot be opened: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("is larger than %d bytes", MaxBytes)
	}
	return data, nil
}

type reader struct {
	file   string
	data   []byte
	dec    *json.Decoder
	faults []Fault
}

// located is a fault that already knows its place.
type located struct{ Fault }

func (l *located) Error() string { return l.String() }

func (r *reader) here(path, format string, args ...any) error {
	line, column := r.position(r.dec.InputOffset())
	return &located{Fault{r.file, line, column, path, fmt.Sprintf(format, args...)}}
}

func (r *reader) position(offset int64) (line, column int) {
	before := r.data[:min(max(offset, 0), int64(len(r.data)))]
	return 1 + bytes.Count(before, []byte("\n")), max(1, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

func (r *reader) fault(err error) Fault {
	if l, ok := errors.AsType[*located](err); ok {
		return l.Fault
	}
	offset, message := r.dec.InputOffset(), err.Error()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, message = int64(len(r.data)), "ends in the middle of a value"
	}
	line, column := r.position(offset)
	return Fault{r.file, line, column, "", "is not JSON: " + message}
}

func (r *reader) value(path string, depth int) (*node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	if depth > MaxDepth {
		return nil, r.here(path, "is nested deeper than %d", MaxDepth)
	}
	line, _ := r.position(r.dec.InputOffset())
	n := &node{line: line}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return n, r.list(n, path, depth)
		}
		return n, r.object(n, path, depth)
	case json.Number:
		f, err := strconv.ParseFloat(string(t), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, r.here(path, "%s is out of the range of a number", t)
		}
		n.value = f
	default:
		n.value = token
	}
	return n, nil
}

func (r *reader) list(n *node, path string, depth int) error {
	n.isList = true
	for r.dec.More() {
		item, err := r.value(path+"["+strconv.Itoa(len(n.items))+"]", depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.dec.Token()
	return err
}

func (r *reader) object(n *node, path string, depth int) error {
	n.members = map[string]*node{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder gives nothing else where a key is due
		below := catalog.JoinPath(path, key)
		if path == "" {
			below = key
		}
		if earlier, twice := n.members[key]; twice {
			line, _ := r.position(r.dec.InputOffset())
			r.faults = append(r.faults, Fault{r.file, line, 0, below, fmt.Sprintf("is given twice, first in line %d", earlier.line)})
		}
		member, err := r.value(below, depth+1)
		if err != nil {
			return err
		}
		n.members[key] = member
	}
	_, err := r.dec.Token()
	return err
}

// plain gives the tree as encoding/json would.
func (n *node) plain() any {
	switch {
	case n.isList:
		list := make([]any, 0, len(n.items))
		for _, item := range n.items {
			list = append(list, item.plain())
		}
		return list
	case n.members != nil:
		object := make(map[string]any, len(n.members))
		for key, member := range n.members {
			object[key] = member.plain()
		}
		return object
	}
	return n.value
}

// text gives a member that is a string, else "".
func (n *node) text(key string) string {
	if member := n.members[key]; member != nil {
		text, _ := member.value.(string)
		return text
	}
	return ""
}
