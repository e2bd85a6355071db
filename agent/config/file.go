package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// fileCap bounds a file of settings; the longest honest one has a few KiB. Bytes.
const fileCap = 1 << 20

// file lays one file over what is in force. The library decodes; but it stops at the first wrong type and does not go on to the
// unknown keys, so every value is looked at one by one first, and the strict decoding is the last word.
func (l *loader) file(f File) {
	l.places = append(l.places, f.Path+":", f.Path)
	data, err := os.ReadFile(f.Path)
	switch {
	case os.IsNotExist(err) && !f.Must:
		return
	case err != nil:
		l.fault("", "", f.Path, "cannot read the file: "+reason(err))
		return
	case len(data) > fileCap:
		l.fault("", "", f.Path, fmt.Sprintf("the file has %d bytes, at most %d are read", len(data), fileCap))
		return
	}
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		l.syntax(f.Path, err)
		return
	}
	before := len(l.faults)
	lines := keyLines(data)
	for _, leaf := range leaves(tree, "") {
		l.leaf(f.Path, lines, leaf)
	}
	if len(l.faults) > before {
		return
	}
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&l.c); err != nil {
		l.syntax(f.Path, err)
	}
}

// syntax reports what the library found.
func (l *loader) syntax(path string, err error) {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		for _, e := range strict.Errors {
			row, _ := e.Position()
			l.fault(strings.Join(e.Key(), "."), "", fmt.Sprintf("%s:%d", path, row), "there is no such setting")
		}
		return
	}
	place := path
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := e.Position()
		place = fmt.Sprintf("%s:%d", path, row)
	}
	l.fault("", "", place, "cannot read the file: "+strings.TrimPrefix(err.Error(), "toml: "))
}

type leaf struct {
	key   string
	value any
}

// leaves lists the values of a tree, sorted by key.
func leaves(tree map[string]any, prefix string) (out []leaf) {
	for name, v := range tree {
		key := prefix + name
		if sub, ok := v.(map[string]any); ok && (section(key) || len(sub) > 0) {
			if _, isKey := find(key); !isKey {
				out = append(out, leaves(sub, key+".")...)
				continue
			}
		}
		out = append(out, leaf{key, v})
	}
	slices.SortFunc(out, func(a, b leaf) int { return strings.Compare(a.key, b.key) })
	return out
}

func (l *loader) leaf(path string, lines map[string]int, v leaf) {
	place := path
	if n := lines[v.key]; n > 0 {
		place = fmt.Sprintf("%s:%d", path, n)
	}
	k, ok := find(v.key)
	switch {
	case !ok && section(v.key):
		l.fault(v.key, shown(v.value), place, "is a section: write ["+v.key+"] and its settings below")
		return
	case !ok:
		l.fault(v.key, "", place, "there is no such setting")
		return
	case l.may != nil && !slices.Contains(l.may, v.key):
		l.fault(v.key, shown(v.value), place, "is nothing that is provisioned: it belongs into /etc/deviceagent")
		return
	}
	if err := k.set(&l.c, v.value); err != nil {
		l.fault(k.Name, shown(v.value), place, err.Error())
		return
	}
	l.origins[k.Name] = Origin{Layer: "file", Place: place}
	delete(l.bad, k.Name)
}

// shown is a value as a fault repeats it, cut where it is long. The part of an address that may be a password is cut first: see discreet.
func shown(v any) string {
	text := fmt.Sprintf("%v", v)
	switch x := v.(type) {
	case string:
		text = discreet("", fmt.Sprintf("%q", x))
	case map[string]any:
		text = "{...}"
	}
	if len(text) > 80 {
		text = text[:77] + "..."
	}
	return text
}

// keyLines finds the line of each key of a document that is known to be well-formed.
func keyLines(data []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		name, line := keyOf(&p, e)
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = name + "."
			lines[name] = line
		case unstable.KeyValue:
			lines[table+name] = line
			inline(&p, e.Value(), table+name+".", lines)
		}
	}
	return lines
}

func inline(p *unstable.Parser, v *unstable.Node, prefix string, lines map[string]int) {
	if v.Kind != unstable.InlineTable {
		return
	}
	for it := v.Children(); it.Next(); {
		name, line := keyOf(p, it.Node())
		lines[prefix+name] = line
		inline(p, it.Node().Value(), prefix+name+".", lines)
	}
}

func keyOf(p *unstable.Parser, n *unstable.Node) (string, int) {
	var parts []string
	line := 0
	for it := n.Key(); it.Next(); {
		parts = append(parts, string(it.Node().Data))
		if line == 0 {
			line = p.Shape(it.Node().Raw).Start.Line
		}
	}
	return strings.Join(parts, "."), line
}
