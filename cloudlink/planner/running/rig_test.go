package running

import (
	"context"
	"testing"

	"deviceagent/bridge/catalogfile"
	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/compile"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/turn"
	defaults "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

// ruled reads by the rules planner.
type ruled struct{ *rules.Planner }

func (r ruled) Read(in turn.Input) turn.Decision {
	d, err := r.Plan(context.Background(), in)
	if err != nil {
		panic(err)
	}
	return d
}

// rig is the runner over the shipped catalog.
type rig struct {
	*Runner
	t     *testing.T
	cat   *catalog.Catalog
	rules *rules.Planner
}

func newRig(t *testing.T) *rig {
	t.Helper()
	cat, words, err := catalogfile.Load(defaults.Files)
	if err != nil {
		t.Fatal(err)
	}
	p := rules.New(cat, words)
	return &rig{New(cat, ruled{p}), t, cat, p}
}

// plan is the plan that the planner makes of words.
func (r *rig) plan(text string) wire.Plan {
	r.t.Helper()
	in := turn.Input{TurnID: "tn_1", Text: text, Locale: "ko-KR"}
	d, err := r.rules.Plan(r.t.Context(), in)
	if err != nil {
		r.t.Fatal(err)
	}
	p, err := compile.Plan(r.cat, in, d, compile.IDs{WorkflowID: "wf_1", PlanID: "pl_1"})
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// under is an open workflow of words, of which the steps are known to be in these states, in their order; "" is not known.
func (r *rig) under(text string, states ...string) turn.Workflow {
	r.t.Helper()
	p := r.plan(text)
	w := turn.Workflow{WorkflowID: "wf_1", PlanID: "pl_1", Status: "accepted", Utterance: text, Plan: p}
	for i, state := range states {
		if state != "" {
			q := p.Requests[i]
			w.Steps = append(w.Steps, turn.StepNow{ID: q.CloudStepID, Method: q.TaskMethod, State: state, Evidence: "telemetry"})
		}
	}
	return w
}

// say tries all shortcuts; "" is the name where none fits.
func (r *rig) say(text string, a turn.Around) (turn.Decision, string) {
	if a.Link == "" {
		a.Link = "online"
	}
	for _, s := range r.Shortcuts() {
		if d, ok := s.Try(turn.Input{TurnID: "tn_2", Text: text, Locale: "ko-KR", Around: a}); ok {
			return d, s.Name
		}
	}
	return turn.Decision{}, ""
}

func open(w ...turn.Workflow) turn.Around {
	return turn.Around{Workflows: w, Foreground: w[0].WorkflowID}
}
