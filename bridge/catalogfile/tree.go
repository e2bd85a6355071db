package catalogfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Bounds of one file, so that a hostile or damaged one costs little. With more faults than MaxFaults it is no catalog file at all.
const (
	MaxBytes  = 1 << 20
	MaxDepth  = 32
	MaxFaults = 200
)

// node is one JSON value with its line. A number is a float64.
type node struct {
	line    int
	value   any // a scalar; nil for objects and lists as for null
	members map[string]*node
	items   []*node
	isList  bool
}

// readFile reads one file into a tree, with the keys that are given twice (the later one is in the tree). A fault leaves no tree.
func readFile(fsys fs.FS, name string) (root *node, twice []breach, fault *Fault) {
	data, err := readBounded(fsys, name)
	if err != nil {
		return nil, nil, &Fault{File: name, Message: err.Error()}
	}
	if !utf8.Valid(data) {
		return nil, nil, &Fault{File: name, Message: "is not valid UTF-8"}
	}
	r := &reader{file: name, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	r.dec.UseNumber()
	root, err = r.value(nil)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, nil, r.fault(err)
	}
	return root, r.twice, nil
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
	file  string
	data  []byte
	dec   *json.Decoder
	twice []breach

	counted int64 // how far lines are counted: values come in order, so a large file is counted through once
	lines   int
}

// line gives the line of the token that was read last.
func (r *reader) line() int {
	offset := r.dec.InputOffset()
	r.lines += bytes.Count(r.data[r.counted:offset], []byte("\n"))
	r.counted = offset
	return 1 + r.lines
}

// located is a fault that already knows its place.
type located struct{ Fault }

func (l *located) Error() string { return l.String() }

func (r *reader) here(format string, args ...any) error {
	line, column := r.position(r.dec.InputOffset())
	return &located{Fault{r.file, line, column, "", fmt.Sprintf(format, args...)}}
}

func (r *reader) end() error {
	switch _, err := r.dec.Token(); err {
	case io.EOF:
		return nil
	case nil:
		return r.here("holds more than one JSON value")
	default:
		return err
	}
}

func (r *reader) position(offset int64) (line, column int) {
	before := r.data[:min(max(offset, 0), int64(len(r.data)))]
	return 1 + bytes.Count(before, []byte("\n")), max(1, len(before)-bytes.LastIndexByte(before, '\n')-1)
}

func (r *reader) fault(err error) *Fault {
	if l, ok := errors.AsType[*located](err); ok {
		return &l.Fault
	}
	offset, message := r.dec.InputOffset(), err.Error()
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		offset, message = int64(len(r.data)), "ends in the middle of a value"
	}
	line, column := r.position(offset)
	return &Fault{r.file, line, column, "", "is not JSON: " + message}
}

func (r *reader) value(at []string) (*node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	if len(at) >= MaxDepth {
		return nil, r.here("is nested deeper than %d", MaxDepth)
	}
	n := &node{line: r.line()}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return n, r.list(n, at)
		}
		return n, r.object(n, at)
	case json.Number:
		f, err := strconv.ParseFloat(string(t), 64)
		if err != nil || math.IsInf(f, 0) {
			return nil, r.here("%s is out of the range of a number", t)
		}
		n.value = f
	default:
		n.value = token
	}
	return n, nil
}

func (r *reader) list(n *node, at []string) error {
	n.isList = true
	for r.dec.More() {
		item, err := r.value(append(at, strconv.Itoa(len(n.items))))
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.dec.Token()
	return err
}

func (r *reader) object(n *node, at []string) error {
	n.members = map[string]*node{}
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key := token.(string) // the decoder gives nothing else where a key is due
		if earlier, again := n.members[key]; again {
			r.twice = append(r.twice, breach{slices.Concat(at, []string{key}), fmt.Sprintf("is given twice, first in line %d", earlier.line)})
		}
		member, err := r.value(append(at, key))
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
