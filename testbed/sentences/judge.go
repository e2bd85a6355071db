package sentences

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Planner is what is judged.
type Planner interface {
	Plan(ctx context.Context, in turn.Input) (turn.Decision, error)
}

// Report is how many sentences were read exactly right: every step with its order, delay, condition, end and arguments, and what is refused.
type Report struct {
	Seed     uint64           `json:"seed"`
	Count    int              `json:"count"`
	Exact    int              `json:"exact"`
	Share    float64          `json:"share"`
	Features map[string]Share `json:"features"`
	Misses   []Miss           `json:"misses"`
}

// Share is a part of a whole.
type Share struct {
	Exact int `json:"exact"`
	Count int `json:"count"`
}

// Miss is a sentence that was read as something else.
type Miss struct {
	Text   string `json:"text"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	Answer string `json:"answer"`
}

// Judge composes the sentences of a seed and puts each to the planner.
// Errors: those of Compose and of the planner.
func Judge(ctx context.Context, p Planner, cat *catalog.Catalog, seed uint64, count int) (Report, error) {
	cases, err := Compose(cat, seed, count)
	if err != nil {
		return Report{}, err
	}
	r := Report{Seed: seed, Count: len(cases), Features: map[string]Share{}, Misses: []Miss{}}
	for i, c := range cases {
		d, err := p.Plan(ctx, turn.Input{TurnID: fmt.Sprintf("tn_%d", i), Text: c.Text, Locale: "ko-KR"})
		if err != nil {
			return r, fmt.Errorf("cannot plan %q: %w", c.Text, err)
		}
		got := planned(cat, c, d)
		for _, f := range c.Features {
			s := r.Features[f]
			s.Count++
			if got == c.Want {
				s.Exact++
			}
			r.Features[f] = s
		}
		if got == c.Want {
			r.Exact++
			continue
		}
		r.Misses = append(r.Misses, Miss{c.Text, c.Want, got, d.TTSResponse})
	}
	if r.Count > 0 {
		r.Share = float64(r.Exact) / float64(r.Count)
	}
	return r, nil
}

// planned writes a decision in short form.
func planned(cat *catalog.Catalog, c Case, d turn.Decision) string {
	var p plan
	index := map[string]int{}
	for i, s := range d.Steps {
		index[s.ID] = i + 1
	}
	for _, s := range d.Steps {
		p.steps = append(p.steps, stepOf(s, index))
	}
	for _, r := range d.Refused {
		p.refused = append(p.refused, refusedNoun(c.Want, r.Span))
	}
	if c.Want == nothing && d.Control == nil && !slices.ContainsFunc(d.Steps, func(s turn.Step) bool {
		return !cat.Operations[catalog.Method(s.TaskMethod)].ReadOnly
	}) {
		return nothing
	}
	if len(d.Steps) == 0 && c.Want == answered+string(d.OwnerSelection) {
		return c.Want
	}
	text := p.String()
	if d.Control != nil {
		text = d.Control.Verb + " " + d.Control.Scope + "; " + text
	}
	return text
}

func stepOf(s turn.Step, index map[string]int) step {
	out := step{do: named(s), delayS: s.DelayMS / 1000, anchor: s.AnchorEvent, until: strings.Join(s.RequiredEffects, "+"), starts: s.WaitPolicy == "event", output: s.OutputKey}
	for _, dep := range s.DependsOn {
		out.after = append(out.after, index[dep.Step])
	}
	slices.Sort(out.after)
	if s.When != nil {
		out.when = conditionText(*s.When)
	}
	if s.DelayMS > 0 && len(out.after) > 0 && !slices.Contains(out.after, index[s.TemporalAnchorID]) {
		out.do += " (delay counts from nothing)"
	}
	if s.AnchorEvent != "" && s.TemporalRelation != "after_existing_event" {
		out.do += " (anchor without its relation)"
	}
	return out
}

// named writes what a step does. The words that were looked for are not compared.
func named(s turn.Step) string {
	name := s.TaskMethod
	if s.ExecutionTarget == "cloud" {
		name = s.Skill
	}
	params := wire.Object{}
	for key, v := range s.Params {
		if key != "query" {
			params[key] = v
		}
	}
	p := part{op: operation{Method: name}, params: map[string]any{}}
	for key, v := range params {
		p.params[key] = v.V
	}
	return doing(p)
}

func conditionText(c wire.Condition) string {
	value := ""
	switch v := c.Value.V.(type) {
	case float64:
		value = strconv.FormatFloat(v, 'f', -1, 64)
	default:
		value = fmt.Sprint(v)
	}
	return c.Ref + " " + c.Op + " " + value
}

// refusedNoun is the noun of a refusal that is wanted, where the words that were refused have it; else the words.
func refusedNoun(want, span string) string {
	for _, part := range strings.Split(want, "; ") {
		if noun, ok := strings.CutPrefix(part, "refuses "); ok && strings.Contains(strings.ReplaceAll(span, " ", ""), strings.ReplaceAll(noun, " ", "")) {
			return noun
		}
	}
	return span
}
