package demo

import (
	"fmt"

	"deviceagent/bridge/wire"
)

// Summary is the last line of the demo's standard output. Workflow is the agent's closing word; both it and WorkflowID are null
// where the planner answered without a device step. Effects has the closure of each effect; where steps differ, the worst (a step
// that was skipped leaves its effect "bound", which "observed" outweighs). UplinkPublishes is counted by the outside subscriber, not by those who published.
type Summary struct {
	Utterance       string            `json:"utterance"`
	Answer          string            `json:"answer"` // what the planner says back, at once
	WorkflowID      *string           `json:"workflow_id"`
	Workflow        *string           `json:"workflow"`
	Steps           []Step            `json:"steps"`
	Effects         map[string]string `json:"effects"`
	UplinkPublishes int               `json:"uplink_publishes"`
	UplinkRepeats   int               `json:"uplink_repeats,omitempty"` // of them, messages sent again, as after a crash
	ModelCalls      int64             `json:"model_calls"`
	ElapsedMS       int64             `json:"elapsed_ms"` // from the utterance to the result, real time
	Crash           *Crash            `json:"crash,omitempty"`

	unproved []string // effects that a good end does not know
}

// Step is one step of the plan and what proved it.
type Step struct {
	ID       string     `json:"id"`
	State    string     `json:"state"`
	Reason   string     `json:"reason_code,omitempty"`
	Evidence []Evidence `json:"evidence"`
}

// Evidence is one observation that was taken as proof: an event, or a context key that was read.
type Evidence struct {
	Effect    string `json:"effect"`
	Event     string `json:"event,omitempty"`
	Key       string `json:"key,omitempty"`
	Value     any    `json:"value,omitempty"`
	Source    string `json:"source"`
	Seq       int64  `json:"seq"` // number in the agent's journal
	Recovered bool   `json:"recovered,omitempty"`
}

// Crash is what the robot's own log says after the agent was killed and started again.
type Crash struct {
	KilledDuring string   `json:"killed_during"` // movement or cleaning
	Movements    int      `json:"movements"`
	Cleanings    int      `json:"cleanings"`
	Faults       []string `json:"faults"` // what must not be; empty is the promise kept
}

// The states of an effect that a good end knows: observed, or bound where its step was skipped by its own condition. Bound at any
// other step would be a completion without evidence.
const (
	observed = "observed"
	bound    = "bound"
	skipped  = "skipped"
)

func (s *Summary) take(r *wire.Result) {
	s.Workflow = &r.Status
	for _, st := range r.Steps {
		s.Steps = append(s.Steps, stepOf(st))
		for _, e := range st.Effects {
			if e.State != observed && !(e.State == bound && st.State == skipped) {
				s.unproved = append(s.unproved, fmt.Sprintf("effect %s of %s (%s) is %s, not observed", e.EffectID, st.CloudStepID, st.State, e.State))
			}
			if old, known := s.Effects[e.EffectID]; !known || old == bound || old == observed && e.State != bound {
				s.Effects[e.EffectID] = e.State
			}
		}
	}
}

func stepOf(r wire.StepReport) Step {
	st := Step{ID: r.CloudStepID, State: r.State, Reason: r.ReasonCode, Evidence: []Evidence{}}
	for _, e := range r.Evidence {
		st.Evidence = append(st.Evidence, Evidence{Effect: e.EffectID, Event: e.Event, Key: e.Key, Value: content(e.Value.V), Source: e.Source,
			Seq: e.Seq, Recovered: e.Recovered})
	}
	return st
}

// content leaves an empty object out.
func content(v any) any {
	if m, ok := v.(map[string]any); ok && len(m) == 0 {
		return nil
	}
	return v
}

// faults says why the demo did not show what it promises; empty: it did.
func (s *Summary) faults() (out []string) {
	if s.Workflow == nil {
		return nil
	}
	if *s.Workflow != "completed" {
		out = append(out, "the workflow ended "+*s.Workflow+", not completed")
	}
	out = append(out, s.unproved...)
	if s.Crash != nil {
		out = append(out, s.Crash.Faults...)
	}
	return out
}
