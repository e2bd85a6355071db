// Package compile turns the steps of a decision into the plan that goes to the device, by the catalog only: it names no operation
// that the catalog does not have, and every argument is resolved before it is written.
//
// It promises: a plan that it gives has known methods with checked arguments, dependencies that exist and form no cycle, and a
// deadline that the plan can meet; the same input gives the same plan. It must not plan: order, conditions and delays are those of
// the decision. Contract: docs/contract.md, plan; docs/planner.md.
package compile

import (
	"fmt"
	"slices"
	"time"

	"deviceagent/bridge/wire"
	"deviceagent/cloudlink/planner/turn"
	"deviceagent/taskmanager/core/catalog"
)

// IDs are the ids of a new plan. They come from outside, so that compile has no clock and no chance in it.
type IDs struct {
	WorkflowID string
	PlanID     string
}

const (
	// ttlMS is how long after it was said a plan may still start. Source: docs/contract.md, expiry.
	ttlMS = 300_000
	// leastDeadlineMS is the least time that a whole plan gets. Source: docs/planner.md, compile.
	leastDeadlineMS = 1_800_000
	// defaultDurationMin is how long an operation goes on whose end is waited for. Source: docs/planner.md, compile.
	defaultDurationMin = 60
	// durationParam is the argument that says so, in minutes.
	durationParam = "duration_min"
	// maxDelayMS is the longest delay of the contract, 30 days.
	maxDelayMS int64 = 30 * 24 * 3_600_000
)

// Plan compiles a decision. in.Rooms, where the device reported some, are the rooms that names are resolved against.
// Errors: no steps; a step with an unknown method, argument, room or skill, or with both a method and a skill; a dependency that does
// not exist or runs in a circle; a delay outside 0 to 30 days; an anchor event that no operation gives.
func Plan(cat *catalog.Catalog, in turn.Input, d turn.Decision, ids IDs) (wire.Plan, error) {
	if len(d.Steps) == 0 {
		return wire.Plan{}, fmt.Errorf("cannot compile plan %s: the decision has no steps", ids.PlanID)
	}
	c := compiler{cat: Home(cat, in.Rooms), said: in.Now, steps: d.Steps, args: map[string]map[string]any{}, index: map[string]int{}}
	for i, s := range d.Steps {
		if _, twice := c.index[s.ID]; twice || s.ID == "" {
			return wire.Plan{}, fmt.Errorf("cannot compile step %q: its id is empty or used twice", s.ID)
		}
		c.index[s.ID] = i
	}
	plan := wire.Plan{Workflow: wire.Workflow{CloudWorkflowID: ids.WorkflowID, PlanID: ids.PlanID, TTLMS: ttlMS, CatalogEtag: cat.Etag,
		Priority: "user", Origin: &wire.Origin{TurnID: in.TurnID, Utterance: in.Text, Locale: in.Locale}}}
	for i := range d.Steps {
		r, err := c.request(&d.Steps[i], ids)
		if err != nil {
			return wire.Plan{}, fmt.Errorf("cannot compile step %s: %w", d.Steps[i].ID, err)
		}
		plan.Requests = append(plan.Requests, r)
	}
	longest, err := c.longest()
	if err != nil {
		return wire.Plan{}, fmt.Errorf("cannot compile plan %s: %w", ids.PlanID, err)
	}
	plan.Workflow.DeadlineMS = max(leastDeadlineMS, longest+longest/2)
	plan.Experience = experience(d, ids)
	return plan, nil
}

// Home is the catalog with the rooms that a device reported; none: the catalog's own. The rest is shared and only read.
func Home(cat *catalog.Catalog, rooms []wire.Room) *catalog.Catalog {
	if len(rooms) == 0 {
		return cat
	}
	var own []catalog.Room
	for _, r := range rooms {
		own = append(own, catalog.Room{ID: catalog.RoomID(r.ID), Name: r.Name, Aliases: r.Aliases, Reachable: r.Reachable})
	}
	return cat.WithRooms(own, cat.RoomsEtag)
}

type compiler struct {
	cat   *catalog.Catalog
	said  time.Time // zero: nobody knows
	steps []turn.Step
	index map[string]int
	args  map[string]map[string]any // resolved arguments by step
}

// request compiles one step.
func (c *compiler) request(s *turn.Step, ids IDs) (wire.Request, error) {
	r := wire.Request{ContractVersion: wire.Version, CloudWorkflowID: ids.WorkflowID, CloudStepID: s.ID, ExecutionTarget: s.ExecutionTarget,
		TaskMethod: s.TaskMethod, Skill: s.Skill, ExecutionMode: "queued_wait", DependsOn: s.DependsOn, WaitPolicy: s.WaitPolicy, TemporalRelation: s.TemporalRelation,
		TemporalAnchorID: s.TemporalAnchorID, DelayMS: s.DelayMS, InputFrom: s.InputFrom, OutputKey: s.OutputKey, When: s.When, TimeoutMS: s.TimeoutMS, OnFailure: s.OnFailure}
	if r.ExecutionTarget == "" {
		r.ExecutionTarget = onDevice
	}
	if s.DelayMS < 0 || s.DelayMS > maxDelayMS {
		return r, fmt.Errorf("a delay of %d ms is outside 0 to %d", s.DelayMS, int64(maxDelayMS))
	}
	if err := c.references(s); err != nil {
		return r, err
	}
	if err := c.anchor(s, &r); err != nil {
		return r, err
	}
	if r.ExecutionTarget == onCloud {
		return r, c.cloud(s, &r)
	}
	if r.ExecutionTarget != onDevice || s.Skill != "" {
		return r, fmt.Errorf("execution target %q with skill %q: want device with a method, or cloud with a skill", r.ExecutionTarget, s.Skill)
	}
	r.RequiredEffects = c.effects(s)
	r.Params = c.params(s, r.RequiredEffects)
	resolved, faults := c.cat.Resolve(catalog.Method(s.TaskMethod), r.Params.Map())
	if len(faults) > 0 {
		return r, fmt.Errorf("%s %s: %s", faults[0].Reason, faults[0].Path, faults[0].Message)
	}
	c.args[s.ID] = resolved.Args
	return r, nil
}

// references checks that what a step waits for is in the plan.
func (c *compiler) references(s *turn.Step) error {
	for _, d := range s.DependsOn {
		if _, ok := c.index[d.Step]; !ok || d.Step == s.ID {
			return fmt.Errorf("it depends on %q, which is no other step", d.Step)
		}
	}
	if _, ok := c.index[s.TemporalAnchorID]; s.TemporalAnchorID != "" && !ok {
		return fmt.Errorf("its delay counts from %q, which is no step", s.TemporalAnchorID)
	}
	return nil
}

// effects are those that the decision names; and where a later step waits for the end of an operation that by default proves only
// its start, the effect of its end.
func (c *compiler) effects(s *turn.Step) []wire.RequiredEffect {
	out := named(s)
	op := c.cat.Operations[catalog.Method(s.TaskMethod)]
	if len(out) > 0 || !c.awaited(s) {
		return out
	}
	for _, e := range op.MoreEffects {
		out = append(out, wire.RequiredEffect{EffectID: string(e)})
	}
	return out
}

// awaited says whether a later step waits for the end of this one.
func (c *compiler) awaited(s *turn.Step) bool {
	if s.WaitPolicy != "" && s.WaitPolicy != "completed" {
		return false
	}
	return slices.ContainsFunc(c.steps, func(later turn.Step) bool {
		return slices.ContainsFunc(later.DependsOn, func(d wire.Dependency) bool { return d.Step == s.ID })
	})
}

// params are the step's own, and a duration where its end is waited for and none was said: an end that nobody set never comes.
func (c *compiler) params(s *turn.Step, required []wire.RequiredEffect) wire.Object {
	out := wire.Object{}
	for name, v := range s.Params {
		out[name] = v
	}
	op := c.cat.Operations[catalog.Method(s.TaskMethod)]
	_, takes := op.Params[durationParam]
	_, said := out[durationParam]
	ends := slices.ContainsFunc(required, func(e wire.RequiredEffect) bool { return slices.Contains(op.MoreEffects, catalog.EffectID(e.EffectID)) })
	if takes && !said && ends {
		out[durationParam] = wire.Value{V: float64(defaultDurationMin)}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// longest is the length of the longest path: delays, and of each step its timeout, which for a timed operation includes its
// duration. A step that waits for a person has no timeout; what it is expected to take counts.
func (c *compiler) longest() (int64, error) {
	reach := map[string]int64{}
	open := map[string]bool{}
	var visit func(id string) (int64, error)
	visit = func(id string) (int64, error) {
		if ms, ok := reach[id]; ok {
			return ms, nil
		}
		if open[id] {
			return 0, fmt.Errorf("step %s waits for itself", id)
		}
		open[id] = true
		s := c.steps[c.index[id]]
		var before int64
		for _, on := range waitsFor(s) {
			ms, err := visit(on)
			if err != nil {
				return 0, err
			}
			before = max(before, ms)
		}
		op := c.cat.Operations[catalog.Method(s.TaskMethod)]
		own := max(op.Timeout.For(c.args[id]), op.ExpectedMS.For(c.args[id]))
		if s.ExecutionTarget == onCloud {
			own = cloudTimeout(s)
		}
		reach[id] = before + c.awaits(s.AnchorEvent) + s.DelayMS + own
		return reach[id], nil
	}
	var longest int64
	for _, s := range c.steps {
		ms, err := visit(s.ID)
		if err != nil {
			return 0, err
		}
		longest = max(longest, ms)
	}
	return longest, nil
}

func waitsFor(s turn.Step) []string {
	var out []string
	for _, d := range s.DependsOn {
		out = append(out, d.Step)
	}
	if s.TemporalAnchorID != "" {
		out = append(out, s.TemporalAnchorID)
	}
	return out
}
