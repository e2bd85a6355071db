package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"deviceagent/agent/diag"
)

// located puts file and line to the faults of a plan.
func located(err error, name string, plan []byte) error {
	p, ok := errors.AsType[*diag.Problem](err)
	if !ok {
		return err
	}
	places := locate(plan)
	for i := range p.Errors {
		if p.Errors[i].Path != "" {
			p.Errors[i].Message += fmt.Sprintf("  %s:%d", name, lineOf(plan, places.near(p.Errors[i].Path)))
		}
	}
	return p
}

func lineOf(data []byte, at int64) int {
	return 1 + bytes.Count(data[:max(0, min(at, int64(len(data))))], []byte("\n"))
}

// syntax says where a text stops being one JSON value.
func syntax(data []byte) (int64, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&v); err != nil {
		if se, ok := errors.AsType[*json.SyntaxError](err); ok {
			return se.Offset - 1, err
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty")
		}
		return int64(len(data)), err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return dec.InputOffset(), errors.New("there is more after the end of the plan")
	}
	return 0, nil
}

// places maps the path of each value in a JSON text to where it begins.
type places map[string]int64

// near finds a path, or the nearest thing around it that is there: a missing member belongs to its object.
func (p places) near(path string) int64 {
	for {
		if at, ok := p[path]; ok {
			return at
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return p[""]
		}
		path = path[:i]
	}
}

func locate(data []byte) places {
	p := places{}
	dec := json.NewDecoder(bytes.NewReader(data))
	p.value(dec, data, "")
	return p
}

// value walks one value. Where the text is broken it stops: what was found so far is right.
func (p places) value(dec *json.Decoder, data []byte, path string) bool {
	if _, twice := p[path]; !twice {
		p[path] = begin(data, dec.InputOffset())
	}
	tok, err := dec.Token()
	if err != nil {
		return false
	}
	open, ok := tok.(json.Delim)
	if !ok {
		return true
	}
	for i := 0; dec.More(); i++ {
		sub := fmt.Sprintf("%s[%d]", path, i)
		if open == '{' {
			key, err := dec.Token()
			name, isText := key.(string)
			if err != nil || !isText {
				return false
			}
			sub = strings.TrimPrefix(path+"."+name, ".")
		}
		if !p.value(dec, data, sub) {
			return false
		}
	}
	_, err = dec.Token()
	return err == nil
}

// begin skips what stands between two values.
func begin(data []byte, at int64) int64 {
	for at < int64(len(data)) && strings.IndexByte(" \t\r\n:,", data[at]) >= 0 {
		at++
	}
	return at
}
