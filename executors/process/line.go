package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"deviceagent/executors"
	"deviceagent/taskmanager/core"
	"deviceagent/taskmanager/core/catalog"
	"deviceagent/taskmanager/core/condition"
)

// line is one thing that a program says. Which fields count, its type says; docs/process-executor.md lists them.
type line struct {
	Type string `json:"type"` // accepted, refused, progress, event, context, result

	Reason  string  `json:"reason,omitempty"` // of refused, event, result
	Percent float64 `json:"percent,omitempty"`
	Note    string  `json:"note,omitempty"`

	Event      string      `json:"event,omitempty"`
	Resource   string      `json:"resource,omitempty"`
	Class      string      `json:"source_class,omitempty"`
	OccurredAt string      `json:"occurred_at,omitempty"`
	Seq        int64       `json:"seq,omitempty"`
	Data       core.Values `json:"data,omitempty"`

	Values []value `json:"values,omitempty"`

	Outcome string      `json:"outcome,omitempty"`
	Output  core.Values `json:"output,omitempty"`
}

type value struct {
	Key       string          `json:"key"`
	Value     condition.Value `json:"value"`
	Class     string          `json:"source_class,omitempty"`
	Available *bool           `json:"available,omitempty"` // left out: true
}

func parse(text []byte) (line, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("more than one object on a line")
	}
	for what, name := range map[string]string{"event": l.Event, "resource": l.Resource, "source_class": l.Class} {
		if name != "" && !executors.IsName(name) {
			return l, fmt.Errorf("%s is not a name", what)
		}
	}
	if len(l.OccurredAt) > 64 || len(l.Note) > 1024 {
		return l, errors.New("occurred_at has at most 64 bytes, note at most 1024")
	}
	return l, nil
}

// event makes the core's event of a line about a running task; nil where it is none. A program speaks for its own task only, and of
// the keys that the catalog gives it.
func (l line) event(service core.ServiceID, task core.TaskID, keys []catalog.ContextKey) (core.Event, error) {
	switch l.Type {
	case "accepted", "result":
		return nil, nil
	case "progress":
		return core.TaskProgress{Task: task, Percent: l.Percent, Note: l.Note}, nil
	case "event":
		if l.Event == "" {
			return nil, errors.New("an event has a name")
		}
		return core.Observed{Event: catalog.EventName(l.Event), Task: task, Resource: catalog.ResourceID(l.Resource), Source: string(service),
			Class: catalog.Class(l.Class), OccurredAt: l.OccurredAt, Seq: l.Seq, Reason: reason(l.Reason, ""), Data: l.Data}, nil
	case "context":
		return l.context(service, keys)
	}
	return nil, fmt.Errorf("type is %.32q", l.Type)
}

func (l line) context(service core.ServiceID, keys []catalog.ContextKey) (core.Event, error) {
	read := core.ContextRead{Source: string(service)}
	for _, v := range l.Values {
		if !slices.Contains(keys, catalog.ContextKey(v.Key)) {
			return nil, fmt.Errorf("context key %.64q is not one that the catalog gives this program", v.Key)
		}
		read.Values = append(read.Values, core.ContextValue{Key: catalog.ContextKey(v.Key), Value: v.Value, Class: catalog.Class(v.Class),
			Available: v.Available == nil || *v.Available})
	}
	return read, nil
}

// reason takes a program's word over where it is a code.
func reason(text string, fallback core.Reason) core.Reason {
	if text == "" || !executors.IsName(text) {
		return fallback
	}
	return core.Reason(text)
}
