package planner

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
)

// workflowContext says which of the open workflows a turn is about. It names them only: how they stand the planner knows from the device.
type workflowContext struct {
	Workflows  *[]string `json:"workflows,omitempty"`  // left out: all that are open; an empty list: none of them
	Foreground string    `json:"foreground,omitempty"` // what is meant where nothing is named; default: the latest
}

// Limits of the context of a turn. Source: docs/planner-api.md.
const (
	maxSaid      = 20 // things that were said before
	maxSaidBytes = 2 << 10
	maxKeys      = 64 // values of the device
	maxContexts  = 20 // workflows
	maxEtag      = 128
)

// history is what the caller says was said before; nil: it says nothing.
func (r turnRequest) history() []turn.Said {
	if r.HistoryContext == nil {
		return nil
	}
	return *r.HistoryContext
}

// contextFaults names all that is wrong with the context of a turn.
func (r *turnRequest) contextFaults() (faults []wire.Fault) {
	bad := func(path, format string, args ...any) {
		faults = append(faults, wire.Fault{Path: path, ReasonCode: wire.ReasonBadValue, Message: fmt.Sprintf(format, args...)})
	}
	if c := r.VoiceContext.Confidence; c != nil && !(*c >= 0 && *c <= 1) {
		bad("voice_context.confidence", "must be 0 to 1")
	}
	said := r.history()
	if len(said) > maxSaid {
		bad("history_context", "must have at most %d entries, oldest first", maxSaid)
	}
	for i, h := range said {
		at := fmt.Sprintf("history_context[%d].", i)
		if h.By != "user" && h.By != "robot" {
			bad(at+"by", "must be user or robot")
		}
		if strings.TrimSpace(h.Text) == "" || len(h.Text) > maxSaidBytes || !utf8.ValidString(h.Text) {
			bad(at+"text", "must be text of 1 to %d bytes", maxSaidBytes)
		}
		if h.Family != "" && !slices.Contains(families, h.Family) {
			bad(at+"family", "must be a family, or be left out")
		}
		if h.AgeMS < 0 {
			bad(at+"age_ms", "must not be negative")
		}
	}
	if c := r.WorkflowContext; c != nil {
		if c.Workflows != nil && len(*c.Workflows) > maxContexts {
			bad("workflow_context.workflows", "must have at most %d entries", maxContexts)
		}
		if c.Foreground != "" && !validID(c.Foreground) {
			bad("workflow_context.foreground", "must be an id")
		}
		if c.Workflows != nil {
			for i, id := range *c.Workflows {
				if !validID(id) {
					bad(fmt.Sprintf("workflow_context.workflows[%d]", i), "must be an id")
				}
			}
			if c.Foreground != "" && !slices.Contains(*c.Workflows, c.Foreground) {
				bad("workflow_context.foreground", "must be one of workflows")
			}
		}
	}
	return append(faults, deviceFaults(r.DeviceContext)...)
}

var families = []turn.Family{turn.ODL, turn.SCH, turn.FRG, turn.DEF, turn.DQR, turn.UNS, turn.STTNull, turn.STM, turn.ETR}

// deviceFaults: a value is text, a number or a boolean with its age, or it is missing. Both at once would be a value that nobody has seen.
func deviceFaults(d *turn.Device) (faults []wire.Fault) {
	bad := func(path, format string, args ...any) {
		faults = append(faults, wire.Fault{Path: path, ReasonCode: wire.ReasonBadValue, Message: fmt.Sprintf(format, args...)})
	}
	if d == nil {
		return nil
	}
	if len(d.Etag) > maxEtag {
		bad("device_context.etag", "must be at most %d bytes", maxEtag)
	}
	if len(d.Keys) > maxKeys {
		bad("device_context.keys", "must have at most %d entries", maxKeys)
		return faults
	}
	for _, name := range slices.Sorted(maps.Keys(d.Keys)) {
		k, at := d.Keys[name], "device_context.keys."+name
		if !validID(name) {
			bad(at, "its name must be that of a context key")
		}
		if k.AgeMS < 0 {
			bad(at+".age_ms", "must not be negative")
		}
		switch v := k.V.(type) {
		case nil:
			if !k.Missing {
				bad(at, "must have a value, or be missing")
			}
		case string, bool, float64:
			if k.Missing {
				bad(at+".missing", "it has a value")
			}
			if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				bad(at+".value", "must be a finite number")
			}
			if text, ok := v.(string); ok && len(text) > maxSaidBytes {
				bad(at+".value", "must be at most %d bytes", maxSaidBytes)
			}
		default:
			bad(at+".value", "must be text, a number or a boolean")
		}
	}
	return faults
}
