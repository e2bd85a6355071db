package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/packaging/catalog"
)

// sentence is one row: what is said, and the steps in short form, or the family and what is asked where there is no step.
//
// Short form: method(param=value), in order, each after the one before. "a | b" run beside each other. "+30s" waits first,
// "?x op y" is a condition, "!effect" a required effect, "~" is released by its start event.
type sentence struct{ said, want string }

func planner(t testing.TB) *Planner {
	t.Helper()
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	return New(cat, words)
}

func plan(t testing.TB, p *Planner, said string) turn.Decision {
	t.Helper()
	d, err := p.Plan(context.Background(), turn.Input{Text: said})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSentences(t *testing.T) {
	p := planner(t)
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			for _, row := range group.rows {
				d := plan(t, p, row.said)
				if got := short(d); got != row.want {
					t.Errorf("%s\n got %s\nwant %s\nsays %s", row.said, got, row.want, d.TTSResponse)
				}
			}
		})
	}
}

// short writes a decision as the table does.
func short(d turn.Decision) string {
	var parts []string
	if d.Control != nil {
		parts = append(parts, d.Control.Verb+" "+d.Control.Scope)
	}
	prev := ""
	for i, s := range d.Steps {
		text := shortStep(s)
		if linear := len(s.DependsOn) == 1 && s.DependsOn[0].Step == prev || i == 0 && len(s.DependsOn) == 0; !linear {
			text += " after " + deps(s)
		}
		parts, prev = append(parts, text), s.ID
	}
	for _, r := range d.Refused {
		parts = append(parts, "refuses "+r.Span)
	}
	if len(parts) > 0 {
		return strings.Join(parts, "; ")
	}
	text := string(d.OwnerSelection)
	if len(d.MissingSlots) > 0 {
		text += " ask " + strings.Join(d.MissingSlots, ",")
	} else if d.AskFollowUp {
		text += " ask"
	}
	return text
}

func deps(s turn.Step) string {
	var ids []string
	for _, d := range s.DependsOn {
		ids = append(ids, strings.TrimPrefix(d.Step, "step_"))
	}
	if len(ids) == 0 {
		return "nothing"
	}
	return strings.Join(ids, "+")
}

func shortStep(s turn.Step) string {
	var args []string
	for _, name := range sortedKeys(s.Params) {
		if name == "query" && s.Skill != "" {
			continue // the words that are looked for: TestWhatIsLookedFor
		}
		args = append(args, fmt.Sprintf("%s=%v", name, s.Params[name].V))
	}
	name := s.TaskMethod
	if s.Skill != "" {
		name = s.Skill
	}
	text := name + "(" + strings.Join(args, " ") + ")"
	if s.DelayMS > 0 {
		text += fmt.Sprintf(" +%ds", s.DelayMS/1000)
	}
	if s.When != nil {
		text += " ?" + condition(*s.When)
	}
	for _, e := range s.RequiredEffects {
		text += " !" + e
	}
	if s.WaitPolicy == "event" {
		text += " ~"
	}
	if s.AnchorEvent != "" {
		text += " anchor " + s.AnchorEvent
	}
	if s.OutputKey != "" && s.Skill != "" {
		text += " as " + s.OutputKey
	}
	if s.InputFrom != nil && s.InputFrom.Params != nil {
		text += " <" + s.InputFrom.Params["query"]
	}
	return text
}

func condition(c wire.Condition) string {
	value, _ := json.Marshal(c.Value.V)
	return fmt.Sprintf("%s %s %s", c.Ref, c.Op, value)
}
