package agents

import (
	"context"
	"slices"
	"strings"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/condition"
)

// turnDeadline bounds all that is looked up in the answer to one turn. Who has asked aloud waits for it.
const turnDeadline = 8 * time.Second

// Did is what became of one step that was carried out in the answer to a turn.
type Did struct {
	StepID      string `json:"cloud_step_id"`
	Skill       string `json:"skill"`
	State       string `json:"state"` // completed, failed, skipped
	ReasonCode  string `json:"reason_code,omitempty"`
	RetrievedAt string `json:"retrieved_at,omitempty"` // RFC 3339; empty: nothing was looked up

	key    string // its output_key
	text   string
	output map[string]any
	fed    bool // its words went into a later step
}

// Answer is what is said to a turn that needs nothing of the robot. False: the decision's own words stand.
func (a *Agents) Answer(ctx context.Context, in turn.Input, d turn.Decision) (said string, did []Did, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, turnDeadline)
	defer cancel()
	in.Locale = LocaleOf(in.Text, in.Locale)
	if d.AskFollowUp || len(d.MissingSlots) > 0 || d.Control != nil || d.Schedule != nil || d.Revises != nil || d.Memo != nil || d.Asks != nil || d.Answers != nil || d.Slots != nil {
		return "", nil, false
	}
	if len(d.Steps) > 0 {
		did = a.all(ctx, in, d.Steps)
		said = spoken(did, in.Locale)
		if len(d.Refused) > 0 { // what was refused by name beside them
			said = d.TTSResponse + " " + said
		}
		return said, did, true
	}
	switch d.OwnerSelection {
	case turn.FRG:
		did = a.all(ctx, in, []turn.Step{briefOf(in)})
		return spoken(did, in.Locale), did, true
	case turn.DQR:
		step := turn.Step{ID: "answer", Skill: SkillRest, Params: wire.Object{"kind": {V: "product_answer"}, "query": {V: in.Text}}}
		did = a.all(ctx, in, []turn.Step{step})
		return spoken(did, in.Locale), did, true
	case turn.DEF:
		if general(d) {
			said = converse(in.Text, in.Locale)
		}
	case turn.STTNull:
		if general(d) {
			said = repair(d.STTNullSubtype, in.Locale)
		}
	}
	return said, nil, said != ""
}

// general says whether a decision says no more than what is said to everything of its family. Other words stand: a model's, or an answer to
// what was talked about.
func general(d turn.Decision) bool {
	return d.TTSResponse == "" || d.TTSResponse == rules.Reply(d.OwnerSelection, false) || d.TTSResponse == rules.Reply(d.OwnerSelection, true)
}

// briefOf makes the step of a question about what is outside.
func briefOf(in turn.Input) turn.Step {
	p := wire.Object{"topic": {V: TopicOf(in.Text)}, "when": {V: WhenOf(in.Text, in.Now)}}
	if p["topic"].V != "weather" {
		p["query"] = wire.Value{V: in.Text}
	}
	if place := PlaceOf(in.Text); place != "" {
		p["place"] = wire.Value{V: place}
	}
	return turn.Step{ID: "answer", Skill: SkillBrief, Params: p}
}

// repair asks for the whole again, as far as it is worth it: noise is answered with one word.
func repair(subtype, locale string) string {
	if _, known := sentences[subtype]; !known {
		subtype = "STT_NULL_GENERIC"
	}
	return say(locale, subtype)
}

// all carries steps out in their order: each when all that it waits for has ended.
func (a *Agents) all(ctx context.Context, in turn.Input, steps []turn.Step) []Did {
	var did []Did
	left := slices.Clone(steps)
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(s turn.Step) bool { return ready(s, did) })
		if i < 0 {
			break // a circle: compile refuses it, and nothing of it is done here
		}
		did = append(did, a.one(ctx, in, left[i], did))
		left = slices.Delete(left, i, i+1)
	}
	return did
}

func ready(s turn.Step, did []Did) bool {
	return !slices.ContainsFunc(s.DependsOn, func(d wire.Dependency) bool { return find(did, d.Step) == nil })
}

func find(did []Did, id string) *Did {
	for i := range did {
		if did[i].StepID == id {
			return &did[i]
		}
	}
	return nil
}

// one carries a step out, or says why not.
func (a *Agents) one(ctx context.Context, in turn.Input, s turn.Step, before []Did) Did {
	d := Did{StepID: s.ID, Skill: s.Skill, State: skipped, key: s.OutputKey}
	if slices.ContainsFunc(s.DependsOn, func(on wire.Dependency) bool { return unmet(on, before) }) {
		d.ReasonCode = "dependency_failed"
		return d
	}
	switch holds(s.When, before) {
	case condition.False:
		d.ReasonCode = conditionFalse
		return d
	case condition.Unknown: // never taken for no
		d.State, d.ReasonCode, d.text = failed, "context_missing", say(in.Locale, "condition_unknown")
		return d
	}
	inputs, ok := inputsOf(s, before)
	if !ok {
		d.State, d.ReasonCode, d.text = failed, "input_invalid", say(in.Locale, "step_skipped")
		return d
	}
	out := a.Do(ctx, Task{Skill: s.Skill, Inputs: inputs, Locale: in.Locale, Now: in.Now})
	d.State, d.ReasonCode, d.text, d.output = completed, out.Reason, out.Text, out.Output
	if out.Reason != "" {
		d.State = failed
	}
	if !out.RetrievedAt.IsZero() {
		d.RetrievedAt = out.RetrievedAt.UTC().Format(time.RFC3339)
	}
	return d
}

// What can become of a step.
const (
	completed = "completed"
	failed    = "failed"
	skipped   = "skipped"
)

// holds evaluates a condition over what steps have found; none holds.
func holds(c *wire.Condition, before []Did) condition.Truth {
	if c == nil {
		return condition.True
	}
	return condition.Eval(*conditionOf(c), func(ref string, _ int64) (condition.Value, condition.Availability) {
		if v, ok := lookUp(ref, before); ok {
			return v, condition.Fresh
		}
		return nil, condition.Missing
	}).Truth
}

func conditionOf(w *wire.Condition) *condition.Condition {
	if w == nil {
		return nil
	}
	c := condition.Condition{Ref: w.Ref, Op: condition.Op(w.Op), Value: w.Value.V, Not: conditionOf(w.Not)}
	for i := range w.All {
		c.All = append(c.All, *conditionOf(&w.All[i]))
	}
	for i := range w.Any {
		c.Any = append(c.Any, *conditionOf(&w.Any[i]))
	}
	return &c
}

// lookUp finds "weather.rain" in the output that is kept under weather.
func lookUp(ref string, before []Did) (any, bool) {
	key, path, _ := strings.Cut(ref, ".")
	for i := range before {
		if before[i].key == key && before[i].State == completed {
			v, ok := before[i].output[path]
			return v, ok
		}
	}
	return nil, false
}

// inputsOf are the parameters of a step with what others fill in. False: something that it takes is not there.
func inputsOf(s turn.Step, before []Did) (map[string]any, bool) {
	inputs := map[string]any{}
	for name, v := range s.Params.Map() {
		inputs[name] = v
	}
	if s.InputFrom == nil {
		return inputs, true
	}
	for name, ref := range s.InputFrom.Params {
		v, ok := lookUp(ref, before)
		if !ok {
			return nil, false
		}
		inputs[name] = v
		for i := range before {
			before[i].fed = before[i].fed || strings.HasPrefix(ref, before[i].key+".") && before[i].key != ""
		}
	}
	return inputs, true
}

// spoken joins what there is to say: of each step its words, unless a later one has made something of them.
func spoken(did []Did, locale string) string {
	var parts []string
	for _, d := range did {
		if d.text != "" && !(d.fed && d.State == completed) && !slices.Contains(parts, d.text) {
			parts = append(parts, d.text)
		}
	}
	if len(parts) == 0 {
		return say(locale, ReasonNotFound)
	}
	return strings.Join(parts, " ")
}

// unmet says whether a dependency can no longer be met. What was skipped by its own condition counts as done.
func unmet(on wire.Dependency, before []Did) bool {
	d := find(before, on.Step)
	good := d.State == completed || d.State == skipped && d.ReasonCode == conditionFalse
	switch on.On {
	case "failure":
		return d.State != failed
	case "done":
		return d.State == skipped && !good
	}
	return !good
}

const conditionFalse = "condition_false"
