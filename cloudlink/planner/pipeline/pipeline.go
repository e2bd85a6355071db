// Package pipeline is the way of a turn from its words to a decision, stage by stage: what the context answers alone, the main planner,
// and what is judged about its answer. Each stage is a pure function of what came before it.
//
// It promises: a stage that may change nothing (admission) changes nothing; the first shortcut that fits answers, and then no model is
// asked. It must not send, store or know a clock: what a decision asks for is done by the endpoint. Contract: docs/planner.md.
package pipeline

import (
	"context"

	"deviceagent/cloudlink/planner/turn"
)

// Main decides what the shortcuts leave: the rules planner, or a model before it.
type Main interface {
	Plan(ctx context.Context, in turn.Input) (turn.Decision, error)
}

// Shortcut answers a turn by its context alone, such as the slot that was asked for a moment ago; false: not its turn.
type Shortcut struct {
	Name string
	Try  func(turn.Input) (turn.Decision, bool)
}

// Refinement completes a decision, such as the slots of a schedule. It keeps the owner.
type Refinement struct {
	Name string
	Do   func(turn.Input, turn.Decision) turn.Decision
}

// Planner is the whole way. It is built once and may be used by several goroutines at once.
type Planner struct {
	Main        Main
	Shortcuts   []Shortcut
	Refinements []Refinement
}

// Plan decides about one turn. Errors are those of the main planner.
func (p *Planner) Plan(ctx context.Context, in turn.Input) (turn.Decision, error) {
	for _, s := range p.Shortcuts {
		if d, ok := s.Try(in); ok {
			return d, nil
		}
	}
	d, err := p.Main.Plan(ctx, in)
	if err != nil {
		return d, err
	}
	for _, r := range p.Refinements {
		d = r.Do(in, d)
	}
	return d, nil
}

// ChooseTool chooses from a registry of tools, if the main planner can; else none fits.
func (p *Planner) ChooseTool(tools []turn.Tool, messages []turn.Message) turn.Choice {
	if m, ok := p.Main.(interface {
		ChooseTool([]turn.Tool, []turn.Message) turn.Choice
	}); ok {
		return m.ChooseTool(tools, messages)
	}
	return turn.Choice{}
}
