// Package pipeline is the way of a turn from its words to a decision, stage by stage: what the words and the context show, what the
// context answers alone, the main planner, and what is judged about its answer. Each stage is a pure function of what came before it,
// and what it found is in the trace of the decision.
//
// It promises: a stage that may change nothing (admission) changes nothing; the first shortcut that fits answers, and then no model is
// asked; no stage before the main planner decides, and none after it plans. It must not send, store or know a clock: what a decision asks
// for is done by the endpoint. Contract: docs/planner.md.
package pipeline

import (
	"context"
	"slices"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/registry"
	"deviceagent/cloudlink/planner/rules"
	"deviceagent/cloudlink/planner/running"
	"deviceagent/cloudlink/planner/secondpass"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// Main decides what the shortcuts leave: the rules planner, or a model before it.
type Main interface {
	Plan(ctx context.Context, in turn.Input) (turn.Decision, error)
}

// ears is a main planner that shows what it has made of the words.
type ears interface {
	Hear(in turn.Input) turn.Heard
	Seen(heard turn.Heard) rules.Seen
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

	cat     *catalog.Catalog
	agents  *registry.Registry
	excerpt registry.Excerpt
	etag    string
	without []string
	runner  *running.Runner
}

// Replan makes a plan that goes on without a step that has failed: docs/planner.md, escalations. False: none is of use.
func (p *Planner) Replan(s running.Stuck, valid func(wire.Plan) bool) (running.Replan, bool) {
	return p.runner.Replan(s, valid)
}

// Looks says whether a turn is about work that is under way, of which the device knows more than the planner.
func (p *Planner) Looks(in turn.Input) bool { return p.runner.Looks(in) }

// Plan decides about one turn. Errors are those of the main planner.
func (p *Planner) Plan(ctx context.Context, in turn.Input) (turn.Decision, error) {
	in, seen, t := p.before(in)
	for _, s := range p.Shortcuts {
		if d, ok := s.Try(in); ok {
			t.Shortcut = s.Name
			return p.finish(in, d, seen, t), nil
		}
	}
	var small []turn.ModelCall
	if r, ok := p.Main.(roles); ok && r.Open(ctx, in) {
		within, cancel := r.Within(ctx)
		defer cancel()
		ctx = within
		small = p.ask(ctx, r, in, t)
		t.Candidates = Pool(t.Ranked, t.Hints, p.agents) // the flow selector may have put another first
	}
	in.Before = t
	d, err := p.Main.Plan(ctx, in)
	if err != nil {
		return d, err
	}
	d = charge(d, small)
	t.Main = passOf(d)
	d = KeepRunnerUp(d, t.Ranked)
	d = p.second(d, seen, t)
	d, t.Centre = Align(d, t.Ranked, p.agents)
	d = NameNull(d, t.Hints, t.History)
	return p.finish(in, d, seen, t), nil
}

// before is what is found before anybody decides: stages 1 to 5, 7 and 9. 3 takes what 4 found.
func (p *Planner) before(in turn.Input) (turn.Input, rules.Seen, *turn.Trace) {
	t := &turn.Trace{Without: p.without}
	var seen rules.Seen
	if e, ok := p.Main.(ears); ok {
		in.Heard = e.Hear(in)
		if p.lacks(Preclassifier) {
			in.Heard = in.Heard.Bare()
		}
		seen = e.Seen(in.Heard)
	}
	t.Normalised = Normalise(in, seen)
	t.History = MergeHistory(in)
	t.Hints = noHints()
	if !p.lacks(Preclassifier) {
		t.Hints = Preclassify(in, seen, p.excerpt, t.History)
	}
	t.Ranked = turn.RankedFlows{By: "off", TopFlows: []turn.RankedFlow{}}
	if !p.lacks(RankedFlow) {
		t.Ranked = RankFlows(in, t.Hints, p.agents, seen.English)
	}
	t.Object = TypeObject(t.Hints)
	t.Reply = JudgeReply(t.Hints, t.Normalised)
	t.Candidates = Pool(t.Ranked, t.Hints, p.agents)
	return in, seen, t
}

// second is stages 13 and 14. Where a model decided, it has held its own.
func (p *Planner) second(d turn.Decision, seen rules.Seen, t *turn.Trace) turn.Decision {
	if m := d.Model; m != nil && m.SecondPass != "" {
		t.SecondNeed = turn.SecondNeed{Opens: true, Reason: "the model's first pass leaves two families close"}
		t.Second = &turn.SecondPass{Family: turn.Family(m.SecondPass), Changed: t.Main.Family != turn.Family(m.SecondPass), Reason: "the model's answer", By: "model"}
		return d
	} else if m != nil && m.Fault == "" {
		t.SecondNeed = turn.SecondNeed{Reason: "a model decided, and asked for none"}
		return d
	}
	if t.SecondNeed = secondpass.Need(d, t); !t.SecondNeed.Opens || p.lacks(SecondPass) {
		return d
	}
	s := secondpass.Judge(d, t.SecondNeed, t)
	t.Second = &s
	return takeSecond(d, s, p.agents, func(f turn.Family) string { return rules.Reply(f, seen.English) })
}

// finish completes a decision and says what it rests on: refinements, stages 10, 16 and 17.
func (p *Planner) finish(in turn.Input, d turn.Decision, seen rules.Seen, t *turn.Trace) turn.Decision {
	d.Evidence = Explain(d, t.Hints, seen)
	for _, r := range p.Refinements {
		d = r.Do(in, d)
		t.Refined = append(t.Refined, r.Name)
	}
	t.ShortCircuit = shortCircuit(d, t)
	d, t.Escape = LetGo(in, d, rules.Reply(turn.ODL, seen.English))
	d = Withhold(p.cat, p.agents, in, d)
	t.Metadata = turn.Metadata{Planner: plannedBy(d, t), Owner: d.OwnerSelection, FlowID: d.SelectedFlowID, Confidence: d.FamilyConfidence, RunnerUp: d.RunnerUpFamily,
		Margin: Margin(d.OwnerSelection, t.Hints), Catalog: p.etag}
	t.Usage = UsageOf(d)
	d.Trace = t
	return d
}

func passOf(d turn.Decision) *turn.MainPass {
	m := &turn.MainPass{By: "rules", Family: d.OwnerSelection, FlowID: d.SelectedFlowID, Confidence: d.FamilyConfidence, RunnerUp: d.RunnerUpFamily, Steps: len(d.Steps)}
	if d.Model != nil {
		m.By = d.Model.Verdict
	}
	for _, e := range d.Evidence {
		if e.Kind == "rule" {
			m.Rule = e.ID
		}
	}
	return m
}

func plannedBy(d turn.Decision, t *turn.Trace) string {
	switch {
	case t.Shortcut != "":
		return "shortcut"
	case d.Model != nil && d.Model.Verdict == "model":
		return "model"
	}
	return "rules"
}

// shortCircuit is what stage 10 came to.
func shortCircuit(d turn.Decision, t *turn.Trace) turn.ShortCircuit {
	c := turn.ShortCircuit{Active: t.History.SlotState != nil, Reason: "no schedule is being talked about"}
	if !c.Active {
		return c
	}
	c.Taken = t.Shortcut != "" && d.OwnerSelection == turn.SCH
	switch {
	case c.Taken:
		c.Reason = "the words answer what was asked"
	case t.Hints.HasCancelCue:
		c.Reason = "the words take it back"
	case t.Hints.HasContextualScheduleSlotFragment:
		c.Reason = "the words may answer what was asked, and no shortcut took them"
	default:
		c.Reason = "the words are about something else"
	}
	return c
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

// The parts that can be left out, to measure what they are worth.
const (
	Preclassifier = "preclassifier" // no marks: the main planner sees the endings of the words and what they ask of the robot itself
	RankedFlow    = "ranked-flow"   // no prior: no runner-up is kept, and the first flow of a family serves it
	SecondPass    = "second-pass"   // the first decision stands, by rules and by a model
	Experience    = "experience"    // no goal is looked for beside the steps
)

// Parts are all of them.
var Parts = []string{Preclassifier, RankedFlow, SecondPass, Experience}

// Without gives the planner without some parts.
func (p *Planner) Without(parts ...string) *Planner {
	other := *p
	other.without = slices.Clone(parts)
	if other.lacks(Experience) {
		other.Refinements = slices.DeleteFunc(slices.Clone(p.Refinements), func(r Refinement) bool { return r.Name == Experience || r.Name == RestConsent })
	}
	return &other
}

func (p *Planner) lacks(part string) bool { return slices.Contains(p.without, part) }
