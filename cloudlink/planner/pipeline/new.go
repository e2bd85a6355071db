package pipeline

import (
	"context"

	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/admission"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/people"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/schedule"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// New joins the stages around a main planner, over one catalog. Everybody who plans (the program, the measuring, the scenarios) joins
// them here. Whether a goal is asked for is judged last, over what all others have made of the decision.
func New(main Main, cat *catalog.Catalog, words catalogfile.Planner) *Planner {
	read := reading(main, cat, words)
	book, listener := schedule.New(cat, read), people.New(read, schedule.HoursIn)
	return &Planner{Main: main, agents: registry.Default().For(cat), excerpt: registry.ExcerptOf(cat, words), etag: cat.Etag,
		Shortcuts: []Shortcut{{Name: "active_schedule", Try: book.Shortcut}, {Name: "yes_or_no", Try: listener.Shortcut}},
		Refinements: []Refinement{{Name: "schedule_slots", Do: book.Refine}, {Name: "content", Do: agents.OpenContent}, {Name: "people", Do: listener.Refine},
			{Name: Experience, Do: admission.New(cat).Refine}},
	}
}

// reading is how words are read as an order of now, by the rules alone: also where a model decides, what a schedule does is what the same
// words would do at once.
func reading(main Main, cat *catalog.Catalog, words catalogfile.Planner) func(turn.Input) turn.Decision {
	p, ok := main.(*rules.Planner)
	if m, drafts := main.(interface{ Draft() *rules.Planner }); drafts {
		p, ok = m.Draft(), m.Draft() != nil // the same words once
	}
	if !ok {
		p = rules.New(cat, words)
	}
	return func(in turn.Input) turn.Decision {
		in.Heard = nil // of other words
		d, err := p.Plan(context.Background(), in)
		if err != nil {
			return turn.Decision{} // it never fails
		}
		return d
	}
}
