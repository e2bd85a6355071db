package pipeline

import (
	"context"

	"deviceagent/bridge/catalogfile"
	"deviceagent/cloudlink/planner/admission"
	"deviceagent/cloudlink/planner/agents"
	"deviceagent/cloudlink/planner/people"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/running"
	"deviceagent/cloudlink/planner/schedule"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// New joins the stages around a main planner, over one catalog. Everybody who plans (the program, the measuring, the scenarios) joins
// them here. What is under way is looked at before what is still being talked about. Whether a goal is asked for is judged last, over what
// all others have made of the decision.
func New(main Main, cat *catalog.Catalog, words catalogfile.Planner) *Planner {
	read := readerOf(main, cat, words)
	told := func(in turn.Input) turn.Decision { return agents.OpenContent(in, read.Read(in)) } // a story can be kept for a time as well
	book, listener := schedule.New(cat, told), people.New(read.Read, schedule.HoursIn)
	judge := admission.New(cat)
	p := &Planner{Main: main, cat: cat, agents: registry.Default().For(cat), excerpt: registry.ExcerptOf(cat, words), etag: cat.Etag,
		Refinements: []Refinement{{Name: "schedule_slots", Do: book.Refine}, {Name: "content", Do: agents.OpenContent}, {Name: OneVoice, Do: oneVoice}, {Name: "people", Do: listener.Refine},
			{Name: RestConsent, Do: hush{cat, judge}.refine}, {Name: Experience, Do: judge.Refine}},
	}
	p.runner = running.New(cat, read)
	for _, s := range p.runner.Shortcuts() {
		p.Shortcuts = append(p.Shortcuts, Shortcut(s))
	}
	p.Shortcuts = append(p.Shortcuts, Shortcut{Name: "active_schedule", Try: book.Shortcut}, Shortcut{Name: "yes_or_no", Try: listener.Shortcut})
	return p
}

// reader reads words as an order of now, by the rules alone: also where a model decides, what a schedule does is what the same words would
// do at once, and what is answered by its context asks nobody.
type reader struct{ *rules.Planner }

func readerOf(main Main, cat *catalog.Catalog, words catalogfile.Planner) reader {
	p, ok := main.(*rules.Planner)
	if m, drafts := main.(interface{ Draft() *rules.Planner }); drafts {
		p, ok = m.Draft(), m.Draft() != nil // the same words once
	}
	if !ok {
		p = rules.New(cat, words)
	}
	return reader{p}
}

// Read reads one clause.
func (r reader) Read(in turn.Input) turn.Decision {
	in.Heard = nil // of other words
	d, err := r.Plan(context.Background(), in)
	if err != nil {
		return turn.Decision{} // it never fails
	}
	return d
}
